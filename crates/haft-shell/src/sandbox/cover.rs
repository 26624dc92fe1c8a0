//! Keeping names from being made.
//!
//! A name that is not there cannot be closed: there is nothing to mount on. So while a command runs, something stands in its
//! place that is nothing: a socket without anybody behind it, which cannot be opened, and which version control does not see.
//! Inside it is covered by an empty file. After the command it is removed.
//!
//! Several commands may need the same names at the same time, also from several programs. Each holds a shared lock on the
//! directory, and whoever can have it alone removes them. What was left behind by a crash is known by its kind, and is
//! used and removed like the rest. The names of a directory are links to one socket: that is several times as quick as many.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, OsStr},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};

use super::{
    error::SandboxError,
    sys::{self, Answer, Errno, Facts},
};

/// What stands in for the missing names of one directory.
#[derive(Debug)]
pub(super) struct Covers {
    /// Locked as long as they are needed.
    directory: OwnedFd,
    names: Vec<CString>,
    /// Not stood in for, but removed if they are there afterwards.
    swept: Vec<CString>,
    /// Whether they have been removed already.
    are_gone: AtomicBool,
}

/// A socket with the sticky bit: nobody else makes one.
const KIND: u32 = libc::S_IFSOCK | libc::S_ISVTX;

/// How often, and after how long, one asks again for a lock that somebody holds who is about to remove things.
const TRIES: usize = 200;
const PAUSE: Duration = Duration::from_millis(1);

impl Covers {
    /// Stands in for all these paths, a value for each directory; those to be swept are left alone until the end.
    pub(super) fn over(
        paths: impl IntoIterator<Item = PathBuf>,
        swept: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Vec<Covers>, SandboxError> {
        let mut directories: BTreeMap<PathBuf, [Vec<CString>; 2]> = BTreeMap::new();
        let paths = paths.into_iter().map(|path| (path, 0));
        for (path, which) in paths.chain(swept.into_iter().map(|path| (path, 1))) {
            let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let name = c_string(name).map_err(|errno| failed(&path, errno))?;
            directories.entry(directory.to_owned()).or_default()[which].push(name);
        }
        directories.into_iter().map(|(directory, names)| Covers::within(&directory, names)).collect()
    }

    fn within(path: &Path, [names, swept]: [Vec<CString>; 2]) -> Result<Covers, SandboxError> {
        let directory = c_string(path.as_os_str()).and_then(|name| sys::open_directory_at(sys::HERE, &name));
        let directory = directory.map_err(|errno| failed(path, errno))?;
        lock(directory.as_raw_fd()).map_err(|errno| failed(path, errno))?;
        // From here on they are removed again, also if one cannot be made.
        let covers = Covers { directory, names, swept, are_gone: AtomicBool::new(false) };
        covers.make().map_err(|errno| failed(path, errno))?;
        Ok(covers)
    }

    fn make(&self) -> Answer {
        let directory = self.directory.as_raw_fd();
        let mut first: Option<&CString> = None;
        for name in &self.names {
            let linked = first.map_or(Err(Errno(libc::EMLINK)), |first| sys::link_at(directory, first, name));
            match linked.or_else(|_| sys::make_node_at(directory, name, KIND | 0o444)) {
                Err(Errno(libc::EEXIST)) if is_cover(directory, name) => {}
                made => made?,
            }
            first.get_or_insert(name);
        }
        Ok(())
    }

    /// Whether nothing is at a name but what stands in for it, perhaps left behind, or not even that: another command may have
    /// ended just now.
    pub(super) fn may_be_at(path: &Path) -> bool {
        let facts = c_string(path.as_os_str()).and_then(|path| sys::facts_at(sys::HERE, &path));
        match facts {
            Ok(facts) => is_kind(&facts),
            Err(errno) => errno.0 == libc::ENOENT,
        }
    }

    /// Removes them, unless somebody still needs them; whether they are gone. Takes no memory, and may be done twice.
    pub(super) fn remove(&self) -> bool {
        let directory = self.directory.as_raw_fd();
        if self.are_gone.load(Relaxed) {
            return true;
        }
        if sys::lock(directory, libc::LOCK_EX).is_err() {
            return false;
        }
        for name in self.names.iter().filter(|name| is_cover(directory, name)).chain(&self.swept) {
            let _ = sys::remove_at(directory, name);
        }
        let _ = sys::lock(directory, libc::LOCK_UN);
        self.are_gone();
        true
    }

    /// Another process has removed them.
    pub(super) fn are_gone(&self) {
        self.are_gone.store(true, Relaxed);
    }

    /// The descriptor without which they cannot be removed.
    pub(super) fn descriptor(&self) -> RawFd {
        self.directory.as_raw_fd()
    }
}

impl Drop for Covers {
    fn drop(&mut self) {
        self.remove();
    }
}

fn is_cover(directory: RawFd, name: &CStr) -> bool {
    sys::facts_at(directory, name).is_ok_and(|facts| is_kind(&facts))
}

fn is_kind(facts: &Facts) -> bool {
    facts.mode & (libc::S_IFMT | libc::S_ISVTX) == KIND
}

/// A shared lock. Whoever has it alone has it for a moment only.
fn lock(directory: RawFd) -> Answer {
    for _ in 0..TRIES {
        match sys::lock(directory, libc::LOCK_SH) {
            Err(Errno(libc::EWOULDBLOCK)) => thread::sleep(PAUSE),
            other => return other,
        }
    }
    Err(Errno(libc::EBUSY))
}

fn failed(path: &Path, errno: Errno) -> SandboxError {
    SandboxError::path("keep names from being made in", path, std::io::Error::from(errno))
}

/// A path for the kernel.
pub(super) fn c_string(text: &OsStr) -> Answer<CString> {
    CString::new(text.as_bytes()).map_err(|_| Errno(libc::EINVAL))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn over(path: &Path) -> Vec<Covers> {
        Covers::over([path.to_owned(), path.with_file_name("other")], []).unwrap()
    }

    #[test]
    fn names_are_taken_as_long_as_anybody_needs_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("haft.toml");
        let (first, second) = (over(&path), over(&path));
        drop(first);
        assert!(Covers::may_be_at(&path) && fs::symlink_metadata(&path).is_ok() && fs::read(&path).is_err());
        second[0].remove();
        drop(second);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_left_behind_is_used_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".claude");
        std::mem::forget(over(&path));
        // The lock ends with the process that held it; here it is in this one, so another directory is as good.
        let moved = directory.path().with_extension("moved");
        fs::create_dir(&moved).unwrap();
        fs::rename(&path, moved.join(".claude")).unwrap();
        drop(over(&moved.join(".claude")));
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
        fs::remove_dir(moved).unwrap();
    }

    #[test]
    fn what_is_swept_is_gone_at_the_end_and_not_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("commondir");
        let covers = Covers::over([], [path.clone()]).unwrap();
        fs::write(&path, "../evil").unwrap();
        assert!(path.exists());
        drop(covers);
        assert!(!path.exists());
    }

    #[test]
    fn what_somebody_else_made_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".claude");
        let covers = over(&path);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "x").unwrap();
        drop(covers);
        assert_eq!(fs::read(&path).unwrap(), b"x");
        assert!(Covers::over([path.clone()], []).is_err() && !Covers::may_be_at(&path));
    }

    #[test]
    fn a_name_that_somebody_has_just_given_back_is_stood_in_for_like_any_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(".agents");
        // Seen while another command had it, and gone when it is looked at more closely.
        drop(over(&path));
        assert!(Covers::may_be_at(&path));
        assert!(!Covers::may_be_at(directory.path()));
    }
}
