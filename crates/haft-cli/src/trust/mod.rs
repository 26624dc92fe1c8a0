//! Whether what a workspace brings may do anything.
//!
//! A repository is somebody else's text until a person has said otherwise: its settings, hooks, servers, agents and
//! skills do nothing before `haft trust`. Trust is bound to content. Everything that would count is read once, hashed,
//! and compared with what was trusted; what was hashed is what is used, so nothing can change in between. One byte more
//! or less, one file more or less, and nothing of it counts until somebody has looked at the difference.

mod gather; //   what it brings, read once
mod named; //    and what that runs
mod store; //    what was trusted before
mod standing; // how the two compare
mod outline; //  what would count, for people and programs
mod diff; //     what has changed since
pub(crate) mod import; // settings written for another tool

pub(crate) use diff::{revealed, revealed_line, unified};
pub(crate) use gather::Content;
pub(crate) use outline::Outline;
pub(crate) use standing::{Brought, Standing, look};
pub(crate) use store::{forget, list, trust};
