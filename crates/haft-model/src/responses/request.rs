//! Requests of Responses.
//!
//! Nothing is stored at the API: the conversation is sent whole, and reasoning comes and goes encrypted.

use haft_tool::Block;
use serde_json::{Value, json};

use super::{part as content_part, results};
use crate::{
    Dialect, History, Message, RequestOptions, Thinking, ToolChoice,
    conversation::{
        Assistant, Encoded, Fields, Part, Said, arguments, fitting_id, fitting_name, quoted, with_sent_ids,
    },
    families::may_think,
    openai::effort,
    piece::{Piece, pieces_of},
};

pub(crate) fn request(history: &History, options: &RequestOptions) -> String {
    let mut fields = Fields::new(history.bytes(), &options.extra);
    fields.put("model", options.model.as_str());
    if !history.system.trim().is_empty() {
        fields.put("instructions", history.system.as_str());
    }
    if !history.tools.is_empty() {
        fields.write("tools", |json| history.tools.write(json));
        fields.put_some("tool_choice", tool_choice(&options.tool_choice));
        fields.put_some("parallel_tool_calls", options.one_call.then_some(false));
    }
    fields.write("input", |json| history.write_messages(json, None));
    fields.put_some("max_output_tokens", options.max_tokens);
    fields.put_some("temperature", options.temperature);
    fields.put_some("reasoning", options.thinking_of(history.dialect()).map(reasoning));
    fields.put("store", false);
    if may_think(history.dialect(), &options.model) {
        fields.put("include", json!(["reasoning.encrypted_content"]));
    }
    fields.put_some("prompt_cache_key", options.cache_key.as_deref());
    if !options.whole {
        fields.put("stream", true);
    }
    fields.finish()
}

fn reasoning(thinking: Thinking) -> Value {
    match thinking {
        Thinking::Off => json!({ "effort": effort(thinking) }),
        _ => json!({ "effort": effort(thinking), "summary": "auto" }),
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({ "type": "function", "name": name })),
    }
}

pub(crate) fn message(message: &Message, before: &[Message]) -> Encoded {
    match message {
        Message::User(blocks) => user(blocks),
        Message::Assistant(message) => assistant(message),
        Message::Results(given) => {
            Encoded::of(&results(&with_sent_ids(given, before, Dialect::Responses, fitting_id)))
        }
    }
}

fn user(blocks: &[Block]) -> Encoded {
    let pieces = pieces_of(blocks, |media| media.is_common_image() || media.is_pdf());
    let content: Value = pieces.iter().map(detailed_part).collect();
    Encoded::of(&json!({ "type": "message", "role": "user", "content": content }))
}

/// Outside of a result the API wants to be told how closely to look.
fn detailed_part(piece: &Piece<'_>) -> Value {
    let mut part = content_part(piece);
    if part["type"] == "input_image" {
        part["detail"] = "auto".into();
    }
    part
}

/// Reasoning is taken back only right before the item that came of it, as that came: of an answer that was cut off in between,
/// it stays behind.
fn assistant(message: &Assistant) -> Encoded {
    let said: Vec<(&Part, String)> =
        message.parts.iter().filter_map(|part| Some((part, item(part)?))).collect();
    let mut items: Vec<String> = Vec::new();
    let mut is_followed = false;
    for (part, item) in said.into_iter().rev() {
        match part.said {
            Said::Thinking(_) if !is_followed => continue,
            Said::Thinking(_) => {}
            _ => is_followed = part.kept_for(Dialect::Responses).is_some(),
        }
        items.push(item);
    }
    Encoded::items(items.into_iter().rev())
}

fn item(part: &Part) -> Option<String> {
    if let Some(kept) = part.kept_for(Dialect::Responses) {
        return Some(kept.to_owned());
    }
    match &part.said {
        Said::Text(text) if text.trim().is_empty() => None,
        Said::Text(text) => {
            Some(format!(r#"{{"type":"message","role":"assistant","content":{}}}"#, quoted(text)))
        }
        Said::Call(call) => {
            let id = quoted(&fitting_id(call.id.as_str()));
            let (name, arguments) = (quoted(&fitting_name(&call.name)), quoted(&arguments(&call.input)));
            Some(format!(
                r#"{{"type":"function_call","call_id":{id},"name":{name},"arguments":{arguments}}}"#
            ))
        }
        Said::Thinking(_) | Said::Other(_) => None,
    }
}
