//! A stream of Chat Completions: pieces of a message, and of calls by number.
//!
//! The API never says that a call is complete. It is when its arguments are a whole object with something in it, when
//! they are an empty object and another call begins, or when the message ends. One whose arguments are still open waits,
//! whatever begins meanwhile: it would be run with half of them. What comes for a call after its object is dropped: a
//! second bracket or the same arguments again, which some servers send, would only break it.
//!
//! Compatible servers leave out numbers or ids, give all calls the number 0, send arguments as an object, or a whole
//! call at once. All of that is read as what it must mean.

use serde_json::{Map, Value};

use crate::{
    ErrorKind, ModelError,
    conversation::Said,
    openai::names_a_call,
    stream::{Draft, Flow, MOST_PARTS, Read, Slot, Stop, field, items, tells_error, too_many_parts},
};

/// The calls of the message that is being written, and what of its thoughts goes back.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    calls: Vec<OpenCall>,
    /// Of these, those that may not be complete.
    waiting: Vec<Slot>,
    /// The field that thoughts come in.
    thoughts: Option<&'static str>,
    /// Whether that field came without anything in it.
    is_thoughtless: bool,
    /// Thoughts in the form of OpenRouter.
    details: Vec<Value>,
    has_refused: bool,
}

#[derive(Debug)]
struct OpenCall {
    number: Option<u64>,
    /// As the server wrote it, which may be no id at all.
    id: String,
    slot: Slot,
}

impl Reader {
    pub(crate) fn event(&mut self, json: &str, chunk: &Value, draft: &mut Draft) -> Read {
        // vLLM writes an error as an object of its own.
        if tells_error(chunk) || chunk["object"] == "error" {
            return Err(ModelError::told(chunk));
        }
        begin(chunk, draft);
        let choices = field(json, "choices").map(items).unwrap_or_default();
        let values = chunk.get("choices").and_then(Value::as_array);
        for (json, choice) in choices.into_iter().zip(values.into_iter().flatten()) {
            // Only one answer was asked for.
            if choice.get("index").and_then(Value::as_u64).unwrap_or_default() == 0 {
                self.choice(json, choice, draft)?;
            }
        }
        Ok(Flow::On)
    }

    /// The message in one piece.
    pub(crate) fn whole(&mut self, json: &str, response: &Value, draft: &mut Draft) -> Read {
        let is_error = tells_error(response) || response["object"] == "error";
        if !is_error && !response.get("choices").is_some_and(Value::is_array) {
            let why = "the answer is no completion: it has no `choices`";
            return Err(ModelError::new(ErrorKind::Unreadable, why));
        }
        self.event(json, response, draft)?;
        Ok(Flow::Over)
    }

