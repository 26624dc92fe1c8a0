//! The binary from outside: what is typed, what comes out, what the exit code says.
//!
//! Every test has a home and a state directory of its own: the developer's are never read.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //       a place to run haft in
mod bash; //      commands
mod call; //      one call
mod turn; //      messages, in all dialects, whole and in pieces
mod tools; //     the listing
mod explain; //   decisions without calls
mod redact; //    secrets, taken out
mod settings; //  files and options
mod hooks; //     programs before and after calls
mod demo; //      the show
mod sandbox; //   commands, confined
mod docs; //      what the documents show
