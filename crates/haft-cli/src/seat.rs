//! Who has a conversation: one process at a time. Two that went on with the same one would each tell only half of it, and no
//! API takes what that leaves.
//!
//! A seat is a file that is locked as long as its process lives; the kernel lets go of it however that ends. Other machines that
//! share a journal do not see it: what they may leave is put right when it is read (`transcript.rs`).

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use crate::{exit::usage, place};

/// Those of this process, by session: to come back to one's own is no reason to wait.
static TAKEN: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// So often a seat that seems to be taken is looked at again, after this.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(5);

/// Takes the seat of a session, until the process ends.
///
/// # Errors
/// Another process has it. A place where nothing can be written keeps nobody from talking.
pub(crate) fn take(session: &str) -> anyhow::Result<()> {
    let directory = place::state()?.join("talking");
    match at(&directory, session) {
        Ok(None) => Ok(()),
        Ok(Some(by)) => {
            let who = if by.is_empty() { "another process".to_owned() } else { format!("process {by}") };
            Err(usage(format!(
                "the session {session} is in use by {who}; wait for its end, or begin another conversation"
            )))
        }
        Err(_) => Ok(()),
    }
}

/// Takes a seat; says who has it, if somebody does.
fn at(directory: &Path, session: &str) -> io::Result<Option<String>> {
    let path = directory.join(session);
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if taken.contains_key(&path) {
        return Ok(None);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    sweep(directory, &taken);
    let mut tries = 0;
    loop {
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            // Who sweeps holds it for a moment.
            Err(TryLockError::WouldBlock) if tries < TRIES => {
                tries += 1;
                thread::sleep(PAUSE);
                continue;
            }
            Err(TryLockError::WouldBlock) => return Ok(Some(fs::read_to_string(&path)?.trim().to_owned())),
            Err(TryLockError::Error(err)) => return Err(err),
        }
        // Somebody who sweeps may have taken the file away before it was locked.
        if fs::metadata(&path).is_ok_and(|there| file.metadata().is_ok_and(|own| own.ino() == there.ino())) {
            file.set_len(0)?;
            writeln!(file, "{}", std::process::id())?;
            taken.insert(path, file);
            return Ok(None);
        }
    }
}

/// Takes away what others left. One's own are not looked at: to open and close them says nothing.
fn sweep(directory: &Path, own: &BTreeMap<PathBuf, File>) {
    let left = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in left.filter(|path| !own.contains_key(path)) {
        if File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_taken_once_and_what_the_dead_left_goes() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("talking");
        assert_eq!(at(&directory, "one").unwrap(), None);
        assert_eq!(at(&directory, "one").unwrap(), None, "it is one's own");
        // As another process would: a file that is locked, and one that is not any more.
        let other = File::create(directory.join("two")).unwrap();
        (&other).write_all(b"77\n").unwrap();
        other.lock().unwrap();
        fs::write(directory.join("three"), "78\n").unwrap();
        assert_eq!(at(&directory, "two").unwrap().as_deref(), Some("77"));
        assert!(!directory.join("three").exists() && directory.join("one").exists());
        drop(other);
        assert_eq!(at(&directory, "two").unwrap(), None);
    }
}
