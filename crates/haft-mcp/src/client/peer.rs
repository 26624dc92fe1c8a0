//! The other side of a wire: which requests wait for an answer, and who hears what comes without one.
//!
//! Each request has a number. It is the id of the message and the token of its progress, so that whatever comes finds the
//! request that it belongs to, and the desk that the request brought along. Nothing is kept for requests that are over: an
//! answer that comes too late finds nobody.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::{
    sync::{Notify, oneshot, watch},
    task::AbortHandle,
    time::{Instant, sleep_until, timeout},
};

use super::{
    Desk, Era, News, Refused,
    later::{Later, VISITED},
};
use crate::{
    shape::object,
    wire::{Envelope, Inbox, RequestId, Wire, notification, open, response},
};

/// The other side.
pub(super) struct Peer {
    /// Itself, for the tasks that answer its wishes.
    me: Weak<Peer>,
    wire: OnceLock<Weak<dyn Wire>>,
    pub(super) desk: Arc<dyn Desk>,
    era: OnceLock<Era>,
    next: AtomicU64,
    pending: Mutex<HashMap<RequestId, Pending>>,
    /// The wishes that are being answered, by the server's id.
    wishes: Mutex<HashMap<String, AbortHandle>>,
    /// How many wishes wait for somebody who thinks: nothing times out meanwhile.
    thinking: AtomicUsize,
    /// Who waits for what comes when an answer is long there.
    pub(super) later: Arc<Later>,
    ended: watch::Sender<Option<String>>,
    alive: watch::Sender<bool>,
}

/// A request that waits for its answer.
struct Pending {
    desk: Option<Arc<dyn Desk>>,
    /// The token that the caller had given its progress.
    token: Option<Value>,
    reply: oneshot::Sender<Result<Value, Refused>>,
    life: Arc<Notify>,
}

/// How long an answer may take, and who speaks for the caller.
#[derive(Clone)]
pub(super) struct Terms {
    pub(super) idle: Duration,
    pub(super) total: Duration,
    pub(super) desk: Option<Arc<dyn Desk>>,
    /// Whether the server is told that we know tasks, besides what the desk declares.
    pub(super) declares_tasks: bool,
}

/// The longest that anything is waited for, where nothing else is said: some clocks break far in the future.
pub(super) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

impl Terms {
    /// No longer than this, whatever happens.
    pub(super) fn within(time: Duration) -> Terms {
        Terms { idle: time, total: time, desk: None, declares_tasks: false }
    }

    /// Until somebody gives up.
    pub(super) fn endless(desk: Option<Arc<dyn Desk>>) -> Terms {
        Terms { idle: FOREVER, total: FOREVER, desk, declares_tasks: false }
    }
}

/// How long a server may take to hear something.
const HEARING: Duration = Duration::from_secs(60);

/// The most wishes that are answered at the same time. A server that has more is told to wait.
const MOST_WISHES: usize = 32;

impl Peer {
    pub(super) fn new(desk: Arc<dyn Desk>) -> Arc<Peer> {
        Arc::new_cyclic(|me| Peer {
            me: me.clone(),
            wire: OnceLock::new(),
            desk,
            era: OnceLock::new(),
            next: AtomicU64::new(0),
            pending: Mutex::default(),
            wishes: Mutex::default(),
            thinking: AtomicUsize::new(0),
            later: Arc::default(),
            ended: watch::Sender::new(None),
            alive: watch::Sender::new(false),
        })
    }

    /// Messages to it go this way.
    pub(super) fn reached_by(&self, wire: &Arc<dyn Wire>) {
        let _ = self.wire.set(Arc::downgrade(wire));
    }

