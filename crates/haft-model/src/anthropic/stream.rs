//! A stream of Messages: blocks that begin, go on and stop, each with a number.

use std::{borrow::Cow, collections::HashMap};

use serde::Deserialize;
use serde_json::Value;

use crate::{
    ErrorKind, ModelError,
    conversation::{Said, quoted},
    stream::{Draft, Flow, Read, Slot, Stop, field, items, tells_error},
};

const DELTA: &str = "content_block_delta";

/// The blocks of the message that is being written.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    blocks: HashMap<u64, Block>,
}

#[derive(Debug)]
struct Block {
    slot: Slot,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Text,
    /// Without its signature the API does not take thoughts back.
    Thinking {
        signature: String,
    },
    Call,
    /// What only the API understands. Its input comes in pieces, too.
    Other {
        block: Value,
        input: String,
        is_whole: bool,
    },
}

/// A piece of a call's arguments or of text: nearly all that a stream consists of. Whatever has another form, or a field twice,
/// is read as a value like the rest.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    index: u64,
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow, default)]
    text: Cow<'a, str>,
    #[serde(borrow, default)]
    partial_json: Cow<'a, str>,
}

impl Reader {
    /// An event that is a piece of an open block, without a detour; `None` if it is something else.
    pub(crate) fn delta_of(&mut self, json: &str, draft: &mut Draft) -> Option<Read> {
        let piece: Piece<'_> =
            serde_json::from_str(json).ok().filter(|piece: &Piece<'_>| piece.kind == DELTA)?;
        let block = self.blocks.get(&piece.index)?;
        match (piece.delta.kind, &block.kind) {
            ("text_delta", _) => draft.add(block.slot, &piece.delta.text),
            ("input_json_delta", Kind::Call) => {
                draft.arguments(block.slot, &piece.delta.partial_json, false);
            }
            _ => return None,
        }
        Some(Ok(Flow::On))
    }

    pub(crate) fn event(&mut self, event: &Value, draft: &mut Draft) -> Read {
        let number = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => {
                draft.same_message(&event["message"]["id"])?;
                begin(&event["message"], draft);
            }
            "content_block_start" => self.start(number, &event["content_block"], draft)?,
            DELTA => self.delta(number, &event["delta"], draft)?,
            "content_block_stop" => self.stop(number, draft),
            "message_delta" => {
                usage(&event["usage"], draft);
                self.message_delta(&event["delta"], draft);
            }
            "message_stop" => {
                self.stop_all(draft);
                return Ok(Flow::Over);
            }
            "error" => return Err(ModelError::told(event)),
            // A compatible server may tell of an error without saying that it is an event.
            "" if tells_error(event) => {
                return Err(ModelError::told(event));
            }
            // `ping`, and what is added to the API later.
            _ => {}
        }
        Ok(Flow::On)
    }

    /// The message in one piece.
    pub(crate) fn whole(&mut self, json: &str, message: &Value, draft: &mut Draft) -> Read {
        let is_error = tells_error(message);
        if is_error || !message.get("content").is_some_and(Value::is_array) {
            return Err(not_a_message(message, is_error));
        }
        begin(message, draft);
        let texts = field(json, "content").map(items).unwrap_or_default();
        for (number, (text, block)) in
            (0..).zip(texts.iter().zip(message["content"].as_array().into_iter().flatten()))
        {
            let mut block = block.clone();
            let input = field(text, "input").filter(|_| block["type"] == "tool_use");
            if let (Some(fields), Some(_)) = (block.as_object_mut(), input) {
                fields.shift_remove("input");
            }
            self.start(number, &block, draft)?;
            if let (Some(input), Some(open)) = (input, self.blocks.get(&number)) {
                draft.arguments(open.slot, input, false);
            }
            self.stop(number, draft);
        }
        self.message_delta(message, draft);
        Ok(Flow::Over)
    }

    fn start(&mut self, number: u64, block: &Value, draft: &mut Draft) -> Result<(), ModelError> {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let (slot, kind) = match text("type") {
            "text" => (draft.begin(Said::Text(String::new()))?, Kind::Text),
            "thinking" => {
                let signature = text("signature").to_owned();
                (draft.begin(Said::Thinking(String::new()))?, Kind::Thinking { signature })
            }
            "redacted_thinking" => (draft.begin(Said::Thinking(String::new()))?, other(block)),
            "tool_use" => (draft.open(text("id"), text("name"))?, Kind::Call),
            name => (draft.begin(Said::Other(name.to_owned()))?, other(block)),
        };
        match kind {
            Kind::Text => draft.add(slot, text("text")),
            Kind::Thinking { .. } => draft.add(slot, text("thinking")),
            // The API begins with an empty object; a server that does not stream arguments has them here.
            Kind::Call => draft.arguments(slot, &given(&block["input"]), false),
            Kind::Other { .. } => {}
        }
        // A number that comes again without a stop is another block.
        if let Some(before) = self.blocks.insert(number, Block { slot, kind }) {
            before.finish(draft);
        }
        Ok(())
    }

