//! The four APIs behind one type.

use std::{error::Error, fmt, str::FromStr};

use haft_engine::{pool::Offer, result::ToolResult, turn::Call};
use serde_json::Value;

use crate::{
    anthropic, gemini, openai,
    reading::{At, DialectError},
    responses,
};

/// The language of a model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and the many servers that are compatible with it.
    OpenAi,
    /// OpenAI Responses.
    Responses,
    /// Gemini `generateContent`.
    Gemini,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 4] = [Dialect::Anthropic, Dialect::OpenAi, Dialect::Responses, Dialect::Gemini];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Anthropic => "anthropic",
            Dialect::OpenAi => "openai",
            Dialect::Responses => "responses",
            Dialect::Gemini => "gemini",
        }
    }

    /// The dialect of a model's message, told from its shape alone. `None` if no API writes such a thing.
    pub fn detect(message: &Value) -> Option<Dialect> {
        match message {
            Value::Array(items) => items.iter().find_map(detect_in_list),
            Value::Object(_) => detect_object(message),
            _ => None,
        }
    }

    /// The calls in a complete message of the model, in its order.
    ///
    /// The whole response of the API will do, and so will the bare list of blocks, tool calls, items or parts. What is
    /// not a call is passed over; a message without calls gives none. Arguments stay as they arrived: text is not
    /// parsed here, and a call without any has an empty object. Gemini may leave ids out: such calls become `call_0`,
    /// `call_1` by their place, the same each time.
    pub fn calls(self, message: &Value) -> Result<Vec<Call>, DialectError> {
        let message = At::root(self, message);
        match self {
            Dialect::Anthropic => anthropic::calls(message),
            Dialect::OpenAi => openai::calls(message),
            Dialect::Responses => responses::calls(message),
            Dialect::Gemini => gemini::calls(message),
        }
    }

    /// What goes back to the model: one message for Anthropic and Gemini, a list of messages for OpenAI, a list of
    /// items for Responses. Give it the results of all calls of one message, in the order of the calls; there is
    /// nothing to send where there were none.
    pub fn results(self, results: &[ToolResult]) -> Value {
        match self {
            Dialect::Anthropic => anthropic::results(results),
            Dialect::OpenAi => openai::results(results),
            Dialect::Responses => responses::results(results),
            Dialect::Gemini => gemini::results(results),
        }
    }

    /// Whether the API keeps deferred tools itself: it is sent all of them once, marked, and shows the model those
    /// that a result refers to.
    pub const fn has_references(self) -> bool {
        matches!(self, Dialect::Anthropic)
    }

    /// The same as [`results`](Dialect::results) for requests whose tools are those of
    /// [`tools_deferring`](Dialect::tools_deferring): tools that a call loaded are referred to, not described. Where the
    /// API knows no references, the very same.
    pub fn results_referring(self, results: &[ToolResult]) -> Value {
        match self {
            Dialect::Anthropic => anthropic::results_referring(results, |_| true),
            _ => self.results(results),
        }
    }

    /// The `tools` field of a request with all tools of a pool ([`all_offers`](haft_engine::pool::Pool::all_offers)), of
    /// which the API keeps the deferred ones from the model until a result refers to them. It does not change when
    /// tools are loaded. Where the API knows no references, the deferred ones are left out.
    pub fn tools_deferring<'a>(self, offers: impl IntoIterator<Item = Offer<'a>>) -> Value {
        match self {
            Dialect::Anthropic => offers.into_iter().map(|offer| anthropic::tool_deferring(&offer)).collect(),
            _ => self.tools(offers),
        }
    }

    /// The `tools` field of a request, without the deferred tools. The same offers give the same bytes.
    pub fn tools<'a>(self, offers: impl IntoIterator<Item = Offer<'a>>) -> Value {
        self.tools_all(offers.into_iter().filter(|offer| !offer.deferred))
    }

    /// The `tools` field of a request that shows deferred tools like all others.
    pub fn tools_all<'a>(self, offers: impl IntoIterator<Item = Offer<'a>>) -> Value {
        let offers = offers.into_iter();
        match self {
            Dialect::Anthropic => offers.map(|offer| anthropic::tool(&offer)).collect(),
            Dialect::OpenAi => offers.map(|offer| openai::tool(&offer)).collect(),
            Dialect::Responses => offers.map(|offer| responses::tool(&offer)).collect(),
            Dialect::Gemini => gemini::tools(offers.map(|offer| gemini::declaration(&offer)).collect()),
        }
    }
}

