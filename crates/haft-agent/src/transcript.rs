//! What was said, kept for later: the trait only.
//!
//! The engine's journal has calls and results. A conversation is more than that, and a process that is killed must be able to
//! go on with it. So every message is handed over when it joins the conversation; a message of the model before any call of
//! it that changes something starts. Where lines are kept is somebody else's affair.

use std::{borrow::Cow, io};

use haft_model::Message;
use haft_redact::Redactor;
use haft_tool::{Block, BoxFuture, CallId};
use serde_json::Value;

/// Keeps what was said. Nothing that it is given holds a secret, as far as the engine's redactor knows them.
pub trait Transcript: Send + Sync {
    /// Keeps a line after those before it. Returns when no call that starts from now on can be on a disk before it.
    fn keep<'a>(&'a self, line: Line<'a>) -> BoxFuture<'a, io::Result<()>>;
}

/// Something that changes a conversation.
#[derive(Debug, Clone, Copy)]
pub enum Line<'a> {
    /// This joined it.
    Said {
        /// What.
        message: &'a Message,
        /// By which ids the engine knows the calls in it, in their order.
        calls: &'a [CallId],
        /// The calls whose arguments hold secrets and are not those that the model wrote.
        hidden: &'a [CallId],
    },
    /// It was made shorter, and is this now.
    Rewritten(&'a [Message]),
}

/// A message as it may be kept, and which of its calls are not what they were.
pub(crate) fn presentable<'a>(
    message: &'a Message,
    calls: &[CallId],
    redactor: Option<&Redactor>,
) -> (Cow<'a, Message>, Vec<CallId>) {
    let as_it_is = (Cow::Borrowed(message), Vec::new());
    let Some(redactor) = redactor else { return as_it_is };
    match message {
        // Results have no secrets from the beginning.
        Message::Results(_) => as_it_is,
        Message::User(blocks) => {
            let hide = |block: &Block| match block {
                Block::Text(text) => Block::Text(redactor.redact(text).text.into_owned()),
                other => other.clone(),
            };
            (Cow::Owned(Message::User(blocks.iter().map(hide).collect())), Vec::new())
        }
        Message::Assistant(said) => {
            // What a message is made of is its API's affair: only its saved form shows all of it.
            let Ok(mut saved) = serde_json::to_value(said) else { return as_it_is };
            let hidden = hide_in_parts(&mut saved, calls, redactor);
            match serde_json::from_value(saved) {
                Ok(said) => (Cow::Owned(Message::Assistant(said)), hidden),
                Err(_) => as_it_is,
            }
        }
    }
}

/// Takes secrets out of the parts of a message. What its API wants back word for word is dropped where it would have to be
/// changed: half a signature is none.
fn hide_in_parts(saved: &mut Value, calls: &[CallId], redactor: &Redactor) -> Vec<CallId> {
    let (mut hidden, mut place) = (Vec::new(), 0);
    for part in saved["parts"].as_array_mut().into_iter().flatten() {
        let is_call = part["said"].get("call").is_some();
        let said = !redactor.redact_json(&mut part["said"]).is_empty();
        let kept = part.pointer("/kept/json").and_then(Value::as_str);
        if said || kept.is_some_and(|kept| !redactor.redact(kept).found.is_empty()) {
            part.as_object_mut().map(|part| part.remove("kept"));
        }
        if is_call {
            if let Some(id) = calls.get(place).filter(|_| said) {
                hidden.push(id.clone());
            }
            place += 1;
        }
    }
    hidden
}
