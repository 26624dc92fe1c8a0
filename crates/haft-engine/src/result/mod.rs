//! What goes back to the model?

mod tool_result; // what a call became

pub use tool_result::{FaultFacts, Meta, ToolResult, Truncation};
