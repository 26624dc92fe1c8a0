//! What was said, in no API's own form.
//!
//! A conversation can begin with one API and go on with another, so messages are neutral. An API also wants things back
//! that mean nothing to anybody else: signatures of thinking, encrypted reasoning, its own ids. A [`Part`] keeps those
//! beside what was said, as the JSON that the API is sent again. Another API is sent what was said, without them.

mod history; //  all of it, encoded once
mod request; //  what else a request says
mod encoded; //  a message as the text of its JSON
mod fields; //   the text of a request
mod saved; //    what the model said, in a form that lasts

use std::borrow::Cow;

use haft_engine::{result::ToolResult, turn::Call};
use haft_tool::Block;
use serde::{Deserialize, Serialize};

use crate::Dialect;

pub(crate) use encoded::{Encoded, arguments, fitting_chat_id, fitting_id, fitting_name, is_object, quoted};
pub(crate) use fields::Fields;
pub use history::History;
pub use request::{Effort, Request, RequestOptions, Thinking, ToolChoice};

/// One message of a conversation. The system prompt is none: it belongs to the [`History`].
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// What the person said, or whoever speaks for them: text, pictures, documents.
    User(Vec<Block>),
    /// What the model said.
    Assistant(Assistant),
    /// What the calls of the message before gave: one result for each, in their order.
    Results(Vec<ToolResult>),
}

impl Message {
    /// The person's words.
    pub fn user(text: impl Into<String>) -> Message {
        Message::User(vec![Block::Text(text.into())])
    }
}

impl From<Assistant> for Message {
    fn from(message: Assistant) -> Message {
        Message::Assistant(message)
    }
}

/// What the model said in one message. As JSON it keeps all that its API wants back, so that a conversation can go on in
/// another process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "saved::Saved", into = "saved::Saved")]
pub struct Assistant {
    /// Its parts, in the order in which the model made them.
    pub parts: Vec<Part>,
}

impl Assistant {
    /// All of its text.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match &part.said {
            Said::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// The same without thoughts, and without what an API wants back of a part that may have been signed with them. What only
    /// its API understands stays: there is nothing else of it.
    fn without_thoughts(&self) -> Assistant {
        let spoken = self.parts.iter().filter(|part| !matches!(part.said, Said::Thinking(_)));
        let parts = spoken.map(|part| match part.said {
            Said::Other(_) => part.clone(),
            _ => Part::new(part.said.clone()),
        });
        Assistant { parts: parts.collect() }
    }

    /// Its calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match &part.said {
            Said::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// A part of what the model said, with what its API wants back.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What was said.
    pub said: Said,
    kept: Option<Kept>,
}

/// What a model says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// Words for the person.
    Text(String),
    /// Its thoughts, or a summary of them; empty where the API does not show them.
    Thinking(String),
    /// A call of a tool.
    Call(Call),
    /// Something that only its API understands, such as a search that the API itself made. The name is the API's.
    Other(String),
}

/// The JSON that one API wants back for a part.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    dialect: Dialect,
    json: String,
}

impl Part {
    /// A part of which every API is sent the same.
    pub fn new(said: Said) -> Part {
        Part { said, kept: None }
    }

    /// A part that one API is sent back as this JSON.
    pub(crate) fn kept(said: Said, dialect: Dialect, json: String) -> Part {
        Part { said, kept: Some(Kept { dialect, json }) }
    }

    /// What this API is sent back word for word. A call by a name that no tool can have is none of it: the API would refuse
    /// what its own model wrote.
    pub(crate) fn kept_for(&self, dialect: Dialect) -> Option<&str> {
        if let Said::Call(call) = &self.said
            && fitting_name(&call.name) != call.name
        {
            return None;
        }
        self.kept.as_ref().filter(|kept| kept.dialect == dialect).map(|kept| kept.json.as_str())
    }
}

/// Results whose ids are those that the API is sent for their calls: one that is sent its own call back knows it by the id that
/// it gave, any other gets an id that fits.
pub(crate) fn with_sent_ids(
    results: &[ToolResult],
    before: &[Message],
    dialect: Dialect,
    fitting: fn(&str) -> Cow<'_, str>,
) -> Vec<ToolResult> {
    let said = before.iter().rev().find_map(|message| match message {
        Message::Assistant(said) => Some(said),
        _ => None,
    });
    let is_its_own = |result: &ToolResult| {
        let is_call = |part: &&Part| matches!(&part.said, Said::Call(call) if call.id == result.call);
        let part = said.and_then(|said| said.parts.iter().find(is_call));
        part.is_some_and(|part| part.kept_for(dialect).is_some())
    };
    let sent = results.iter().map(|result| match is_its_own(result) {
        true => result.clone(),
        false => ToolResult { call: fitting(result.call.as_str()).into(), ..result.clone() },
    });
    sent.collect()
}
