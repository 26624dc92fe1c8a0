//! Hooks in the user's settings, through the binary.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::kit::Place;

/// A place whose user has these settings. `HOOKS` in them is the directory of the scripts.
fn place(settings: &str, scripts: &[(&str, &str)]) -> Place {
    let place = Place::new("-- project/a.txt\none\n");
    let (hooks, config) = (place.path("hooks"), place.path("config/haft"));
    fs::create_dir_all(&hooks).unwrap();
    fs::create_dir_all(&config).unwrap();
    for (name, text) in scripts {
        fs::write(hooks.join(name), text).unwrap();
        fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let settings = settings.replace("HOOKS", &hooks.display().to_string());
    fs::write(config.join("haft.toml"), settings).unwrap();
    place
}

const GUARD: &str = r#"#!/usr/bin/env python3
import json, sys
data = json.load(sys.stdin)
if "rm -rf" in data["tool_input"].get("command", ""):
    print("rm -rf is not allowed here", file=sys.stderr)
    sys.exit(2)
"#;

fn write(path: &str) -> String {
    json!({ "file_path": path, "content": "x" }).to_string()
}

#[test]
fn a_hook_blocks_a_command_and_the_model_reads_why() {
    let settings = "[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = \"HOOKS/guard.py\"\n";
    let place = place(settings, &[("guard.py", GUARD)]);
    let run = |command: &str| {
        let input = json!({ "command": command }).to_string();
        place.haft(&["call", "Bash", &input, "--allow", "Bash", "--json"])
    };
    let refused = run("rm -rf /tmp/nothing").expect(3, "").json();
    assert_eq!(refused["fault"]["refusal"], "hook");
    assert!(refused["blocks"][0]["text"].as_str().unwrap().contains("rm -rf is not allowed here"));
    assert_eq!(refused["decision"]["verdict"], "deny");
    assert_eq!(refused["decision"]["hooks"][0]["reason"], "rm -rf is not allowed here");
    let ran = run("echo fine").expect(0, "").json();
    assert_eq!(ran["blocks"][0]["text"], "fine");
}

#[test]
fn a_hook_changes_the_input_and_the_result_says_so() {
    let answer = r#"#!/bin/bash
echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"file_path":"b.txt","content":"y"}}}'
"#;
    let settings = "[[hooks.PreToolUse]]\nmatcher = \"Write\"\nhooks = [{ type = \"command\", command = \"HOOKS/c.sh\" }]";
    let place = place(settings, &[("c.sh", answer)]);
    let told = place
        .haft(&["call", "Write", &write("n.txt"), "--mode", "accept-edits", "--json"])
        .expect(0, "")
        .json();
    assert_eq!(told["meta"]["hooks"][0]["changed_input"], true);
    assert_eq!(fs::read_to_string(place.path("project/b.txt")).unwrap(), "y");
    assert!(!place.path("project/n.txt").exists());
    // The rules hold for the changed input.
    fs::remove_file(place.path("project/b.txt")).unwrap();
    let arguments = ["call", "Write", &write("n.txt"), "--mode", "accept-edits", "--deny", "Edit(b.txt)"];
    place.haft(&arguments).expect(3, "");
    assert!(!place.path("project/b.txt").exists());
}

#[test]
fn a_session_begins_with_words_and_an_edit_ends_with_some() {
    let settings = r#"
        [[hooks.SessionStart]]
        command = "echo the branch is main"
        [[hooks.PostToolUse]]
        matcher = "Edit|Write"
        command = '''echo '{"hookSpecificOutput":{"additionalContext":"formatted"}}' '''
        [[hooks.SessionEnd]]
        command = "cat > HOOKS/end.json"
    "#;
    let place = place(settings, &[]);
    let told = place
        .haft(&["call", "Write", &write("n.txt"), "--mode", "accept-edits", "--json"])
        .expect(0, "")
        .json();
    assert_eq!(told["messages"], json!(["the branch is main", "formatted"]));
    let end: Value = serde_json::from_slice(&fs::read(place.path("hooks/end.json")).unwrap()).unwrap();
    assert_eq!((&end["hook_event_name"], &end["session_id"]), (&json!("SessionEnd"), &told["session"]));
}

