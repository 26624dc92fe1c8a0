//! Opening the file that was judged, and no other.
//!
//! A place that was located has no links in it. If one has appeared since, the kernel refuses to walk through it, so
//! there is no moment between the check and the use in which a file could be swapped for a link. Everything after the
//! walk works on descriptors.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
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

/// Opens a directory below another one that is open, by the names that lead to it; none leads to the other itself. A
/// link among them is refused, and so is what was moved away.
pub(super) fn enter(root: &File, below: &Path) -> Result<File, Errno> {
    let mut here = None;
    let mut rest = below.as_os_str().as_bytes();
    // The kernel takes no longer path at once than this.
    while let Some(cut) = rest.get(..4_000).and_then(|piece| piece.iter().rposition(|byte| *byte == b'/')) {
        here = Some(enter_piece(here.as_ref().unwrap_or(root), &rest[..cut], OFlags::PATH)?);
        rest = &rest[cut + 1..];
    }
    enter_piece(here.as_ref().unwrap_or(root), rest, OFlags::RDONLY)
}

fn enter_piece(from: &File, below: &[u8], flags: OFlags) -> Result<File, Errno> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = Path::new(OsStr::from_bytes(if below.is_empty() { b"." } else { below }));
    let opened = match fs::openat2(from, path, flags, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => walk_from(rustix::io::dup(from)?, path, flags),
        opened => opened,
    };
    opened.map(File::from)
}

/// The same, a name at a time.
fn walk(real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let root = fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    walk_from(root, real, flags)
}

fn walk_from(mut here: OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let names: Vec<&OsStr> = path.components().filter_map(name).collect();
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

/// Which directories would have to be made to have this one, the outermost first.
pub(super) fn missing_directories(real: &Path) -> Vec<PathBuf> {
    let is_missing =
        |path: &&Path| open(path, OFlags::PATH).is_err_and(|err| err.kind() == io::ErrorKind::NotFound);
    let mut missing: Vec<PathBuf> = real.ancestors().take_while(is_missing).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Opens a directory, making those that are missing.
pub(super) fn make_directory(real: &Path) -> io::Result<File> {
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
}
