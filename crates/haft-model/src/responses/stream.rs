//! A stream of Responses: items that are added, go on and are done.
//!
//! An item that is done comes whole, and goes back as it came: reasoning is encrypted in it, and ids belong together.
//! The API gives items numbers and ids; compatible servers leave out the one or the other, and some name a call by the id
//! of its call. So an item is known by whatever it was called.

use std::collections::{HashMap, HashSet};

use haft_engine::turn::{Arguments, Call};
use serde_json::Value;

use crate::{
    ErrorKind, ModelError,
    conversation::{Said, is_object},
    stream::{Draft, Flow, Read, Slot, Stop, field, items, tells_error},
};

/// The items of the response that is being written.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// By number and by ids.
    slots: HashMap<String, Slot>,
    last: Option<Slot>,
    done: HashSet<Slot>,
    has_numbers: bool,
    has_refused: bool,
}

impl Reader {
    pub(crate) fn event(&mut self, kind: &str, json: &str, event: &Value, draft: &mut Draft) -> Read {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or(kind);
        let delta = event.get("delta").and_then(Value::as_str).unwrap_or_default();
        let names = names(
            event.get("output_index"),
            &[&event["item_id"], &event["item"]["id"], &event["item"]["call_id"]],
        );
        self.has_numbers |= event.get("output_index").is_some();
        match kind {
            "response.created" | "response.in_progress" => {
                draft.same_message(&event["response"]["id"])?;
                begin(&event["response"], draft);
            }
            "response.output_item.added" => drop(self.added(names, &event["item"], draft)?),
            "response.output_text.delta" => self.words(names, Said::Text(String::new()), delta, draft)?,
            "response.refusal.delta" => {
                self.has_refused = true;
                self.words(names, Said::Text(String::new()), delta, draft)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.words(names, Said::Thinking(String::new()), delta, draft)?;
            }
            "response.reasoning_summary_part.added" => self.next_thought(&names, draft),
            "response.function_call_arguments.delta" => {
                draft.arguments(self.find(&names).ok_or_else(no_call)?, delta, false);
            }
            "response.function_call_arguments.done" => self.arguments_done(&names, event, draft)?,
            "response.output_item.done" => {
                self.item_done(names, field(json, "item").unwrap_or_default(), &event["item"], draft)?;
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                return self.whole(field(json, "response").unwrap_or_default(), &event["response"], draft);
            }
            "error" => return Err(ModelError::told(event)),
            // Hosted tools tell how they are getting on; what they did is in their items.
            _ if tells_error(event) => {
                return Err(ModelError::told(event));
            }
            _ => {}
        }
        Ok(Flow::On)
    }

    /// The response when it is over, which is also what a server sends that does not stream.
    pub(crate) fn whole(&mut self, json: &str, response: &Value, draft: &mut Draft) -> Read {
        if tells_error(response) || response["status"] == "failed" {
            return Err(ModelError::told(response));
        }
        if !response.is_object() {
            let why = "the answer is no response: it is no object";
            return Err(ModelError::new(ErrorKind::Unreadable, why));
        }
        begin(response, draft);
        let values = response.get("output").and_then(Value::as_array);
        let texts = field(json, "output").map(items).unwrap_or_default();
        // What was streamed without numbers cannot be told from what was not.
        let may_be_new = self.has_numbers || self.last.is_none();
        let mut streamed: Vec<Call> =
            if self.done.is_empty() { Vec::new() } else { draft.calls().cloned().collect() };
        for (number, (json, item)) in texts.into_iter().zip(values.into_iter().flatten()).enumerate() {
            let mut names = names(Some(&number.into()), &[&item["id"], &item["call_id"]]);
            // Some servers number this list anew: an id says more.
            names.rotate_left(1);
            let is_known = names.iter().any(|name| self.slots.contains_key(name));
            if is_known || (may_be_new && !take_streamed(&mut streamed, item)) {
                self.item_done(names, json, item, draft)?;
            }
        }
        draft.close_all();
        draft.stop = Some(self.stop(response));
        Ok(Flow::Over)
    }

    /// The item with one of these names; of events without any, the one that was added last.
    fn find(&self, names: &[String]) -> Option<Slot> {
        match names {
            [] => self.last,
            names => names.iter().find_map(|name| self.slots.get(name)).copied(),
        }
    }

    fn added(&mut self, names: Vec<String>, item: &Value, draft: &mut Draft) -> Result<Slot, ModelError> {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let slot = match text("type") {
            "message" => draft.begin(Said::Text(String::new()))?,
            "reasoning" => draft.begin(Said::Thinking(String::new()))?,
            "function_call" => draft.open(text("call_id"), text("name"))?,
            kind => draft.begin(Said::Other(kind.to_owned()))?,
        };
        self.call_it(slot, names);
        Ok(slot)
    }

    fn call_it(&mut self, slot: Slot, names: Vec<String>) {
        self.last = Some(slot);
        self.slots.extend(names.into_iter().map(|name| (name, slot)));
    }

    fn words(
        &mut self,
        names: Vec<String>,
        said: Said,
        piece: &str,
        draft: &mut Draft,
    ) -> Result<(), ModelError> {
        let slot = match self.find(&names) {
            Some(slot) => slot,
            None => {
                let slot = draft.begin(said)?;
                self.call_it(slot, names);
                slot
            }
        };
        draft.add(slot, piece);
        Ok(())
    }

