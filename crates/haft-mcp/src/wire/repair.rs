//! Answers in the shape that the protocol says.
//!
//! Pure: a result in, a result out, and never an error where a reader could still see what was meant. Fields that nobody
//! knows stay as they are.

use serde_json::{Map, Value, json};

use crate::client::Refused;

/// The newest revision with a handshake.
pub(crate) const LEGACY: &str = "2025-11-25";
/// The first revision in which each request stands for itself.
pub(crate) const MODERN: &str = "2026-07-28";
/// All revisions with a handshake.
const OLDER: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY];

/// The result of a request, in the shape that its method wants.
pub(crate) fn result(method: &str, result: Value) -> Result<Value, Refused> {
    match (method, result) {
        ("tools/call", result) => Ok(call(result)),
        (_, Value::Null) => Ok(json!({})),
        (_, result @ Value::Object(_)) => Ok(result),
        (method, other) => {
            let why = format!("the answer to {method} is {}, not an object", kind(&other));
            Err(Refused::new(Refused::UNREADABLE, why))
        }
    }
}

/// What a server says of itself, whatever it left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Introduction {
    /// The revision that is spoken.
    pub(crate) version: String,
    pub(crate) info: Map<String, Value>,
    pub(crate) capabilities: Map<String, Value>,
    pub(crate) instructions: Option<String>,
}

/// The result of `initialize`.
pub(crate) fn introduction(result: Value) -> Result<Introduction, Refused> {
    let Value::Object(mut fields) = result else {
        let why = format!("the answer to initialize is {}, not an object", kind(&result));
        return Err(Refused::new(Refused::UNREADABLE, why));
    };
    let version =
        fields.get("protocolVersion").and_then(Value::as_str).filter(|version| OLDER.contains(version));
    Ok(Introduction {
        version: version.unwrap_or(LEGACY).to_owned(),
        info: info(fields.remove("serverInfo")),
        capabilities: capabilities(fields.remove("capabilities")),
        instructions: words(fields.remove("instructions")),
    })
}

/// The result of `server/discover`, if it is one of a server that speaks the modern revision.
pub(crate) fn discovery(result: Value) -> Option<Introduction> {
    let Value::Object(mut fields) = result else { return None };
    let speaks = fields.get("supportedVersions").is_some_and(|versions| lists(versions, MODERN));
    if !speaks {
        return None;
    }
    let in_meta =
        fields.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo")).cloned();
    Some(Introduction {
        version: MODERN.to_owned(),
        info: info(in_meta.or_else(|| fields.remove("serverInfo"))),
        capabilities: capabilities(fields.remove("capabilities")),
        instructions: words(fields.remove("instructions")),
    })
}

/// Whether a list of revisions has this one.
pub(crate) fn lists(versions: &Value, version: &str) -> bool {
    versions.as_array().is_some_and(|versions| versions.iter().any(|found| found == version))
}

fn info(found: Option<Value>) -> Map<String, Value> {
    let mut info = match found {
        Some(Value::Object(info)) => info,
        Some(Value::String(name)) => Map::from_iter([("name".to_owned(), name.into())]),
        _ => Map::new(),
    };
    for (key, unsaid) in [("name", "unnamed"), ("version", "0")] {
        if !info.get(key).is_some_and(Value::is_string) {
            let value =
                info.get(key).filter(|value| value.is_number()).map_or(unsaid.to_owned(), Value::to_string);
            info.insert(key.to_owned(), value.into());
        }
    }
    info
}

/// `{"tools": true}` means `{"tools": {}}`, and `false` or `null` that there are none.
fn capabilities(found: Option<Value>) -> Map<String, Value> {
    let Some(Value::Object(found)) = found else { return Map::new() };
    let kept = found.into_iter().filter_map(|(name, value)| match value {
        Value::Bool(true) => Some((name, json!({}))),
        Value::Bool(false) | Value::Null => None,
        value => Some((name, value)),
    });
    kept.collect()
}

fn words(found: Option<Value>) -> Option<String> {
    match found {
        Some(Value::String(words)) if !words.trim().is_empty() => Some(words),
        _ => None,
    }
}

