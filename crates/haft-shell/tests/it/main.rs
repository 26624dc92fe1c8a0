//! What the crate promises, seen from outside.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "clippy does not know that this is a test")]

mod kit;
mod git;
mod soup;
mod names;
mod syntax_table;
mod syntax_bash;
mod syntax_soup;
mod syntax_limits;
mod syntax_render;
