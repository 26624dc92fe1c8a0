//! A message as the text of its JSON.
//!
//! Text and not a value: it is made once, is copied into each request, and what a model wrote stays as it wrote it.

use std::{borrow::Cow, hash::BuildHasher};

use haft_engine::turn::Arguments;
use serde_json::{Value, value::RawValue};

use crate::stream::mended;

/// A message in an API's JSON: one item of its list or several with commas between, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Encoded {
    pub(crate) json: String,
    /// Where another field can be put into the last block, for APIs that are told there how far to cache.
    pub(crate) mark: Option<usize>,
}

impl Encoded {
    pub(crate) fn new(json: String) -> Encoded {
        Encoded { json, mark: None }
    }

    /// Items one after the other.
    pub(crate) fn items(items: impl IntoIterator<Item = String>) -> Encoded {
        Encoded::new(items.into_iter().collect::<Vec<_>>().join(","))
    }

    /// A value; the items of a list.
    pub(crate) fn of(value: &Value) -> Encoded {
        match value {
            Value::Array(items) => Encoded::items(items.iter().map(Value::to_string)),
            value => Encoded::new(value.to_string()),
        }
    }
}

/// A text in JSON.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The arguments of a call as the text of an object. Nothing else may be sent back, and templates of local models
/// break on it, so what is no object is put into one.
pub(crate) fn arguments(input: &Arguments) -> Cow<'_, str> {
    match input {
        Arguments::Text(text) if text.trim().is_empty() => "{}".into(),
        Arguments::Text(text) if is_object(text) => mended(text.trim()),
        Arguments::Text(text) => wrapped(&Value::from(text.as_str())).into(),
        Arguments::Value(value @ Value::Object(_)) => value.to_string().into(),
        Arguments::Value(value) => wrapped(value).into(),
    }
}

pub(crate) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(text).is_ok()
}

fn wrapped(broken: &Value) -> String {
    format!("{{\"INVALID_JSON\":{broken}}}")
}

/// An id as every API takes it. One of another API may have characters or a length that this one refuses.
pub(crate) fn fitting_id(id: &str) -> Cow<'_, str> {
    fitting(id, "")
}

/// An id in Chat Completions, whose servers make them in many forms. A model that is trained on its own (`functions.Read:0`)
/// calls worse where it finds another.
pub(crate) fn fitting_chat_id(id: &str) -> Cow<'_, str> {
    fitting(id, ".:")
}

/// The name of a tool as every API takes it. Models make names up, with marks of their templates in them or with nothing at all,
/// and an API that finds one in what was said refuses all of it.
pub(crate) fn fitting_name(name: &str) -> Cow<'_, str> {
    const MOST: usize = 64;
    let is_taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match name {
        "" => "unnamed".into(),
        name if name.len() <= MOST && name.chars().all(is_taken) => name.into(),
        name => name.chars().take(MOST).map(|c| if is_taken(c) { c } else { '_' }).collect::<String>().into(),
    }
}

fn fitting<'i>(id: &'i str, more: &str) -> Cow<'i, str> {
    const MOST: usize = 64;
    let is_taken = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || more.as_bytes().contains(&byte)
    };
    if id.len() <= MOST && !id.is_empty() && id.bytes().all(is_taken) {
        return id.into();
    }
    // The hash keeps two ids apart that are alike but for what was replaced. It is the same in every process.
    let hash = std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(id);
    let kept = id.chars().take(MOST - 17).map(|c| if c.is_ascii() && is_taken(c as u8) { c } else { '_' });
    format!("{}_{hash:016x}", kept.collect::<String>()).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_always_an_object_and_stay_as_they_were_written() {
        let text = |text: &str| arguments(&Arguments::from(text)).into_owned();
        assert_eq!(
            text(r#" {"b": 1.0, "a":12345678901234567890123} "#),
            r#"{"b": 1.0, "a":12345678901234567890123}"#
        );
        assert_eq!(text(""), "{}");
        assert_eq!(text(r#"{"a":"#), r#"{"INVALID_JSON":"{\"a\":"}"#);
        assert_eq!(text("[1]"), r#"{"INVALID_JSON":"[1]"}"#);
        assert_eq!(text(r#"{"a":"\ud83d"}"#), r#"{"a":"\ufffd"}"#);
        assert_eq!(arguments(&json!({ "a": 1 }).into()), r#"{"a":1}"#);
        assert_eq!(arguments(&json!(3).into()), r#"{"INVALID_JSON":3}"#);
    }

    #[test]
    fn an_id_that_fits_stays_and_others_stay_different() {
        assert_eq!(fitting_id("toolu_01-a"), "toolu_01-a");
        let (one, other) = (fitting_id("functions.Read:0"), fitting_id("functions_Read:0"));
        assert!(one.starts_with("functions_Read_0_") && one != other, "{one} {other}");
        assert!(fitting_id(&"é".repeat(100)).len() <= 64);
        assert_ne!(fitting_id(""), "");
        assert_eq!(fitting_chat_id("functions.Read:0"), "functions.Read:0");
        assert_ne!(fitting_chat_id("a b"), "a b");
    }

    #[test]
    fn a_name_that_was_made_up_becomes_one_that_a_tool_could_have() {
        assert_eq!(fitting_name("mcp__git-hub__list_2"), "mcp__git-hub__list_2");
        assert_eq!(fitting_name("Read<|channel|>commentary"), "Read__channel__commentary");
        assert_eq!(fitting_name(""), "unnamed");
        assert_eq!(fitting_name(&"é".repeat(90)), "_".repeat(64));
    }
}
