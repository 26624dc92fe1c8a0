//! A model that says what a test wants, as the bytes of an API.
//!
//! A [`Turn`] is one answer: text, thoughts, calls, pauses, and what may go wrong. It is written here because nobody else
//! knows the APIs' JSON; `haft-testkit` has the server that sends it. For tests alone: feature `scripted`.

mod anthropic; // Messages
mod openai; //    Chat Completions
mod responses; // Responses
mod gemini; //    generateContent

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Dialect, Stop, Usage};

/// One answer of a scripted model.
///
/// ```
/// use haft_model::scripted::Turn;
/// use serde_json::json;
///
/// let turn = Turn::new().thinking("Where is it?").text("Let me look.").call("Read", json!({ "path": "a.rs" }));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub(crate) steps: Vec<Step>,
    pub(crate) stop: Option<Stop>,
    pub(crate) usage: Usage,
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    piece: usize,
}

/// What a turn does next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Text(String),
    Thinking(String),
    Call { id: String, name: String, arguments: String },
    Pause(Duration),
    Error(&'static str, String),
    Cut,
}

/// What a server does next to send a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wire {
    /// Sends this.
    Send(String),
    /// Waits.
    Pause(Duration),
    /// Closes the connection in the middle of the answer.
    Cut,
}

impl Default for Turn {
    fn default() -> Turn {
        Turn {
            steps: Vec::new(),
            stop: None,
            usage: Usage { input: 100, cached: 80, cache_written: 0, output: 20, thinking: 0 },
            status: 200,
            headers: Vec::new(),
            body: String::new(),
            piece: 16,
        }
    }
}

impl Turn {
    /// An answer without a word yet.
    pub fn new() -> Turn {
        Turn::default()
    }

    /// No answer, but an HTTP status and words: `Turn::refusal(429, "slow down").header("retry-after", "2")`.
    pub fn refusal(status: u16, message: impl Into<String>) -> Turn {
        let body = json!({ "error": { "message": message.into() } }).to_string();
        Turn { status, body, ..Turn::default() }
    }

    /// Says this.
    pub fn text(self, text: impl Into<String>) -> Turn {
        self.step(Step::Text(text.into()))
    }

    /// Thinks this.
    pub fn thinking(self, text: impl Into<String>) -> Turn {
        self.step(Step::Thinking(text.into()))
    }

    /// Calls a tool. Its id is `toolu_1`, `toolu_2` by its place in the answer; with [`call_as`](Turn::call_as) another.
    pub fn call(self, name: impl Into<String>, arguments: Value) -> Turn {
        let before = self.steps.iter().filter(|step| matches!(step, Step::Call { .. })).count();
        self.call_as(format!("toolu_{}", before + 1), name, arguments.to_string())
    }

    /// Calls a tool under an id, with arguments as text, which may be broken.
    pub fn call_as(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Turn {
        self.step(Step::Call { id: id.into(), name: name.into(), arguments: arguments.into() })
    }

    /// Waits before what follows.
    pub fn pause(self, time: Duration) -> Turn {
        self.step(Step::Pause(time))
    }

    /// Tells of an error in the middle of the stream, with the API's word for it: `overloaded_error`.
    pub fn error(self, code: &'static str, message: impl Into<String>) -> Turn {
        self.step(Step::Error(code, message.into()))
    }

    /// Closes the connection here.
    pub fn cut(self) -> Turn {
        self.step(Step::Cut)
    }

    /// Stops for this reason, and not for the one that follows from what it said.
    pub fn stop(mut self, stop: Stop) -> Turn {
        self.stop = Some(stop);
        self
    }

    /// Counts this.
    pub fn usage(mut self, usage: Usage) -> Turn {
        self.usage = usage;
        self
    }

    /// A header of the answer.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Turn {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Texts and arguments come in pieces of so many characters: 16 unless told.
    pub fn pieces(mut self, characters: usize) -> Turn {
        self.piece = characters.max(1);
        self
    }

    /// The status of the answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The headers of the answer, without those that every answer has.
    pub fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The answer as an API streams it.
    pub fn wire(&self, dialect: Dialect) -> Vec<Wire> {
        if self.status != 200 {
            return vec![Wire::Send(self.body.clone())];
        }
        match dialect {
            Dialect::Anthropic => anthropic::wire(self),
            Dialect::OpenAi => openai::wire(self),
            Dialect::Responses => responses::wire(self),
            Dialect::Gemini => gemini::wire(self),
        }
    }

    /// The answer in one piece, as an API gives it that was not asked to stream. Pauses come before it; errors and cuts
    /// are for streams.
    pub fn whole(&self, dialect: Dialect) -> Vec<Wire> {
        if self.status != 200 {
            return vec![Wire::Send(self.body.clone())];
        }
        let answer = match dialect {
            Dialect::Anthropic => anthropic::whole(self),
            Dialect::OpenAi => openai::whole(self),
            Dialect::Responses => responses::whole(self),
            Dialect::Gemini => gemini::whole(self),
        };
        let pauses = self.steps.iter().filter_map(|step| match step {
            Step::Pause(time) => Some(Wire::Pause(*time)),
            _ => None,
        });
        pauses.chain([Wire::Send(answer.to_string())]).collect()
    }

    fn step(mut self, step: Step) -> Turn {
        self.steps.push(step);
        self
    }

    fn has_calls(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Call { .. }))
    }

    /// Why it stops, if it was not told.
    fn reason(&self) -> Stop {
        match &self.stop {
            Some(stop) => stop.clone(),
            None if self.has_calls() => Stop::Calls,
            None => Stop::End,
        }
    }

    fn cut_up<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.char_indices().nth(self.piece).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(end);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

/// Says this in one answer.
impl From<&str> for Turn {
    fn from(text: &str) -> Turn {
        Turn::new().text(text)
    }
}

/// What is to be sent, event by event.
#[derive(Debug, Default)]
struct Out(Vec<Wire>);

impl Out {
    /// An event with data alone.
    fn data(&mut self, data: &Value) {
        self.0.push(Wire::Send(format!("data: {data}\n\n")));
    }

    /// An event that also says its kind, which is the type of its data.
    fn event(&mut self, data: &Value) {
        let kind = data["type"].as_str().unwrap_or_default();
        self.0.push(Wire::Send(format!("event: {kind}\ndata: {data}\n\n")));
    }

    fn pause(&mut self, time: Duration) {
        self.0.push(Wire::Pause(time));
    }

    fn cut(mut self) -> Vec<Wire> {
        self.0.push(Wire::Cut);
        self.0
    }
}

/// The arguments of a call where an API has a value in their place.
fn as_value(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!({}))
}
