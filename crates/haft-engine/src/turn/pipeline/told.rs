//! What is written down of a call before it runs: its input without secrets.
//!
//! The tool gets its input as the model wrote it, and so do those who judge it: hiding a part of a command from who permits
//! it would be worse than showing a secret. The journal and the events only say what was done. Nothing here costs anything
//! unless somebody listens.

use std::{borrow::Cow, sync::Arc};

use serde_json::Value;

use super::{CallCx, Prepared};

impl CallCx<'_> {
    /// The input for the journal and the events.
    pub(super) fn told_input(&self, prepared: &Prepared<'_>) -> Arc<Value> {
        let Some(redactor) = self.session.redactor() else { return prepared.input.clone() };
        let mut told = Value::clone(&prepared.input);
        let found = redactor.redact_json(&mut told);
        if found.is_empty() { prepared.input.clone() } else { Arc::new(told) }
    }

    /// A line about the call.
    pub(super) fn told_line(&self, line: String) -> String {
        let redacted = self.session.redactor().map(|redactor| redactor.redact(&line).text);
        match redacted {
            Some(Cow::Owned(clean)) => clean,
            _ => line,
        }
    }
}