    /// From now on each request says all that a server of this era wants to know.
    pub(super) fn is_of(&self, era: Era) {
        let _ = self.era.set(era);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Waits for the end, and says why it came.
    pub(super) async fn closed(&self) -> String {
        let mut ended = self.ended.subscribe();
        let why = ended.wait_for(Option::is_some).await.map(|why| why.clone());
        why.ok().flatten().unwrap_or_default()
    }

    /// Waits for a sign of life.
    pub(super) async fn shows_life(&self) {
        // The sender is ours: it cannot be gone.
        let _ = self.alive.subscribe().wait_for(|alive| *alive).await;
    }

    /// Tells it something.
    pub(super) async fn tell(&self, method: &str, params: Map<String, Value>) -> Result<(), Refused> {
        self.say(notification(method, params)).await
    }

    /// Sends what wants no answer. A server that does not take it is not waited for.
    async fn say(&self, message: Value) -> Result<(), Refused> {
        match timeout(HEARING, self.send(message)).await {
            Ok(sent) => sent,
            Err(_) => Err(Refused::new(Refused::TIMED_OUT, "the server does not take any messages")),
        }
    }

    /// Asks it something, and waits for the answer. Dropped, the question is withdrawn.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: Map<String, Value>,
        terms: &Terms,
    ) -> Result<Value, Refused> {
        self.ask_numbered(method, params, terms).await.map(|(_, answer)| answer)
    }

