//! The binary from outside: what is typed, what comes out, what the exit code says.
//!
//! Every test has a home and a state directory of its own: the developer's are never read.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod kit; //       a place to run haft in
mod pty; //       a person at a terminal
#[cfg(feature = "tui")]
mod tmux; //      a person at a whole terminal
#[cfg(feature = "tui")]
mod terminal; //  the agent, interactive
mod asking; //    what that person is asked
mod modes; //     how much is asked
mod bash; //      commands
mod kernel; //    the tools that see the runtime
mod call; //      one call
mod run; //       a model with tools
mod delegate; //  … that has others work for it
mod judge; //     … whose calls another judges
mod turn; //      messages, in all dialects, whole and in pieces
mod tools; //     the listing
mod search; //    tools by what they do
mod explain; //   decisions without calls
mod redact; //    secrets, taken out
mod settings; //  files and options
mod hooks; //     programs before and after calls
mod trust; //     what a workspace brings
mod import; //    settings of another tool
mod servers; //   MCP servers, from settings to calls
mod pin; //       tools of servers that changed
mod login; //     tokens for servers
mod log; //       what happened
mod undo; //      what is taken back
mod lint; //      mistakes, all at once
mod mcp; //       clients of the protocol
#[path = "../../../haft-otel/tests/it/collector.rs"]
#[cfg(feature = "otel")]
mod collector; // a collector that keeps what it is sent
#[cfg(feature = "otel")]
mod telemetry; // spans, metrics, logs
mod streams; //   the streams that they speak on
mod demo; //      the show
mod sampling; //  a server that asks the model of a run
mod sandbox; //   commands, confined
mod visits; //    a server that wants a page visited
mod docs; //      what the documents show
mod far; //       many processes, one session