    fn choice(&mut self, json: &str, choice: &Value, draft: &mut Draft) -> Result<(), ModelError> {
        // Perplexity sends the whole message so far beside each delta: only one of the two is new.
        let key = if choice.get("delta").is_some_and(Value::is_object) { "delta" } else { "message" };
        if let (Some(json), Some(said)) = (field(json, key), choice.get(key)) {
            self.delta(json, said, draft)?;
        }
        // Some servers write an empty one for as long as there is none.
        match choice.get("finish_reason").and_then(Value::as_str).filter(|reason| !reason.is_empty()) {
            Some("error") => Err(ModelError::told(choice)),
            Some(reason @ ("insufficient_system_resource" | "network_error")) => {
                let why = format!("the server gave up in the middle of the answer: {reason}");
                Err(ModelError::new(ErrorKind::Overloaded, why))
            }
            Some(reason) => {
                draft.stop = Some(if self.has_refused { Stop::Refused } else { stop(reason) });
                self.waiting.drain(..).for_each(|slot| draft.close(slot));
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn delta(&mut self, json: &str, delta: &Value, draft: &mut Draft) -> Result<(), ModelError> {
        self.thoughts(delta, draft)?;
        content(&delta["content"], draft)?;
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty()) {
            self.has_refused = true;
            draft.text(refusal)?;
        }
        if delta.get("function_call").is_some_and(names_a_call) {
            let why = "the answer has a `function_call`, which has no id to answer, in place of `tool_calls`";
            return Err(ModelError::new(ErrorKind::Unreadable, why));
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        let texts = field(json, "tool_calls").map(items).unwrap_or_default();
        let pieces = texts.into_iter().zip(calls.into_iter().flatten());
        for (json, piece) in pieces {
            self.call(json, piece, draft)?;
        }
        Ok(())
    }

    /// Servers have a field for thoughts under one of two names, and some send the same under both.
    fn thoughts(&mut self, delta: &Value, draft: &mut Draft) -> Result<(), ModelError> {
        self.is_thoughtless |= delta.get("reasoning_content").is_some_and(|thought| thought == "");
        for name in ["reasoning_content", "reasoning"] {
            if let Some(piece) = delta.get(name).and_then(Value::as_str).filter(|piece| !piece.is_empty()) {
                if *self.thoughts.get_or_insert(name) == name {
                    draft.thinking(piece)?;
                }
                break;
            }
        }
        for detail in delta.get("reasoning_details").and_then(Value::as_array).into_iter().flatten() {
            if self.details.len() >= MOST_PARTS {
                return Err(too_many_parts());
            }
            // Encrypted thoughts have no words, but want a place.
            if draft.first_thinking().is_none() {
                draft.begin(Said::Thinking(String::new()))?;
            }
            add_detail(&mut self.details, detail);
        }
        Ok(())
    }

    fn call(&mut self, json: &str, piece: &Value, draft: &mut Draft) -> Result<(), ModelError> {
        let function = &piece["function"];
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        let index = match self.find(piece, name, draft) {
            Some(index) => index,
            // A placeholder that some servers send where the model called nothing.
            None if has_no_id(piece) && !names_a_call(function) => return Ok(()),
            None => self.begin(piece, name, draft)?,
        };
        let slot = self.calls[index].slot;
        draft.name(slot, name);
        if let Some(kept) = kept_of_call(json) {
            draft.keep(slot, kept);
        }
        match &function["arguments"] {
            Value::Null => {}
            Value::String(text) => draft.arguments(slot, text, true),
            _ => {
                let text = field(json, "function").and_then(|function| field(function, "arguments"));
                draft.arguments(slot, text.unwrap_or_default(), true);
            }
        }
        Ok(())
    }

    /// The call that a piece goes on with.
    fn find(&self, piece: &Value, name: &str, draft: &Draft) -> Option<usize> {
        let number = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        // A piece without a name goes on with a call, whatever id it has: some servers make a new one for each piece.
        let is_same = |call: &OpenCall| id.is_empty() || name.is_empty() || call.id == id;
        let is_it = |call: &OpenCall| match number {
            Some(_) => call.number == number && (call.id.is_empty() || is_same(call)),
            None => is_same(call),
        };
        let index = self.calls.iter().rposition(is_it)?;
        // A name after whole arguments, or another one after some, is another call unless the id says otherwise.
        let OpenCall { id: known, slot, .. } = &self.calls[index];
        let says_which = !id.is_empty() && known == id;
        let is_another = draft.is_full(*slot) || (draft.has_arguments(*slot) && draft.words(*slot) != name);
        (name.is_empty() || says_which || !is_another).then_some(index)
    }

    fn begin(&mut self, piece: &Value, name: &str, draft: &mut Draft) -> Result<usize, ModelError> {
        self.waiting.retain(|slot| {
            let is_full = draft.is_full(*slot);
            if is_full {
                draft.close(*slot);
            }
            !is_full
        });
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        let slot = draft.open(id, name)?;
        // An id of the server's own goes back to it as it is.
        if draft.has_id(slot, id) {
            draft.keep(slot, "{}");
        }
        let number = piece.get("index").and_then(Value::as_u64);
        self.waiting.push(slot);
        self.calls.push(OpenCall { number, id: id.to_owned(), slot });
        Ok(self.calls.len() - 1)
    }

    /// The message is complete: what of its thoughts goes back is known.
    pub(crate) fn finish(&mut self, draft: &mut Draft) {
        let Some(slot) = draft.first_thinking() else { return self.finish_thoughtless(draft) };
        let mut kept = Map::new();
        if let Some(name) = self.thoughts {
            kept.insert(name.to_owned(), draft.all_thinking().into());
        }
        if !self.details.is_empty() {
            kept.insert("reasoning_details".to_owned(), std::mem::take(&mut self.details).into());
        }
        draft.keep(slot, Value::from(kept).to_string());
    }

    /// A model that thinks between calls, and did not think before this one: its API wants the field back, and not empty.
    fn finish_thoughtless(&mut self, draft: &mut Draft) {
        if !self.is_thoughtless || self.calls.is_empty() {
            return;
        }
        if let Ok(slot) = draft.begin(Said::Thinking(String::new())) {
            draft.keep(slot, r#"{"reasoning_content":" "}"#);
        }
    }
}

fn has_no_id(piece: &Value) -> bool {
    piece.get("id").and_then(Value::as_str).is_none_or(str::is_empty)
}

/// What a server wants back of a call: the signatures of Gemini's models, in Google's own place and in LiteLLM's.
fn kept_of_call(json: &str) -> Option<String> {
    let fields = ["extra_content", "provider_specific_fields"];
    let found = fields.iter().filter_map(|name| Some(format!("\"{name}\":{}", field(json, name)?)));
    let found: Vec<String> = found.filter(|field| !field.ends_with(":null")).collect();
    (!found.is_empty()).then(|| format!("{{{}}}", found.join(",")))
}

fn begin(chunk: &Value, draft: &mut Draft) {
    let text = |key: &str| chunk.get(key).and_then(Value::as_str).unwrap_or_default();
    if draft.model.is_empty() {
        (draft.id, draft.model) = (text("id").to_owned(), text("model").to_owned());
    }
    // Moonshot has it in the choice.
    let usage = [&chunk["usage"], &chunk["choices"][0]["usage"]].into_iter().find(|usage| usage.is_object());
    let usage = usage.unwrap_or(&Value::Null);
    let count = |usage: &Value, key: &str| usage.get(key).and_then(Value::as_u64);
    draft.used(|used| {
        used.input = count(usage, "prompt_tokens").unwrap_or(used.input);
        used.output = count(usage, "completion_tokens").unwrap_or(used.output);
        used.cached = count(&usage["prompt_tokens_details"], "cached_tokens")
            // As DeepSeek and Moonshot have it.
            .or_else(|| count(usage, "prompt_cache_hit_tokens"))
            .or_else(|| count(usage, "cached_tokens"))
            .unwrap_or(used.cached);
        used.cache_written = count(&usage["prompt_tokens_details"], "cache_write_tokens")
            // As LiteLLM has it.
            .or_else(|| count(usage, "cache_creation_input_tokens"))
            .unwrap_or(used.cache_written);
        used.thinking =
            count(&usage["completion_tokens_details"], "reasoning_tokens").unwrap_or(used.thinking);
    });
}

/// A text, or a list of parts as Mistral has it.
fn content(content: &Value, draft: &mut Draft) -> Result<(), ModelError> {
    match content {
        Value::String(text) => draft.text(text),
        Value::Array(parts) => parts.iter().try_for_each(|part| match &part["thinking"] {
            Value::Array(thoughts) => thoughts.iter().try_for_each(|thought| draft.thinking(words(thought))),
            Value::String(thought) => draft.thinking(thought),
            _ => draft.text(words(part)),
        }),
        _ => Ok(()),
    }
}

fn words(part: &Value) -> &str {
    part.get("text").and_then(Value::as_str).unwrap_or_default()
}

/// A detail comes in pieces with the same number: its texts are joined, the rest is as it was said last.
fn add_detail(details: &mut Vec<Value>, piece: &Value) {
    let is_same = |one: &Value| one["index"] == piece["index"] && one["type"] == piece["type"];
    let Some(Value::Object(detail)) =
        details.last_mut().filter(|last| !piece["index"].is_null() && is_same(last))
    else {
        details.push(piece.clone());
        return;
    };
    for (key, value) in piece.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        match (detail.get_mut(key), value) {
            (Some(Value::String(text)), Value::String(more))
                if ["text", "summary", "data"].contains(&key.as_str()) =>
            {
                text.push_str(more);
            }
            _ => drop(detail.insert(key.clone(), value.clone())),
        }
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" | "eos" | "end_turn" => Stop::End,
        "tool_calls" | "function_call" => Stop::Calls,
        "length" | "max_tokens" => Stop::MaxTokens,
        "model_context_window_exceeded" => Stop::ContextWindow,
        "content_filter" | "sensitive" => Stop::Refused,
        "abort" | "aborted" | "cancelled" | "malformed_function_call" => Stop::Broken(reason.to_owned()),
        // A word that nobody knows is mostly another one for the end.
        other => Stop::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_that_come_in_pieces_are_joined() {
        let mut details = Vec::new();
        for piece in [
            json!({ "type": "reasoning.text", "index": 0, "text": "Let ", "signature": null }),
            json!({ "type": "reasoning.text", "index": 0, "text": "me", "signature": "s" }),
            json!({ "type": "reasoning.encrypted", "index": 1, "data": "x" }),
            json!({ "type": "reasoning.text", "text": "no number" }),
        ] {
            add_detail(&mut details, &piece);
        }
        assert_eq!(
            Value::from(details),
            json!([
                { "type": "reasoning.text", "index": 0, "text": "Let me", "signature": "s" },
                { "type": "reasoning.encrypted", "index": 1, "data": "x" },
                { "type": "reasoning.text", "text": "no number" },
            ])
        );
    }
}
