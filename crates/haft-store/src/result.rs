//! A result as JSON, and back.
//!
//! Whoever sends a call again gets what was got the first time: every field comes back as it was, but for the view, which
//! is for a screen that was there then. The form is ours and not the one that programs are shown: notes that a tool made
//! must not meet the engine's own fields, and bytes and paths must survive.

use std::path::PathBuf;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use haft_engine::{
    policy::{Said, Verdict},
    result::{FaultFacts, Meta, ToolResult, Truncation},
    session::Finished,
};
use haft_tool::{Action, Block, CallId, Change, FaultKind, Refusal, shown, unshown};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What became of a call, as text.
pub fn store(result: &ToolResult, changes: &[Change]) -> String {
    let stored = Stored {
        call: result.call.clone(),
        tool: result.tool.clone(),
        blocks: result.blocks.iter().map(StoredBlock::of).collect(),
        fault: result.fault.map(|fault| (fault.kind, fault.refusal)),
        data: result.data.clone(),
        observation: result.observation.clone(),
        actions: result.actions.clone(),
        messages: result.messages.clone(),
        meta: StoredMeta::of(&result.meta),
        changes: changes.iter().map(StoredChange::of).collect(),
    };
    // Everything in it is a string, a number or JSON already: there is nothing that could not be written.
    serde_json::to_string(&stored).unwrap_or_default()
}

/// The same again. `None` if it is not what was stored.
pub fn restore(text: &str) -> Option<Finished> {
    let stored: Stored = serde_json::from_str(text).ok()?;
    let blocks = stored.blocks.into_iter().map(StoredBlock::back).collect::<Option<_>>()?;
    let result = ToolResult {
        call: stored.call,
        tool: stored.tool,
        blocks,
        fault: stored.fault.map(|(kind, refusal)| FaultFacts { kind, refusal }),
        data: stored.data,
        observation: stored.observation,
        actions: stored.actions,
        messages: stored.messages,
        view: None,
        meta: stored.meta.back(),
    };
    Some(Finished { result, changes: stored.changes.into_iter().map(StoredChange::back).collect() })
}

/// Blocks as JSON.
pub fn store_blocks(blocks: &[Block]) -> Value {
    // See above: there is nothing that could not be written.
    serde_json::to_value(blocks.iter().map(StoredBlock::of).collect::<Vec<_>>()).unwrap_or_default()
}

/// The same again. `None` if it is not what was stored.
pub fn restore_blocks(stored: &Value) -> Option<Vec<Block>> {
    let blocks: Vec<StoredBlock> = Vec::deserialize(stored).ok()?;
    blocks.into_iter().map(StoredBlock::back).collect()
}

#[derive(Serialize, Deserialize)]
struct Stored {
    call: CallId,
    tool: String,
    blocks: Vec<StoredBlock>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<(FaultKind, Option<Refusal>)>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    data: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    observation: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    actions: Vec<Action>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    messages: Vec<String>,
    meta: StoredMeta,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    changes: Vec<StoredChange>,
}

/// `null` that is there is a value.
fn some<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredBlock {
    Text(String),
    Image { media_type: String, data: String },
    Audio { media_type: String, data: String },
    Document { media_type: String, name: String, data: String },
    Link { uri: String, name: String, media_type: Option<String> },
}

impl StoredBlock {
    fn of(block: &Block) -> StoredBlock {
        let coded = |data: &[u8]| BASE64_STANDARD.encode(data);
        match block.clone() {
            Block::Text(text) => StoredBlock::Text(text),
            Block::Image { media_type, data } => StoredBlock::Image { media_type, data: coded(&data) },
            Block::Audio { media_type, data } => StoredBlock::Audio { media_type, data: coded(&data) },
            Block::Document { media_type, name, data } => {
                StoredBlock::Document { media_type, name, data: coded(&data) }
            }
            Block::Link { uri, name, media_type } => StoredBlock::Link { uri, name, media_type },
        }
    }

