//! A turn in `generateContent`.

use serde_json::{Value, json};

use super::{Out, Step, Turn, Wire, as_value};
use crate::Stop;

pub(super) fn wire(turn: &Turn) -> Vec<Wire> {
    let mut out = Out::default();
    for step in &turn.steps {
        match step {
            Step::Pause(time) => out.pause(*time),
            Step::Cut => return out.cut(),
            Step::Error(code, message) => {
                out.data(&json!({ "error": { "status": code, "message": message } }));
                return out.0;
            }
            Step::Text(text) => {
                turn.cut_up(text).iter().for_each(|piece| out.data(&chunk(&json!([{ "text": piece }]))));
            }
            Step::Thinking(text) => {
                let thought = |piece: &&str| chunk(&json!([{ "text": piece, "thought": true }]));
                turn.cut_up(text).iter().for_each(|piece| out.data(&thought(piece)));
            }
            Step::Call { .. } => out.data(&chunk(&parts(step))),
        }
    }
    let mut last = chunk(&json!([{ "text": "" }]));
    last["candidates"][0]["finishReason"] = reason(&turn.reason()).into();
    last["usageMetadata"] = usage(turn);
    out.data(&last);
    out.0
}

fn chunk(parts: &Value) -> Value {
    json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }],
        "modelVersion": "scripted", "responseId": "scripted" })
}

fn parts(step: &Step) -> Value {
    match step {
        Step::Text(text) => json!([{ "text": text }]),
        Step::Thinking(text) => json!([{ "text": text, "thought": true }]),
        Step::Call { id, name, arguments } => {
            json!([{ "functionCall": { "id": id, "name": name, "args": as_value(arguments) },
            "thoughtSignature": "c2ln" }])
        }
        Step::Pause(_) | Step::Error(..) | Step::Cut => json!([]),
    }
}

pub(super) fn whole(turn: &Turn) -> Value {
    let parts = turn.steps.iter().map(parts).flat_map(|parts| match parts {
        Value::Array(parts) => parts,
        _ => Vec::new(),
    });
    let mut whole = chunk(&parts.collect());
    whole["candidates"][0]["finishReason"] = reason(&turn.reason()).into();
    whole["usageMetadata"] = usage(turn);
    whole
}

fn usage(turn: &Turn) -> Value {
    let used = turn.usage;
    json!({ "promptTokenCount": used.input, "cachedContentTokenCount": used.cached,
        "candidatesTokenCount": used.output.saturating_sub(used.thinking), "thoughtsTokenCount": used.thinking,
        "totalTokenCount": used.input + used.output })
}

fn reason(stop: &Stop) -> &str {
    match stop {
        Stop::End | Stop::Calls | Stop::Paused => "STOP",
        Stop::MaxTokens | Stop::ContextWindow => "MAX_TOKENS",
        Stop::Refused => "SAFETY",
        Stop::Broken(word) | Stop::Other(word) => word,
    }
}
