//! A model that judges calls in mode `auto`: one request, one answer, and nothing of the conversation.
//!
//! What it is asked, how often, and what of its answer counts is the engine's ([`ByModel`](haft_engine::judge::ByModel)).

use std::{error::Error, fmt, sync::Arc};

use haft_engine::judge::AskModel;
use haft_model::{Dialect, History, Message, ModelError, RequestOptions, StreamEvent};
use haft_tool::BoxFuture;
use serde_json::{Map, Value};

use crate::{Model, exchange::cut_off};

/// Room for one line, and for what some models think before it.
const MAX_TOKENS: u32 = 4_096;

/// A [`Model`] as the engine's classifier asks one.
///
/// It has no tools, no system prompt, and is never asked twice: whatever goes wrong leaves the question to the person.
pub struct Judge {
    model: Arc<dyn Model>,
    dialect: Dialect,
    name: String,
    extra: Map<String, Value>,
}

impl Judge {
    /// Asks this model, which its API names so.
    pub fn new(model: Arc<dyn Model>, dialect: Dialect, name: impl Into<String>) -> Judge {
        Judge { model, dialect, name: name.into(), extra: Map::new() }
    }

    /// Fields of the API's own for each request, as the agent sends them.
    pub fn extra(mut self, extra: Map<String, Value>) -> Judge {
        self.extra = extra;
        self
    }

    async fn answer(&self, prompt: &str) -> Result<String, ModelError> {
        let mut history = History::new(self.dialect);
        history.push(Message::user(prompt));
        let options = RequestOptions {
            max_tokens: Some(MAX_TOKENS),
            uncached: true,
            extra: self.extra.clone(),
            ..RequestOptions::new(&self.name)
        };
        let mut stream = self.model.stream(&history.request(&options)).await?;
        while let Some(event) = stream.next().await {
            match event {
                StreamEvent::Done(response) => return Ok(response.message.text()),
                StreamEvent::Failed(error) => return Err(*error),
                _ => {}
            }
        }
        Err(cut_off())
    }
}

impl AskModel for Judge {
    fn ask<'a>(&'a self, prompt: &'a str) -> BoxFuture<'a, Result<String, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move { Ok(self.answer(prompt).await?) })
    }
}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judge").field("model", &self.name).finish_non_exhaustive()
    }
}
