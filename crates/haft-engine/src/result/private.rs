//! Where large results are kept by an engine that was given no store.
//!
//! Each engine has one directory with an unguessable name, made when it is first needed, and each session has one
//! in it. A session's goes when the session ends, the engine's with the engine; what a killed process left is removed by the
//! next one that finds it unlocked.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use haft_tool::{Block, BoxFuture, CallId, Kept, SessionId};
use rustix::fs::{FlockOperation, OFlags, flock};
use uuid::Uuid;

use super::{FileStore, ResultStore, store::is_private};

/// What the names of these directories begin with: how the sweep finds candidates, which it then examines.
const PREFIX: &str = "haft-results-";

/// The directory of an engine. It is held by a lock while its owner lives.
#[derive(Debug)]
pub(crate) struct PrivateRoot {
    path: PathBuf,
    held: Mutex<Option<File>>,
}

impl Default for PrivateRoot {
    fn default() -> PrivateRoot {
        let path = std::env::temp_dir().join(format!("{PREFIX}{}", Uuid::now_v7().simple()));
        PrivateRoot { path, held: Mutex::new(None) }
    }
}

impl PrivateRoot {
    /// Makes the directory, or examines the one that was made.
    fn ensure(&self) -> io::Result<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ours) = &*held {
            return match is_at(ours, &self.path) {
                true => Ok(()),
                false => Err(io::Error::other("somebody has replaced the directory of results")),
            };
        }
        // Fails where something is there already, whatever it is.
        DirBuilder::new().mode(0o700).create(&self.path)?;
        let directory = open_private(&self.path)?;
        flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
        *held = Some(directory);
        Ok(())
    }

    /// Removes what processes left that are gone.
    pub(crate) fn sweep() {
        let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
        let is_candidate = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
        for entry in entries.flatten().filter(is_candidate) {
            // Only a directory of ours that no process holds. What cannot be removed stays for the next start.
            if let Ok(directory) = open_private(&entry.path())
                && flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok()
                && is_at(&directory, &entry.path())
            {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Drop for PrivateRoot {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_some_and(|ours| is_at(ours, &self.path)) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Opens a directory that is no link, belongs to this user and is closed to all others.
fn open_private(path: &Path) -> io::Result<File> {
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits() as i32;
    let directory = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match is_private(&directory.metadata()?) {
        true => Ok(directory),
        false => Err(io::Error::other("the directory belongs to another user, or others may enter it")),
    }
}

/// Whether the path still leads to this directory, and by no link.
fn is_at(directory: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (directory.metadata(), fs::symlink_metadata(path)) else { return false };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

/// The results of one session and its sub-agents.
#[derive(Debug)]
pub(crate) struct PrivateResults {
    root: Arc<PrivateRoot>,
    directory: PathBuf,
    files: FileStore,
}

impl PrivateResults {
    pub(crate) fn new(root: Arc<PrivateRoot>) -> PrivateResults {
        let directory = root.path.join(Uuid::now_v7().simple().to_string());
        PrivateResults { files: FileStore::new(&directory), directory, root }
    }
}

impl ResultStore for PrivateResults {
    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        blocks: Arc<Vec<Block>>,
    ) -> BoxFuture<'_, io::Result<PathBuf>> {
        match self.root.ensure() {
            Ok(()) => self.files.keep(session, call, blocks),
            Err(err) => Box::pin(async { Err(err) }),
        }
    }

    fn begin(&self, session: &SessionId, call: &CallId) -> io::Result<Kept> {
        self.root.ensure()?;
        self.files.begin(session, call)
    }

    fn directory(&self, session: &SessionId) -> Option<PathBuf> {
        self.files.directory(session)
    }

    fn root(&self) -> Option<PathBuf> {
        Some(self.root.path.clone())
    }

    fn end(&self, _: &SessionId) {
        // Nothing is there if nothing was large.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Drop for PrivateResults {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn text(text: &str) -> Arc<Vec<Block>> {
        Arc::new(vec![Block::Text(text.into())])
    }

    #[tokio::test]
    async fn results_are_in_a_directory_of_their_own_that_ends_with_its_owner() {
        let root = Arc::new(PrivateRoot::default());
        let (one, other) = (PrivateResults::new(root.clone()), PrivateResults::new(root.clone()));
        let kept = one.keep(&"s".into(), &"c".into(), text("x")).await.unwrap();
        let theirs = other.keep(&"s".into(), &"c".into(), text("y")).await.unwrap();
        assert_ne!(kept.parent(), theirs.parent(), "the same id is no reason to share a directory");
        for place in kept.ancestors().skip(1).take_while(|place| *place != std::env::temp_dir()) {
            assert_eq!(fs::metadata(place).unwrap().permissions().mode() & 0o777, 0o700, "{place:?}");
        }
        drop(one);
        assert!(!kept.exists() && theirs.exists());
        drop((other, Arc::into_inner(root)));
        assert!(!theirs.exists());
    }

    #[tokio::test]
    async fn a_directory_that_somebody_else_made_is_refused() {
        let elsewhere = tempfile::tempdir().unwrap();
        let root = Arc::new(PrivateRoot::default());
        symlink(elsewhere.path(), &root.path).unwrap();
        let results = PrivateResults::new(root.clone());
        assert!(results.keep(&"s".into(), &"c".into(), text("x")).await.is_err());
        assert!(results.begin(&"s".into(), &"c".into()).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        fs::remove_file(&root.path).unwrap();
    }

    #[tokio::test]
    async fn a_directory_that_was_replaced_is_refused() {
        let elsewhere = tempfile::tempdir().unwrap();
        let root = Arc::new(PrivateRoot::default());
        let results = PrivateResults::new(root.clone());
        results.keep(&"s".into(), &"c".into(), text("x")).await.unwrap();
        fs::remove_dir_all(&root.path).unwrap();
        symlink(elsewhere.path(), &root.path).unwrap();
        assert!(results.keep(&"s".into(), &"d".into(), text("x")).await.is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        fs::remove_file(&root.path).unwrap();
    }

    #[tokio::test]
    async fn the_sweep_removes_what_nobody_holds_and_nothing_else() {
        let (left, living) = (PrivateRoot::default(), Arc::new(PrivateRoot::default()));
        DirBuilder::new().mode(0o700).create(&left.path).unwrap();
        fs::write(left.path.join("x"), "x").unwrap();
        let results = PrivateResults::new(living.clone());
        let kept = results.keep(&"s".into(), &"c".into(), text("x")).await.unwrap();
        PrivateRoot::sweep();
        assert!(!left.path.exists() && kept.exists());
    }
}
