//! What a server says, without the tokens that it was sent: one that repeats its requests must not show them to a model.

use std::sync::Arc;

use serde_json::Value;

use super::{Inbox, RequestId};
use crate::client::{Refused, Tokens};

/// An inbox before which tokens are taken out.
pub(crate) struct Hiding {
    inbox: Arc<dyn Inbox>,
    tokens: Arc<dyn Tokens>,
}

/// The inbox, behind one that takes tokens out if there are any.
pub(crate) fn hiding(inbox: Arc<dyn Inbox>, tokens: Option<&Arc<dyn Tokens>>) -> Arc<dyn Inbox> {
    match tokens {
        Some(tokens) => Arc::new(Hiding { inbox, tokens: Arc::clone(tokens) }),
        None => inbox,
    }
}

impl Inbox for Hiding {
    fn arrived(&self, mut message: Value, within: Option<RequestId>) {
        self.clean(&mut message);
        self.inbox.arrived(message, within);
    }

    fn lost(&self, id: Option<RequestId>, mut why: Refused) {
        self.tokens.hide(&mut why.message);
        why.data.iter_mut().for_each(|data| self.clean(data));
        self.inbox.lost(id, why);
    }

    fn ended(&self, mut why: String) {
        self.tokens.hide(&mut why);
        self.inbox.ended(why);
    }

    fn alive(&self) {
        self.inbox.alive();
    }
}

impl Hiding {
    /// Values were parsed, so they are no deeper than parsers go.
    fn clean(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.tokens.hide(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.clean(value)),
            _ => {}
        }
    }
}
