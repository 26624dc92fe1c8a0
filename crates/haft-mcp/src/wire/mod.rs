//! How messages travel: the transports, and what is done to messages that are not as the protocol has them.
//!
//! A [`Wire`] carries JSON to a server; what comes back arrives in an [`Inbox`], which sorts it and never blocks. Both speak
//! raw JSON: a typed message would lose the fields that nobody thought of, and one bad entry of a list would cost the list.
//! What a wire holds in memory is bounded: a message by the server's limit, what waits to be sent by a short queue.

mod envelope; // what kind of message is this?
mod lines; //    bytes → messages
mod pipe; //     a stream of lines: a process, or a server in this process
mod stdio; //    that process
mod events; //   bytes → server-sent events
pub(crate) mod http; // streamable HTTP
mod sse; //      the HTTP transport of before
mod socket; //   WebSocket
mod hiding; //   messages without the tokens that were sent
#[cfg(any(test, feature = "fuzzing"))]
pub mod soup; // all of that, with bytes that no server would write
pub(crate) mod repair; // answers in the shape that the protocol says

use haft_tool::BoxFuture;
use serde_json::{Map, Value};

use crate::{client::Refused, shape::object};
use lines::Piece;

pub(crate) use envelope::{Envelope, open, refused};
pub(crate) use hiding::hiding;
pub(crate) use http::{Http, headers::marked, origin::Origin};
pub(crate) use pipe::Pipe;
pub(crate) use socket::WebSocket;
pub(crate) use sse::Sse;
pub use stdio::depth;
pub(crate) use stdio::{Program, found, start};

/// The number of one of our requests. Servers see it as the JSON-RPC id, and as the token of its progress.
pub(crate) type RequestId = u64;

/// A way to a server.
pub(crate) trait Wire: Send + Sync {
    /// Sends a message. Waits while the server does not read.
    fn send(&self, message: Value) -> BoxFuture<'_, Result<(), Refused>>;

    /// Nobody waits for the answer to this request any more. `notice` tells an older server so. Does not block.
    fn abandon(&self, id: RequestId, notice: Value);

    /// This revision of the protocol is spoken from now on.
    fn agreed(&self, _version: &str) {}

    /// Ends it in order. Whatever it holds ends at the latest when it is dropped.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// Where messages of a server arrive. Nothing here blocks.
pub(crate) trait Inbox: Send + Sync {
    /// A message; `within` is our request that it came in answer to, where the transport tells.
    fn arrived(&self, message: Value, within: Option<RequestId>);

    /// The answer to a request will not come. Without an id, somebody's answer.
    fn lost(&self, id: Option<RequestId>, why: Refused);

    /// Nothing will come any more.
    fn ended(&self, why: String);

    /// The server shows that it runs, without saying anything.
    fn alive(&self) {}
}

/// Hands on what came out of bytes.
fn deliver(pieces: impl IntoIterator<Item = Piece>, inbox: &dyn Inbox) {
    for piece in pieces {
        match piece {
            Piece::Message(message) => inbox.arrived(message, None),
            Piece::Broken { id, why } => inbox.lost(id, Refused::new(Refused::UNREADABLE, why)),
        }
    }
}

/// A message that wants no answer.
pub(crate) fn notification(method: &str, params: Map<String, Value>) -> Value {
    let mut message = object([("jsonrpc", "2.0".into()), ("method", method.into())]);
    if !params.is_empty() {
        message["params"] = params.into();
    }
    message
}

/// The answer to a request.
pub(crate) fn response(id: Value, answer: Result<Value, Refused>) -> Value {
    let (key, value) = match answer {
        Ok(result) => ("result", result),
        Err(refused) => ("error", error(refused)),
    };
    object([("jsonrpc", "2.0".into()), ("id", id), (key, value)])
}

fn error(refused: Refused) -> Value {
    let mut error = object([("code", refused.code.into()), ("message", refused.message.into())]);
    if let Some(data) = refused.data {
        error["data"] = data;
    }
    error
}