    /// The same, with the number of the question: the token of progress that comes after the answer.
    pub(super) async fn ask_numbered(
        &self,
        method: &str,
        params: Map<String, Value>,
        terms: &Terms,
    ) -> Result<(RequestId, Value), Refused> {
        let mut waiting = self.begin(method, params, terms)?;
        let number = waiting.id;
        let message = std::mem::take(&mut waiting.message);
        let life = waiting.life.clone();
        let mut answer = std::pin::pin!(async {
            self.send(message).await?;
            waiting.answer().await
        });
        let began = Instant::now();
        let total = began + terms.total.min(FOREVER);
        let mut idle = began + terms.idle.min(FOREVER);
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map(|answer| (number, answer)),
                () = life.notified() => idle = Instant::now() + terms.idle.min(FOREVER),
                () = sleep_until(idle.min(total)) => {
                    let somebody_thinks = self.thinking.load(Ordering::Relaxed) > 0;
                    if Instant::now() >= total || !somebody_thinks {
                        return Err(timed_out(method, began.elapsed()));
                    }
                    idle = Instant::now() + terms.idle.min(FOREVER);
                }
            }
        }
    }

    async fn send(&self, message: Value) -> Result<(), Refused> {
        match self.wire() {
            Some(wire) => wire.send(message).await.map_err(|refused| self.with_reason(refused)),
            None => Err(self.gone()),
        }
    }

    /// Whoever cannot send learns why the other side is gone, if that is known.
    fn with_reason(&self, refused: Refused) -> Refused {
        match self.is_closed() && refused.code == Refused::GONE {
            true => Refused { data: refused.data, ..self.gone() },
            false => refused,
        }
    }

    fn gone(&self) -> Refused {
        let why = self.ended.borrow().clone().unwrap_or_else(|| "the connection was closed".to_owned());
        Refused::new(Refused::GONE, why)
    }

    fn wire(&self) -> Option<Arc<dyn Wire>> {
        self.wire.get().and_then(Weak::upgrade)
    }

    fn begin(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        terms: &Terms,
    ) -> Result<Waiting<'_>, Refused> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let desk = terms.desk.clone();
        let token = self.mark(id, method, &mut params, terms);
        let (reply, answer) = oneshot::channel();
        let life = Arc::new(Notify::new());
        self.lock().insert(id, Pending { desk, token, reply, life: life.clone() });
        let message = object([
            ("jsonrpc", "2.0".into()),
            ("id", id.into()),
            ("method", method.into()),
            ("params", params.into()),
        ]);
        let waiting =
            Waiting { peer: self, id, method: method.to_owned(), message, answer, life, is_over: false };
        // Looked at after it was entered: whoever ends the connection in between has found it there.
        if self.is_closed() { Err(self.gone().unsent()) } else { Ok(waiting) }
    }

    /// Puts on a request what goes with each, and gives the token that was there before.
    fn mark(
        &self,
        id: RequestId,
        method: &str,
        params: &mut Map<String, Value>,
        terms: &Terms,
    ) -> Option<Value> {
        let is_modern = self.era.get() == Some(&Era::Modern) || method == "server/discover";
        let reports = !matches!(method, "initialize" | "server/discover" | "subscriptions/listen" | "ping");
        if !is_modern && !reports {
            return None;
        }
        if !params.get("_meta").is_some_and(Value::is_object) {
            params.insert("_meta".to_owned(), json!({}));
        }
        let meta = params.get_mut("_meta").and_then(Value::as_object_mut)?;
        if is_modern {
            meta.extend(super::handshake::modern_meta(self.capabilities(terms)));
        }
        match reports {
            true => meta.insert("progressToken".to_owned(), id.into()),
            false => None,
        }
    }

    /// What a request says that its caller can do.
    fn capabilities(&self, terms: &Terms) -> Map<String, Value> {
        let mut capabilities = terms.desk.as_ref().unwrap_or(&self.desk).capabilities();
        if terms.declares_tasks {
            super::tasks::declare(&mut capabilities);
        }
        capabilities
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_wishes(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, id: Option<RequestId>, outcome: Result<Value, Refused>) {
        let mut pending = self.lock();
        // A server that cannot say which request it means can only mean the only one.
        let only = || if pending.len() == 1 { pending.keys().next().copied() } else { None };
        let Some(waiting) = id.or_else(only).and_then(|id| pending.remove(&id)) else { return };
        drop(pending);
        let _ = waiting.reply.send(outcome);
    }

    /// Who hears what belongs to a task, or came within a request.
    fn desk_for(&self, params: &Map<String, Value>, within: Option<RequestId>) -> Arc<dyn Desk> {
        self.later.desk_of(params).unwrap_or_else(|| self.desk_of(within))
    }

    /// Who hears what came within this request, or, if the transport does not tell, within the only one there is.
    fn desk_of(&self, within: Option<RequestId>) -> Arc<dyn Desk> {
        let pending = self.lock();
        let found = match within {
            Some(id) => pending.get(&id),
            None => {
                let mut with_desk = pending.values().filter(|pending| pending.desk.is_some());
                with_desk.next().filter(|_| with_desk.next().is_none())
            }
        };
        found.and_then(|pending| pending.desk.clone()).unwrap_or_else(|| self.desk.clone())
    }

    fn hear(&self, method: String, params: Map<String, Value>, within: Option<RequestId>) {
        match method.as_str() {
            "notifications/progress" => self.hear_progress(params),
            "notifications/cancelled" => self.withdraw(params.get("requestId")),
            "notifications/message" => self.desk_for(&params, within).hear(News { method, params }),
            _ => {
                if method == VISITED {
                    self.later.visited(&params);
                }
                let within = subscription(&params).or(within).filter(|id| self.lock().contains_key(id));
                let desk = within.map_or_else(|| self.desk.clone(), |id| self.desk_of(Some(id)));
                desk.hear(News { method, params });
            }
        }
    }

    /// Progress begins the time of its request anew, and bears the token that the caller knows.
    fn hear_progress(&self, mut params: Map<String, Value>) {
        let Some(id) = params.get("progressToken").and_then(number) else { return };
        let Some((desk, token)) = self.caller(id).or_else(|| self.later.caller(id)) else { return };
        if let Some(token) = token {
            params.insert("progressToken".to_owned(), token);
        }
        desk.hear(News { method: "notifications/progress".to_owned(), params });
    }

    /// Who waits for the answer to this request, which shows life, and the token by which they know its progress.
    fn caller(&self, id: RequestId) -> Option<(Arc<dyn Desk>, Option<Value>)> {
        let pending = self.lock();
        let waiting = pending.get(&id)?;
        waiting.life.notify_one();
        Some((waiting.desk.clone().unwrap_or_else(|| self.desk.clone()), waiting.token.clone()))
    }

    /// The server does not want to know it any more.
    fn withdraw(&self, id: Option<&Value>) {
        let Some(id) = id else { return };
        if let Some(answering) = self.lock_wishes().remove(&id.to_string()) {
            answering.abort();
        }
    }

    fn wish(&self, id: Value, method: String, params: Map<String, Value>, within: Option<RequestId>) {
        let Some(me) = self.me.upgrade() else { return };
        let mut wishes = self.lock_wishes();
        // A server that neither waits nor reads gets no answer at all: nothing is kept for it.
        if wishes.len() >= 2 * MOST_WISHES {
            return;
        }
        let is_too_much = wishes.len() >= MOST_WISHES;
        let (key, desk) = (id.to_string(), self.desk_for(&params, within));
        let own = key.clone();
        let task = tokio::spawn(async move {
            let outcome = match is_too_much {
                true => Err(too_much()),
                false => me.answer(&*desk, &method, params).await,
            };
            // Who asked may be gone by now.
            let _ = me.say(response(id, outcome)).await;
            me.lock_wishes().remove(&own);
        });
        // A server that uses a number twice at the same time gets the answer to the later one.
        if let Some(before) = wishes.insert(key, task.abort_handle()) {
            before.abort();
        }
    }

    async fn answer(
        &self,
        desk: &dyn Desk,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<Value, Refused> {
        let _thinking = Thinking::about(&self.thinking);
        super::wishes::answer(desk, method, params).await
    }
}

impl Inbox for Peer {
    fn arrived(&self, message: Value, within: Option<RequestId>) {
        for envelope in open(message) {
            match envelope {
                Envelope::Answer { id, outcome } => self.settle(id.or(within), outcome),
                Envelope::Request { id, method, params } => self.wish(id, method, params, within),
                Envelope::Notice { method, params } => self.hear(method, params, within),
                Envelope::Noise => {}
            }
        }
    }

    fn lost(&self, id: Option<RequestId>, why: Refused) {
        self.settle(id, Err(why));
    }

    fn ended(&self, why: String) {
        self.ended.send_if_modified(|ended| ended.is_none() && ended.replace(why).is_none());
        let pending = std::mem::take(&mut *self.lock());
        pending.into_values().for_each(|pending| drop(pending.reply.send(Err(self.gone()))));
        self.lock_wishes().drain().for_each(|(_, answering)| answering.abort());
    }

    fn alive(&self) {
        self.alive.send_if_modified(|alive| !std::mem::replace(alive, true));
    }
}

/// A request that somebody waits for. Dropped before its answer came, it is withdrawn.
struct Waiting<'a> {
    peer: &'a Peer,
    id: RequestId,
    method: String,
    message: Value,
    answer: oneshot::Receiver<Result<Value, Refused>>,
    life: Arc<Notify>,
    is_over: bool,
}

