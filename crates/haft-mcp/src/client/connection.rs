//! Requests and answers.

use std::{borrow::Cow, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use thiserror::Error;
use tokio::{task::JoinHandle, time::Instant};

use super::{
    Desk, Limits, Server, Transport,
    handshake::{self, Met},
    later::Later,
    older_tasks,
    pages::Pages,
    peer::{Peer, Terms},
    tasks, visits,
    wishes::Question,
};
use crate::wire::{Inbox, RequestId, Wire, repair};

/// Which of the two shapes of the protocol a peer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// Up to 2025-11-25: a handshake, sessions, requests in both directions.
    Legacy,
    /// From 2026-07-28 on: each request stands for itself, and an answer may be a question.
    Modern,
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// Its shape of the protocol.
    pub era: Era,
    /// The revision that was agreed on.
    pub version: String,
    /// `serverInfo`, as it was sent.
    pub info: Map<String, Value>,
    /// Its capabilities, as they were sent.
    pub capabilities: Map<String, Value>,
    /// What it tells models about itself.
    pub instructions: Option<String>,
}

/// Why there is no connection.
#[derive(Debug, Clone, Error)]
#[error("{message}")]
pub struct ConnectError {
    /// What is wrong, where, and what would be right. Has the end of what the process wrote to stderr.
    pub message: String,
    /// The server wants an OAuth token: the challenge that it sent.
    pub wants_authorization: Option<String>,
}

/// The answer of a server (or of a desk) that is an error, or no answer.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{message}")]
pub struct Refused {
    /// The code of JSON-RPC. What never came from the server has one of [`Refused::TIMED_OUT`] and its neighbours.
    pub code: i64,
    /// What is wrong.
    pub message: String,
    /// More of it.
    pub data: Option<Value>,
}

impl Refused {
    // Servers give -32000 and its neighbours a meaning of their own; what never came from one must not look as if it had.
    /// No answer in time.
    pub const TIMED_OUT: i64 = -32911;
    /// The connection ended; whether the request was carried out is not known.
    pub const GONE: i64 = -32910;
    /// The answer could not be understood.
    pub const UNREADABLE: i64 = -32603;

    /// The server wants a token, or a better one: `data.challenge` is what it sent as `WWW-Authenticate`.
    pub const UNAUTHORIZED: i64 = -32912;

    /// The server made a task of it, and that ended without a result or cannot be followed any more; whether it was carried
    /// out is not known.
    pub const UNFINISHED: i64 = -32913;

    /// A refusal.
    pub fn new(code: i64, message: impl Into<String>) -> Refused {
        Refused { code, message: message.into(), data: None }
    }

    /// The same, of a request that has certainly not reached the server.
    pub(crate) fn unsent(self) -> Refused {
        Refused { data: Some(serde_json::json!({ "sent": false })), ..self }
    }

    /// The same, of a request that has reached the server.
    fn sent(self) -> Refused {
        if self.is_unsent() { Refused { data: None, ..self } } else { self }
    }

    /// Whether the request has certainly not reached the server.
    pub fn is_unsent(&self) -> bool {
        let sent = self.data.as_ref().and_then(|data| data.get("sent"));
        self.code == Refused::GONE && sent == Some(&Value::Bool(false))
    }
}

/// How a request is made. The default is how the server's limits say.
#[derive(Clone, Default)]
pub struct RequestOptions {
    /// Answers what the server wants to know meanwhile, and hears its progress, instead of the connection's desk.
    pub desk: Option<Arc<dyn Desk>>,
    /// Instead of the server's limits.
    pub idle: Option<Duration>,
    /// Instead of the server's limits.
    pub total: Option<Duration>,
    /// Whether an answer that is a question (`input_required`) is given back as it is, instead of being answered by the desk.
    pub once: bool,
    /// Whether an answer that is a task is given back as it is, instead of being followed to its result: for a caller that
    /// follows tasks itself, and whose desk declares so.
    pub keeps_tasks: bool,
    /// Whether the tool says that it can only be called as a task (`execution.taskSupport`). In the older era the call then
    /// asks for one, which is followed to its result whoever made it: nobody can follow such a task through somebody else.
    pub wants_task: bool,
    /// Whether the refusal that somebody has to visit an address first is given back as it is, instead of being put to the
    /// desk: for a caller that shows addresses itself.
    pub keeps_visits: bool,
}

