//! A turn in Messages.

use serde_json::{Value, json};

use super::{Out, Step, Turn, Wire, as_value};
use crate::Stop;

pub(super) fn wire(turn: &Turn) -> Vec<Wire> {
    let mut out = Out::default();
    let start = json!({ "id": "msg_scripted", "type": "message", "role": "assistant", "model": "scripted",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(turn) });
    out.event(&json!({ "type": "message_start", "message": start }));
    let mut index = 0;
    for step in &turn.steps {
        match step {
            Step::Pause(time) => {
                out.pause(*time);
                continue;
            }
            Step::Cut => return out.cut(),
            Step::Error(code, message) => {
                out.event(&json!({ "type": "error", "error": { "type": code, "message": message } }));
                return out.0;
            }
            said => block(turn, index, said, &mut out),
        }
        index += 1;
    }
    let delta = json!({ "stop_reason": reason(&turn.reason()), "stop_sequence": null });
    out.event(
        &json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": turn.usage.output } }),
    );
    out.event(&json!({ "type": "message_stop" }));
    out.0
}

fn block(turn: &Turn, index: usize, step: &Step, out: &mut Out) {
    let (begin, deltas) = match step {
        Step::Text(text) => {
            let deltas =
                turn.cut_up(text).into_iter().map(|piece| json!({ "type": "text_delta", "text": piece }));
            (json!({ "type": "text", "text": "" }), deltas.collect::<Vec<_>>())
        }
        Step::Thinking(text) => {
            let thought = |piece| json!({ "type": "thinking_delta", "thinking": piece });
            let signature = json!({ "type": "signature_delta", "signature": "c2ln" });
            let deltas = turn.cut_up(text).into_iter().map(thought).chain([signature]);
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas.collect())
        }
        Step::Call { id, name, arguments } => {
            let piece = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
            let deltas = turn.cut_up(arguments).into_iter().map(piece);
            (json!({ "type": "tool_use", "id": id, "name": name, "input": {} }), deltas.collect())
        }
        Step::Pause(_) | Step::Error(..) | Step::Cut => return,
    };
    out.event(&json!({ "type": "content_block_start", "index": index, "content_block": begin }));
    for delta in deltas {
        out.event(&json!({ "type": "content_block_delta", "index": index, "delta": delta }));
    }
    out.event(&json!({ "type": "content_block_stop", "index": index }));
}

pub(super) fn whole(turn: &Turn) -> Value {
    let blocks = turn.steps.iter().filter_map(|step| match step {
        Step::Text(text) => Some(json!({ "type": "text", "text": text })),
        Step::Thinking(text) => Some(json!({ "type": "thinking", "thinking": text, "signature": "c2ln" })),
        Step::Call { id, name, arguments } => {
            Some(json!({ "type": "tool_use", "id": id, "name": name, "input": as_value(arguments) }))
        }
        Step::Pause(_) | Step::Error(..) | Step::Cut => None,
    });
    let mut usage = usage(turn);
    usage["output_tokens"] = turn.usage.output.into();
    json!({ "id": "msg_scripted", "type": "message", "role": "assistant", "model": "scripted",
        "content": blocks.collect::<Value>(), "stop_reason": reason(&turn.reason()), "usage": usage })
}

fn usage(turn: &Turn) -> Value {
    let used = turn.usage;
    let fresh = used.input.saturating_sub(used.cached).saturating_sub(used.cache_written);
    json!({ "input_tokens": fresh, "cache_read_input_tokens": used.cached,
        "cache_creation_input_tokens": used.cache_written, "output_tokens": 1 })
}

fn reason(stop: &Stop) -> &str {
    match stop {
        Stop::End => "end_turn",
        Stop::Calls => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::ContextWindow => "model_context_window_exceeded",
        Stop::Refused => "refusal",
        Stop::Paused => "pause_turn",
        Stop::Broken(word) | Stop::Other(word) => word,
    }
}