/// The result of `tools/call`: blocks of content that every client can read.
fn call(result: Value) -> Value {
    let Value::Object(mut fields) = result else { return json!({ "content": blocks(Some(result), None) }) };
    if fields.get("resultType").is_some_and(|kind| kind != "complete") {
        return fields.into();
    }
    for optional in ["isError", "_meta", "structuredContent"] {
        if fields.get(optional).is_some_and(Value::is_null) {
            fields.remove(optional);
        }
    }
    if let Some(is_error) = fields.get_mut("isError").filter(|is_error| !is_error.is_boolean()) {
        *is_error = (*is_error != json!("false") && *is_error != json!(0)).into();
    }
    let said = fields.remove("content");
    let instead = fields.remove("toolResult").or_else(|| fields.get("structuredContent").cloned());
    // `content` first, as servers write it.
    let mut whole = Map::from_iter([("content".to_owned(), blocks(said, instead).into())]);
    whole.extend(fields);
    whole.into()
}

fn blocks(said: Option<Value>, instead: Option<Value>) -> Vec<Value> {
    match (said, instead) {
        (Some(Value::Array(said)), _) => said.into_iter().map(block).collect(),
        (Some(Value::Null) | None, None) => Vec::new(),
        (Some(Value::Null) | None, Some(instead)) => vec![plain(instead)],
        (Some(one @ Value::Object(_)), _) if one.get("type").is_some() => vec![block(one)],
        (Some(other), _) => vec![plain(other)],
    }
}

fn block(block: Value) -> Value {
    let Value::Object(mut fields) = block else { return plain(block) };
    for optional in ["annotations", "_meta"] {
        if fields.get(optional).is_some_and(Value::is_null) {
            fields.remove(optional);
        }
    }
    if let Some(annotations) = fields.get_mut("annotations") {
        known_audience(annotations);
    }
    let has = |key: &str| fields.get(key).is_some_and(Value::is_string);
    match fields.get("type").and_then(Value::as_str) {
        Some("text") if has("text") => fields.into(),
        Some("text") => {
            let text =
                fields.get("text").filter(|text| !text.is_null()).map(Value::to_string).unwrap_or_default();
            fields.insert("text".to_owned(), text.into());
            fields.into()
        }
        Some("image" | "audio") if has("data") && has("mimeType") => fields.into(),
        Some("resource_link") if has("uri") => linked(fields),
        Some("resource") => resource(fields),
        None if has("text") => {
            fields.insert("type".to_owned(), "text".into());
            fields.into()
        }
        Some("tool_use" | "tool_result") => fields.into(),
        _ => unknown(fields),
    }
}

/// Clients know two audiences, and refuse the block for a third.
fn known_audience(annotations: &mut Value) {
    let Some(annotations) = annotations.as_object_mut() else { return };
    if let Some(Value::Array(audience)) = annotations.get_mut("audience") {
        audience.retain(|who| who == "user" || who == "assistant");
        if audience.is_empty() {
            annotations.remove("audience");
        }
    }
}

fn linked(mut fields: Map<String, Value>) -> Value {
    if !fields.get("name").is_some_and(Value::is_string) {
        let uri = fields.get("uri").cloned().unwrap_or_default();
        fields.insert("name".to_owned(), uri);
    }
    fields.into()
}

/// An embedded resource must say which one it is; what it says counts more.
fn resource(mut fields: Map<String, Value>) -> Value {
    let Some(resource) = fields.get_mut("resource").and_then(Value::as_object_mut) else {
        return unknown(fields);
    };
    let has = |key: &str| resource.get(key).is_some_and(Value::is_string);
    if !has("text") && !has("blob") {
        return unknown(fields);
    }
    if !has("uri") {
        resource.insert("uri".to_owned(), "unknown:".into());
    }
    fields.into()
}

/// A kind of block that came after this was written, or never existed.
fn unknown(fields: Map<String, Value>) -> Value {
    let kind = fields.get("type").map_or_else(|| "no type".to_owned(), |kind| format!("type {kind}"));
    let whole = Value::Object(fields);
    json!({ "type": "text", "text": format!("(a block of {kind}, shown as it was sent)\n{whole}") })
}

