//! What lasts of a call.
//!
//! The trait only: written before a side effect starts and after it has ended, so that after a crash one can tell which
//! calls were cut off. Journals are kept elsewhere.

use std::io;

use haft_tool::{BoxFuture, CallId, Effects, SessionId};
use serde_json::Value;

use crate::{policy::Decision, result::ToolResult};

/// Keeps what happened.
pub trait Journal: Send + Sync {
    /// A permitted call is about to start. It does not start if this fails.
    fn started<'a>(&'a self, call: Judged<'a>) -> BoxFuture<'a, io::Result<()>>;

    /// A call was refused. Nothing happened, so nothing depends on whether this works.
    fn refused<'a>(&'a self, call: Judged<'a>) -> BoxFuture<'a, io::Result<()>>;

    /// A call has its result, whether it ran or not.
    fn finished<'a>(
        &'a self,
        session: &'a SessionId,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, io::Result<()>>;
}

/// A call about which was decided.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// In which session.
    pub session: &'a SessionId,
    /// Which call.
    pub call: &'a CallId,
    /// The tool's name in the pool.
    pub tool: &'a str,
    /// The input, with absolute paths.
    pub input: &'a Value,
    /// What it is going to do.
    pub effects: &'a Effects,
    /// Why it may, or may not.
    pub decision: &'a Decision,
}
