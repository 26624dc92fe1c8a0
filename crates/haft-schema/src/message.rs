//! The text for the model.
//!
//! The first time it names everything that is wrong and shows the smallest valid input. A model that then sends the
//! same again has not understood that text, so it gets another one: shorter sentences, and the whole list of keys.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    checker::Checker,
    document::{Alternatives, Document},
    violation::{NO_SUCH_KEY, Violations},
    words,
};

/// Keys that are listed with their types.
const MAX_KEYS: usize = 30;

/// A longer example would be more text to read than the problem is worth.
const MAX_EXAMPLE_BYTES: usize = 1_000;

/// The whole text, whatever the schema and the input are.
const MAX_CHARS: usize = 3_500;

impl Violations {
    /// The text for the model. `attempt` is how often in a row this very failure was given already: 0 the first time.
    pub fn message(&self, tool: &str, checker: &Checker, attempt: u32) -> String {
        let tool = words::cut(tool, 100);
        let (body, room) = match attempt {
            0 => (format!("{tool}: the input is not valid. Nothing was run.\n{self}"), MAX_CHARS),
            _ => (self.sharper(&tool, checker.document(), attempt), MAX_CHARS),
        };
        let mut text = words::cut(&body, room);
        if let Some(example) = short_example(checker) {
            let lead =
                if attempt == 0 { "The smallest valid input:" } else { "Copy this and change the values:" };
            text = words::cut(&body, room - example.chars().count());
            let _ = write!(text, "\n{lead} {example}");
        }
        text
    }

    fn sharper(&self, tool: &str, document: &Document, attempt: u32) -> String {
        let times = attempt.saturating_add(1);
        let mut text = format!(
            "{tool}: the same input failed again ({times} times now). Do not repeat it; change this:"
        );
        for violation in self.list.iter().take(5) {
            let what = if violation.path.is_empty() { "the input" } else { &violation.path };
            match (violation.expected.as_str(), &violation.hint) {
                (NO_SUCH_KEY, Some(hint)) => write!(text, "\n- remove `{what}`: {hint}"),
                (NO_SUCH_KEY, None) => write!(text, "\n- remove `{what}`"),
                (expected, _) => write!(text, "\n- `{what}` must be {expected}"),
            }
            .ok();
        }
        push_keys(&mut text, document, "", document.root());
        if let Some((path, node)) = self.nested.as_ref().and_then(|(path, at)| Some((path, document.at(at)?)))
        {
            push_keys(&mut text, document, path, node);
        }
        text
    }
}

/// Every key, its type, and whether it is required.
fn push_keys(text: &mut String, document: &Document, path: &str, node: &Value) {
    let keys = document.keys(node);
    if keys.is_empty() {
        return;
    }
    let place = if path.is_empty() { String::new() } else { format!(" of `{path}`") };
    let _ = write!(text, "\nThe keys{place}, and no others:");
    let required = document.required(node, Alternatives::None);
    for (name, schema) in keys.iter().take(MAX_KEYS) {
        let need = if required.contains(name) { "required" } else { "optional" };
        let _ = write!(text, "\n- `{}` ({need}): {}", words::cut(name, 60), words::schema(document, schema));
    }
    if keys.len() > MAX_KEYS {
        let _ = write!(text, "\n- and {} more", keys.len() - MAX_KEYS);
    }
}

fn short_example(checker: &Checker) -> Option<String> {
    checker.example().map(|example| example.to_string()).filter(|text| text.len() <= MAX_EXAMPLE_BYTES)
}
