//! The client that the conformance suite's client scenarios are run against: haft's own connection, used as haft uses it.
//!
//! The suite starts it with the address of a server as the last argument, and says in the environment which scenario it is and
//! what it may know. Whatever the server lists is called, read or got once: what a scenario is about happens on the way.

mod desk; //       answers what the server asks
mod arguments; //  something that fits a schema
mod auth; //       tokens, if the server wants any

use std::{collections::BTreeMap, env, error::Error, sync::Arc};

use haft_mcp::client::{Connection, Listing, Refused, RequestOptions, Server, Transport};
use serde_json::{Map, Value, json};

use desk::WillingDesk;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Whoever installed a provider before has made the same choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = env::args().skip(1).last().ok_or("the last argument is the server's address")?;
    let tokens = auth::tokens(&url, &context())?;
    let mut server = Server::new("server", Transport::Http { url, headers: BTreeMap::new() });
    server.tokens = Some(tokens);
    // The era is found out, as haft does with a server that it has never met.
    let connection = Connection::open(&server, None, Arc::new(WillingDesk)).await?;
    call_tools(&connection).await?;
    look_around(&connection).await?;
    connection.close().await;
    Ok(())
}

/// Calls what the scenario wants called, or else every tool once.
async fn call_tools(connection: &Connection) -> Result<(), Refused> {
    let listed = connection.list("tools/list", "tools").await?;
    let wanted = context()["toolCalls"].as_array().cloned();
    let calls = wanted.unwrap_or_else(|| listed.entries.iter().map(call_of).collect());
    for call in calls {
        let Value::Object(params) = call else { continue };
        tolerate(connection.request("tools/call", params, &RequestOptions::default()).await);
    }
    Ok(())
}

fn call_of(tool: &Map<String, Value>) -> Value {
    let schema = tool.get("inputSchema").cloned().unwrap_or_default();
    json!({ "name": tool.get("name"), "arguments": arguments::fitting(&schema) })
}

/// Reads a resource and gets a prompt, if the server says that it has any.
async fn look_around(connection: &Connection) -> Result<(), Refused> {
    let has = |what: &str| connection.about().capabilities.contains_key(what);
    if has("resources") {
        let listed = connection.list("resources/list", "resources").await?;
        take_first(connection, "resources/read", "uri", &listed).await;
    }
    if has("prompts") {
        let listed = connection.list("prompts/list", "prompts").await?;
        take_first(connection, "prompts/get", "name", &listed).await;
    }
    Ok(())
}

async fn take_first(connection: &Connection, method: &str, key: &str, listed: &Listing) {
    if let Some(found) = listed.entries.first().and_then(|entry| entry.get(key)) {
        let params = Map::from_iter([(key.to_owned(), found.clone())]);
        tolerate(connection.request(method, params, &RequestOptions::default()).await);
    }
}

/// A server may refuse one request; the suite knows whether that was right.
fn tolerate(answer: Result<Value, Refused>) {
    if let Err(refused) = answer {
        log(&format!("refused: {refused}"));
    }
}

/// Shown by the suite when a scenario fails.
#[expect(clippy::print_stderr, reason = "whoever started it reads it there")]
fn log(line: &str) {
    eprintln!("{line}");
}

/// What the scenario says.
fn context() -> Value {
    let text = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}
