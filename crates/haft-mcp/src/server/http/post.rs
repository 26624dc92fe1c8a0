//! A message comes in.

use std::{pin::Pin, sync::Arc};

use axum::{
    body::{Bytes, to_bytes},
    extract::Request as HttpRequest,
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};
use futures::stream;
use serde_json::Value;
use tokio::{sync::mpsc, time};

use super::{
    House, Visitor, headers, reply,
    session::{self, HttpSession, SESSION},
    track::{Next, Track},
};
use crate::{
    client::Era,
    server::{
        dispatch,
        era::{self, MODERN, Said, VERSIONS},
        guest::{Guest, Outlet},
        message::{self, Incoming, Request},
    },
};

const VERSION: &str = "mcp-protocol-version";
/// The largest message.
const LARGEST: usize = 16 << 20;

/// `POST`.
pub(super) async fn post(house: &Arc<House>, visitor: &Visitor, request: HttpRequest) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(refused) = unfit(&parts.headers) {
        return refused;
    }
    let Ok(body) = to_bytes(body, LARGEST).await else {
        return reply::plain(413, "Payload Too Large: a message has at most 16 MiB");
    };
    let mut messages = message::read(&String::from_utf8_lossy(&body));
    match (messages.pop(), messages.is_empty()) {
        (Some(Ok(incoming)), true) => take(house, visitor, &parts.headers, incoming).await,
        (Some(Err(unreadable)), true) => reply::refused(400, unreadable.id, unreadable.refused),
        _ => reply::plain(400, "Bad Request: one message a request"),
    }
}

/// What cannot be a message of a client that understands the answer.
fn unfit(sent: &HeaderMap) -> Option<Response> {
    let value = |name: header::HeaderName| sent.get(name).and_then(|value| value.to_str().ok());
    if !value(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.to_ascii_lowercase().starts_with("application/json"))
    {
        return Some(reply::plain(415, "Unsupported Media Type: messages are application/json"));
    }
    let takes = |accept: &str| {
        ["application/json", "text/event-stream", "*/*"].iter().any(|kind| accept.contains(kind))
    };
    (!value(header::ACCEPT).is_none_or(takes))
        .then(|| reply::plain(406, "Not Acceptable: answers are application/json or text/event-stream"))
}

async fn take(house: &Arc<House>, visitor: &Visitor, sent: &HeaderMap, incoming: Incoming) -> Response {
    match incoming {
        Incoming::Request(request) => match era_of(sent, &request) {
            Ok(Era::Modern) => modern(house, visitor, sent, request).await,
            Ok(Era::Legacy) => legacy(house, visitor, sent, request).await,
            Err(refused) => reply::refused(400, request.id, refused),
        },
        // In the new era there is nothing to tell or to answer outside of requests.
        other if sent.contains_key(SESSION) => match session::named(house, visitor, sent) {
            Ok(session) => {
                dispatch::hear(&session.guest, other);
                reply::accepted()
            }
            Err(refused) => *refused,
        },
        _ => reply::accepted(),
    }
}

/// Which era a request is of: by its body, and the header has to agree.
fn era_of(sent: &HeaderMap, request: &Request) -> Result<Era, crate::client::Refused> {
    let header = headers::one(sent, VERSION)?;
    if request.method == "initialize" && header.is_none_or(|version| version < MODERN) {
        return Ok(Era::Legacy);
    }
    let said = Said::of(&request.params);
    match (&said.version, header) {
        (Some(version), Some(header)) if version != header => {
            Err(headers::mismatch(format!("MCP-Protocol-Version is {header:?} and `_meta` says {version:?}")))
        }
        (Some(_), None) => Err(headers::mismatch("MCP-Protocol-Version is missing".to_owned())),
        (None, Some(header)) if header >= MODERN && VERSIONS.contains(&header) => Err(said.incomplete()),
        (None, Some(header)) if !VERSIONS.contains(&header) => Err(era::unsupported(header)),
        _ => said.era(&request.method),
    }
}

/// A request that stands for itself. It ends when the client closes its stream.
async fn modern(house: &Arc<House>, visitor: &Visitor, sent: &HeaderMap, request: Request) -> Response {
    let guest = match house.door.known(visitor) {
        Ok(guest) => guest,
        Err(refused) => return reply::refused(500, request.id, refused),
    };
    let params = |tool: &str| guest.catalogue().param_headers(tool).to_vec();
    if let Err(refused) = headers::check(sent, &request, params) {
        return reply::refused(400, request.id, refused);
    }
    let (outlet, messages) = Outlet::new();
    let work: Work = Box::pin(stateless(guest, request, outlet));
    first(work, messages).await
}

