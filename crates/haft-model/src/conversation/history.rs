//! A conversation, as one API is sent it.
//!
//! Every turn sends all that was said before. A message is encoded when it is pushed and never again, so a turn costs
//! one copy of bytes, and the API sees the same bytes each time: its prompt cache stays warm.

use std::collections::BTreeSet;

use haft_engine::{pool::Offer, result::ToolResult};
use haft_tool::Block;
use serde_json::Value;

use super::{Encoded, Message, Request, RequestOptions};
use crate::{Dialect, anthropic, gemini, openai, piece::told, responses};

/// A conversation: the system prompt, the tools, and the messages so far.
///
/// ```
/// use haft_model::{Dialect, History, Message, RequestOptions};
///
/// let mut history = History::new(Dialect::Anthropic);
/// history.set_system("You are brief.");
/// history.push(Message::user("What is in README.md?"));
/// let request = history.request(&RequestOptions::new("claude-sonnet-4-5"));
/// assert_eq!(request.path(), "messages");
/// assert!(request.json().contains(r#""text":"What is in README.md?""#));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    dialect: Dialect,
    pub(crate) system: String,
    pub(crate) tools: Tools,
    messages: Vec<Message>,
    encoded: Vec<Encoded>,
    /// What each message takes of the model's window, in bytes of text.
    weights: Vec<usize>,
    /// Whether pictures, sounds and documents are told in words.
    worded: bool,
}

/// The `tools` field: the items of its list, or nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Tools {
    pub(crate) json: String,
    /// Where the last tool that the model sees ends.
    pub(crate) mark: Option<usize>,
    /// The tools that the API keeps from the model until a result refers to them, and how many bytes they are.
    kept: BTreeSet<String>,
    kept_bytes: usize,
}

impl History {
    /// An empty conversation with an API.
    pub fn new(dialect: Dialect) -> History {
        History {
            dialect,
            system: String::new(),
            tools: Tools::default(),
            messages: Vec::new(),
            encoded: Vec::new(),
            weights: Vec::new(),
            worded: false,
        }
    }

    /// The API that it is encoded for.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The same conversation for another API. What only the first one understands is left out of its requests, and is
    /// still there for the way back.
    pub fn for_dialect(&self, dialect: Dialect) -> History {
        let mut history = History::new(dialect);
        history.set_system(self.system.clone());
        history.extend(self.messages.iter().cloned());
        history
    }

    /// What the model is told before everything else. A change of it makes the API forget what it had cached.
    pub fn set_system(&mut self, system: impl Into<String>) {
        self.system = system.into();
    }

