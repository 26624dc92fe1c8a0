//! The private directory for what is set aside.
//!
//! A name is moved from the directory that the kernel finds below the root without any link, so that a command which still
//! runs cannot lead the move elsewhere.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::{DirBuilderExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with};

use super::activity::now;

/// Tells the places of one process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The private directory of a command, made when something is set aside.
#[derive(Debug)]
pub(super) struct QuarantineDirectory {
    base: PathBuf,
}

impl QuarantineDirectory {
    /// A shelf in a directory, or in haft's state.
    pub(super) fn at(base: Option<PathBuf>, home: Option<&Path>) -> QuarantineDirectory {
        QuarantineDirectory { base: base.unwrap_or_else(|| state(home)) }
    }

    /// Moves a name below a root to a new place.
    pub(super) fn take(&self, root: &Path, relative: &Path) -> io::Result<PathBuf> {
        let name = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = open_below(root, relative.parent().unwrap_or(Path::new("")))?;
        let place = self.place()?;
        let kept = place.join(name);
        match renameat_with(&parent, name, CWD, &kept, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(kept),
            // Another file system, or one without the flag.
            Err(rustix::io::Errno::XDEV | rustix::io::Errno::INVAL) => {
                let from = by_number(&parent).join(name);
                copy(&from, &kept)?;
                remove(&from)?;
                Ok(kept)
            }
            Err(errno) => {
                let _ = fs::remove_dir(&place);
                Err(errno.into())
            }
        }
    }

    /// A new directory for the user alone.
    fn place(&self) -> io::Result<PathBuf> {
        let number = NUMBER.fetch_add(1, Relaxed);
        let name = format!("{}-{}-{number}", now() / 1_000_000, std::process::id());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.base)?;
        let place = self.base.join(name);
        fs::DirBuilder::new().mode(0o700).create(&place)?;
        Ok(place)
    }
}

/// The directory in haft's state.
fn state(home: Option<&Path>) -> PathBuf {
    let given = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = given.or_else(|| home.map(|home| home.join(".local/state")));
    state.unwrap_or_else(std::env::temp_dir).join("haft/set-aside")
}

/// Opens a directory below a root. No link is followed.
pub(super) fn open_below(root: &Path, relative: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags | OFlags::NOFOLLOW, Mode::empty())?;
    if relative.as_os_str().is_empty() {
        return Ok(root);
    }
    let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(openat2(&root, relative, flags, Mode::empty(), inside)?)
}

/// The path by which this process reaches an open directory, whatever it is called by now.
pub(super) fn by_number(directory: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", directory.as_raw_fd()).into()
}

/// Moves something back, if nothing stands in its place.
pub(super) fn restore(kept: &Path, path: &Path) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = path.parent().and_then(|parent| parent.strip_prefix("/").ok());
    let parent = open_below(Path::new("/"), parent.ok_or(io::ErrorKind::InvalidInput)?)?;
    match renameat_with(CWD, kept, &parent, name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::XDEV | rustix::io::Errno::INVAL) if fs::symlink_metadata(path).is_err() => {
            copy(kept, &by_number(&parent).join(name))?;
            remove(kept)?;
        }
        Err(errno) => return Err(errno.into()),
    }
    if let Some(place) = kept.parent() {
        let _ = fs::remove_dir(place);
    }
    Ok(())
}

/// Copies files, directories and links. Anything else (a socket) is no program's settings and is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let facts = fs::symlink_metadata(from)?;
    if facts.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if facts.is_file() {
        return fs::copy(from, to).map(drop);
    }
    if !facts.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    fs::set_permissions(to, fs::Permissions::from_mode(facts.permissions().mode() & 0o7777))
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}
