//! Gemini `generateContent`: calls and results are parts of a content, and ids are optional.

mod stream; //   reading an answer while it comes
mod request; //  the whole of what is sent

use haft_engine::{pool::Offer, result::ToolResult, turn::Call};
use serde_json::{Map, Value, json};

use crate::{
    conversation::fitting_name,
    piece::{Kind, Media, Piece, messages, pieces},
    reading::{At, Calls, DialectError},
    schema::{Holds, Shown, each_schema, list_required, merge, say},
};

pub(crate) use request::{message, request};
pub(crate) use stream::Reader;

pub(crate) fn calls(message: At<'_>) -> Result<Vec<Call>, DialectError> {
    let mut calls = Calls::default();
    let Some(parts) = parts(message)? else { return Ok(calls.finish()) };
    let functions: Vec<At<'_>> = parts.list()?.iter().filter_map(function_call).collect();
    let mut ids = Vec::new();
    for function in &functions {
        ids.push(match function.key("id") {
            Some(id) if !id.text()?.is_empty() => Some(calls.claim(&id)?),
            _ => None,
        });
    }
    for (index, function) in functions.iter().enumerate() {
        let id = ids[index].map_or_else(|| made_id(index, &ids), str::to_owned);
        calls.push(&id, &function.need("name")?, function.key("args"))?;
    }
    Ok(calls.finish())
}

/// The list of parts, wherever it is; `None` if the model said nothing.
fn parts(message: At<'_>) -> Result<Option<At<'_>>, DialectError> {
    if message.is_list() {
        return Ok(Some(message));
    }
    if let Some(candidates) = message.key("candidates") {
        // A candidate that was stopped before its first word has no content.
        return Ok(candidates.first()?.key("content").and_then(|content| content.key("parts")));
    }
    match message.key("content").filter(At::is_object) {
        Some(content) => Ok(content.key("parts")),
        None if message.key("parts").is_some() || message.key("role").is_some() => Ok(message.key("parts")),
        None => Err(message.expected("`candidates`, `content` or `parts`")),
    }
}

/// The call in a part. The Python SDK writes the JSON that it shows to people with underscores.
fn function_call<'m>(part: &At<'m>) -> Option<At<'m>> {
    part.key("functionCall").or_else(|| part.key("function_call"))
}

/// An id for the call at a place: the same each time, and none that another call has.
fn made_id(index: usize, taken: &[Option<&str>]) -> String {
    let candidates = (index..).step_by(taken.len()).map(|number| format!("call_{number}"));
    let mut free = candidates.filter(|id| !taken.contains(&Some(id)));
    free.next().expect("there are more numbers than calls")
}

/// Whether an id is ours: made here, or for a stream. The API must not get it back: it knows no such call, and goes by
/// name and order instead.
fn is_made(id: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    id.strip_prefix("call_").is_some_and(|rest| rest.split('_').all(is_number))
}

pub(crate) fn results(results: &[ToolResult]) -> Value {
    let (mut parts, mut after) = responses(results, false);
    parts.append(&mut after);
    parts.extend(messages(results).map(text));
    json!({ "role": "user", "parts": parts })
}

/// The same as the contents of a conversation. Where a model does not take media inside of a result, they follow in a content of
/// their own: beside results the API wants nothing but as many of them as there were calls.
fn contents(results: &[ToolResult], inside: bool) -> Value {
    let (mut parts, mut after) = responses(results, inside);
    if after.is_empty() {
        parts.extend(messages(results).map(text));
        return json!([{ "role": "user", "parts": parts }]);
    }
    after.extend(messages(results).map(text));
    json!([{ "role": "user", "parts": parts }, { "role": "user", "parts": after }])
}

/// The results, and what is shown after them.
fn responses(results: &[ToolResult], inside: bool) -> (Vec<Value>, Vec<Value>) {
    let mut after = Vec::new();
    let parts = results.iter().map(|result| function_response(result, inside, &mut after)).collect();
    (parts, after)
}

fn function_response(result: &ToolResult, inside: bool, after: &mut Vec<Value>) -> Value {
    let mut lines = Vec::new();
    let mut seen = Vec::new();
    for piece in pieces(result, |media| is_seen(media) || is_heard(media)) {
        match piece {
            Piece::Words(words) => lines.push(words.into_owned()),
            Piece::Media(media) => {
                lines.push(media.attached());
                if inside && is_seen(&media) {
                    seen.push(inline_data(&media));
                } else {
                    after.extend([text(&media.label(result)), inline_data(&media)]);
                }
            }
        }
    }
    let key = if result.is_error() { "error" } else { "output" };
    let mut response = Map::new();
    if !is_made(result.call.as_str()) {
        response.insert("id".to_owned(), json!(result.call));
    }
    response.insert("name".to_owned(), fitting_name(&result.tool).into());
    response.insert("response".to_owned(), json!({ key: lines.join("\n") }));
    if !seen.is_empty() {
        response.insert("parts".to_owned(), seen.into());
    }
    json!({ "functionResponse": response })
}

