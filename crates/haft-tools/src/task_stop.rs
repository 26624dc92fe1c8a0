//! `TaskStop`: ends a task in the background.

use std::time::Duration;

use haft_tool::{Access, Cx, Effects, Fault, Reply, Spec, TaskState, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{items::Items, task_output::find};

/// Ends a task that runs in the background, with all that it started, and tells what it printed last.
///
/// Use it when a server or a watcher is not needed any more. A task that has ended already is an answer, not an error.
/// It fails if there is no such task.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskStopInput {
    /// The task's id, like `task-1`.
    task_id: String,
}

pub(crate) struct TaskStop;

/// Longer than what a task has to end by itself before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

impl Tool for TaskStop {
    type Input = TaskStopInput;
    const SPEC: Spec = Spec::new("TaskStop")
        .toolset("shell")
        .aliases(&["KillShell", "KillBash", "task_stop", "kill_process"])
        .search_hint("end kill stop a background task process server");

    fn effects(&self, _: &TaskStopInput) -> Effects {
        Effects::changes("tasks").and_state("items", Access::Read)
    }

    fn describe(&self, input: &TaskStopInput) -> String {
        format!("Stop {}", input.task_id)
    }

    async fn call(&self, input: TaskStopInput, cx: &Cx) -> Result<Reply, Fault> {
        let tasks = cx.tasks();
        if tasks.find(&input.task_id).is_none() && Items::of(cx).get(&input.task_id).is_some() {
            return Err(Fault::rejected(format!(
                "{} is an item and does not run: change it or take it off the list with TaskUpdate",
                input.task_id
            )));
        }
        let task = find(&*tasks, &input.task_id)?;
        if let TaskState::Done(how) | TaskState::Failed(how) = task.state() {
            tasks.see(&input.task_id, tasks.seen(&input.task_id));
            return Ok(Reply::text(format!("{} had ended already: {how}", input.task_id)));
        }
        task.stop();
        let in_time = tokio::time::timeout(PATIENCE, task.ended()).await.is_ok();
        let news = task.since(tasks.seen(&input.task_id));
        tasks.see(&input.task_id, news.next);
        let last = news.text.trim_end_matches('\n');
        let (break_, how) = (
            if last.is_empty() { "" } else { "\n" },
            if in_time { "has ended" } else { "was told to end and has not yet" },
        );
        Ok(Reply::text(format!("{last}{break_}[{} {how}]", input.task_id)))
    }
}
