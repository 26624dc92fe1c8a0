//! A turn in Chat Completions.

use serde_json::{Value, json};

use super::{Out, Step, Turn, Wire};
use crate::Stop;

pub(super) fn wire(turn: &Turn) -> Vec<Wire> {
    let mut out = Out::default();
    out.data(&chunk(&json!({ "role": "assistant", "content": "" }), None));
    let mut index = 0;
    for step in &turn.steps {
        match step {
            Step::Text(text) => {
                turn.cut_up(text)
                    .iter()
                    .for_each(|piece| out.data(&chunk(&json!({ "content": piece }), None)));
            }
            Step::Thinking(text) => {
                let thought = |piece: &&str| chunk(&json!({ "reasoning_content": piece }), None);
                turn.cut_up(text).iter().for_each(|piece| out.data(&thought(piece)));
            }
            Step::Call { id, name, arguments } => {
                let head = json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
                out.data(&chunk(&json!({ "tool_calls": [head] }), None));
                for piece in turn.cut_up(arguments) {
                    let more = json!({ "index": index, "function": { "arguments": piece } });
                    out.data(&chunk(&json!({ "tool_calls": [more] }), None));
                }
                index += 1;
            }
            Step::Pause(time) => out.pause(*time),
            Step::Cut => return out.cut(),
            Step::Error(code, message) => {
                out.data(&json!({ "error": { "type": code, "code": code, "message": message } }));
                return out.0;
            }
        }
    }
    out.data(&chunk(&json!({}), Some(reason(&turn.reason()))));
    out.data(&json!({ "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted",
        "choices": [], "usage": usage(turn) }));
    out.0.push(Wire::Send("data: [DONE]\n\n".to_owned()));
    out.0
}

fn chunk(delta: &Value, reason: Option<&str>) -> Value {
    json!({ "id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 0, "model": "scripted",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
}

pub(super) fn whole(turn: &Turn) -> Value {
    let mut message = json!({ "role": "assistant", "content": null });
    let (mut text, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
    for step in &turn.steps {
        match step {
            Step::Text(piece) => text.push_str(piece),
            Step::Thinking(piece) => thoughts.push_str(piece),
            Step::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": arguments });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
            Step::Pause(_) | Step::Error(..) | Step::Cut => {}
        }
    }
    if !text.is_empty() {
        message["content"] = text.into();
    }
    if !thoughts.is_empty() {
        message["reasoning_content"] = thoughts.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({ "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{ "index": 0, "message": message, "finish_reason": reason(&turn.reason()) }], "usage": usage(turn) })
}

fn usage(turn: &Turn) -> Value {
    let used = turn.usage;
    json!({ "prompt_tokens": used.input, "completion_tokens": used.output, "total_tokens": used.input + used.output,
        "prompt_tokens_details": { "cached_tokens": used.cached },
        "completion_tokens_details": { "reasoning_tokens": used.thinking } })
}

fn reason(stop: &Stop) -> &str {
    match stop {
        Stop::End | Stop::Paused => "stop",
        Stop::Calls => "tool_calls",
        Stop::MaxTokens | Stop::ContextWindow => "length",
        Stop::Refused => "content_filter",
        Stop::Broken(word) | Stop::Other(word) => word,
    }
}
