//! How a call that comes in at our door goes out to a server: whom it is for, who answers what the server asks meanwhile, and
//! what of the server's answer has no place in a [`ToolResult`](haft_engine::result::ToolResult).
//!
//! It travels beside the call and not through the engine: the engine knows no MCP. A call is driven by the task that asked for
//! it, so a task-local value is the call's own.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_tool::CallId;
use serde_json::{Map, Value};

use crate::{
    client::{Desk, Era, Refused, knows_tasks, shows_addresses},
    upstream::Principal,
};

/// Where `_meta` says to which trace a request belongs.
pub(crate) const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// The trace that a request belongs to, in the words of W3C Trace Context. A stranger's: it may be none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trace<'a> {
    /// `traceparent`.
    pub parent: &'a str,
    /// `tracestate`.
    pub state: Option<&'a str>,
}

/// What `_meta` says of it.
pub(crate) fn trace(meta: &Map<String, Value>) -> Option<Trace<'_>> {
    let text = |key: &str| meta.get(key).and_then(Value::as_str);
    Some(Trace { parent: text(TRACEPARENT)?, state: text(TRACESTATE) })
}

/// What a call brings along.
#[derive(Clone)]
pub struct Passage(Arc<Inner>);

struct Inner {
    principal: Principal,
    era: Option<Era>,
    desk: Arc<dyn Desk>,
    meta: Map<String, Value>,
    answer: Mutex<Option<Value>>,
    refusal: Mutex<Option<Refused>>,
    /// The call that came in. A call that it makes in its turn has no answer that could stand for it.
    call: OnceLock<CallId>,
}

tokio::task_local! {
    static PASSAGE: Passage;
}

impl Passage {
    /// For a call of this principal; `desk` speaks to whoever made it.
    pub fn new(principal: Principal, era: Option<Era>, desk: Arc<dyn Desk>) -> Passage {
        let (answer, refusal) = (Mutex::default(), Mutex::default());
        Passage(Arc::new(Inner {
            principal,
            era,
            desk,
            meta: Map::new(),
            answer,
            refusal,
            call: OnceLock::new(),
        }))
    }

    /// The same with what of the caller's `_meta` is for the server: traces, the level of its log. Never a credential: what
    /// the caller shows us is for us.
    #[must_use]
    pub fn with_meta(self, meta: Map<String, Value>) -> Passage {
        let Inner { principal, era, desk, .. } = &*self.0;
        let (answer, refusal) = (Mutex::default(), Mutex::default());
        let (principal, era, desk) = (principal.clone(), *era, desk.clone());
        Passage(Arc::new(Inner { principal, era, desk, meta, answer, refusal, call: OnceLock::new() }))
    }

    /// Says which call it is for: answers to others, which that call makes, are not its own.
    pub fn is_of(&self, call: &CallId) {
        // Said once, where the call begins.
        let _ = self.0.call.set(call.clone());
    }

    /// Whether it is for this call, and not for one that made it.
    pub fn is_for(&self, call: &CallId) -> bool {
        self.0.call.get().is_none_or(|own| own == call)
    }

    /// Runs a call with it.
    pub async fn around<F: Future>(self, call: F) -> F::Output {
        PASSAGE.scope(self, call).await
    }

    /// That of the call that runs here, if it came in at our door.
    pub fn current() -> Option<Passage> {
        PASSAGE.try_with(Clone::clone).ok()
    }

    /// Whose call it is.
    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// The shape of the protocol that the caller speaks.
    pub fn era(&self) -> Option<Era> {
        self.0.era
    }

    /// Who speaks to the caller.
    pub fn desk(&self) -> &Arc<dyn Desk> {
        &self.0.desk
    }

    /// Whether the caller follows tasks itself: a server's task then goes through as it is.
    pub fn keeps_tasks(&self) -> bool {
        self.era() == Some(Era::Modern) && knows_tasks(&self.desk().capabilities())
    }

    /// Whether the caller shows addresses itself, and knows the refusal that wants one visited first: it goes through as it is.
    pub fn keeps_visits(&self) -> bool {
        self.era() == Some(Era::Legacy) && shows_addresses(&self.desk().capabilities())
    }

    /// What of the caller's `_meta` is for the server: to be put into the `_meta` of the request.
    pub fn meta(&self) -> &Map<String, Value> {
        &self.0.meta
    }

    /// The trace that the call belongs to.
    pub fn trace(&self) -> Option<Trace<'_>> {
        trace(&self.0.meta)
    }

    /// Keeps the server's answer as it was, for what the engine's result has no place for.
    pub fn keep_answer(&self, answer: Value) {
        *self.0.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }

    /// The server's answer.
    pub fn take_answer(&self) -> Option<Value> {
        self.0.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the server's refusal as it was: a caller that speaks the protocol gets it as one, with its code and its data.
    pub fn keep_refusal(&self, refused: Refused) {
        *self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
    }

    /// The server's refusal.
    pub fn take_refusal(&self) -> Option<Refused> {
        self.0.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
