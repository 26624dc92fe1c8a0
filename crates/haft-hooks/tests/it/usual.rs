//! Hooks as people write them: they run unchanged.

use std::fs;

use haft_tool::{FaultKind, Refusal};
use serde_json::{Value, json};

use crate::kit::{Place, call, notices, refusal};

/// Reads JSON from stdin, refuses one kind of command by JSON on stdout.
const PYTHON: &str = r#"#!/usr/bin/env python3
import json, re, sys

data = json.load(sys.stdin)
if data.get("tool_name") != "Bash":
    sys.exit(0)
command = data["tool_input"].get("command", "")
if re.search(r"\brm\s+-[a-z]*r[a-z]*f", command):
    print(json.dumps({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "rm -rf is not for " + data["permission_mode"],
        }
    }))
sys.exit(0)
"#;

#[tokio::test]
async fn a_python_hook_refuses_a_command_with_json() {
    let place = Place::new("");
    let guard = place.script("guard.py", PYTHON);
    let hooks =
        json!({ "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": guard }] }] });
    let session = place.session(&hooks, &["Bash"]);
    let refused = call(&session, "Bash", json!({ "command": "rm -rf build" })).await;
    assert_eq!(refusal(&refused), Some(Refusal::Hook), "{}", refused.text());
    assert!(refused.text().contains("rm -rf is not for acceptEdits"), "{}", refused.text());
    let ran = call(&session, "Bash", json!({ "command": "echo fine" })).await;
    assert_eq!((ran.text().trim(), notices(&ran).as_str()), ("fine", ""));
}

/// No JSON at all: greps its stdin and exits.
const GREP: &str = r#"#!/bin/bash
if grep -q '"file_path":"[^"]*\.lock"'; then
  echo "lock files are made by the package manager" >&2
  exit 2
fi
"#;

#[tokio::test]
async fn a_shell_hook_refuses_by_its_exit_code() {
    let place = Place::new("");
    let guard = place.script("guard.sh", GREP);
    let session =
        place.session(&json!({ "PreToolUse": [{ "matcher": "Edit|Write", "command": guard }] }), &[]);
    let refused = call(&session, "Write", json!({ "file_path": "yarn.lock", "content": "x" })).await;
    assert!(refused.text().contains("made by the package manager"), "{}", refused.text());
    assert!(!place.files.root().join("yarn.lock").exists());
    let written = call(&session, "Write", json!({ "file_path": "a.txt", "content": "x" })).await;
    assert!(!written.is_error(), "{}", written.text());
}

#[tokio::test]
async fn a_hook_changes_what_is_written() {
    let place = Place::new("");
    let change = place.script(
        "change.sh",
        r#"#!/bin/bash
input=$(cat)
path=$(printf %s "$input" | sed 's/.*"file_path":"\([^"]*\)".*/\1/')
printf '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",'
printf '"updatedInput":{"file_path":"%s.new","content":"changed"}}}' "$path"
"#,
    );
    let session = place.session(&json!({ "PreToolUse": [{ "matcher": "Write", "command": change }] }), &[]);
    let written = call(&session, "Write", json!({ "file_path": "a.txt", "content": "x" })).await;
    assert!(!written.is_error(), "{}", written.text());
    assert_eq!(fs::read_to_string(place.files.root().join("a.txt.new")).unwrap(), "changed");
    assert!(!place.files.root().join("a.txt").exists());
    let meta = serde_json::to_value(&written.meta).unwrap();
    assert_eq!(meta["hooks"][0]["changed_input"], true);
}

#[tokio::test]
async fn a_hook_adds_context_after_an_edit_and_objects_to_another() {
    let place = Place::new("-- a.txt\none\n");
    let format = place.script(
        "format.sh",
        r#"#!/bin/bash
cd "$CLAUDE_PROJECT_DIR" || exit 1
[ "$CLAUDE_PROJECT_DIR" = "$HAFT_PROJECT_DIR" ] || exit 1
if grep -q two a.txt; then
  echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"a.txt was formatted"}}'
else
  echo "a.txt: unexpected number" >&2
  exit 2
fi
"#,
    );
    let session = place.session(&json!({ "PostToolUse": [{ "matcher": "Write", "command": format }] }), &[]);
    call(&session, "Read", json!({ "file_path": "a.txt" })).await;
    let good = call(&session, "Write", json!({ "file_path": "a.txt", "content": "two\n" })).await;
    assert_eq!(good.messages, ["a.txt was formatted"], "{}", notices(&good));
    let bad = call(&session, "Write", json!({ "file_path": "a.txt", "content": "three\n" })).await;
    assert!(!bad.is_error(), "it has happened");
    assert!(bad.messages[0].ends_with("a.txt: unexpected number"), "{:?}", bad.messages);
}

/// Keeps what it was told.
const KEEP: &str = "#!/bin/bash\ncat >> \"$0.log\"\n";

