//! A model's answer while it is being written.
//!
//! A [`Decoder`] takes bytes as they come, cut anywhere, and gives [`StreamEvent`]s. It knows no HTTP: feed it from a
//! socket, a file or a test. Every API has its own reader, which says what happens to a [`Draft`]; the rest is shared.
//! An answer in one piece, from a server that does not stream, is read as well.

mod event; //   what a stream says
mod sse; //     events from bytes
mod ending; //  where an object ends
mod raw; //     JSON as it was written
mod draft; //   the message that is being written

use std::{
    borrow::Cow,
    hash::{BuildHasher, RandomState},
};

use haft_tool::CallId;
use serde_json::Value;

use crate::{Dialect, ErrorKind, ModelError, anthropic, conversation::Assistant, gemini, openai, responses};
use sse::{Event, Events};

pub(crate) use draft::{Draft, MOST_PARTS, Slot, too_many_parts};
pub(crate) use ending::Ending;
pub use event::{Response, Stop, StreamEvent, Usage};
pub(crate) use raw::{field, items, mended};

/// The most bytes of one event, and of an answer in one piece: both are held whole, and take many times as much when read.
const MOST_EVENT: usize = 8 << 20;

/// The most bytes of one answer.
const MOST: usize = 64 << 20;

/// Reads a model's answer from bytes as they come.
///
/// ```
/// use haft_model::{Decoder, Dialect, StreamEvent};
///
/// let mut decoder = Decoder::new(Dialect::OpenAi);
/// let events = decoder.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hel");
/// assert_eq!(events, []);
/// let events = decoder.feed(b"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
/// assert_eq!(events[0], StreamEvent::Text("Hello".to_owned()));
/// assert!(matches!(&events[1], StreamEvent::Done(response) if response.message.text() == "Hello"));
/// ```
#[derive(Debug)]
pub struct Decoder {
    form: Form,
    events: Events,
    whole: Vec<u8>,
    read: usize,
    has_events: bool,
    draft: Draft,
    reader: Reader,
    is_over: bool,
}

/// What the bytes are.
#[derive(Debug, PartialEq, Eq)]
enum Form {
    /// Not known: nothing but blanks came.
    Blank,
    /// A stream of events.
    Events,
    /// One JSON value.
    Whole,
}

/// What an API's reader remembers.
#[derive(Debug)]
enum Reader {
    Anthropic(anthropic::Reader),
    OpenAi(openai::Reader),
    Responses(responses::Reader),
    Gemini(gemini::Reader),
}

/// What a reader says after each event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// There is more.
    On,
    /// The message is complete.
    Over,
}

/// What a reader makes of an event.
pub(crate) type Read = Result<Flow, ModelError>;

impl Decoder {
    /// A decoder for one answer of an API.
    pub fn new(dialect: Dialect) -> Decoder {
        // Ids that are made up must not come again in another message: results are found by them.
        Decoder::seeded(dialect, RandomState::new().hash_one(0) >> 16)
    }

    /// The same with the number that made-up ids have in common, for tests that compare.
    pub fn seeded(dialect: Dialect, salt: u64) -> Decoder {
        let reader = match dialect {
            Dialect::Anthropic => Reader::Anthropic(anthropic::Reader::default()),
            Dialect::OpenAi => Reader::OpenAi(openai::Reader::default()),
            Dialect::Responses => Reader::Responses(responses::Reader::default()),
            Dialect::Gemini => Reader::Gemini(gemini::Reader::default()),
        };
        Decoder {
            form: Form::Blank,
            events: Events::default(),
            whole: Vec::new(),
            read: 0,
            has_events: false,
            draft: Draft::new(dialect, salt),
            reader,
            is_over: false,
        }
    }

