//! The tools of an MCP server in a session: under the same rules as all others.
//!
//! ```sh
//! cargo run -p haft --features mcp --example mcp_servers -- npx -y @modelcontextprotocol/server-everything stdio
//! ```

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::{collections::BTreeMap, error::Error};

use haft::{
    mcp::{
        client::{Server, Transport},
        upstream::{Options, Upstreams},
    },
    prelude::*,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let command = words.next().ok_or("which command starts the server?")?;
    let (args, env, cwd) = (words.collect(), BTreeMap::new(), std::env::current_dir()?);
    let server = Server::new("mine", Transport::Stdio { command, args, env, cwd });

    // Nothing starts yet. `acquaint` starts the servers of which nothing is known, and asks what they have.
    let upstreams = Upstreams::new(vec![server], Options::default());
    upstreams.acquaint().await;
    let builder = Engine::builder().tools(upstreams.resource_tools());
    let sources = upstreams.sources().into_iter();
    let engine = sources.fold(builder, |builder, source| builder.source(source)).build()?;

    // What a server's tool does is the server's word, so nothing of it runs without a rule or a person's yes.
    let allowed = Rules::allowing(["mcp__mine"], Origin::Session);
    let session = engine.session(SessionOptions { rules: allowed, ..SessionOptions::at(".") })?;
    for entry in session.pool().shown() {
        println!("{}: {}", entry.name(), entry.tool().prompt().lines().next().unwrap_or_default());
    }
    upstreams.close().await;
    Ok(())
}
