//! Prompts of servers, and what can be written in the place of an argument.
//!
//! A prompt is what a person picks from a menu: picking it is the permission. A rule that denies the server denies its
//! prompts, too.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    door::Shared,
    message::BAD_PARAMS,
    resources,
    visit::{Visit, VisitDesk},
};
use crate::{
    client::{Desk, Era, Refused, RequestOptions, shows_addresses},
    upstream::{Lease, Upstream},
};

/// What separates a server and its prompt.
const BETWEEN: &str = "__";

/// `prompts/get`.
pub(super) async fn get(
    visit: Visit,
    desk: Arc<VisitDesk>,
    mut params: Map<String, Value>,
) -> Result<Value, Refused> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let (upstream, plain) = find(&visit.guest.door, &name).ok_or_else(|| {
        Refused::new(BAD_PARAMS, format!("there is no prompt {name:?}; prompts/list has them all"))
    })?;
    resources::not_denied(&visit.guest, &upstream.server().name).await?;
    params.insert("name".to_owned(), plain.into());
    let mut answer = forward(&visit, upstream, &desk, "prompts/get", params).await?;
    if let Some(redactor) = visit.guest.session.redactor() {
        redactor.redact_json(&mut answer);
    }
    Ok(answer)
}

/// `completion/complete`: by whoever has the prompt or the template.
pub(super) async fn complete(visit: &Visit, mut params: Map<String, Value>) -> Result<Value, Refused> {
    let door = &visit.guest.door;
    let wrong = |what: &str| Refused::new(BAD_PARAMS, format!("`ref` names {what} that nobody here has"));
    let Some(Value::Object(reference)) = params.get_mut("ref") else {
        return Err(Refused::new(BAD_PARAMS, "`ref` is a prompt or a resource template"));
    };
    let named = reference.get("name").and_then(Value::as_str).map(str::to_owned);
    let uri = reference.get("uri").and_then(Value::as_str).map(str::to_owned);
    let upstream = match (named, uri) {
        (Some(name), _) => {
            let (upstream, plain) = find(door, &name).ok_or_else(|| wrong("a prompt"))?;
            reference.insert("name".to_owned(), plain.into());
            upstream
        }
        (None, Some(uri)) => resources::owner(door, &uri).ok_or_else(|| wrong("a resource"))?,
        (None, None) => return Err(wrong("nothing")),
    };
    let upstream = upstream.clone();
    resources::not_denied(&visit.guest, &upstream.server().name).await?;
    forward(visit, &upstream, &visit.desk(), "completion/complete", params).await
}

/// The server that has a prompt, and the server's own name for it.
fn find<'a, 'n>(door: &'a Shared, name: &'n str) -> Option<(&'a Arc<Upstream>, &'n str)> {
    if let Some(only) = door.only() {
        return Some((only, name));
    }
    // A server's name may have `__` in it: the longest that fits is meant.
    let mut fits: Vec<(&Arc<Upstream>, &str)> = door
        .upstreams()
        .filter_map(|upstream| {
            let rest = name.strip_prefix(upstream.server().name.as_str())?;
            Some((upstream, rest.strip_prefix(BETWEEN)?))
        })
        .collect();
    fits.sort_by_key(|(_, plain)| plain.len());
    fits.first().copied()
}

/// Sends a request on to a server, on the client's own connection to it.
pub(super) async fn forward(
    visit: &Visit,
    upstream: &Arc<Upstream>,
    desk: &Arc<VisitDesk>,
    method: &str,
    mut params: Map<String, Value>,
) -> Result<Value, Refused> {
    if !visit.said.rest.is_empty() {
        params.insert("_meta".to_owned(), visit.said.rest.clone().into());
    }
    let connection = connect(visit, upstream, desk).await?;
    let desk: Arc<dyn Desk> = desk.clone();
    let options = RequestOptions {
        desk: Some(upstream.for_server(&desk)),
        keeps_visits: visit.era == Era::Legacy && shows_addresses(&visit.capabilities),
        ..RequestOptions::default()
    };
    connection.request(method, params, &options).await
}

/// The client's own connection to a server.
pub(super) async fn connect(
    visit: &Visit,
    upstream: &Arc<Upstream>,
    desk: &Arc<VisitDesk>,
) -> Result<Lease, Refused> {
    let desk: Arc<dyn Desk> = desk.clone();
    let desk = upstream.for_server(&desk);
    let connected = upstream.connect(&visit.guest.principal, Some(visit.era), desk).await;
    connected.map_err(|fault| Refused::new(Refused::GONE, fault.message().to_owned()))
}