#[test]
fn a_hook_answers_where_nobody_can_be_asked() {
    let answer = r#"#!/bin/bash
echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'
"#;
    let settings = "[[hooks.PermissionRequest]]\nmatcher = \"Write\"\ncommand = \"HOOKS/yes.sh\"";
    let place = place(settings, &[("yes.sh", answer)]);
    place.haft(&["call", "Write", &write("n.txt")]).expect(0, "");
    place.haft(&["call", "Write", &write("m.txt"), "--ask", "Edit(m.txt)"]).expect(3, "");
    place.haft(&["call", "Write", &write("m.txt"), "--deny", "Edit(m.txt)"]).expect(3, "");
}

#[test]
fn a_hook_that_breaks_or_hangs_is_told_to_the_person_and_the_call_goes_on() {
    let settings = r#"
        [[hooks.PreToolUse]]
        command = "echo oops >&2; exit 1"
        [[hooks.PreToolUse]]
        command = "sleep 60"
        timeout_s = 0.2
    "#;
    let place = place(settings, &[]);
    let ran = place
        .haft(&["call", "List"])
        .expect(0, "PreToolUse `echo oops >&2; exit 1`: the hook ended with exit code 1: oops");
    assert!(ran.err.contains("took longer than 0.2 s"), "{}", ran.err);
    place.haft(&["call", "List", "-q"]).expect(0, "");
    let strict = "hooks.on_failure = \"block\"\nhooks.PreToolUse = [{ command = \"exit 1\" }]";
    fs::write(place.path("config/haft/haft.toml"), strict).unwrap();
    place.haft(&["call", "List", "-q"]).expect(3, "");
}

#[test]
fn a_stream_shows_what_hooks_say() {
    let settings =
        "[[hooks.PostToolUse]]\ncommand = '''echo '{\"continue\":false,\"stopReason\":\"enough\"}' '''";
    let place = place(settings, &[]);
    let calls = r#"[{"type":"tool_use","id":"t1","name":"List","input":{}},
                    {"type":"tool_use","id":"t2","name":"Write","input":{"file_path":"n.txt","content":"x"}}]"#;
    let ran = place.haft_with(&["turn", "--stream", "--mode", "accept-edits"], calls);
    let ran = ran.expect(0, "stops the turn: enough");
    let lines = ran.lines();
    let said = lines.iter().find(|line| line["type"] == "hook").expect("a hook's words");
    assert_eq!((&said["call"], &said["said"]["stop"]), (&json!("t1"), &json!("enough")));
    let last = lines.last().unwrap()["message"].to_string();
    assert!(last.contains("stopped the turn"), "{last}");
    assert!(!place.path("project/n.txt").exists());
}

#[test]
fn the_doctor_lists_hooks_and_mistakes_in_them_are_told() {
    let place = place("[[hooks.PreToolUse]]\nmatcher = \"Bash\"\ncommand = \"guard.py\"", &[]);
    let told = place.haft(&["doctor"]);
    assert!(told.out.contains("hook     PreToolUse Bash: guard.py"), "{told:?}");
    assert_eq!(place.haft(&["doctor", "--json"]).json()["hooks"][0]["command"], "guard.py");
    fs::write(place.path("config/haft/haft.toml"), "\n[[hooks.PreToolUs]]\ncommand = \"x\"").unwrap();
    place
        .haft(&["call", "List"])
        .expect(2, "haft.toml:2: hooks.PreToolUs: there is no such event; did you mean `PreToolUse`?");
}

#[test]
fn a_hook_reads_no_secrets_and_its_words_hold_none() {
    let settings = r#"
        [[hooks.PreToolUse]]
        command = "cat > HOOKS/read.json; echo token $MY_API_TOKEN >&2; exit 2"
    "#;
    let place = place(settings, &[]);
    let input = json!({ "command": "echo 7Yq-nine-lives-4411" }).to_string();
    let mut haft = place.command(&["call", "Bash", &input, "--allow", "Bash"]);
    let output = haft.env("MY_API_TOKEN", "7Yq-nine-lives-4411").output().unwrap();
    let ran = crate::kit::Ran::of(&output).expect(3, "");
    let read = fs::read_to_string(place.path("hooks/read.json")).unwrap();
    for text in [&read, &ran.out] {
        assert!(text.contains("[redacted") && !text.contains("nine-lives"), "{text}");
    }
}
