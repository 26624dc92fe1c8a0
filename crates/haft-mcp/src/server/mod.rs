//! haft as a server, and as the one door to all of them.
//!
//! A [`Door`] stands in front of an engine and its servers. Clients of both eras come in, by a pair of streams
//! ([`Door::serve`]) or by HTTP ([`Door::listen`]), and see one list of tools, prompts and resources. Whatever they ask
//! walks through the engine: rules, hooks, budgets, secrets and journal are the same behind every door.
//!
//! A request is a `Visit`, a client is a `Guest`. What a server behind us wants to know from whoever is in
//! front of us is answered by the visit's desk: a client of the old era is sent the request, one of the new era finds the
//! question in the answer to its own request, and the call waits meanwhile (`parked.rs`).
//!
//! JSON-RPC is spoken here directly and not through the SDK, whose results are typed: what a server says has to come out at
//! our door with every field that it had.

mod message; //    what is sent: requests, answers, notifications
mod era; //        which shape of the protocol a request has, and what it says of its client
mod door; //       what all clients share
mod guest; //      one client
mod life; //       when its session begins and ends
mod visit; //      one request of it, and who answers what servers ask meanwhile
mod parked; //     calls that wait for their client to come back
mod observer; //   who hears of it
mod dispatch; //   which request is answered by whom
mod hello; //      who we are and what we can do
mod catalogue; //  the tools, as they are listed
mod search; //     ToolSearch, ToolDescribe, ToolCall: tools that are found instead of listed
mod call; //       tools/call
mod spilled; //    results that were too large, as resources
mod promised; //   and what of them a tool promises to give
mod prompts; //    prompts of servers
mod resources; //  resources of servers
mod listen; //     who wants to hear of what
mod tasks; //      work that outlives its request
mod ask; //        the person at the client
mod lines; //      clients on a pair of streams
mod http; //       clients by HTTP

pub use ask::Elicitor;
pub use door::{Door, DoorOptions};
pub use http::{Badge, HttpOptions, Token};
pub use observer::{About, Answer, OpenRequest, REQUEST_ID, RequestFacts, RequestObserver};