    /// The tools that the model sees. Deferred ones are left out. Give it the same offers, and the bytes are the same.
    pub fn set_tools<'a>(&mut self, offers: impl IntoIterator<Item = Offer<'a>>) {
        self.set_tools_json(&self.dialect.tools(offers));
    }

    /// All tools of a pool, of which an API that knows references keeps the deferred ones from the model: a result of a call
    /// that loaded some of them refers to these instead of describing them, also one from before.
    pub fn set_tools_deferring<'a>(&mut self, offers: impl IntoIterator<Item = Offer<'a>>) {
        self.set_tools_json(&self.dialect.tools_deferring(offers));
    }

    /// A `tools` field of this dialect that somebody has made already.
    pub fn set_tools_json(&mut self, tools: &Value) {
        let before = std::mem::replace(&mut self.tools, Tools::of(tools));
        if before.kept == self.tools.kept {
            return;
        }
        self.encode_again(|message| loaded(message).next().is_some());
    }

    /// Whether the model is shown pictures, sounds and documents, as it is unless told, or told in words what was there: many
    /// models take nothing but text.
    pub fn set_media(&mut self, shown: bool) {
        if std::mem::replace(&mut self.worded, !shown) == shown {
            self.encode_again(has_media);
        }
    }

    /// Whether there is anything that could be shown and is not text.
    pub fn has_media(&self) -> bool {
        !self.worded && self.messages.iter().any(has_media)
    }

    /// Leaves the model's thoughts out of all that was said, with whatever was signed together with them: an API that does not
    /// know its signature, because another server or another key was asked then, refuses the whole conversation.
    pub fn forget_thoughts(&mut self) {
        for index in 0..self.messages.len() {
            let Message::Assistant(said) = &self.messages[index] else { continue };
            let thoughtless = said.without_thoughts();
            if thoughtless != *said {
                self.replace(index, thoughtless);
            }
        }
        // Their ids are those that the calls are sent with.
        self.encode_again(|message| matches!(message, Message::Results(_)));
    }

    fn encode_again(&mut self, which: impl Fn(&Message) -> bool) {
        for index in
            (0..self.messages.len()).filter(|index| which(&self.messages[*index])).collect::<Vec<_>>()
        {
            let encoded = self.encode(index, &self.messages[index]);
            self.weights[index] = self.weigh(index, &self.messages[index], &encoded);
            self.encoded[index] = encoded;
        }
    }

    /// The tools that calls have loaded, by what their results say.
    pub fn loaded(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().flat_map(loaded)
    }

    /// Adds what was said. What the person says right after what they said is one message with it: templates of local
    /// models refuse two in a row. So an answer of which nothing can be sent back, such as thoughts alone, is none.
    pub fn push(&mut self, message: impl Into<Message>) {
        let message = slim(message.into());
        match (self.messages.last_mut(), message) {
            (Some(Message::User(said)), Message::User(more)) => {
                let whole = said.drain(..).chain(more).collect();
                self.replace(self.messages.len() - 1, Message::User(whole));
            }
            (_, message) => {
                let place = self.messages.len();
                let encoded = self.encode(place, &message);
                if encoded.json.is_empty() && matches!(message, Message::Assistant(_)) {
                    return;
                }
                self.weights.push(self.weigh(place, &message, &encoded));
                self.encoded.push(encoded);
                self.messages.push(message);
            }
        }
    }

    /// What was said, in order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Forgets all messages from this one on: what came of a request that is made again.
    pub fn truncate(&mut self, len: usize) {
        self.messages.truncate(len);
        self.encoded.truncate(len);
        self.weights.truncate(len);
    }

    /// Puts a message in the place of another: what it says is shorter now, and means the same to the API. From there on,
    /// requests are no longer those that were cached.
    pub fn replace(&mut self, index: usize, message: impl Into<Message>) {
        let message = slim(message.into());
        if index < self.messages.len() {
            let encoded = self.encode(index, &message);
            self.weights[index] = self.weigh(index, &message, &encoded);
            self.encoded[index] = encoded;
            self.messages[index] = message;
        }
    }

    /// How much the model has to read, in bytes: system prompt, messages, and the tools that it is shown.
    pub fn bytes(&self) -> usize {
        let messages: usize = self.encoded.iter().map(|message| message.json.len() + 1).sum();
        self.system.len() + self.tools.json.len() - self.tools.kept_bytes + messages
    }

    /// How much of the model's window a request would take, in bytes of text: a picture takes what its size in pixels
    /// takes, and not what its file does.
    pub fn weight(&self) -> usize {
        let messages: usize = self.weights.iter().map(|weight| weight + 1).sum();
        self.system.len() + self.tools.json.len() - self.tools.kept_bytes + messages
    }

    fn weigh(&self, place: usize, message: &Message, encoded: &Encoded) -> usize {
        match without_media(message).filter(|_| !self.worded) {
            None => encoded.json.len(),
            Some((rest, media)) => self.encode(place, &rest).json.len() + media,
        }
    }

    /// A message at a place, in its API's form. Some of it depends on what was said before.
    fn encode(&self, place: usize, message: &Message) -> Encoded {
        if self.worded && has_media(message) {
            return self.encode_shown(place, &in_words(message));
        }
        self.encode_shown(place, message)
    }

    fn encode_shown(&self, place: usize, message: &Message) -> Encoded {
        let before = &self.messages[..place];
        match self.dialect {
            Dialect::Anthropic => anthropic::message(message, &self.tools.kept),
            Dialect::OpenAi => openai::message(message, before),
            Dialect::Responses => responses::message(message, before),
            Dialect::Gemini => gemini::message(message),
        }
    }

    /// Whether a message has something that is shown and is not text.
    pub(crate) fn shows_media_of(&self, message: &Message) -> bool {
        !self.worded && has_media(message)
    }

    /// The request that asks the model to go on.
    pub fn request(&self, options: &RequestOptions) -> Request {
        let json = match self.dialect {
            Dialect::Anthropic => anthropic::request(self, options),
            Dialect::OpenAi => openai::request(self, options),
            Dialect::Responses => responses::request(self, options),
            Dialect::Gemini => gemini::request(self, options),
        };
        Request {
            dialect: self.dialect,
            model: options.model.clone(),
            streams: !options.whole,
            json: json.into(),
        }
    }

    /// The messages that an API has a form for, as they were encoded, with what they are.
    pub(crate) fn encoded(&self) -> impl DoubleEndedIterator<Item = (&Message, &Encoded)> {
        self.messages.iter().zip(&self.encoded).filter(|(_, encoded)| !encoded.json.is_empty())
    }

    /// The messages as the items of a list, with something before them.
    pub(crate) fn write_messages(&self, json: &mut String, before: Option<&str>) {
        json.push('[');
        let items = before.into_iter().chain(self.encoded().map(|(_, encoded)| encoded.json.as_str()));
        for (index, item) in items.enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(item);
        }
        json.push(']');
    }
}

