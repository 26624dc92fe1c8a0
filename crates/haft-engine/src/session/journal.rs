//! What lasts of a call.
//!
//! The trait only: written before a side effect starts and after it has ended, so that after a crash one can tell which
//! calls were cut off. Journals are kept elsewhere.

use std::io;

use haft_tool::{BoxFuture, SessionId};

use crate::{policy::CallFacts, result::ToolResult};

/// Keeps what happened.
pub trait Journal: Send + Sync {
    /// A permitted call is about to start. It does not start if this fails.
    fn started<'a>(&'a self, call: CallFacts<'a>) -> BoxFuture<'a, io::Result<()>>;

    /// A call was refused. Nothing happened, so nothing depends on whether this works.
    fn refused<'a>(&'a self, call: CallFacts<'a>) -> BoxFuture<'a, io::Result<()>>;

    /// A call has its result, whether it ran or not.
    fn finished<'a>(
        &'a self,
        session: &'a SessionId,
        result: &'a ToolResult,
    ) -> BoxFuture<'a, io::Result<()>>;
}
