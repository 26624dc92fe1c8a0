//! How do the calls of one turn run?

mod call; // what the model asked for

pub use call::{Arguments, Call};
