//! Tools whose side effects are on the runtime itself.
//!
//! ToolSearch looks into the pool, Batch makes calls: such tools cannot be content with a narrow
//! [`Cx`](haft_tool::Cx). They are looked up before every source, and walk through the same stages as all others.

use std::sync::Arc;

use haft_tool::{BoxFuture, Cx, Fault, Reply, SharedTool};
use serde_json::Value;

use crate::pool::Pool;

/// A tool that sees the runtime.
pub trait Kernel: Send + Sync {
    /// Its contract: name, prompt, schema, effects. The body of this tool is never called.
    fn tool(&self) -> SharedTool;

    /// Runs a call that was checked and permitted.
    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>>;
}

/// What a kernel tool may use beyond the context of the call.
pub struct KernelCx<'a> {
    /// The context of the call.
    pub cx: Cx,
    /// The pool of this turn.
    pub pool: &'a Pool,
}
