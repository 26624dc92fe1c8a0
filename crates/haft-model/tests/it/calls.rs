//! What is read from a model's message, and what is said when it cannot be.

use haft_engine::turn::{Arguments, Call};
use haft_model::Dialect;
use serde_json::{Value, json};

fn show(call: &Call) -> String {
    match &call.input {
        Arguments::Text(text) => format!("{} {} text {text}", call.id, call.name),
        Arguments::Value(value) => format!("{} {} {value}", call.id, call.name),
    }
}

#[track_caller]
fn check(dialect: Dialect, message: Value, expected: &[&str]) {
    let calls = dialect.calls(&message).expect("a message of this dialect");
    let shown: Vec<String> = calls.iter().map(show).collect();
    assert_eq!(shown, expected);
}

#[track_caller]
fn check_error(dialect: Dialect, message: Value, expected: &str) {
    let err = dialect.calls(&message).expect_err("no message of this dialect");
    assert_eq!(err.to_string(), expected);
}

#[test]
fn anthropic_calls_are_blocks() {
    let content = json!([
        { "type": "thinking", "thinking": "hm", "signature": "x" },
        { "type": "text", "text": "Let me look." },
        { "type": "tool_use", "id": "toolu_1", "name": "Read", "input": { "path": "a" } },
        { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} },
        { "type": "tool_use", "id": "toolu_2", "name": "Now" },
        { "type": "tool_use", "id": "toolu_3", "name": "Read", "input": "{\"path\":" },
        { "type": "tool_use", "id": "toolu_4", "name": "Read", "input": [1] },
    ]);
    let expected = [
        r#"toolu_1 Read {"path":"a"}"#,
        "toolu_2 Now {}",
        r#"toolu_3 Read text {"path":"#,
        "toolu_4 Read [1]",
    ];
    check(Dialect::Anthropic, content.clone(), &expected);
    check(
        Dialect::Anthropic,
        json!({ "type": "message", "role": "assistant", "content": content }),
        &expected,
    );
    check(Dialect::Anthropic, json!({ "role": "assistant", "content": "just words" }), &[]);
    check(Dialect::Anthropic, json!([]), &[]);
}

#[test]
fn chat_calls_stand_beside_the_text() {
    let tool_calls = json!([
        { "id": "a", "type": "function", "function": { "name": "Read", "arguments": "{\"path\":\"a\"}" } },
        { "id": "b", "function": { "name": "Now", "arguments": "" } },
        { "id": "c", "function": { "name": "Now", "arguments": { "in": "UTC" } } },
    ]);
    let expected = [r#"a Read text {"path":"a"}"#, "b Now text ", r#"c Now {"in":"UTC"}"#];
    let message =
        json!({ "role": "assistant", "content": null, "function_call": null, "tool_calls": tool_calls });
    check(Dialect::OpenAi, json!({ "choices": [{ "index": 0, "message": message }] }), &expected);
    check(Dialect::OpenAi, message, &expected);
    check(Dialect::OpenAi, tool_calls, &expected);
    check(Dialect::OpenAi, json!({ "role": "assistant", "content": "hi", "tool_calls": null }), &[]);
}

#[test]
fn responses_calls_are_items() {
    let output = json!([
        { "type": "reasoning", "id": "rs_1", "summary": [] },
        { "type": "function_call", "id": "fc_1", "call_id": "call_x", "name": "Read", "arguments": "{}" },
        { "type": "web_search_call", "id": "ws_1", "status": "completed" },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "hi" }] },
    ]);
    check(Dialect::Responses, json!({ "object": "response", "output": output }), &["call_x Read text {}"]);
    check(Dialect::Responses, output, &["call_x Read text {}"]);
}

#[test]
fn gemini_calls_are_parts() {
    let parts = json!([
        { "text": "thinking", "thought": true },
        { "functionCall": { "id": "g1", "name": "Read", "args": { "path": "a" } }, "thoughtSignature": "x" },
        { "function_call": { "id": "g2", "name": "Now", "args": null } },
    ]);
    let expected = [r#"g1 Read {"path":"a"}"#, "g2 Now {}"];
    let content = json!({ "role": "model", "parts": parts });
    check(
        Dialect::Gemini,
        json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] }),
        &expected,
    );
    check(Dialect::Gemini, json!({ "content": content }), &expected);
    check(Dialect::Gemini, content, &expected);
    check(Dialect::Gemini, parts, &expected);
    check(Dialect::Gemini, json!({ "candidates": [{ "finishReason": "SAFETY" }] }), &[]);
}

#[test]
fn gemini_calls_without_ids_get_some_that_no_other_call_has() {
    let call = |id: Value| json!({ "functionCall": { "id": id, "name": "Now" } });
    let message = json!([call(json!(null)), call(json!("")), call(json!("call_1")), call(json!("x"))]);
    check(Dialect::Gemini, message, &["call_0 Now {}", "call_5 Now {}", "call_1 Now {}", "x Now {}"]);
}

#[test]
fn a_made_id_is_not_sent_back() {
    for (id, sent) in [("call_0", None), ("call_17", None), ("call_", Some("call_")), ("g1", Some("g1"))] {
        let mut result = crate::table::results().remove(0).1;
        result.call = id.into();
        let message = Dialect::Gemini.results(&[result]);
        let response = &message["parts"][0]["functionResponse"];
        assert_eq!(response.get("id").and_then(Value::as_str), sent);
    }
}

#[test]
fn an_error_says_where_and_what() {
    check_error(
        Dialect::Anthropic,
        json!({ "content": [{ "type": "text" }, { "type": "tool_use", "name": "Read" }] }),
        "content[1]: expected an object with `id`, found an object with `type`, `name` (read as anthropic)",
    );
    check_error(
        Dialect::Anthropic,
        json!([{ "type": "tool_use", "id": "", "name": "Read" }]),
        "[0].id: expected an id, found \"\" (read as anthropic)",
    );
    check_error(
        Dialect::OpenAi,
        json!([{ "id": "a", "function": { "name": "Now" } }, { "id": "a", "function": { "name": "Now" } }]),
        "[1].id: expected an id that no earlier call has, found `a` again (read as openai)",
    );
    check_error(
        Dialect::OpenAi,
        json!({ "choices": [{ "delta": {} }] }),
        "choices[0]: expected an object with `message`, found an object with `delta` (read as openai)",
    );
    check_error(
        Dialect::OpenAi,
        json!({ "choices": [] }),
        "choices: expected a list with an item, found a list of 0 (read as openai)",
    );
    check_error(
        Dialect::OpenAi,
        json!({ "tool_calls": [{ "id": "a", "type": "custom", "custom": {} }] }),
        "tool_calls[0].type: expected `function`, found \"custom\" (read as openai)",
    );
    check_error(
        Dialect::Responses,
        json!({ "output": [{ "type": "function_call", "call_id": 7, "name": "Now" }] }),
        "output[0].call_id: expected a text, found 7 (read as responses)",
    );
    check_error(
        Dialect::Gemini,
        json!({ "parts": [{ "functionCall": { "args": {} } }] }),
        "parts[0].functionCall: expected an object with `name`, found an object with `args` (read as gemini)",
    );
    check_error(
        Dialect::Gemini,
        json!({ "choices": [] }),
        "the message: expected `candidates`, `content` or `parts`, found an object with `choices` (read as gemini)",
    );
    check_error(
        Dialect::Responses,
        json!(3),
        "the message: expected an object with `output`, found 3 (read as responses)",
    );
}
