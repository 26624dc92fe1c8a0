//! Resources of servers: routed by who listed them, and read through the engine like any call.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{Call, policy::Verdict, result::ToolResult};
use haft_tool::{FaultKind, Refusal};
use serde_json::{Map, Value, json};
use tokio::{task::AbortHandle, time::sleep};

use super::{
    call::with_way_out,
    door::{Shared, lock},
    guest::Guest,
    listen::UPDATED,
    message::{BAD_PARAMS, BROKEN},
    prompts::connect,
    spilled::{is_ours, not_found},
    visit::{Visit, VisitDesk},
};
use crate::{
    client::{Connection, Era, Listening, News, Refused, RequestOptions},
    upstream::{Lease, Upstream},
};

/// The tool by which resources are read, so that rules, hooks and the journal see it.
const READ: &str = "ReadMcpResource";

/// `resources/read`.
pub(super) async fn read(
    visit: Visit,
    desk: Arc<VisitDesk>,
    params: Map<String, Value>,
) -> Result<Value, Refused> {
    let uri = uri_of(&params)?;
    if is_ours(&uri) {
        return visit.guest.read_spilled(&uri).await;
    }
    let upstream = owner(&visit.guest.door, &uri).ok_or_else(|| not_found(&uri))?;
    let server = upstream.server().name.clone();
    visit.guest.begins().await;
    let passage = visit.passage(desk);
    let input = json!({ "server": server, "uri": uri });
    let call = Call::new(visit.guest.spilled.next_call(), READ, input);
    let again = call.clone();
    let result = passage.clone().around(visit.guest.session.call(call)).await;
    if result.fault.as_ref().is_some_and(|fault| fault.refusal == Some(Refusal::NobodyThere)) {
        let better = with_way_out(&visit, again, &result.text()).await;
        return Err(Refused::new(NO_PERMISSION, better.unwrap_or_else(|| result.text())));
    }
    match passage.take_answer() {
        _ if result.is_error() => Err(passage.take_refusal().unwrap_or_else(|| refused(&result))),
        Some(answer) => Ok(redacted(&visit.guest, answer)),
        None => Err(Refused::new(BROKEN, format!("{server} gave no contents for {uri}"))),
    }
}

/// Refuses what a rule denies, and asks nobody: for what a person picks, and what gives nothing away.
pub(super) async fn not_denied(guest: &Guest, server: &str) -> Result<(), Refused> {
    let input = json!({ "server": server, "uri": "prompt" });
    let call = Call::new("prompt", READ, input);
    match guest.session.explain(call).await {
        Ok(explained) if explained.decision.verdict == Verdict::Deny => {
            Err(Refused::new(NO_PERMISSION, explained.decision.reason()))
        }
        _ => Ok(()),
    }
}

fn refused(result: &ToolResult) -> Refused {
    let code = match result.fault.map(|fault| fault.kind) {
        Some(FaultKind::Denied) => NO_PERMISSION,
        _ => BROKEN,
    };
    Refused::new(code, result.text())
}

/// What a rule or a person does not allow. A code of our own: the protocol has none.
const NO_PERMISSION: i64 = -32003;

/// The contents as the server gave them, without secrets in their text.
fn redacted(guest: &Guest, mut answer: Value) -> Value {
    let Some(redactor) = guest.session.redactor() else { return answer };
    let contents = answer.get_mut("contents").and_then(Value::as_array_mut);
    for one in contents.into_iter().flatten() {
        if let Some(Value::String(text)) = one.get_mut("text") {
            let clean = redactor.redact(text).text.into_owned();
            *text = clean;
        }
    }
    answer
}

fn uri_of(params: &Map<String, Value>) -> Result<String, Refused> {
    let uri = params.get("uri").and_then(Value::as_str);
    uri.map(str::to_owned).ok_or_else(|| Refused::new(BAD_PARAMS, "`uri` is the address of a resource"))
}

/// The server that an address belongs to: the one that lists it, else one whose template fits, else the only one.
pub(super) fn owner<'a>(door: &'a Shared, uri: &str) -> Option<&'a Arc<Upstream>> {
    if let Some(only) = door.only() {
        return Some(only);
    }
    let lists = |upstream: &&Arc<Upstream>| {
        upstream
            .known()
            .resources
            .iter()
            .any(|resource| resource.get("uri").is_some_and(|listed| listed == uri))
    };
    let fits = |upstream: &&Arc<Upstream>| {
        let known = upstream.known();
        let mut templates =
            known.templates.iter().filter_map(|template| template.get("uriTemplate")?.as_str());
        templates.any(|template| template == uri || template_fits(template, uri))
    };
    door.upstreams().find(lists).or_else(|| door.upstreams().find(fits))
}

