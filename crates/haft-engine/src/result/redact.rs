//! A result without its secrets.
//!
//! Whatever a tool, a server or a command gave is looked through before anybody gets it, so that neither the model nor
//! the events, the journal or the file of a large result holds a secret. The model is told that something is missing.

use std::{
    io::{self, Write},
    sync::Arc,
};

use haft_redact::{Found, Redactor, Stream};
use haft_tool::{Action, Block, View};
use serde_json::Value;

use super::ToolResult;

/// Takes the secrets out of a result, and says so in it.
pub(crate) fn redact(redactor: &Redactor, result: &mut ToolResult) {
    let mut found = Found::default();
    result.blocks.iter_mut().for_each(|block| in_block(redactor, block, &mut found));
    // What the model reads is told to it; the rest repeats it in other forms.
    let told = found.clone();
    result.observation.iter_mut().for_each(|text| in_text(redactor, text, &mut found));
    result.messages.iter_mut().for_each(|text| in_text(redactor, text, &mut found));
    result.actions.iter_mut().for_each(|action| in_action(redactor, action, &mut found));
    result.data.iter_mut().for_each(|data| found.add(&redactor.redact_json(data)));
    result.view.iter_mut().for_each(|view| in_view(redactor, view, &mut found));
    result.meta.notes.iter_mut().for_each(|(_, note)| found.add(&redactor.redact_json(note)));
    if !found.is_empty() {
        result.meta.notes.insert("redacted".to_owned(), found.kinds().map(Value::from).collect());
    }
    if !told.is_empty() {
        tell(result, &told);
    }
}

/// One line behind the text: the model must not take the replacement for what is there.
fn tell(result: &mut ToolResult, found: &Found) {
    let (count, kinds) = (found.count(), found.kinds().collect::<Vec<_>>().join(", "));
    let (what, verb) = if count == 1 { ("secret", "is") } else { ("secrets", "are") };
    let line = format!("[{count} {what} {verb} hidden above ({kinds}); what was read stays as it is]");
    match result.blocks.iter_mut().rev().find_map(text_of) {
        Some(text) => {
            if !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&line);
        }
        None => result.blocks.push(Block::Text(line)),
    }
}

fn text_of(block: &mut Block) -> Option<&mut String> {
    match block {
        Block::Text(text) => Some(text),
        _ => None,
    }
}

fn in_text(redactor: &Redactor, text: &mut String, found: &mut Found) {
    let redacted = redactor.redact(text);
    if !redacted.found.is_empty() {
        found.add(&redacted.found);
        *text = redacted.text.into_owned();
    }
}

fn in_block(redactor: &Redactor, block: &mut Block, found: &mut Found) {
    match block {
        Block::Text(text) => in_text(redactor, text, found),
        Block::Link { uri, name, .. } => {
            [uri, name].into_iter().for_each(|text| in_text(redactor, text, found))
        }
        _ => {}
    }
}

fn in_action(redactor: &Redactor, action: &mut Action, found: &mut Found) {
    found.add(&redactor.redact_json(&mut action.input));
    in_text(redactor, &mut action.why, found);
}

fn in_view(redactor: &Redactor, view: &mut View, found: &mut Found) {
    match view {
        View::Text(text) | View::Code { text, .. } => in_text(redactor, text, found),
        View::Diff { unified, .. } => in_text(redactor, unified, found),
        View::List(views) => views.iter_mut().for_each(|view| in_view(redactor, view, found)),
        View::Fields(fields) => {
            fields.iter_mut().for_each(|(name, value)| in_field(redactor, name, value, found))
        }
        View::Image { caption, .. } => in_text(redactor, caption, found),
        View::Progress { label, .. } => in_text(redactor, label, found),
    }
}

/// A field is judged by its name, too.
fn in_field(redactor: &Redactor, name: &str, value: &mut String, found: &mut Found) {
    let mut field = serde_json::json!({ name: std::mem::take(value) });
    found.add(&redactor.redact_json(&mut field));
    if let Some(Value::String(text)) = field.get_mut(name).map(Value::take) {
        *value = text;
    }
}

/// Keeps a text that comes in pieces, without its secrets.
pub(crate) struct RedactedWriter {
    stream: Stream,
    to: Box<dyn Write + Send>,
    clean: Vec<u8>,
}

impl RedactedWriter {
    pub(crate) fn new(redactor: Arc<Redactor>, to: Box<dyn Write + Send>) -> RedactedWriter {
        RedactedWriter { stream: Stream::new(redactor), to, clean: Vec::new() }
    }
}

impl Write for RedactedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.push_bytes(bytes, &mut self.clean);
        self.to.write_all(&self.clean)?;
        self.clean.clear();
        Ok(bytes.len())
    }

    /// What is kept back stays: a secret may go on in the next piece.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// The last line has no end that would have let it out.
impl Drop for RedactedWriter {
    fn drop(&mut self) {
        self.stream.finish_bytes(&mut self.clean);
        // Nobody is left who could be told.
        let _ = self.to.write_all(&self.clean).and_then(|()| self.to.flush());
    }
}
