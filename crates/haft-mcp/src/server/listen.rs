//! Who wants to hear of what: changes of lists and of resources, in the ways of both eras.
//!
//! A client hears that a list changed only if the list that it was shown is another one now, and once: that a server behind
//! us says so is no reason to say it.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::time;

use super::{
    catalogue::Changed,
    door::{Shared, lock},
    era::SUBSCRIPTION,
    guest::Outlet,
    message::{self, BAD_PARAMS},
    resources::{self, Watched},
    visit::Visit,
};
use crate::{
    client::{News, Refused},
    upstream::Principal,
};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
pub(super) const UPDATED: &str = "notifications/resources/updated";

/// Servers that change several lists at once, or one several times, are told of once.
const SETTLE: Duration = Duration::from_millis(50);
/// So long a list waits for servers of which nothing is known yet. Those that need longer are told of as a change.
const GREETING: Duration = Duration::from_secs(10);
const MOST_URIS: usize = 1000;

/// Makes sure that something is known of the servers behind the door. What was kept of them is enough; servers of which
/// nothing was kept are started, once.
pub(super) async fn acquaint(door: &Arc<Shared>) {
    let is_over = *door.acquainted.borrow();
    if is_over || !door.options.upstreams.as_ref().is_some_and(|all| all.has_strangers()) {
        return;
    }
    let mut known = door.acquainted.subscribe();
    if !door.acquainting.swap(true, Ordering::Relaxed) {
        let door = door.clone();
        tokio::spawn(async move {
            if let Some(upstreams) = &door.options.upstreams {
                upstreams.acquaint().await;
            }
            // Clients have connections of their own, with what they can do: this one has done its work.
            door.let_go(&Principal::owner()).await;
            door.acquainted.send_replace(true);
        });
    }
    let waiting = known.wait_for(|known| *known);
    match door.options.only {
        // There is nothing to show without it; it has its own limit.
        Some(_) => drop(waiting.await),
        None => drop(time::timeout(GREETING, waiting).await),
    }
}

/// Watches the servers for changes, as long as the door is there.
pub(super) fn watch(door: &Arc<Shared>) {
    for upstream in door.upstreams() {
        let (mut changes, weak) = (upstream.changes(), Arc::downgrade(door));
        upstream.heard_by(move |news| {
            let present = weak.upgrade().map(|door| door.present()).unwrap_or_default();
            present.iter().for_each(|guest| guest.resource_changed(news));
        });
        let door = Arc::downgrade(door);
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                time::sleep(SETTLE).await;
                changes.borrow_and_update();
                let Some(door) = door.upgrade() else { return };
                announce(&door);
            }
        });
    }
}

/// Tells everybody whose lists have changed.
fn announce(door: &Shared) {
    for guest in door.present() {
        let changed = guest.news();
        for method in methods(changed) {
            if guest.has_begun() {
                guest.tell(&News { method: method.to_owned(), params: Map::new() });
            }
            guest.listeners.tell(method, None);
        }
    }
}

fn methods(changed: Changed) -> impl Iterator<Item = &'static str> {
    let all = [(TOOLS, changed.tools), (PROMPTS, changed.prompts), (RESOURCES, changed.resources)];
    all.into_iter().filter(|(_, changed)| *changed).map(|(method, _)| method)
}

/// The open `subscriptions/listen` requests of a client.
#[derive(Default)]
pub(super) struct Listeners(Mutex<Vec<Arc<Listener>>>);

struct Listener {
    id: Value,
    outlet: Outlet,
    ear: Mutex<Ear>,
}

/// What it hears.
struct Ear {
    wants: Wants,
    /// What came before the client was told that it is heard: told after that, each once.
    held: Option<Vec<(&'static str, Option<String>)>>,
}

/// What one of them is about.
#[derive(Debug, Clone, PartialEq, Default)]
struct Wants {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: Vec<String>,
}

impl Wants {
    fn read(params: &Map<String, Value>) -> Result<Wants, Refused> {
        let Some(Value::Object(filter)) = params.get("notifications") else {
            return Err(Refused::new(BAD_PARAMS, "`notifications` says what to listen for"));
        };
        let wants = |key: &str| filter.get(key).and_then(Value::as_bool).unwrap_or_default();
        let uris = filter.get("resourceSubscriptions").and_then(Value::as_array).into_iter().flatten();
        let uris: Vec<String> = uris.filter_map(Value::as_str).map(str::to_owned).take(MOST_URIS).collect();
        Ok(Wants {
            tools: wants("toolsListChanged"),
            prompts: wants("promptsListChanged"),
            resources: wants("resourcesListChanged"),
            uris,
        })
    }

    /// As the protocol writes it.
    fn write(&self) -> Value {
        let flags = [
            ("toolsListChanged", self.tools),
            ("promptsListChanged", self.prompts),
            ("resourcesListChanged", self.resources),
        ];
        let flags =
            flags.into_iter().filter(|(_, wanted)| *wanted).map(|(key, _)| (key.to_owned(), true.into()));
        let mut written: Map<String, Value> = flags.collect();
        if !self.uris.is_empty() {
            written.insert("resourceSubscriptions".to_owned(), json!(self.uris));
        }
        written.into()
    }