/// Whether an address could have been made from a template: its fixed parts are there, in this order.
fn template_fits(template: &str, uri: &str) -> bool {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some((fixed, after)) = rest.split_once('{') {
        parts.push(fixed);
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    let (last, mut left) = (rest, uri);
    for (place, fixed) in parts.iter().enumerate() {
        let found = if place == 0 { left.starts_with(fixed).then_some(0) } else { left.find(fixed) };
        match found {
            Some(at) => left = &left[at + fixed.len()..],
            None => return false,
        }
    }
    if parts.is_empty() { uri == template } else { left.ends_with(last) }
}

/// A resource that is watched, as long as this is there, also if its server dies meanwhile and is started again.
pub(super) struct Watched {
    now: Arc<Mutex<Option<Subscription>>>,
    keeper: AbortHandle,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// A server that tells of a resource: the connection is in use, and one of the new era has a request open.
struct Subscription {
    lease: Lease,
    _listening: Option<Listening>,
}

/// Watches a resource from now on.
pub(super) async fn watch(visit: &Visit, uri: &str) -> Result<Watched, Refused> {
    let first = subscription(visit, uri).await?;
    let (connection, now) = (Connection::clone(&first.lease), Arc::new(Mutex::new(Some(first))));
    let keeper = tokio::spawn(keep(visit.clone(), uri.to_owned(), now.clone(), connection));
    Ok(Watched { now, keeper: keeper.abort_handle() })
}

/// Subscribes again whenever the connection has ended, until nobody wants to hear of it or the server says no.
async fn keep(visit: Visit, uri: String, now: Arc<Mutex<Option<Subscription>>>, connection: Connection) {
    let mut connection = Some(connection);
    while let Some(ending) = connection {
        ending.closed().await;
        drop(lock(&now).take());
        connection = again(&visit, &uri, &now).await;
        if connection.is_some() {
            // Whatever happened to it meanwhile, nobody told.
            visit.guest.resource_changed(&News { method: UPDATED.to_owned(), params: of(&uri) });
        }
    }
}

async fn again(visit: &Visit, uri: &str, now: &Mutex<Option<Subscription>>) -> Option<Connection> {
    let mut wait = SOON;
    loop {
        sleep(wait).await;
        wait = (wait * 2).min(LATE);
        match subscription(visit, uri).await {
            Ok(subscription) => {
                let connection = Connection::clone(&subscription.lease);
                *lock(now) = Some(subscription);
                return Some(connection);
            }
            Err(refused) if refused.code == Refused::GONE => {}
            Err(_) => return None,
        }
    }
}

/// Between tries to hear of a resource again: at first, and at most.
const SOON: Duration = Duration::from_millis(500);
const LATE: Duration = Duration::from_secs(60);

/// Asks the server that has a resource to tell of its changes, in the way of the server's era.
async fn subscription(visit: &Visit, uri: &str) -> Result<Subscription, Refused> {
    let upstream = owner(&visit.guest.door, uri).ok_or_else(|| not_found(uri))?;
    not_denied(&visit.guest, &upstream.server().name).await?;
    let desk = visit.desk();
    // It hears for longer than this request.
    desk.end();
    let lease = connect(visit, upstream, &desk).await?;
    if lease.about().era == Era::Modern {
        let filter = Map::from_iter([("resourceSubscriptions".to_owned(), json!([uri]))]);
        let listening = Some(lease.listen(filter, Some(desk)));
        return Ok(Subscription { lease, _listening: listening });
    }
    lease.request("resources/subscribe", of(uri), &RequestOptions::default()).await?;
    Ok(Subscription { lease, _listening: None })
}

fn of(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), uri.into())])
}

/// So many resources a client watches. More than that is no client at work.
const MOST_WATCHED: usize = 1000;

/// `resources/subscribe`, in the way of the old era.
pub(super) async fn subscribe(visit: &Visit, params: Map<String, Value>) -> Result<Value, Refused> {
    let uri = uri_of(&params)?;
    if lock(&visit.guest.subscribed).len() >= MOST_WATCHED {
        return Err(Refused::new(BAD_PARAMS, format!("{MOST_WATCHED} resources are watched already")));
    }
    // Before the server is asked: its first word may come with its answer.
    lock(&visit.guest.subscribed).insert(uri.clone(), None);
    match watch(visit, &uri).await {
        Ok(watched) => drop(lock(&visit.guest.subscribed).insert(uri, Some(watched))),
        Err(refused) => {
            lock(&visit.guest.subscribed).remove(&uri);
            return Err(refused);
        }
    }
    Ok(json!({}))
}

/// `resources/unsubscribe`.
pub(super) async fn unsubscribe(visit: &Visit, params: Map<String, Value>) -> Result<Value, Refused> {
    let uri = uri_of(&params)?;
    let upstream = owner(&visit.guest.door, &uri).ok_or_else(|| not_found(&uri))?;
    let watched = lock(&visit.guest.subscribed).remove(&uri).flatten();
    // Others may want to hear of it still on a connection that they share.
    let others =
        if upstream.server().shared { visit.guest.door.present() } else { vec![visit.guest.clone()] };
    let is_wanted = || others.iter().any(|guest| guest.wants(&uri));
    let told = watched.and_then(|watched| lock(&watched.now).take());
    let legacy = told.filter(|told| told.lease.about().era == Era::Legacy);
    if let Some(told) = legacy.filter(|_| !is_wanted()) {
        told.lease.request("resources/unsubscribe", of(&uri), &RequestOptions::default()).await?;
    }
    Ok(json!({}))
}

impl Guest {
    /// Whether it wants to hear of a resource, in either way.
    fn wants(&self, uri: &str) -> bool {
        lock(&self.subscribed).contains_key(uri) || self.listeners.want(uri)
    }

    /// A server says that a resource changed.
    pub(super) fn resource_changed(&self, news: &News) {
        let uri = news.params.get("uri").and_then(Value::as_str).unwrap_or_default();
        if lock(&self.subscribed).contains_key(uri) {
            self.tell(news);
        }
        self.listeners.resource_changed(uri);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_the_template_that_it_was_made_from() {
        for (template, uri, fits) in [
            ("test://template/{id}/data", "test://template/12/data", true),
            ("test://template/{id}/data", "test://template/12/more", false),
            ("file:///{+path}", "file:///a/b", true),
            ("file:///{+path}", "http://a/b", false),
            ("a://{x}{?y}", "a://1?y=2", true),
            ("a://fixed", "a://fixed", true),
            ("a://fixed", "a://fixed/more", false),
            ("a://{broken", "a://anything", true),
        ] {
            assert_eq!(template_fits(template, uri), fits, "{template} {uri}");
        }
    }
}
