//! OpenAI Responses: calls and outputs are items of one list.

mod stream; //   reading an answer while it comes
mod request; //  the whole of what is sent

use haft_engine::{pool::Offer, result::ToolResult, turn::Call};
use serde_json::{Map, Value, json};

use crate::{
    piece::{Kind, Media, Piece, messages, pieces, say_error},
    reading::{At, Calls, DialectError},
    schema::Shown,
};

pub(crate) use request::{message, request};
pub(crate) use stream::Reader;

pub(crate) fn calls(message: At<'_>) -> Result<Vec<Call>, DialectError> {
    let output = if message.is_list() { message } else { message.need("output")? };
    let mut calls = Calls::default();
    for item in output.list()? {
        match item.kind() {
            Some("function_call") => {
                calls.read(&item.need("call_id")?, &item.need("name")?, item.key("arguments"))?;
            }
            // haft offers no tool of this kind, so nobody could answer it. Hosted tools have answered already.
            Some("custom_tool_call") => return Err(item.need("type")?.expected("`function_call`")),
            _ => {}
        }
    }
    Ok(calls.finish())
}

pub(crate) fn results(results: &[ToolResult]) -> Value {
    let mut items: Vec<Value> = results.iter().map(output).collect();
    let words: Vec<Value> = messages(results).map(text).collect();
    if !words.is_empty() {
        items.push(json!({ "type": "message", "role": "user", "content": words }));
    }
    items.into()
}

fn output(result: &ToolResult) -> Value {
    let mut pieces = pieces(result, |media| media.is_common_image() || media.is_pdf());
    if result.is_error() {
        say_error(&mut pieces);
    }
    json!({ "type": "function_call_output", "call_id": result.call, "output": content(&pieces) })
}

/// One text where that is all, a list of parts otherwise.
fn content(pieces: &[Piece<'_>]) -> Value {
    let words = pieces.iter().map(|piece| match piece {
        Piece::Words(words) => Some(words.as_ref()),
        Piece::Media(_) => None,
    });
    if let Some(words) = words.collect::<Option<Vec<&str>>>() {
        return words.join("\n").into();
    }
    pieces.iter().map(part).collect()
}

fn part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Words(words) => text(words),
        Piece::Media(media) if media.kind == Kind::Document => file(media),
        Piece::Media(media) => json!({ "type": "input_image", "image_url": media.data_url() }),
    }
}

fn file(media: &Media<'_>) -> Value {
    json!({ "type": "input_file", "filename": media.file_name(), "file_data": media.data_url() })
}

fn text(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

/// Strict mode is the default of this API and has to be refused by name; see the chat completions for why.
pub(crate) fn tool(offer: &Offer<'_>) -> Value {
    let shown = Shown::for_grammars(offer);
    let mut tool = Map::new();
    tool.insert("type".to_owned(), "function".into());
    tool.insert("name".to_owned(), offer.name.into());
    shown.describe(&mut tool);
    tool.insert("parameters".to_owned(), shown.schema.into());
    tool.insert("strict".to_owned(), false.into());
    tool.into()
}
