//! Values with strings in them.

use serde_json::Value;

use crate::{
    Redactor,
    found::{Found, MARK, PASSWORD, SECRET},
    names::{self, Weight},
    value::{self, Written},
};

/// Deeper than this a value is not looked into, but taken out: nothing that is hidden may hide there.
const DEEPEST: usize = 256;

impl Redactor {
    /// Takes secrets out of all strings of a value, and what a field's name calls a secret:
    /// `{"password": "…"}`.
    pub fn redact_json(&self, value: &mut Value) -> Found {
        let mut found = Found::default();
        self.inside(value, None, 0, &mut found);
        found
    }

    fn inside(&self, value: &mut Value, weight: Option<Weight>, depth: usize, found: &mut Found) {
        match value {
            Value::String(text) => self.string(text, weight, found),
            Value::Array(_) | Value::Object(_) if depth == DEEPEST => {
                *value = Value::from("[too deep to look into]")
            }
            Value::Array(items) => {
                items.iter_mut().for_each(|item| self.inside(item, weight, depth + 1, found))
            }
            Value::Object(fields) => {
                for (name, value) in fields.iter_mut() {
                    self.inside(value, names::weigh(name), depth + 1, found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn string(&self, text: &mut String, weight: Option<Weight>, found: &mut Found) {
        let written = Written { is_quoted: true, is_setting: true };
        let redacted = self.redact(text);
        found.add(&redacted.found);
        let by_name = weight.filter(|weight| value::is_secret(text.as_bytes(), *weight, written));
        *text = match (redacted.found.is_empty(), by_name) {
            (true, None) => return,
            (false, _) => redacted.text.into_owned(),
            (true, Some(weight)) => {
                let kind = if weight == Weight::Password { PASSWORD } else { SECRET };
                found.note(kind);
                format!("{MARK}{kind}]")
            }
        };
    }
}
