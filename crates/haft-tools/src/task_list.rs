//! `TaskList`: what is to be done, and what goes on in the background.

use haft_tool::{Access, Cx, Effects, Fault, Reply, Spec, TaskState, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    items::{Items, Status},
    task_get::how,
};

/// Lists the items that TaskCreate made, and the commands, monitors and sub-agents in the background, a line for each.
///
/// Use it to see what can be begun next (what waits for nothing) and what still runs. An empty list is an answer, not an error.
/// TaskGet has the description of one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskListInput {}

pub(crate) struct TaskList;

impl Tool for TaskList {
    type Input = TaskListInput;
    const SPEC: Spec = Spec::new("TaskList")
        .toolset("planning")
        .aliases(&["task_list", "list_tasks"])
        .search_hint("list work items background tasks processes sub-agents running status");

    fn effects(&self, _: &TaskListInput) -> Effects {
        Effects::none().and_state("items", Access::Read).and_state("tasks", Access::Read)
    }

    fn describe(&self, _: &TaskListInput) -> String {
        "List what is to be done and what runs".to_owned()
    }

    async fn call(&self, _: TaskListInput, cx: &Cx) -> Result<Reply, Fault> {
        let (items, tasks) = (Items::of(cx), cx.tasks());
        let mut lines: Vec<String> = items.all().iter().map(|item| items.line(item)).collect();
        let open = items.all().iter().filter(|item| item.status != Status::Completed).count();
        let mut running = 0;
        for (id, task) in tasks.ids().into_iter().filter_map(|id| tasks.find(&id).map(|task| (id, task))) {
            let state = task.state();
            running += usize::from(state == TaskState::Running);
            lines.push(format!("{id} [{}] {}", how(&state), task.describe()));
        }
        let text = if lines.is_empty() {
            "There is nothing on the list, and nothing runs.".to_owned()
        } else {
            lines.join("\n")
        };
        Ok(Reply::text(text).note("open", open).note("running", running))
    }
}

#[cfg(test)]
mod tests {
    use haft_engine::{Call, SessionOptions};
    use haft_testkit::{Workspace, engine};
    use serde_json::{Value, json};

    /// What a session answers to these calls, made in one turn.
    async fn told(calls: &[(&str, Value)]) -> Vec<String> {
        let workspace = Workspace::new("");
        let engine = engine(&workspace).tools(crate::builtin()).build().unwrap();
        let session = engine.session(SessionOptions::at(workspace.root())).unwrap();
        let calls = calls.iter().enumerate();
        let calls = calls.map(|(at, (tool, input))| Call::new(format!("call_{at}"), *tool, input.clone()));
        let results = session.turn(calls.collect()).await;
        results.iter().map(|result| result.text()).collect()
    }

    #[tokio::test]
    async fn what_is_to_be_done_is_noted_changed_and_listed() {
        let told = told(&[
            ("TaskList", json!({})),
            ("TaskCreate", json!({ "subject": "Write the parser", "description": "All of it." })),
            ("TaskCreate", json!({ "subject": "Test the parser", "blocked_by": ["item-1"] })),
            ("TaskUpdate", json!({ "task_id": "item-2", "status": "in_progress" })),
            ("TaskUpdate", json!({ "task_id": "item-1", "status": "completed", "owner": "explore" })),
            ("TaskGet", json!({ "task_id": "item-1" })),
            ("TaskList", json!({})),
            ("TaskUpdate", json!({ "task_id": "item-1", "delete": true })),
            ("TaskGet", json!({ "task_id": "item-1" })),
            ("TaskCreate", json!({ "subject": "x", "blocked_by": ["item-7"] })),
        ])
        .await;
        insta::assert_snapshot!(told.join("\n--\n"), @r#"
        There is nothing on the list, and nothing runs.
        --
        item-1 [pending] Write the parser
        --
        item-2 [pending] Test the parser (waits for item-1)
        --
        item-2 waits for item-1 (pending): complete that first, or let it go by `unblock`
        --
        item-1 [completed] Write the parser @explore
        --
        item-1 [completed] Write the parser @explore
        All of it.
        --
        item-1 [completed] Write the parser @explore
        item-2 [pending] Test the parser
        --
        item-1 is off the list
        --
        there is no item "item-1"; there is item-2
        --
        there is no item "item-7"; there is item-2
        "#);
    }

    #[tokio::test]
    async fn commands_in_the_background_are_on_the_list() {
        let workspace = Workspace::new("");
        let rules = haft_engine::policy::Rules::allowing(["Bash"], haft_engine::policy::Origin::Session);
        let engine = engine(&workspace).tools(crate::builtin()).rules(rules).build().unwrap();
        let session = engine.session(SessionOptions::at(workspace.root())).unwrap();
        let begun =
            session.call(Call::new("1", "Bash", json!({ "command": "sleep 30", "background": true }))).await;
        assert!(!begun.is_error(), "{}", begun.text());
        session.call(Call::new("2a", "TaskCreate", json!({ "subject": "Wait" }))).await;
        let list = session.call(Call::new("2", "TaskList", json!({}))).await;
        assert_eq!(list.text(), "item-1 [pending] Wait\ntask-1 [running] sleep 30");
        let no = session.call(Call::new("2b", "TaskStop", json!({ "task_id": "item-1" }))).await;
        assert!(no.text().contains("take it off the list with TaskUpdate"), "{}", no.text());
        let no =
            session.call(Call::new("3", "TaskUpdate", json!({ "task_id": "task-1", "delete": true }))).await;
        assert!(no.text().contains("end it with TaskStop"), "{}", no.text());
        session.end().await;
        let list = session.call(Call::new("4", "TaskGet", json!({ "task_id": "task-1" }))).await;
        assert!(list.text().starts_with("task-1 [ended: "), "{}", list.text());
    }
}
