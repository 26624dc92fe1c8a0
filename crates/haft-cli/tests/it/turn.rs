//! `haft turn`.

use std::{
    io::{BufRead, BufReader, Write},
    process::Child,
};

use serde_json::{Value, json};

use crate::kit::Place;

fn place() -> Place {
    Place::new("-- project/a.txt\none\n-- project/b.txt\ntwo\n")
}

#[track_caller]
fn check(dialect: &str, message: &Value, expected: &Value) {
    let place = place();
    let detected = place.haft_with(&["turn"], &message.to_string()).expect(0, "");
    assert_eq!(detected.json(), *expected);
    place.files.write("project/message.json", message.to_string().as_bytes());
    let told = place.haft(&["turn", "message.json", "--dialect", dialect]).expect(0, "");
    assert_eq!(told.out, detected.out);
}

#[test]
fn all_four_dialects_are_answered_in_kind() {
    check(
        "anthropic",
        &json!({ "role": "assistant", "content": [
            { "type": "text", "text": "Let me see." },
            { "type": "tool_use", "id": "t1", "name": "Read", "input": { "file_path": "a.txt" } },
            { "type": "tool_use", "id": "t2", "name": "Raed", "input": {} },
        ] }),
        &json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t1", "content": [{ "type": "text", "text": "     1\tone\n" }] },
            { "type": "tool_result", "tool_use_id": "t2", "is_error": true, "content": [
                { "type": "text", "text": "there is no tool `Raed`; did you mean Read?" }] },
        ] }),
    );
    check(
        "openai",
        &json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c1", "type": "function", "function": { "name": "Read", "arguments": "{\"file_path\":\"a.txt\"}" } },
        ] }),
        &json!([{ "role": "tool", "tool_call_id": "c1", "content": "     1\tone\n" }]),
    );
    check(
        "responses",
        &json!({ "output": [
            { "type": "function_call", "call_id": "c1", "name": "Read", "arguments": "{\"file_path\":\"a.txt\"}" },
        ] }),
        &json!([{ "type": "function_call_output", "call_id": "c1", "output": "     1\tone\n" }]),
    );
    check(
        "gemini",
        &json!({ "candidates": [{ "content": { "role": "model", "parts": [
            { "functionCall": { "name": "Read", "args": { "file_path": "a.txt" } } },
        ] } }] }),
        &json!({ "role": "user", "parts": [
            { "functionResponse": { "name": "Read", "response": { "output": "     1\tone\n" } } },
        ] }),
    );
}

#[test]
fn what_is_no_message_is_exit_2_with_nothing_on_stdout() {
    let place = place();
    for (input, words) in [
        ("", "stdin: there is no message"),
        ("{\"role\": ", "stdin: not a JSON message: EOF while parsing a value at line 1"),
        ("{} {}", "trailing characters"),
        ("3", "stdin: no API writes such a message"),
        (r#"[{"type":"tool_use","name":"Read"}]"#, "expected an object with `id`"),
    ] {
        assert_eq!(place.haft_with(&["turn"], input).expect(2, words).out, "", "{input}");
    }
    place.haft(&["turn", "missing.json"]).expect(2, "missing.json: No such file");
    place
        .haft(&["turn", "--dialect", "latin"])
        .expect(2, "[possible values: anthropic, openai, responses, gemini]");
    place.haft_with(&["turn", "--stream"], "").expect(2, "stdin: there is no message");
    place.haft_with(&["turn", "--stream"], "{").expect(2, "not a sequence of JSON values");
}

#[test]
fn a_lone_surrogate_does_not_spoil_the_message() {
    let message = r#"[{"type":"tool_use","id":"t1","name":"Stat","input":{"path":"\ud800"}}]"#;
    let ran = place().haft_with(&["turn"], message).expect(0, "");
    assert!(ran.out.contains("nothing is there"), "{ran:?}");
    let calls = r#"{"type":"tool_use","id":"t1","name":"Stat","input":{"path":"\ud800"}}
        {"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"a.txt"}}"#;
    let lines = place().haft_with(&["turn", "--stream"], calls).expect(0, "").lines();
    assert_eq!(lines.last().unwrap()["message"]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn a_stream_ends_with_the_message() {
    let message = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "t1", "name": "Read", "input": { "file_path": "a.txt" } },
        { "type": "tool_use", "id": "t2", "name": "Nope", "input": {} },
    ] });
    let lines = place().haft_with(&["turn", "--stream"], &message.to_string()).expect(0, "").lines();
    let of = |call: &str| -> Vec<&str> {
        lines.iter().filter(|line| line["call"] == call).map(|line| line["type"].as_str().unwrap()).collect()
    };
    assert_eq!((of("t1"), of("t2")), (vec!["queued", "started", "finished"], vec!["finished"]));
    let last = lines.last().unwrap();
    assert_eq!((&last["type"], &last["dialect"]), (&json!("message"), &json!("anthropic")));
    assert_eq!(last["message"]["content"].as_array().unwrap().len(), 2);
}

#[test]
fn a_read_starts_before_the_input_ends() {
    let place = place();
    let mut child = place.command(&["turn", "--stream"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let block = |id: &str, file: &str| {
        json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "file_path": file } }).to_string()
    };
    stdin.write_all(block("t1", "a.txt").as_bytes()).unwrap();
    // stdin is still open: what comes now comes before its end.
    let mut line = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(
        [line()["type"].take(), line()["type"].take(), line()["type"].take()],
        ["queued", "started", "finished"]
    );
    stdin.write_all(block("t2", "b.txt").as_bytes()).unwrap();
    drop(stdin);
    assert_eq!([line()["call"].take(), line()["call"].take(), line()["call"].take()], ["t2", "t2", "t2"]);
    let last = line();
    assert_eq!(last["message"]["content"][1]["content"][0]["text"], "     1\ttwo\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn broken_input_in_the_middle_of_a_stream_is_exit_2_without_a_message() {
    let input = r#"{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.txt"}} {"type":"#;
    let ran = place().haft_with(&["turn", "--stream"], input).expect(2, "not a sequence of JSON values");
    assert!(ran.lines().iter().all(|line| line["type"] != "message"), "{ran:?}");
}

#[test]
fn ctrl_c_still_gives_every_call_its_result() {
    let place = place();
    let mut child = place.command(&["turn", "--stream"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    stdin.write_all(br#"{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.txt"}}"#).unwrap();
    // Once it has finished, the turn waits for more input: that is when the user loses patience.
    while !lines.next().unwrap().unwrap().contains("\"finished\"") {}
    interrupt(&child);
    let last: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(last["message"]["content"][0]["tool_use_id"], "t1");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

fn interrupt(child: &Child) {
    let id = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
}

#[test]
fn a_long_message_is_no_trouble() {
    let calls: Vec<Value> = (0..500)
        .map(|n| json!({ "type": "tool_use", "id": format!("t{n}"), "name": "Stat", "input": { "path": "a.txt" } }))
        .collect();
    let mut message = json!({ "role": "assistant", "content": calls });
    message["padding"] = "x".repeat(8 << 20).into();
    let answer = place().haft_with(&["turn"], &message.to_string()).expect(0, "").json();
    assert_eq!(answer["content"].as_array().unwrap().len(), 500);
}
