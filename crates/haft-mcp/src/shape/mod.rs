//! What MCP calls a tool and a result, whoever asks. What only one revision of the protocol wants around these shapes
//! (`resultType`, `ttlMs`) is for whoever knows which one the peer speaks.

mod tool; //    a tool as a server lists it
mod result; //  a result as a server returns it
mod overlay; // what a server's own result has besides

use serde_json::{Map, Value};

pub use overlay::overlay;
pub use result::call_tool_result;
pub use tool::{list_tools_result, tool};

/// An object of what is moved into it. `json!` would copy every value, all of a result among them.
pub(crate) fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Map::from_iter(fields.map(|(key, value)| (key.to_owned(), value))).into()
}
