//! Who hears of requests of clients.
//!
//! The engine tells its observers of calls; what comes around them is told here: which request it was, by which way it came,
//! how it was answered. Where nobody observes, nothing is made for it.

use serde_json::{Map, Value};

use super::{era::Said, guest::Guest};
use crate::{client::Refused, passage::TRACEPARENT};

/// Hears of every request that comes in at the door.
pub trait RequestObserver: Send + Sync {
    /// A request came in. `None`: it is not of interest. It must not wait.
    fn request(&self, request: &RequestFacts<'_>) -> Option<Box<dyn OpenRequest>>;
}

/// A request that is being answered. It is dropped without an end if the client takes it back.
pub trait OpenRequest: Send {
    /// By which name it is known in traces, in the place of its client's own: a `traceparent` of W3C Trace Context. It goes
    /// on to the calls that it leads to.
    fn traceparent(&self) -> Option<String>;

    /// It is answered.
    fn answered(self: Box<Self>, answer: Result<&Value, &Refused>);
}

/// What is known of a request before it is answered. Much of it is a client's own word.
#[derive(Debug, Clone, Copy)]
pub struct RequestFacts<'a> {
    /// What is wanted: `tools/call`.
    pub method: &'a str,
    /// The rest of it, without `_meta`.
    pub params: &'a Map<String, Value>,
    /// What of its `_meta` goes on to servers: `traceparent`, for example.
    pub meta: &'a Map<String, Value>,
    /// A text or a number.
    pub id: &'a Value,
    /// The revision of the protocol, if the request says it.
    pub version: Option<&'a str>,
    /// The session of the engine that it belongs to. That of the protocol is not told: whoever knows it may use it.
    pub session: &'a str,
    /// Whether it came by HTTP, and not by a pipe.
    pub is_http: bool,
}

/// Tells of a request, and gives it the name by which it is observed.
pub(super) fn begin(
    guest: &Guest,
    id: &Value,
    method: &str,
    params: &Map<String, Value>,
    said: &mut Said,
) -> Option<Box<dyn OpenRequest>> {
    let observer = guest.door.options.observer.as_ref()?;
    let open = observer.request(&RequestFacts {
        method,
        params,
        meta: &said.rest,
        id,
        version: said.version.as_deref(),
        session: guest.session.id().as_str(),
        is_http: guest.is_http,
    })?;
    if let Some(traceparent) = open.traceparent() {
        said.rest.insert(TRACEPARENT.to_owned(), traceparent.into());
    }
    Some(open)
}
