//! What a stream says, whatever API it comes from.

use std::ops::AddAssign;

use haft_engine::turn::Call;
use haft_tool::CallId;

use crate::{ModelError, conversation::Assistant};

/// One thing that a stream says. The last one is either `Done` or `Failed`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamEvent {
    /// More of the text.
    Text(String),
    /// More of the thoughts.
    Thinking(String),
    /// A call begins: its arguments follow.
    CallOpened {
        /// Its id, as the call will have it.
        id: CallId,
        /// The tool, as far as the model has named it.
        name: String,
    },
    /// More of a call's arguments, a piece of JSON text.
    CallArguments {
        /// Which call.
        id: CallId,
        /// The piece.
        piece: String,
    },
    /// A call is complete and can be run, while the model still writes. Every call comes once, in the model's order.
    Call(Call),
    /// What was used so far. A later one replaces it.
    Usage(Usage),
    /// The message is complete.
    Done(Box<Response>),
    /// There will be no complete message. What came before it is void, but for calls that already ran.
    Failed(Box<ModelError>),
}

/// A complete answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// What it said: push it to the [`History`](crate::History).
    pub message: Assistant,
    /// Why it stopped.
    pub stop: Stop,
    /// What was used.
    pub usage: Usage,
    /// The model that answered, by its own account; empty if it did not say.
    pub model: String,
    /// The API's id for the answer; empty if it gave none.
    pub id: String,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It has said all.
    End,
    /// It waits for the results of its calls.
    Calls,
    /// It was cut off at the most tokens that it was allowed. The last call may be broken.
    MaxTokens,
    /// It was cut off because the context window is full.
    ContextWindow,
    /// It, or a filter, does not want to.
    Refused,
    /// It wants to be asked again with what it said so far.
    Paused,
    /// It did not come to an end: what it wrote could not be read by its API, or was given up. In the API's word.
    Broken(String),
    /// Something else, in the API's word.
    Other(String),
}

/// Tokens, counted in the same way for every API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All that was sent, cached or not.
    pub input: u64,
    /// Of these, read from the API's cache.
    pub cached: u64,
    /// Of these, written to the API's cache.
    pub cache_written: u64,
    /// All that the model wrote, its thoughts included.
    pub output: u64,
    /// Of these, thoughts, where the API counts them.
    pub thinking: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        self.input += more.input;
        self.cached += more.cached;
        self.cache_written += more.cache_written;
        self.output += more.output;
        self.thinking += more.thinking;
    }
}
