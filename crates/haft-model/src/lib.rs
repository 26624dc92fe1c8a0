//! What each model API calls a tool, a call and a result, and how it is asked.
//!
//! A [`History`] is what was said so far, in no API's own form; its [`request`](History::request) is the JSON that asks the
//! model to go on. A [`Decoder`] reads the answer while it comes and tells it as [`StreamEvent`]s, each call as soon as it
//! is complete. Beside that are three pure functions on a [`Dialect`] for whoever has complete messages: the calls in one,
//! the message with their results, the list of tools. Read [`dialect`](Dialect) first; each API has one folder.
//!
//! It is a crate because of what it keeps from others: nobody else knows a provider's JSON, so a tool or an engine
//! cannot depend on which model called it.
//! Not here: the loop, retrying, settings. HTTP only with the feature `client`, in one folder.
//!
//! ```
//! use haft_model::Dialect;
//! use serde_json::json;
//!
//! let message = json!({ "role": "assistant", "content": [
//!     { "type": "text", "text": "Let me look." },
//!     { "type": "tool_use", "id": "toolu_1", "name": "Read", "input": { "path": "src/main.rs" } },
//! ]});
//! let dialect = Dialect::detect(&message).expect("a shape that only one API has");
//! let calls = dialect.calls(&message).expect("a message of that API");
//! assert_eq!((dialect, calls[0].name.as_str()), (Dialect::Anthropic, "Read"));
//! ```

mod dialect; //       the four APIs behind one type
mod conversation; //  what was said, and the request that asks to go on
mod stream; //        an answer while it is being written
mod families; //      what models of a family take
mod error; //         what goes wrong, and whether to ask again
mod reading; //       reading a message: where we are and what was expected there
mod piece; //         a result as the pieces that an API can take, the rest in words
mod schema; //        a tool's schema as APIs take it
mod anthropic; //     Messages
mod openai; //        Chat Completions
mod responses; //     Responses
mod gemini; //        generateContent
#[cfg(feature = "client")]
mod client; //        HTTP
#[cfg(feature = "scripted")]
pub mod scripted; //  what a model would say, for tests

pub use conversation::{
    Assistant, Effort, History, Message, Part, Request, RequestOptions, Said, Thinking, ToolChoice,
};
pub use dialect::{Dialect, UnknownDialect};
pub use error::{ErrorKind, HttpFailure, ModelError};
pub use families::takes_references;
pub use reading::DialectError;
pub use stream::{Decoder, Response, Stop, StreamEvent, Usage};

#[cfg(feature = "client")]
pub use client::{Client, Endpoint, Key, Stream};

// The examples of the docs are compiled.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../../../docs/models.md")]
struct Docs;
