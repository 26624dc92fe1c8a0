//! How an agent behaves.

use std::time::Duration;

use haft_model::{Dialect, Thinking};
use serde_json::{Map, Value};

/// How an agent asks its model, and how far it goes.
#[derive(Debug, Clone)]
pub struct AgentOptions {
    /// Which model, as its API names it.
    pub model: String,
    /// The API's language.
    pub dialect: Dialect,
    /// So many times a run may ask the model; as often as it takes if it is not given.
    pub max_turns: Option<u32>,
    /// So many tokens the model may write in a run, in all its answers.
    pub max_tokens: Option<u64>,
    /// So many tokens it may write in one answer; the API's own limit if it is not given.
    pub answer_tokens: Option<u32>,
    /// The tokens of the model's context window.
    pub window: u64,
    /// Whether all tools are sent, of which the API keeps those that were not searched for from the model, and ToolSearch
    /// answers with references to them. Only where the API and the model take it, and for tools of 512 KB at most; what
    /// was found is appended to the tools otherwise.
    pub tool_references: bool,
    /// Whether requests say which session they are of, so that OpenAI's caches find them. Only OpenAI itself knows the field.
    pub cache_key: bool,
    /// Whether the model is shown pictures, sounds and documents. It is told in words what there is otherwise, and also from the moment
    /// on at which the API does not take them.
    pub images: bool,
    /// How much the model thinks.
    pub thinking: Option<Thinking>,
    /// What the model is told after haft's own words, each a paragraph of its own.
    pub system: Vec<String>,
    /// Whether AGENTS.md and CLAUDE.md of the workspace are read, as notes on the project.
    pub notes: bool,
    /// When and how often the model is asked again after something went wrong.
    pub patience: Patience,
    /// Fields of the API's own for each request; see [`RequestOptions::extra`](haft_model::RequestOptions::extra).
    pub extra: Map<String, Value>,
}

impl AgentOptions {
    /// The usual, for a model.
    pub fn new(dialect: Dialect, model: impl Into<String>) -> AgentOptions {
        AgentOptions {
            model: model.into(),
            dialect,
            max_turns: None,
            max_tokens: None,
            answer_tokens: None,
            window: usual_window(dialect),
            tool_references: false,
            cache_key: false,
            images: true,
            thinking: None,
            system: Vec::new(),
            notes: true,
            patience: Patience::default(),
            extra: Map::new(),
        }
    }
}

/// What the models of an API have at least. Compatible servers often have less: their owners say how much.
fn usual_window(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Anthropic | Dialect::Responses => 200_000,
        Dialect::OpenAi => 128_000,
        Dialect::Gemini => 1_000_000,
    }
}

/// When and how often the model is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// So many times in a row, then the run has failed.
    pub attempts: u32,
    /// The first pause. Each is twice as long as the one before, and a little more or less.
    pub first: Duration,
    /// The longest pause of one's own accord.
    pub longest: Duration,
    /// A server that wants to be left alone for longer than this is not waited for.
    pub most: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            attempts: 8,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            most: Duration::from_secs(120),
        }
    }
}
