//! The loop: a model is asked, its calls are run, it is told what came of them, until there is an answer.
//!
//! An [`Agent`] is one conversation: a session of the engine, a [`Model`], and what was said. [`Agent::run`] takes what a
//! person wants and comes back with an [`Outcome`]; what happens meanwhile is told as [`AgentEvent`]s. Nothing in it is
//! global: several agents in one process have their own sessions, models, budgets and interrupts.
//!
//! It is a crate because an embedder may have a loop of their own, and because what people see of it does not belong here.
//! Not here: a terminal, settings, HTTP (`haft-model` has it), a database. Where what was said is kept is a [`Transcript`].

mod options; //    how an agent behaves
mod model; //      who is asked
mod event; //      what is told meanwhile, and in the end
mod agent; //      one conversation
mod run; //        from what a person wants to an answer
mod exchange; //   one request, its answer, its calls
mod ids; //        calls, told apart
mod retry; //      asking again
mod guard; //      a model that goes round in circles
mod tasks; //      what has become of work in the background
mod compact; //    a conversation that becomes too long
mod context; //    how full the window is
mod system; //     what the model is told first
mod notes; //      what the project says of itself
mod transcript; // what was said, for later
mod delegate; //   agents that an agent starts
mod judge; //      a model that judges calls

pub use agent::{Agent, AgentBuilder, Past};
pub use compact::Compacted;
pub use context::Context;
pub use delegate::{AgentDefinition, DefinitionError, Delegate, DelegateLimits};
pub use event::{AgentEvent, End, OnEvent, Outcome, Prompt};
pub use judge::Judge;
pub use model::{Model, ModelStream};
pub use options::{AgentOptions, Patience};
pub use run::tells_stop;
pub use transcript::{Line, Transcript};

// The examples of the docs are compiled.
#[cfg(all(doctest, feature = "client"))]
#[doc = include_str!("../../../docs/agent.md")]
struct Docs;
#[cfg(doctest)]
#[doc = include_str!("../../../docs/delegate.md")]
struct DelegateDocs;
