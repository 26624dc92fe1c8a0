//! What each model API calls a tool, a call and a result.
//!
//! Three pure functions on a [`Dialect`]: the calls that are in a model's message, the message that carries their
//! results back, and the list of tools that a request offers. Read [`dialect`](Dialect) first; each API has one file.
//!
//! It is a crate because of what it keeps from others: nobody else knows a provider's JSON, so a tool or an engine
//! cannot depend on which model called it.
//! Not here: HTTP, keys, streams. What comes in is a complete message.
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

mod dialect; //    the four APIs behind one type
mod message; //    reading a message: where we are and what was expected there
mod piece; //      a result as the pieces that an API can take, the rest in words
mod schema; //     a tool's schema as APIs take it
mod anthropic; //  Messages
mod openai; //     Chat Completions
mod responses; //  Responses
mod gemini; //     generateContent

pub use dialect::{Dialect, UnknownDialect};
pub use message::DialectError;
