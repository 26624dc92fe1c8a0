//! What the crate promises, seen from outside.

mod kit;
mod syntax_table;
mod syntax_bash;
mod syntax_limits;
mod syntax_render;