/// A connection to a server. Clones are the same connection; it ends with the last, or by [`close`](Connection::close).
#[derive(Clone)]
pub struct Connection(Arc<Inner>);

struct Inner {
    peer: Arc<Peer>,
    wire: Arc<dyn Wire>,
    about: About,
    limits: Limits,
    /// Whether arguments are said in headers too: over HTTP, in the modern era.
    says_in_headers: bool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever still waits, for news for example, holds no connection and must not wait for ever.
        self.peer.ended("the connection was closed".to_owned());
    }
}

/// What a modern server says if the headers of a request do not fit the request.
const HEADER_MISMATCH: i64 = -32020;

/// How often an answer may be a question before it is taken for a loop.
const MOST_QUESTIONS: usize = 16;

impl Connection {
    /// Connects: starts the process or opens the transport, finds out the era (or takes `era`, if it is known from before),
    /// and shakes hands. Never longer than the server's limit.
    pub async fn open(
        server: &Server,
        era: Option<Era>,
        desk: Arc<dyn Desk>,
    ) -> Result<Connection, ConnectError> {
        let Met { peer, wire, about } = handshake::meet(server, era, &desk).await?;
        let is_http = matches!(server.transport, Transport::Http { .. });
        let says_in_headers = is_http && about.era == Era::Modern;
        Ok(Connection(Arc::new(Inner { peer, wire, about, limits: server.limits, says_in_headers })))
    }

    /// What the server says of itself.
    pub fn about(&self) -> &About {
        &self.0.about
    }

    /// Makes a request and gives the `result`, repaired where the server's JSON is not what the protocol says. A dropped
    /// future cancels the request.
    pub async fn request(
        &self,
        method: &str,
        params: Map<String, Value>,
        options: &RequestOptions,
    ) -> Result<Value, Refused> {
        let mut visits = 0;
        loop {
            match self.answered(method, &params, options).await {
                Err(refused)
                    if refused.code == visits::VISIT_FIRST
                        && !options.keeps_visits
                        && visits < visits::MOST_VISITS =>
                {
                    visits::made(self.later(), &refused, &**self.desk(options)).await?;
                    visits += 1;
                }
                answered => return answered,
            }
        }
    }

    /// Makes a request once, and answers what it is answered with until that is a result.
    async fn answered(
        &self,
        method: &str,
        params: &Map<String, Value>,
        options: &RequestOptions,
    ) -> Result<Value, Refused> {
        let terms = self.terms(method, options);
        let began = Instant::now();
        if self.calls_as_task(method, options) {
            let caller = tasks::Caller { desk: self.desk(options).clone(), terms, began, params };
            return older_tasks::called(self, caller).await;
        }
        let mut asked = Cow::Borrowed(params);
        for round in 0..MOST_QUESTIONS {
            // A server that has asked back has had the request, whatever became of the last piece of it.
            let heard = |refused: Refused| if round == 0 { refused } else { refused.sent() };
            let answer = self.ask(method, &asked, &terms).await.map_err(heard)?;
            let answer = repair::result(method, answer)?;
            let question = if options.once { None } else { Question::of(&answer) };
            let desk = self.desk(options);
            let Some(question) = question else {
                if !self.follows_tasks(method, options) || !tasks::is_task(&answer) {
                    return Ok(answer);
                }
                let caller = tasks::Caller { desk: desk.clone(), terms, began, params: &asked };
                return tasks::followed(self, &answer, caller).await;
            };
            asked = Cow::Owned(question.answered(&**desk, asked.into_owned()).await?);
        }
        let why = format!("{method} was answered with {MOST_QUESTIONS} questions and no result");
        Err(Refused::new(Refused::UNREADABLE, why))
    }

    /// All entries of a list: `list("tools/list", "tools")`. Bounded by the server's limits; what is no object or has no
    /// usable name is left out and reported, the rest is kept.
    pub async fn list(&self, method: &str, key: &str) -> Result<Listing, Refused> {
        let mut pages = Pages::new(key, &self.0.limits).saying_in_headers(self.0.says_in_headers);
        while let Some(params) = pages.next() {
            let page = self.request(method, params, &RequestOptions::default()).await?;
            pages.take(page);
        }
        Ok(pages.listing())
    }

