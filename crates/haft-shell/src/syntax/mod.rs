//! Text to tree.

mod tree;

pub use tree::*;
