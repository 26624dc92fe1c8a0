//! Where does it go, and when is it gone?
//!
//! To a collector, by OTLP over HTTP, from threads of the SDK: calls never wait for it. What is there at the end is sent
//! with a limit, because a collector that is dead must not hold up a command that is done.

use std::{
    env,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use opentelemetry::{KeyValue, global::BoxedTracer, metrics::MeterProvider, trace::TracerProvider};
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::{Resource, metrics::SdkMeterProvider, trace::SdkTracerProvider};

use crate::{
    CallObserver,
    wanted::{Unusable, Wanted},
};

/// How long the last of it may take. Whoever waits for a command should not feel that its collector is gone.
const LAST: Duration = Duration::from_secs(2);

/// What is said by the name of the library that says it.
const SCOPE: &str = "haft";

/// Exports spans and metrics. Dropping it sends the rest and waits for that, two seconds at most: an async program drops it
/// where it may block.
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
    content: bool,
}

impl Telemetry {
    /// What the usual variables ask for: `OTEL_EXPORTER_OTLP_ENDPOINT` and its neighbours. `None` if they ask for nothing;
    /// then nothing is started.
    pub fn from_env() -> Result<Option<Telemetry>, Unusable> {
        match Wanted::read(&|name| env::var(name).ok())? {
            Some(wanted) => Telemetry::start(wanted, None).map(Some),
            None => Ok(None),
        }
    }

    /// All to this collector, like `http://127.0.0.1:4318`, whatever the variables say of where and whether. `content`: with
    /// inputs and results of calls.
    pub fn to(endpoint: &str, content: bool) -> Result<Telemetry, Unusable> {
        Telemetry::start(
            Wanted { traces: true, metrics: true, content },
            Some(endpoint.trim_end_matches('/')),
        )
    }

    fn start(wanted: Wanted, endpoint: Option<&str>) -> Result<Telemetry, Unusable> {
        let client = client()?;
        let traces = wanted.traces.then(|| traces(&client, endpoint)).transpose().map_err(unusable)?;
        let metrics = wanted.metrics.then(|| metrics(&client, endpoint)).transpose().map_err(unusable)?;
        Ok(Telemetry { traces, metrics, content: wanted.content })
    }

    /// Makes spans and metrics of calls.
    pub fn observer(&self) -> CallObserver {
        CallObserver::new(self.tracer(), &self.meter()).with_content(self.content)
    }

    /// Makes spans and metrics of MCP requests.
    #[cfg(feature = "mcp")]
    pub fn requests(&self) -> crate::RequestObserver {
        crate::RequestObserver::new(self.tracer(), &self.meter())
    }

    fn tracer(&self) -> BoxedTracer {
        match &self.traces {
            Some(traces) => BoxedTracer::new(Box::new(traces.tracer(SCOPE))),
            None => BoxedTracer::new(Box::new(opentelemetry::trace::noop::NoopTracer::new())),
        }
    }

    fn meter(&self) -> opentelemetry::metrics::Meter {
        match &self.metrics {
            Some(metrics) => metrics.meter(SCOPE),
            // One that nobody reads.
            None => SdkMeterProvider::builder().build().meter(SCOPE),
        }
    }

    /// Sends what is left. The SDK waits longer for metrics than it is told to, so each signal has a thread here, and
    /// nobody waits for a thread that is too slow: it ends with the process.
    fn send_the_rest(&mut self) {
        let (tell, told) = mpsc::channel();
        let mut waited_for = 0;
        if let Some(traces) = self.traces.take() {
            waited_for += aside(&tell, move || drop(traces.shutdown_with_timeout(LAST)));
        }
        if let Some(metrics) = self.metrics.take() {
            waited_for += aside(&tell, move || drop(metrics.shutdown()));
        }
        let until = Instant::now() + LAST;
        for _ in 0..waited_for {
            if told.recv_timeout(until.saturating_duration_since(Instant::now())).is_err() {
                tracing::warn!(target: "haft::otel", "the collector did not take everything in time");
                return;
            }
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.send_the_rest();
    }
}

/// Does it in a thread, and tells when it is done. Says how many will tell: where no thread can be had, nobody.
fn aside(tell: &mpsc::Sender<()>, work: impl FnOnce() + Send + 'static) -> usize {
    let tell = tell.clone();
    let started = thread::Builder::new().name("haft-otel".to_owned()).spawn(move || {
        work();
        // Whoever waited may have gone.
        let _ = tell.send(());
    });
    usize::from(started.is_ok())
}

/// One client for all. Redirects are not followed: headers may hold a key, which is for the collector that was named.
fn client() -> Result<reqwest::blocking::Client, Unusable> {
    // Somebody may have installed one before: then it is there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let build = || {
        let builder = reqwest::blocking::Client::builder().redirect(reqwest::redirect::Policy::none());
        builder.timeout(timeout()).build()
    };
    // A blocking client has a runtime of its own, which must not be made inside of another.
    let built = thread::spawn(build).join();
    let built = built.map_err(|_| Unusable("the HTTP client broke".to_owned()))?;
    built.map_err(|err| Unusable(format!("there is no HTTP client: {err}")))
}

fn timeout() -> Duration {
    let set = env::var("OTEL_EXPORTER_OTLP_TIMEOUT").ok().and_then(|text| text.trim().parse().ok());
    set.map_or(Duration::from_secs(10), Duration::from_millis)
}

fn traces(
    client: &reqwest::blocking::Client,
    endpoint: Option<&str>,
) -> Result<SdkTracerProvider, ExporterBuildError> {
    let mut exporter = SpanExporter::builder().with_http().with_http_client(client.clone());
    if let Some(endpoint) = endpoint {
        exporter = exporter.with_endpoint(format!("{endpoint}/v1/traces"));
    }
    Ok(SdkTracerProvider::builder().with_resource(resource()).with_batch_exporter(exporter.build()?).build())
}

fn metrics(
    client: &reqwest::blocking::Client,
    endpoint: Option<&str>,
) -> Result<SdkMeterProvider, ExporterBuildError> {
    let mut exporter = MetricExporter::builder().with_http().with_http_client(client.clone());
    if let Some(endpoint) = endpoint {
        exporter = exporter.with_endpoint(format!("{endpoint}/v1/metrics"));
    }
    let exporter = exporter.build()?;
    Ok(SdkMeterProvider::builder().with_resource(resource()).with_periodic_exporter(exporter).build())
}

/// Who says it. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` win.
fn resource() -> Resource {
    let ours =
        [KeyValue::new("service.name", "haft"), KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))];
    let set = Resource::builder_empty()
        .with_detector(Box::new(opentelemetry_sdk::resource::EnvResourceDetector::new()))
        .build();
    let name = env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let set = set.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let named = name.map(|name| KeyValue::new("service.name", name));
    Resource::builder_empty()
        .with_detector(Box::new(opentelemetry_sdk::resource::TelemetryResourceDetector))
        .with_attributes(ours)
        .with_attributes(set)
        .with_attributes(named)
        .build()
}

fn unusable(err: ExporterBuildError) -> Unusable {
    Unusable(err.to_string())
}
