//! The shell, understood and confined.
//!
//! Two halves that do not lean on each other. [`syntax`], [`programs`] and [`understand`](mod@understand) read a command
//! line and say what it is going to do, so that a person is asked exactly when one must be. [`sandbox`] makes the kernel
//! confine whatever runs, understood or not; [`run`] starts it, listens to it and ends it.
//!
//! It is a crate because it holds the only `unsafe` code, and because it is the only way to start a process.
//! Not here: rules and verdicts (they are the engine's), and tools.

pub mod syntax; //     text → tree
pub mod programs; //   the words of one command → what that program does with them
pub mod git_config; //   which settings of git are harmless, and which can run something
pub mod lookup; //     where PATH leads, and which repository git finds
pub mod understand; // the tree → what the whole line is going to do
pub mod sandbox; //    what the kernel lets a process do
mod proxy; //          the only way out of a closed network
pub mod run; //        a process: started, listened to, ended
mod pages; //          our own process: what it holds in memory

pub use pages::let_go_of_code;
pub use proxy::is_own;
pub use understand::{Understood, shown, understand};