    /// Takes bytes, and tells what they say. After `Done` or `Failed` there is nothing more to tell.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<StreamEvent> {
        if self.is_over {
            return Vec::new();
        }
        let read = self.take(bytes);
        self.tell(read)
    }

    /// The bytes are over. Tells the rest, and `Failed` if the message is not complete.
    pub fn end(&mut self) -> Vec<StreamEvent> {
        if self.is_over {
            return Vec::new();
        }
        let read = self.last();
        self.tell(read)
    }

    /// The answer breaks off because of this.
    pub fn fail(&mut self, error: ModelError) -> Vec<StreamEvent> {
        if self.is_over {
            return Vec::new();
        }
        self.tell(Err(error))
    }

    /// Whether the message is complete, or never will be.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// What the model has said so far, for a message that breaks off or is stopped: words, thoughts, and of the calls that
    /// were told those that somebody has heard of. After `Done` there is nothing left of it.
    pub fn so_far(&mut self, is_heard: impl Fn(&CallId) -> bool) -> Assistant {
        self.reader.finish(&mut self.draft);
        self.draft.so_far(is_heard)
    }

    fn tell(&mut self, read: Read) -> Vec<StreamEvent> {
        let last = match read {
            Ok(Flow::On) => return self.draft.take_events(),
            Ok(Flow::Over) => {
                self.reader.finish(&mut self.draft);
                StreamEvent::Done(Box::new(self.draft.finish()))
            }
            Err(error) => StreamEvent::Failed(Box::new(error)),
        };
        self.is_over = true;
        (self.events, self.whole) = (Events::default(), Vec::new());
        let mut events = self.draft.take_events();
        events.push(last);
        events
    }

    fn take(&mut self, bytes: &[u8]) -> Read {
        self.read += bytes.len();
        if self.read > MOST {
            return Err(too_large("answer", MOST));
        }
        if self.form == Form::Blank {
            self.form = form(bytes);
        }
        match self.form {
            Form::Blank | Form::Whole if self.whole.len() + bytes.len() > MOST_EVENT => {
                Err(too_large("answer", MOST_EVENT))
            }
            // A stream may begin with a mark of its encoding, in pieces: kept until it is known what it is.
            Form::Blank | Form::Whole => {
                self.whole.extend_from_slice(bytes);
                Ok(Flow::On)
            }
            Form::Events => {
                let before = std::mem::take(&mut self.whole);
                self.push(&before).and_then(|_| self.push(bytes))
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Read {
        let mut read = Ok(Flow::On);
        let (reader, draft, has_events) = (&mut self.reader, &mut self.draft, &mut self.has_events);
        let pushed = self.events.push(bytes, MOST_EVENT, |event| {
            *has_events = true;
            if read == Ok(Flow::On) {
                read = reader.event(event, draft);
            }
        });
        match (read, pushed) {
            (Ok(Flow::On), Err(sse::TooLarge)) => Err(too_large("event", MOST_EVENT)),
            (read, _) => read,
        }
    }

    fn last(&mut self) -> Read {
        match self.form {
            Form::Blank => Err(ModelError::new(ErrorKind::CutOff, "the server sent an empty answer")),
            Form::Whole => {
                let whole = std::mem::take(&mut self.whole);
                self.reader.whole(&String::from_utf8_lossy(&whole), &mut self.draft)
            }
            Form::Events => self.last_event(),
        }
    }

    fn last_event(&mut self) -> Read {
        let mut last = None;
        self.events.end(|event| last = Some(event.clone()));
        // What is cut off in the middle says nothing.
        let last = last
            .filter(|event| event.data.trim() == DONE || serde_json::from_str::<Value>(&event.data).is_ok());
        if let Some(event) = last
            && self.reader.event(&event, &mut self.draft)? == Flow::Over
        {
            return Ok(Flow::Over);
        }
        match (self.draft.stop.is_some(), self.has_events) {
            (true, _) => Ok(Flow::Over),
            (false, true) => Err(ModelError::new(ErrorKind::CutOff, "the answer broke off in the middle")),
            (false, false) => {
                let why = "the answer is neither JSON nor a stream of events: is the base URL right?";
                Err(ModelError::new(ErrorKind::Unreadable, why))
            }
        }
    }
}

/// The event with which streams of OpenAI and many others end.
const DONE: &str = "[DONE]";

/// A line of a stream never begins with a bracket.
fn form(bytes: &[u8]) -> Form {
    const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace() && !MARK.contains(byte)) {
        None => Form::Blank,
        Some(b'{' | b'[') => Form::Whole,
        Some(_) => Form::Events,
    }
}

fn too_large(what: &str, most: usize) -> ModelError {
    let why = format!("the {what} is larger than {} MB, the most that is read", most >> 20);
    ModelError::new(ErrorKind::Unreadable, why)
}

impl Reader {
    fn event(&mut self, event: &Event, draft: &mut Draft) -> Read {
        let data = event.data.trim();
        if data.is_empty() {
            return Ok(Flow::On);
        }
        if data == DONE {
            return Ok(Flow::Over);
        }
        if let Reader::Anthropic(reader) = self
            && let Some(read) = reader.delta_of(data, draft)
        {
            return read;
        }
        let (json, value) = parse(data)?;
        if event.kind == "error" && value.get("type").is_none() {
            return Err(ModelError::told(&value));
        }
        match self {
            Reader::Anthropic(reader) => reader.event(&value, draft),
            Reader::OpenAi(reader) => reader.event(&json, &value, draft),
            Reader::Responses(reader) => reader.event(&event.kind, &json, &value, draft),
            Reader::Gemini(reader) => reader.event(&json, &value, draft),
        }
    }

    /// The message is complete.
    fn finish(&mut self, draft: &mut Draft) {
        if let Reader::OpenAi(reader) = self {
            reader.finish(draft);
        }
    }

    /// An answer in one piece.
    fn whole(&mut self, text: &str, draft: &mut Draft) -> Read {
        let (json, value) = parse(text.trim_start_matches('\u{feff}').trim())?;
        match self {
            Reader::Anthropic(reader) => reader.whole(&json, &value, draft),
            Reader::OpenAi(reader) => reader.whole(&json, &value, draft),
            Reader::Responses(reader) => reader.whole(&json, &value, draft),
            Reader::Gemini(reader) => reader.whole(&json, &value, draft),
        }
    }
}

/// Whether an answer or an event has an error in it. Some servers write an empty one for none.
pub(crate) fn tells_error(value: &Value) -> bool {
    value.get("error").is_some_and(|error| !error.is_null() && error != "" && error != false)
}

/// The text, mended if it has to be, and its value.
fn parse(text: &str) -> Result<(Cow<'_, str>, Value), ModelError> {
    if let Ok(value) = serde_json::from_str(text) {
        return Ok((text.into(), value));
    }
    let mended = mended(text);
    match serde_json::from_str(&mended) {
        Ok(value) => Ok((mended, value)),
        Err(err) => Err(ModelError::new(ErrorKind::Unreadable, format!("the answer is not JSON: {err}"))),
    }
}
