//! What a call became: the same shape for a reply and for a fault.

use std::{path::PathBuf, sync::Arc};

use haft_schema::Coercion;
use haft_tool::{Action, Block, CallId, FaultKind, Refusal, View};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::policy::Said;

/// The result of one call. Every call gets exactly one.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// Which call.
    pub call: CallId,
    /// The tool's name as the model wrote it: some APIs want it back.
    pub tool: String,
    /// What the model reads, within its budget: observation, content, suggestions, markers.
    pub blocks: Vec<Block>,
    /// Why it did not work. `None` is success.
    pub fault: Option<FaultFacts>,
    /// Typed data, if the tool gave any.
    pub data: Option<Value>,
    /// One line that says what happened.
    pub observation: Option<String>,
    /// Calls that the model may want to make next.
    pub actions: Vec<Action>,
    /// Words that join the conversation after the results.
    pub messages: Vec<String>,
    /// How a person sees it. Only for turns that somebody watches.
    pub view: Option<Box<View>>,
    /// Facts about the call.
    pub meta: Meta,
}

/// What a program may know of a fault. The words for the model are in the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FaultFacts {
    /// What can be done about it.
    pub kind: FaultKind,
    /// Who said no, if somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
}

/// Facts about a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Meta {
    /// The tool's name in the pool, where the model used another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How long it ran, all attempts together; not how long a person was waited for.
    pub duration_us: u64,
    /// How long it waited for other calls.
    pub queued_us: u64,
    /// How many times it was tried.
    pub attempts: u32,
    /// What was changed in its input to make it fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coerced: Vec<Coercion>,
    /// What was cut from the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    /// Where the tool came from: `builtin`, `mcp:github`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub source: Arc<str>,
    /// What hooks said of the call, in this order: before it, while somebody was asked, after it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<Said>,
    /// The tools that it loaded: an API that keeps deferred tools itself is told their names instead of their schemas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<String>,
    /// What the tool noted itself.
    #[serde(flatten)]
    pub notes: Map<String, Value>,
}

/// A result that was too large.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Truncation {
    /// The size of the whole.
    pub bytes: u64,
    /// How much of it the model sees.
    pub shown: u64,
    /// Where the whole is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// By what the store finds it again, if it has such names. For programs and people; the model has the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
}

impl ToolResult {
    /// Whether the model is told that it did not work.
    pub fn is_error(&self) -> bool {
        self.fault.is_some()
    }

    /// Why a hook stops the turn with this call, if one does. The agent should not go on then.
    pub fn stops_turn(&self) -> Option<&str> {
        self.meta.hooks.iter().find_map(|said| said.stop.as_deref())
    }

    /// All text that the model reads, block after block.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.blocks.iter().filter_map(Block::as_text).collect();
        texts.join("\n")
    }
}
