//! Clients by HTTP: streamable HTTP in both eras on `/mcp`, and on request the transport before it on `/sse`.
//!
//! Every request is looked at before it is read: whether a browser was tricked into making it (Host and Origin), and whether
//! it brings a token of ours. Which client it is for is decided on the body; headers that say something else are refused.

mod badge; //    who comes with which token
mod guard; //    may it come in?
mod headers; //  do the headers say what the body says?
mod track; //    what is sent in answer to a request, and again if the client comes back for it
mod session; //  clients of the old era
mod post; //     a message comes in
mod reply; //    an answer goes out: JSON, or events
mod sse; //      the transport before streamable HTTP

use std::{io, sync::Arc};

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::any,
    serve::ListenerExt,
};
use tokio::net::TcpListener;

use super::door::Shared;
use guard::Guard;
use session::Sessions;

pub(super) use badge::Visitor;
pub use badge::{Badge, Token};

/// The code for headers that say something else than the body.
pub(super) const HEADER_MISMATCH: i64 = -32020;

/// How a door is opened by HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The tokens that clients may show, and who they are then. `None`: nothing has to be shown, and all clients are whomever
    /// the door's sessions are for; that is for loopback alone. An empty list lets nobody in.
    pub badges: Option<Vec<Badge>>,
    /// Names by which clients may call this machine, besides those of loopback and the address itself.
    pub hosts: Vec<String>,
    /// Whether the transport before streamable HTTP is served, too.
    pub sse: bool,
}

/// What all requests share.
struct House {
    door: Arc<Shared>,
    guard: Guard,
    sessions: Sessions,
}

/// Serves until the door closes.
pub(super) async fn serve(door: Arc<Shared>, listener: TcpListener, options: HttpOptions) -> io::Result<()> {
    let (closing, with_sse) = (door.closing.clone(), options.sse);
    let guard = Guard::new(listener.local_addr()?, options);
    let house = Arc::new(House { door, guard, sessions: Sessions::default() });
    let mut router = Router::new().route("/mcp", any(mcp));
    if with_sse {
        router = router.route("/sse", any(sse::events)).route("/message", any(sse::message));
    }
    let router = router.with_state(house.clone());
    // Answers are small and somebody waits for each: nothing is held back to be sent with the next.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let shutdown = closing.clone();
    let served =
        axum::serve(listener, router).with_graceful_shutdown(async move { shutdown.cancelled().await });
    tokio::select! {
        served = served => served,
        // Streams that are open end with the door; a client that does not close its end is not waited for.
        () = grace(closing) => Ok(()),
    }
}

async fn grace(closing: tokio_util::sync::CancellationToken) {
    closing.cancelled().await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
}

async fn mcp(State(house): State<Arc<House>>, request: Request) -> Response {
    let visitor = match house.guard.check(request.headers()) {
        Ok(visitor) => visitor,
        Err(refused) => return *refused,
    };
    match request.method().as_str() {
        "POST" => post::post(&house, &visitor, request).await,
        "GET" => session::events(&house, &visitor, request.headers()).await,
        "DELETE" => session::delete(&house, &visitor, request.headers()).await,
        _ => reply::plain(405, "Method Not Allowed: this address takes POST, GET and DELETE"),
    }
}
