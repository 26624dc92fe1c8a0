//! Who hears of requests of clients.
//!
//! The engine tells its observers of calls; what comes around them is told here: which request it was, by which way it came,
//! how it was answered. Where nobody observes, nothing is made for it.

use serde_json::{Map, Value};

use super::{era::Said, guest::Guest};
use crate::{
    client::Refused,
    passage::{TRACEPARENT, Trace, trace},
};

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
    fn answered(self: Box<Self>, answer: Answer);
}

/// How a request was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// With what was wanted.
    Given,
    /// With a result that is an error: the tool did not do what it was called for.
    Failed,
    /// With an error of the protocol that has this code. `-32601`: there is no such method.
    Refused(i64),
}

/// What a request is about, by the name that its client has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About<'a> {
    /// A tool.
    Tool(&'a str),
    /// A prompt.
    Prompt(&'a str),
}

/// What the conventions of OpenTelemetry call the id of a request.
pub const REQUEST_ID: &str = "jsonrpc.request.id";

/// What is known of a request before it is answered. Much of it is a client's own word.
#[derive(Debug, Clone, Copy)]
pub struct RequestFacts<'a> {
    /// What is wanted: `tools/call`.
    pub method: &'a str,
    /// What it is about, where that has a name.
    pub about: Option<About<'a>>,
    /// The trace that it belongs to, by its client's word: `traceparent` and `tracestate` of W3C Trace Context.
    pub trace: Option<Trace<'a>>,
    /// A text or a number, as text.
    pub id: &'a str,
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
    let number = id.to_string();
    let open = observer.request(&RequestFacts {
        method,
        about: about(method, params),
        trace: trace(&said.rest),
        id: id.as_str().unwrap_or(&number),
        version: said.version.as_deref(),
        session: guest.session.id().as_str(),
        is_http: guest.is_http,
    })?;
    if let Some(traceparent) = open.traceparent() {
        said.rest.insert(TRACEPARENT.to_owned(), traceparent.into());
    }
    Some(open)
}

/// Tells how it was answered.
pub(super) fn end(open: Box<dyn OpenRequest>, answer: Result<&Value, &Refused>) {
    open.answered(match answer {
        Ok(result) if result.get("isError") == Some(&Value::Bool(true)) => Answer::Failed,
        Ok(_) => Answer::Given,
        Err(refused) => Answer::Refused(refused.code),
    });
}

fn about<'a>(method: &str, params: &'a Map<String, Value>) -> Option<About<'a>> {
    let name = params.get("name")?.as_str()?;
    match method {
        "tools/call" => Some(About::Tool(name)),
        "prompts/get" => Some(About::Prompt(name)),
        _ => None,
    }
}
