//! Attempts of a command to write protected names, and the trait that decides about them.

use std::{
    fmt, mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::super::supervisor::Waker;

/// Decides about attempts of a command while it waits.
pub trait Gatekeeper: fmt::Debug + Send + Sync {
    /// Has the attempt decided, and returns at once. The command waits in its system call until `decision` is used or dropped,
    /// which refuses.
    fn decide(&self, attempt: Attempt, decision: Decision);

    /// Refuses from now on, what is undecided included: the call ends, and the process goes on without it.
    fn close(&self) {}
}

/// A change of a protected name that a command attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The file.
    pub path: PathBuf,
    /// The protected place that it is, or lies in. A permission covers all of it, until the command ends.
    pub place: PathBuf,
    /// Whether something is there already.
    pub exists: bool,
    /// The reason why it is protected: "which editors run".
    pub effect: String,
    /// The command line of the process, as it says itself.
    pub program: String,
}

impl Attempt {
    /// One line for a person, with the path as seen from a directory.
    pub fn describe(&self, from: &Path) -> String {
        let path = self.path.strip_prefix(from).unwrap_or(&self.path).display();
        let verb = if self.exists { "change" } else { "create" };
        match self.program.is_empty() {
            true => format!("the command wants to {verb} {path}, {}", self.effect),
            false => format!("`{}` wants to {verb} {path}, {}", self.program, self.effect),
        }
    }
}

/// The decision about an attempt, to be made once. Without one it is refused.
#[derive(Debug)]
pub struct Decision {
    subject: Subject,
    decisions: Decisions,
    is_permitted: bool,
}

/// What a decision is about: a place, and for a file of settings the keys.
pub(super) type Subject = (PathBuf, String);

impl Decision {
    pub(super) fn new(subject: Subject, decisions: &Decisions) -> Decision {
        Decision { subject, decisions: decisions.clone(), is_permitted: false }
    }

    /// The command may go on.
    pub fn permit(mut self) {
        self.is_permitted = true;
    }

    /// The command's call fails.
    pub fn refuse(self) {}
}

impl Drop for Decision {
    fn drop(&mut self) {
        let subject = mem::take(&mut self.subject);
        self.decisions.push(subject, self.is_permitted);
    }
}

/// Decisions that the supervisor has not carried out yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Decisions(Arc<Mutex<Made>>);

#[derive(Debug, Default)]
struct Made {
    decisions: Vec<(Subject, bool)>,
    waker: Option<Waker>,
}

impl Decisions {
    pub(super) fn set_waker(&self, waker: &Waker) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).waker = Some(waker.clone());
    }

    fn push(&self, subject: Subject, is_permitted: bool) {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        made.decisions.push((subject, is_permitted));
        made.waker.iter().for_each(Waker::wake);
    }

    pub(super) fn take(&self) -> Vec<(Subject, bool)> {
        mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).decisions)
    }
}
