//! An answer that broke off, or was stopped: what of it the conversation keeps.

use haft_engine::Call;
use haft_model::{Assistant, Part, Said, StreamEvent};

/// What an answer has said so far: text, and calls that are complete.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    parts: Vec<Part>,
    text: String,
}

impl Partial {
    /// The API's own event, with its own ids.
    pub(crate) fn note(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Text(piece) => self.text.push_str(piece),
            StreamEvent::Call(call) => self.call(call.clone()),
            // Thoughts without their signature are nothing that an API takes back.
            _ => {}
        }
    }

    fn call(&mut self, call: Call) {
        self.end_text();
        self.parts.push(Part::new(Said::Call(call)));
    }

    fn end_text(&mut self) {
        // A text of blanks alone is refused by some APIs.
        if !self.text.trim().is_empty() {
            self.parts.push(Part::new(Said::Text(std::mem::take(&mut self.text))));
        }
        self.text.clear();
    }

    /// The message, if anything was said.
    pub(crate) fn message(mut self) -> Option<Assistant> {
        self.end_text();
        (!self.parts.is_empty()).then_some(Assistant { parts: self.parts })
    }
}
