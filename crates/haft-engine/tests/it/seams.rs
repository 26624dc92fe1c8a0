//! Hooks, journal, asker, kernel: what an embedder can put in.

use std::{io, sync::Arc};

use haft_engine::{
    policy::{Answer, Asker, CallFacts, Question, Said, Verdict},
    pool::LiveSource,
    result::ToolResult,
    session::{Ending, Journal, Start, Starting},
    turn::{Hook, Kernel, KernelCx},
};
use haft_testkit::{Probe, Workspace, sized, sleeping};
use haft_tool::{
    BoxFuture, Change, Effects, Fault, FaultKind, Load, Refusal, Reply, SharedTool, Spec, ToolBuilder, tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{begin, call, kind};

struct Recorder(Probe);

impl Hook for Recorder {
    fn before<'a>(&'a self, call: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        self.0.note(format!("before {} {}", call.call, call.input));
        let blocked = call.input["bytes"] == 13;
        let said = blocked.then(|| Said::verdict("luck", Verdict::Deny, "13 is unlucky"));
        Box::pin(async move { said.into_iter().collect() })
    }
    fn after<'a>(&'a self, call: CallFacts<'a>, result: &'a ToolResult) -> BoxFuture<'a, Vec<Said>> {
        self.0.note(format!("after {} {}", call.call, result.is_error()));
        let said = Said { context: Some("remember the milk".into()), ..Said::by("milk") };
        Box::pin(async { vec![said] })
    }
}

#[tokio::test]
async fn a_hook_may_stop_a_call_and_add_words() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let session =
        begin(haft_testkit::engine(&workspace).tool(sized()).hook(Recorder(probe.clone())), &workspace);
    let good = session.call(call("1", "Sized", json!({ "bytes": 3 }))).await;
    assert_eq!(
        (good.text().as_str(), good.messages.as_slice()),
        ("...", ["remember the milk".to_owned()].as_slice())
    );
    let blocked = session.call(call("2", "Sized", json!({ "bytes": 13 }))).await;
    assert_eq!(blocked.fault.and_then(|fault| fault.refusal), Some(Refusal::Hook));
    assert!(blocked.text().starts_with("Refused: the hook `luck` refuses it: 13 is unlucky."));
    assert_eq!(probe.notes(), [r#"before 1 {"bytes":3}"#, "after 1 false", r#"before 2 {"bytes":13}"#]);
}

struct Book(Probe, bool);

impl Journal for Book {
    fn started<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<Start>> {
        self.0.note(format!("started {} {}", start.key.call, start.facts.effects));
        Box::pin(async { if self.1 { Ok(Start::Go) } else { Err(io::Error::other("disk full")) } })
    }
    fn refused<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<()>> {
        self.0.note(format!("refused {} {:?}", start.key.call, start.facts.decision.verdict));
        Box::pin(async { Ok(()) })
    }
    fn finished<'a>(&'a self, end: Ending<'a>) -> BoxFuture<'a, io::Result<()>> {
        self.0.note(format!("finished {} {:?}", end.key.call, kind(end.result)));
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn the_journal_is_written_before_and_after_every_call() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let engine = haft_testkit::engine(&workspace).tool(sleeping(&probe)).journal(Book(probe.clone(), true));
    let session = begin(engine, &workspace);
    session.turn(vec![call("1", "Sleep", json!({ "ms": 0 })), call("2", "Slip", json!({}))]).await;
    session.call(call("3", "Sleep", json!({ "ms": 0, "writes": "/elsewhere" }))).await;
    let notes = probe.notes();
    assert!(notes.contains(&"refused 3 Ask".to_owned()), "{notes:?}");
    assert!(notes.contains(&"finished 2 Some(UnknownTool)".to_owned()), "{notes:?}");
    let of_1: Vec<&String> = notes.iter().filter(|note| note.contains('1')).collect();
    assert_eq!(of_1, ["started 1 touches nothing", "+1", "-1", "finished 1 None"]);
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_does_not_happen() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let engine = haft_testkit::engine(&workspace).tool(sleeping(&probe)).journal(Book(probe.clone(), false));
    let result = begin(engine, &workspace).call(call("1", "Sleep", json!({ "ms": 0 }))).await;
    assert_eq!(kind(&result), Some(FaultKind::Unavailable));
    assert!(!result.text().contains("disk full"), "the source is not for the model");
    assert!(!probe.notes().contains(&"+1".to_owned()));
}

struct Person(Answer);

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { self.0.clone() })
    }
}

#[tokio::test]
async fn what_is_not_known_is_asked_and_the_answer_holds() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let workspace = Workspace::new("");
    for (answer, expected) in [
        (Answer::Once, None),
        (Answer::No(Some("not today".into())), Some(Refusal::Person)),
        (Answer::NobodyThere, Some(Refusal::NobodyThere)),
    ] {
        let odd = tool("Odd").call(|_: Nothing, _| async { Ok(Reply::text("ran")) });
        let engine = haft_testkit::engine(&workspace).tool(odd).asker(Person(answer));
        let result = begin(engine, &workspace).call(call("1", "Odd", json!({}))).await;
        assert_eq!(result.fault.and_then(|fault| fault.refusal), expected, "{}", result.text());
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Census;

impl Kernel for Census {
    fn tool(&self) -> SharedTool {
        ToolBuilder::<Nothing>::of(Spec::new("Census").load(Load::Always))
            .effects(|_| Effects::changes("tools"))
            .call(|_, _| async { Err(Fault::failed("not here")) })
    }
    fn run<'a>(&'a self, _: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        let names: Vec<&str> = kx.pool.entries().map(|entry| entry.name()).collect();
        let reply = Reply::text(names.join(" ")).change(Change::Load(vec!["Sized".into()]));
        Box::pin(async { Ok(reply) })
    }
}

#[tokio::test]
async fn a_kernel_tool_sees_the_pool() {
    let workspace = Workspace::new("");
    let session = begin(haft_testkit::engine(&workspace).tool(sized()).kernel(Census), &workspace);
    assert_eq!(session.call(call("1", "Census", json!({}))).await.text(), "Census Sized");
}

#[tokio::test]
async fn a_closed_gate_takes_a_tool_away_and_says_why() {
    let workspace = Workspace::new("");
    let engine = haft_testkit::engine(&workspace).tool(sized()).gate("Siz*", "the ruler is lost", || false);
    let result = begin(engine, &workspace).call(call("1", "Sized", json!({ "bytes": 1 }))).await;
    assert_eq!(kind(&result), Some(FaultKind::UnknownTool));
    assert!(result.text().contains("the ruler is lost"), "{}", result.text());
}

#[tokio::test]
async fn a_source_that_changes_is_seen_in_the_next_turn() {
    let workspace = Workspace::new("");
    let source = Arc::new(LiveSource::new("plugins"));
    let session = begin(haft_testkit::engine(&workspace).source(source.clone()), &workspace);
    assert_eq!(
        kind(&session.call(call("1", "Sized", json!({ "bytes": 1 }))).await),
        Some(FaultKind::UnknownTool)
    );
    source.add(sized()).unwrap();
    assert_eq!(session.call(call("2", "Sized", json!({ "bytes": 1 }))).await.text(), ".");
}
