//! What the model said, in a form that lasts: a conversation goes on after a crash with all that its API wants back.
//!
//! The rest of a conversation is made of public types, and can be kept by whoever keeps them.

use haft_engine::turn::{Arguments, Call};
use haft_tool::CallId;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;

use super::{Assistant, Kept, Part, Said};

/// See the module.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    parts: Vec<SavedPart>,
}

#[derive(Serialize, Deserialize)]
struct SavedPart {
    said: SavedSaid,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    kept: Option<SavedKept>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedSaid {
    Text(String),
    Thinking(String),
    Call { id: CallId, name: String, arguments: SavedArguments },
    Other(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedArguments {
    Text(String),
    Value(Value),
}

#[derive(Serialize, Deserialize)]
struct SavedKept {
    dialect: String,
    json: String,
}

impl From<Assistant> for Saved {
    fn from(message: Assistant) -> Saved {
        Saved { parts: message.parts.into_iter().map(SavedPart::from).collect() }
    }
}

impl From<Saved> for Assistant {
    fn from(saved: Saved) -> Assistant {
        Assistant { parts: saved.parts.into_iter().map(Part::from).collect() }
    }
}

impl From<Part> for SavedPart {
    fn from(part: Part) -> SavedPart {
        let said = match part.said {
            Said::Text(text) => SavedSaid::Text(text),
            Said::Thinking(text) => SavedSaid::Thinking(text),
            Said::Other(kind) => SavedSaid::Other(kind),
            Said::Call(Call { id, name, input }) => {
                let arguments = match input {
                    Arguments::Text(text) => SavedArguments::Text(text),
                    Arguments::Value(value) => SavedArguments::Value(value),
                };
                SavedSaid::Call { id, name, arguments }
            }
        };
        let kept =
            part.kept.map(|kept| SavedKept { dialect: kept.dialect.name().to_owned(), json: kept.json });
        SavedPart { said, kept }
    }
}

impl From<SavedPart> for Part {
    fn from(part: SavedPart) -> Part {
        let said = match part.said {
            SavedSaid::Text(text) => Said::Text(text),
            SavedSaid::Thinking(text) => Said::Thinking(text),
            SavedSaid::Other(kind) => Said::Other(kind),
            SavedSaid::Call { id, name, arguments } => Said::Call(match arguments {
                SavedArguments::Text(text) => Call::new(id, name, text),
                SavedArguments::Value(value) => Call::new(id, name, value),
            }),
        };
        Part { said, kept: part.kept.and_then(restored) }
    }
}

/// It becomes a piece of a request as it is, so what is no JSON is left out.
fn restored(kept: SavedKept) -> Option<Kept> {
    serde_json::from_str::<IgnoredAny>(&kept.json).ok()?;
    Some(Kept { dialect: kept.dialect.parse().ok()?, json: kept.json })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Dialect;

    #[test]
    fn what_was_said_is_the_same_after_it_was_kept() {
        let message = Assistant {
            parts: vec![
                Part::kept(Said::Thinking("Hm.".to_owned()), Dialect::Anthropic, r#"{"a": 1.0}"#.to_owned()),
                Part::new(Said::Text("I look.".to_owned())),
                Part::new(Said::Call(Call::new("a", "Read", r#"{"path": "#))),
                Part::new(Said::Call(Call::new("b", "Read", json!("a text")))),
                Part::new(Said::Other("web_search_call".to_owned())),
            ],
        };
        let text = serde_json::to_string(&message).expect("JSON");
        assert_eq!(serde_json::from_str::<Assistant>(&text).expect("a message"), message, "{text}");
    }

    #[test]
    fn what_would_break_a_request_is_left_out() {
        for kept in
            [json!({ "dialect": "anthropic", "json": "{" }), json!({ "dialect": "none", "json": "{}" })]
        {
            let saved = json!({ "parts": [{ "said": { "text": "Hi." }, "kept": kept }] });
            let message: Assistant = serde_json::from_value(saved).expect("a message");
            assert_eq!(message.parts, [Part::new(Said::Text("Hi.".to_owned()))]);
        }
    }
}
