//! `TaskUpdate`: changes something that is to be done.

use haft_tool::{Cx, Effects, Fault, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::items::{Items, Status, check_texts};

/// Changes an item that TaskCreate made: how far it is, what it says, who does it, what it waits for.
///
/// Set `in_progress` when you begin and `completed` when it is really done, not before. What waits for something that is not
/// completed cannot begin. Fields that are left out stay. It fails if there is no such item.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskUpdateInput {
    /// The item's id, like `item-1`.
    task_id: String,
    /// How far it is.
    status: Option<Status>,
    /// What is to be done, in a line.
    subject: Option<String>,
    /// What must be known for it, and when it is done.
    description: Option<String>,
    /// Who does it; empty for nobody.
    owner: Option<String>,
    /// Ids of items that it must wait for, besides those that it waits for already.
    #[serde(default)]
    block: Vec<String>,
    /// Ids of items that it need not wait for any more.
    #[serde(default)]
    unblock: Vec<String>,
    /// Whether it is not to be done any more: it is taken off the list.
    #[serde(default)]
    delete: bool,
}

pub(crate) struct TaskUpdate;

/// A name, not a text.
const LONGEST_OWNER: usize = 64;

impl Tool for TaskUpdate {
    type Input = TaskUpdateInput;
    const SPEC: Spec = Spec::new("TaskUpdate")
        .toolset("planning")
        .aliases(&["task_update", "update_task"])
        .search_hint("change work item status completed in progress dependency delete");

    fn validate(&self, input: &TaskUpdateInput) -> Result<(), Fault> {
        check_texts(input.subject.as_deref(), input.description.as_deref())?;
        if input.owner.as_ref().is_some_and(|owner| owner.len() > LONGEST_OWNER) {
            return Err(Fault::rejected(format!("`owner` is a name of at most {LONGEST_OWNER} bytes")));
        }
        Ok(())
    }

    fn effects(&self, _: &TaskUpdateInput) -> Effects {
        Effects::changes("items")
    }

    fn describe(&self, input: &TaskUpdateInput) -> String {
        match (input.delete, input.status) {
            (true, _) => format!("Delete {}", input.task_id),
            (false, Some(status)) => format!("{} is {status}", input.task_id),
            (false, None) => format!("Change {}", input.task_id),
        }
    }

    async fn call(&self, input: TaskUpdateInput, cx: &Cx) -> Result<Reply, Fault> {
        let mut items = Items::of(cx);
        let id = input.task_id.as_str();
        if cx.tasks().find(id).is_some() {
            return Err(Fault::rejected(format!(
                "{id} goes on by itself and is no item: look at it with TaskOutput, end it with TaskStop"
            )));
        }
        if input.delete {
            items.delete(id)?;
            return Ok(items.kept(Reply::text(format!("{id} is off the list"))));
        }
        let item = items.find(id)?;
        if let Some(subject) = input.subject {
            item.subject = subject.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(description) = input.description {
            item.description = description;
        }
        if let Some(owner) = input.owner {
            item.owner = Some(owner.trim().to_owned()).filter(|owner| !owner.is_empty());
        }
        items.free(id, &input.unblock)?;
        items.wait(id, &input.block)?;
        if let Some(status) = input.status {
            items.set_status(id, status)?;
        }
        let line = items.get(id).map(|item| items.line(item)).unwrap_or_default();
        Ok(items.kept(Reply::text(line)))
    }
}
