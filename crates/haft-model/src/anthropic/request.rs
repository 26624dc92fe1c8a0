//! Requests of Messages.
//!
//! The API caches up to where it is told, at most four times: after the tools, after the system prompt, after the last
//! message, and after the last one of the request before, so that it is found again however much has come since.

use std::collections::BTreeSet;

use haft_engine::{result::ToolResult, turn::Call};
use haft_tool::Block;
use serde_json::{Value, json};

use super::{block, results_referring, text};
use crate::{
    Dialect, Effort, History, Message, RequestOptions, Thinking, ToolChoice,
    conversation::{Assistant, Encoded, Fields, Part, Said, arguments, fitting_id, fitting_name, quoted},
    families::is_claude,
    piece::{Piece, pieces_of},
};

/// The API wants a number. All models of today take this one.
const MAX_TOKENS: u32 = 32_000;

/// Fewer tokens of thought than this are refused.
const LEAST_BUDGET: u32 = 1_024;

/// What is left for the answer, besides thoughts.
const ROOM: u32 = 8_000;

/// What servers that are compatible write of thoughts that nobody has signed. Anthropic's own refuses them; no text has it in this
/// form, since its quotes would be escaped.
const UNSIGNED: &str = "\"signature\":\"\"";

const BREAKPOINT: &str = r#","cache_control":{"type":"ephemeral"}"#;

pub(crate) fn request(history: &History, options: &RequestOptions) -> String {
    let mut fields = Fields::new(history.bytes(), &options.extra);
    fields.put("model", options.model.as_str());
    let wanted = options.thinking_of(Dialect::Anthropic).and_then(|wanted| within(options, wanted));
    let (thinking, effort) = thinking(wanted);
    fields.put("max_tokens", max_tokens(options, wanted));
    if !history.tools.is_empty() {
        fields.write("tools", |json| write_tools(history, options, json));
        fields.put_some("tool_choice", tool_choice(options));
    }
    if !history.system.trim().is_empty() {
        fields.write("system", |json| write_system(history, options, json));
    }
    fields.write("messages", |json| write_messages(history, options, json));
    fields.put_some("temperature", options.temperature);
    fields.put_some("thinking", thinking);
    fields.put_some("output_config", effort.map(|effort| json!({ "effort": effort.name() })));
    if !options.whole {
        fields.put("stream", true);
    }
    fields.finish()
}

/// Thoughts count, so there must be room for more than them.
fn max_tokens(options: &RequestOptions, thinking: Option<Thinking>) -> u32 {
    match (options.max_tokens, thinking) {
        (None, Some(Thinking::Budget(budget))) => budget.saturating_add(ROOM).max(MAX_TOKENS),
        (max, _) => max.unwrap_or(MAX_TOKENS),
    }
}

/// A budget that the API takes beside the most tokens of an answer: less than those. Where that leaves too little, the model
/// does not think.
fn within(options: &RequestOptions, wanted: Thinking) -> Option<Thinking> {
    let Thinking::Budget(budget) = wanted else { return Some(wanted) };
    let most = options.max_tokens.map_or(u32::MAX, |most| most / 2);
    (most >= LEAST_BUDGET).then(|| Thinking::Budget(budget.clamp(LEAST_BUDGET, most)))
}

fn thinking(thinking: Option<Thinking>) -> (Option<Value>, Option<Effort>) {
    match thinking {
        None => (None, None),
        Some(Thinking::Off) => (Some(json!({ "type": "disabled" })), None),
        Some(Thinking::Effort(effort)) => {
            (Some(json!({ "type": "adaptive" })), Some(effort.max(Effort::Low)))
        }
        Some(Thinking::Budget(budget)) => (Some(json!({ "type": "enabled", "budget_tokens": budget })), None),
    }
}

