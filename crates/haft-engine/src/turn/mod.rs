//! How do the calls of one turn run?

mod call; //       what the model asked for
mod scheduler; //  who may run beside whom

pub use call::{Arguments, Call};
pub use scheduler::{CallIndex, Scheduler};