    /// Asks a modern server to tell what changes, until the [`Listening`] is dropped: `filter` is what `subscriptions/listen`
    /// has as `notifications`. The news are heard by `desk`, or by the connection's.
    pub fn listen(&self, filter: Map<String, Value>, desk: Option<Arc<dyn Desk>>) -> Listening {
        let peer = self.0.peer.clone();
        let params = Map::from_iter([("notifications".to_owned(), Value::Object(filter))]);
        Listening(tokio::spawn(async move {
            let ended = peer.ask("subscriptions/listen", params, &Terms::endless(desk)).await;
            ended.err().unwrap_or_else(|| Refused::new(Refused::GONE, "the server ended the subscription"))
        }))
    }

    /// Tells the server something.
    pub async fn notify(&self, method: &str, params: Map<String, Value>) -> Result<(), Refused> {
        self.0.peer.tell(method, params).await
    }

    /// Whether it has ended.
    pub fn is_closed(&self) -> bool {
        self.0.peer.is_closed()
    }

    /// Waits for its end and says why it came: with the end of what the process wrote to stderr.
    pub async fn closed(&self) -> String {
        self.0.peer.closed().await
    }

    /// Ends it in order, and its process in any case.
    pub async fn close(&self) {
        self.0.peer.ended("the connection was closed".to_owned());
        self.0.wire.close().await;
    }

    /// Asks once. A server that misses an argument among the headers is asked for its tools first, which say which those are:
    /// whoever calls may know them from long ago.
    pub(super) async fn ask(
        &self,
        method: &str,
        params: &Map<String, Value>,
        terms: &Terms,
    ) -> Result<Value, Refused> {
        match self.0.peer.ask(method, params.clone(), terms).await {
            Err(refused)
                if refused.code == HEADER_MISMATCH && method == "tools/call" && self.0.says_in_headers =>
            {
                Box::pin(self.list("tools/list", "tools")).await?;
                self.0.peer.ask(method, params.clone(), terms).await
            }
            answered => answered,
        }
    }

    /// Asks once, and gives the number by which progress that comes after the answer is known.
    pub(super) async fn ask_numbered(
        &self,
        method: &str,
        params: Map<String, Value>,
        terms: &Terms,
    ) -> Result<(RequestId, Value), Refused> {
        self.0.peer.ask_numbered(method, params, terms).await
    }

    /// Who waits for what comes when an answer is long there.
    pub(super) fn later(&self) -> &Arc<Later> {
        &self.0.peer.later
    }

    /// Who answers what the server wants to know for a request.
    fn desk<'a>(&'a self, options: &'a RequestOptions) -> &'a Arc<dyn Desk> {
        options.desk.as_ref().unwrap_or(&self.0.peer.desk)
    }

    /// Whether a call has to ask for a task, as the older era has it.
    fn calls_as_task(&self, method: &str, options: &RequestOptions) -> bool {
        let About { era, capabilities, .. } = &self.0.about;
        let is_wanted = options.wants_task && method == "tools/call";
        is_wanted && *era == Era::Legacy && older_tasks::takes_calls(capabilities)
    }

    /// Whether an answer that is a task is followed. Tasks of the older era are made only for who asks for one.
    fn follows_tasks(&self, method: &str, options: &RequestOptions) -> bool {
        self.0.about.era == Era::Modern && method == "tools/call" && !options.keeps_tasks
    }

    fn terms(&self, method: &str, options: &RequestOptions) -> Terms {
        let limits = &self.0.limits;
        let total = options.total.unwrap_or(limits.total);
        let idle = options.idle.unwrap_or(limits.idle);
        let declares_tasks =
            self.follows_tasks(method, options) && tasks::knows_tasks(&self.0.about.capabilities);
        Terms { idle, total, desk: options.desk.clone(), declares_tasks }
    }
}

/// A subscription to news. Dropping it ends it.
#[derive(Debug)]
pub struct Listening(JoinHandle<Refused>);

impl Listening {
    /// Waits for its end, and says why it came.
    pub async fn ended(&mut self) -> Refused {
        let ended = (&mut self.0).await;
        ended.unwrap_or_else(|_| Refused::new(Refused::GONE, "nobody listens any more"))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The entries of a list, each as the server wrote it but for what no client could read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// The entries.
    pub entries: Vec<Map<String, Value>>,
    /// What was repaired or left out, in words.
    pub remarks: Vec<String>,
    /// Whether the server says that it is for this caller alone (`cacheScope`).
    pub is_private: bool,
}
