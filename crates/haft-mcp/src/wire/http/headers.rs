//! What a request says of itself in its headers, so that whoever stands in between need not read it.
//!
//! From revision 2026-07-28 on: the method, the name of what is called, and the arguments that a tool's schema marks with
//! `x-mcp-header`. A tool whose marks break the rules must not be used over HTTP.

use std::collections::{HashMap, HashSet};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

const MARK: &str = "x-mcp-header";

/// Where an argument is found, and the header that says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Marked {
    path: Vec<String>,
    header: String,
}

/// The marked arguments of tools, by their names.
pub(crate) type MarkedTools = HashMap<String, Vec<Marked>>;

/// The headers of a message.
pub(super) fn headers(message: &Value, tools: &MarkedTools) -> Vec<(String, String)> {
    let Some(method) = message.get("method").and_then(Value::as_str) else { return Vec::new() };
    let params = message.get("params");
    let mut headers = vec![("mcp-method".to_owned(), method.to_owned())];
    let named_by = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return headers,
    };
    let Some(name) = params.and_then(|params| params.get(named_by)?.as_str()) else { return headers };
    headers.push(("mcp-name".to_owned(), encoded(name)));
    let arguments = params.and_then(|params| params.get("arguments"));
    if let (Some(marked), Some(arguments), "tools/call") = (tools.get(name), arguments, method) {
        headers.extend(marked.iter().filter_map(|marked| said(marked, arguments)));
    }
    headers
}

fn said(marked: &Marked, arguments: &Value) -> Option<(String, String)> {
    let value = marked.path.iter().try_fold(arguments, |value, step| value.get(step))?;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        _ => return None,
    };
    Some((format!("mcp-param-{}", marked.header), encoded(&text)))
}

/// What a header cannot hold travels as Base64 between two marks.
fn encoded(text: &str) -> String {
    let is_odd = |character: char| !(' '..='~').contains(&character);
    let looks_encoded = text.starts_with("=?base64?") && text.ends_with("?=");
    let has_edges = text.trim_matches([' ', '\t']).len() != text.len();
    match text.chars().any(is_odd) || has_edges || looks_encoded {
        true => format!("=?base64?{}?=", BASE64_STANDARD.encode(text)),
        false => text.to_owned(),
    }
}

/// The marked arguments of a tool with this schema, or what is wrong with its marks.
pub(crate) fn marked(schema: &Value) -> Result<Vec<Marked>, String> {
    let Some(schema) = schema.as_object() else { return Ok(Vec::new()) };
    if schema.contains_key(MARK) {
        return Err(format!("{MARK} stands at the root of its schema, where no argument is"));
    }
    if is_astray(schema, true, DEEPEST) {
        return Err(format!("{MARK} stands where no plain argument is"));
    }
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found, DEEPEST)?;
    let mut names = HashSet::new();
    match found.iter().find(|marked| !names.insert(marked.header.to_ascii_lowercase())) {
        Some(twice) => Err(format!("{MARK} `{}` is there twice", twice.header)),
        None => Ok(found),
    }
}

/// Schemas are looked into this deep.
const DEEPEST: usize = 64;

fn collect(
    schema: &Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<Marked>,
    deeper: usize,
) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    for (name, property) in properties {
        let Some(property) = property.as_object() else { continue };
        path.push(name.clone());
        if let Some(mark) = property.get(MARK) {
            found.push(Marked { path: path.clone(), header: header(mark, property, &path.join("."))? });
        }
        if deeper > 0 {
            collect(property, path, found, deeper - 1)?;
        }
        path.pop();
    }
    Ok(())
}

fn header(mark: &Value, property: &Map<String, Value>, at: &str) -> Result<String, String> {
    let Some(header) = mark.as_str().filter(|header| is_token(header)) else {
        return Err(format!("{MARK} of `{at}` is no name of a header: {mark}"));
    };
    match property.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(header.to_owned()),
        _ => Err(format!("{MARK} is at `{at}`, which is no text, integer or boolean")),
    }
}

fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// Whether a mark stands anywhere but on a property of a property of … the root.
fn is_astray(schema: &Map<String, Value>, on_path: bool, deeper: usize) -> bool {
    let Some(deeper) = deeper.checked_sub(1) else { return false };
    let within = |value: &Value, on_path: bool| match value {
        Value::Object(inner) => is_astray(inner, on_path, deeper),
        Value::Array(items) => {
            items.iter().filter_map(Value::as_object).any(|inner| is_astray(inner, false, deeper))
        }
        _ => false,
    };
    let in_each = |value: &Value, on_path: bool| {
        value.as_object().is_some_and(|map| map.values().any(|inner| within(inner, on_path)))
    };
    schema.iter().any(|(key, value)| match key.as_str() {
        MARK => !on_path,
        "properties" => in_each(value, on_path),
        "$defs" | "definitions" | "dependentSchemas" | "patternProperties" => in_each(value, false),
        // What an argument may be, not what describes one.
        "default" | "const" | "enum" | "examples" => false,
        _ => within(value, false),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(message: Value, expected: &[(&str, &str)]) {
        let schema = json!({ "properties": { "region": { "type": "string", MARK: "Region" }, "deep": { "properties": { "n": { "type": "integer", MARK: "N" } } } } });
        let tools = HashMap::from([("t".to_owned(), marked(&schema).expect("good marks"))]);
        let found = headers(&message, &tools);
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_request_says_what_it_is() {
        check(json!({ "method": "tools/list" }), &[("mcp-method", "tools/list")]);
        check(
            json!({ "method": "resources/read", "params": { "uri": "a:b" } }),
            &[("mcp-method", "resources/read"), ("mcp-name", "a:b")],
        );
        check(
            json!({ "method": "prompts/get", "params": { "name": "grüße" } }),
            &[("mcp-method", "prompts/get"), ("mcp-name", "=?base64?Z3LDvMOfZQ==?=")],
        );
        check(json!({ "result": {} }), &[]);
    }

    #[test]
    fn marked_arguments_are_said_and_others_are_not() {
        let arguments = json!({ "region": " eu", "deep": { "n": 3 }, "secret": "x" });
        check(
            json!({ "method": "tools/call", "params": { "name": "t", "arguments": arguments } }),
            &[
                ("mcp-method", "tools/call"),
                ("mcp-name", "t"),
                ("mcp-param-Region", "=?base64?IGV1?="),
                ("mcp-param-N", "3"),
            ],
        );
        check(
            json!({ "method": "tools/call", "params": { "name": "t", "arguments": { "region": null } } }),
            &[("mcp-method", "tools/call"), ("mcp-name", "t")],
        );
    }

    #[test]
    fn marks_that_break_the_rules_are_found() {
        for bad in [
            json!({ MARK: "A" }),
            json!({ "properties": { "a": { "type": "string", MARK: "" } } }),
            json!({ "properties": { "a": { "type": "string", MARK: "a b" } } }),
            json!({ "properties": { "a": { "type": "string", MARK: 3 } } }),
            json!({ "properties": { "a": { "type": "number", MARK: "A" } } }),
            json!({ "properties": { "a": { "type": "string", MARK: "A" }, "b": { "type": "string", MARK: "a" } } }),
            json!({ "properties": { "a": { "items": { "type": "string", MARK: "A" } } } }),
            json!({ "anyOf": [{ "properties": { "a": { "type": "string", MARK: "A" } } }] }),
            json!({ "$defs": { "a": { "type": "string", MARK: "A" } } }),
        ] {
            assert!(marked(&bad).is_err(), "{bad}");
        }
        assert_eq!(marked(&json!({ "properties": { "a": { "default": { MARK: 1 } } } })), Ok(Vec::new()));
    }
}
