//! Opening the file that was judged, and no other.
//!
//! A place that was located has no links in it. If one has appeared since, the kernel refuses to walk through it, so
//! there is no moment between the check and the use in which a file could be swapped for a link. Everything after the
//! walk works on descriptors.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Component, Path},
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
    use std::{os::unix::fs::symlink, path::PathBuf};

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
