//! The message that a stream is writing.
//!
//! The same for every API: a reader of one says what begins, goes on and ends, and this keeps the parts in order, gives
//! each call one id of its own, and tells what happened as events.

use std::collections::HashSet;

use haft_engine::turn::{Arguments, Call};
use haft_tool::CallId;

use super::{Ending, Response, Stop, StreamEvent, Usage};
use crate::{
    Dialect, ErrorKind, ModelError,
    conversation::{Assistant, Part, Said},
};

/// More parts than this are no message.
pub(crate) const MOST_PARTS: usize = 4_096;

/// A part of the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Slot(usize);

/// See the module.
#[derive(Debug)]
pub(crate) struct Draft {
    dialect: Dialect,
    /// What made ids have in common: no other message has it.
    salt: u64,
    parts: Vec<Writing>,
    /// Of the parts before this one, every call has been told.
    told: usize,
    ids: HashSet<CallId>,
    events: Vec<StreamEvent>,
    usage: Usage,
    pub(crate) stop: Option<Stop>,
    pub(crate) model: String,
    pub(crate) id: String,
}

#[derive(Debug)]
struct Writing {
    said: Said,
    kept: Option<String>,
    call: Option<OpenCall>,
}

/// A call whose arguments still come.
#[derive(Debug, Default)]
struct OpenCall {
    arguments: String,
    ending: Ending,
    is_told: bool,
}

impl Draft {
    pub(super) fn new(dialect: Dialect, salt: u64) -> Draft {
        Draft {
            dialect,
            salt,
            parts: Vec::new(),
            told: 0,
            ids: HashSet::new(),
            events: Vec::new(),
            usage: Usage::default(),
            stop: None,
            model: String::new(),
            id: String::new(),
        }
    }

    /// Refuses a second message within the first: a proxy asked again in the middle of an answer, and the two do not fit together.
    ///
    /// # Errors
    /// The id is another one than that of the message that is being written, and something of that has come already.
    pub(crate) fn same_message(&self, id: &serde_json::Value) -> Result<(), ModelError> {
        let id = id.as_str().unwrap_or_default();
        if self.parts.is_empty() || self.id.is_empty() || id.is_empty() || id == self.id {
            return Ok(());
        }
        let why = "the server began another message before the first one was complete";
        Err(ModelError::new(ErrorKind::CutOff, why))
    }

    /// A new part.
    pub(crate) fn begin(&mut self, said: Said) -> Result<Slot, ModelError> {
        if self.parts.len() >= MOST_PARTS {
            return Err(too_many_parts());
        }
        self.parts.push(Writing { said, kept: None, call: None });
        Ok(Slot(self.parts.len() - 1))
    }

    /// More text for the last part if it is one of text, else for a new one.
    pub(crate) fn text(&mut self, piece: &str) -> Result<(), ModelError> {
        if piece.is_empty() {
            return Ok(());
        }
        let slot = match self.parts.last() {
            Some(Writing { said: Said::Text(_), kept: None, .. }) => Slot(self.parts.len() - 1),
            _ => self.begin(Said::Text(String::new()))?,
        };
        self.add(slot, piece);
        Ok(())
    }

    /// The same for thoughts.
    pub(crate) fn thinking(&mut self, piece: &str) -> Result<(), ModelError> {
        if piece.is_empty() {
            return Ok(());
        }
        let slot = match self.parts.last() {
            Some(Writing { said: Said::Thinking(_), kept: None, .. }) => Slot(self.parts.len() - 1),
            _ => self.begin(Said::Thinking(String::new()))?,
        };
        self.add(slot, piece);
        Ok(())
    }

    /// More of a part of text or thoughts.
    pub(crate) fn add(&mut self, slot: Slot, piece: &str) {
        if piece.is_empty() {
            return;
        }
        match &mut self.parts[slot.0].said {
            Said::Text(text) => {
                text.push_str(piece);
                self.events.push(StreamEvent::Text(piece.to_owned()));
            }
            Said::Thinking(text) => {
                text.push_str(piece);
                self.events.push(StreamEvent::Thinking(piece.to_owned()));
            }
            Said::Call(_) | Said::Other(_) => {}
        }
    }