    fn back(self) -> Option<Block> {
        let bytes = |data: String| BASE64_STANDARD.decode(data).ok();
        Some(match self {
            StoredBlock::Text(text) => Block::Text(text),
            StoredBlock::Image { media_type, data } => Block::Image { media_type, data: bytes(data)? },
            StoredBlock::Audio { media_type, data } => Block::Audio { media_type, data: bytes(data)? },
            StoredBlock::Document { media_type, name, data } => {
                Block::Document { media_type, name, data: bytes(data)? }
            }
            StoredBlock::Link { uri, name, media_type } => Block::Link { uri, name, media_type },
        })
    }
}

#[derive(Serialize, Deserialize)]
struct StoredMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    duration_us: u64,
    queued_us: u64,
    attempts: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    coerced: Vec<haft_schema::Coercion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    truncated: Option<StoredTruncation>,
    source: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hooks: Vec<StoredSaid>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    loaded: Vec<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    notes: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct StoredTruncation {
    bytes: u64,
    shown: u64,
    path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
}

impl StoredMeta {
    fn of(meta: &Meta) -> StoredMeta {
        let truncated = meta.truncated.as_ref().map(|cut| StoredTruncation {
            bytes: cut.bytes,
            shown: cut.shown,
            path: cut.path.as_deref().map(|path| shown(path).to_string()),
            handle: cut.handle.clone(),
        });
        StoredMeta {
            tool: meta.tool.clone(),
            duration_us: meta.duration_us,
            queued_us: meta.queued_us,
            attempts: meta.attempts,
            coerced: meta.coerced.clone(),
            truncated,
            source: meta.source.to_string(),
            hooks: meta.hooks.iter().map(StoredSaid::of).collect(),
            loaded: meta.loaded.clone(),
            notes: meta.notes.clone(),
        }
    }

    fn back(self) -> Meta {
        let path = |path: String| -> PathBuf { unshown(&path) };
        Meta {
            tool: self.tool,
            duration_us: self.duration_us,
            queued_us: self.queued_us,
            attempts: self.attempts,
            coerced: self.coerced,
            truncated: self.truncated.map(|cut| Truncation {
                bytes: cut.bytes,
                shown: cut.shown,
                path: cut.path.map(path),
                handle: cut.handle,
            }),
            source: self.source.into(),
            hooks: self.hooks.into_iter().map(StoredSaid::back).collect(),
            loaded: self.loaded,
            notes: self.notes,
        }
    }
}

/// The engine's own form tells programs only that an input or an output was changed.
#[derive(Serialize, Deserialize)]
struct StoredSaid {
    by: String,
    at: String,
    verdict: Option<Verdict>,
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    input: Option<Value>,
    output: Option<String>,
    context: Option<String>,
    stop: Option<String>,
    notice: Option<String>,
}

impl StoredSaid {
    fn of(said: &Said) -> StoredSaid {
        let Said { by, at, verdict, reason, input, output, context, stop, notice } = said.clone();
        StoredSaid { by, at, verdict, reason, input, output, context, stop, notice }
    }

    fn back(self) -> Said {
        let StoredSaid { by, at, verdict, reason, input, output, context, stop, notice } = self;
        Said { by, at, verdict, reason, input, output, context, stop, notice }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredChange {
    Cwd(String),
    Load(Vec<String>),
    State(String, Value),
}

impl StoredChange {
    fn of(change: &Change) -> StoredChange {
        match change.clone() {
            Change::Cwd(path) => StoredChange::Cwd(shown(&path).to_string()),
            Change::Load(names) => StoredChange::Load(names),
            Change::State(key, value) => StoredChange::State(key, value),
        }
    }

    fn back(self) -> Change {
        match self {
            StoredChange::Cwd(path) => Change::Cwd(unshown(&path)),
            StoredChange::Load(names) => Change::Load(names),
            StoredChange::State(key, value) => Change::State(key, value),
        }
    }
}
