//! The model of a conversation, for servers that may ask it: one request with their words, and nothing of the conversation.

use std::sync::Arc;

use haft_agent::Model;
use haft_mcp::upstream::{Sampled, Sampler, Wanted};
use haft_model::{Assistant, Dialect, History, Message, Part, RequestOptions, Said, Stop, StreamEvent};
use haft_tool::BoxFuture;
use serde_json::{Map, Value};

use crate::model::Choice;

/// A model as servers see it.
pub(crate) struct Sampling {
    model: Arc<dyn Model>,
    dialect: Dialect,
    name: String,
    extra: Map<String, Value>,
}

impl Sampling {
    pub(crate) fn new(model: Arc<dyn Model>, choice: &Choice) -> Sampling {
        let (dialect, name) = (choice.endpoint.dialect(), choice.name.clone());
        Sampling { model, dialect, name, extra: choice.extra.clone() }
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
        let extra = self.extra.clone();
        let options = RequestOptions { max_tokens, extra, uncached: true, ..RequestOptions::new(&self.name) };
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

#[cfg(test)]
mod tests {
    use haft_model::{Client, Endpoint};
    use haft_testkit::{ModelServer, Recorded, Turn};

    use super::*;

    /// What comes of a request of a server, and what the model was asked.
    async fn asked(dialect: Dialect, turn: Turn) -> (Result<Sampled, String>, Recorded) {
        let server = ModelServer::start([turn]).await;
        let model = Arc::new(Client::new(Endpoint::new(dialect).base(server.url())).unwrap());
        let sampling = Sampling { model, dialect, name: "small".to_owned(), extra: Map::new() };
        let said = vec![(false, "one".to_owned()), (true, "two".to_owned()), (false, "three".to_owned())];
        let wanted = Wanted { system: "be brief".to_owned(), said, max_tokens: 77 };
        let sampled = sampling.sample(wanted).await;
        let mut requests = server.requests();
        assert_eq!(requests.len(), 1, "asked once");
        (sampled, requests.remove(0))
    }

    #[tokio::test]
    async fn the_model_gets_the_words_of_the_server_and_nothing_else() {
        for dialect in Dialect::ALL {
            let (sampled, request) = asked(dialect, Turn::new().text("fo").text("ur")).await;
            let expected = Sampled { text: "four".to_owned(), model: "small".to_owned(), is_cut: false };
            assert_eq!(sampled, Ok(expected), "{dialect:?}");
            let body = request.body.to_string();
            for words in ["be brief", "one", "two", "three", "77"] {
                assert!(body.contains(words), "{dialect:?}: no {words} in {body}");
            }
            assert!(!body.contains("\"tools\""), "{dialect:?}: {body}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_was_cut_says_so_and_one_that_broke_off_is_none() {
        let (cut, _) = asked(Dialect::Anthropic, Turn::new().text("fo").stop(Stop::MaxTokens)).await;
        assert!(cut.is_ok_and(|sampled| sampled.is_cut && sampled.text == "fo"));
        let (broken, _) = asked(Dialect::Anthropic, Turn::new().text("fo").cut()).await;
        assert!(broken.is_err(), "{broken:?}");
        let (refused, _) = asked(Dialect::Anthropic, Turn::refusal(400, "no such model")).await;
        assert!(refused.as_ref().is_err_and(|why| why.contains("no such model")), "{refused:?}");
    }
}
