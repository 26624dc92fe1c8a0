//! Hooks that hang, flood, break and leave things behind: a call survives them, and says so.

use std::{
    fs,
    time::{Duration, Instant},
};

use haft_tool::{FaultKind, Refusal};
use serde_json::{Value, json};

use crate::kit::{Place, call, notices, refusal, runs, until};

fn before(command: &str, more: Value) -> Value {
    let mut hook = json!({ "command": command });
    hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "PreToolUse": [hook] })
}

async fn list(hooks: &Value) -> (haft_engine::result::ToolResult, Duration) {
    let place = Place::new("-- a.txt\nx\n");
    let started = Instant::now();
    let result = call(&place.session(hooks, &[]), "List", json!({})).await;
    (result, started.elapsed())
}

#[tokio::test]
async fn a_hook_that_hangs_is_ended_with_all_that_it_started() {
    let command = "trap '' TERM; sleep 86411.25 & sleep 86411.25";
    let (result, took) = list(&before(command, json!({ "timeout": 0.2 }))).await;
    assert!(!result.is_error(), "{}", result.text());
    assert_eq!(notices(&result), "the hook took longer than 0.2 s and was ended");
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert!(until(|| !runs("86411.25")).await, "an orphan is left");
}

#[tokio::test]
async fn a_hook_that_hangs_blocks_where_the_settings_say_so() {
    let (result, _) = list(&before("sleep 60", json!({ "timeout": 0.1, "on_failure": "block" }))).await;
    assert_eq!(refusal(&result), Some(Refusal::Hook));
    assert!(result.text().contains("could not be asked"), "{}", result.text());
}

#[tokio::test]
async fn a_hook_that_breaks_is_the_persons_business_not_the_models() {
    for (command, expected) in [
        ("echo oops >&2; exit 1", "the hook ended with exit code 1: oops"),
        ("/no/such/program", "the hook ended with exit code 127"),
        ("kill -9 $$", "the hook did not end by itself: ended by SIGKILL"),
        ("echo '{\"decision\":'", "the hook printed what is not JSON"),
    ] {
        let (result, _) = list(&before(command, json!({}))).await;
        assert!(!result.is_error(), "{}", result.text());
        assert!(notices(&result).starts_with(expected), "{command}: {}", notices(&result));
        assert!(!result.text().contains("oops") && result.messages.is_empty());
    }
}

#[tokio::test]
async fn a_hook_that_floods_is_read_to_a_limit() {
    let (result, took) = list(&before("head -c 3000000 /dev/zero | tr '\\0' x; exit 0", json!({}))).await;
    assert_eq!((result.is_error(), notices(&result).as_str()), (false, ""));
    let (result, _) = list(&before("yes", json!({ "timeout": 20 }))).await;
    assert!(notices(&result).contains("wrote more than 64 MB"), "{}", notices(&result));
    let json = "printf '{\"systemMessage\":\"'; head -c 2000000 /dev/zero | tr '\\0' x; printf '\"}'";
    let (result, _) = list(&before(json, json!({}))).await;
    assert_eq!(notices(&result), "the hook printed more JSON than is read", "{took:?}");
    let reason = "head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 2";
    let (result, _) = list(&before(reason, json!({}))).await;
    assert_eq!(refusal(&result), Some(Refusal::Hook));
    assert!(result.text().len() < 11_000 && result.text().contains("left out"));
}

#[tokio::test]
async fn a_hook_that_never_reads_its_input_keeps_nobody_waiting() {
    let place = Place::new("");
    let content = "x".repeat(10 << 20);
    for command in ["true", "exec <&-; sleep 0.05", "head -c 10 >/dev/null"] {
        let session = place.session(&before(command, json!({})), &[]);
        let written = call(&session, "Write", json!({ "file_path": "big", "content": content })).await;
        assert!(!written.is_error(), "{command}: {}", written.text());
        assert_eq!(notices(&written), "", "{command}");
        fs::remove_file(place.files.root().join("big")).unwrap();
    }
}

#[tokio::test]
async fn a_hook_that_leaves_a_grandchild_leaves_none() {
    let (result, took) = list(&before("setsid sleep 86412.75 >/dev/null 2>&1 & exit 0", json!({}))).await;
    assert!(!result.is_error());
    assert!(until(|| !runs("86412.75")).await, "an orphan is left");
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test]
async fn an_interrupt_ends_the_call_and_its_hook() {
    let place = Place::new("");
    let session = place.session(&before("sleep 86413.5", json!({})), &[]);
    let running = session.clone();
    let turn = tokio::spawn(async move { call(&running, "List", json!({})).await });
    assert!(until(|| runs("86413.5")).await);
    session.interrupt();
    assert_eq!(turn.await.unwrap().fault.unwrap().kind, FaultKind::Cancelled);
    assert!(until(|| !runs("86413.5")).await, "an orphan is left");
}

#[tokio::test]
async fn nobody_waits_for_a_hook_in_the_background_until_the_session_ends() {
    let place = Place::new("");
    let made = place.beside("made");
    let command = format!("sleep 0.3; echo done > {}; exit 2", made.display());
    let session = place.session(&before(&command, json!({ "async": true })), &[]);
    let started = Instant::now();
    let result = call(&session, "List", json!({})).await;
    assert!(!result.is_error() && started.elapsed() < Duration::from_millis(290));
    session.ends("other").await;
    assert!(made.exists());
}

#[tokio::test]
async fn a_hook_can_be_confined() {
    let place = Place::new("");
    let outside = place.beside("outside");
    let command = format!("echo x > inside; echo x > {}", outside.display());
    let hooks = before(&command, json!({ "sandbox": true }));
    let result = call(&place.session(&hooks, &[]), "List", json!({})).await;
    assert!(!outside.exists(), "{}", notices(&result));
    assert!(place.files.root().join("inside").exists(), "{}", notices(&result));
}

#[tokio::test]
async fn a_guard_that_also_writes_a_log_is_a_guard() {
    let command = r#"echo "checking the call"; echo '{"decision":"block","reason":"not on a Friday"}'"#;
    let (result, _) = list(&before(command, json!({}))).await;
    assert_eq!(refusal(&result), Some(Refusal::Hook));
    assert!(result.text().contains("not on a Friday"), "{}", result.text());
    assert!(notices(&result).contains("printed other words beside its JSON"), "{}", notices(&result));
}
