use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use haft_engine::{
    Call, EngineBuilder, Session, SessionOptions,
    policy::{Answer, Asker, CallFacts, Mode, Origin, Question, Rules, Said, Written},
    result::ToolResult,
    turn::Hook,
};
use haft_testkit::{Probe, Workspace, sleeping};
use haft_tool::{BoxFuture, FaultKind};
use serde_json::{Value, json};

use super::references;

const FILES: &str = "-- a.txt
    one
    -- b.txt
    two
    -- name.txt
    a.txt
    -- data.json
    {\"items\":[{\"path\":\"b.txt\"}]}";

fn engine(workspace: &Workspace, rules: Rules) -> EngineBuilder {
    haft_testkit::engine(workspace).kernels(crate::kernels()).tools(crate::builtin()).rules(rules)
}

fn begin(engine: EngineBuilder, workspace: &Workspace) -> Session {
    engine.build().unwrap().session(SessionOptions::at(workspace.root())).unwrap()
}

fn batch(calls: Value) -> Call {
    Call::new("b", "Batch", json!({ "calls": calls }))
}

fn without_root(result: &ToolResult, workspace: &Workspace) -> String {
    result.text().replace(&format!("{}/", workspace.root().display()), "")
}

async fn in_files(rules: Rules, call: Call) -> (Workspace, ToolResult) {
    let workspace = Workspace::new(FILES);
    let session = begin(engine(&workspace, rules), &workspace);
    let result = session.call(call).await;
    (workspace, result)
}

fn allowing(rules: &[&str]) -> Rules {
    Rules::allowing(rules.iter().copied(), Origin::Session)
}

#[tokio::test]
async fn all_results_come_back_in_order_under_their_numbers() {
    let calls = json!([
        { "tool": "Stat", "input": { "path": "a.txt" } },
        { "tool": "Slip" },
        { "tool": "Stat", "input": { "path": "b.txt" } },
    ]);
    let (workspace, result) = in_files(Rules::default(), batch(calls)).await;
    assert!(!result.is_error());
    insta::assert_snapshot!(without_root(&result, &workspace), @"
    3 calls: 2 done, 1 not

    ── 1 Stat: done
    file, 4 bytes
    ── 2 Slip: failed
    there is no tool `Slip`; find the right one with ToolSearch
    ── 3 Stat: done
    file, 4 bytes
    ");
}

#[tokio::test]
async fn every_call_is_judged_by_itself() {
    let calls = || {
        json!([
            { "tool": "Read", "input": { "file_path": "a.txt" } },
            { "tool": "Write", "input": { "file_path": "c.txt", "content": "x" } },
            { "tool": "Bash", "input": { "command": "rm a.txt" } },
        ])
    };
    // A rule for the batch is a rule for nothing in it.
    let (workspace, result) = in_files(allowing(&["Batch"]), batch(calls())).await;
    let words: Vec<&str> = result.meta.notes["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(words, ["done", "refused", "refused"], "{}", result.text());
    assert!(!workspace.root().join("c.txt").exists() && workspace.root().join("a.txt").exists());
    let (workspace, result) = in_files(allowing(&["Edit(c.txt)"]), batch(calls())).await;
    assert_eq!(result.meta.notes["calls"][1]["outcome"], "done", "{}", result.text());
    assert_eq!(workspace.text("c.txt"), "x");
    // And what is denied in it is denied.
    let rules = Rules { deny: Written::all(["Read(a.txt)"], Origin::Session), ..Rules::default() };
    let (_, result) = in_files(rules, batch(calls())).await;
    assert_eq!(result.meta.notes["calls"][0]["outcome"], "refused");
}

#[tokio::test]
async fn in_plan_mode_a_batch_only_looks() {
    let workspace = Workspace::new(FILES);
    let session = begin(engine(&workspace, allowing(&["*", "Edit(**)"])), &workspace);
    session.set_mode(Mode::Plan);
    let calls = json!([
        { "tool": "Write", "input": { "file_path": "c.txt", "content": "x" } },
        { "tool": "Stat", "input": { "path": "a.txt" } },
    ]);
    let result = session.call(batch(calls)).await;
    assert_eq!(
        result.meta.notes["calls"],
        json!([{ "tool": "Write", "outcome": "failed" }, { "tool": "Stat", "outcome": "done" }]),
        "{}",
        result.text()
    );
    assert!(!workspace.root().join("c.txt").exists());
}

#[tokio::test]
async fn a_call_may_use_the_result_of_an_earlier_one() {
    let calls = json!([
        { "tool": "Bash", "input": { "command": "cat data.json" } },
        { "tool": "Stat", "input": { "path": { "$result": 1, "pointer": "/items/0/path" } } },
        { "tool": "Stat", "input": { "path": { "$result": 1, "pointer": "/items/7" } } },
        { "tool": "Stat", "input": { "path": { "$result": 3 } } },
    ]);
    let (workspace, result) = in_files(Rules::default(), batch(calls)).await;
    let text = without_root(&result, &workspace);
    if text.contains("sandbox") {
        println!("skipped: no sandbox here: {text}");
        return;
    }
    insta::assert_snapshot!(text, @r#"
    4 calls: 2 done, 2 not

    ── 1 Bash: done
    {"items":[{"path":"b.txt"}]}
    ── 2 Stat: done
    file, 4 bytes
    ── 3 Stat: not run
    the result of call 1 has nothing at `/items/7`; nothing was done
    ── 4 Stat: not run
    it needs the result of call 3, which did not work; nothing was done
    "#);
}

#[tokio::test]
async fn what_a_read_found_is_put_in_without_the_numbers_of_its_lines() {
    let workspace = Workspace::new(FILES);
    workspace.write("long.txt", "x\n".repeat(9).as_bytes());
    workspace.write("tabs.txt", b"a\n     7\tb\n\nc");
    let session = begin(engine(&workspace, allowing(&["Edit(**)"])), &workspace);
    let write =
        |path: &str| json!({ "tool": "Write", "input": { "file_path": path, "content": { "$result": 1 } } });
    let calls = json!([{ "tool": "Read", "input": { "file_path": "tabs.txt" } }, write("copy.txt")]);
    let result = session.call(batch(calls)).await;
    assert!(result.text().starts_with("2 calls, all done"), "{}", result.text());
    assert_eq!(workspace.text("copy.txt"), "a\n     7\tb\n\nc\n");
    let calls =
        json!([{ "tool": "read_file", "input": { "file_path": "long.txt", "limit": 3 } }, write("part.txt")]);
    let result = session.call(Call::new("c", "Batch", json!({ "calls": calls }))).await;
    assert!(result.text().contains("call 1 does not show the whole file"), "{}", result.text());
    assert!(!workspace.root().join("part.txt").exists());
}

#[tokio::test]
async fn what_is_put_in_is_judged_with_the_call_that_it_is_put_into() {
    let rules = Rules { deny: Written::all(["Read(a.txt)"], Origin::Session), ..Rules::default() };
    let workspace = Workspace::new(FILES);
    let engine = engine(&workspace, rules).tool(
        haft_tool::tool("Say")
            .prompt("Says where.")
            .effects(|_: &Value| haft_tool::Effects::none())
            .schema(json!({ "type": "object" }))
            .call(|_, _| async { Ok("a.txt".into()) }),
    );
    let calls = json!([{ "tool": "Say" }, { "tool": "Read", "input": { "file_path": { "$result": 1 } } }]);
    let result = begin(engine, &workspace).call(batch(calls)).await;
    assert_eq!(result.meta.notes["calls"][1]["outcome"], "refused", "{}", result.text());
}

#[tokio::test]
async fn a_batch_cannot_be_in_a_batch_by_any_name() {
    for name in ["Batch", "batch_tools"] {
        let calls = json!([{ "tool": name, "input": { "calls": [{ "tool": "Stat", "input": { "path": "a.txt" } }] } }]);
        let (_, result) = in_files(Rules::default(), batch(calls)).await;
        assert!(
            result.is_error() && result.text().contains("a Batch cannot be in a Batch"),
            "{}",
            result.text()
        );
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_before_anything_runs() {
    let check = async |calls: Value, expected: &str| {
        let (_, result) = in_files(Rules::default(), batch(calls)).await;
        assert!(result.is_error() && result.text().contains(expected), "{}", result.text());
    };
    let read = |path: Value| json!({ "tool": "Stat", "input": { "path": path } });
    check(json!([]), "calls").await;
    check(Value::from(vec![read("a.txt".into()); 26]), "calls").await;
    check(json!([read(json!({ "$result": 1 }))]), "names a call before this one, and there is none").await;
    check(
        json!([read("a.txt".into()), read(json!({ "$result": 2 }))]),
        "call 2: `$result` names a call before this one, a number from 1 to 1",
    )
    .await;
    check(json!([read("a.txt".into()), read(json!({ "$result": 1, "path": "/x" }))]), "not `path`").await;
    check(json!([read("a.txt".into()), read(json!({ "$result": 1, "pointer": "x" }))]), "JSON pointer").await;
    check(json!([read("a.txt".into()), { "tool": "Stat", "input": { "$result": 1 } }]), "one by one").await;
}

#[tokio::test(start_paused = true)]
async fn reads_run_side_by_side_and_writes_of_one_place_in_order() {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let engine = engine(&workspace, allowing(&["Edit(//w/**)"])).tool(sleeping(&probe));
    let session = begin(engine, &workspace);
    let sleep = |writes: &str| json!({ "tool": "Sleep", "input": { "ms": 50, "writes": writes } });
    let quiet = json!({ "tool": "Sleep", "input": { "ms": 50 } });
    session.call(batch(json!([quiet, quiet, sleep("/w/x"), sleep("/w/x")]))).await;
    let notes = probe.notes();
    let at = |note: &str| {
        notes.iter().position(|other| other == note).unwrap_or_else(|| panic!("{note} in {notes:?}"))
    };
    assert!(at("+b.2") < at("-b.1") && at("+b.3") < at("-b.1"), "{notes:?}");
    assert!(at("-b.3") < at("+b.4"), "{notes:?}");
}

#[tokio::test]
async fn the_rest_is_left_after_an_error_if_that_is_wanted() {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let engine = engine(&workspace, allowing(&["Edit(//w/**)"])).tool(sleeping(&probe));
    let session = begin(engine, &workspace);
    let sleep = json!({ "tool": "Sleep", "input": { "ms": 0, "writes": "/w/x" } });
    let refused = json!({ "tool": "Sleep", "input": { "ms": 0, "writes": "/elsewhere" } });
    let later = json!({ "tool": "Sleep", "input": { "ms": 0, "writes": "/elsewhere/y" } });
    let input = json!({ "stop_on_error": true, "calls": [sleep, refused, later] });
    let result = session.call(Call::new("b", "Batch", input)).await;
    assert!(result.text().contains("an earlier call failed"), "{}", result.text());
    assert_eq!(probe.notes(), ["+b.1", "-b.1"]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_was_stopped_is_no_success_although_some_of_it_is_done() {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let session = begin(engine(&workspace, Rules::default()).tool(sleeping(&probe)), &workspace);
    let calls: Vec<Value> =
        [0, 10_000, 10_000].map(|ms| json!({ "tool": "Sleep", "input": { "ms": ms } })).into();
    let running = session.call(batch(calls.into()));
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        session.interrupt();
    };
    let (result, ()) = tokio::join!(running, stop);
    assert!(result.text().starts_with("3 calls: 1 done, 2 not"), "{}", result.text());
    assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_gives_truthful_results_for_all() {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let engine = engine(&workspace, Rules::default()).tool(sleeping(&probe));
    let session = begin(engine, &workspace);
    let calls: Vec<Value> = (0..20).map(|_| json!({ "tool": "Sleep", "input": { "ms": 10_000 } })).collect();
    let running = session.call(batch(calls.into()));
    let stop = async {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        session.interrupt();
    };
    let (result, ()) = tokio::join!(running, stop);
    assert_eq!(result.meta.notes["calls"].as_array().unwrap().len(), 20, "{}", result.text());
    assert!(result.text().contains("interrupted"), "{}", result.text());
}

struct Stopper;

impl Hook for Stopper {
    fn before<'a>(&'a self, call: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        let stops = call.tool == "Stat";
        let said = Said { stop: Some("enough".to_owned()), ..Said::by("guard") };
        Box::pin(async move { if stops { vec![said] } else { Vec::new() } })
    }
}

#[tokio::test]
async fn a_hook_that_stops_the_turn_in_it_stops_the_turn() {
    let workspace = Workspace::new(FILES);
    let session = begin(engine(&workspace, Rules::default()).hook(Stopper), &workspace);
    let calls = json!([{ "tool": "Stat", "input": { "path": "a.txt" } }]);
    let later = Call::new("l", "List", json!({}));
    let results = session.turn(vec![batch(calls), later]).await;
    assert_eq!(results[0].stops_turn(), Some("enough"));
    assert_eq!(results[1].fault.map(|fault| fault.kind), Some(FaultKind::Cancelled), "{}", results[1].text());
}

struct Person(Arc<AtomicUsize>);

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Answer::Once })
    }
}

#[tokio::test]
async fn the_person_is_asked_about_what_is_in_it_and_not_about_it() {
    let (workspace, asked) = (Workspace::new(FILES), Arc::<AtomicUsize>::default());
    let engine = engine(&workspace, Rules::default()).asker(Person(asked.clone()));
    let write = |path: &str| json!({ "tool": "Write", "input": { "file_path": path, "content": "x" } });
    let calls = json!([write("c.txt"), write("d.txt"), { "tool": "Stat", "input": { "path": "a.txt" } }]);
    let result = begin(engine, &workspace).call(batch(calls)).await;
    assert_eq!(
        (asked.load(Ordering::Relaxed), workspace.text("d.txt")),
        (2, "x".to_owned()),
        "{}",
        result.text()
    );
}

#[tokio::test]
async fn results_that_are_too_large_together_are_put_away_one_by_one() {
    let workspace = Workspace::new("");
    let engine = engine(&workspace, Rules::default()).tool(haft_testkit::sized());
    let calls: Vec<Value> =
        (0..10).map(|_| json!({ "tool": "Sized", "input": { "bytes": 90_000 } })).collect();
    let result = begin(engine, &workspace).call(batch(calls.into())).await;
    let length = result.text().len();
    assert!(length < 200_000 && result.meta.truncated.is_none(), "{length}");
    assert!(
        result.text().matches("90000").count() >= 8
            || result.text().matches("B hidden").count() >= 8
            || result.text().contains(".results"),
        "{}",
        &result.text()[..2000]
    );
}

proptest::proptest! {
    #[test]
    fn no_input_breaks_the_references(text in r#"[\{\}\[\]":,$a-z0-9/ ]{0,60}"#, at in 0usize..4) {
        if let Ok(Value::Object(input)) = serde_json::from_str::<Value>(&text)
            && references::check(at, &input).is_ok()
        {
            proptest::prop_assert!(references::latest(&input).is_none_or(|number| number <= at));
            let _ = references::resolve(&input, &|_| Err("none".to_owned()));
        }
    }
}
