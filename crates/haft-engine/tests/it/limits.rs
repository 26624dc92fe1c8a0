//! Time-outs, interrupts, retries, panics: whatever happens, a call gets a truthful result.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use haft_testkit::{Probe, Workspace, panicking, sleeping};
use haft_tool::{Effects, Fault, FaultKind, Interrupt, Reply, SharedTool, Spec, ToolBuilder, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::kit::{allowing, begin, call, kind};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn waiting(spec: Spec, probe: &Probe) -> SharedTool {
    let probe = probe.clone();
    ToolBuilder::of(spec).effects(|_: &Nothing| Effects::none()).call(move |_: Nothing, cx| {
        let probe = probe.clone();
        async move {
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(60)) => Ok(Reply::text("done")),
                () = cx.cancelled() => {
                    probe.note("told");
                    Err(Fault::cancelled("stopped; half is done"))
                }
            }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_told_and_ended() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let tool = waiting(Spec::new("Wait").timeout(Duration::from_secs(2)), &probe);
    let session = begin(haft_testkit::engine(&workspace).tool(tool), &workspace);
    let start = Instant::now();
    let result = session.call(call("1", "Wait", json!({}))).await;
    assert_eq!(kind(&result), Some(FaultKind::TimedOut));
    assert_eq!(
        result.text(),
        "Wait took longer than 2 s and was stopped; what it had done by then stays done"
    );
    assert_eq!(probe.notes(), ["told"]);
    assert_eq!(start.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_listen_is_dropped_after_a_moment() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let engine = haft_testkit::engine(&workspace).tool(sleeping(&probe));
    let session = begin(engine.settings(|settings| settings.timeout = Duration::from_secs(1)), &workspace);
    let start = Instant::now();
    let result = session.call(call("1", "Sleep", json!({ "ms": 60_000 }))).await;
    assert_eq!(kind(&result), Some(FaultKind::TimedOut));
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(probe.notes(), ["+1"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_what_runs_and_what_waits() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let engine =
        allowing(&workspace, &["Edit(**)"]).tool(waiting(Spec::new("Wait"), &probe)).tool(sleeping(&probe));
    let session = begin(engine, &workspace);
    let other = session.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        other.interrupt();
    });
    let calls = vec![
        call("1", "Wait", json!({})),
        call("2", "Sleep", json!({ "ms": 10_000, "writes": "a" })),
        call("3", "Sleep", json!({ "ms": 10, "writes": "a" })),
    ];
    let results = session.turn(calls).await;
    let texts: Vec<String> = results.iter().map(|result| result.text()).collect();
    assert_eq!(texts[0], "stopped; half is done");
    assert_eq!(texts[1], "Sleep was interrupted before it ended");
    assert_eq!(texts[2], "the turn was interrupted before this call started; nothing was done");
    assert!(results.iter().all(|result| kind(result) == Some(FaultKind::Cancelled)));
    let after = session.call(call("4", "Sleep", json!({ "ms": 1 }))).await;
    assert!(!after.is_error(), "the next turn is not interrupted");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_blocks_interrupts_is_waited_for_once() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let spec = Spec::new("Wait").interrupt(Interrupt::Block);
    let session = begin(haft_testkit::engine(&workspace).tool(waiting(spec, &probe)), &workspace);
    for (interrupts, expected) in [(1, None), (2, Some(FaultKind::Cancelled))] {
        let other = session.clone();
        tokio::spawn(async move {
            for _ in 0..interrupts {
                tokio::time::sleep(Duration::from_secs(1)).await;
                other.interrupt();
            }
        });
        let result = session.call(call("1", "Wait", json!({}))).await;
        assert_eq!(kind(&result), expected, "after {interrupts} interrupts");
    }
}

#[tokio::test]
async fn a_panic_is_a_result_that_does_not_repeat_its_words() {
    let workspace = Workspace::new("");
    let session = begin(haft_testkit::engine(&workspace).tool(panicking()), &workspace);
    let result = session.call(call("1", "Panic", json!({}))).await;
    assert_eq!(kind(&result), Some(FaultKind::Internal));
    assert_eq!(result.text(), "the tool Panic broke while it ran; use another way");
}

#[tokio::test]
async fn a_tool_that_breaks_over_its_effects_is_a_result_too() {
    let workspace = Workspace::new("");
    let broken = tool("Broken")
        .effects(|_: &Nothing| panic!("secret words"))
        .call(|_: Nothing, _| async { Ok(Reply::text("")) });
    let liar = ToolBuilder::of(Spec::new("Liar").toolset("readonly"))
        .effects(|_: &Nothing| Effects::writes("/etc/passwd"))
        .call(|_: Nothing, _| async { Ok(Reply::text("")) });
    let vague = tool("Vague")
        .effects(|_: &Nothing| Effects::reads("relative"))
        .call(|_: Nothing, _| async { Ok(Reply::text("")) });
    let session = begin(haft_testkit::engine(&workspace).tool(broken).tool(liar).tool(vague), &workspace);
    for tool in ["Broken", "Liar", "Vague"] {
        let result = session.call(call("1", tool, json!({}))).await;
        assert_eq!(kind(&result), Some(FaultKind::Internal), "{tool}: {}", result.text());
    }
}

fn flaky(effects: fn() -> Effects, failures: u32) -> (SharedTool, Arc<AtomicU32>) {
    let tries = Arc::new(AtomicU32::new(0));
    let counter = tries.clone();
    let flaky = tool("Flaky").effects(move |_: &Nothing| effects()).call(move |_: Nothing, _| {
        let attempt = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            if attempt < failures {
                return Err(Fault::unavailable("the service is busy"));
            }
            Ok(Reply::text("done"))
        }
    });
    (flaky, tries)
}

#[tokio::test(start_paused = true)]
async fn a_transient_fault_is_tried_three_times_where_that_is_harmless() {
    let workspace = Workspace::new("");
    for (effects, failures, tried, error) in [
        (Effects::none as fn() -> Effects, 2, 3, false),
        (Effects::none, 3, 3, true),
        (|| Effects::writes("/nowhere/x"), 1, 1, true),
        (Effects::unknown, 1, 1, true),
    ] {
        let (tool, tries) = flaky(effects, failures);
        let session = begin(allowing(&workspace, &["Flaky", "Edit"]).tool(tool), &workspace);
        let start = Instant::now();
        let result = session.call(call("1", "Flaky", json!({}))).await;
        assert_eq!((tries.load(Ordering::Relaxed), result.is_error()), (tried, error), "{}", result.text());
        assert_eq!(result.meta.attempts, tried);
        assert!(start.elapsed() <= Duration::from_secs(3));
        assert_eq!(start.elapsed() > Duration::from_millis(400), tried > 1);
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_live_turn_ends_its_calls() {
    let workspace = Workspace::new("");
    let probe = Probe::default();
    let session = begin(haft_testkit::engine(&workspace).tool(sleeping(&probe)), &workspace);
    let turn = session.live_turn();
    turn.push(call("1", "Sleep", json!({ "ms": 1000 }))).unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    drop(turn);
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(probe.notes(), ["+1"]);
}