fn told(place: &Place) -> Vec<Value> {
    let log = fs::read_to_string(place.beside("keep.sh.log")).unwrap();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn every_moment_is_told_with_the_fields_of_the_convention() {
    let place = Place::new("");
    let keep = place.script("keep.sh", KEEP);
    let one = json!([{ "command": keep }]);
    let hooks = json!({ "PreToolUse": one, "PostToolUse": one, "PostToolUseFailure": one,
        "PermissionRequest": one, "PermissionDenied": one, "SessionStart": one, "SessionEnd": one });
    let session = place.session(&hooks, &["Bash"]);
    session.starts("startup").await;
    call(&session, "Bash", json!({ "command": "echo hi" })).await;
    call(&session, "Bash", json!({ "command": "echo bad; exit 3" })).await;
    let denied = call(&session, "Write", json!({ "file_path": "/elsewhere/x", "content": "" })).await;
    assert_eq!(denied.fault.unwrap().kind, FaultKind::Denied);
    session.ends("other").await;
    let told = told(&place);
    let names: Vec<&str> = told.iter().map(|one| one["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "SessionStart",
            "PreToolUse",
            "PostToolUse",
            "PreToolUse",
            "PostToolUseFailure",
            "PreToolUse",
            "PermissionRequest",
            "PermissionDenied",
            "SessionEnd"
        ]
    );
    assert_eq!(
        (&told[1]["trace"]["verdict"], &told[5]["trace"]["verdict"]),
        (&json!("allow"), &json!("ask"))
    );
    let post = &told[2];
    assert_eq!((&post["tool_name"], &post["tool_use_id"]), (&json!("Bash"), &json!("call_1")));
    assert_eq!(post["tool_input"]["command"], "echo hi");
    assert_eq!(post["tool_response"]["stdout"].as_str().unwrap().trim(), "hi");
    assert_eq!(post["cwd"], place.files.root().to_str().unwrap());
    assert!(told[4]["error"].as_str().unwrap().contains("exit code 3"));
    assert_eq!(told[6]["tool_input"]["file_path"], "/elsewhere/x");
    assert!(told[7]["reason"].as_str().unwrap().contains("Nobody is there"));
}

#[tokio::test]
async fn a_hook_answers_in_the_place_of_the_person() {
    let place = Place::new("");
    let outside = place.beside("out.txt");
    let answer = place.script(
        "answer.sh",
        "#!/bin/bash\necho '{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\
         \"decision\":{\"behavior\":\"allow\"}}}'\n",
    );
    let session =
        place.session(&json!({ "PermissionRequest": [{ "matcher": "Write", "command": answer }] }), &[]);
    let written = call(&session, "Write", json!({ "file_path": outside, "content": "x" })).await;
    assert!(!written.is_error(), "{}", written.text());
    let protected = call(&session, "Write", json!({ "file_path": ".git/hooks/x", "content": "x" })).await;
    assert_eq!(refusal(&protected), Some(Refusal::NobodyThere), "{}", protected.text());
}

#[tokio::test]
async fn a_condition_narrows_a_hook_to_what_its_rule_speaks_of() {
    let place = Place::new("");
    let hooks = json!({ "PreToolUse": [
        { "matcher": "Bash", "command": "echo no pushing >&2; exit 2", "if": "Bash(git push:*)" }] });
    let session = place.session(&hooks, &["Bash"]);
    for (command, is_refused) in [
        ("echo git push", false),
        ("git push", true),
        ("cd / && git push origin", true),
        ("eval \"$(echo git push)\"", true),
    ] {
        let result = call(&session, "Bash", json!({ "command": command })).await;
        assert_eq!(refusal(&result) == Some(Refusal::Hook), is_refused, "{command}: {}", result.text());
    }
}

#[tokio::test]
async fn what_must_not_leave_is_taken_out_before_a_hook_reads_it() {
    let place = Place::new("");
    let keep = place.script("keep.sh", KEEP);
    let hooks = place.hooks(&json!({ "PreToolUse": [{ "command": keep }] }));
    let hooks = hooks.filtered_by(|input| input["tool_input"]["command"] = "***".into());
    let session = place.begin(place.engine(&["Bash"]).hook(hooks));
    let result = call(&session, "Bash", json!({ "command": "echo secret" })).await;
    assert_eq!(result.text().trim(), "secret");
    assert_eq!(told(&place)[0]["tool_input"]["command"], "***");
}

#[tokio::test]
async fn an_input_that_was_read_without_its_secrets_is_not_taken_back() {
    let place = Place::new("");
    let answer =
        r#"{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"echo ***"}}}"#;
    let hooks = place.hooks(&json!({ "PreToolUse": [{ "command": format!("echo '{answer}'") }] }));
    let hooks = hooks.filtered_by(|input| {
        if input["tool_input"]["command"] == "echo secret" {
            input["tool_input"]["command"] = "echo ***".into();
        }
    });
    let session = place.begin(place.engine(&["Bash"]).hook(hooks));
    let refused = call(&session, "Bash", json!({ "command": "echo secret" })).await;
    assert_eq!(refusal(&refused), Some(Refusal::Hook), "{}", refused.text());
    let ran = call(&session, "Bash", json!({ "command": "echo plain" })).await;
    assert_eq!(ran.text().trim(), "***", "nothing was taken out of this one");
}

#[tokio::test]
async fn hooks_run_beside_each_other_and_the_same_command_once() {
    let place = Place::new("");
    let wait = |command: &str| json!({ "command": command });
    // Each waits for the other: one after the other they would wait for ever.
    let (a, b) = (place.beside("a"), place.beside("b"));
    let meet = |own: &std::path::Path, other: &std::path::Path| {
        let (own, other) = (own.display(), other.display());
        format!("echo x >> {own}; for i in $(seq 500); do [ -e {other} ] && exit 0; sleep 0.01; done; exit 1")
    };
    let hooks = json!({ "PreToolUse": [wait(&meet(&a, &b)), wait(&meet(&b, &a)), wait(&meet(&a, &b))] });
    let result = call(&place.session(&hooks, &["Bash"]), "Bash", json!({ "command": "true" })).await;
    assert_eq!(notices(&result), "");
    assert_eq!(fs::read_to_string(a).unwrap(), "x\n");
}