impl Waiting<'_> {
    async fn answer(&mut self) -> Result<Value, Refused> {
        let answer = (&mut self.answer).await;
        self.is_over = true;
        answer.unwrap_or_else(|_| Err(self.peer.gone()))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let was_pending = self.peer.lock().remove(&self.id).is_some();
        // A handshake cannot be cancelled, says the protocol.
        let may_be = !matches!(self.method.as_str(), "initialize" | "server/discover");
        if was_pending
            && !self.is_over
            && let Some(wire) = self.peer.wire()
        {
            let params = json!({ "requestId": self.id, "reason": "nobody waits for it any more" });
            let notice = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
            wire.abandon(self.id, if may_be { notice } else { Value::Null });
        }
    }
}

/// Somebody thinks about a wish for as long as this is there.
pub(super) struct Thinking<'a>(&'a AtomicUsize);

impl Thinking<'_> {
    fn about(count: &AtomicUsize) -> Thinking<'_> {
        count.fetch_add(1, Ordering::Relaxed);
        Thinking(count)
    }
}

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn too_much() -> Refused {
    let message = format!("{MOST_WISHES} requests are being answered already; ask again later");
    Refused::new(-32000, message)
}

fn subscription(params: &Map<String, Value>) -> Option<RequestId> {
    number(params.get("_meta")?.get("io.modelcontextprotocol/subscriptionId")?)
}

fn number(id: &Value) -> Option<RequestId> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}

fn timed_out(method: &str, after: Duration) -> Refused {
    let message = format!("no answer to {method} within {} s", after.as_secs_f32().ceil());
    Refused::new(Refused::TIMED_OUT, message)
}