impl<M: Into<Message>> Extend<M> for History {
    fn extend<I: IntoIterator<Item = M>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl Tools {
    fn of(tools: &Value) -> Tools {
        let mut list = Tools::default();
        for tool in tools.as_array().into_iter().flatten() {
            if !list.json.is_empty() {
                list.json.push(',');
            }
            let json = tool.to_string();
            list.json.push_str(&json);
            // A tool that the API keeps from the model is no part of what it caches.
            if tool.get("defer_loading").is_none() {
                list.mark = Some(list.json.len() - 1);
            } else {
                list.kept.extend(tool["name"].as_str().map(str::to_owned));
                list.kept_bytes += json.len();
            }
        }
        list
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.json.is_empty()
    }

    pub(crate) fn write(&self, json: &mut String) {
        json.push('[');
        json.push_str(&self.json);
        json.push(']');
    }
}

/// What a picture takes of a window, at most: APIs make larger ones smaller before they count.
const PICTURE: usize = 6_400;

/// Documents and sounds are counted by pages and seconds. So much of a file is taken for one.
const PAGE: usize = 100 * 1024;

/// A message without the bytes of its media, and what those weigh; nothing if it has none.
fn without_media(message: &Message) -> Option<(Message, usize)> {
    match message {
        _ if !has_media(message) => None,
        Message::User(blocks) => {
            let (blocks, media) = stripped(blocks);
            Some((Message::User(blocks), media))
        }
        Message::Results(results) => {
            let mut media = 0;
            let strip = |result: &ToolResult| {
                let (blocks, weight) = stripped(&result.blocks);
                media += weight;
                ToolResult { blocks, ..result.clone() }
            };
            Some((Message::Results(results.iter().map(strip).collect()), media))
        }
        Message::Assistant(_) => None,
    }
}

fn has_media(message: &Message) -> bool {
    let has_media = |blocks: &[Block]| blocks.iter().any(|block| media_weight(block) > 0);
    match message {
        Message::User(blocks) => has_media(blocks),
        Message::Results(results) => results.iter().any(|result| has_media(&result.blocks)),
        Message::Assistant(_) => false,
    }
}

/// A message that says what it has no words for.
fn in_words(message: &Message) -> Message {
    match message {
        Message::User(blocks) => Message::User(told(blocks)),
        Message::Results(results) => {
            let tell = |result: &ToolResult| ToolResult { blocks: told(&result.blocks), ..result.clone() };
            Message::Results(results.iter().map(tell).collect())
        }
        Message::Assistant(_) => message.clone(),
    }
}

fn stripped(blocks: &[Block]) -> (Vec<Block>, usize) {
    let others = blocks.iter().filter(|block| media_weight(block) == 0).cloned();
    (others.collect(), blocks.iter().map(media_weight).sum())
}

fn media_weight(block: &Block) -> usize {
    match block {
        Block::Text(_) | Block::Link { .. } => 0,
        // A document that is nothing but text is sent as text.
        Block::Document { media_type, .. } if media_type.starts_with("text/") => 0,
        Block::Image { .. } => PICTURE,
        Block::Audio { data, .. } | Block::Document { data, .. } => {
            PICTURE * data.len().div_ceil(PAGE).max(1)
        }
    }
}

/// The tools that the calls of a message loaded.
fn loaded(message: &Message) -> impl Iterator<Item = &str> {
    let results = match message {
        Message::Results(results) => &results[..],
        _ => &[],
    };
    results.iter().flat_map(|result| result.meta.loaded.iter().map(String::as_str))
}

/// A message without what only people and programs see: it stays as long as the conversation.
fn slim(message: Message) -> Message {
    match message {
        Message::Results(mut results) => {
            for result in &mut results {
                (result.view, result.data) = (None, None);
            }
            Message::Results(results)
        }
        message => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Assistant, Part, Said};

    fn picture(bytes: usize) -> Block {
        Block::Image { media_type: "image/png".to_owned(), data: vec![7; bytes] }
    }

    #[test]
    fn a_picture_weighs_what_it_takes_of_a_window_and_text_its_bytes() {
        for dialect in Dialect::ALL {
            let mut history = History::new(dialect);
            history.push(Message::User(vec![Block::Text("Look".to_owned()), picture(1 << 20)]));
            assert!(history.bytes() > 1 << 20, "{dialect}");
            assert!((PICTURE..PICTURE + 500).contains(&history.weight()), "{dialect}: {}", history.weight());
            history.replace(0, Message::user("Look"));
            assert_eq!(history.weight(), history.bytes(), "{dialect}");
        }
    }

    #[test]
    fn what_the_person_says_in_a_row_is_one_message() {
        let mut history = History::new(Dialect::OpenAi);
        history.extend([Message::user("One"), Message::user("two")]);
        let both = ["One", "two"].map(|text| Block::Text(text.to_owned())).to_vec();
        assert_eq!(history.messages(), [Message::User(both)]);
        let request = history.request(&RequestOptions::new("m"));
        assert_eq!(request.json().matches(r#""role":"user""#).count(), 1);
        history.truncate(0);
        assert_eq!(history.weight(), 0);
    }

    #[test]
    fn an_answer_without_a_word_does_not_stand_between_what_the_person_says() {
        for dialect in Dialect::ALL {
            let mut history = History::new(dialect);
            let thoughts = Assistant { parts: vec![Part::new(Said::Thinking("Hm.".to_owned()))] };
            history.extend([Message::user("One"), thoughts.into(), Message::user("two")]);
            assert_eq!(history.messages().len(), 1, "{dialect}");
        }
    }
}