    fn delta(&mut self, number: u64, delta: &Value, draft: &mut Draft) -> Result<(), ModelError> {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = text("type");
        let Some(block) = self.blocks.get_mut(&number) else {
            return match kind {
                "text_delta" => draft.text(text("text")),
                "thinking_delta" => draft.thinking(text("thinking")),
                "input_json_delta" => {
                    Err(ModelError::new(ErrorKind::Unreadable, "arguments came for a call that never began"))
                }
                _ => Ok(()),
            };
        };
        match (kind, &mut block.kind) {
            ("text_delta", _) => draft.add(block.slot, text("text")),
            ("thinking_delta", _) => draft.add(block.slot, text("thinking")),
            ("signature_delta", Kind::Thinking { signature }) => signature.push_str(text("signature")),
            ("input_json_delta", Kind::Call) => draft.arguments(block.slot, text("partial_json"), false),
            ("input_json_delta", Kind::Other { input, .. }) => input.push_str(text("partial_json")),
            (_, Kind::Other { is_whole, .. }) => *is_whole = false,
            _ => {}
        }
        Ok(())
    }

    fn stop(&mut self, number: u64, draft: &mut Draft) {
        if let Some(block) = self.blocks.remove(&number) {
            block.finish(draft);
        }
    }

    fn stop_all(&mut self, draft: &mut Draft) {
        let mut open: Vec<(u64, Block)> = self.blocks.drain().collect();
        open.sort_by_key(|(number, _)| *number);
        open.into_iter().for_each(|(_, block)| block.finish(draft));
    }

    fn message_delta(&mut self, delta: &Value, draft: &mut Draft) {
        if let Some(reason) =
            delta.get("stop_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty())
        {
            self.stop_all(draft);
            draft.stop = Some(stop(reason));
        }
    }
}

impl Block {
    /// The block is complete: what of it the API wants back is known.
    fn finish(self, draft: &mut Draft) {
        match self.kind {
            Kind::Text => {}
            Kind::Call => draft.close(self.slot),
            Kind::Thinking { signature } => {
                let thinking = quoted(draft.words(self.slot));
                let signature = quoted(&signature);
                draft.keep(
                    self.slot,
                    format!("{{\"type\":\"thinking\",\"thinking\":{thinking},\"signature\":{signature}}}"),
                );
            }
            Kind::Other { mut block, input, is_whole: true } => {
                if let Ok(input) = serde_json::from_str::<Value>(&input) {
                    block["input"] = input;
                }
                draft.keep(self.slot, block.to_string());
            }
            // It went on in a way that is not known here. Half of it would be refused.
            Kind::Other { is_whole: false, .. } => {}
        }
    }
}

fn other(block: &Value) -> Kind {
    Kind::Other { block: block.clone(), input: String::new(), is_whole: true }
}

fn given(input: &Value) -> String {
    match input {
        Value::Null => String::new(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::String(text) => text.clone(),
        input => input.to_string(),
    }
}

fn begin(message: &Value, draft: &mut Draft) {
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    (draft.id, draft.model) = (text("id"), text("model"));
    usage(&message["usage"], draft);
}

/// The API counts what it read from its cache and what it wrote there apart from the rest of the input.
fn usage(usage: &Value, draft: &mut Draft) {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    draft.used(|used| {
        let mut fresh = used.input.saturating_sub(used.cached).saturating_sub(used.cache_written);
        // Some servers count at the beginning and have a nought at the end, some the other way round.
        fresh = count("input_tokens").filter(|tokens| *tokens > 0).unwrap_or(fresh);
        used.cached = count("cache_read_input_tokens").unwrap_or(used.cached);
        used.cache_written = count("cache_creation_input_tokens").unwrap_or(used.cache_written);
        used.input = fresh.saturating_add(used.cached).saturating_add(used.cache_written);
        used.output = count("output_tokens").unwrap_or(used.output);
        let thoughts = usage["output_tokens_details"].get("thinking_tokens").and_then(Value::as_u64);
        used.thinking = thoughts.unwrap_or(used.thinking);
    });
}

fn stop(reason: &str) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" => Stop::End,
        "tool_use" => Stop::Calls,
        "max_tokens" => Stop::MaxTokens,
        "model_context_window_exceeded" => Stop::ContextWindow,
        "refusal" => Stop::Refused,
        "pause_turn" => Stop::Paused,
        other => Stop::Other(other.to_owned()),
    }
}

fn not_a_message(message: &Value, is_error: bool) -> ModelError {
    match is_error {
        true => ModelError::told(message),
        false => ModelError::new(ErrorKind::Unreadable, "the answer is no message: it has no `content`"),
    }
}
