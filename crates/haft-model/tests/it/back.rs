//! What goes back to whoever said it, and in which form: ids, names, thoughts, media.

use haft_engine::{Call, result::ToolResult};
use haft_model::{
    Assistant, Dialect, History, Message, Part, RequestOptions, Response, Said, StreamEvent, scripted::Turn,
};
use haft_tool::Block;
use serde_json::{Value, json};

use crate::{streams::decode, table};

/// The last event of an answer that came as these events.
fn last_of(dialect: Dialect, events: &[Value]) -> StreamEvent {
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    decode(dialect, text.as_bytes(), text.len()).pop().expect("an event")
}

fn answer(dialect: Dialect, events: &[Value]) -> Response {
    match last_of(dialect, events) {
        StreamEvent::Done(response) => *response,
        other => panic!("no answer: {other:?}"),
    }
}

/// A result with these blocks for each call.
fn results(said: &Assistant, blocks: &[Block]) -> Message {
    let result = |call: &Call| ToolResult {
        call: call.id.clone(),
        tool: call.name.clone(),
        blocks: blocks.to_vec(),
        ..table::results().swap_remove(0).1
    };
    Message::Results(said.calls().map(result).collect())
}

/// A conversation in which this was said, with results.
fn after(dialect: Dialect, said: Assistant) -> History {
    let mut history = History::new(dialect);
    let results = results(&said, &[Block::Text("found".to_owned())]);
    history.extend([Message::user("Go"), said.into(), results]);
    history
}

fn body(history: &History, model: &str) -> Value {
    serde_json::from_str(history.request(&RequestOptions::new(model)).json()).expect("JSON")
}

