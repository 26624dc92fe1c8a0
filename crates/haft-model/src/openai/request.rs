//! Requests of Chat Completions.

use haft_tool::Block;
use serde_json::{Value, json};

use super::{part as media_part, results, text};
use crate::{
    Dialect, Effort, History, Message, RequestOptions, Thinking, ToolChoice,
    conversation::{
        Assistant, Encoded, Fields, Part, Said, arguments, fitting_chat_id, fitting_name, quoted,
        with_sent_ids,
    },
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

pub(crate) fn message(message: &Message, before: &[Message]) -> Encoded {
    match message {
        Message::User(blocks) => user(blocks),
        Message::Assistant(message) => assistant(message, before),
        Message::Results(given) => {
            Encoded::of(&results(&with_sent_ids(given, before, Dialect::OpenAi, fitting_chat_id)))
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

fn assistant(message: &Assistant, before: &[Message]) -> Encoded {
    let words = message.text();
    let calls: Vec<String> = message.parts.iter().filter_map(call).collect();
    if words.trim().is_empty() && calls.is_empty() {
        return Encoded::default();
    }
    let content = if words.trim().is_empty() { "null".to_owned() } else { quoted(&words) };
    let mut json = format!(r#"{{"role":"assistant","content":{content}"#);
    if !calls.is_empty() {
        json.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
    }
    // Models that think between calls want the thoughts of every message back from the first of these on; before it, APIs
    // ignore them, and one, whose model makes no calls, refuses them.
    if !calls.is_empty() || before.iter().any(thinks_between_calls) {
        kept_thoughts(message).for_each(|kept| push_fields(kept, &mut json));
    }
    json.push('}');
    Encoded::new(json)
}

fn thinks_between_calls(message: &Message) -> bool {
    let Message::Assistant(said) = message else { return false };
    kept_thoughts(said).next().is_some() && said.calls().next().is_some()
}

fn kept_thoughts(message: &Assistant) -> impl Iterator<Item = &str> {
    let thoughts = message.parts.iter().filter(|part| matches!(part.said, Said::Thinking(_)));
    thoughts.filter_map(|part| part.kept_for(Dialect::OpenAi))
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
    let kept = part.kept_for(Dialect::OpenAi);
    // The server that made an id may have put more into it than is an id's business, and looks for it there.
    let id = match kept {
        Some(_) => call.id.as_str().into(),
        None => fitting_chat_id(call.id.as_str()),
    };
    let (name, arguments) = (quoted(&fitting_name(&call.name)), quoted(&arguments(&call.input)));
    let id = quoted(&id);
    let mut json =
        format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}"#);
    push_fields(kept.unwrap_or_default(), &mut json);
    json.push('}');
    Some(json)
}
