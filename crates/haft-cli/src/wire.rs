//! Results and events as JSON, for programs that read our stdout.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use haft_engine::{policy::Decision, result::ToolResult, turn::Event};
use haft_tool::Block;
use serde_json::{Value, json};

/// A result with everything that is known of it.
pub(crate) fn result(result: &ToolResult) -> Value {
    json!({
        "call": result.call,
        "tool": result.tool,
        "is_error": result.is_error(),
        "blocks": result.blocks.iter().map(block).collect::<Vec<Value>>(),
        "fault": result.fault,
        "data": result.data,
        "observation": result.observation,
        "actions": result.actions,
        "messages": result.messages,
        "view": result.view,
        "meta": result.meta,
    })
}

/// A piece of a result; binary ones in base64.
fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Image { media_type, data } => media("image", media_type, data),
        Block::Audio { media_type, data } => media("audio", media_type, data),
        Block::Document { media_type, name, data } => {
            let mut document = media("document", media_type, data);
            document["name"] = name.as_str().into();
            document
        }
        Block::Link { uri, name, media_type } => {
            json!({ "type": "link", "uri": uri, "name": name, "media_type": media_type })
        }
    }
}

fn media(kind: &str, media_type: &str, data: &[u8]) -> Value {
    json!({ "type": kind, "media_type": media_type, "data": BASE64_STANDARD.encode(data) })
}

/// A decision and why.
pub(crate) fn decision(decision: &Decision) -> Value {
    let mut told = json!(decision.trace);
    told["refusal"] = json!(decision.refusal);
    told
}

/// An event, as a line of a stream.
pub(crate) fn event(event: &Event) -> Value {
    match event {
        Event::Queued { call, tool, description } => {
            json!({ "type": "queued", "call": call, "tool": tool, "description": description })
        }
        Event::Started { call, tool, input, effects, decision } => json!({
            "type": "started",
            "call": call,
            "tool": tool,
            "input": input,
            "effects": effects,
            "decision": self::decision(decision),
        }),
        Event::Refused { call, tool, decision } => json!({
            "type": "refused",
            "call": call,
            "tool": tool,
            "decision": self::decision(decision),
        }),
        Event::PermissionRequested { call, tool, description, effects, decision, warrant } => json!({
            "type": "permission",
            "call": call,
            "tool": tool,
            "description": description,
            "effects": effects,
            "decision": self::decision(decision),
            "answer": warrant,
        }),
        Event::HookSaid { call, said } => json!({ "type": "hook", "call": call, "said": said }),
        Event::Progress { call, progress } => {
            json!({ "type": "progress", "call": call, "progress": progress })
        }
        Event::Retrying { call, attempt, delay, reason } => json!({
            "type": "retrying",
            "call": call,
            "attempt": attempt,
            "delay_ms": u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            "reason": reason,
        }),
        Event::Unrecorded { call, why } => json!({ "type": "unrecorded", "call": call, "why": why }),
        Event::TaskStarted { id, description } => {
            json!({ "type": "task_started", "task": id, "description": description })
        }
        Event::TaskEnded { id, description, state } => {
            json!({ "type": "task_ended", "task": id, "description": description, "state": state })
        }
        Event::Finished(finished) => {
            json!({ "type": "finished", "call": finished.call, "result": result(finished) })
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_engine::result::Meta;

    use super::*;

    #[test]
    fn binary_blocks_are_base64() {
        let blocks = [
            Block::Text("a".to_owned()),
            Block::Image { media_type: "image/png".to_owned(), data: vec![0, 255] },
            Block::Document { media_type: "application/pdf".to_owned(), name: "x".to_owned(), data: vec![1] },
        ];
        let written: Vec<Value> = blocks.iter().map(block).collect();
        assert_eq!(written[1], json!({ "type": "image", "media_type": "image/png", "data": "AP8=" }));
        assert_eq!(written[2]["name"], "x");
    }

    #[test]
    fn a_result_has_all_its_parts() {
        let whole = result(&ToolResult {
            call: "1".into(),
            tool: "T".to_owned(),
            blocks: Vec::new(),
            fault: None,
            data: None,
            observation: None,
            actions: Vec::new(),
            messages: Vec::new(),
            view: None,
            meta: Meta::default(),
        });
        assert_eq!((&whole["call"], &whole["is_error"]), (&json!("1"), &json!(false)));
    }
}
