//! A worktree that a session has moved into: a piece of its state, so that it is still there when the session goes on.

use std::path::PathBuf;

use haft_tool::unshown;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The key of the worktree. While there is one under it, the session works there, and the workspace that it left is not
/// written.
pub const WORKTREE: &str = "worktree";

/// Where a session works, and what it has left. Paths are absolute, as [`shown`](haft_tool::shown) writes them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Worktree {
    /// The root of the worktree.
    pub path: String,
    /// The workspace in it.
    pub workspace: String,
    /// Its branch.
    pub branch: String,
    /// The commit that it began from.
    pub base: String,
    /// The branch that was checked out in the tree that was left; empty if it was none.
    pub into: String,
    /// The workspace that was left.
    pub left_workspace: String,
    /// Where relative paths began there.
    pub left_cwd: String,
}

impl Worktree {
    /// As a piece of state.
    pub fn to_value(&self) -> Value {
        // Texts can always be written.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The two workspaces: the one in the worktree, and the one that was left.
    pub(super) fn places(&self) -> (PathBuf, PathBuf) {
        (unshown(&self.workspace), unshown(&self.left_workspace))
    }
}

/// The worktree among the pieces of state.
pub(super) fn worktree(values: &Map<String, Value>) -> Option<Worktree> {
    Worktree::deserialize(values.get(WORKTREE)?).ok()
}
