//! What comes back when a call works, or has more to say than that it did not.
//!
//! A reply has a part for each reader: blocks and an observation for the model, data for programs, a view for
//! people, changes for the session. Only the first is required.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{FaultKind, View};

/// The result of a call that worked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// What the model reads.
    pub blocks: Vec<Block>,
    /// The same as typed data, where there is such a thing.
    pub data: Option<Value>,
    /// One line that says what happened, read first: "47 matches in 12 files".
    pub observation: Option<String>,
    /// What the model may well want to do next.
    pub actions: Vec<Action>,
    /// Words that join the conversation after the results of the turn.
    pub messages: Vec<String>,
    /// What changes in the session. Applied in the order of the model's calls.
    pub changes: Vec<Change>,
    /// Facts about the result: counts, where it came from.
    pub meta: Map<String, Value>,
    /// What the blocks are a part of, where the tool shows only some of it.
    pub whole: Option<Whole>,
    /// How a person sees it.
    pub view: Option<View>,
    /// What went wrong, for a call that ran and has all of the above to tell although it did not work: a command with
    /// its output and an exit code. The model gets it as an error.
    pub failure: Option<FaultKind>,
}

/// A piece of a result. Binary pieces hold raw bytes; each API's form is made at the very end.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// `image/png` and the like.
        media_type: String,
        /// The file's bytes.
        data: Vec<u8>,
    },
    /// A sound.
    Audio {
        /// `audio/wav` and the like.
        media_type: String,
        /// The file's bytes.
        data: Vec<u8>,
    },
    /// A document that some models read as it is.
    Document {
        /// `application/pdf` and the like.
        media_type: String,
        /// What it is called.
        name: String,
        /// The file's bytes.
        data: Vec<u8>,
    },
    /// Something that can be fetched.
    Link {
        /// Where it is.
        uri: String,
        /// What it is called.
        name: String,
        /// What it is, if known.
        media_type: Option<String>,
    },
}

impl Block {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Block::Text(text) => Some(text),
            _ => None,
        }
    }

    /// How many bytes it holds.
    pub fn len(&self) -> usize {
        match self {
            Block::Text(text) => text.len(),
            Block::Image { data, .. } | Block::Audio { data, .. } | Block::Document { data, .. } => {
                data.len()
            }
            Block::Link { uri, name, .. } => uri.len() + name.len(),
        }
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Something too large to be shown, of which a tool shows a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// Its size.
    pub bytes: u64,
    /// Where it is, if it could be kept.
    pub path: Option<PathBuf>,
}

/// A call that the model may well want to make next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// Why.
    pub why: String,
}

/// A change of the session. Data, not a closure: it can be recorded and applied again.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Relative paths begin here from now on.
    Cwd(PathBuf),
    /// These tools are loaded: the following turns show their schemas.
    Load(Vec<String>),
    /// A piece of state under a key gets a new value.
    State(String, Value),
}

impl Reply {
    /// A reply of one text.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply { blocks: vec![Block::Text(text.into())], ..Reply::default() }
    }

    /// A reply of typed data. The model reads it as JSON.
    pub fn data(data: impl Serialize) -> Reply {
        match serde_json::to_value(data) {
            Ok(data) => Reply { data: Some(data), ..Reply::default() }.with_data_as_text(),
            // Only a type whose own Serialize fails comes here; what it said is the best answer there is.
            Err(err) => Reply::text(format!("(the result could not be written as JSON: {err})")),
        }
    }

    fn with_data_as_text(mut self) -> Reply {
        let text = self.data.as_ref().map(Value::to_string).unwrap_or_default();
        self.blocks.push(Block::Text(text));
        self
    }

    /// Adds a block.
    pub fn with_block(mut self, block: Block) -> Reply {
        self.blocks.push(block);
        self
    }

    /// Says in one line what happened.
    pub fn observed(mut self, observation: impl Into<String>) -> Reply {
        self.observation = Some(observation.into());
        self
    }

    /// Suggests a next call.
    pub fn suggest(mut self, tool: impl Into<String>, input: Value, why: impl Into<String>) -> Reply {
        self.actions.push(Action { tool: tool.into(), input, why: why.into() });
        self
    }

    /// Changes the session.
    pub fn change(mut self, change: Change) -> Reply {
        self.changes.push(change);
        self
    }

    /// Adds words to the conversation.
    pub fn say(mut self, message: impl Into<String>) -> Reply {
        self.messages.push(message.into());
        self
    }

    /// Notes a fact about the result.
    pub fn note(mut self, key: impl Into<String>, value: impl Into<Value>) -> Reply {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Says what its text is a part of. The text itself tells the model.
    pub fn part_of(mut self, whole: Whole) -> Reply {
        self.whole = Some(whole);
        self
    }

    /// Says that it did not work after all.
    pub fn failing(mut self, kind: FaultKind) -> Reply {
        self.failure = Some(kind);
        self
    }

    /// Draws it for a person.
    pub fn drawn(mut self, view: View) -> Reply {
        self.view = Some(view);
        self
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Reply {
        Reply::text(text)
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Reply {
        Reply::text(text)
    }
}