    fn includes(&self, method: &str, uri: Option<&str>) -> bool {
        match method {
            TOOLS => self.tools,
            PROMPTS => self.prompts,
            RESOURCES => self.resources,
            _ => self.uris.iter().any(|one| uri == Some(one)),
        }
    }
}

impl Listener {
    fn new(visit: &Visit, wants: Wants) -> Listener {
        let ear = Mutex::new(Ear { wants, held: Some(Vec::new()) });
        Listener { id: visit.id.clone(), outlet: visit.outlet.clone(), ear }
    }

    fn hear(&self, method: &'static str, uri: Option<&str>) {
        let mut ear = lock(&self.ear);
        if !ear.wants.includes(method, uri) {
            return;
        }
        let news = (method, uri.map(str::to_owned));
        match &mut ear.held {
            Some(held) if held.contains(&news) => {}
            Some(held) => held.push(news),
            None => self.tell(method, params_of(uri)),
        }
    }

    /// Tells the client what it will hear of, and what came meanwhile. Of nothing else it hears from now on.
    fn acknowledge(&self, uris: Vec<String>) {
        let mut ear = lock(&self.ear);
        ear.wants.uris = uris;
        let accepted = Map::from_iter([("notifications".to_owned(), ear.wants.write())]);
        self.tell("notifications/subscriptions/acknowledged", accepted);
        let held = ear.held.take().into_iter().flatten();
        for (method, uri) in held.filter(|(method, uri)| ear.wants.includes(method, uri.as_deref())) {
            self.tell(method, params_of(uri.as_deref()));
        }
    }

    fn tell(&self, method: &str, mut params: Map<String, Value>) {
        params.insert("_meta".to_owned(), json!({ SUBSCRIPTION: self.id }));
        self.outlet.offer(message::notification(method, params));
    }
}

fn params_of(uri: Option<&str>) -> Map<String, Value> {
    uri.map(|uri| ("uri".to_owned(), uri.into())).into_iter().collect()
}

impl Listeners {
    fn tell(&self, method: &'static str, uri: Option<&str>) {
        lock(&self.0).iter().for_each(|listener| listener.hear(method, uri));
    }

    pub(super) fn resource_changed(&self, uri: &str) {
        self.tell(UPDATED, Some(uri));
    }

    /// Whether one of them is about this resource.
    pub(super) fn want(&self, uri: &str) -> bool {
        lock(&self.0).iter().any(|listener| lock(&listener.ear).wants.includes(UPDATED, Some(uri)))
    }
}

/// A listener that is taken off the list when its request ends, however it does.
struct Enlisted<'a> {
    listeners: &'a Listeners,
    listener: Arc<Listener>,
}

impl Drop for Enlisted<'_> {
    fn drop(&mut self) {
        lock(&self.listeners.0).retain(|listener| !Arc::ptr_eq(listener, &self.listener));
    }
}

/// `subscriptions/listen`: stays open until the client closes it, or the door does.
pub(super) async fn listen(visit: &Visit, params: &Map<String, Value>) -> Result<Value, Refused> {
    let wants = Wants::read(params)?;
    let guest = &visit.guest;
    // What the client will hear of is what differs from now.
    guest.shown();
    let wanted = wants.uris.clone();
    let listener = Arc::new(Listener::new(visit, wants));
    // Before servers are asked: their first word may come with their answer.
    lock(&guest.listeners.0).push(listener.clone());
    let enlisted = Enlisted { listeners: &guest.listeners, listener };
    let (uris, _watched) = watched(visit, wanted).await;
    enlisted.listener.acknowledge(uris);
    guest.no_more.cancelled().await;
    Ok(json!({ "_meta": { SUBSCRIPTION: visit.id } }))
}

/// Those addresses of which somebody behind us will tell when they change.
async fn watched(visit: &Visit, uris: Vec<String>) -> (Vec<String>, Vec<Watched>) {
    let (mut accepted, mut watched) = (Vec::new(), Vec::new());
    for uri in uris {
        if let Ok(one) = resources::watch(visit, &uri).await {
            accepted.push(uri);
            watched.push(one);
        }
    }
    (accepted, watched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_read_and_written_alike() {
        let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": ["a://b"] });
        let params = Map::from_iter([("notifications".to_owned(), filter.clone())]);
        let wants = Wants::read(&params).unwrap();
        assert_eq!(wants.write(), filter);
        assert!(wants.includes(TOOLS, None) && !wants.includes(PROMPTS, None));
        assert!(wants.includes(UPDATED, Some("a://b")) && !wants.includes(UPDATED, Some("a://c")));
        assert!(Wants::read(&Map::new()).is_err());
    }

    #[test]
    fn only_lists_that_changed_are_told_of() {
        let changed = Changed { tools: true, prompts: false, resources: true };
        assert_eq!(methods(changed).collect::<Vec<_>>(), [TOOLS, RESOURCES]);
        assert_eq!(methods(Changed::default()).count(), 0);
    }
}
