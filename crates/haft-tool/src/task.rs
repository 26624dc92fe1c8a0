//! Work that goes on after the call that began it has ended.
//!
//! A call hands its work to the session ([`Tasks::add`]) and answers with the id. Others look at it by that id, and stop it;
//! what is left ends with the session.

use std::{any::Any, path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{BoxFuture, Fault};

/// Something that goes on. Dropping it ends it.
pub trait Task: Send + Sync {
    /// What it is, in one line: the command, the question.
    fn describe(&self) -> String;

    /// Whether it still goes on.
    fn state(&self) -> TaskState;

    /// What it has said from a place on. Zero is the beginning.
    fn since(&self, from: u64) -> TaskNews;

    /// What of that, from a place on, whoever began it should hear of without asking: the lines that a monitor watches
    /// for. Most tasks have nothing of the kind.
    fn notable(&self, from: u64) -> TaskNews {
        TaskNews { next: from, ..TaskNews::default() }
    }

    /// Something happens after this is called: it says something, or it ends. May also return for nothing.
    fn changed(&self) -> BoxFuture<'static, ()>;

    /// What later processes of the session may be given a share of, for whoever knows what it is: a network. Most tasks have
    /// nothing of the kind.
    fn shares(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// Ends it. Returns at once: the state tells when.
    fn stop(&self);
}

impl dyn Task {
    /// Waits until it has ended.
    pub async fn ended(&self) {
        loop {
            let change = self.changed();
            if self.state() != TaskState::Running {
                return;
            }
            change.await;
        }
    }
}

/// Whether a task goes on, and if not, how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It goes on.
    Running,
    /// It did what it was to do.
    Done(String),
    /// It did not, or was stopped.
    Failed(String),
}

/// What a task has said since some place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskNews {
    /// The words.
    pub text: String,
    /// How many bytes before them are not at hand any more.
    pub skipped: u64,
    /// The place after them, to go on from.
    pub next: u64,
    /// Where all that it said is kept, if that is more than fits here.
    pub whole: Option<PathBuf>,
}

/// The tasks of a session.
pub trait Tasks: Send + Sync {
    /// Takes care of a task and says by which id it is known. Refuses when too many go on.
    fn add(&self, task: Arc<dyn Task>) -> Result<String, Fault>;

    /// The task of this id.
    fn find(&self, id: &str) -> Option<Arc<dyn Task>>;

    /// The ids that there are, oldest first.
    fn ids(&self) -> Vec<String>;

    /// Up to which place somebody has looked at it.
    fn seen(&self, id: &str) -> u64;

    /// Notes that somebody has looked up to this place.
    fn see(&self, id: &str, up_to: u64);
}

/// No tasks at all.
pub(crate) struct NoTasks;

impl Tasks for NoTasks {
    fn add(&self, _: Arc<dyn Task>) -> Result<String, Fault> {
        Err(Fault::failed("nothing can go on here after its call"))
    }
    fn find(&self, _: &str) -> Option<Arc<dyn Task>> {
        None
    }
    fn ids(&self) -> Vec<String> {
        Vec::new()
    }
    fn seen(&self, _: &str) -> u64 {
        0
    }
    fn see(&self, _: &str, _: u64) {}
}
