//! Do the headers say what the body says?
//!
//! In the new era a request repeats its revision, its method, the name of what it is about, and arguments that a tool's schema
//! marks, in headers: for those in between who route by them. What decides is the body; where the two differ, somebody in
//! between may have been misled, so the request is refused.

use axum::http::HeaderMap;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::HEADER_MISMATCH;
use crate::{
    client::Refused,
    server::{catalogue::ParamHeader, message::Request},
};

const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAM: &str = "mcp-param-";

/// The only value of a header; two of them are a trick.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Refused> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let value = value.to_str().ok().filter(|_| values.next().is_none());
    value
        .map(|value| Some(value.trim()))
        .ok_or_else(|| mismatch(format!("{name} has to be there once, and in ASCII")))
}

/// Checks a request of the new era. `param_headers` are those of the tool that it calls.
pub(super) fn check(
    headers: &HeaderMap,
    request: &Request,
    param_headers: impl FnOnce(&str) -> Vec<ParamHeader>,
) -> Result<(), Refused> {
    match one(headers, METHOD)? {
        Some(method) if method == request.method => {}
        Some(method) => {
            return Err(mismatch(format!(
                "Mcp-Method is {method:?} and the body's method {:?}",
                request.method
            )));
        }
        None => return Err(mismatch("Mcp-Method is missing".to_owned())),
    }
    if let Some(expected) = name_of(request) {
        let sent = one(headers, NAME)?.ok_or_else(|| mismatch("Mcp-Name is missing".to_owned()))?;
        if decoded(sent, "Mcp-Name")? != expected {
            return Err(mismatch(format!("Mcp-Name is {sent:?} and the body says {expected:?}")));
        }
    }
    if request.method != "tools/call" {
        return Ok(());
    }
    let tool = name_of(request).unwrap_or_default();
    param_headers(tool).iter().try_for_each(|param| check_param(headers, request, param))
}

/// What a request is about, where its kind is about something.
fn name_of(request: &Request) -> Option<&str> {
    let key = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    request.params.get(key).and_then(Value::as_str)
}

fn check_param(headers: &HeaderMap, request: &Request, param: &ParamHeader) -> Result<(), Refused> {
    let header = format!("{PARAM}{}", param.name.to_ascii_lowercase());
    let sent = one(headers, &header)?.map(|sent| decoded(sent, &header)).transpose()?;
    let arguments = request.params.get("arguments");
    let value = arguments.and_then(|all| param.path.iter().try_fold(all, |value, key| value.get(key)));
    let value = value.and_then(plain);
    if sent == value {
        return Ok(());
    }
    let place = param.path.join(".");
    Err(mismatch(match (&sent, &value) {
        (None, _) => format!("{header} is missing, and `{place}` is in the body"),
        (_, None) => format!("{header} is there, and `{place}` is not in the body"),
        _ => format!("{header} and `{place}` in the body differ"),
    }))
}

/// A value as a header has it.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

/// What a header says: as it is, or wrapped where it could not stand in a header.
fn decoded(sent: &str, header: &str) -> Result<String, Refused> {
    let Some(inner) = sent.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Ok(sent.to_owned());
    };
    let bytes = BASE64_STANDARD.decode(inner).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.ok_or_else(|| mismatch(format!("{header} is not the Base64 of a text")))
}

pub(super) fn mismatch(message: String) -> Refused {
    Refused::new(HEADER_MISMATCH, format!("Header mismatch: {message}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_call(sent: &[(&str, &str)], arguments: Value, fits: bool) {
        let mut headers = HeaderMap::new();
        for (name, value) in sent {
            let name: axum::http::HeaderName = name.parse().unwrap();
            headers.append(name, value.parse().unwrap());
        }
        let params = json!({ "name": "wetter köln", "arguments": arguments });
        let params = params.as_object().cloned().unwrap();
        let request = Request { id: json!(1), method: "tools/call".to_owned(), params };
        let region = || vec![ParamHeader { path: vec!["region".to_owned()], name: "Region".to_owned() }];
        let checked = check(&headers, &request, |_| region());
        assert_eq!(checked.is_ok(), fits, "{sent:?} {checked:?}");
    }

    #[test]
    fn headers_that_say_something_else_are_refused() {
        let (method, name) = (("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?d2V0dGVyIGvDtmxu?="));
        check_call(&[method, name], json!({}), true);
        check_call(&[name], json!({}), false);
        check_call(&[("Mcp-Method", "TOOLS/CALL"), name], json!({}), false);
        check_call(&[method], json!({}), false);
        check_call(&[method, ("Mcp-Name", "other")], json!({}), false);
        check_call(&[method, method, name], json!({}), false);
    }

    #[test]
    fn arguments_that_are_marked_have_to_be_in_headers_too() {
        let base = [("Mcp-Method", "tools/call"), ("Mcp-Name", "=?base64?d2V0dGVyIGvDtmxu?=")];
        let with = |value: &'static str| [base[0], base[1], ("Mcp-Param-Region", value)];
        check_call(&with("eu"), json!({ "region": "eu" }), true);
        check_call(&with("=?base64?SGVsbG8=?="), json!({ "region": "Hello" }), true);
        check_call(&with("=?base64?SGVsbG8?="), json!({ "region": "Hello" }), false);
        check_call(&with("=?base64?SGVs!!!bG8=?="), json!({ "region": "Hello" }), false);
        check_call(&with("=?base64?SGVsbG8="), json!({ "region": "=?base64?SGVsbG8=" }), true);
        check_call(&with("eu"), json!({ "region": "us" }), false);
        check_call(&with("eu"), json!({}), false);
        check_call(&base, json!({ "region": "eu" }), false);
        check_call(&base, json!({ "region": null }), true);
    }
}
