//! A collector that keeps what it is sent: a small HTTP server that reads the protobuf of OTLP.

// Used by the tests of two crates, which do not need the same of it.
#![allow(dead_code)]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value::Value},
    metrics::v1::{Metric, metric::Data, number_data_point},
    trace::v1::{Span, span::SpanKind},
};
use prost::Message;

/// It listens on a port of its own until the process ends.
pub(crate) struct Collector {
    address: SocketAddr,
    got: Arc<Mutex<Got>>,
}

/// What it was sent.
#[derive(Default, Clone)]
pub(crate) struct Got {
    pub(crate) spans: Vec<Span>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) resource: BTreeMap<String, String>,
    /// Heads of requests, as they came.
    pub(crate) heads: Vec<String>,
    /// Bodies of requests.
    pub(crate) bodies: Vec<Vec<u8>>,
}

impl Collector {
    /// One that takes everything.
    pub(crate) fn new() -> Collector {
        let got = Arc::<Mutex<Got>>::default();
        let keep = got.clone();
        let address = listen(move |stream| {
            while let Some((head, body)) = request(&stream) {
                keep.lock().unwrap().take(head, body);
                let answer =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
        });
        Collector { address, got }
    }

    /// One that takes requests and never answers them.
    pub(crate) fn silent() -> Collector {
        let held = Mutex::new(Vec::new());
        let address = listen(move |stream| held.lock().unwrap().push(stream));
        Collector { address, got: Arc::default() }
    }

    /// One that is not there: its port is closed.
    pub(crate) fn absent() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Collector { address: listener.local_addr().unwrap(), got: Arc::default() }
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn got(&self) -> Got {
        self.got.lock().unwrap().clone()
    }
}

fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// The next request of a connection: its head and its body.
fn request(stream: &TcpStream) -> Option<(String, Vec<u8>)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
        if &head[before..] == "\r\n" {
            break;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length?];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

impl Got {
    fn take(&mut self, head: String, body: Vec<u8>) {
        if head.starts_with("POST /v1/traces ") {
            let sent = ExportTraceServiceRequest::decode(&*body).unwrap();
            for resource in sent.resource_spans {
                self.resource = attributes(&resource.resource.unwrap_or_default().attributes);
                self.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        } else if head.starts_with("POST /v1/metrics ") {
            let sent = ExportMetricsServiceRequest::decode(&*body).unwrap();
            for resource in sent.resource_metrics {
                self.resource = attributes(&resource.resource.unwrap_or_default().attributes);
                self.metrics.extend(resource.scope_metrics.into_iter().flat_map(|scope| scope.metrics));
            }
        }
        self.heads.push(head);
        self.bodies.push(body);
    }

    /// The span of this name.
    #[track_caller]
    pub(crate) fn span(&self, name: &str) -> &Span {
        let names: Vec<&str> = self.spans.iter().map(|span| span.name.as_str()).collect();
        let found = self.spans.iter().find(|span| span.name == name);
        found.unwrap_or_else(|| panic!("no span {name:?} among {names:?}"))
    }

    /// The attributes of the span of this name, as they are.
    #[track_caller]
    pub(crate) fn facts(&self, span: &str) -> BTreeMap<String, String> {
        attributes(&self.span(span).attributes)
    }

    /// All spans as a tree: the first ones by name, those below in the order in which they began.
    pub(crate) fn tree(&self) -> String {
        let mut tree = String::new();
        let is_root = |span: &&Span| !self.spans.iter().any(|other| other.span_id == span.parent_span_id);
        let mut roots: Vec<&Span> = self.spans.iter().filter(is_root).collect();
        roots.sort_by_key(|span| &span.name);
        roots.into_iter().for_each(|root| self.draw(root, 0, &mut tree));
        tree
    }

    fn draw(&self, span: &Span, depth: usize, tree: &mut String) {
        let indent = "  ".repeat(depth);
        let kind = match SpanKind::try_from(span.kind).unwrap() {
            SpanKind::Server => "server: ",
            SpanKind::Client => "client: ",
            _ => "",
        };
        let status =
            if span.status.as_ref().is_some_and(|status| status.code == 2) { " (error)" } else { "" };
        writeln!(tree, "{indent}{kind}{}{status}", span.name).unwrap();
        // Results say where something is, which is somewhere else each time.
        let mut facts = attributes(&span.attributes);
        facts.entry("haft.result.size".to_owned()).and_modify(|size| *size = "…".to_owned());
        facts.iter().for_each(|(key, value)| writeln!(tree, "{indent}  {key} = {value}").unwrap());
        for event in &span.events {
            let facts: Vec<String> =
                attributes(&event.attributes).iter().map(|(key, value)| format!("{key} = {value}")).collect();
            writeln!(tree, "{indent}  * {}: {}", event.name, facts.join(", ")).unwrap();
        }
        let mut below: Vec<&Span> =
            self.spans.iter().filter(|other| other.parent_span_id == span.span_id).collect();
        below.sort_by_key(|span| span.start_time_unix_nano);
        below.into_iter().for_each(|span| self.draw(span, depth + 1, tree));
    }

    /// What was measured: a line for each series, with the sum of a counter or the number of values. A program that runs
    /// longer sends a metric several times; the last is the whole.
    pub(crate) fn series(&self) -> Vec<String> {
        let mut lines = BTreeMap::new();
        for metric in &self.metrics {
            let mut put = |facts: &[KeyValue], value: String| {
                let facts: Vec<String> =
                    attributes(facts).iter().map(|(key, value)| format!("{key}={value}")).collect();
                lines.insert(format!("{} [{}] {{{}}}", metric.name, metric.unit, facts.join(", ")), value);
            };
            match metric.data.as_ref().unwrap() {
                Data::Histogram(histogram) => histogram
                    .data_points
                    .iter()
                    .for_each(|point| put(&point.attributes, format!("{} values", point.count))),
                Data::Sum(sum) => sum.data_points.iter().for_each(|point| {
                    if let Some(number_data_point::Value::AsInt(count)) = point.value {
                        put(&point.attributes, count.to_string());
                    }
                }),
                other => panic!("{other:?} is measured by nobody"),
            }
        }
        lines.into_iter().map(|(name, value)| format!("{name} {value}")).collect()
    }
}

fn attributes(all: &[KeyValue]) -> BTreeMap<String, String> {
    all.iter().map(|one| (one.key.clone(), text(one.value.as_ref()))).collect()
}

/// A value as text. Times are never twice the same.
fn text(value: Option<&AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(is)) => is.to_string(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(seconds)) if *seconds >= 0.0 => "…".to_owned(),
        other => format!("{other:?}"),
    }
}
