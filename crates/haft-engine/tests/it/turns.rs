//! How the calls of a turn run together.

use std::{fs, time::Duration};

use haft_testkit::{Probe, Workspace, sleeping};
use haft_tool::{AbsolutePath, Change, Effects, Fault, Reply, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::kit::{allowing, begin, call};

#[derive(Deserialize, JsonSchema)]
struct AppendInput {
    path: AbsolutePath,
    line: String,
}

/// Reads, lets others run, writes: what two of these lose if they overlap.
fn append() -> SharedTool {
    tool("Append").effects(|input: &AppendInput| Effects::writes(&input.path)).call(
        |input: AppendInput, _| async move {
            let text = fs::read_to_string(&input.path).unwrap_or_default();
            tokio::time::sleep(Duration::from_millis(1)).await;
            fs::write(&input.path, format!("{text}{}\n", input.line))
                .map_err(|err| Fault::io("write", &input.path, err))?;
            Ok(Reply::text("appended"))
        },
    )
}

#[tokio::test(start_paused = true)]
async fn ten_sleeping_calls_take_the_time_of_one() {
    let workspace = Workspace::new("");
    let session = begin(haft_testkit::engine(&workspace).tool(sleeping(&Probe::default())), &workspace);
    let calls = (0..10).map(|n| call(&n.to_string(), "Sleep", json!({ "ms": 1000 }))).collect();
    let start = Instant::now();
    let results = session.turn(calls).await;
    assert!(results.iter().all(|result| !result.is_error()));
    assert_eq!(start.elapsed().as_millis() / 100, 10, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_eleventh_waits_for_a_place() {
    let workspace = Workspace::new("");
    let session = begin(haft_testkit::engine(&workspace).tool(sleeping(&Probe::default())), &workspace);
    let calls = (0..11).map(|n| call(&n.to_string(), "Sleep", json!({ "ms": 1000 }))).collect();
    let start = Instant::now();
    session.turn(calls).await;
    assert_eq!(start.elapsed().as_millis() / 100, 20);
}

#[tokio::test]
async fn fifty_edits_of_one_file_all_land_in_order() {
    let workspace = Workspace::new("");
    let session = begin(allowing(&workspace, &["Edit(**)"]).tool(append()), &workspace);
    let calls =
        (0..50).map(|n| call(&n.to_string(), "Append", json!({ "path": "log", "line": n.to_string() })));
    let results = session.turn(calls.collect()).await;
    assert!(results.iter().all(|result| !result.is_error()), "{}", results[0].text());
    let expected: String = (0..50).map(|n| format!("{n}\n")).collect();
    assert_eq!(workspace.text("log"), expected);
}

#[tokio::test]
async fn two_names_of_one_file_are_one_file() {
    let workspace = Workspace::new("-- real\n");
    std::os::unix::fs::symlink("real", workspace.root().join("link")).unwrap();
    let session = begin(allowing(&workspace, &["Edit(**)"]).tool(append()), &workspace);
    let name = |n: usize| if n.is_multiple_of(2) { "real" } else { "./link" };
    let calls =
        (0..20).map(|n| call(&n.to_string(), "Append", json!({ "path": name(n), "line": n.to_string() })));
    session.turn(calls.collect()).await;
    assert_eq!(workspace.text("real").lines().count(), 20);
}

#[tokio::test(start_paused = true)]
async fn results_come_in_the_models_order_whatever_ends_first() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let session = begin(haft_testkit::engine(&workspace).tool(sleeping(&probe)), &workspace);
    let calls = vec![call("slow", "Sleep", json!({ "ms": 50 })), call("quick", "Sleep", json!({ "ms": 5 }))];
    let results = session.turn(calls).await;
    assert_eq!(probe.notes(), ["+slow", "+quick", "-quick", "-slow"]);
    assert_eq!(results.iter().map(|result| result.call.as_str()).collect::<Vec<_>>(), ["slow", "quick"]);
}

#[derive(Deserialize, JsonSchema)]
struct SetInput {
    ms: u64,
    value: u64,
}

#[tokio::test(start_paused = true)]
async fn changes_of_the_session_apply_in_the_models_order() {
    let workspace = Workspace::new("");
    let set = tool("Set").effects(|_: &SetInput| Effects::none()).call(|input: SetInput, _| async move {
        tokio::time::sleep(Duration::from_millis(input.ms)).await;
        Ok(Reply::text("set").change(Change::State("value".into(), json!(input.value))))
    });
    let session = begin(haft_testkit::engine(&workspace).tool(set), &workspace);
    let calls = vec![
        call("1", "Set", json!({ "ms": 50, "value": 1 })),
        call("2", "Set", json!({ "ms": 30, "value": 2 })),
        call("3", "Set", json!({ "ms": 10, "value": 3 })),
    ];
    session.turn(calls).await;
    assert_eq!(session.state("value"), Some(json!(3)));
}

#[derive(Deserialize, JsonSchema)]
struct GoInput {
    to: AbsolutePath,
}

#[tokio::test]
async fn a_change_of_directory_moves_the_paths_that_follow_it() {
    let workspace = Workspace::new("-- sub/x\n");
    let go = tool("Go").effects(|_: &GoInput| Effects::changes("cwd")).call(|input: GoInput, _| async move {
        Ok(Reply::text("went").change(Change::Cwd(input.to.into_path_buf())))
    });
    let session = begin(allowing(&workspace, &["Edit(**)", "Go"]).tool(go).tool(append()), &workspace);
    let calls = vec![
        call("1", "Append", json!({ "path": "here", "line": "a" })),
        call("2", "Go", json!({ "to": "sub" })),
        call("3", "Append", json!({ "path": "here", "line": "b" })),
    ];
    let results = session.turn(calls).await;
    assert!(results.iter().all(|result| !result.is_error()), "{results:?}");
    assert_eq!((workspace.text("here"), workspace.text("sub/here")), ("a\n".into(), "b\n".into()));
}

#[tokio::test(start_paused = true)]
async fn reads_start_while_the_model_still_writes_and_writes_do_not() {
    let workspace = Workspace::new("-- a\n");
    let probe = Probe::default();
    let session = begin(allowing(&workspace, &["Edit(**)"]).tool(sleeping(&probe)), &workspace);
    let mut turn = session.live_turn();
    turn.push(call("write", "Sleep", json!({ "ms": 5, "writes": "b" }))).unwrap();
    turn.push(call("read", "Sleep", json!({ "ms": 5, "reads": "a" }))).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(probe.notes(), ["+read", "-read"]);
    turn.close();
    assert!(turn.push(call("late", "Sleep", json!({ "ms": 5 }))).is_err());
    let results = turn.results().await;
    assert_eq!(probe.notes(), ["+read", "-read", "+write", "-write"]);
    assert_eq!(results.iter().map(|result| result.call.as_str()).collect::<Vec<_>>(), ["write", "read"]);
}

#[tokio::test(start_paused = true)]
async fn events_tell_what_happens_as_it_happens() {
    let workspace = Workspace::new("");
    let session = begin(haft_testkit::engine(&workspace).tool(sleeping(&Probe::default())), &workspace);
    let mut turn = session.live_turn();
    turn.push(call("1", "Sleep", json!({ "ms": "5" }))).unwrap();
    turn.push(call("2", "Slep", json!({ "ms": 5 }))).unwrap();
    turn.close();
    let mut seen = Vec::new();
    while let Some(event) = turn.next().await {
        let event = format!("{event:?}");
        seen.push(event.split([' ', '(', '{']).next().unwrap_or_default().to_owned());
    }
    assert_eq!(seen, ["Queued", "Started", "Finished", "Finished"]);
    assert_eq!(turn.results().await.len(), 2);
}

#[tokio::test]
async fn an_empty_turn_has_no_results() {
    let workspace = Workspace::new("");
    let session = begin(haft_testkit::engine(&workspace), &workspace);
    assert!(session.turn(Vec::new()).await.is_empty());
    assert!(session.live_turn().results().await.is_empty());
}
