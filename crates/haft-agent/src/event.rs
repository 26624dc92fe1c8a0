//! What is told while an agent works, and what became of it in the end.

use std::time::Duration;

use haft_engine::turn::Event;
use haft_model::{ModelError, StreamEvent, Usage};
use haft_tool::Block;

use crate::Context;

/// Who is told what happens. It is called between events and must not wait.
pub type OnEvent<'a> = &'a mut (dyn FnMut(AgentEvent) + Send);

/// Something that happens while an agent works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AgentEvent {
    /// The model is asked.
    Asking {
        /// For which time in this run, counted from 1.
        turn: u32,
    },
    /// The model says something. Ids of calls are those of [`Tool`](AgentEvent::Tool), and differ in the whole
    /// conversation. The end of an answer is told as [`Usage`](AgentEvent::Usage), its failure as
    /// [`Retrying`](AgentEvent::Retrying) or by the outcome.
    Model(StreamEvent),
    /// Something happens to a call.
    Tool(Event),
    /// The model did not answer, or broke off, and is asked again. Text that came of this answer is void.
    Retrying {
        /// Which attempt comes next, counted from 1.
        attempt: u32,
        /// After how long.
        delay: Duration,
        /// What went wrong.
        error: ModelError,
    },
    /// The conversation is being made shorter, which may take the model's time.
    Compacting,
    /// The conversation is shorter now.
    Compacted {
        /// About so many tokens before.
        before: u64,
        /// About so many now.
        after: u64,
    },
    /// Something that a person should know.
    Notice(String),
    /// An answer is complete, and this is what it took.
    Usage {
        /// For this answer.
        answer: Usage,
        /// For all answers of this agent.
        total: Usage,
        /// How full the window is.
        context: Context,
    },
}

/// What a person wants: text, pictures, documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt(pub Vec<Block>);

impl Prompt {
    /// Its text, without what is none.
    pub fn text(&self) -> String {
        self.0.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
    }
}

impl From<&str> for Prompt {
    fn from(text: &str) -> Prompt {
        Prompt::from(text.to_owned())
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Prompt {
        Prompt(vec![Block::Text(text)])
    }
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// The model's last words: the answer, if there is one.
    pub text: String,
    /// So many times the model answered.
    pub turns: u32,
    /// What the run took.
    pub usage: Usage,
}

/// Why a run ended. In every case the conversation can go on.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum End {
    /// The model has answered and makes no more calls.
    Answered,
    /// It has been asked as often as it may be.
    TurnLimit,
    /// It has written as many tokens as it may, in this run or in one answer.
    TokenLimit,
    /// Somebody stopped it.
    Interrupted,
    /// The model makes the same call with the same result again and again, and did not stop when told: this is the call.
    Stuck(String),
    /// A hook stopped it, or kept the prompt from the model, for this reason.
    Stopped(String),
    /// The model, or a filter before it, does not want to.
    Refused,
    /// There is no answer to be had.
    Failed(ModelError),
}

impl End {
    /// One word for it.
    pub const fn name(&self) -> &'static str {
        match self {
            End::Answered => "answered",
            End::TurnLimit => "turn_limit",
            End::TokenLimit => "token_limit",
            End::Interrupted => "interrupted",
            End::Stuck(_) => "stuck",
            End::Stopped(_) => "stopped",
            End::Refused => "refused",
            End::Failed(_) => "failed",
        }
    }
}