fn detect_object(message: &Value) -> Option<Dialect> {
    let has = |key: &str| message.get(key).is_some();
    if has("choices") || has("tool_calls") || has("function_call") || has("refusal") {
        return Some(Dialect::OpenAi);
    }
    if has("output") {
        return Some(Dialect::Responses);
    }
    if has("candidates") || has("parts") {
        return Some(Dialect::Gemini);
    }
    match message.get("content")? {
        Value::Object(content) if content.contains_key("parts") => Some(Dialect::Gemini),
        // Anthropic answers in blocks always; only chat completions answer with a text or with nothing.
        Value::Array(_) => Some(Dialect::Anthropic),
        Value::String(_) | Value::Null if has("role") => Some(Dialect::OpenAi),
        _ => None,
    }
}

fn detect_in_list(item: &Value) -> Option<Dialect> {
    let has = |key: &str| item.get(key).is_some();
    match item.get("type").and_then(Value::as_str) {
        Some("function") => Some(Dialect::OpenAi),
        Some("message" | "reasoning") => Some(Dialect::Responses),
        Some(kind) if kind.ends_with("_call") => Some(Dialect::Responses),
        Some("text" | "thinking" | "redacted_thinking") => Some(Dialect::Anthropic),
        Some(kind) if kind.ends_with("tool_use") || kind.ends_with("tool_result") => Some(Dialect::Anthropic),
        Some(_) => None,
        None if has("functionCall") || has("function_call") || has("text") => Some(Dialect::Gemini),
        None if has("function") => Some(Dialect::OpenAi),
        None => None,
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Dialect, UnknownDialect> {
        let known = Dialect::ALL.into_iter().find(|dialect| dialect.name() == name);
        known.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// A name that is no dialect's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownDialect(String);

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Dialect::ALL.map(Dialect::name).join(", ");
        write!(f, "`{}` is no dialect; there are {names}", self.0)
    }
}

impl Error for UnknownDialect {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(message: Value, expected: Option<Dialect>) {
        assert_eq!(Dialect::detect(&message), expected, "{message}");
    }

    #[test]
    fn a_dialect_shows_in_whole_responses() {
        check(json!({ "type": "message", "role": "assistant", "content": [] }), Some(Dialect::Anthropic));
        check(json!({ "choices": [{ "message": { "content": "hi" } }] }), Some(Dialect::OpenAi));
        check(json!({ "object": "response", "output": [] }), Some(Dialect::Responses));
        check(json!({ "candidates": [{ "content": { "parts": [] } }] }), Some(Dialect::Gemini));
    }

    #[test]
    fn a_dialect_shows_in_messages() {
        check(
            json!({ "role": "assistant", "content": [{ "type": "text", "text": "hi" }] }),
            Some(Dialect::Anthropic),
        );
        check(json!({ "role": "assistant", "content": "hi" }), Some(Dialect::OpenAi));
        check(json!({ "role": "assistant", "content": null, "tool_calls": [] }), Some(Dialect::OpenAi));
        check(json!({ "role": "model", "parts": [{ "text": "hi" }] }), Some(Dialect::Gemini));
        check(json!({ "content": { "parts": [] }, "finishReason": "STOP" }), Some(Dialect::Gemini));
    }

    #[test]
    fn a_dialect_shows_in_bare_lists() {
        check(json!([{ "type": "thinking" }, { "type": "tool_use", "id": "a" }]), Some(Dialect::Anthropic));
        check(json!([{ "id": "a", "type": "function", "function": {} }]), Some(Dialect::OpenAi));
        check(json!([{ "id": "a", "function": {} }]), Some(Dialect::OpenAi));
        check(json!([{ "type": "reasoning" }, { "type": "function_call" }]), Some(Dialect::Responses));
        check(json!([{ "thoughtSignature": "x", "functionCall": {} }]), Some(Dialect::Gemini));
    }

    #[test]
    fn what_no_api_writes_has_no_dialect() {
        for message in [json!([]), json!({}), json!(3), json!("hi"), json!({ "content": 3 }), json!([{}, 1])]
        {
            check(message, None);
        }
    }

    #[test]
    fn names_are_read_back_and_a_wrong_one_gets_the_list() {
        for dialect in Dialect::ALL {
            assert_eq!(dialect.to_string().parse(), Ok(dialect));
        }
        let err = "claude".parse::<Dialect>().expect_err("not a dialect");
        assert_eq!(err.to_string(), "`claude` is no dialect; there are anthropic, openai, responses, gemini");
    }
}
