//! What goes back to the model?
//!
//! A reply or a fault becomes a [`ToolResult`] of one shape; a text that is too large is put away and previewed. Not
//! here: any API's JSON. Dialects write results at the very end.

mod tool_result; // what a call became
mod compose; //     from what a tool gave to what the model reads
mod redact; //      without its secrets
mod budget; //      how much of it the model gets
mod preview; //     the head and the tail of a text
mod store; //       where the whole is kept
mod private; //     and where, if nobody says

pub(crate) use budget::Attic;
pub use budget::{Budget, size};
pub(crate) use compose::{from_fault, from_reply, refused};
pub use preview::{Preview, preview};
pub(crate) use private::{PrivateResults, PrivateRoot};
pub(crate) use redact::{FileSecrets, RedactedWriter, redact};
pub use store::{FileStore, ResultStore};
pub use tool_result::{FaultFacts, Meta, ToolResult, Truncation};
