//! What every book promises, and what an engine with a journal does.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod library; //  books of every kind
mod promises; // the same tests for each
