//! From what a tool gave to what the model reads.

use haft_tool::{Action, Block, CallId, Fault, Reply};

use super::{FaultFacts, Meta, ToolResult};

/// A result from a reply: the observation first, then the content, then what may be done next.
pub(crate) fn from_reply(call: CallId, tool: String, reply: Reply, mut meta: Meta) -> ToolResult {
    let Reply { mut blocks, data, observation, actions, messages, changes: _, meta: notes, view: _ } = reply;
    if let Some(observation) = &observation {
        blocks.insert(0, Block::Text(format!("{observation}\n")));
    }
    if !actions.is_empty() {
        blocks.push(Block::Text(suggestions(&actions)));
    }
    meta.notes.extend(notes);
    ToolResult { call, tool, blocks, fault: None, data, observation, actions, messages, view: None, meta }
}

/// A result from a fault: its message, and nothing of its source.
pub(crate) fn from_fault(call: CallId, tool: String, fault: &Fault, meta: Meta) -> ToolResult {
    ToolResult {
        call,
        tool,
        blocks: vec![Block::Text(fault.message().to_owned())],
        fault: Some(FaultFacts { kind: fault.kind(), refusal: fault.refusal() }),
        data: None,
        observation: None,
        actions: Vec::new(),
        messages: Vec::new(),
        view: None,
        meta,
    }
}

fn suggestions(actions: &[Action]) -> String {
    let lines = actions.iter().map(|action| format!("\n- {} {}: {}", action.tool, action.input, action.why));
    format!("\nYou may want to go on with:{}", lines.collect::<String>())
}
