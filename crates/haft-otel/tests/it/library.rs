//! Spans and metrics of turns.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use haft_engine::{
    Call, Engine, EngineBuilder, Session, SessionOptions,
    policy::{Origin, Rules, Written},
};
use haft_otel::{Parent, Telemetry};
use haft_testkit::{Probe, Workspace, sized, sleeping};
use haft_tool::{Effects, Fault, Reply, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::collector::{Collector, Got};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// `Flaky`: works the second time.
fn flaky() -> SharedTool {
    let attempts = Arc::new(AtomicU32::new(0));
    tool("Flaky").effects(|_: &Nothing| Effects::none()).call(move |_: Nothing, _| {
        let attempt = attempts.fetch_add(1, Ordering::Relaxed);
        async move { if attempt == 0 { Err(Fault::unavailable("not yet")) } else { Ok(Reply::text("now")) } }
    })
}

/// `Whoami`: says by which name it is known in traces.
fn whoami() -> SharedTool {
    tool("Whoami")
        .effects(|_: &Nothing| Effects::none())
        .call(|_: Nothing, cx| async move { Ok(Reply::text(cx.traceparent().unwrap_or_default())) })
}

fn session(engine: EngineBuilder, workspace: &Workspace) -> Session {
    let engine: Engine = engine.build().unwrap();
    let options = SessionOptions { id: Some("s1".into()), ..SessionOptions::at(workspace.root()) };
    engine.session(options).unwrap()
}

fn call(id: &str, tool: &str, input: serde_json::Value) -> Call {
    Call::new(id, tool, input)
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_a_span_and_its_calls_are_spans_below_it() {
    let (collector, workspace) = (Collector::new(), Workspace::new(""));
    let telemetry = Telemetry::to(&collector.endpoint(), false).unwrap();
    let rules = Rules {
        allow: vec![Written::new("Flaky", Origin::Session)],
        deny: vec![Written::new("Edit(b)", Origin::Session)],
        ..Rules::default()
    };
    let engine = haft_testkit::engine(&workspace)
        .tool(flaky())
        .tool(sized())
        .tool(sleeping(&Probe::default()))
        .rules(rules)
        .observer(telemetry.observer());
    let session = session(engine, &workspace);
    let calls = vec![
        call("1", "Flaky", json!({})),
        call("2", "Sized", json!({ "bytes": 200_000 })),
        call("3", "Sleep", json!({ "ms": 1, "writes": "b" })),
        call("4", "Sized", json!({ "size": 3 })),
        call("5", "Slep", json!({})),
    ];
    session.turn(calls).await;
    drop(telemetry);
    let got = collector.got();
    assert_eq!(got.facts("execute_tool Flaky")["haft.result.size"], "3");
    insta::assert_snapshot!(got.tree(), @r"
    turn
      gen_ai.conversation.id = s1
      haft.turn.calls = 5
      haft.turn.failed_calls = 3
      execute_tool Flaky
        gen_ai.operation.name = execute_tool
        gen_ai.tool.call.id = 1
        gen_ai.tool.name = Flaky
        gen_ai.tool.type = function
        haft.attempts = 2
        haft.decision.duration = …
        haft.queue.duration = …
        haft.result.size = …
        haft.run.duration = …
        haft.tool.source = builtin
        * haft.decision: haft.decision.class = read_only, haft.decision.layer = global, haft.decision.origin = this session, haft.decision.rule = Flaky, haft.decision.verdict = allow
        * haft.retry: haft.retry.attempt = 2, haft.retry.delay = …
      execute_tool Sized
        gen_ai.operation.name = execute_tool
        gen_ai.tool.call.id = 2
        gen_ai.tool.name = Sized
        gen_ai.tool.type = function
        haft.attempts = 1
        haft.decision.duration = …
        haft.queue.duration = …
        haft.result.size = …
        haft.result.spilled = true
        haft.result.whole_size = 200000
        haft.run.duration = …
        haft.tool.source = builtin
        * haft.decision: haft.decision.class = read_only, haft.decision.verdict = allow
      execute_tool Sleep (error)
        error.type = denied
        gen_ai.operation.name = execute_tool
        gen_ai.tool.call.id = 3
        gen_ai.tool.name = Sleep
        gen_ai.tool.type = function
        haft.attempts = 0
        haft.decision.duration = …
        haft.queue.duration = …
        haft.refusal = rule
        haft.result.size = …
        haft.tool.source = builtin
        * haft.decision: haft.decision.class = write, haft.decision.layer = global, haft.decision.origin = this session, haft.decision.rule = Edit(b), haft.decision.verdict = deny, haft.refusal = rule
      execute_tool Sized (error)
        error.type = invalid_input
        gen_ai.operation.name = execute_tool
        gen_ai.tool.call.id = 4
        gen_ai.tool.name = Sized
        gen_ai.tool.type = function
        haft.attempts = 0
        haft.result.size = …
      execute_tool (error)
        error.type = unknown_tool
        gen_ai.operation.name = execute_tool
        gen_ai.tool.call.id = 5
        gen_ai.tool.name = Slep
        gen_ai.tool.type = function
        haft.attempts = 0
        haft.result.size = …
    ");
    insta::assert_snapshot!(got.series().join("\n"), @r"
    gen_ai.execute_tool.duration [s] {error.type=denied, gen_ai.operation.name=execute_tool, gen_ai.tool.name=Sleep, gen_ai.tool.type=function} 1 values
    gen_ai.execute_tool.duration [s] {error.type=invalid_input, gen_ai.operation.name=execute_tool, gen_ai.tool.name=Sized, gen_ai.tool.type=function} 1 values
    gen_ai.execute_tool.duration [s] {error.type=unknown_tool, gen_ai.operation.name=execute_tool, gen_ai.tool.name=_OTHER, gen_ai.tool.type=function} 1 values
    gen_ai.execute_tool.duration [s] {gen_ai.operation.name=execute_tool, gen_ai.tool.name=Flaky, gen_ai.tool.type=function} 1 values
    gen_ai.execute_tool.duration [s] {gen_ai.operation.name=execute_tool, gen_ai.tool.name=Sized, gen_ai.tool.type=function} 1 values
    haft.tool.queue.duration [s] {gen_ai.tool.name=Flaky} 1 values
    haft.tool.queue.duration [s] {gen_ai.tool.name=Sized} 1 values
    haft.tool.queue.duration [s] {gen_ai.tool.name=Sleep} 1 values
    haft.tool.refusals [{call}] {gen_ai.tool.name=Sleep, haft.refusal=rule} 1
    haft.tool.result.saved [By] {gen_ai.tool.name=Sized} 191872
    haft.tool.result.saved_tokens [{token}] {gen_ai.tool.name=Sized} 47968
    haft.tool.result.size [By] {gen_ai.tool.name=Flaky} 1 values
    haft.tool.result.size [By] {gen_ai.tool.name=Sized} 2 values
    haft.tool.result.size [By] {gen_ai.tool.name=Sleep} 1 values
    haft.tool.result.size [By] {gen_ai.tool.name=_OTHER} 1 values
    haft.tool.retries [{attempt}] {gen_ai.tool.name=Flaky} 1
    haft.tool.run.duration [s] {gen_ai.operation.name=execute_tool, gen_ai.tool.name=Flaky, gen_ai.tool.type=function} 1 values
    haft.tool.run.duration [s] {gen_ai.operation.name=execute_tool, gen_ai.tool.name=Sized, gen_ai.tool.type=function} 1 values
    haft.tool.spills [{result}] {gen_ai.tool.name=Sized} 1
    ");
}

#[tokio::test]
async fn what_the_turn_shortens_afterwards_is_told_by_the_turn() {
    let (collector, workspace) = (Collector::new(), Workspace::new(""));
    let telemetry = Telemetry::to(&collector.endpoint(), false).unwrap();
    let engine = haft_testkit::engine(&workspace)
        .tool(sized())
        .settings(|settings| settings.budget.per_turn = 20_000)
        .observer(telemetry.observer());
    let session = session(engine, &workspace);
    session
        .turn(vec![
            call("small", "Sized", json!({ "bytes": 9_000 })),
            call("large", "Sized", json!({ "bytes": 30_000 })),
        ])
        .await;
    drop(telemetry);
    let got = collector.got();
    let shortened = &got.span("turn").events;
    assert_eq!(shortened.len(), 1, "{}", got.tree());
    assert!(got.tree().contains("* haft.shortened: gen_ai.tool.call.id = large"), "{}", got.tree());
    let spills = got.series().into_iter().find(|series| series.starts_with("haft.tool.spills"));
    assert_eq!(spills.as_deref(), Some("haft.tool.spills [{result}] {gen_ai.tool.name=Sized} 1"));
}

/// What is sent of a call whose input and result have words in them.
async fn sent(content: bool) -> Got {
    let (collector, workspace) = (Collector::new(), Workspace::new(""));
    let telemetry = Telemetry::to(&collector.endpoint(), content).unwrap();
    let key = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let echo = tool("Echo")
        .effects(|_: &Said| Effects::none())
        .call(|said: Said, _| async move { Ok::<_, Fault>(Reply::text(format!("you said {}", said.words))) });
    let redactor = redactor_of(key);
    let engine =
        haft_testkit::engine(&workspace).tool(echo).redactor(redactor).observer(telemetry.observer());
    let session = session(engine, &workspace);
    let result = session.call(call("1", "Echo", json!({ "words": format!("private {key}") }))).await;
    assert!(!result.is_error(), "{}", result.text());
    drop(telemetry);
    let got = collector.got();
    assert!(!got.bodies.is_empty());
    let leaks = got.bodies.iter().any(|body| body.windows(key.len()).any(|part| part == key.as_bytes()));
    assert!(!leaks, "a secret was sent");
    got
}

#[derive(Deserialize, JsonSchema)]
struct Said {
    words: String,
}

fn redactor_of(key: &str) -> Arc<haft_redact::Redactor> {
    Arc::new(haft_redact::Redactor::builder().secret(key.to_owned()).build())
}

#[tokio::test]
async fn inputs_and_results_are_not_sent_unless_they_are_asked_for() {
    let got = sent(false).await;
    let is_in = |body: &Vec<u8>| body.windows(7).any(|part| part == b"private");
    assert!(!got.bodies.iter().any(is_in), "{}", got.tree());
    let facts = sent(true).await.facts("execute_tool Echo");
    let said = (&*facts["gen_ai.tool.call.arguments"], &*facts["gen_ai.tool.call.result"]);
    insta::assert_debug_snapshot!(said, @r#"
    (
        "{\"words\":\"private [redacted: github token]\"}",
        "you said private [redacted: github token]\n[1 secret is hidden above (github token); what was read stays as it is]",
    )
    "#);
}

#[tokio::test]
async fn a_turn_belongs_to_the_trace_that_it_is_told() {
    let (collector, workspace) = (Collector::new(), Workspace::new(""));
    let telemetry = Telemetry::to(&collector.endpoint(), false).unwrap();
    let parent = || Parent::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", None);
    let observer = telemetry.observer().with_parent(parent);
    let session = session(haft_testkit::engine(&workspace).tool(whoami()).observer(observer), &workspace);
    let said = session.call(call("1", "Whoami", json!({}))).await.text();
    drop(telemetry);
    let got = collector.got();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let (turn, tool) = (got.span("turn"), got.span("execute_tool Whoami"));
    assert_eq!(hex(&turn.trace_id), "4bf92f3577b34da6a3ce929d0e0e4736");
    assert_eq!(hex(&turn.parent_span_id), "00f067aa0ba902b7");
    assert_eq!(said, format!("00-{}-{}-01", hex(&turn.trace_id), hex(&tool.span_id)));
}

#[tokio::test]
async fn a_turn_that_is_not_sampled_is_measured_all_the_same() {
    let (collector, workspace) = (Collector::new(), Workspace::new(""));
    let telemetry = Telemetry::to(&collector.endpoint(), false).unwrap();
    let parent = || Parent::read("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", None);
    let observer = telemetry.observer().with_parent(parent);
    let session = session(haft_testkit::engine(&workspace).tool(whoami()).observer(observer), &workspace);
    session.call(call("1", "Whoami", json!({}))).await;
    drop(telemetry);
    let got = collector.got();
    assert_eq!(got.spans.len(), 0);
    assert!(got.series().iter().any(|series| series.starts_with("gen_ai.execute_tool.duration")));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_given_up_ends_its_spans() {
    let (collector, workspace) = (Collector::new(), Workspace::new(""));
    let telemetry = Telemetry::to(&collector.endpoint(), false).unwrap();
    let engine =
        haft_testkit::engine(&workspace).tool(sleeping(&Probe::default())).observer(telemetry.observer());
    let session = session(engine, &workspace);
    let turn = session.turn(vec![call("1", "Sleep", json!({ "ms": 60_000 }))]);
    assert!(tokio::time::timeout(Duration::from_secs(1), turn).await.is_err());
    drop(telemetry);
    let got = collector.got();
    assert_eq!(got.facts("turn")["haft.turn.given_up"], "true");
    assert_eq!(got.facts("execute_tool Sleep")["error.type"], "cancelled");
}

#[tokio::test]
async fn all_ways_to_run_a_call_are_heard() {
    let (collector, workspace) = (Collector::new(), Workspace::new(""));
    let telemetry = Telemetry::to(&collector.endpoint(), false).unwrap();
    let engine = haft_testkit::engine(&workspace).tool(sized()).observer(telemetry.observer());
    let session = session(engine, &workspace);
    let one = |id: &str| call(id, "Sized", json!({ "bytes": 1 }));
    session.turn(vec![one("turn")]).await;
    session.call(one("call")).await;
    session.watched_call(one("watched"), |_| {}).await;
    let live = session.live_turn();
    live.push(one("live")).unwrap();
    live.results().await;
    drop(telemetry);
    let tree = collector.got().tree();
    for id in ["turn", "call", "watched", "live"] {
        assert!(tree.contains(&format!("gen_ai.tool.call.id = {id}")), "{tree}");
    }
}
