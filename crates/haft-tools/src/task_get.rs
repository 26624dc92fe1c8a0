//! `TaskGet`: all that is known of one thing to do, or of a task in the background.

use haft_tool::{Access, Cx, Effects, Fault, Reply, Spec, TaskState, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::items::Items;

/// Tells all that is known of one item (`item-1`) or of a task in the background (`task-1`).
///
/// Use it before you begin an item, for its description. TaskList has a line for each; what a task in the background has said
/// is in TaskOutput. It fails if there is neither of this id.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskGetInput {
    /// The id, like `item-1` or `task-1`.
    task_id: String,
}

pub(crate) struct TaskGet;

impl Tool for TaskGet {
    type Input = TaskGetInput;
    const SPEC: Spec = Spec::new("TaskGet")
        .toolset("planning")
        .aliases(&["task_get", "get_task"])
        .search_hint("look at one work item or background task details");

    fn effects(&self, _: &TaskGetInput) -> Effects {
        Effects::none().and_state("items", Access::Read).and_state("tasks", Access::Read)
    }

    fn describe(&self, input: &TaskGetInput) -> String {
        format!("Look at {}", input.task_id)
    }

    async fn call(&self, input: TaskGetInput, cx: &Cx) -> Result<Reply, Fault> {
        let id = input.task_id.as_str();
        if let Some(task) = cx.tasks().find(id) {
            let state = task.state();
            cx.tasks().see(id, cx.tasks().seen(id));
            let text = format!("{id} [{}] {}", how(&state), task.describe());
            return Ok(Reply::text(text).note("running", state == TaskState::Running));
        }
        let items = Items::of(cx);
        let item = items.get(id).ok_or_else(|| items.unknown(id))?;
        let description = if item.description.is_empty() { "" } else { "\n" };
        Ok(Reply::text(format!("{}{description}{}", items.line(item), item.description)))
    }
}

/// A word or a line for how far a task in the background is.
pub(crate) fn how(state: &TaskState) -> String {
    match state {
        TaskState::Running => "running".to_owned(),
        TaskState::Done(how) | TaskState::Failed(how) => format!("ended: {how}"),
    }
}