    /// A call begins. An id that is missing, or that an earlier call has, is made up.
    pub(crate) fn open(&mut self, id: &str, name: &str) -> Result<Slot, ModelError> {
        let id = match id {
            id if !id.is_empty() && !self.ids.contains(&CallId::from(id)) => CallId::from(id),
            _ => CallId::from(format!("call_{}_{}", self.salt, self.ids.len())),
        };
        self.ids.insert(id.clone());
        let slot = self.begin(Said::Call(Call::new(id, name, String::new())))?;
        self.parts[slot.0].call = Some(OpenCall::default());
        self.tell_opened(slot);
        Ok(slot)
    }

    /// More of a call's name. Some servers send it in pieces, more send it again and again.
    pub(crate) fn name(&mut self, slot: Slot, piece: &str) {
        let part = &mut self.parts[slot.0];
        let (Said::Call(call), Some(open)) = (&mut part.said, &part.call) else { return };
        if open.arguments.is_empty() && call.name != piece {
            call.name.push_str(piece);
            self.tell_opened(slot);
        }
    }

    /// Told when there is a name to tell, once.
    fn tell_opened(&mut self, slot: Slot) {
        let part = &mut self.parts[slot.0];
        let (Said::Call(call), Some(open)) = (&part.said, &mut part.call) else { return };
        if !call.name.is_empty() && !open.is_told {
            open.is_told = true;
            self.events.push(StreamEvent::CallOpened { id: call.id.clone(), name: call.name.clone() });
        }
    }

    /// More of a call's arguments. Where `may_end`, the call is complete with its object: what follows is not its own.
    pub(crate) fn arguments(&mut self, slot: Slot, piece: &str, may_end: bool) {
        let part = &mut self.parts[slot.0];
        let (Said::Call(call), Some(open)) = (&part.said, &mut part.call) else { return };
        if piece.is_empty() {
            return;
        }
        if is_empty_object(&open.arguments) {
            (open.arguments, open.ending) = (String::new(), Ending::default());
        }
        let end = open.ending.push(piece).filter(|_| may_end);
        let piece = &piece[..end.unwrap_or(piece.len())];
        open.arguments.push_str(piece);
        self.events.push(StreamEvent::CallArguments { id: call.id.clone(), piece: piece.to_owned() });
        if end.is_some() {
            self.close(slot);
        }
    }

    /// Whether a call has been given any arguments.
    pub(crate) fn has_arguments(&self, slot: Slot) -> bool {
        self.parts[slot.0].call.as_ref().is_none_or(|open| !open.arguments.is_empty())
    }

    /// Whether a call has all of its arguments, as far as they tell.
    pub(crate) fn is_full(&self, slot: Slot) -> bool {
        self.parts[slot.0].call.as_ref().is_none_or(|open| is_empty_object(&open.arguments))
    }

    /// A call is complete. It is told when those before it are: the order of calls is the model's.
    pub(crate) fn close(&mut self, slot: Slot) {
        let part = &mut self.parts[slot.0];
        let (Said::Call(call), Some(open)) = (&mut part.said, part.call.take()) else { return };
        call.input = match open.arguments.trim().is_empty() {
            true => Arguments::Text("{}".to_owned()),
            false => Arguments::Text(open.arguments),
        };
        if !open.is_told {
            self.events.push(StreamEvent::CallOpened { id: call.id.clone(), name: call.name.clone() });
        }
        self.tell_calls();
    }

    fn tell_calls(&mut self) {
        while let Some(part) = self.parts.get(self.told).filter(|part| part.call.is_none()) {
            if let Said::Call(call) = &part.said {
                self.events.push(StreamEvent::Call(call.clone()));
            }
            self.told += 1;
        }
    }

    /// All calls are complete.
    pub(crate) fn close_all(&mut self) {
        (0..self.parts.len()).for_each(|index| self.close(Slot(index)));
    }

