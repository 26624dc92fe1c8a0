//! What the model set out to do, as the session knows it.

use haft_engine::{
    Session,
    session::{Todo as Known, TodoStatus},
};

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
