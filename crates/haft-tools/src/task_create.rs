//! `TaskCreate`: notes something that is to be done.

use haft_tool::{Cx, Effects, Fault, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::items::{Items, check_texts};

/// Notes a piece of work, so that it is not forgotten and its state can be seen. It does nothing by itself.
///
/// Use it for work of several steps that depend on each other, or that sub-agents share; for a plain list of steps TodoWrite is
/// simpler, and to begin something in the background use Bash or Delegate. Change it with TaskUpdate. It fails if what it is
/// to wait for is not there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskCreateInput {
    /// What is to be done, in a line.
    subject: String,
    /// What must be known for it, and when it is done.
    description: Option<String>,
    /// The ids of items that must be completed before, like `item-1`.
    #[serde(default)]
    blocked_by: Vec<String>,
}

pub(crate) struct TaskCreate;

impl Tool for TaskCreate {
    type Input = TaskCreateInput;
    const SPEC: Spec = Spec::new("TaskCreate")
        .toolset("planning")
        .aliases(&["task_create", "create_task"])
        .search_hint("note work item to do dependency plan steps track");

    fn validate(&self, input: &TaskCreateInput) -> Result<(), Fault> {
        check_texts(Some(&input.subject), input.description.as_deref())
    }

    fn effects(&self, _: &TaskCreateInput) -> Effects {
        Effects::changes("items")
    }

    fn describe(&self, input: &TaskCreateInput) -> String {
        format!("Note: {}", input.subject)
    }

    async fn call(&self, input: TaskCreateInput, cx: &Cx) -> Result<Reply, Fault> {
        let mut items = Items::of(cx);
        let subject = input.subject.split_whitespace().collect::<Vec<_>>().join(" ");
        let id = items.add(subject, input.description.unwrap_or_default(), input.blocked_by)?;
        let line = items.get(&id).map(|item| items.line(item)).unwrap_or_default();
        Ok(items.kept(Reply::text(line)))
    }
}
