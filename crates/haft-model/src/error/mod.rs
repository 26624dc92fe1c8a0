//! What goes wrong between a request and its answer, and what can be done about it.
//!
//! Pure: a status, headers and a body in, an error out. Whoever speaks HTTP in another way can use it, too. Retrying is
//! the caller's: here is only whether it makes sense, and when.

mod classify; // which kind of error an API's words are
mod delay; //    how long the server wants to be left alone

use std::{error::Error, fmt, time::Duration};

pub use classify::HttpFailure;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// What can be done about it.
    pub kind: ErrorKind,
    /// What happened, in the API's words where it had some. No key is in it.
    pub message: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
}

/// What can be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Too many requests: wait, then ask again.
    RateLimited,
    /// The API has too much to do: wait, then ask again.
    Overloaded,
    /// The API broke: ask again.
    Server,
    /// Nobody answers there: it may be a moment's failure.
    Unreachable,
    /// Nothing came for too long.
    TimedOut,
    /// The answer broke off.
    CutOff,
    /// The answer is not what the API should say.
    Unreadable,
    /// The conversation is too long for the model: make it shorter.
    ContextWindow,
    /// The request has too many bytes: make it smaller.
    TooLarge,
    /// The model takes no pictures, sounds or documents, or not these: say in words what they were.
    Media,
    /// The API does not take the model's thoughts back, which another server or another key signed: leave them out.
    Thoughts,
    /// There is no money left, or none was paid.
    Quota,
    /// The key is missing or wrong, or may not do this.
    Unauthorized,
    /// There is no such model, or no such API at this address.
    NotFound,
    /// The request is wrong. The same would be refused again.
    Refused,
}

impl ModelError {
    /// An error that is not an HTTP answer.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> ModelError {
        ModelError { kind, message: message.into(), status: None, retry_after: None }
    }

    /// Whether the same request may well work in a moment. [`retry_after`](ModelError::retry_after) is when, if the
    /// server said so.
    pub fn is_retryable(&self) -> bool {
        use ErrorKind::{CutOff, Overloaded, RateLimited, Server, TimedOut, Unreachable, Unreadable};
        matches!(self.kind, RateLimited | Overloaded | Server | Unreachable | TimedOut | CutOff | Unreadable)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.status.map_or(Ok(()), |status| write!(f, " (HTTP {status})"))
    }
}

impl Error for ModelError {}
