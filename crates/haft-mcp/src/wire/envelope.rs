//! What kind of message is this?
//!
//! JSON-RPC, as it is written by servers of all ages: without `jsonrpc`, with numbers that have become strings, with errors
//! that lack a code. Whatever can be told apart is; the rest is named, so that whoever waits can be told.

use serde_json::{Map, Value};

use super::RequestId;
use crate::client::Refused;

/// A message, sorted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Envelope {
    /// To one of our requests. Without an id, the server did not know which.
    Answer { id: Option<RequestId>, outcome: Result<Value, Refused> },
    /// The server wants something.
    Request { id: Value, method: String, params: Map<String, Value> },
    /// The server says something.
    Notice { method: String, params: Map<String, Value> },
    /// Nothing of that: log lines in JSON, for example.
    Noise,
}

/// The most messages in one batch. Revision 2025-03-26 had batches.
const MOST_AT_ONCE: usize = 1000;

/// Sorts a message, or a batch of them.
pub(crate) fn open(message: Value) -> Vec<Envelope> {
    match message {
        Value::Object(fields) => vec![sort(fields)],
        Value::Array(batch) => batch.into_iter().take(MOST_AT_ONCE).flat_map(open_one).collect(),
        _ => Vec::new(),
    }
}

fn open_one(message: Value) -> Option<Envelope> {
    let Value::Object(fields) = message else { return None };
    Some(sort(fields))
}

fn sort(mut fields: Map<String, Value>) -> Envelope {
    if let Some(Value::String(method)) = fields.get("method") {
        let method = method.clone();
        return spoken(method, fields);
    }
    let id = fields.get("id").and_then(number);
    if let Some(error) = fields.remove("error").filter(|error| !error.is_null()) {
        return Envelope::Answer { id, outcome: Err(refused(error)) };
    }
    match (fields.remove("result"), id) {
        (Some(result), id) => Envelope::Answer { id, outcome: Ok(result) },
        (None, Some(id)) => {
            let why = "the answer has neither `result` nor `error`";
            Envelope::Answer { id: Some(id), outcome: Err(Refused::new(Refused::UNREADABLE, why)) }
        }
        (None, None) => Envelope::Noise,
    }
}

fn spoken(method: String, mut fields: Map<String, Value>) -> Envelope {
    let params = match fields.remove("params") {
        Some(Value::Object(params)) => params,
        _ => Map::new(),
    };
    match fields.remove("id") {
        Some(id @ (Value::Number(_) | Value::String(_))) => Envelope::Request { id, method, params },
        _ => Envelope::Notice { method, params },
    }
}

/// Our numbers come back as numbers, as strings, or with a point.
fn number(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    is_whole.then_some(number as u64)
}

/// Reads the `error` of an answer.
pub(crate) fn refused(error: Value) -> Refused {
    let unsaid = || "the server refused without saying why".to_owned();
    match error {
        Value::Object(mut error) => Refused {
            code: error.get("code").and_then(code).unwrap_or(Refused::UNREADABLE),
            message: error.get("message").and_then(words).unwrap_or_else(unsaid),
            data: error.remove("data").filter(|data| !data.is_null()),
        },
        other => Refused::new(Refused::UNREADABLE, words(&other).unwrap_or_else(unsaid)),
    }
}

fn code(code: &Value) -> Option<i64> {
    let from_text = || code.as_str()?.trim().parse().ok();
    code.as_i64().or_else(|| code.as_f64().map(|code| code as i64)).or_else(from_text)
}

fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(message: Value, expected: Envelope) {
        assert_eq!(open(message), [expected]);
    }

    fn answer(id: u64, result: Value) -> Envelope {
        Envelope::Answer { id: Some(id), outcome: Ok(result) }
    }

    fn refusal(id: Option<u64>, code: i64, message: &str) -> Envelope {
        Envelope::Answer { id, outcome: Err(Refused::new(code, message)) }
    }

    #[test]
    fn an_answer_is_known_however_its_number_is_written() {
        check(json!({ "jsonrpc": "2.0", "id": 7, "result": {} }), answer(7, json!({})));
        check(json!({ "id": 7, "result": {} }), answer(7, json!({})));
        check(json!({ "jsonrpc": "2.0", "id": "7", "result": {} }), answer(7, json!({})));
        check(json!({ "jsonrpc": "2.0", "id": 7.0, "result": {} }), answer(7, json!({})));
        check(json!({ "id": 7, "result": { "a": 1 }, "error": null }), answer(7, json!({ "a": 1 })));
        check(json!({ "id": 7, "result": null }), answer(7, Value::Null));
    }

    #[test]
    fn a_refusal_is_one_with_or_without_a_code() {
        check(
            json!({ "id": 1, "error": { "code": -32602, "message": "no" } }),
            refusal(Some(1), -32602, "no"),
        );
        check(json!({ "id": 1, "error": { "message": "x" } }), refusal(Some(1), Refused::UNREADABLE, "x"));
        check(
            json!({ "id": 1, "error": { "code": "-32000" } }),
            refusal(Some(1), -32000, "the server refused without saying why"),
        );
        check(json!({ "id": 1, "error": "broken" }), refusal(Some(1), Refused::UNREADABLE, "broken"));
        check(json!({ "id": null, "error": { "code": -32700, "message": "?" } }), refusal(None, -32700, "?"));
        check(
            json!({ "id": 1 }),
            refusal(Some(1), Refused::UNREADABLE, "the answer has neither `result` nor `error`"),
        );
    }

    #[test]
    fn requests_and_notices_differ_by_their_id() {
        let params = Map::new();
        check(
            json!({ "id": "a", "method": "ping" }),
            Envelope::Request { id: json!("a"), method: "ping".into(), params: params.clone() },
        );
        check(
            json!({ "id": 0, "method": "ping", "params": [] }),
            Envelope::Request { id: json!(0), method: "ping".into(), params: params.clone() },
        );
        check(json!({ "id": null, "method": "m" }), Envelope::Notice { method: "m".into(), params });
    }

    #[test]
    fn a_batch_is_its_messages_and_a_log_line_is_none() {
        let batch =
            json!([{ "id": 1, "result": 1 }, 3, { "id": 2, "result": 2 }, [{ "id": 3, "result": 3 }]]);
        assert_eq!(open(batch), [answer(1, json!(1)), answer(2, json!(2))]);
        check(json!({ "level": "info", "msg": "listening" }), Envelope::Noise);
        assert_eq!(open(json!("started")), []);
    }
}
