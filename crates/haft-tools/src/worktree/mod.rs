//! Work beside the user's own tree: a git worktree on a branch of its own, which the session moves into.
//!
//! The worktree lies below haft's state directory. While the session is in it, it is the workspace: rules for the workspace
//! hold in it, processes may write in it, and the tree that was left can be read as any place outside, but not written. Git is
//! started as the tool Git starts it, so that nothing of a repository's settings runs; every such process may write the
//! history and the one tree that it is to change, and nothing else.

mod enter; //  EnterWorktree: makes one and moves in
mod exit; //   ExitWorktree: merges it, keeps it or throws it away, and moves out
mod work; //   what git is asked to do for them
#[cfg(test)]
mod tests;

pub(crate) use enter::EnterWorktree;
pub(crate) use exit::ExitWorktree;
