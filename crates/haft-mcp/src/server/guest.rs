//! A guest: one client, over all its requests.
//!
//! A client of the old era has a handshake and with it a guest; one of the new era is known by who it is. Either way a guest
//! has a session of the engine, and its own connections to the servers behind the door.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use haft_engine::Session;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    catalogue::Lists,
    door::{Shared, lock},
    life::Life,
    listen::Listeners,
    message::{self, NO_MESSAGE},
    resources::Watched,
    spilled::Spilled,
};
use crate::{
    client::{News, Refused},
    upstream::Principal,
};

/// So many requests of one client run at once. More than that is no client at work.
const MOST_RUNNING: usize = 512;
/// So many messages wait for a client that does not read. News beyond that are dropped, answers wait.
const MOST_WAITING: usize = 1024;

/// One client.
pub(super) struct Guest {
    pub(super) door: Arc<Shared>,
    pub(super) principal: Principal,
    pub(super) session: Session,
    /// Whether it comes by HTTP.
    pub(super) is_http: bool,
    /// What the client said in its handshake.
    pub(super) client: Mutex<Client>,
    /// Where what belongs to no request goes.
    outlet: Mutex<Option<Outlet>>,
    /// Our requests to it that are open.
    asked: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Refused>>>>,
    next: AtomicU64,
    /// Its requests that run.
    running: Mutex<HashMap<String, CancellationToken>>,
    /// The resources that it wants to hear of, in the way of the old era.
    pub(super) subscribed: Mutex<HashMap<String, Option<Watched>>>,
    pub(super) listeners: Listeners,
    pub(super) lists: Lists,
    pub(super) spilled: Spilled,
    pub(super) life: Life,
    /// Cancelled when the client has said its last, or the door closes: what waits for more to happen ends.
    pub(super) no_more: CancellationToken,
}

/// What a client said in its handshake.
#[derive(Debug, Clone, Default)]
pub(super) struct Client {
    /// Whether there was one.
    pub(super) has_begun: bool,
    pub(super) capabilities: Arc<Map<String, Value>>,
    /// From which level on it wants to read what servers log.
    pub(super) level: Option<String>,
}

/// Where messages to a client go.
#[derive(Debug, Clone)]
pub(super) struct Outlet(mpsc::Sender<Value>);

impl Outlet {
    /// An outlet and what comes out of it.
    pub(super) fn new() -> (Outlet, mpsc::Receiver<Value>) {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        (Outlet(sender), receiver)
    }

    /// Sends, waiting for a client that is slow. A client that is gone misses nothing.
    pub(super) async fn send(&self, message: Value) {
        let _ = self.0.send(message).await;
    }

    /// Sends what may be dropped if the client does not read. Says whether it was taken.
    pub(super) fn offer(&self, message: Value) -> bool {
        self.0.try_send(message).is_ok()
    }
}

impl Guest {
    pub(super) fn new(door: &Arc<Shared>, principal: Principal, session: Session, is_http: bool) -> Guest {
        Guest {
            door: door.clone(),
            principal,
            session,
            is_http,
            client: Mutex::default(),
            outlet: Mutex::default(),
            asked: Mutex::default(),
            next: AtomicU64::new(1),
            running: Mutex::default(),
            subscribed: Mutex::default(),
            listeners: Listeners::default(),
            lists: Lists::default(),
            spilled: Spilled::default(),
            life: Life::default(),
            no_more: door.closing.child_token(),
        }
    }

    /// From now on, what belongs to no request goes there.
    pub(super) fn speak_through(&self, outlet: Outlet) {
        *lock(&self.outlet) = Some(outlet);
    }

    pub(super) fn outlet(&self) -> Option<Outlet> {
        lock(&self.outlet).clone()
    }

    /// Tells the client something that belongs to no request.
    pub(super) fn tell(&self, news: &News) -> bool {
        let message = message::notification(&news.method, news.params.clone());
        self.outlet().is_some_and(|outlet| outlet.offer(message))
    }

    /// Whether the client greeted us in the way of the old era.
    pub(super) fn has_begun(&self) -> bool {
        lock(&self.client).has_begun
    }
}

/// What we ask of it.
impl Guest {
    /// Sends a request and waits for the answer. A dropped future withdraws it.
    pub(super) async fn ask(
        &self,
        outlet: &Outlet,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Value, Refused> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        lock(&self.asked).insert(id, answer);
        let mut asking = Asking { guest: self, outlet, id, is_open: true };
        outlet.send(message::request(id, method, params)).await;
        let answered = answered.await;
        asking.is_open = false;
        answered.unwrap_or_else(|_| Err(Refused::new(Refused::GONE, "the client left without an answer")))
    }

    /// Takes an answer to one of them. Others are nobody's.
    pub(super) fn answered(&self, id: &Value, answer: Result<Value, Refused>) {
        let asked = id.as_u64().and_then(|id| lock(&self.asked).remove(&id));
        if let Some(asked) = asked {
            let _ = asked.send(answer);
        }
    }

    /// Nobody will answer any more.
    pub(super) fn leave(&self) {
        lock(&self.asked).clear();
        let watched = std::mem::take(&mut *lock(&self.subscribed));
        drop(watched);
        *lock(&self.outlet) = None;
        lock(&self.running).drain().for_each(|(_, cancel)| cancel.cancel());
    }
}

/// A request to the client that is open. If it is dropped, the client need not answer any more.
struct Asking<'a> {
    guest: &'a Guest,
    outlet: &'a Outlet,
    id: u64,
    is_open: bool,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        lock(&self.guest.asked).remove(&self.id);
        if self.is_open {
            let params = Map::from_iter([("requestId".to_owned(), json!(self.id))]);
            self.outlet.offer(message::notification("notifications/cancelled", params));
        }
    }
}

/// What it asks of us.
impl Guest {
    /// A request begins. It ends with the value.
    pub(super) fn begin(self: &Arc<Self>, id: &Value) -> Result<Running, Refused> {
        let (key, cancel) = (id.to_string(), CancellationToken::new());
        let mut running = lock(&self.running);
        if running.len() >= MOST_RUNNING {
            let message = format!("{MOST_RUNNING} requests run already: wait for one of them");
            return Err(Refused::new(NO_MESSAGE, message));
        }
        if running.contains_key(&key) {
            return Err(Refused::new(NO_MESSAGE, format!("a request with the id {key} runs already")));
        }
        running.insert(key.clone(), cancel.clone());
        Ok(Running { guest: self.clone(), key, cancel })
    }

    /// The client does not want an answer any more.
    pub(super) fn cancel(&self, id: &Value) {
        if let Some(cancel) = lock(&self.running).get(&id.to_string()) {
            cancel.cancel();
        }
    }
}

/// A request that runs.
pub(super) struct Running {
    guest: Arc<Guest>,
    key: String,
    pub(super) cancel: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.guest.running).remove(&self.key);
    }
}
