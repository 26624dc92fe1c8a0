//! Requests of `generateContent`.

use haft_tool::Block;
use serde_json::{Map, Value, json};

use super::{contents, inline_data, is_heard, is_made, is_seen, text};
use crate::{
    Dialect, Effort, History, Message, RequestOptions, Thinking, ToolChoice,
    conversation::{Assistant, Encoded, Fields, Part, Said, arguments, fitting_name, quoted},
    families::takes_media_in_results,
    piece::{Piece, pieces_of},
};

/// What the API takes in place of the signature of a call that another model made. Newer models refuse a call without.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

pub(crate) fn request(history: &History, options: &RequestOptions) -> String {
    let mut fields = Fields::new(history.bytes(), &options.extra);
    if !history.system.trim().is_empty() {
        fields.put("systemInstruction", json!({ "parts": [text(&history.system)] }));
    }
    if !history.tools.is_empty() {
        fields.write("tools", |json| history.tools.write(json));
        fields.put_some("toolConfig", tool_config(&options.tool_choice));
    }
    fields.write("contents", |json| write_contents(history, options, json));
    fields.put_some("generationConfig", generation_config(options));
    fields.finish()
}

/// Which model reads a result is known only here. For those that take media inside of it, the few messages that have any
/// are written anew.
fn write_contents(history: &History, options: &RequestOptions, json: &mut String) {
    let inside = takes_media_in_results(&options.model);
    json.push('[');
    for (index, (message, encoded)) in history.encoded().enumerate() {
        if index > 0 {
            json.push(',');
        }
        match message {
            Message::Results(given) if inside && history.shows_media_of(message) => {
                json.push_str(&Encoded::of(&contents(given, true)).json);
            }
            _ => json.push_str(&encoded.json),
        }
    }
    json.push(']');
}

fn tool_config(choice: &ToolChoice) -> Option<Value> {
    let config = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::Never => json!({ "mode": "NONE" }),
        ToolChoice::Required => json!({ "mode": "ANY" }),
        ToolChoice::Named(name) => json!({ "mode": "ANY", "allowedFunctionNames": [name] }),
    };
    Some(json!({ "functionCallingConfig": config }))
}

fn generation_config(options: &RequestOptions) -> Option<Value> {
    let mut config = Map::new();
    config.extend(options.max_tokens.map(|most| ("maxOutputTokens".to_owned(), most.into())));
    config.extend(options.temperature.map(|value| ("temperature".to_owned(), value.into())));
    config.extend(
        options
            .thinking_of(Dialect::Gemini)
            .map(|thinking| ("thinkingConfig".to_owned(), thinking_config(thinking))),
    );
    (!config.is_empty()).then(|| config.into())
}

/// Levels are for models from the third generation on, budgets for those before.
fn thinking_config(thinking: Thinking) -> Value {
    match thinking {
        Thinking::Off => json!({ "thinkingBudget": 0 }),
        Thinking::Budget(tokens) => json!({ "thinkingBudget": tokens, "includeThoughts": true }),
        Thinking::Effort(effort) => {
            let level = match effort {
                Effort::Minimal => "MINIMAL",
                Effort::Low => "LOW",
                Effort::Medium => "MEDIUM",
                Effort::High => "HIGH",
            };
            json!({ "thinkingLevel": level, "includeThoughts": true })
        }
    }
}

pub(crate) fn message(message: &Message) -> Encoded {
    match message {
        Message::User(blocks) => user(blocks),
        Message::Assistant(message) => assistant(message),
        Message::Results(given) if given.is_empty() => Encoded::default(),
        Message::Results(given) => Encoded::of(&contents(given, false)),
    }
}

fn user(blocks: &[Block]) -> Encoded {
    let pieces = pieces_of(blocks, |media| is_seen(media) || is_heard(media));
    let parts = pieces.into_iter().map(|piece| match piece {
        Piece::Words(words) => text(&words),
        Piece::Media(media) => inline_data(&media),
    });
    Encoded::of(&json!({ "role": "user", "parts": parts.collect::<Value>() }))
}

fn assistant(message: &Assistant) -> Encoded {
    let mut is_first = true;
    let parts: Vec<String> = message.parts.iter().filter_map(|said| part(said, &mut is_first)).collect();
    if parts.is_empty() {
        return Encoded::default();
    }
    Encoded::new(format!(r#"{{"role":"model","parts":[{}]}}"#, parts.join(",")))
}

/// Of the calls of one message the API signs the first.
fn part(part: &Part, is_first: &mut bool) -> Option<String> {
    if let Some(kept) = part.kept_for(Dialect::Gemini) {
        return Some(kept.to_owned());
    }
    match &part.said {
        Said::Text(words) if words.trim().is_empty() => None,
        Said::Text(words) => Some(text(words).to_string()),
        Said::Call(call) => {
            let mut id = String::new();
            if !is_made(call.id.as_str()) {
                id = format!(r#""id":{},"#, quoted(call.id.as_str()));
            }
            let (name, args) = (quoted(&fitting_name(&call.name)), arguments(&call.input));
            let signature = match std::mem::take(is_first) {
                true => format!(r#","thoughtSignature":"{NO_SIGNATURE}""#),
                false => String::new(),
            };
            Some(format!(r#"{{"functionCall":{{{id}"name":{name},"args":{args}}}{signature}}}"#))
        }
        Said::Thinking(_) | Said::Other(_) => None,
    }
}
