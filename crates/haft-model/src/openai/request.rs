//! Requests of Chat Completions.

use haft_tool::Block;
use serde_json::{Value, json};

use super::{part as media_part, results, text};
use crate::{
    Dialect, Effort, History, Message, RequestOptions, Thinking, ToolChoice,
    conversation::{Assistant, Encoded, Fields, Part, Said, arguments, fitting_chat_id, quoted},
    piece::{Piece, pieces_of},
};

pub(crate) fn request(history: &History, options: &RequestOptions) -> String {
    let mut fields = Fields::new(history.bytes(), &options.extra);
    fields.put("model", options.model.as_str());
    if !history.tools.is_empty() {
        fields.write("tools", |json| history.tools.write(json));
        fields.put_some("tool_choice", tool_choice(&options.tool_choice));
        fields.put_some("parallel_tool_calls", options.one_call.then_some(false));
    }
    let system = Some(&history.system).filter(|system| !system.trim().is_empty());
    let system = system.map(|system| format!(r#"{{"role":"system","content":{}}}"#, quoted(system)));
    fields.write("messages", |json| history.write_messages(json, system.as_deref()));
    fields.put_some(max_tokens_field(&options.model), options.max_tokens);
    fields.put_some("temperature", options.temperature);
    fields.put_some("reasoning_effort", options.thinking_of(history.dialect()).map(effort));
    fields.put_some("prompt_cache_key", options.cache_key.as_deref());
    if !options.whole {
        fields.put("stream", true);
        fields.put("stream_options", json!({ "include_usage": true }));
    }
    fields.finish()
}

/// OpenAI's own models know the new name, and those that think only that. Compatible servers know the old one, and some
/// only that.
fn max_tokens_field(model: &str) -> &'static str {
    let mut bytes = model.bytes();
    let is_numbered = bytes.next() == Some(b'o') && bytes.next().is_some_and(|byte| byte.is_ascii_digit());
    let is_gpt = model.starts_with("gpt-") && !model.starts_with("gpt-oss") || model.starts_with("chatgpt-");
    if is_numbered || is_gpt { "max_completion_tokens" } else { "max_tokens" }
}

/// The word for an effort, in both of OpenAI's APIs.
pub(crate) fn effort(thinking: Thinking) -> &'static str {
    match thinking {
        Thinking::Off => "none",
        // Few know the least; all know the next.
        Thinking::Budget(_) => thinking.effort().max(Effort::Low).name(),
        Thinking::Effort(effort) => effort.name(),
    }
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::Never => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({ "type": "function", "function": { "name": name } })),
    }
}

pub(crate) fn message(message: &Message) -> Encoded {
    match message {
        Message::User(blocks) => user(blocks),
        Message::Assistant(message) => assistant(message),
        Message::Results(given) => {
            let mut given = given.clone();
            given.iter_mut().for_each(|result| result.call = fitting_chat_id(result.call.as_str()).into());
            Encoded::of(&results(&given))
        }
    }
}

/// One text where that is all: every compatible server takes it.
fn user(blocks: &[Block]) -> Encoded {
    let pieces = pieces_of(blocks, |media| media.is_common_image() || media.is_pdf());
    let content = match &pieces[..] {
        [Piece::Words(words)] => words.as_ref().into(),
        pieces => pieces.iter().map(piece_part).collect::<Value>(),
    };
    Encoded::of(&json!({ "role": "user", "content": content }))
}

fn piece_part(piece: &Piece<'_>) -> Value {
    match piece {
        Piece::Words(words) => text(words),
        Piece::Media(media) => media_part(media),
    }
}

fn assistant(message: &Assistant) -> Encoded {
    let words = message.text();
    let calls: Vec<String> = message.parts.iter().filter_map(call).collect();
    if words.trim().is_empty() && calls.is_empty() {
        return Encoded::default();
    }
    let content = if words.trim().is_empty() { "null".to_owned() } else { quoted(&words) };
    let mut json = format!(r#"{{"role":"assistant","content":{content}"#);
    if !calls.is_empty() {
        json.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
        // Models that think between calls want their thoughts back while they work; at other times APIs ignore them, and
        // one refuses them.
        message.parts.iter().for_each(|part| push_kept_thoughts(part, &mut json));
    }
    json.push('}');
    Encoded::new(json)
}

fn push_kept_thoughts(part: &Part, json: &mut String) {
    if let (Said::Thinking(_), Some(kept)) = (&part.said, part.kept_for(Dialect::OpenAi)) {
        push_fields(kept, json);
    }
}

/// The fields of an object, put into another.
fn push_fields(object: &str, json: &mut String) {
    let fields = object.strip_prefix('{').and_then(|fields| fields.strip_suffix('}')).unwrap_or_default();
    if !fields.is_empty() {
        json.push(',');
        json.push_str(fields);
    }
}

fn call(part: &Part) -> Option<String> {
    let Said::Call(call) = &part.said else { return None };
    let id = quoted(&fitting_chat_id(call.id.as_str()));
    let (name, arguments) = (quoted(&call.name), quoted(&arguments(&call.input)));
    let mut json =
        format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}"#);
    if let Some(kept) = part.kept_for(Dialect::OpenAi) {
        push_fields(kept, &mut json);
    }
    json.push('}');
    Some(json)
}
