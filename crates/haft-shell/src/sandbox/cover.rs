//! Keeping names from being made.
//!
//! A name that is not there cannot be closed: there is nothing to mount on. So an empty directory takes its place while a
//! command runs, covered inside by one that nobody can write to, and is removed after. It is a directory also where a file is meant:
//! programs that look for the file find none, and version control does not see empty directories.
//!
//! Several commands may need the same one at the same time, also from several programs. Each holds a shared lock on it, and
//! whoever can get it alone removes it. One that was left behind by a crash is known by its mode, and is used and removed like any other.

use std::{
    ffi::{CString, OsStr},
    fs,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::Path,
    sync::Arc,
};

use super::{
    error::SandboxError,
    sys::{self, Answer, Errno},
};

/// A directory that is in the place of something missing.
#[derive(Debug)]
pub(super) struct Cover {
    parent: Arc<OwnedFd>,
    name: CString,
    /// Locked as long as it is needed.
    itself: OwnedFd,
}

/// Sticky, and for reading: nobody else makes directories like this.
const MODE: u32 = 0o1555;

/// How often one tries again when somebody else removes it in between.
const TRIES: usize = 100;

impl Cover {
    /// Puts one into the place of a missing path.
    pub(super) fn over(path: &Path) -> Result<Cover, SandboxError> {
        let failed = |errno: Errno| SandboxError::path("cover", path, std::io::Error::from(errno));
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(Errno(libc::EINVAL)));
        };
        let open = |path: &Path| sys::open_directory_at(sys::HERE, &c_string(path.as_os_str())?);
        let parent = Arc::new(open(parent).map_err(failed)?);
        let name = c_string(name).map_err(failed)?;
        let itself = locked(parent.as_raw_fd(), &name).map_err(failed)?;
        Ok(Cover { parent, name, itself })
    }

    /// Whether a path is one that was left behind.
    pub(super) fn is_left_at(path: &Path) -> bool {
        let facts = fs::symlink_metadata(path);
        facts.is_ok_and(|facts| facts.is_dir() && facts.mode() & 0o7777 == MODE)
            && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Removes it, unless somebody still needs it. Takes no memory, and may be done twice.
    pub(super) fn remove(&self) {
        let itself = self.itself.as_raw_fd();
        // Without a name it is removed already, and what has its name now is somebody else's.
        let is_ours =
            sys::lock(itself, libc::LOCK_EX).is_ok() && sys::names_of(itself).is_ok_and(|names| names > 0);
        if is_ours {
            let _ = sys::remove_directory_at(self.parent.as_raw_fd(), &self.name);
        }
    }

    /// The descriptors without which it cannot be removed.
    pub(super) fn descriptors(&self) -> [RawFd; 2] {
        [self.parent.as_raw_fd(), self.itself.as_raw_fd()]
    }
}

/// Makes it or finds it, and locks it before anybody removes it.
fn locked(parent: RawFd, name: &std::ffi::CStr) -> Answer<OwnedFd> {
    for _ in 0..TRIES {
        match sys::make_directory_at(parent, name, MODE) {
            Err(errno) if errno.0 != libc::EEXIST => return Err(errno),
            _ => {}
        }
        let Ok(itself) = sys::open_directory_at(parent, name) else { continue };
        let is_held = sys::lock(itself.as_raw_fd(), libc::LOCK_SH).is_ok();
        if is_held && sys::names_of(itself.as_raw_fd())? > 0 {
            return Ok(itself);
        }
    }
    Err(Errno(libc::EBUSY))
}

/// A path for the kernel.
pub(super) fn c_string(text: &OsStr) -> Answer<CString> {
    CString::new(text.as_bytes()).map_err(|_| Errno(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cover_is_there_as_long_as_anybody_needs_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("haft.toml");
        let (first, second) = (Cover::over(&path).unwrap(), Cover::over(&path).unwrap());
        first.remove();
        assert!(Cover::is_left_at(&path));
        drop(first);
        second.remove();
        assert!(!path.exists());
        second.remove();
    }

    #[test]
    fn what_has_taken_its_name_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".claude");
        let cover = Cover::over(&path).unwrap();
        fs::remove_dir(&path).unwrap();
        fs::create_dir(&path).unwrap();
        cover.remove();
        assert!(path.exists());
    }

    #[test]
    fn what_is_not_empty_is_never_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".claude");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("x"), "").unwrap();
        Cover::over(&path).unwrap().remove();
        assert!(path.join("x").exists() && !Cover::is_left_at(&path));
    }
}