    /// A summary has paragraphs.
    fn next_thought(&self, names: &[String], draft: &mut Draft) {
        if let Some(slot) = self.find(names).filter(|slot| !draft.words(*slot).is_empty()) {
            draft.add(slot, "\n\n");
        }
    }

    fn arguments_done(&self, names: &[String], event: &Value, draft: &mut Draft) -> Result<(), ModelError> {
        let slot = self.find(names).ok_or_else(no_call)?;
        // A call without a name yet gets it with the item.
        if !draft.words(slot).is_empty() {
            close(slot, event, draft);
        }
        Ok(())
    }

    fn item_done(
        &mut self,
        names: Vec<String>,
        json: &str,
        item: &Value,
        draft: &mut Draft,
    ) -> Result<(), ModelError> {
        if !item.is_object() {
            return Ok(());
        }
        let slot = match self.find(&names) {
            Some(slot) => slot,
            None => self.added(names, item, draft)?,
        };
        if !self.done.insert(slot) {
            return Ok(());
        }
        match item["type"].as_str().unwrap_or_default() {
            "function_call" => {
                draft.name(slot, item["name"].as_str().unwrap_or_default());
                close(slot, item, draft);
                // Under an id of its own a call goes back as it is known here: its result has that id. So does one whose
                // arguments broke off, which no API takes back.
                let is_whole = item["arguments"].as_str().is_some_and(is_object);
                if !is_whole || !draft.has_id(slot, item["call_id"].as_str().unwrap_or_default()) {
                    return Ok(());
                }
            }
            "message" if draft.words(slot).is_empty() => self.message(slot, item, draft),
            "reasoning" if draft.words(slot).is_empty() => thoughts(slot, item, draft),
            _ => {}
        }
        draft.keep(slot, json);
        Ok(())
    }

    fn message(&mut self, slot: Slot, item: &Value, draft: &mut Draft) {
        for part in item["content"].as_array().into_iter().flatten() {
            self.has_refused |= part["type"] == "refusal";
            let words = [&part["text"], &part["refusal"]].into_iter().find_map(Value::as_str);
            draft.add(slot, words.unwrap_or_default());
        }
    }

    fn stop(&self, response: &Value) -> Stop {
        let why = response["incomplete_details"]["reason"].as_str();
        match (response["status"].as_str(), why) {
            (Some("incomplete"), Some("max_output_tokens")) => Stop::MaxTokens,
            (Some("incomplete"), Some("content_filter")) => Stop::Refused,
            (Some("incomplete"), why) => Stop::Broken(why.unwrap_or("incomplete").to_owned()),
            (Some("cancelled"), _) => Stop::Broken("cancelled".to_owned()),
            _ if self.has_refused => Stop::Refused,
            _ => Stop::End,
        }
    }
}

/// Takes the streamed call that an item repeats, if there is one. Some servers give a call another id and number in the final list;
/// equal calls of one message are as many as the list has.
fn take_streamed(streamed: &mut Vec<Call>, item: &Value) -> bool {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    let is_it = |call: &Call| call.name == text("name") && is_same(&call.input, text("arguments"));
    let found = if item["type"] == "function_call" { streamed.iter().position(is_it) } else { None };
    found.map(|index| streamed.remove(index)).is_some()
}

/// All that an item is called.
fn names(number: Option<&Value>, ids: &[&Value]) -> Vec<String> {
    let number = number.and_then(Value::as_u64).map(|number| format!("#{number}"));
    let ids = ids.iter().filter_map(|id| id.as_str()).filter(|id| !id.is_empty()).map(str::to_owned);
    number.into_iter().chain(ids).collect()
}

/// The arguments come whole at the end; a server may not have sent them in pieces at all.
fn close(slot: Slot, source: &Value, draft: &mut Draft) {
    if !draft.has_arguments(slot) {
        match &source["arguments"] {
            Value::String(text) => draft.arguments(slot, text, false),
            Value::Null => {}
            other => draft.arguments(slot, &other.to_string(), false),
        }
    }
    draft.close(slot);
}

fn thoughts(slot: Slot, item: &Value, draft: &mut Draft) {
    for key in ["summary", "content"] {
        for (index, part) in item[key].as_array().into_iter().flatten().enumerate() {
            let between = if index > 0 { "\n\n" } else { "" };
            draft.add(slot, between);
            draft.add(slot, part["text"].as_str().unwrap_or_default());
        }
        if !draft.words(slot).is_empty() {
            break;
        }
    }
}

/// Whether arguments are the same, however they are written.
fn is_same(known: &Arguments, told: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into());
    match known {
        Arguments::Text(text) => value(text) == value(told),
        Arguments::Value(known) => *known == value(told),
    }
}

fn no_call() -> ModelError {
    ModelError::new(ErrorKind::Unreadable, "arguments came for a call that never began")
}

fn begin(response: &Value, draft: &mut Draft) {
    let text = |key: &str| response.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    (draft.id, draft.model) = (text("id"), text("model"));
    let usage = &response["usage"];
    let count = |usage: &Value, key: &str| usage.get(key).and_then(Value::as_u64);
    draft.used(|used| {
        used.input = count(usage, "input_tokens").unwrap_or(used.input);
        used.output = count(usage, "output_tokens").unwrap_or(used.output);
        used.cached = count(&usage["input_tokens_details"], "cached_tokens").unwrap_or(used.cached);
        used.thinking = count(&usage["output_tokens_details"], "reasoning_tokens").unwrap_or(used.thinking);
    });
}
