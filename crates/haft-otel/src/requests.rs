//! Requests of MCP clients as spans and metrics.
//!
//! A request at the door is a span of kind server, below the span that its client names in `_meta`; the turn that it leads
//! to is below it. What goes out to a server has the name of the call's own span: the conventions want no second span for
//! a call that is traced already.

use std::time::Instant;

use haft_mcp::{
    Trace,
    server::{About, Answer, OpenRequest, REQUEST_ID, RequestFacts, RequestObserver as Observer},
};
use opentelemetry::{
    KeyValue,
    global::{BoxedSpan, BoxedTracer},
    metrics::{Histogram, Meter},
    trace::{Span, SpanBuilder, SpanKind, Status, Tracer},
};

use crate::{Parent, instruments::SECONDS, parent, words};

const VERSION: &str = "mcp.protocol.version";
const STATUS: &str = "rpc.response.status_code";
const PROMPT: &str = "gen_ai.prompt.name";
const TRANSPORT: &str = "network.transport";
const PROTOCOL: &str = "network.protocol.name";

/// The code of JSON-RPC for a method that there is not.
const NO_METHOD: i64 = -32601;

/// Makes spans and metrics of what clients ask. Give it to
/// [`DoorOptions::observer`](haft_mcp::server::DoorOptions::observer).
pub struct RequestObserver {
    tracer: BoxedTracer,
    duration: Histogram<f64>,
}

impl RequestObserver {
    /// For a program that has a pipeline of its own.
    pub fn new(tracer: BoxedTracer, meter: &Meter) -> RequestObserver {
        let duration = meter
            .f64_histogram("mcp.server.operation.duration")
            .with_unit("s")
            .with_description("The duration of a request, from its arrival to its answer.")
            .with_boundaries(SECONDS.to_vec())
            .build();
        RequestObserver { tracer, duration }
    }
}

/// The span that a request belongs to, by its client's word.
impl Parent {
    /// `None` if it is none.
    pub fn of(trace: Trace<'_>) -> Option<Parent> {
        Parent::read(trace.parent, trace.state)
    }
}

impl Observer for RequestObserver {
    fn request(&self, request: &RequestFacts<'_>) -> Option<Box<dyn OpenRequest>> {
        let parent = request.trace.and_then(Parent::of).map(Parent::context).unwrap_or_default();
        let target = target(request);
        let name = match &target {
            Some((_, target)) => format!("{} {target}", words::name(request.method)),
            None => words::name(request.method),
        };
        let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Server);
        let builder = builder.with_attributes(attributes(request, target.as_ref()));
        let span = self.tracer.build_with_context(builder, &parent);
        Some(Box::new(Open {
            span,
            duration: self.duration.clone(),
            method: words::name(request.method),
            target,
            transport: transport(request),
            began: Instant::now(),
            is_answered: false,
        }))
    }
}

fn attributes(request: &RequestFacts<'_>, target: Option<&(&'static str, String)>) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new(words::METHOD, words::name(request.method)),
        KeyValue::new(REQUEST_ID, words::name(request.id)),
        KeyValue::new(words::CONVERSATION, words::name(request.session)),
        KeyValue::new(TRANSPORT, transport(request)),
    ];
    if request.is_http {
        attributes.push(KeyValue::new(PROTOCOL, "http"));
    }
    if let Some(version) = request.version {
        attributes.push(KeyValue::new(VERSION, words::name(version)));
    }
    if let Some(About::Tool(_)) = request.about {
        attributes.push(KeyValue::new(words::OPERATION, words::EXECUTE_TOOL));
    }
    if let Some((key, target)) = target {
        attributes.push(KeyValue::new(*key, target.clone()));
    }
    attributes
}

/// What it is about, where that has a name. A resource has an address, which may be private.
fn target(request: &RequestFacts<'_>) -> Option<(&'static str, String)> {
    Some(match request.about? {
        About::Tool(name) => (words::TOOL, words::name(name)),
        About::Prompt(name) => (PROMPT, words::name(name)),
    })
}

fn transport(request: &RequestFacts<'_>) -> &'static str {
    if request.is_http { "tcp" } else { "pipe" }
}

/// A request without its answer.
struct Open {
    span: BoxedSpan,
    duration: Histogram<f64>,
    method: String,
    target: Option<(&'static str, String)>,
    transport: &'static str,
    began: Instant,
    is_answered: bool,
}

impl OpenRequest for Open {
    fn traceparent(&self) -> Option<String> {
        parent::written(self.span.span_context())
    }

    fn answered(mut self: Box<Self>, answer: Answer) {
        self.is_answered = true;
        let error = error(answer);
        if let Answer::Refused(code) = answer {
            self.span.set_attribute(KeyValue::new(STATUS, code.to_string()));
        }
        // A name that nobody has is a client's invention: metrics must not have a series for each.
        let method =
            if answer == Answer::Refused(NO_METHOD) { words::OTHER.to_owned() } else { self.method.clone() };
        let mut measured =
            vec![KeyValue::new(words::METHOD, method), KeyValue::new(TRANSPORT, self.transport)];
        let named = self.target.take().filter(|_| !matches!(answer, Answer::Refused(_)));
        measured.extend(named.map(|(key, target)| KeyValue::new(key, target)));
        if let Some(error) = error {
            self.fail(&error);
            measured.push(KeyValue::new(words::ERROR_TYPE, error));
        }
        self.span.end();
        self.duration.record(self.began.elapsed().as_secs_f64(), &measured);
    }
}

impl Open {
    fn fail(&mut self, error: &str) {
        self.span.set_attribute(KeyValue::new(words::ERROR_TYPE, error.to_owned()));
        self.span.set_status(Status::error(""));
    }
}

/// A request that its client took back.
impl Drop for Open {
    fn drop(&mut self) {
        if !self.is_answered {
            self.fail("cancelled");
            self.span.end();
        }
    }
}

/// The code of an error, or that the answer itself is one.
fn error(answer: Answer) -> Option<String> {
    match answer {
        Answer::Given => None,
        Answer::Failed => Some("tool_error".to_owned()),
        Answer::Refused(code) => Some(code.to_string()),
    }
}
