//! What comes back when a call does not work.
//!
//! A fault answers three readers: the kind tells a program what can be done, the message tells the model how to go
//! on, and the source tells the operator what broke. The model never sees the source: it can hold hosts and secrets.

use std::{error::Error, fmt, io, path::Path};

use serde::{Deserialize, Serialize};

use crate::shown::shown;

/// A call that did not work, told to the model as a result.
#[derive(Debug)]
pub struct Fault {
    kind: FaultKind,
    message: String,
    refusal: Option<Refusal>,
    retryable: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// What the caller can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// No tool has that name: choose another.
    UnknownTool,
    /// The input does not fit the schema: correct it.
    InvalidInput,
    /// The input fits the schema but makes no sense: change it.
    RejectedInput,
    /// Somebody said no: do not try the same again.
    Denied,
    /// It was tried and did not work.
    Failed,
    /// Something outside is not there now: it may work later.
    Unavailable,
    /// It took too long and was stopped.
    TimedOut,
    /// It was stopped on request.
    Cancelled,
    /// It was cut off and nobody knows how far it came: look before you do it again.
    Interrupted,
    /// The tool itself is broken: use another way.
    Internal,
}

/// Who said no, and so what would have to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// A rule of the settings.
    Rule,
    /// The mode of the session.
    Mode,
    /// A hook.
    Hook,
    /// The classifier.
    Classifier,
    /// The person who was asked.
    Person,
    /// Nobody was there to be asked.
    NobodyThere,
    /// The sandbox.
    Sandbox,
    /// It lies outside of what the session may touch.
    Boundary,
    /// It is a file that is protected whatever the rules say.
    Protected,
    /// The tool is held back until it is approved.
    Quarantine,
    /// The caller lacks a role.
    Role,
}

impl Refusal {
    /// All kinds.
    pub const ALL: [Refusal; 11] = [
        Refusal::Rule,
        Refusal::Mode,
        Refusal::Hook,
        Refusal::Classifier,
        Refusal::Person,
        Refusal::NobodyThere,
        Refusal::Sandbox,
        Refusal::Boundary,
        Refusal::Protected,
        Refusal::Quarantine,
        Refusal::Role,
    ];

    /// What the model may do instead, where nobody knows better.
    pub const fn advice(self) -> &'static str {
        match self {
            Refusal::Rule | Refusal::Hook | Refusal::Role => {
                "Do not try to reach the same in another way: go on without it, or tell the user what you need and why."
            }
            Refusal::Mode => "Do what the mode permits, or tell the user what you need and why.",
            Refusal::Classifier => {
                "Take a more careful way to what the user asked for, or tell the user what you need and why."
            }
            Refusal::Person => {
                "Do not try the same again, nor reach it in another way: do what the user said, or ask what to do instead."
            }
            Refusal::NobodyThere => "Go on without it, or tell the user what you need and why.",
            Refusal::Sandbox => {
                "Go on without it, or tell the user what you need to run and that the sandbox is in the way."
            }
            Refusal::Boundary => {
                "Name what you need in the call itself, so that it can be permitted, or go on without it."
            }
            Refusal::Protected => {
                "Leave this file as it is and tell the user what is to be changed in it: they can do it, or permit it by a rule."
            }
            Refusal::Quarantine => {
                "Use another tool, or tell the user that this one waits for their approval."
            }
        }
    }
}

/// A message of exactly two lines.
fn in_two_lines(message: &str, advice: &str) -> String {
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("Refused.");
    let rest: Vec<&str> = lines.collect();
    let second = if rest.is_empty() { advice.to_owned() } else { rest.join(" ") };
    format!("{first}\n{second}")
}

impl Fault {
    /// A fault of a kind, with words that tell the model what is wrong, where, and what would be right.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into(), refusal: None, retryable: false, source: None }
    }

    /// It was tried and did not work.
    pub fn failed(message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Failed, message)
    }

    /// The input makes no sense. What [`Tool::validate`](crate::Tool::validate) returns.
    pub fn rejected(message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::RejectedInput, message)
    }

    /// Somebody said no: a line that says who and why, and a second that says what may be done instead. Where the second
    /// is left out it is what holds for [every such refusal](Refusal::advice); what has more lines is made two.
    pub fn denied(refusal: Refusal, message: impl Into<String>) -> Fault {
        let message = in_two_lines(&message.into(), refusal.advice());
        Fault { refusal: Some(refusal), ..Fault::new(FaultKind::Denied, message) }
    }

    /// It was stopped on request.
    pub fn cancelled(message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Cancelled, message)
    }

    /// Something outside is not there now. Such a fault is retried where that is harmless.
    pub fn unavailable(message: impl Into<String>) -> Fault {
        Fault { retryable: true, ..Fault::new(FaultKind::Unavailable, message) }
    }

    /// A file operation that failed: "cannot read /w/a.txt: it does not exist".
    pub fn io(verb: &str, path: &Path, err: io::Error) -> Fault {
        let reason = match err.kind() {
            io::ErrorKind::NotFound => "it does not exist".to_owned(),
            io::ErrorKind::PermissionDenied => "the system does not permit it".to_owned(),
            io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
            io::ErrorKind::NotADirectory => "a part of the path is not a directory".to_owned(),
            io::ErrorKind::StorageFull => "the disk is full".to_owned(),
            _ => err.to_string(),
        };
        let retryable = matches!(err.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock);
        let fault = Fault::failed(format!("cannot {verb} {}: {reason}", shown(path))).with_source(err);
        Fault { retryable, ..fault }
    }

    /// What broke underneath, for the operator.
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
        self.source = Some(source.into());
        self
    }

    /// Says that the same call may work in a moment.
    pub fn retryable(mut self) -> Fault {
        self.retryable = true;
        self
    }

    /// The kind.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// The words for the model.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The words for the model, to be changed by a stage that redacts or adds.
    pub fn message_mut(&mut self) -> &mut String {
        &mut self.message
    }

    /// Who said no, if somebody did.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// Whether the same call may work in a moment.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_two_lines_whatever_it_is_made_of() {
        for refusal in Refusal::ALL {
            for message in ["", "\n", "no", "no\ndo that", "no\n\ndo\nthat\n"] {
                let fault = Fault::denied(refusal, message);
                let lines: Vec<&str> = fault.message().split('\n').collect();
                assert_eq!(lines.len(), 2, "{refusal:?} {message:?}");
                assert!(lines.iter().all(|line| !line.is_empty()), "{refusal:?} {message:?}");
            }
        }
        assert_eq!(Fault::denied(Refusal::Hook, "no\n\ndo\nthat\n").message(), "no\ndo that");
    }
}