fn plain(value: Value) -> Value {
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    json!({ "type": "text", "text": text })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sent: Value, expected: Value) {
        assert_eq!(result("tools/call", sent).expect("a result"), expected);
    }

    fn text(text: &str) -> Value {
        json!({ "type": "text", "text": text })
    }

    #[test]
    fn a_result_as_it_should_be_is_left_alone() {
        let whole = json!({
            "content": [
                { "type": "text", "text": "a", "annotations": { "audience": ["user"], "priority": 1 }, "x": 1 },
                { "type": "image", "data": "AA==", "mimeType": "image/png" },
                { "type": "resource_link", "uri": "file:///a", "name": "a" },
                { "type": "resource", "resource": { "uri": "file:///a", "blob": "AA==" } },
            ],
            "structuredContent": [1, 2],
            "isError": false,
            "_meta": { "k": 1 },
            "vendor": { "any": "thing" },
        });
        check(whole.clone(), whole);
        let question = json!({ "resultType": "input_required", "inputRequests": {} });
        check(question.clone(), question);
    }

    #[test]
    fn content_of_any_shape_becomes_blocks() {
        check(json!({ "content": "plain" }), json!({ "content": [text("plain")] }));
        check(json!({ "content": ["a", 2] }), json!({ "content": [text("a"), text("2")] }));
        check(json!({ "content": { "type": "text", "text": "a" } }), json!({ "content": [text("a")] }));
        check(json!({ "content": { "a": 1 } }), json!({ "content": [text("{\"a\":1}")] }));
        check(json!({ "content": [{ "type": "text", "text": null }] }), json!({ "content": [text("")] }));
        check(
            json!({ "content": [{ "text": "a" }] }),
            json!({ "content": [{ "text": "a", "type": "text" }] }),
        );
        check(json!("just words"), json!({ "content": [text("just words")] }));
        check(json!({}), json!({ "content": [] }));
        check(Value::Null, json!({ "content": [] }));
    }

    #[test]
    fn what_stands_in_the_place_of_content_is_shown() {
        check(json!({ "toolResult": "x" }), json!({ "content": [text("x")] }));
        check(
            json!({ "structuredContent": { "a": 1 } }),
            json!({ "content": [text("{\"a\":1}")], "structuredContent": { "a": 1 } }),
        );
    }

    #[test]
    fn a_block_that_nobody_knows_is_shown_as_it_was_sent() {
        check(
            json!({ "content": [{ "type": "video", "data": "AA==" }] }),
            json!({ "content": [text("(a block of type \"video\", shown as it was sent)\n{\"type\":\"video\",\"data\":\"AA==\"}")] }),
        );
        check(
            json!({ "content": [{ "type": "resource", "resource": { "text": "x" } }] }),
            json!({ "content": [{ "type": "resource", "resource": { "text": "x", "uri": "unknown:" } }] }),
        );
    }

    #[test]
    fn nulls_and_words_where_flags_belong_are_read_as_they_were_meant() {
        check(json!({ "content": [], "isError": null, "_meta": null }), json!({ "content": [] }));
        check(json!({ "content": [], "isError": "true" }), json!({ "content": [], "isError": true }));
        check(
            json!({ "content": [{ "type": "text", "text": "a", "annotations": { "audience": ["system"] } }] }),
            json!({ "content": [{ "type": "text", "text": "a", "annotations": {} }] }),
        );
    }

    #[test]
    fn a_server_may_leave_out_who_it_is() {
        let said = introduction(
            json!({ "protocolVersion": "1.0", "capabilities": { "tools": true, "prompts": false, "x": { "y": 1 } } }),
        );
        let said = said.expect("an introduction");
        assert_eq!(said.version, LEGACY);
        assert_eq!(json!(said.info), json!({ "name": "unnamed", "version": "0" }));
        assert_eq!(json!(said.capabilities), json!({ "tools": {}, "x": { "y": 1 } }));
        let said = introduction(
            json!({ "protocolVersion": "2024-11-05", "serverInfo": { "name": "a", "version": 2, "icon": 1 } }),
        );
        let said = said.expect("an introduction");
        assert_eq!(said.version, "2024-11-05");
        assert_eq!(json!(said.info), json!({ "name": "a", "version": "2", "icon": 1 }));
        assert_eq!(introduction(json!([])).expect_err("no object").code, Refused::UNREADABLE);
    }

    #[test]
    fn only_a_server_that_lists_the_modern_revision_is_modern() {
        assert!(discovery(json!({ "supportedVersions": ["2026-07-28"] })).is_some());
        assert!(discovery(json!({ "supportedVersions": ["2025-11-25"] })).is_none());
        assert!(discovery(json!({})).is_none());
        assert!(discovery(json!("ok")).is_none());
    }
}
