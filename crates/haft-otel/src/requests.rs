//! Requests of MCP clients as spans and metrics.
//!
//! A request at the door is a span of kind server, below the span that its client names in `_meta`; the turn that it leads
//! to is below it. What goes out to a server has the name of the call's own span: the conventions want no second span for
//! a call that is traced already.

use std::time::Instant;

use haft_mcp::{
    client::Refused,
    server::{OpenRequest, RequestFacts, RequestObserver as Observer},
};
use opentelemetry::{
    KeyValue,
    global::{BoxedSpan, BoxedTracer},
    metrics::{Histogram, Meter},
    trace::{Span, SpanBuilder, SpanKind, Status, Tracer},
};
use serde_json::{Map, Value};

use crate::{Parent, instruments::SECONDS, parent, words};

const VERSION: &str = "mcp.protocol.version";
const REQUEST_ID: &str = "jsonrpc.request.id";
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

/// The span that a request names as its own.
pub fn parent_in(meta: &Map<String, Value>) -> Option<Parent> {
    let text = |key: &str| meta.get(key).and_then(Value::as_str);
    Parent::read(text("traceparent")?, text("tracestate"))
}

impl Observer for RequestObserver {
    fn request(&self, request: &RequestFacts<'_>) -> Option<Box<dyn OpenRequest>> {
        let parent = parent_in(request.meta).map(Parent::context).unwrap_or_default();
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
    let id = request.id.as_str().map_or_else(|| request.id.to_string(), str::to_owned);
    let mut attributes = vec![
        KeyValue::new(words::METHOD, words::name(request.method)),
        KeyValue::new(REQUEST_ID, words::name(&id)),
        KeyValue::new(words::CONVERSATION, words::name(request.session)),
        KeyValue::new(TRANSPORT, transport(request)),
    ];
    if request.is_http {
        attributes.push(KeyValue::new(PROTOCOL, "http"));
    }
    if let Some(version) = request.version {
        attributes.push(KeyValue::new(VERSION, words::name(version)));
    }
    if request.method == "tools/call" {
        attributes.push(KeyValue::new(words::OPERATION, words::EXECUTE_TOOL));
    }
    if let Some((key, target)) = target {
        attributes.push(KeyValue::new(*key, target.clone()));
    }
    attributes
}

/// What it is about, where that has a name. A resource has an address, which may be private.
fn target(request: &RequestFacts<'_>) -> Option<(&'static str, String)> {
    let key = match request.method {
        "tools/call" => words::TOOL,
        "prompts/get" => PROMPT,
        _ => return None,
    };
    Some((key, words::name(request.params.get("name")?.as_str()?)))
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

    fn answered(mut self: Box<Self>, answer: Result<&Value, &Refused>) {
        self.is_answered = true;
        let error = error(answer);
        if let Err(refused) = answer {
            self.span.set_attribute(KeyValue::new(STATUS, refused.code.to_string()));
        }
        // A name that nobody has is a client's invention: metrics must not have a series for each.
        let method = if is_unknown(answer) { words::OTHER.to_owned() } else { self.method.clone() };
        let mut measured =
            vec![KeyValue::new(words::METHOD, method), KeyValue::new(TRANSPORT, self.transport)];
        measured.extend(
            self.target.take().filter(|_| answer.is_ok()).map(|(key, target)| KeyValue::new(key, target)),
        );
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
fn error(answer: Result<&Value, &Refused>) -> Option<String> {
    match answer {
        Ok(result) => (result.get("isError") == Some(&Value::Bool(true))).then(|| "tool_error".to_owned()),
        Err(refused) => Some(refused.code.to_string()),
    }
}

fn is_unknown(answer: Result<&Value, &Refused>) -> bool {
    answer.is_err_and(|refused| refused.code == NO_METHOD)
}
