//! What a request says besides the conversation.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{Dialect, families};

/// How the model is asked. The default leaves everything to the API, and streams.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RequestOptions {
    /// Which model.
    pub model: String,
    /// The most tokens that it may answer with. Anthropic's API wants a number: 32,000 unless one is given.
    pub max_tokens: Option<u32>,
    /// How freely it chooses words. Models that think mostly refuse to be told, and so do Anthropic's newest.
    pub temperature: Option<f64>,
    /// How much it thinks before it answers.
    pub thinking: Option<Thinking>,
    /// Whether it has to call a tool.
    pub tool_choice: ToolChoice,
    /// At most one call in a message.
    pub one_call: bool,
    /// The answer in one piece, not as a stream.
    pub whole: bool,
    /// No breakpoints for Anthropic's prompt cache. Other APIs cache by themselves.
    pub uncached: bool,
    /// What requests of one conversation have in common, so that OpenAI's caches find them: the session's id. For OpenAI's own
    /// address only: servers that are compatible with it know no such field, and strict ones refuse it.
    pub cache_key: Option<String>,
    /// Fields of the API's own, put in place of haft's. `null` leaves a field out.
    pub extra: Map<String, Value>,
}

impl RequestOptions {
    /// All defaults, for a model.
    pub fn new(model: impl Into<String>) -> RequestOptions {
        RequestOptions { model: model.into(), ..RequestOptions::default() }
    }

    /// How much it thinks, in a form that the model takes.
    pub(crate) fn thinking_of(&self, dialect: Dialect) -> Option<Thinking> {
        families::thinking(dialect, &self.model, self.thinking?)
    }
}

/// How much a model thinks before it answers. Models know efforts, budgets or neither; by its name, each is sent the nearest
/// of what it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all, as far as the API lets one say so.
    Off,
    /// As the model sees fit, with this in mind.
    Effort(Effort),
    /// At most so many tokens.
    Budget(u32),
}

/// How hard a model tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Hardly at all, where not at all cannot be had.
    Minimal,
    /// Quick and cheap.
    Low,
    /// In between.
    Medium,
    /// As well as it can.
    High,
}

impl Effort {
    /// Its name, which all APIs share that know it.
    pub const fn name(self) -> &'static str {
        match self {
            Effort::Minimal => "minimal",
            Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
        }
    }
}

/// Whether the model has to call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It may not.
    Never,
    /// It must, whichever.
    Required,
    /// It must call this one.
    Named(String),
}

/// A request that is ready to be sent. Clones share its text, which is as long as the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub(crate) dialect: Dialect,
    pub(crate) model: String,
    pub(crate) streams: bool,
    pub(crate) json: Arc<String>,
}

impl Request {
    /// The API that it is for.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The body: one JSON object.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The path below the API's base, such as `chat/completions`. Gemini has the model in it.
    pub fn path(&self) -> String {
        match (self.dialect, self.streams) {
            (Dialect::Anthropic, _) => "messages".to_owned(),
            (Dialect::OpenAi, _) => "chat/completions".to_owned(),
            (Dialect::Responses, _) => "responses".to_owned(),
            (Dialect::Gemini, true) => format!("{}:streamGenerateContent?alt=sse", self.gemini_model()),
            (Dialect::Gemini, false) => format!("{}:generateContent", self.gemini_model()),
        }
    }

    /// Names of tuned models say where they are; the others are below `models`. Nothing in a name may leave its place in
    /// the address.
    fn gemini_model(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '/');
        let model: String = self.model.chars().filter(|c| is_plain(*c)).collect();
        let model =
            model.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect::<Vec<_>>().join("/");
        if model.contains('/') { model } else { format!("models/{model}") }
    }
}