/// What the model can see, and what may stand inside of a result for those that take it there.
fn is_seen(media: &Media<'_>) -> bool {
    (media.is_common_image() && media.media_type != "image/gif") || media.is_pdf()
}

/// What the model can hear, but only outside of a result.
fn is_heard(media: &Media<'_>) -> bool {
    const HEARD: [&str; 7] =
        ["audio/wav", "audio/mpeg", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"];
    media.kind == Kind::Audio && HEARD.contains(&media.media_type.as_str())
}

fn inline_data(media: &Media<'_>) -> Value {
    json!({ "inlineData": { "mimeType": media.media_type, "data": media.base64() } })
}

fn text(text: &str) -> Value {
    json!({ "text": text })
}

/// The `tools` field. The API refuses an empty list of declarations, so no functions are no tool.
pub(crate) fn tools(declarations: Vec<Value>) -> Value {
    if declarations.is_empty() {
        return json!([]);
    }
    json!([{ "functionDeclarations": declarations }])
}

/// `parametersJsonSchema` and not `parameters`: it takes JSON Schema, if only a part of it, and the other a dialect
/// of OpenAPI that says even less.
pub(crate) fn declaration(offer: &Offer<'_>) -> Value {
    let shown = Shown::of(offer);
    let mut declaration = Map::new();
    declaration.insert("name".to_owned(), offer.name.into());
    shown.describe(&mut declaration);
    let parameters = subset(&shown.schema);
    let takes_any = parameters.get("additionalProperties").is_some_and(|more| more != false);
    if takes_any || parameters.get("properties") != Some(&json!({})) {
        declaration.insert("parametersJsonSchema".to_owned(), parameters.into());
    }
    declaration.into()
}

/// The part of JSON Schema that the API takes. What a model can use of the rest goes into the description.
fn subset(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = schema.clone();
    merge_parts(&mut schema);
    let mut kept = Map::new();
    let mut said = Vec::new();
    for (keyword, value) in &schema {
        match keep(keyword, value) {
            Kept::As(keyword, value) => drop(kept.insert(keyword.to_owned(), value)),
            Kept::InWords => said.push(format!("{keyword}: {}", in_words(value))),
            Kept::No => {}
        }
    }
    say(&mut kept, &said);
    list_required(&mut kept);
    name_type(&mut kept);
    split_types(kept)
}

fn subset_value(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => subset(map).into(),
        _ => schema.clone(),
    }
}

fn merge_parts(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(parts)) = schema.shift_remove("allOf") {
        for mut part in parts.into_iter().filter_map(object) {
            merge_parts(&mut part);
            merge(schema, part);
        }
    }
}

fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

enum Kept<'a> {
    As(&'a str, Value),
    InWords,
    No,
}

fn keep<'a>(keyword: &'a str, value: &Value) -> Kept<'a> {
    let is_plain = |value: &Value| value.is_string() || value.is_number();
    match keyword {
        "type" | "title" | "description" | "required" | "minItems" | "maxItems" | "minimum" | "maximum" => {
            Kept::As(keyword, value.clone())
        }
        "items" if value.is_boolean() => Kept::No,
        "properties" | "items" | "prefixItems" | "additionalProperties" | "anyOf" => {
            Kept::As(keyword, each_schema(keyword, value, &mut subset_value))
        }
        "oneOf" => Kept::As("anyOf", each_schema(keyword, value, &mut subset_value)),
        "enum" if value.as_array().is_some_and(|values| values.iter().all(is_plain)) => {
            Kept::As("enum", value.clone())
        }
        "const" if is_plain(value) => Kept::As("enum", json!([value])),
        "format" if matches!(value.as_str(), Some("date-time" | "date" | "time")) => {
            Kept::As("format", value.clone())
        }
        "deprecated" | "readOnly" | "writeOnly" => Kept::No,
        _ => match Holds::of(keyword) {
            Some(Holds::Text | Holds::Number | Holds::Count | Holds::Flag | Holds::Value | Holds::Values) => {
                Kept::InWords
            }
            _ => Kept::No,
        },
    }
}

fn in_words(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A list of values does not say its type, and the API wants to know.
fn name_type(schema: &mut Map<String, Value>) {
    let Some(Value::Array(values)) = schema.get("enum") else { return };
    let kind = if values.iter().all(Value::is_string) { "string" } else { "number" };
    if kind == "string" || values.iter().all(Value::is_number) {
        schema.entry("type").or_insert_with(|| kind.into());
    }
}

/// Of several types the API takes only one and `null`. More become alternatives.
fn split_types(mut schema: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(kinds)) = schema.get("type") else { return schema };
    let several = kinds.iter().filter(|kind| *kind != "null").count() > 1;
    if !several || schema.contains_key("anyOf") {
        return schema;
    }
    let kinds = kinds.clone();
    let description = schema.shift_remove("description");
    let alternatives = kinds.into_iter().map(|kind| {
        let mut alternative = schema.clone();
        alternative.insert("type".to_owned(), kind);
        Value::Object(alternative)
    });
    let mut split = Map::new();
    split.extend(description.map(|description| ("description".to_owned(), description)));
    split.insert("anyOf".to_owned(), alternatives.collect());
    split
}
