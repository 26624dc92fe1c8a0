//! Leaving the sandbox: whether a call may, and the refusal where it may not.

use haft_tool::{Fault, Refusal};

use super::Session;
use crate::{
    policy::{Execution, Mode},
    turn::Prepared,
};

impl Session {
    /// Whether the person may let a call leave the sandbox.
    pub(crate) fn may_leave_sandbox(&self) -> bool {
        self.sandbox().enabled && self.confinement_reason().is_none()
    }

    /// The rule of the user by which all of a call runs outside of the sandbox.
    pub(crate) fn unsandboxed_by(&self, prepared: &Prepared<'_>) -> Option<String> {
        if self.sandbox().unsandboxed.is_empty() || !prepared.entry.tool().spec().starts_processes() {
            return None;
        }
        let rules = self.unsandboxed_rules();
        rules.covering_rule(&self.request(prepared)).filter(|_| self.may_leave_sandbox())
    }

    /// Where the processes of a call run, if it is permitted.
    pub(crate) fn execution<'a>(&self, prepared: &'a Prepared<'_>) -> Execution<'a> {
        match &prepared.unsandboxed_by {
            _ if !prepared.entry.tool().spec().starts_processes() => Execution::InProcess,
            _ if !self.sandbox().enabled => Execution::Unsandboxed(None),
            Some(rule) => Execution::Unsandboxed(Some(rule)),
            None => Execution::Sandboxed { may_leave: self.may_leave_sandbox() },
        }
    }

    /// Why every process of this session stays in the sandbox, whatever a person says.
    fn confinement_reason(&self) -> Option<&'static str> {
        let sandbox = self.sandbox();
        if sandbox.required {
            return Some("the settings require it (`sandbox.required`)");
        }
        if sandbox.workspace_only {
            return Some("this session is kept to its workspace");
        }
        if sandbox.forbid_unsandboxed {
            return Some("the settings forbid it (`sandbox.forbid_unsandboxed`)");
        }
        let looks = self.mode() == Mode::Plan || self.is_read_only();
        looks.then_some("this session may change nothing now")
    }

    /// The refusal of a call that wants to leave the sandbox.
    pub(crate) fn refuse_unsandboxed(&self) -> Fault {
        let why = self.confinement_reason().unwrap_or("there is no sandbox in this session");
        let message = format!(
            "Nothing runs outside the sandbox here: {why}.\nGo on without it, or tell the user what you need and why."
        );
        Fault::denied(Refusal::Sandbox, message)
    }
}
