//! A turn in Responses.

use serde_json::{Value, json};

use super::{Out, Step, Turn, Wire};
use crate::Stop;

pub(super) fn wire(turn: &Turn) -> Vec<Wire> {
    let mut out = Out::default();
    let started = json!({ "id": "resp_scripted", "object": "response", "model": "scripted", "status": "in_progress", "output": [] });
    out.event(&json!({ "type": "response.created", "response": started }));
    let mut index = 0;
    for step in &turn.steps {
        match step {
            Step::Pause(time) => {
                out.pause(*time);
                continue;
            }
            Step::Cut => return out.cut(),
            Step::Error(code, message) => {
                out.event(&json!({ "type": "error", "code": code, "message": message, "param": null }));
                return out.0;
            }
            said => stream_item(turn, index, said, &mut out),
        }
        index += 1;
    }
    let is_whole = matches!(turn.reason(), Stop::End | Stop::Calls);
    let kind = if is_whole { "response.completed" } else { "response.incomplete" };
    out.event(&json!({ "type": kind, "response": whole(turn) }));
    out.0
}

fn stream_item(turn: &Turn, index: usize, step: &Step, out: &mut Out) {
    let Some(done) = item(index, step) else { return };
    let (text, kind, empty) = match step {
        Step::Text(text) => (text, "response.output_text.delta", ("content", json!([]))),
        Step::Thinking(text) => (text, "response.reasoning_summary_text.delta", ("summary", json!([]))),
        Step::Call { arguments, .. } => {
            (arguments, "response.function_call_arguments.delta", ("arguments", json!("")))
        }
        Step::Pause(_) | Step::Error(..) | Step::Cut => return,
    };
    let mut added = done.clone();
    added[empty.0] = empty.1;
    out.event(&json!({ "type": "response.output_item.added", "output_index": index, "item": added }));
    for piece in turn.cut_up(text) {
        out.event(&json!({ "type": kind, "output_index": index, "item_id": done["id"], "delta": piece }));
    }
    if let Step::Call { arguments, .. } = step {
        let kind = "response.function_call_arguments.done";
        out.event(
            &json!({ "type": kind, "output_index": index, "item_id": done["id"], "arguments": arguments }),
        );
    }
    out.event(&json!({ "type": "response.output_item.done", "output_index": index, "item": done }));
}

fn item(index: usize, step: &Step) -> Option<Value> {
    match step {
        Step::Text(text) => {
            Some(json!({ "id": format!("msg_{index}"), "type": "message", "status": "completed",
            "role": "assistant", "content": [{ "type": "output_text", "text": text, "annotations": [] }] }))
        }
        Step::Thinking(text) => Some(json!({ "id": format!("rs_{index}"), "type": "reasoning",
            "summary": [{ "type": "summary_text", "text": text }], "encrypted_content": "ZW5j" })),
        Step::Call { id, name, arguments } => {
            Some(json!({ "id": format!("fc_{index}"), "type": "function_call",
            "status": "completed", "call_id": id, "name": name, "arguments": arguments }))
        }
        Step::Pause(_) | Step::Error(..) | Step::Cut => None,
    }
}

pub(super) fn whole(turn: &Turn) -> Value {
    let said = turn.steps.iter().filter(|step| item(0, step).is_some());
    let output: Value = said.enumerate().filter_map(|(index, step)| item(index, step)).collect();
    let used = turn.usage;
    let usage = json!({ "input_tokens": used.input, "input_tokens_details": { "cached_tokens": used.cached },
        "output_tokens": used.output, "output_tokens_details": { "reasoning_tokens": used.thinking },
        "total_tokens": used.input + used.output });
    let (status, details) = match turn.reason() {
        Stop::End | Stop::Calls => ("completed", Value::Null),
        Stop::MaxTokens | Stop::ContextWindow => ("incomplete", json!({ "reason": "max_output_tokens" })),
        Stop::Refused => ("incomplete", json!({ "reason": "content_filter" })),
        Stop::Paused => ("incomplete", json!({ "reason": "paused" })),
        Stop::Broken(word) | Stop::Other(word) => ("incomplete", json!({ "reason": word })),
    };
    json!({ "id": "resp_scripted", "object": "response", "model": "scripted", "status": status,
        "incomplete_details": details, "output": output, "usage": usage, "error": null })
}
