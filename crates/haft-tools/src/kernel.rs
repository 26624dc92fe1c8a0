//! For tools that see the runtime: what their two halves share.
//!
//! Such a tool is a [`Tool`](haft_tool::Tool) for all that is asked of one before it runs, and a
//! [`Kernel`](haft_engine::turn::Kernel) for the running.

use haft_tool::{Fault, FaultKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What the narrow half says if it is called: somebody registered it as an ordinary tool.
pub(crate) fn not_here(tool: &str) -> Fault {
    Fault::new(
        FaultKind::Internal,
        format!("{tool} runs in the kernel; it was registered as an ordinary tool"),
    )
}

/// The input, which was checked when the call was prepared.
pub(crate) fn typed<T: DeserializeOwned>(input: &Value) -> Result<T, Fault> {
    T::deserialize(input).map_err(|err| Fault::rejected(err.to_string()))
}
