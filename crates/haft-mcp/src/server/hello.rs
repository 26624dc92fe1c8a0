//! Who we are and what we can do, as clients of both eras are told.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    door::{Shared, lock},
    era::{VERSIONS, agreed},
    guest::Guest,
    listen,
    message::BAD_PARAMS,
    prompts::connect,
    visit::{Visit, severity},
};
use crate::{
    client::{Refused, RequestOptions},
    upstream::State,
};

/// The handshake of the old era.
pub(super) async fn initialize(visit: &Visit, params: Map<String, Value>) -> Result<Value, Refused> {
    let door = &visit.guest.door;
    meet(&visit.guest, &params);
    listen::acquaint(door).await;
    let version = agreed(params.get("protocolVersion").and_then(Value::as_str));
    let mut result = json!({ "protocolVersion": version, "capabilities": capabilities_of(door), "serverInfo": info(door) });
    if let Some(words) = instructions(door) {
        result["instructions"] = words.into();
    }
    Ok(result)
}

/// Remembers what a client says of itself in its greeting. At once: a client may go on before it is answered.
pub(super) fn meet(guest: &Guest, params: &Map<String, Value>) {
    let capabilities = params.get("capabilities").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut client = lock(&guest.client);
    client.has_begun = true;
    client.capabilities = Arc::new(capabilities);
}

/// The answer to whoever wants to know us before asking anything.
pub(super) async fn discover(visit: &Visit) -> Result<Value, Refused> {
    let door = &visit.guest.door;
    listen::acquaint(door).await;
    let mut result = json!({ "supportedVersions": VERSIONS, "capabilities": capabilities_of(door) });
    if let Some(words) = instructions(door) {
        result["instructions"] = words.into();
    }
    Ok(result)
}

/// Whom a client speaks to: us, or the one server that it sees.
pub(super) fn info(door: &Shared) -> Map<String, Value> {
    let of_only = door.only().map(|only| only.known().info.clone()).filter(|info| !info.is_empty());
    of_only.unwrap_or_else(|| {
        let version = door.options.version.as_str();
        Map::from_iter([
            ("name".to_owned(), "haft".into()),
            ("title".to_owned(), "haft".into()),
            ("version".to_owned(), version.into()),
        ])
    })
}

fn capabilities_of(door: &Shared) -> Value {
    let Some(only) = door.only() else {
        return json!({
            "tools": { "listChanged": true },
            "prompts": { "listChanged": true },
            "resources": { "listChanged": true, "subscribe": true },
            "completions": {},
            "logging": {},
        });
    };
    let mut capabilities = only.known().capabilities.clone();
    // Tasks of the older era end with us, who follow them for every client.
    capabilities.shift_remove("tasks");
    // Large results are resources, whatever the server has.
    capabilities.entry("resources").or_insert_with(|| json!({}));
    capabilities.into()
}

fn instructions(door: &Shared) -> Option<String> {
    if let Some(only) = door.only() {
        return only.known().instructions.clone();
    }
    let servers: Vec<&str> = door.upstreams().map(|upstream| upstream.server().name.as_str()).collect();
    let servers = match servers.as_slice() {
        [] => String::new(),
        names => format!(" Servers behind this one: {}.", names.join(", ")),
    };
    Some(format!(
        "Not every tool is listed: ToolSearch finds more by what they do, ToolDescribe shows how to call them, \
         ToolCall calls them. Calls are checked against the user's rules; a refusal says what would allow it.{servers}"
    ))
}

/// From which level on the client wants to read what servers log.
pub(super) async fn set_level(visit: &Visit, params: &Map<String, Value>) -> Result<Value, Refused> {
    let level = params.get("level").and_then(Value::as_str);
    let level =
        level.ok_or_else(|| Refused::new(BAD_PARAMS, "`level` is one of debug, info, …, emergency"))?;
    if severity(level) == 1 && level != "info" {
        return Err(Refused::new(BAD_PARAMS, format!("there is no level {level:?}")));
    }
    lock(&visit.guest.client).level = Some(level.to_owned());
    let running = visit.guest.door.upstreams().filter(|upstream| upstream.state() == State::Running);
    for upstream in running.filter(|upstream| upstream.known().capabilities.contains_key("logging")) {
        // Those that do not run begin with what they usually say, of which the client is told what it wants to hear.
        let Ok(connection) = connect(visit, upstream, &visit.desk()).await else { continue };
        let _ = connection.request("logging/setLevel", params.clone(), &RequestOptions::default()).await;
    }
    Ok(json!({}))
}