type Work = Pin<Box<dyn Future<Output = Value> + Send>>;

/// Ids mean nothing between requests that stand for themselves, so two may be alike.
async fn stateless(guest: Arc<Guest>, request: Request, outlet: Outlet) -> Value {
    let id = request.id.clone();
    message::response(id, dispatch::answer(&guest, request, outlet).await)
}

/// The answer, if nothing comes before it; else events.
async fn first(mut work: Work, mut messages: mpsc::Receiver<Value>) -> Response {
    let first = tokio::select! {
        biased;
        Some(message) = messages.recv() => message,
        answer = &mut work => {
            let Ok(message) = messages.try_recv() else { return whole(&answer) };
            let rest = async move { answer };
            return streamed(message, Box::pin(rest), messages);
        }
    };
    streamed(first, work, messages)
}

fn whole(answer: &Value) -> Response {
    let code = answer.pointer("/error/code").and_then(Value::as_i64);
    let status = code.map_or(200, era::status);
    reply::json(status, answer.to_string())
}

/// What is left of an answer that is sent in events.
struct Rest {
    first: Option<Value>,
    work: Option<Work>,
    messages: mpsc::Receiver<Value>,
    /// The answer, while messages that came before it are still to be sent.
    answer: Option<Value>,
}

fn streamed(first: Value, work: Work, messages: mpsc::Receiver<Value>) -> Response {
    let rest = Rest { first: Some(first), work: Some(work), messages, answer: None };
    reply::events(stream::unfold(rest, |mut rest| async move {
        let event = match time::timeout(reply::KEEP_ALIVE, rest.next()).await {
            Ok(message) => reply::event(None, message?.to_string().as_bytes()),
            Err(_) => Bytes::from_static(reply::SILENCE.as_bytes()),
        };
        Some((Ok(event), rest))
    }))
}

impl Rest {
    async fn next(&mut self) -> Option<Value> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if let Some(work) = &mut self.work {
            tokio::select! {
                biased;
                Some(message) = self.messages.recv() => return Some(message),
                answer = work => self.answer = Some(answer),
            }
            self.work = None;
        }
        self.messages.try_recv().ok().or_else(|| self.answer.take())
    }
}

/// A request of a client with a session. It goes on if the client closes its stream.
async fn legacy(house: &Arc<House>, visitor: &Visitor, sent: &HeaderMap, request: Request) -> Response {
    let is_greeting = request.method == "initialize";
    let session = if is_greeting {
        house
            .sessions
            .begin(&house.door, visitor)
            .map_err(|refused| Box::new(reply::refused(500, request.id.clone(), refused)))
    } else {
        session::named(house, visitor, sent)
    };
    let session = match session {
        Ok(session) => session,
        Err(refused) => return *refused,
    };
    let track = session.track();
    tokio::spawn(attend(session.guest.clone(), request, track.clone()));
    let mut response = answered(&session, track).await;
    if is_greeting && let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, id);
    }
    response
}

/// Runs a request to its end, and puts all that is said on its track.
async fn attend(guest: Arc<Guest>, request: Request, track: Arc<Track>) {
    let (outlet, mut messages) = Outlet::new();
    let work = dispatch::attend(&guest, request, outlet);
    tokio::pin!(work);
    let answer = loop {
        tokio::select! {
            biased;
            Some(message) = messages.recv() => track.push(message.to_string().into()),
            answer = &mut work => break answer,
        }
    };
    while let Ok(message) = messages.try_recv() {
        track.push(message.to_string().into());
    }
    match answer {
        Some(answer) => track.finish(answer.to_string().into()),
        None => track.end(),
    }
}

/// The answer if it is the first that comes, else the track.
async fn answered(session: &Arc<HttpSession>, track: Arc<Track>) -> Response {
    let Next::Message(_, message) = track.next(0).await else {
        // It was cancelled: the client waits for nothing.
        session.forget(&track);
        return reply::accepted();
    };
    if track.ends_at(1) {
        session.forget(&track);
        return reply::json(200, message);
    }
    session.follow(track, 0)
}
