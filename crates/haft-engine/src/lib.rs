//! The engine that runs a model's calls.
//!
//! A call walks through the modules in this order, and never back. Authors of tools need only the crate `haft-tool`.
//! It is a crate because everything else stands on it and it stands on almost nothing.
//! Not here: any tool, HTTP, a provider's JSON, a terminal, a process, global state.

pub mod pool; //     which tools does the model see?
pub mod policy; //   may this call run?
pub mod judge; //    … in the opinion of a language model?
pub mod turn; //     how do the calls of one turn run?
pub mod result; //   what goes back to the model?
pub mod session; //  what do calls see and change?
mod engine; //       what all sessions share

pub use engine::{Engine, EngineBuilder, FindCodePlaces, Sandbox, Settings};
pub use session::{Session, SessionOptions};
pub use turn::Call;
