//! Hooks that are programs, in the format that people have hooks for already.
//!
//! The engine knows hooks as a trait ([`haft_engine::turn::Hook`]). Here is that trait for the `hooks` object of a settings
//! file: an event, a matcher, a command. A hook gets JSON on stdin and answers by its exit code (0 go on, 2 block with
//! stderr as the reason, anything else is the hook's own trouble) or by JSON on stdout. Read in this order:
//!
//! It is a crate because the engine starts no processes and knows no settings, and because only here is the JSON of that
//! convention. Not here: whose word counts (the engine's policy), and which settings may be believed (whoever reads them).

mod event; //      when a hook runs
mod matcher; //    for which tools
mod config; //     what the settings say
mod input; //      what a hook reads
mod answer; //     what it answers
mod run; //        the process
mod background; // those that nobody waits for
mod hooks; //      all of it, as the engine's trait

pub use config::{Config, Handler, Listed, OnFailure, Problem};
pub use event::Event;
pub use hooks::{CommandHooks, Filter};
