//! From what a tool gave to what the model reads.

use haft_tool::{Action, Block, CallId, Fault, Reply, Whole};

use super::{FaultFacts, Meta, ToolResult, Truncation, preview, size};

/// A result from a reply: the observation first, then the content, then what may be done next.
pub(crate) fn from_reply(call: CallId, tool: String, reply: Reply, mut meta: Meta) -> ToolResult {
    let Reply { mut blocks, data, observation, actions, messages, whole, failure, meta: notes, .. } = reply;
    meta.truncated = whole.map(|whole| shortened(whole, &blocks));
    if let Some(observation) = &observation {
        blocks.insert(0, Block::Text(format!("{observation}\n")));
    }
    if !actions.is_empty() {
        blocks.push(Block::Text(suggestions(&actions)));
    }
    meta.notes.extend(notes);
    let fault = failure.map(|kind| FaultFacts { kind, refusal: None });
    ToolResult { call, tool, blocks, fault, data, observation, actions, messages, view: None, meta }
}

/// What a tool shows only a part of counts as what the budget shortens. By which name its store has it is found out later.
fn shortened(Whole { bytes, path }: Whole, blocks: &[Block]) -> Truncation {
    let shown: usize = blocks.iter().filter_map(Block::as_text).map(str::len).sum();
    Truncation { bytes, shown: (shown as u64).min(bytes), path, handle: None }
}

/// The longest message of a call that never ran. It can only be long by repeating what the model sent.
const MOST_WORDS: usize = 8 * 1024;

/// A result for a call that never ran.
pub(crate) fn refused(call: CallId, tool: String, fault: &Fault) -> ToolResult {
    let mut result = from_fault(call, tool, fault, Meta::default());
    let shown = preview(fault.message(), MOST_WORDS);
    if shown.hidden_bytes > 0 {
        let text = format!("{}[… {} hidden …]{}", shown.head, size(shown.hidden_bytes), shown.tail);
        result.blocks = vec![Block::Text(text)];
    }
    result
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