fn calling(id: &str, name: &str) -> Assistant {
    Assistant { parts: vec![Part::new(Said::Call(Call::new(id, name, r#"{"path":"a"}"#)))] }
}

fn picture() -> Block {
    Block::Image { media_type: "image/png".to_owned(), data: b"\x89PNG".to_vec() }
}

/// Chunks of Chat Completions with these messages, and their end.
fn chunks(deltas: &[Value], reason: &str) -> Vec<Value> {
    let delta = |delta: &Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    deltas.iter().map(delta).chain([end]).collect()
}

#[test]
fn gemini_gets_pictures_of_results_where_the_model_takes_them() {
    let said = calling("toolu_1", "Read");
    let results = results(&said, &[picture()]);
    let mut history = History::new(Dialect::Gemini);
    history.extend([Message::user("Go"), said.into(), results]);
    let older = body(&history, "gemini-2.5-pro")["contents"].clone();
    assert_eq!(older[2]["parts"].as_array().map(Vec::len), Some(1), "as many as there were calls: {older}");
    assert_eq!(older[2]["parts"][0]["functionResponse"].get("parts"), None);
    assert_eq!(
        (&older[3]["role"], &older[3]["parts"][1]["inlineData"]["mimeType"]),
        (&json!("user"), &json!("image/png"))
    );
    let newer = body(&history, "gemini-3-pro-preview")["contents"].clone();
    assert_eq!(newer[2]["parts"][0]["functionResponse"]["parts"][0]["inlineData"]["mimeType"], "image/png");
    assert_eq!(newer.as_array().map(Vec::len), Some(3), "{newer}");
}

#[test]
fn a_model_that_only_reads_is_told_what_was_there() {
    for dialect in Dialect::ALL {
        let said = calling("toolu_1", "Read");
        let mut history = History::new(dialect);
        history.push(Message::User(vec![Block::Text("Look".to_owned()), picture()]));
        let (shown, result) = (history.clone(), results(&said, &[picture()]));
        history.set_media(false);
        history.extend([said.into(), result]);
        for model in ["m", "gemini-3-pro"] {
            let text = body(&history, model).to_string();
            assert_eq!(
                text.matches("[not shown: image, image/png, 4 bytes]").count(),
                2,
                "{dialect}: {text}"
            );
            assert!(!text.contains("iVBORw"), "{dialect}: {text}");
        }
        assert!(!history.has_media() && history.weight() == history.bytes(), "{dialect}");
        history.truncate(1);
        history.set_media(true);
        assert_eq!(history, shown, "{dialect}");
    }
}

#[test]
fn responses_are_asked_for_encrypted_reasoning_only_where_there_may_be_any() {
    let mut history = History::new(Dialect::Responses);
    history.push(Message::user("Go"));
    for (model, expected) in [
        ("gpt-5", true),
        ("o3", true),
        ("gpt-oss-120b", true),
        ("qwen3", true),
        ("gpt-4.1", false),
        ("gpt-4o-mini", false),
    ] {
        assert_eq!(body(&history, model).get("include").is_some(), expected, "{model}");
    }
}

#[test]
fn a_call_and_its_result_have_one_id_and_it_is_the_servers_own_where_that_is_asked_again() {
    let id = format!("call_a.b:{}", "x".repeat(80));
    let item =
        json!({ "type": "function_call", "id": "fc_1", "call_id": id, "name": "Read", "arguments": "{}" });
    let said = answer(
        Dialect::Responses,
        &[
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
            json!({ "type": "response.completed", "response": { "status": "completed", "output": [item] } }),
        ],
    );
    let history = after(Dialect::Responses, said.message);
    let input = body(&history, "m")["input"].clone();
    assert_eq!((&input[1], &input[2]["call_id"]), (&item, &json!(id)));

    let signed = "call_1__thought__QUJD+/=";
    let call = json!({ "index": 0, "id": signed, "function": { "name": "Read", "arguments": "{\"a\":1}" },
        "provider_specific_fields": { "thought_signature": "QUJD" } });
    let said = answer(Dialect::OpenAi, &chunks(&[json!({ "tool_calls": [call] })], "tool_calls"));
    let history = after(Dialect::OpenAi, said.message.clone());
    let messages = body(&history, "m")["messages"].clone();
    let sent = &messages[1]["tool_calls"][0];
    assert_eq!((&sent["id"], &messages[2]["tool_call_id"]), (&json!(signed), &json!(signed)));
    assert_eq!(sent["provider_specific_fields"], call["provider_specific_fields"]);
    // Kept and read again, it is the same; another API is sent an id that fits.
    let kept: Assistant =
        serde_json::from_value(serde_json::to_value(&said.message).expect("JSON")).expect("a message");
    assert_eq!(
        after(Dialect::OpenAi, kept).request(&RequestOptions::new("m")),
        history.request(&RequestOptions::new("m"))
    );
    for dialect in [Dialect::Anthropic, Dialect::Responses] {
        let text = body(&history.for_dialect(dialect), "m").to_string();
        assert!(
            !text.contains("QUJD+/=") && text.matches("call_1__thought__QUJD____").count() == 2,
            "{text}"
        );
    }
    // One that is no id of the server's own is made to fit, too.
    let messages = body(&after(Dialect::OpenAi, calling("a b", "Read")), "m")["messages"].clone();
    assert_eq!(messages[1]["tool_calls"][0]["id"], messages[2]["tool_call_id"]);
    assert_ne!(messages[2]["tool_call_id"], "a b");
}

#[test]
fn a_name_that_no_tool_can_have_goes_back_in_a_form_that_apis_take() {
    for (name, expected) in [("Read<|channel|>commentary", "Read__channel__commentary"), ("", "unnamed")] {
        for dialect in Dialect::ALL {
            let turn = Turn::new().call_as("id_1", name, "{}");
            let bytes: String = turn
                .wire(dialect)
                .into_iter()
                .filter_map(|wire| match wire {
                    haft_model::scripted::Wire::Send(text) => Some(text),
                    _ => None,
                })
                .collect();
            let Some(StreamEvent::Done(response)) = decode(dialect, bytes.as_bytes(), 100).pop() else {
                panic!("{dialect}: no answer")
            };
            let text = body(&after(dialect, response.message), "m").to_string();
            assert!(!text.contains("<|") && !text.contains("\"name\":\"\""), "{dialect}: {text}");
            // Gemini's results say the name again.
            let times = if dialect == Dialect::Gemini { 2 } else { 1 };
            assert_eq!(text.matches(&format!("\"name\":\"{expected}\"")).count(), times, "{dialect}: {text}");
            assert!(text.matches("\"id_1\"").count() >= 2, "{dialect}: {text}");
        }
    }
}

#[test]
fn thoughts_between_calls_go_back_with_every_answer_from_the_first_call_on() {
    let call = json!({ "index": 0, "id": "a", "function": { "name": "Read", "arguments": "{\"a\":1}" } });
    let say = |deltas: &[Value], reason| answer(Dialect::OpenAi, &chunks(deltas, reason)).message;
    let thought = |words: &str| json!({ "reasoning_content": words });
    let hello = say(&[thought("Polite."), json!({ "content": "Hello." })], "stop");
    let calling = say(&[thought("Look."), json!({ "tool_calls": [call] })], "tool_calls");
    let done = say(&[thought("Enough."), json!({ "content": "Done." })], "stop");
    let silent = say(&[thought(""), json!({ "tool_calls": [call] })], "tool_calls");
    let mut history = History::new(Dialect::OpenAi);
    for said in [hello, calling, done, silent] {
        let results = results(&said, &[Block::Text("found".to_owned())]);
        history.push(Message::user("Go"));
        history.push(said);
        if matches!(&results, Message::Results(results) if !results.is_empty()) {
            history.push(results);
        }
    }
    let messages = body(&history, "m")["messages"].clone();
    let said = messages.as_array().expect("messages").iter().filter(|message| message["role"] == "assistant");
    let thoughts: Vec<Value> = said.map(|message| message["reasoning_content"].clone()).collect();
    assert_eq!(thoughts, [json!(null), json!("Look."), json!("Enough."), json!(" ")]);
}

#[test]
fn a_call_that_broke_off_goes_back_as_an_object() {
    let item = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "Write", "status": "incomplete",
        "arguments": "{\"path\":\"a" });
    let end = json!({ "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" }, "output": [item] });
    let said = answer(
        Dialect::Responses,
        &[
            json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
            json!({ "type": "response.incomplete", "response": end }),
        ],
    );
    let sent = body(&after(Dialect::Responses, said.message), "m")["input"][1].clone();
    assert_eq!(sent["arguments"], r#"{"INVALID_JSON":"{\"path\":\"a"}"#);
    assert_eq!(sent["call_id"], "call_1");
}

#[test]
fn a_call_that_the_end_tells_again_is_one_call() {
    let item = |id: &str, call: &str, arguments: &str| json!({ "type": "function_call", "id": id, "call_id": call, "name": "Read", "arguments": arguments });
    let other = item("fc_9", "call_9", r#"{"path":"b"}"#);
    let said = answer(
        Dialect::Responses,
        &[
            json!({ "type": "response.output_item.done", "output_index": 1, "item": item("fc_1", "call_1", r#"{"path":"a"}"#) }),
            json!({ "type": "response.completed", "response": { "status": "completed",
                "output": [item("fc_7", "call_7", r#"{ "path": "a" }"#), { "type": "message", "content": [] }, other] } }),
        ],
    );
    let calls: Vec<&str> = said.message.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(calls, ["call_1", "call_9"]);
}

#[test]
fn a_piece_without_a_name_goes_on_with_its_call_whatever_its_id() {
    let piece = |id: &str, name: Option<&str>, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "tool_calls": [{ "index": 0, "id": id, "function": function }] })
    };
    let said = answer(
        Dialect::OpenAi,
        &chunks(
            &[piece("a", Some("Read"), "{\"path\""), piece("b", None, ":\"x"), piece("c", Some(""), "\"}")],
            "tool_calls",
        ),
    );
    let calls: Vec<&Call> = said.message.calls().collect();
    assert_eq!((calls.len(), calls[0].id.as_str()), (1, "a"));
    assert_eq!(calls[0].input, haft_engine::turn::Arguments::Text(r#"{"path":"x"}"#.to_owned()));
}

#[test]
fn an_error_in_a_field_of_its_own_is_heard() {
    let text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n\
                error: {\"code\":500,\"message\":\"Context size has been exceeded.\",\"type\":\"server_error\"}\n\n";
    for dialect in Dialect::ALL {
        let Some(StreamEvent::Failed(error)) = decode(dialect, text.as_bytes(), 7).pop() else {
            panic!("{dialect}: it did not fail")
        };
        assert_eq!(error.message, "Context size has been exceeded.", "{dialect}");
    }
}

/// What a server that is compatible with Anthropic's API said: thoughts, signed like this, and a call.
fn thinking(signature: &str) -> Assistant {
    let message = json!({ "type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        { "type": "thinking", "thinking": "Let me see.", "signature": signature },
        { "type": "text", "text": "I look." },
        { "type": "tool_use", "id": "toolu_1", "name": "Read", "input": {} },
    ] });
    match decode(Dialect::Anthropic, message.to_string().as_bytes(), 100).pop() {
        Some(StreamEvent::Done(response)) => response.message,
        other => panic!("no answer: {other:?}"),
    }
}

#[test]
fn thoughts_that_nobody_signed_go_to_all_but_anthropics_own_models() {
    for (signature, model, expected) in
        [("", "claude-sonnet-4-5", false), ("", "kimi-k2", true), ("x", "claude-sonnet-4-5", true)]
    {
        let content = body(&after(Dialect::Anthropic, thinking(signature)), model)["messages"][1]["content"]
            .to_string();
        assert_eq!(content.contains("Let me see."), expected, "{model} {content}");
        assert!(content.contains("I look.") && content.contains("toolu_1"));
    }
}

#[test]
fn thoughts_can_be_forgotten_with_what_was_signed_with_them() {
    let mut history = after(Dialect::Anthropic, thinking("of another key"));
    history.forget_thoughts();
    let text = body(&history, "m").to_string();
    assert!(
        !text.contains("another key") && !text.contains("Let me see.") && text.contains("toolu_1"),
        "{text}"
    );

    let item = json!({ "type": "function_call", "id": "fc_1", "call_id": "call a", "name": "Read", "arguments": "{}" });
    let reasoning = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc" });
    let end = json!({ "type": "response.completed", "response": { "status": "completed", "output": [reasoning, item] } });
    let mut history = after(Dialect::Responses, answer(Dialect::Responses, &[end]).message);
    assert!(body(&history, "m").to_string().contains("abc"));
    history.forget_thoughts();
    let input = body(&history, "m")["input"].clone();
    assert_eq!(input.as_array().map(Vec::len), Some(3), "{input}");
    assert_eq!((input[1].get("id"), &input[1]["call_id"]), (None, &input[2]["call_id"]));
}

#[test]
fn what_the_person_says_after_results_is_one_message_with_them_for_anthropic() {
    let mut history = after(Dialect::Anthropic, calling("toolu_1", "Read"));
    let unmarked = |history: &History| {
        let options = RequestOptions { uncached: true, ..RequestOptions::new("m") };
        history.request(&options).json().to_owned()
    };
    let before = unmarked(&history);
    history.push(Message::user("And now?"));
    let messages = body(&history, "m")["messages"].clone();
    assert_eq!(messages.as_array().map(Vec::len), Some(3), "{messages}");
    let kinds: Vec<&Value> =
        messages[2]["content"].as_array().expect("blocks").iter().map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_result", "text"]);
    assert_eq!(messages[2]["content"][1]["cache_control"], json!({ "type": "ephemeral" }));
    let end = before.rfind("]}]").expect("the end of the messages");
    assert!(unmarked(&history).starts_with(&before[..end]));
}
