//! An answer goes out: JSON if there is nothing but the answer, events if something comes before it.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures::Stream;
use serde_json::Value;

use crate::{client::Refused, server::message};

/// Something in between may close what is silent.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// A comment, which nobody reads.
pub(super) const SILENCE: &str = ":\n\n";

pub(super) fn plain(status: u16, words: &str) -> Response {
    with(status, "text/plain; charset=utf-8", Body::from(words.to_owned()))
}

pub(super) fn unauthorized() -> Response {
    let mut response = plain(
        401,
        "Unauthorized: send `Authorization: Bearer TOKEN`; haft says at its start where the token is",
    );
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

pub(super) fn accepted() -> Response {
    with(202, "text/plain", Body::empty())
}

/// A message as the whole answer.
pub(super) fn json(status: u16, message: impl Into<Body>) -> Response {
    with(status, "application/json", message.into())
}

/// A request that is refused before it is looked at any further.
pub(super) fn refused(status: u16, id: Value, refused: Refused) -> Response {
    json(status, message::response(id, Err(refused)).to_string())
}

/// Events as they come. Nobody in between may wait for more of them.
pub(super) fn events(events: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let mut response = with(200, "text/event-stream", Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn with(status: u16, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// One message as an event. JSON has no line ends in it.
pub(super) fn event(id: Option<&str>, message: &[u8]) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    Bytes::from([id.as_bytes(), b"data: ", message, b"\n\n"].concat())
}
