//! What a session has set out to do: its plan, and its list of things to do.
//!
//! Both are pieces of the session's state under a key of their own, changed by what calls return like all state: so they
//! are recorded, last as long as the session does, and are no different after it was taken up again. While a plan is being
//! made the session is in mode `plan`, whatever its own mode is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The key of the plan.
pub const PLAN: &str = "plan";

/// The key of the list of things to do.
pub const TODOS: &str = "todos";

/// A plan, and how far it has come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// Whether it is still being made: nothing may be changed until it is approved.
    pub is_open: bool,
    /// Whether a person said yes to it.
    pub is_approved: bool,
    /// In the words that the person saw.
    pub text: String,
    /// Its steps, with what would prove each.
    pub steps: Vec<Step>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Step {
    /// What is to be done.
    pub text: String,
    /// The files or directories that are written by it, absolute, as [`shown`](haft_tool::shown) writes them.
    pub writes: Vec<String>,
    /// How the commands begin that are run by it.
    pub runs: Vec<String>,
}

/// A thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a thing to do is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// It has not begun.
    Pending,
    /// It is being done.
    InProgress,
    /// It is done.
    Completed,
}

impl Plan {
    /// As a piece of state.
    pub fn to_value(&self) -> Value {
        // Texts and flags can always be written.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The plan among the pieces of state. What is none counts as none.
pub(super) fn plan(values: &Map<String, Value>) -> Option<Plan> {
    Plan::deserialize(values.get(PLAN)?).ok()
}

/// Whether one is being made. Asked for every decision, so nothing is copied for it.
pub(super) fn is_open(values: &Map<String, Value>) -> bool {
    values.get(PLAN).and_then(|plan| plan.get("is_open")).and_then(Value::as_bool).unwrap_or(false)
}

/// The things to do among the pieces of state.
pub(super) fn todos(values: &Map<String, Value>) -> Vec<Todo> {
    values.get(TODOS).and_then(|todos| Vec::deserialize(todos).ok()).unwrap_or_default()
}
