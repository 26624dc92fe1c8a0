//! Letting a name be made.
//!
//! A file that is not there cannot be opened for writing alone: there is nothing to mount, and nothing that Landlock could
//! name. To open its directory instead would open every other file in it, for which nobody asked. So while a command runs an
//! empty file stands there. If the command writes it, it is the command's; if not, it is removed.
//!
//! It is known by its time: empty, and last changed in one second that is long over. Whatever writes, empties or touches
//! it sets another. What a crash left behind is known in the same way, and is used and removed like the rest. Several
//! commands may wait for the same file: each holds a lock, and the last one removes it. The lock is in the directory,
//! at the number of the file: on the file itself it would be in the way of a command that locks what it makes.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsRawFd, OwnedFd, RawFd},
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{
    error::SandboxError,
    sys::{self, Errno, Facts, c_string},
};

/// A file that a command may make.
#[derive(Debug)]
pub(super) struct Blank {
    directory: OwnedFd,
    name: CString,
    number: u64,
    is_gone: AtomicBool,
}

/// The second in which it was last changed: `haft` in letters.
const STAMP: i64 = 0x6861_6674;

/// Nobody else's. The mask that the command would set, or the mode that it would ask for, count for nothing once a file is
/// there, and what is secret must not be open until somebody notices. The command can change it.
const MODE: u32 = 0o600;

/// How often it is made anew because somebody has just removed it.
const TRIES: usize = 20;

impl Blank {
    /// Something to be written at a path, which is real but for its last name. None if something else is there.
    pub(super) fn at(path: &Path) -> Result<Option<Blank>, SandboxError> {
        let failed = |errno: Errno| SandboxError::path("make", path, std::io::Error::from(errno));
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(None) };
        let name = c_string(name).map_err(failed)?;
        let parent = c_string(parent.as_os_str()).map_err(failed)?;
        let directory = sys::open_directory_at(sys::HERE, &parent).map_err(failed)?;
        for _ in 0..TRIES {
            match sys::make_stamped_at(directory.as_raw_fd(), &name, MODE, STAMP) {
                Ok(()) | Err(Errno(libc::EEXIST)) => {}
                Err(errno) => return Err(failed(errno)),
            }
            let number = match sys::facts_at(directory.as_raw_fd(), &name) {
                Ok(facts) if is_blank(&facts) => facts.number,
                Ok(_) => return Ok(None),
                Err(Errno(libc::ENOENT)) => continue, // removed since
                Err(errno) => return Err(failed(errno)),
            };
            sys::lock_at(directory.as_raw_fd(), number, libc::F_RDLCK).map_err(failed)?;
            // Who found no lock may have removed it before there was one.
            if sys::facts_at(directory.as_raw_fd(), &name).is_ok_and(|facts| facts.number == number) {
                return Ok(Some(Blank { directory, name, number, is_gone: AtomicBool::new(false) }));
            }
        }
        Err(failed(Errno(libc::EBUSY)))
    }

    /// Whether something is what stands for a file, perhaps left behind.
    pub(super) fn is_at(path: &Path) -> bool {
        c_string(path.as_os_str()).is_ok_and(|path| untouched(sys::HERE, &path).is_some())
    }

    /// Removes it, unless it has become a file or somebody still waits for it. Takes no memory, and may be done twice.
    pub(super) fn remove(&self) {
        let directory = self.directory.as_raw_fd();
        if self.is_gone.swap(true, Relaxed) {
            return;
        }
        // The own lock first: of several who do this at the same time, the last one finds no other.
        let _ = sys::lock_at(directory, self.number, libc::F_UNLCK);
        let is_alone = sys::is_unlocked_at(directory, self.number).unwrap_or(false);
        if is_alone && untouched(directory, &self.name) == Some(self.number) {
            let _ = sys::remove_at(directory, &self.name);
        }
    }

    /// Another process has removed it.
    pub(super) fn is_gone(&self) {
        self.is_gone.store(true, Relaxed);
    }

    /// The descriptor without which it cannot be removed.
    pub(super) fn descriptor(&self) -> RawFd {
        self.directory.as_raw_fd()
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        self.remove();
    }
}

fn is_blank(facts: &Facts) -> bool {
    facts.mode & libc::S_IFMT == libc::S_IFREG && facts.size == 0 && facts.changed == (STAMP, 0)
}

/// The number of a file that stands for one to be made, and that nobody has touched.
fn untouched(directory: RawFd, name: &CStr) -> Option<u64> {
    sys::facts_at(directory, name).ok().filter(is_blank).map(|facts| facts.number)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt, path::PathBuf};

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("new.txt");
        (directory, path)
    }

    fn replace(path: &Path) {
        let other = path.with_extension("other");
        fs::write(&other, "y").unwrap();
        fs::rename(other, path).unwrap();
    }

    #[test]
    fn what_nobody_wrote_is_gone_and_what_somebody_wrote_stays() {
        let check = |change: &dyn Fn(&Path), expected: Option<&[u8]>| {
            let (_directory, path) = place();
            let blank = Blank::at(&path).unwrap().unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o600);
            change(&path);
            drop(blank);
            assert_eq!(fs::read(&path).ok().as_deref(), expected);
        };
        check(&|_| {}, None);
        check(&|path| drop(fs::read(path).unwrap()), None);
        check(&|path| fs::remove_file(path).unwrap(), None);
        check(&|path| fs::write(path, "x").unwrap(), Some(b"x"));
        // Emptied is written, too: `: > new`.
        check(&|path| fs::write(path, "").unwrap(), Some(b""));
        check(&replace, Some(b"y"));
    }

    #[test]
    fn the_last_one_who_waits_for_a_file_removes_it() {
        let (_directory, path) = place();
        let (first, second) = (Blank::at(&path).unwrap(), Blank::at(&path).unwrap());
        drop(first);
        assert!(Blank::is_at(&path));
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_was_left_behind_is_used_and_removed() {
        let (_directory, path) = place();
        let left = Blank::at(&path).unwrap().unwrap();
        // The lock ends with the process that held it.
        sys::lock_at(left.descriptor(), left.number, libc::F_UNLCK).unwrap();
        std::mem::forget(left);
        assert!(Blank::is_at(&path));
        drop(Blank::at(&path).unwrap().unwrap());
        assert!(!path.exists());
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let (_directory, path) = place();
        fs::write(&path, "").unwrap();
        assert!(Blank::at(&path).unwrap().is_none() && path.exists());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(Blank::at(&path).unwrap().is_none());
        assert!(!path.with_file_name("elsewhere").exists());
        assert!(Blank::at(&path.join("none/new")).is_err());
    }
}
