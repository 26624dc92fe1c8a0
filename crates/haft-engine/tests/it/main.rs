//! The engine as an embedder uses it.

mod turns; // how the calls of a turn run
