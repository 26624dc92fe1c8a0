//! The transport before streamable HTTP: events from `/sse`, messages to `/message`. For clients that know nothing newer.

use std::sync::Arc;

use axum::{
    body::{Bytes, to_bytes},
    extract::{Request, State},
    response::Response,
};
use futures::stream;
use serde_json::Value;
use tokio::{sync::mpsc, time};

use super::{House, reply, session::HttpSession};
use crate::server::{
    dispatch,
    guest::{Guest, Outlet},
    message::{self, Incoming},
};

const LARGEST: usize = 16 << 20;

/// What is left of a stream. Dropped with it, and then the client has left.
struct Open {
    house: Arc<House>,
    session: Arc<HttpSession>,
    greeting: Option<String>,
    messages: mpsc::Receiver<Value>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.house.sessions.end(&self.session.id);
    }
}

impl Open {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(Bytes::from(format!("event: endpoint\ndata: {greeting}\n\n")));
        }
        // Whoever listens is there.
        self.session.touch();
        let closing = self.house.door.closing.clone();
        let message =
            closing.run_until_cancelled(time::timeout(reply::KEEP_ALIVE, self.messages.recv())).await?;
        match message {
            Ok(message) => Some(Bytes::from(format!("event: message\ndata: {}\n\n", message?))),
            Err(_) => Some(Bytes::from_static(reply::SILENCE.as_bytes())),
        }
    }
}

/// `GET /sse`.
pub(super) async fn events(State(house): State<Arc<House>>, request: Request) -> Response {
    let visitor = match house.guard.check(request.headers()) {
        Ok(visitor) => visitor,
        Err(refused) => return *refused,
    };
    if request.method() != "GET" {
        return reply::plain(405, "Method Not Allowed: events are got from here");
    }
    let session = match house.sessions.begin(&house.door, &visitor) {
        Ok(session) => session,
        Err(refused) => return reply::refused(500, Value::Null, refused),
    };
    let (outlet, messages) = Outlet::new();
    session.guest.speak_through(outlet);
    let greeting = Some(format!("/message?sessionId={}", session.id));
    let open = Open { house, session, greeting, messages };
    reply::events(stream::unfold(open, |mut open| async move {
        let event = open.next().await?;
        Some((Ok(event), open))
    }))
}

/// `POST /message?sessionId=…`.
pub(super) async fn message(State(house): State<Arc<House>>, request: Request) -> Response {
    let visitor = match house.guard.check(request.headers()) {
        Ok(visitor) => visitor,
        Err(refused) => return *refused,
    };
    let id = request.uri().query().and_then(|query| query.strip_prefix("sessionId=")).unwrap_or_default();
    let Some(session) = house.sessions.find(id, &visitor).filter(|_| request.method() == "POST") else {
        return reply::plain(404, "Not Found: open /sse first, and post to the address that it names");
    };
    let Some(outlet) = session.guest.outlet() else {
        return reply::plain(404, "Not Found: the stream of this session has ended");
    };
    let Ok(body) = to_bytes(request.into_body(), LARGEST).await else {
        return reply::plain(413, "Payload Too Large: a message has at most 16 MiB");
    };
    for message in message::read(&String::from_utf8_lossy(&body)) {
        match message {
            Ok(incoming) => take(&session.guest, &outlet, incoming),
            Err(unreadable) => return reply::refused(400, unreadable.id, unreadable.refused),
        }
    }
    reply::accepted()
}

fn take(guest: &Arc<Guest>, outlet: &Outlet, incoming: Incoming) {
    let Incoming::Request(request) = incoming else { return dispatch::hear(guest, incoming) };
    let (guest, outlet) = (guest.clone(), outlet.clone());
    tokio::spawn(async move {
        if let Some(answer) = dispatch::attend(&guest, request, outlet.clone()).await {
            outlet.send(answer).await;
        }
    });
}
