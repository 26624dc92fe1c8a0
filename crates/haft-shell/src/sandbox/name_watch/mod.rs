//! The look at what a command made: protected names that appear without having been permitted are set aside.
//!
//! The supervisor stops honest programs before they make such a name. A program with threads can change a path after it was
//! read, so the guarantee is here. A thread watches the directories below the writable roots by inotify while the command runs,
//! and looks once more when it has ended. A name that appears is renamed into a private directory of haft's state: nothing
//! runs it any more, and nothing is lost. Settings of git are reverted by key instead.
//!
//! # Limits
//! - At most [`WATCHES_LIMIT`] directories are watched, or a 32nd of what the kernel gives the user. Others are looked at when the
//!   command has ended, up to [`DIRECTORIES_LIMIT`].
//! - Directories of installed packages and the objects of repositories are passed by.
//! - What the person makes meanwhile is left alone: a name counts only if the command made some name within two
//!   seconds of its birth ([`activity`]). Where both made names at that time they cannot be told apart: it is set aside, and told.

mod activity; // when the command made names
mod inspect; //  what is new, and whose it is
mod settings; // git's settings, reverted by key
mod rebase; //   commands in the list of a rebase, taken out
mod quarantine; //    the private directory
mod watcher; //  the thread

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    fmt, io, mem,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use rustix::event::{EventfdFlags, eventfd};

pub(super) use activity::{Activity, Creations};
pub(super) use settings::Baseline;

use super::{error::SandboxError, files::Outcome};

/// Directories that are watched at most.
const WATCHES_LIMIT: usize = 4_000;
/// Directories that are looked at when a command has ended, if not all are watched.
const DIRECTORIES_LIMIT: usize = 20_000;

/// A protected name that a command made or changed without permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedChange {
    /// The place.
    pub path: PathBuf,
    /// The effect of what stands there, as the end of "which …".
    pub effect: &'static str,
    /// The consequence.
    pub outcome: ChangeOutcome,
}

/// The consequence of a change under a protected name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// It was moved to this place.
    SetAside(PathBuf),
    /// These keys of git's settings were put back as they were, or these lines of a rebase taken out.
    Reverted(Vec<String>),
    /// It could not be moved, for this reason, and is still there.
    Left(String),
    /// It stays: ordinary work changes it, and the person should know.
    Kept,
}

impl ProtectedChange {
    /// Moves what was set aside back to its place.
    ///
    /// # Errors
    /// Something else stands there by now, or it was not set aside.
    pub fn restore(&self) -> io::Result<()> {
        match &self.outcome {
            ChangeOutcome::SetAside(kept) => quarantine::restore(kept, &self.path),
            _ => Err(io::Error::new(io::ErrorKind::NotFound, "it was not set aside")),
        }
    }
}

impl fmt::Display for ProtectedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProtectedChange { path, effect, outcome } = self;
        let place = path.display();
        match outcome {
            ChangeOutcome::SetAside(kept) => write!(
                f,
                "the command created {place}, which {effect}; it was moved to {}. To allow it, declare it in `write` of Bash, or \
                 add the rule `Edit({place})`",
                kept.display()
            ),
            ChangeOutcome::Reverted(keys) => write!(
                f,
                "the command changed {} in {place}, which {effect}; that was taken back. To allow it, declare {place} in `write` of Bash",
                keys.join(", ")
            ),
            ChangeOutcome::Left(why) => write!(
                f,
                "the command created {place}, which {effect}, and it could not be moved away ({why}): look at it before you go on"
            ),
            ChangeOutcome::Kept => write!(f, "the command changed {place}, which {effect}"),
        }
    }
}

/// The places of a watch.
#[derive(Debug, Clone)]
pub(super) struct WatchScope {
    /// Real paths that the command may write, with all below.
    pub(super) roots: Vec<PathBuf>,
    /// The user's home.
    pub(super) home: Option<PathBuf>,
    /// Protected places that existed before the command, and cannot be changed by it.
    pub(super) frozen: BTreeSet<PathBuf>,
    /// Protected places that it was permitted to write.
    pub(super) permitted: Vec<PathBuf>,
    /// Places that settings of git name as code.
    pub(super) code: Vec<PathBuf>,
    /// The words of the command.
    pub(super) words: Vec<u8>,
    /// The directory for what is set aside. Without one, a directory of haft's state.
    pub(super) shelf: Option<PathBuf>,
}

/// A watch over the protected names of one command.
#[derive(Debug)]
pub(super) struct NameWatch {
    end: Arc<OwnedFd>,
    state: State,
    found: Arc<Mutex<Vec<ProtectedChange>>>,
}

#[derive(Debug)]
enum State {
    Prepared(Box<inspect::Inspector>),
    Running(JoinHandle<()>),
    Ended,
}

impl NameWatch {
    /// Makes a watch ready before the command starts. `activity` is missing where system calls are not reported, and `outcome` says
    /// what is permitted while the command runs.
    pub(super) fn prepare(
        watched: WatchScope,
        baseline: Baseline,
        activity: Option<Arc<Activity>>,
        outcome: Arc<Outcome>,
    ) -> Result<NameWatch, SandboxError> {
        let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let inspector = inspect::Inspector::new(watched, baseline, activity, outcome);
        let found = inspector.found();
        Ok(NameWatch { end: Arc::new(end), state: State::Prepared(Box::new(inspector)), found })
    }

    /// Starts to watch.
    pub(super) fn start(&mut self) -> Result<(), SandboxError> {
        let State::Prepared(inspector) = mem::replace(&mut self.state, State::Ended) else { return Ok(()) };
        let end = Arc::clone(&self.end);
        let work = move || watcher::watch(*inspector, end.as_fd());
        let thread = thread::Builder::new().name("haft-names".to_owned()).spawn(work).map_err(failed)?;
        self.state = State::Running(thread);
        Ok(())
    }

    /// Ends the watch after a last look, and returns what was found. The command must have ended.
    pub(super) fn finish(&mut self) -> Vec<ProtectedChange> {
        if let State::Running(thread) = mem::replace(&mut self.state, State::Ended) {
            let _ = rustix::io::write(&*self.end, &1u64.to_ne_bytes());
            let _ = thread.join();
        }
        self.found()
    }

    /// Returns what was found so far.
    pub(super) fn found(&self) -> Vec<ProtectedChange> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn failed(err: impl Into<io::Error>) -> SandboxError {
    SandboxError::build("watch protected names", err)
}

impl Drop for NameWatch {
    fn drop(&mut self) {
        self.finish();
    }
}

/// A path relative to the root that it lies in.
fn split<'a>(roots: &'a [PathBuf], path: &'a Path) -> Option<(&'a Path, &'a Path)> {
    let root = roots.iter().find(|root| path.starts_with(root))?;
    Some((root, path.strip_prefix(root).ok()?))
}
