//! haft, the tool runtime for AI agents, as a library: one engine, one contract.
//!
//! This crate only puts together what others hold, so that an embedder names one dependency. Start with
//! [`prelude`], write a [`Tool`](tool::Tool) or two, build an [`Engine`](engine::Engine), begin a session, and hand it
//! the model's calls.
//!
//! The README's example is checked here:
#![doc = include_str!("../../../README.md")]

#[cfg(feature = "agent")]
pub use haft_agent as agent;
pub use haft_engine as engine;
#[cfg(feature = "hooks")]
pub use haft_hooks as hooks;
#[cfg(feature = "mcp")]
pub use haft_mcp as mcp;
#[cfg(feature = "model")]
pub use haft_model as model;
#[cfg(feature = "otel")]
pub use haft_otel as otel;
#[cfg(feature = "store")]
pub use haft_store as store;
pub use haft_tool as tool;
#[cfg(feature = "tools")]
pub use haft_tools as tools;
// What authors need to derive an input: the same versions that the contract was built with.
pub use {schemars, serde, serde_json};

// The examples of the docs are compiled.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../../../docs/library.md")]
struct Docs;

/// The names that a program with tools of its own uses.
pub mod prelude {
    pub use haft_engine::{
        Call, Engine, Session, SessionOptions,
        policy::{Mode, Origin, Rules},
        result::ToolResult,
    };
    #[cfg(feature = "model")]
    pub use haft_model::Dialect;
    pub use haft_tool::{AbsolutePath, Cx, Effects, Fault, IntoTool, Reply, Spec, Tool, View, tool};
    pub use schemars::JsonSchema;
    pub use serde::Deserialize;
}
