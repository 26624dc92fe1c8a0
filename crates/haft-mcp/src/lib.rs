//! MCP on both sides: the servers whose tools haft uses, and haft as a server.
//!
//! It is a crate because of what it keeps from others: nobody else knows MCP's JSON or JSON-RPC, so a tool or an engine
//! cannot depend on the door that a call came through. Read it in the order of the modules.
//!
//! Inside, everything has the shape of the newest revision: a request that carries all it needs, and whose answer may be a
//! question. What older peers want instead is made where they are spoken to ([`client`], [`server`]), and nowhere else.
//! Not here: settings files, terminals, policy.

pub mod shape; //     what MCP calls a tool and a result
pub mod client; //    one connection to one server: five transports, two eras, answers that need repair
pub mod upstream; //  a server over time: started when needed, remembered, restarted; its tools in a pool
pub mod server; //    haft as a server, and as the one door to all of them
pub mod auth; //      tokens for servers that want to know who asks
pub mod lint; //      is a description meant for the model, or against it?
mod wire; //          how messages travel
mod passage; //       how a call that comes in at our door goes out to a server

pub use passage::{Passage, Trace};
pub use shape::{call_tool_result, list_tools_result, tool};
