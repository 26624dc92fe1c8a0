//! The answers that a question offers, each with what it means in plain words.
//!
//! One list for terminals, dialogs, MCP clients and JSON, so that none of them offers what another refuses.

use serde::Serialize;

use super::asking::{Answer, Question};

/// The point of a call at which a question is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionStage {
    /// Before the call runs.
    #[default]
    BeforeCall,
    /// While it runs: the effects are those that it wants in addition.
    DuringCall,
    /// After its processes failed in the sandbox: they would run again from their beginning, with the effects in addition.
    Rerun,
}

/// Where the processes of a call run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Execution<'a> {
    /// The call starts none.
    #[default]
    InProcess,
    /// In the sandbox.
    Sandboxed {
        /// Whether the person may let this call leave it.
        may_leave: bool,
    },
    /// Outside of the sandbox, by this rule of the user; `None`: there is no sandbox in this session.
    Unsandboxed(Option<&'a str>),
}

/// A kind of [`Answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerKind {
    /// [`Answer::Once`].
    Once,
    /// [`Answer::Session`].
    Session,
    /// [`Answer::Always`].
    Always,
    /// [`Answer::Unsandboxed`].
    Unsandboxed,
    /// [`Answer::No`].
    No,
}

impl AnswerKind {
    /// The key that gives it in a terminal.
    pub fn key(self) -> char {
        match self {
            AnswerKind::Once => 'y',
            AnswerKind::Session => 's',
            AnswerKind::Always => 'a',
            AnswerKind::Unsandboxed => 'u',
            AnswerKind::No => 'n',
        }
    }

    /// The name that it has in JSON and in forms.
    pub fn name(self) -> &'static str {
        match self {
            AnswerKind::Once => "once",
            AnswerKind::Session => "session",
            AnswerKind::Always => "always",
            AnswerKind::Unsandboxed => "unsandboxed",
            AnswerKind::No => "no",
        }
    }
}

/// An answer that a question offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfferedAnswer {
    /// Which.
    pub answer: AnswerKind,
    /// What it means, in plain words: "this call, in the sandbox".
    pub meaning: String,
}

/// The meaning of leaving the sandbox, the same in every question.
pub const OUTSIDE_MEANING: &str = "outside the sandbox: it can change and reach everything that you can";

impl Question<'_> {
    /// The answers that are offered, each with its meaning. The first is the narrowest yes; the last is no.
    pub fn answers(&self) -> Vec<OfferedAnswer> {
        let kinds = [
            AnswerKind::Once,
            AnswerKind::Session,
            AnswerKind::Always,
            AnswerKind::Unsandboxed,
            AnswerKind::No,
        ];
        let offered = kinds.into_iter().filter(|kind| self.offers(*kind));
        offered.map(|answer| OfferedAnswer { answer, meaning: self.meaning(answer) }).collect()
    }

    /// Whether an answer of this kind is offered.
    pub fn offers(&self, kind: AnswerKind) -> bool {
        let is_rerun = self.stage == QuestionStage::Rerun;
        match kind {
            // Without anything in addition it would fail like before.
            AnswerKind::Once => !is_rerun || !self.call.effects.is_none(),
            AnswerKind::Session => !is_rerun,
            AnswerKind::Always => self.always.is_some(),
            AnswerKind::Unsandboxed => self.execution == (Execution::Sandboxed { may_leave: true }),
            AnswerKind::No => true,
        }
    }

    /// The meaning of an answer of this kind to this question.
    pub fn meaning(&self, kind: AnswerKind) -> String {
        match (kind, self.stage) {
            (AnswerKind::Once, QuestionStage::BeforeCall) => format!("this call{}", self.place()),
            (AnswerKind::Once, QuestionStage::DuringCall) => "this, for this call".to_owned(),
            (AnswerKind::Once, QuestionStage::Rerun) => {
                format!("run it again with that allowed{}", self.place())
            }
            (AnswerKind::Session, QuestionStage::DuringCall) => {
                "this, for this call and the same in this session".to_owned()
            }
            (AnswerKind::Session, _) => format!("this and the same calls in this session{}", self.place()),
            (AnswerKind::Always, _) => "always: a rule is written to your settings".to_owned(),
            (AnswerKind::Unsandboxed, QuestionStage::Rerun) => format!("run it again {OUTSIDE_MEANING}"),
            (AnswerKind::Unsandboxed, _) => format!("this call, {OUTSIDE_MEANING}"),
            (AnswerKind::No, QuestionStage::BeforeCall) => "refuse this call".to_owned(),
            (AnswerKind::No, QuestionStage::DuringCall) => "refuse this; the call goes on without".to_owned(),
            (AnswerKind::No, QuestionStage::Rerun) => "leave it as it is".to_owned(),
        }
    }

    fn place(&self) -> &'static str {
        match self.execution {
            Execution::InProcess => "",
            Execution::Sandboxed { .. } => ", in the sandbox",
            Execution::Unsandboxed(Some(_)) => ", outside the sandbox",
            Execution::Unsandboxed(None) => "; there is no sandbox in this session",
        }
    }
}

impl Answer {
    /// Its kind; `None` without an answer.
    pub fn kind(&self) -> Option<AnswerKind> {
        Some(match self {
            Answer::Once => AnswerKind::Once,
            Answer::Session => AnswerKind::Session,
            Answer::Always => AnswerKind::Always,
            Answer::Unsandboxed => AnswerKind::Unsandboxed,
            Answer::No(_) => AnswerKind::No,
            Answer::NobodyThere => return None,
        })
    }
}
