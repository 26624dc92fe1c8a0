//! Code of others that is asked before, after and around calls.
//!
//! One trait for all of it. Whoever embeds the engine implements it in Rust; `haft-hooks` implements it with the
//! programs of a person's settings. What a hook may bring about is in [`Said`]: it can tighten what the rules have
//! settled, and loosens nothing but a question that no rule asks. A call that the rules deny reaches no hook, which is
//! told of the refusal and nothing else.

use haft_tool::{BoxFuture, Fault, SessionFacts};

use crate::{
    policy::{CallFacts, Mode, Question, Said},
    result::ToolResult,
};

/// Somebody who is asked and told. Each method has a default that says nothing.
///
/// The hooks of an engine are asked together, and their words are kept in the order of the hooks. The futures are dropped
/// when the call is cancelled. A hook that cannot do its work says so in [`Said::notice`]; it should not panic.
pub trait Hook: Send + Sync {
    /// Before a call that the rules do not deny (`PreToolUse`). Not asked again about a call whose input hooks changed.
    fn before<'a>(&'a self, _call: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        nothing()
    }

    /// After a call that ran, whether it worked (`PostToolUse`) or not (`PostToolUseFailure`). A denial is feedback for
    /// the model.
    fn after<'a>(&'a self, _call: CallFacts<'a>, _result: &'a ToolResult) -> BoxFuture<'a, Vec<Said>> {
        nothing()
    }

    /// Right before a person is asked (`PermissionRequest`). A denial answers for them. So does a yes, if the question
    /// stands only because nothing covers the call; otherwise the person is asked all the same.
    fn asked<'a>(&'a self, _question: Question<'a>) -> BoxFuture<'a, Vec<Said>> {
        nothing()
    }

    /// A call was refused, by whomever (`PermissionDenied`). What is said to that changes nothing.
    fn refused<'a>(&'a self, _call: CallFacts<'a>, _fault: &'a Fault) -> BoxFuture<'a, Vec<Said>> {
        nothing()
    }

    /// Something happened that is no call.
    fn occasion<'a>(&'a self, _now: Now<'a>, _occasion: Occasion<'a>) -> BoxFuture<'a, Vec<Said>> {
        nothing()
    }
}

fn nothing<'a>() -> BoxFuture<'a, Vec<Said>> {
    Box::pin(std::future::ready(Vec::new()))
}

/// In which session something happens.
#[derive(Debug, Clone, Copy)]
pub struct Now<'a> {
    /// Who works where.
    pub session: &'a SessionFacts,
    /// How careful the session is.
    pub mode: Mode,
}

/// What happens besides calls. A denial of [`UserPrompt`](Occasion::UserPrompt) keeps the prompt from the model, one of
/// [`Stop`](Occasion::Stop) or [`SubagentStop`](Occasion::SubagentStop) means: go on, for this reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occasion<'a> {
    /// A session begins that makes calls.
    SessionStart {
        /// `startup`, `resume`, `clear` or `compact`.
        source: &'a str,
    },
    /// A session ends.
    SessionEnd {
        /// Why: `clear`, `logout`, `other`.
        reason: &'a str,
    },
    /// The model has finished its answer.
    Stop {
        /// Whether it goes on because of an earlier word of such a hook.
        again: bool,
        /// Its last words.
        message: &'a str,
    },
    /// Somebody is told something.
    Notification {
        /// What kind of thing: `permission_prompt`.
        kind: &'a str,
        /// In words.
        message: &'a str,
    },
    /// A person has written something to the model.
    UserPrompt {
        /// What.
        prompt: &'a str,
    },
    /// An agent that the model started begins.
    SubagentStart {
        /// Which.
        id: &'a str,
        /// What kind of agent.
        kind: &'a str,
    },
    /// It has finished.
    SubagentStop {
        /// Which.
        id: &'a str,
        /// What kind of agent.
        kind: &'a str,
        /// Whether it goes on because of an earlier word of such a hook.
        again: bool,
    },
    /// The conversation is about to be made shorter.
    PreCompact {
        /// `manual` or `auto`.
        trigger: &'a str,
        /// What the person wants kept.
        instructions: &'a str,
    },
}

impl Occasion<'_> {
    /// Its name in the convention.
    pub const fn name(&self) -> &'static str {
        match self {
            Occasion::SessionStart { .. } => "SessionStart",
            Occasion::SessionEnd { .. } => "SessionEnd",
            Occasion::Stop { .. } => "Stop",
            Occasion::Notification { .. } => "Notification",
            Occasion::UserPrompt { .. } => "UserPromptSubmit",
            Occasion::SubagentStart { .. } => "SubagentStart",
            Occasion::SubagentStop { .. } => "SubagentStop",
            Occasion::PreCompact { .. } => "PreCompact",
        }
    }
}
