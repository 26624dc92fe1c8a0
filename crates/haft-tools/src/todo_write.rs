//! `TodoWrite`: the model's list of things to do, which the person sees.

use haft_engine::session::{TODOS, Todo, TodoStatus};
use haft_tool::{Change, Cx, Effects, Fault, Reply, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;

/// Keeps your list of things to do, which the user sees. Every call replaces the whole list.
///
/// Use it for work of three steps or more: list the steps, keep exactly one `in_progress` while you work on it, and mark
/// each `completed` as soon as it is. An empty list clears it. Not for a single step, nor for what you only say.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoWriteInput {
    /// The whole list, in the order of doing.
    #[schemars(length(max = 100))]
    todos: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    /// What is to be done, in a few words.
    content: String,
    status: Status,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

/// A line, not a page.
const LONGEST: usize = 500;

pub(crate) struct TodoWrite;

impl Tool for TodoWrite {
    type Input = TodoWriteInput;
    const SPEC: Spec = Spec::new("TodoWrite")
        .toolset("planning")
        .aliases(&["todo_write", "todowrite", "write_todos"])
        .search_hint("todo list tasks checklist plan progress steps")
        .idempotent();

    fn validate(&self, input: &TodoWriteInput) -> Result<(), Fault> {
        for (at, item) in input.todos.iter().enumerate() {
            let length = item.content.chars().count();
            if item.content.trim().is_empty() {
                return Err(Fault::rejected(format!(
                    "`todos[{at}].content` is empty; say what is to be done"
                )));
            }
            if length > LONGEST {
                return Err(Fault::rejected(format!(
                    "`todos[{at}].content` has {length} characters, and {LONGEST} is the most; a line is enough"
                )));
            }
        }
        let begun = |item: &&Item| matches!(item.status, Status::InProgress);
        match input.todos.iter().filter(begun).count() {
            0 | 1 => Ok(()),
            count => Err(Fault::rejected(format!(
                "{count} things are `in_progress`; at most one can be: set the others to `pending` or `completed`"
            ))),
        }
    }

    fn effects(&self, _: &TodoWriteInput) -> Effects {
        Effects::changes(TODOS)
    }

    fn describe(&self, input: &TodoWriteInput) -> String {
        format!("List {}", things(input.todos.len()))
    }

    async fn call(&self, input: TodoWriteInput, _: &Cx) -> Result<Reply, Fault> {
        let todos: Vec<Todo> = input.todos.into_iter().map(Todo::from).collect();
        let value = serde_json::to_value(&todos).unwrap_or_default();
        Ok(Reply::text(summary(&todos)).drawn(drawing(&todos)).change(Change::State(TODOS.to_owned(), value)))
    }
}

impl From<Item> for Todo {
    fn from(item: Item) -> Todo {
        let status = match item.status {
            Status::Pending => TodoStatus::Pending,
            Status::InProgress => TodoStatus::InProgress,
            Status::Completed => TodoStatus::Completed,
        };
        Todo { content: item.content.trim().to_owned(), status }
    }
}

fn things(count: usize) -> String {
    if count == 1 { "1 thing to do".to_owned() } else { format!("{count} things to do") }
}

/// Short: the model knows what it wrote.
fn summary(todos: &[Todo]) -> String {
    if todos.is_empty() {
        return "the list is empty".to_owned();
    }
    let count = |status| todos.iter().filter(|todo| todo.status == status).count();
    let (done, open) = (count(TodoStatus::Completed), count(TodoStatus::Pending));
    let now = todos.iter().find(|todo| todo.status == TodoStatus::InProgress);
    let now = now.map_or_else(String::new, |todo| format!("; now: {}", todo.content));
    format!("{}: {done} done, {open} not begun{now}", things(todos.len()))
}

fn drawing(todos: &[Todo]) -> View {
    let line = |todo: &Todo| {
        let sign = match todo.status {
            TodoStatus::Completed => "☑",
            TodoStatus::InProgress => "▶",
            TodoStatus::Pending => "☐",
        };
        View::Text(format!("{sign} {}", todo.content))
    };
    View::List(todos.iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use haft_engine::session::TodoStatus;
    use serde_json::{Value, json};

    use crate::desk::Desk;

    fn todos(items: &[(&str, &str)]) -> Value {
        let item = |(content, status): &(&str, &str)| json!({ "content": content, "status": status });
        json!({ "todos": items.iter().map(item).collect::<Vec<_>>() })
    }

    #[test]
    fn the_session_keeps_the_list_and_the_answer_is_small() {
        let desk = Desk::new("");
        let list = todos(&[("read", "completed"), (" fix ", "in_progress"), ("test", "pending")]);
        assert_eq!(desk.call("TodoWrite", list), "3 things to do: 1 done, 1 not begun; now: fix");
        let kept = desk.session.todos();
        assert_eq!(
            (kept.len(), kept[1].content.as_str(), kept[1].status),
            (3, "fix", TodoStatus::InProgress)
        );
        assert_eq!(desk.call("todo_write", todos(&[])), "the list is empty");
        assert!(desk.session.todos().is_empty());
    }

    #[test]
    fn it_lasts_as_long_as_the_session() {
        let desk = Desk::new("");
        desk.call("TodoWrite", todos(&[("read", "pending")]));
        let memory = desk.session.memory();
        let mut options = haft_engine::SessionOptions::at(desk.workspace.root());
        options.memory = serde_json::from_value(serde_json::to_value(memory).unwrap()).unwrap();
        let again = desk.session.engine().session(options).unwrap();
        assert_eq!(again.todos()[0].content, "read");
    }

    #[test]
    fn a_list_that_makes_no_sense_is_refused() {
        let check = |list: Value, expected: &str| {
            let desk = Desk::new("");
            let told = desk.call("TodoWrite", list);
            assert!(told.contains(expected) && desk.session.todos().is_empty(), "{told}");
        };
        check(todos(&[("a", "in_progress"), ("b", "in_progress")]), "at most one can be");
        check(todos(&[("a", "pending"), ("  ", "pending")]), "`todos[1].content` is empty");
        check(todos(&[(&"x".repeat(501), "pending")]), "500 is the most");
        check(todos(&[("a", "later")]), "status");
    }

    #[test]
    fn a_person_sees_the_list() {
        let list = todos(&[("read", "completed"), ("fix", "in_progress"), ("test", "pending")]);
        insta::assert_snapshot!(Desk::new("").drawn("TodoWrite", list), @"
        ☑ read
        ▶ fix
        ☐ test
        ");
    }
}
