//! For tests: a workspace written as text, tools that do what a test needs, and a model that says what it wants.
//!
//! A crate because the tests of several crates use it and no product does. Tests here never touch the developer's home,
//! the network or the clock on the wall.

// Test code may say `expect`: a failure here is a failure of the test.
#![allow(clippy::unwrap_used)]
#![expect(clippy::disallowed_methods, reason = "servers for tests are programs of others")]

mod workspace; // files written as text
mod run; //       one tool, through the whole pipeline
mod tools; //     tools that sleep, fail, panic, grow
mod service; //   servers of others, gone with the test
mod postgres; //  PostgreSQL
mod objects; //   an S3-compatible object store
#[cfg(feature = "model")]
mod model; //     a model behind HTTP that follows a script

#[cfg(feature = "model")]
pub use haft_model::scripted::Turn;
#[cfg(feature = "model")]
pub use model::{ModelServer, Recorded, Script};
pub use objects::Objects;
pub use postgres::Postgres;
pub use run::{Outcome, engine, run, session};
pub use tools::{Probe, panicking, sized, sleeping};
pub use workspace::Workspace;