    /// What the API wants back for a part, in place of what was said.
    pub(crate) fn keep(&mut self, slot: Slot, json: impl Into<String>) {
        self.parts[slot.0].kept = Some(json.into());
    }

    /// Whether a call has this id.
    pub(crate) fn has_id(&self, slot: Slot, id: &str) -> bool {
        matches!(&self.parts[slot.0].said, Said::Call(call) if call.id.as_str() == id)
    }

    /// The calls that are complete.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        let complete = self.parts.iter().filter(|part| part.call.is_none());
        complete.filter_map(|part| match &part.said {
            Said::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The words of a part; the name of a call.
    pub(crate) fn words(&self, slot: Slot) -> &str {
        match &self.parts[slot.0].said {
            Said::Text(words) | Said::Thinking(words) | Said::Other(words) => words,
            Said::Call(call) => &call.name,
        }
    }

    /// The first part of thoughts.
    pub(crate) fn first_thinking(&self) -> Option<Slot> {
        self.parts.iter().position(|part| matches!(part.said, Said::Thinking(_))).map(Slot)
    }

    /// All thoughts, one after the other.
    pub(crate) fn all_thinking(&self) -> String {
        let thoughts = self.parts.iter().filter_map(|part| match &part.said {
            Said::Thinking(words) => Some(words.as_str()),
            _ => None,
        });
        thoughts.collect()
    }

    /// What was used so far.
    pub(crate) fn used(&mut self, change: impl FnOnce(&mut Usage)) {
        let mut usage = self.usage;
        change(&mut usage);
        if usage != self.usage {
            self.usage = usage;
            self.events.push(StreamEvent::Usage(usage));
        }
    }

    /// What happened since it was last asked.
    pub(super) fn take_events(&mut self) -> Vec<StreamEvent> {
        std::mem::take(&mut self.events)
    }

    /// What was said so far of a message that will not be complete, with what the API wants back: words, thoughts, and the
    /// calls that were told and heard. What only the API understands may want something that has not come.
    pub(super) fn so_far(&self, is_heard: impl Fn(&CallId) -> bool) -> Assistant {
        let parts = self.parts.iter().enumerate().filter(|(place, part)| match &part.said {
            Said::Text(_) | Said::Thinking(_) => true,
            Said::Call(call) => *place < self.told && is_heard(&call.id),
            Said::Other(_) => false,
        });
        let part = |part: &Writing| match &part.kept {
            Some(json) => Part::kept(part.said.clone(), self.dialect, json.clone()),
            None => Part::new(part.said.clone()),
        };
        Assistant { parts: parts.map(|(_, writing)| part(writing)).collect() }
    }

    /// The message as it stands.
    pub(super) fn finish(&mut self) -> Response {
        self.close_all();
        let has_calls = !self.ids.is_empty();
        let stop = match (self.stop.take(), has_calls) {
            // Many servers say that the model has ended when it waits for results.
            (None | Some(Stop::End | Stop::Calls), true) => Stop::Calls,
            (None | Some(Stop::End | Stop::Calls), false) => Stop::End,
            (Some(stop), _) => stop,
        };
        let parts = std::mem::take(&mut self.parts).into_iter().map(|part| match part.kept {
            Some(json) => Part::kept(part.said, self.dialect, json),
            None => Part::new(part.said),
        });
        Response {
            message: Assistant { parts: parts.collect() },
            stop,
            usage: self.usage,
            model: std::mem::take(&mut self.model),
            id: std::mem::take(&mut self.id),
        }
    }
}

/// The answer is not read any further.
pub(crate) fn too_many_parts() -> ModelError {
    let why = format!("the answer has more than {MOST_PARTS} parts, the most that are read");
    ModelError::new(ErrorKind::Unreadable, why)
}

/// Some servers begin with an empty object and send the arguments after it.
fn is_empty_object(text: &str) -> bool {
    text.len() < 8 && text.trim().strip_prefix('{').is_some_and(|rest| rest.trim() == "}")
}
