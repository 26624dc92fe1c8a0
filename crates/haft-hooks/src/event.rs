//! When a hook runs.

use std::fmt;

/// The moments at which hooks run, by their names in settings files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// Before a call that the rules do not deny.
    PreToolUse,
    /// After a call that worked.
    PostToolUse,
    /// After a call that did not.
    PostToolUseFailure,
    /// Right before a person is asked.
    PermissionRequest,
    /// When a call was refused.
    PermissionDenied,
    /// When a session begins that makes calls.
    SessionStart,
    /// When it ends.
    SessionEnd,
    /// When the model has finished its answer.
    Stop,
    /// When an agent begins that the model started.
    SubagentStart,
    /// When it has finished.
    SubagentStop,
    /// When a person is waited for.
    Notification,
    /// When a person has written something.
    UserPromptSubmit,
    /// Before the conversation is made shorter.
    PreCompact,
}

impl Event {
    /// All of them, in the order in which they are listed for people.
    pub const ALL: [Event; 13] = [
        Event::PreToolUse,
        Event::PostToolUse,
        Event::PostToolUseFailure,
        Event::PermissionRequest,
        Event::PermissionDenied,
        Event::SessionStart,
        Event::SessionEnd,
        Event::Stop,
        Event::SubagentStart,
        Event::SubagentStop,
        Event::Notification,
        Event::UserPromptSubmit,
        Event::PreCompact,
    ];

    /// The name that people write.
    pub const fn name(self) -> &'static str {
        match self {
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::PostToolUseFailure => "PostToolUseFailure",
            Event::PermissionRequest => "PermissionRequest",
            Event::PermissionDenied => "PermissionDenied",
            Event::SessionStart => "SessionStart",
            Event::SessionEnd => "SessionEnd",
            Event::Stop => "Stop",
            Event::SubagentStart => "SubagentStart",
            Event::SubagentStop => "SubagentStop",
            Event::Notification => "Notification",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::PreCompact => "PreCompact",
        }
    }

    /// The event of this name.
    pub fn named(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether it is about a call: its matcher is for tools, and `if` has something to look at.
    pub(crate) fn is_of_a_call(self) -> bool {
        matches!(
            self,
            Event::PreToolUse
                | Event::PostToolUse
                | Event::PostToolUseFailure
                | Event::PermissionRequest
                | Event::PermissionDenied
        )
    }

    /// Whether a no stops something that has not happened yet.
    pub(crate) fn can_block(self) -> bool {
        use Event::{PermissionRequest, PreToolUse, Stop, SubagentStop, UserPromptSubmit};
        matches!(self, PreToolUse | PermissionRequest | Stop | SubagentStop | UserPromptSubmit)
    }

    /// Whether a no is feedback for the model: it has happened.
    pub(crate) fn can_object(self) -> bool {
        matches!(self, Event::PostToolUse | Event::PostToolUseFailure)
    }

    /// Whether what a hook prints is context, JSON or not.
    pub(crate) fn takes_plain_text(self) -> bool {
        matches!(self, Event::SessionStart | Event::UserPromptSubmit)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
