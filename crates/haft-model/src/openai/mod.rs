//! OpenAI Chat Completions: calls beside the text, a message for each result.

mod stream; //   reading an answer while it comes
mod request; //  the whole of what is sent

use haft_engine::{pool::Offer, result::ToolResult, turn::Call};
use serde_json::{Map, Value, json};

use crate::{
    piece::{Kind, Media, Piece, messages, pieces, say_error},
    reading::{At, Calls, DialectError},
    schema::Shown,
};

pub(crate) use request::{effort, message, request};
pub(crate) use stream::Reader;

pub(crate) fn calls(message: At<'_>) -> Result<Vec<Call>, DialectError> {
    let mut calls = Calls::default();
    let Some(listed) = tool_calls(message)? else { return Ok(calls.finish()) };
    for call in listed.list()? {
        let is_placeholder = call.key("id").is_none_or(|id| id.value() == "")
            && call.key("function").is_some_and(|function| !names_a_call(function.value()));
        if is_placeholder {
            continue;
        }
        // A server that leaves the type out means a function. haft offers no other kind, so nobody could answer one.
        if call.kind().is_some_and(|kind| kind != "function") {
            return Err(call.need("type")?.expected("`function`"));
        }
        let function = call.need("function")?;
        calls.read(&call.need("id")?, &function.need("name")?, function.key("arguments"))?;
    }
    Ok(calls.finish())
}

/// The list of calls, wherever it is; `None` if the message has none.
fn tool_calls(message: At<'_>) -> Result<Option<At<'_>>, DialectError> {
    if message.is_list() {
        return Ok(Some(message));
    }
    let message = match message.key("choices") {
        Some(choices) => choices.first()?.need("message")?,
        None => message,
    };
    if let Some(function) = message.key("function_call").filter(|function| names_a_call(function.value())) {
        return Err(function.expected("nothing, but `tool_calls`: a `function_call` has no id to answer"));
    }
    let is_message = ["tool_calls", "content", "role"].iter().any(|key| message.key(key).is_some());
    if !is_message {
        return Err(message.expected("`choices`, or a message with `tool_calls` or `content`"));
    }
    Ok(message.key("tool_calls"))
}

/// Whether a function object names a function or has arguments. Snowflake sends one with neither beside each answer.
pub(crate) fn names_a_call(function: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    function.is_object() && !["name", "arguments"].iter().all(|key| function.get(key).is_none_or(is_empty))
}

pub(crate) fn results(results: &[ToolResult]) -> Value {
    // A tool's message holds text only. What is to be seen follows in a message of the user.
    let mut after = Vec::new();
    let mut list: Vec<Value> = results.iter().map(|result| tool_message(result, &mut after)).collect();
    after.extend(messages(results).map(text));
    if !after.is_empty() {
        list.push(json!({ "role": "user", "content": after }));
    }
    list.into()
}

fn tool_message(result: &ToolResult, after: &mut Vec<Value>) -> Value {
    let mut pieces = pieces(result, |media| media.is_common_image() || media.is_pdf());
    if result.is_error() {
        say_error(&mut pieces);
    }
    let mut lines = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Words(words) => lines.push(words.into_owned()),
            Piece::Media(media) => {
                lines.push(media.attached());
                after.extend([text(&media.label(result)), part(&media)]);
            }
        }
    }
    // One text and not a list of parts: all compatible servers take it.
    json!({ "role": "tool", "tool_call_id": result.call, "content": lines.join("\n") })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn part(media: &Media<'_>) -> Value {
    if media.kind == Kind::Document {
        let file = json!({ "filename": media.file_name(), "file_data": media.data_url() });
        return json!({ "type": "file", "file": file });
    }
    json!({ "type": "image_url", "image_url": { "url": media.data_url() } })
}

/// Strict mode is not asked for: it refuses most schemas that were not written for it, and haft checks every input.
pub(crate) fn tool(offer: &Offer<'_>) -> Value {
    let shown = Shown::for_grammars(offer);
    let mut function = Map::new();
    function.insert("name".to_owned(), offer.name.into());
    shown.describe(&mut function);
    function.insert("parameters".to_owned(), shown.schema.into());
    json!({ "type": "function", "function": function })
}
