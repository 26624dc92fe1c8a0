//! What the model set out to do, as the session knows it.

use haft_engine::{
    Session,
    session::{Todo as Known, TodoStatus},
};

use haft_tool::View;

use super::screen::{Todo, TodoState};

/// The list that TodoWrite keeps.
pub(super) fn of(session: &Session) -> Vec<Todo> {
    session.todos().into_iter().map(todo).collect()
}

fn todo(Known { content, status }: Known) -> Todo {
    let state = match status {
        TodoStatus::Pending => TodoState::Open,
        TodoStatus::InProgress => TodoState::Begun,
        TodoStatus::Completed => TodoState::Done,
    };
    Todo { text: content, state }
}

/// What stays of a list that was written: it is seen below while something is left of it, so a line will do.
pub(super) fn once(tool: &str, view: View, todos: &[Todo]) -> View {
    let done = todos.iter().filter(|todo| todo.state == TodoState::Done).count();
    if tool != "TodoWrite" || done == todos.len() || !matches!(view, View::List(_) | View::Code { .. }) {
        return view;
    }
    View::Text(format!("{done} of {} done", todos.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_drawn_whole_only_when_all_of_it_is_done() {
        let todo = |state| Todo { text: "x".into(), state };
        let list = || View::List(vec![View::text("☐ x"), View::text("☑ x")]);
        let mut todos = vec![todo(TodoState::Done), todo(TodoState::Open)];
        assert_eq!(once("TodoWrite", list(), &todos), View::text("1 of 2 done"));
        assert_eq!(once("Read", list(), &todos), list());
        todos[1].state = TodoState::Done;
        assert_eq!(once("TodoWrite", list(), &todos), list());
    }
}
