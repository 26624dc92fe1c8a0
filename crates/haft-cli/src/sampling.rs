//! The model of a conversation, for servers that may ask it: one request with their words, and nothing of the conversation.

use std::sync::Arc;

use haft_agent::Model;
use haft_mcp::upstream::{Sampled, Sampler, Wanted};
use haft_model::{Assistant, Dialect, History, Message, Part, RequestOptions, Said, Stop, StreamEvent};
use haft_tool::BoxFuture;

use crate::model::Choice;

/// A model as servers see it.
pub(crate) struct Sampling {
    model: Arc<dyn Model>,
    dialect: Dialect,
    name: String,
}

impl Sampling {
    pub(crate) fn new(model: Arc<dyn Model>, choice: &Choice) -> Sampling {
        Sampling { model, dialect: choice.endpoint.dialect(), name: choice.name.clone() }
    }

    async fn ask(&self, wanted: Wanted) -> Result<Sampled, String> {
        let mut history = History::new(self.dialect);
        history.set_system(wanted.system);
        for (is_model, text) in wanted.said {
            history.push(match is_model {
                true => Assistant { parts: vec![Part::new(Said::Text(text))] }.into(),
                false => Message::user(text),
            });
        }
        let max_tokens = Some(wanted.max_tokens);
        let options = RequestOptions { max_tokens, uncached: true, ..RequestOptions::new(&self.name) };
        let request = history.request(&options);
        let mut stream = self.model.stream(&request).await.map_err(|err| err.to_string())?;
        while let Some(event) = stream.next().await {
            match event {
                StreamEvent::Done(response) => {
                    let is_cut = response.stop == Stop::MaxTokens;
                    return Ok(Sampled { text: response.message.text(), model: self.name.clone(), is_cut });
                }
                StreamEvent::Failed(err) => return Err(err.to_string()),
                _ => {}
            }
        }
        Err("its answer broke off".to_owned())
    }
}

impl Sampler for Sampling {
    fn sample(&self, wanted: Wanted) -> BoxFuture<'_, Result<Sampled, String>> {
        Box::pin(self.ask(wanted))
    }
}
