//! Code of the embedder that runs before and after a call.
//!
//! A hook may stop a call or add words for the model. It can tighten what policy decided, never loosen it: it is asked
//! only about calls that were permitted.

use haft_tool::BoxFuture;

use crate::{policy::CallFacts, result::ToolResult};

/// What a hook says before a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// Go on.
    Continue,
    /// Do not, for this reason. The model reads it.
    Block(String),
}

/// What a hook says after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    Continue,
    /// These words join the conversation.
    Say(String),
}

/// Runs before and after every permitted call.
pub trait Hook: Send + Sync {
    /// Asked after permission, before the call starts.
    fn before<'a>(&'a self, _call: CallFacts<'a>) -> BoxFuture<'a, Before> {
        Box::pin(std::future::ready(Before::Continue))
    }

    /// Told what became of the call, whether it worked or not.
    fn after<'a>(&'a self, _call: CallFacts<'a>, _result: &'a ToolResult) -> BoxFuture<'a, After> {
        Box::pin(std::future::ready(After::Continue))
    }
}
