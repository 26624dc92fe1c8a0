//! Anthropic Messages: blocks in one message, results as blocks of the next.

mod stream; //   reading an answer while it comes
mod request; //  the whole of what is sent

use haft_engine::{pool::Offer, result::ToolResult, turn::Call};
use serde_json::{Map, Value, json};

use crate::{
    piece::{Kind, Media, Piece, messages, pieces},
    reading::{At, Calls, DialectError},
    schema::Shown,
};

pub(crate) use request::{message, request};
pub(crate) use stream::Reader;

pub(crate) fn calls(message: At<'_>) -> Result<Vec<Call>, DialectError> {
    let content = if message.is_list() { message } else { message.need("content")? };
    let mut calls = Calls::default();
    if content.is_text() {
        return Ok(calls.finish());
    }
    for block in content.list()? {
        // The API runs `server_tool_use` and `mcp_tool_use` itself.
        if block.kind() == Some("tool_use") {
            calls.read(&block.need("id")?, &block.need("name")?, block.key("input"))?;
        }
    }
    Ok(calls.finish())
}

pub(crate) fn results(results: &[ToolResult]) -> Value {
    user_message(results, tool_result)
}

/// The same, where a call that loaded tools answers with references to those that the API keeps. It refuses a reference to
/// any other.
pub(crate) fn results_referring(results: &[ToolResult], is_kept: impl Fn(&str) -> bool) -> Value {
    user_message(results, |result, after| {
        let loaded: Vec<&String> = result.meta.loaded.iter().filter(|name| is_kept(name)).collect();
        match &*loaded {
            [] => tool_result(result, after),
            loaded => references(result, loaded),
        }
    })
}

/// What the model is told of the tools that are referred to comes from the request's `tools` field.
fn references(result: &ToolResult, loaded: &[&String]) -> Value {
    let reference = |name: &&String| json!({ "type": "tool_reference", "tool_name": name });
    let content: Vec<Value> = loaded.iter().map(reference).collect();
    json!({ "type": "tool_result", "tool_use_id": result.call, "content": content })
}

fn user_message(results: &[ToolResult], block: impl Fn(&ToolResult, &mut Vec<Value>) -> Value) -> Value {
    let mut content = Vec::new();
    // The API wants all results first, one after the other, and then the rest.
    let mut after = Vec::new();
    for result in results {
        content.push(block(result, &mut after));
    }
    content.append(&mut after);
    content.extend(messages(results).map(text));
    json!({ "role": "user", "content": content })
}

fn tool_result(result: &ToolResult, after: &mut Vec<Value>) -> Value {
    let mut content = Vec::new();
    for piece in pieces(result, |media| media.is_common_image() || media.is_pdf()) {
        match piece {
            Piece::Words(words) => content.push(text(&words)),
            // A result with `is_error` may hold nothing but text.
            Piece::Media(media) if result.is_error() => {
                content.push(text(&media.attached()));
                after.extend([text(&media.label(result)), block(&media)]);
            }
            Piece::Media(media) => content.push(block(&media)),
        }
    }
    let mut tool_result = json!({ "type": "tool_result", "tool_use_id": result.call, "content": content });
    if result.is_error() {
        tool_result["is_error"] = true.into();
    }
    tool_result
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn block(media: &Media<'_>) -> Value {
    let kind = if media.kind == Kind::Document { "document" } else { "image" };
    let source = json!({ "type": "base64", "media_type": media.media_type, "data": media.base64() });
    let mut block = json!({ "type": kind, "source": source });
    if !media.name.is_empty() {
        block["title"] = media.name.into();
    }
    block
}

pub(crate) fn tool(offer: &Offer<'_>) -> Value {
    let mut shown = Shown::of(offer);
    drop_refused_names(&mut shown);
    let mut tool = Map::new();
    tool.insert("name".to_owned(), offer.name.into());
    shown.describe(&mut tool);
    tool.insert("input_schema".to_owned(), shown.schema.into());
    tool.into()
}

/// The same, marked if the API is to keep it from the model until it is referred to.
pub(crate) fn tool_deferring(offer: &Offer<'_>) -> Value {
    let mut tool = tool(offer);
    if offer.deferred {
        tool["defer_loading"] = true.into();
    }
    tool
}

/// One argument with an odd name makes the API refuse the whole request. The model can still use it: it is told in
/// words, and the object is left open.
fn drop_refused_names(shown: &mut Shown) {
    let Some(Value::Object(properties)) = shown.schema.get_mut("properties") else { return };
    let refused: Vec<String> = properties.keys().filter(|name| !is_taken(name)).cloned().collect();
    if refused.is_empty() {
        return;
    }
    refused.iter().for_each(|name| drop(properties.shift_remove(name)));
    if let Some(Value::Array(required)) = shown.schema.get_mut("required") {
        required.retain(|name| !refused.iter().any(|refused| name == refused));
    }
    shown.schema.shift_remove("additionalProperties");
    let names: Vec<String> = refused.iter().map(|name| format!("`{name}`")).collect();
    shown.notes.push(format!("It also takes arguments that cannot be listed by name: {}.", names.join(", ")));
}

fn is_taken(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}
