//! A server that wants the user's model to complete something: what it may want, who permits it, and what it gets.
//!
//! A server reaches this only if the settings let it (`sampling`), and each request is put to the person with its words. Text in,
//! text out, and little of both: a server gets no tools, none of the conversation, and no more than was permitted.

use std::{sync::Arc, time::Duration};

use haft_engine::policy::{Asker, Given, Inquiry};
use haft_tool::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::client::Refused;

/// A model that completes what servers want. Implementers ask once, with these words and nothing else.
pub trait Sampler: Send + Sync {
    /// What the model says, or why it says nothing.
    fn sample(&self, wanted: Wanted) -> BoxFuture<'_, Result<Sampled, String>>;
}

/// What a server wants completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What the model is told before everything else; empty for nothing.
    pub system: String,
    /// What was said, in order: whether the model said it, and the words. Never empty.
    pub said: Vec<(bool, String)>,
    /// The most tokens of the answer.
    pub max_tokens: u32,
}

/// What the model says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampled {
    /// The words.
    pub text: String,
    /// Which model it was.
    pub model: String,
    /// Whether it was cut off at the most tokens.
    pub is_cut: bool,
}

const MOST_BYTES: usize = 64 << 10;
const MOST_TOKENS: u64 = 4096;
/// So much of what a server wants is shown to whoever permits it.
const SHOWN: usize = 2000;
const PATIENCE: Duration = Duration::from_secs(120);

const BAD_PARAMS: i64 = -32602;
/// What the protocol has for a user who says no.
const REJECTED: i64 = -1;

/// Answers `sampling/createMessage`.
pub(super) async fn answer(
    server: &str,
    params: &Map<String, Value>,
    person: Option<&Arc<dyn Asker>>,
    model: &dyn Sampler,
) -> Result<Value, Refused> {
    let wanted = Wanted::read(params)?;
    permitted(server, &wanted, person).await?;
    let sampled = match timeout(PATIENCE, model.sample(wanted)).await {
        Ok(Ok(sampled)) => sampled,
        Ok(Err(why)) => return Err(Refused::new(REJECTED, format!("the model does not answer: {why}"))),
        Err(_) => return Err(Refused::new(REJECTED, "the model does not answer in time")),
    };
    let Sampled { text, model, is_cut } = sampled;
    let stop = if is_cut { "maxTokens" } else { "endTurn" };
    Ok(
        json!({ "role": "assistant", "content": { "type": "text", "text": text }, "model": model, "stopReason": stop }),
    )
}

impl Wanted {
    fn read(params: &Map<String, Value>) -> Result<Wanted, Refused> {
        let wrong = |what: &str| Refused::new(BAD_PARAMS, what);
        if params.contains_key("tools") {
            return Err(wrong("tools cannot be used here: `sampling.tools` was not declared"));
        }
        let messages = params.get("messages").and_then(Value::as_array).filter(|all| !all.is_empty());
        let messages = messages.ok_or_else(|| wrong("`messages` is a list of what was said"))?;
        let said: Option<Vec<(bool, String)>> = messages.iter().map(read_message).collect();
        let said = said.ok_or_else(|| wrong("only messages of text can be completed here"))?;
        let system = params.get("systemPrompt").and_then(Value::as_str).unwrap_or_default().to_owned();
        let bytes = system.len() + said.iter().map(|(_, text)| text.len()).sum::<usize>();
        if bytes > MOST_BYTES {
            return Err(wrong(&format!("{bytes} bytes are too much; at most {MOST_BYTES} are completed")));
        }
        let most = params.get("maxTokens").and_then(Value::as_u64).unwrap_or(MOST_TOKENS);
        Ok(Wanted { system, said, max_tokens: most.clamp(1, MOST_TOKENS) as u32 })
    }

    /// For whoever permits it.
    fn shown(&self) -> String {
        let lines = self.said.iter().map(|(is_model, text)| match is_model {
            true => format!("model: {text}"),
            false => format!("user: {text}"),
        });
        let system = (!self.system.is_empty()).then(|| format!("system: {}", self.system));
        let text = system.into_iter().chain(lines).collect::<Vec<_>>().join("\n");
        match text.char_indices().nth(SHOWN) {
            Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
            None => text,
        }
    }
}

/// Content is one block, or a list of them.
fn read_message(message: &Value) -> Option<(bool, String)> {
    let is_model = match message.get("role")?.as_str()? {
        "user" => false,
        "assistant" => true,
        _ => return None,
    };
    let text = |block: &Value| match block.get("type")?.as_str()? {
        "text" => block.get("text")?.as_str().map(str::to_owned),
        _ => None,
    };
    let text = match message.get("content")? {
        Value::Array(blocks) => blocks.iter().map(text).collect::<Option<Vec<_>>>()?.join("\n"),
        block => text(block)?,
    };
    Some((is_model, text))
}

/// Each request is asked about: nothing that a server says once permits what it says next.
async fn permitted(server: &str, wanted: &Wanted, person: Option<&Arc<dyn Asker>>) -> Result<(), Refused> {
    let message = format!(
        "It wants your model to answer this, with at most {} tokens, and will read the answer:\n{}",
        wanted.max_tokens,
        wanted.shown()
    );
    let schema = json!({
        "type": "object",
        "properties": { "answer": { "type": "string", "enum": [YES, NO], "description": "Let your model answer?" } },
        "required": ["answer"],
    });
    let given = match person {
        Some(person) => {
            person.inquire(Inquiry { session: None, who: server, message: &message, schema: &schema }).await
        }
        None => Given::NobodyThere,
    };
    match given {
        Given::Answers(answers) if answers.get("answer").is_some_and(|answer| answer == YES) => Ok(()),
        Given::NobodyThere => Err(Refused::new(REJECTED, "nobody is here to permit it")),
        _ => Err(Refused::new(REJECTED, "the user does not permit it")),
    }
}

const YES: &str = "yes";
const NO: &str = "no";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: Value) -> Result<Wanted, String> {
        Wanted::read(params.as_object().expect("an object")).map_err(|refused| refused.message)
    }

    #[test]
    fn texts_are_read_and_nothing_else_and_not_more_than_is_good() {
        let hello = json!([{ "role": "user", "content": { "type": "text", "text": "hello" } }]);
        let wanted = read(json!({ "messages": hello, "systemPrompt": "be brief", "maxTokens": 9_000_000 }));
        let expected = Wanted {
            system: "be brief".to_owned(),
            said: vec![(false, "hello".to_owned())],
            max_tokens: 4096,
        };
        assert_eq!(wanted, Ok(expected));
        let blocks = json!([{ "role": "assistant", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] }]);
        assert_eq!(read(json!({ "messages": blocks })).unwrap().said, [(true, "a\nb".to_owned())]);
        let image = json!([{ "role": "user", "content": { "type": "image", "data": "" } }]);
        let long =
            json!([{ "role": "user", "content": { "type": "text", "text": "x".repeat(MOST_BYTES + 1) } }]);
        for (params, expected) in [
            (json!({}), "`messages` is a list"),
            (json!({ "messages": [] }), "`messages` is a list"),
            (json!({ "messages": image }), "only messages of text"),
            (json!({ "messages": long }), "too much"),
            (json!({ "messages": hello, "tools": [] }), "was not declared"),
        ] {
            let refused = read(params).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
