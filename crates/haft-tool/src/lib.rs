//! The contract between a tool and the runtime that calls it