fn tool_choice(options: &RequestOptions) -> Option<Value> {
    let mut choice = match &options.tool_choice {
        ToolChoice::Auto if !options.one_call => return None,
        ToolChoice::Auto => json!({ "type": "auto" }),
        ToolChoice::Never => return Some(json!({ "type": "none" })),
        ToolChoice::Required => json!({ "type": "any" }),
        ToolChoice::Named(name) => json!({ "type": "tool", "name": name }),
    };
    if options.one_call {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

fn write_tools(history: &History, options: &RequestOptions, json: &mut String) {
    json.push('[');
    write_marked(&history.tools.json, history.tools.mark.filter(|_| !options.uncached), json);
    json.push(']');
}

fn write_system(history: &History, options: &RequestOptions, json: &mut String) {
    let mark = if options.uncached { "" } else { BREAKPOINT };
    json.push_str(r#"[{"type":"text","text":"#);
    json.push_str(&quoted(&history.system));
    json.push_str(mark);
    json.push_str("}]");
}

fn write_messages(history: &History, options: &RequestOptions, json: &mut String) {
    let marked = if options.uncached { [None; 2] } else { marked(history) };
    let wants_signatures = is_claude(&options.model);
    json.push('[');
    let mut is_users = false;
    for (index, (message, encoded)) in history.encoded().enumerate() {
        let was_users = std::mem::replace(&mut is_users, !matches!(message, Message::Assistant(_)));
        let mark = encoded.mark.filter(|_| marked.contains(&Some(index)));
        if was_users && is_users && write_joined(encoded, mark, json) {
            continue;
        }
        if index > 0 {
            json.push(',');
        }
        match message {
            Message::Assistant(said) if wants_signatures && encoded.json.contains(UNSIGNED) => {
                json.push_str(&assistant(said, true).json);
            }
            _ => write_marked(&encoded.json, mark, json),
        }
    }
    json.push(']');
}

/// Puts what the person says into the message with the results before it, after these: roles alternate for some who are
/// compatible. Says no where it is not of that form.
fn write_joined(encoded: &Encoded, mark: Option<usize>, json: &mut String) -> bool {
    const BEGIN: &str = r#"{"role":"user","content":["#;
    const END: &str = "]}";
    let Some(rest) = encoded.json.strip_prefix(BEGIN).filter(|_| json.ends_with("}]}")) else { return false };
    json.truncate(json.len() - END.len());
    json.push(',');
    write_marked(rest, mark.map(|mark| mark - BEGIN.len()), json);
    true
}

fn write_marked(item: &str, mark: Option<usize>, json: &mut String) {
    let (before, after) = item.split_at(mark.unwrap_or(item.len()));
    json.push_str(before);
    if mark.is_some() {
        json.push_str(BREAKPOINT);
    }
    json.push_str(after);
}

/// The last message, and the last one before the model spoke: the one that the request before was marked at.
fn marked(history: &History) -> [Option<usize>; 2] {
    let mut marked = [None; 2];
    let mut spoke = false;
    let count = history.encoded().count();
    for (from_end, (message, encoded)) in history.encoded().rev().enumerate() {
        let here = encoded.mark.map(|_| count - 1 - from_end);
        match (message, marked) {
            (Message::Assistant(_), _) => spoke = true,
            (_, [None, _]) => marked[0] = here,
            (_, [Some(_), None]) if spoke => marked[1] = here,
            _ => {}
        }
        if marked[1].is_some() {
            break;
        }
        spoke &= marked[0].is_some();
    }
    marked
}

/// A message; its results refer to tools that the API keeps.
pub(crate) fn message(message: &Message, kept: &BTreeSet<String>) -> Encoded {
    match message {
        Message::User(blocks) => user(blocks),
        Message::Assistant(message) => assistant(message, false),
        Message::Results(results) if results.is_empty() => Encoded::default(),
        Message::Results(results) => answered(results, kept),
    }
}

fn user(blocks: &[Block]) -> Encoded {
    let pieces = pieces_of(blocks, |media| media.is_common_image() || media.is_pdf());
    let content = pieces.into_iter().map(|piece| match piece {
        Piece::Words(words) => text(&words),
        Piece::Media(media) => block(&media),
    });
    with_mark(&json!({ "role": "user", "content": content.collect::<Value>() }))
}

fn answered(given: &[ToolResult], kept: &BTreeSet<String>) -> Encoded {
    let mut given = given.to_vec();
    for result in &mut given {
        result.call = fitting_id(result.call.as_str()).into();
    }
    with_mark(&results_referring(&given, |name| kept.contains(name)))
}

/// A message of the user ends with its last block: there is the place for a mark.
fn with_mark(message: &Value) -> Encoded {
    let json = message.to_string();
    let mark = json.len().checked_sub("}]}".len()).filter(|_| json.ends_with("}]}"));
    Encoded { json, mark }
}

/// A message must not end with thoughts: an answer that was cut off while the model thought goes back without them.
fn assistant(message: &Assistant, signed_only: bool) -> Encoded {
    let said = message.parts.iter().filter_map(|said| Some((said, part(said)?)));
    let is_sent = |(said, block): &(&Part, String)| {
        !(signed_only && matches!(said.said, Said::Thinking(_)) && block.contains(UNSIGNED))
    };
    let said = said.filter(is_sent);
    let mut said: Vec<(&Part, String)> = said.collect();
    while said.last().is_some_and(|(last, _)| matches!(last.said, Said::Thinking(_))) {
        said.pop();
    }
    let blocks: Vec<String> = said.into_iter().map(|(_, block)| block).collect();
    if blocks.is_empty() {
        return Encoded::default();
    }
    Encoded::new(format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(",")))
}

fn part(part: &Part) -> Option<String> {
    if let Some(kept) = part.kept_for(Dialect::Anthropic) {
        return Some(kept.to_owned());
    }
    match &part.said {
        Said::Text(words) if words.trim().is_empty() => None,
        Said::Text(words) => Some(text(words).to_string()),
        Said::Call(call) => Some(tool_use(call)),
        // Thoughts without a signature of this API are refused.
        Said::Thinking(_) | Said::Other(_) => None,
    }
}

fn tool_use(call: &Call) -> String {
    let id = quoted(&fitting_id(call.id.as_str()));
    let (name, input) = (quoted(&fitting_name(&call.name)), arguments(&call.input));
    format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
}
