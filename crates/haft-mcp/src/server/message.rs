//! What is sent: requests, answers and notifications of JSON-RPC, read leniently and written exactly.

use serde_json::{Map, Value};

use crate::client::Refused;
pub(super) use crate::wire::{notification, response};

/// The code of JSON-RPC for what is no JSON.
pub(super) const UNPARSABLE: i64 = -32700;
/// … for what is JSON and no message.
pub(super) const NO_MESSAGE: i64 = -32600;
/// … for a method that there is not.
pub(super) const NO_METHOD: i64 = -32601;
/// … for parameters that do not fit.
pub(super) const BAD_PARAMS: i64 = -32602;
/// … for what went wrong here.
pub(super) const BROKEN: i64 = -32603;

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification {
        /// What it is about.
        method: String,
        /// The rest of it.
        params: Map<String, Value>,
    },
    /// Answers a request of ours.
    Answer {
        /// Which one.
        id: Value,
        /// What.
        answer: Result<Value, Refused>,
    },
}

/// A request of a client.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    /// A text or a number: given back as it came.
    pub(super) id: Value,
    /// What is wanted.
    pub(super) method: String,
    /// The rest of it.
    pub(super) params: Map<String, Value>,
}

/// A message that cannot be read: what is answered to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unreadable {
    /// The id, as far as there is one.
    pub(super) id: Value,
    /// What is wrong.
    pub(super) refused: Refused,
}

/// The messages of a text: one, or those of a batch.
pub(super) fn read(text: &str) -> Vec<Result<Incoming, Box<Unreadable>>> {
    match serde_json::from_str(text) {
        Ok(Value::Array(batch)) if !batch.is_empty() => batch.into_iter().map(message).collect(),
        Ok(value) => vec![message(value)],
        Err(err) => vec![unreadable(Value::Null, UNPARSABLE, format!("this is no JSON: {err}"))],
    }
}

fn message(value: Value) -> Result<Incoming, Box<Unreadable>> {
    let Value::Object(mut fields) = value else {
        return unreadable(Value::Null, NO_MESSAGE, "a message is an object of JSON");
    };
    let id = fields.remove("id");
    let has_id = matches!(id, Some(Value::String(_) | Value::Number(_)));
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), None) => {
            Ok(Incoming::Notification { method, params: params(&mut fields, &Value::Null)? })
        }
        (Some(Value::String(method)), Some(id)) if has_id => {
            let params = params(&mut fields, &id)?;
            Ok(Incoming::Request(Request { id, method, params }))
        }
        (None, Some(id)) if has_id => answer(fields, id),
        _ => unreadable(
            Value::Null,
            NO_MESSAGE,
            "a request has a `method` and an `id` that is a text or a number",
        ),
    }
}

fn params(fields: &mut Map<String, Value>, id: &Value) -> Result<Map<String, Value>, Box<Unreadable>> {
    match fields.remove("params") {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(params)) => Ok(params),
        Some(_) => unreadable(id.clone(), BAD_PARAMS, "`params` is an object"),
    }
}

fn answer(mut fields: Map<String, Value>, id: Value) -> Result<Incoming, Box<Unreadable>> {
    let answer = match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None) => Ok(result),
        (_, Some(error)) => Err(refusal(&error)),
        (None, None) => return unreadable(id, NO_MESSAGE, "neither `method`, `result` nor `error` is there"),
    };
    Ok(Incoming::Answer { id, answer })
}

fn refusal(error: &Value) -> Refused {
    let message = error.get("message").and_then(Value::as_str).unwrap_or("the client refused");
    Refused {
        code: error.get("code").and_then(Value::as_i64).unwrap_or(BROKEN),
        message: message.to_owned(),
        data: error.get("data").cloned(),
    }
}

fn unreadable<T>(id: Value, code: i64, message: impl Into<String>) -> Result<T, Box<Unreadable>> {
    Err(Box::new(Unreadable { id, refused: Refused::new(code, message) }))
}

/// A request of ours.
pub(super) fn request(id: u64, method: &str, params: Map<String, Value>) -> Value {
    let mut message = notification(method, params);
    message["id"] = id.into();
    message
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(text: &str) -> Result<Incoming, Box<Unreadable>> {
        let mut messages = read(text);
        assert_eq!(messages.len(), 1, "{text}");
        messages.remove(0)
    }

    #[track_caller]
    fn refused(text: &str, id: Value, code: i64) {
        let unreadable = one(text).expect_err(text);
        assert_eq!((unreadable.id, unreadable.refused.code), (id, code), "{text}");
    }

    #[test]
    fn a_request_a_notification_and_an_answer_are_told_apart() {
        let request = one(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
        assert!(
            matches!(request, Ok(Incoming::Request(Request { id, method, .. })) if id == "a" && method == "ping")
        );
        let notification = one(r#"{"method":"notifications/initialized","params":{}}"#);
        assert!(matches!(notification, Ok(Incoming::Notification { .. })));
        let answer = one(r#"{"id":7,"result":{"action":"accept"}}"#);
        assert!(matches!(answer, Ok(Incoming::Answer { id, answer: Ok(_) }) if id == 7));
        let error = one(r#"{"id":7,"error":{"message":"no"}}"#);
        assert!(matches!(error, Ok(Incoming::Answer { answer: Err(refused), .. }) if refused.code == BROKEN));
    }

    #[test]
    fn what_is_no_message_is_refused_with_as_much_of_its_id_as_there_is() {
        refused("{", Value::Null, UNPARSABLE);
        refused("[]", Value::Null, NO_MESSAGE);
        refused("3", Value::Null, NO_MESSAGE);
        refused(r#"{"id":null,"method":"ping"}"#, Value::Null, NO_MESSAGE);
        refused(r#"{"id":1,"method":"ping","params":[1]}"#, json!(1), BAD_PARAMS);
        refused(r#"{"id":1}"#, json!(1), NO_MESSAGE);
    }

    #[test]
    fn a_batch_is_its_messages() {
        assert_eq!(read(r#"[{"id":1,"method":"ping"},{"method":"notifications/initialized"}]"#).len(), 2);
    }
}
