//! What whoever is asked about a call, hooks into it or records it is told of it: one value for all of them.

use haft_tool::{CallId, Effects, SessionFacts};
use serde_json::Value;

use super::{decide::Decision, mode::Mode};

/// A call about which the policy has decided.
#[derive(Debug, Clone, Copy)]
pub struct CallFacts<'a> {
    /// Who works where.
    pub session: &'a SessionFacts,
    /// The mode of the session.
    pub mode: Mode,
    /// Which call.
    pub call: &'a CallId,
    /// The tool's name in the pool.
    pub tool: &'a str,
    /// Its other names.
    pub aliases: &'a [&'a str],
    /// The input, checked and with absolute paths.
    pub input: &'a Value,
    /// What it is going to do, or did.
    pub effects: &'a Effects,
    /// What the policy says about it, and why.
    pub decision: &'a Decision,
}
