//! A process that goes on after its call.

use std::{any::Any, sync::Arc};

use haft_shell::run::{Ended, Process};
use haft_tool::{BoxFuture, Task, TaskNews, TaskState};

use super::report::{on_one_line, status};

pub(crate) struct ShellTask {
    process: Process,
    command: String,
}

impl ShellTask {
    pub(super) fn new(process: Process, command: String) -> ShellTask {
        ShellTask { process, command }
    }
}

impl Task for ShellTask {
    fn describe(&self) -> String {
        on_one_line(&self.command)
    }

    fn state(&self) -> TaskState {
        match self.process.has_ended() {
            None => TaskState::Running,
            Some(ended) if is_fine(&ended) => TaskState::Done(status(&ended)),
            Some(ended) => TaskState::Failed(status(&ended)),
        }
    }

    fn since(&self, from: u64) -> TaskNews {
        self.process.with_output(|output| {
            let piece = output.since(from);
            let whole = output.file().and_then(|file| file.ok()).map(ToOwned::to_owned);
            TaskNews { text: piece.text, skipped: piece.skipped, next: piece.next, whole }
        })
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(self.process.changed())
    }

    fn shares(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.process.loopback()?)
    }

    fn stop(&self) {
        self.process.stop();
    }
}

fn is_fine(ended: &Ended) -> bool {
    ended.stopped.is_none() && ended.status.is_success()
}
