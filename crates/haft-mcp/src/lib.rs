//! What MCP calls a tool and a result.
//!
//! It is a crate because of what it keeps from others: nobody else knows MCP's JSON, so a tool or an engine cannot
//! depend on the door that a call came through.
//! Not here: clients, servers, transports, JSON-RPC itself. What only one revision of the protocol wants around these
//! shapes (`resultType`, `ttlMs`) is for whoever knows which one the peer speaks.

mod tool; //    a tool as a server lists it
mod result; //  a result as a server returns it

pub use result::call_tool_result;
pub use tool::{list_tools_result, tool};
