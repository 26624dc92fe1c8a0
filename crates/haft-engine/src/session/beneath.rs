//! Opening and replacing the file that was judged, and no other.
//!
//! A place that was located has no links in it. If one has appeared since, the kernel refuses to walk through it, so
//! there is no moment between the check and the use in which a file could be swapped for a link. Everything after the
//! walk works on descriptors.

use std::{
    ffi::OsStr,
    fs::{File, Metadata},
    io::{self, Write},
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{self, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags},
    io::Errno,
};

/// Opens a place that was located. A link anywhere on the way is [`Errno::LOOP`].
pub(super) fn open(real: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = match fs::openat2(CWD, real, flags, Mode::empty(), resolve) {
        // Old kernels do not have it, and some sandboxes forbid it.
        Err(Errno::NOSYS | Errno::PERM) => walk(real, flags),
        opened => opened,
    };
    Ok(File::from(opened?))
}

/// The same, a name at a time.
fn walk(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut here = fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let names: Vec<&OsStr> = real.components().filter_map(name).collect();
    let Some((last, parents)) = names.split_last() else {
        return fs::openat(&here, ".", flags, Mode::empty());
    };
    for parent in parents {
        here = step(&here, parent)?;
    }
    fs::openat(&here, *last, flags, Mode::empty())
}

fn name(component: Component<'_>) -> Option<&OsStr> {
    match component {
        Component::Normal(name) => Some(name),
        _ => None,
    }
}

/// Into a directory, which must be one: a link is refused.
fn step(from: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match fs::openat(from, name, flags, Mode::empty()) {
        Err(Errno::NOTDIR) if is_link(from, name) => Err(Errno::LOOP),
        stepped => stepped,
    }
}

fn is_link(directory: &OwnedFd, name: &OsStr) -> bool {
    let found = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Symlink)
}

/// Replaces a file in one step, or makes it and its parents: whoever looks sees the old content or the new, also
/// after a crash. Gives what is there now. The mode and, where the system permits, the owner stay. Another name of the file (a hard link) keeps
/// the old content.
pub(super) fn replace(real: &Path, content: &[u8]) -> io::Result<Metadata> {
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    let directory = make_directory(parent)?;
    let old = match fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(old) => Some(old),
        Err(Errno::NOENT) => None,
        Err(err) => return Err(err.into()),
    };
    match old.map(|old| FileType::from_raw_mode(old.st_mode)) {
        None | Some(FileType::RegularFile) => {}
        Some(FileType::Directory) => return Err(io::ErrorKind::IsADirectory.into()),
        Some(FileType::Symlink) => return Err(Errno::LOOP.into()),
        Some(_) => return Err(io::Error::other("it is not a regular file")),
    }
    let staged = Staged::new(&directory, old.is_none())?;
    let mut file = &staged.file;
    file.write_all(content)?;
    if let Some(old) = old {
        // Not ours to give away in general: then the file becomes ours, as it does with most editors.
        let _ = fs::fchown(file, Some(fs::Uid::from_raw(old.st_uid)), Some(fs::Gid::from_raw(old.st_gid)));
        fs::fchmod(file, Mode::from_raw_mode(old.st_mode))?;
    }
    file.sync_all()?;
    let written = file.metadata()?;
    staged.become_file(name)?;
    directory.sync_all()?;
    Ok(written)
}

/// Opens a directory, making those that are missing.
fn make_directory(real: &Path) -> io::Result<File> {
    match open(real, OFlags::RDONLY | OFlags::DIRECTORY) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let parent = make_directory(parent)?;
    match fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
        // Somebody else was quicker; whether it is a directory is seen when it is opened.
        Ok(()) | Err(Errno::EXIST) => {}
        Err(err) => return Err(err.into()),
    }
    open(real, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// A file under a name of its own, gone unless it becomes the real one.
struct Staged<'a> {
    directory: &'a File,
    name: PathBuf,
    file: File,
}

/// By this a later start recognises what a crash left behind.
pub(super) const STAGED_PREFIX: &str = ".haft-staged-";

impl<'a> Staged<'a> {
    fn new(directory: &'a File, for_all: bool) -> io::Result<Staged<'a>> {
        let name = PathBuf::from(format!("{STAGED_PREFIX}{:016x}", fastrand::u64(..)));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A new file gets what the umask leaves; an old one's content is nobody's business until it has its mode.
        let mode = Mode::from_raw_mode(if for_all { 0o666 } else { 0o600 });
        let file = File::from(fs::openat(directory, &name, flags, mode)?);
        Ok(Staged { directory, name, file })
    }

    fn become_file(mut self, name: &OsStr) -> io::Result<()> {
        fs::renameat(self.directory, &self.name, self.directory, name)?;
        self.name.clear();
        Ok(())
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        if !self.name.as_os_str().is_empty() {
            // Best effort: what fails here is found by its name later.
            let _ = fs::unlinkat(self.directory, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        (dir, root)
    }

    #[test]
    fn a_link_on_the_way_is_refused_by_both_ways_of_walking() {
        let (_dir, root) = place();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "x").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("real/file", root.join("file-link")).unwrap();
        for (path, expected) in
            [("real/file", None), ("link/file", Some(Errno::LOOP)), ("file-link", Some(Errno::LOOP))]
        {
            let real = root.join(path);
            let opened = open(&real, OFlags::RDONLY).err().and_then(|err| Errno::from_io_error(&err));
            assert_eq!(opened, expected, "{path}");
            let walked = walk(&real, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC).err();
            assert_eq!(walked, expected, "{path}, walked");
        }
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_leaves_nothing_else() {
        let (_dir, root) = place();
        let path = root.join("script");
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 1);
    }

    #[test]
    fn parents_are_made_and_other_names_of_a_file_are_left_alone() {
        let (_dir, root) = place();
        replace(&root.join("a/b/c"), b"deep").unwrap();
        assert_eq!(std::fs::read_to_string(root.join("a/b/c")).unwrap(), "deep");
        std::fs::hard_link(root.join("a/b/c"), root.join("other")).unwrap();
        replace(&root.join("a/b/c"), b"changed").unwrap();
        assert_eq!(std::fs::read_to_string(root.join("other")).unwrap(), "deep");
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let (_dir, root) = place();
        std::fs::create_dir(root.join("dir")).unwrap();
        symlink("elsewhere", root.join("link")).unwrap();
        assert_eq!(replace(&root.join("dir"), b"").unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(Errno::from_io_error(&replace(&root.join("link"), b"").unwrap_err()), Some(Errno::LOOP));
        assert!(replace(Path::new("/"), b"").is_err());
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 2, "nothing is left behind");
    }
}
