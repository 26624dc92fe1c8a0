//! Who runs a call, and whether they are still there.
//!
//! Each process that writes has a file of its own, locked as long as it lives. The kernel lets go of the lock however the
//! process ends, so nothing has to be renewed, no clock is asked, and a process id that comes again deceives nobody.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use uuid::Uuid;

/// The owners of one book.
#[derive(Debug, Clone)]
pub(super) struct Owners(PathBuf);

/// This process, as long as it holds this.
#[derive(Debug)]
pub(super) struct Owner {
    name: String,
    path: PathBuf,
    /// Held for its lock.
    file: File,
}

impl Owners {
    /// Those of the book at this path.
    pub(super) fn of(book: &Path) -> Owners {
        Owners(book.with_extension("owners"))
    }

    /// Becomes one of them.
    pub(super) fn join(&self) -> io::Result<Owner> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)?;
        loop {
            let name = format!("{}-{}", std::process::id(), &Uuid::now_v7().simple().to_string()[20..]);
            let path = self.0.join(&name);
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            let is_locked = file.try_lock().is_ok();
            let owner = Owner { name, path, file };
            // Somebody who sweeps may have taken the file away before it was locked.
            if is_locked && owner.is_known() {
                return Ok(owner);
            }
        }
    }

    /// Whether somebody is still there. One that is not leaves no file behind.
    pub(super) fn is_alive(&self, name: &str) -> bool {
        // A name is what we wrote; a damaged one must not lead elsewhere.
        if name.is_empty() || name.contains(['/', '\0']) {
            return false;
        }
        let path = self.0.join(name);
        let Ok(file) = File::open(&path) else { return false };
        match file.try_lock() {
            Ok(()) => {
                let _ = fs::remove_file(&path);
                false
            }
            Err(TryLockError::WouldBlock) => true,
            // Who cannot tell does not run what may be running.
            Err(TryLockError::Error(_)) => true,
        }
    }

    /// Takes away the files of those that are gone.
    pub(super) fn sweep(&self) {
        let names = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for name in names.filter_map(|entry| entry.file_name().into_string().ok()) {
            self.is_alive(&name);
        }
    }
}

impl Owner {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether others find it.
    pub(super) fn is_known(&self) -> bool {
        let there = fs::metadata(&self.path);
        there.is_ok_and(|there| self.file.metadata().is_ok_and(|own| own.ino() == there.ino()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_there_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let owners = Owners::of(&dir.path().join("journal.db"));
        let (one, other) = (owners.join().unwrap(), owners.join().unwrap());
        let name = one.name().to_owned();
        assert!(owners.is_alive(&name) && owners.is_alive(other.name()));
        drop(one);
        owners.sweep();
        assert!(!owners.is_alive(&name) && owners.is_alive(other.name()));
        for odd in ["", "../x", "nobody"] {
            assert!(!owners.is_alive(odd), "{odd}");
        }
    }
}
