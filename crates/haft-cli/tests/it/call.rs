//! `haft call`.

use std::{io::Read, process::Stdio};

use serde_json::json;

use crate::kit::Place;

fn place() -> Place {
    Place::new("-- project/a.txt\none\ntwo\n-- home/secret.txt\nsecret\n")
}

#[test]
fn stdout_is_what_the_model_would_see() {
    let ran = place().haft(&["call", "Read", r#"{"file_path":"a.txt"}"#]).expect(0, "");
    assert_eq!(ran.out, "     1\tone\n     2\ttwo\n");
}

#[test]
fn input_may_come_from_stdin_or_not_at_all() {
    let place = place();
    assert!(
        place.haft_with(&["call", "cat", "-"], r#"{"file_path":"a.txt"}"#).expect(0, "").out.contains("two")
    );
    assert!(place.haft(&["call", "List"]).expect(0, "").out.contains("a.txt (8 bytes)"));
}

#[test]
fn json_has_blocks_decision_and_meta() {
    let told = place()
        .haft(&["call", "Read", r#"{"file_path":"a.txt","limit":"1"}"#, "--json"])
        .expect(0, "")
        .json();
    assert_eq!(told["blocks"][0]["type"], "text");
    assert_eq!((&told["decision"]["verdict"], &told["fault"]), (&json!("allow"), &json!(null)));
    assert_eq!(told["meta"]["coerced"][0], json!({ "path": "limit", "from": "string", "to": "integer" }));
}

#[test]
fn a_failed_call_is_exit_1() {
    let place = place();
    for (tool, input, words) in [
        ("Read", r#"{"file_path":"b.txt"}"#, "it does not exist; did you mean a.txt?"),
        ("Read", r#"{"file":"a.txt"}"#, "did you mean `file_path`?"),
        ("Read", "{broken", "Read:"),
        ("Raed", "{}", "did you mean Read?"),
    ] {
        let ran = place.haft(&["call", tool, input]).expect(1, "");
        assert!(ran.out.contains(words), "{ran:?}");
    }
}

#[test]
fn a_denied_call_is_exit_3_and_says_what_would_permit_it() {
    let place = place();
    let input = json!({ "file_path": place.path("home/secret.txt") }).to_string();
    let ran = place.haft(&["call", "Read", &input]).expect(3, "");
    let rule = format!("Read(/{})", place.path("home/secret.txt").display());
    assert!(ran.out.contains("Nobody is there") && ran.out.contains(&rule), "{ran:?}");

    assert_eq!(place.haft(&["call", "Read", &input, "--allow", &rule]).expect(0, "").out, "     1\tsecret\n");
    let told = place.haft(&["call", "Read", &input, "--json", "--deny", "Read(~/**)"]).expect(3, "").json();
    assert_eq!((&told["decision"]["verdict"], &told["fault"]["refusal"]), (&json!("deny"), &json!("rule")));
    assert_eq!(told["decision"]["rule"]["origin"], "command line");
}

#[test]
fn a_deny_rule_holds_on_both_sides_of_the_command() {
    let place = place();
    let read = ["call", "Read", r#"{"file_path":"a.txt"}"#];
    let before = [&["--deny", "Read(a.txt)"][..], &read, &["--deny", "Read(b.txt)"]].concat();
    assert!(place.haft(&before).expect(3, "").out.contains("Read(a.txt)"));
}

#[test]
fn a_spilled_result_can_be_read_in_the_same_session() {
    let place = Place::new("");
    for number in 0..400 {
        place.files.write(&format!("project/a-file-with-a-long-name-{number:04}"), b"x");
    }
    place.files.write("config/haft/haft.toml", b"[limits]\nresult_bytes = 4096\npreview_bytes = 512\n");
    let ran = place.haft(&["call", "List", "{}", "--session", "s-1", "--json"]).expect(0, "");
    let path = ran.json()["meta"]["truncated"]["path"].as_str().unwrap().to_owned();
    assert!(path.starts_with(place.path("state/haft/results/s-1").to_str().unwrap()), "{path}");

    let input = json!({ "file_path": path, "offset": 300, "limit": 1 }).to_string();
    assert!(
        place.haft(&["call", "Read", &input, "--session", "s-1"]).expect(0, "").out.contains("long-name-")
    );
    place.haft(&["call", "Read", &input, "--session", "s-2"]).expect(3, "");
}

#[test]
fn a_huge_input_is_an_answer_too() {
    let input = format!(r#"{{"file_path":"{}"}}"#, "x".repeat(20 << 20));
    let ran = place().haft_with(&["call", "Read", "-"], &input);
    assert_eq!(ran.code, 1, "{}", ran.err);
    place().haft_with(&["call", "Read", "-"], &"[".repeat(1 << 20)).expect(1, "");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = place();
    let mut command = place.command(&["call", "List"]);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

#[test]
fn talk_is_on_stderr_only() {
    let ran = place().haft(&["call", "Read", r#"{"file_path":"a.txt"}"#, "-v"]).expect(0, "mode default");
    assert_eq!(ran.out, "     1\tone\n     2\ttwo\n");
    assert!(ran.err.contains("allow: it changes nothing"), "{ran:?}");
}
