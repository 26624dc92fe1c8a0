//! Collectors that are not there, or do not answer: nobody waits for them.

use std::time::{Duration, Instant};

use haft_engine::{Call, SessionOptions};
use haft_otel::Telemetry;
use haft_testkit::{Workspace, sized};
use serde_json::json;

use crate::collector::Collector;

/// How long it takes to have done with it.
async fn end(collector: &Collector) -> Duration {
    let workspace = Workspace::new("");
    let telemetry = Telemetry::to(&collector.endpoint(), false).unwrap();
    let engine =
        haft_testkit::engine(&workspace).tool(sized()).observer(telemetry.observer()).build().unwrap();
    let session = engine.session(SessionOptions::at(workspace.root())).unwrap();
    let began = Instant::now();
    let result = session.call(Call::new("1", "Sized", json!({ "bytes": 10 }))).await;
    assert!(!result.is_error() && began.elapsed() < Duration::from_secs(1), "a call waits for nobody");
    let began = Instant::now();
    drop(telemetry);
    began.elapsed()
}

#[tokio::test]
async fn a_collector_that_never_answers_costs_two_seconds_and_no_more() {
    let took = end(&Collector::silent()).await;
    assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&took), "{took:?}");
}

#[tokio::test]
async fn a_collector_that_is_not_there_costs_nothing() {
    let took = end(&Collector::absent()).await;
    assert!(took < Duration::from_millis(1900), "{took:?}");
}

#[tokio::test]
async fn a_collector_that_is_there_has_everything_when_it_is_over() {
    let collector = Collector::new();
    end(&collector).await;
    let got = collector.got();
    assert_eq!(got.spans.len(), 2);
    assert!(!got.metrics.is_empty());
}
