//! A result without its secrets.
//!
//! Whatever a tool, a server or a command gave is looked through before anybody gets it, so that neither the model nor
//! the events, the journal or the file of a large result holds a secret. The model is told that something is missing.

use std::{
    borrow::Cow,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use haft_redact::{Found, Fragments, Redactor, Stream};
use haft_tool::{Action, Block, Hidden, View};
use serde_json::Value;

use super::ToolResult;

/// The secrets in the files that a call has looked at. A tool may quote a few characters of a file, or one line of many,
/// which by themselves look like nothing: no part of what is hidden in the whole is told.
#[derive(Default)]
pub(crate) struct FileSecrets(Mutex<Fragments>);

impl FileSecrets {
    /// Where the secrets stand in a file's text, which are known from now on.
    pub(crate) fn find(&self, redactor: &Redactor, text: &str) -> Vec<Hidden> {
        let found = redactor.hidden_ranges(text);
        if !found.is_empty() {
            let mut fragments = self.fragments();
            found.iter().for_each(|(range, _)| fragments.add(&text[range.clone()]));
        }
        found.into_iter().map(|(range, mark)| Hidden { range, mark }).collect()
    }

    /// Takes the parts of secrets out of words about the files.
    pub(crate) fn hide(&self, text: &mut String, found: &mut Found) {
        if let Cow::Owned(hidden) = self.fragments().hide(text, found) {
            *text = hidden;
        }
    }

    /// The same with what is drawn.
    pub(crate) fn hide_in_view(&self, view: &mut View) {
        let cleaner = Cleaner { redactor: None, fragments: self.fragments() };
        cleaner.view(view, &mut Found::default());
    }

    fn fragments(&self) -> MutexGuard<'_, Fragments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the secrets out of a result, and says so in it.
pub(crate) fn redact(redactor: &Redactor, secrets: &FileSecrets, result: &mut ToolResult) {
    let cleaner = Cleaner { redactor: Some(redactor), fragments: secrets.fragments() };
    let mut found = Found::default();
    result.blocks.iter_mut().for_each(|block| cleaner.block(block, &mut found));
    // What the model reads is told to it; the rest repeats it in other forms.
    let told = found.clone();
    result.observation.iter_mut().for_each(|text| cleaner.text(text, &mut found));
    result.messages.iter_mut().for_each(|text| cleaner.text(text, &mut found));
    result.actions.iter_mut().for_each(|action| cleaner.action(action, &mut found));
    result.data.iter_mut().for_each(|data| cleaner.json(data, &mut found));
    result.view.iter_mut().for_each(|view| cleaner.view(view, &mut found));
    result.meta.notes.iter_mut().for_each(|(_, note)| cleaner.json(note, &mut found));
    drop(cleaner);
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

/// What is taken out of every part of a result: what looks like a secret, and what is a part of one.
struct Cleaner<'a> {
    redactor: Option<&'a Redactor>,
    fragments: MutexGuard<'a, Fragments>,
}

impl Cleaner<'_> {
    fn text(&self, text: &mut String, found: &mut Found) {
        if let Some(redactor) = self.redactor {
            let redacted = redactor.redact(text);
            if !redacted.found.is_empty() {
                found.add(&redacted.found);
                *text = redacted.text.into_owned();
            }
        }
        if let Cow::Owned(hidden) = self.fragments.hide(text, found) {
            *text = hidden;
        }
    }

    fn block(&self, block: &mut Block, found: &mut Found) {
        match block {
            Block::Text(text) => self.text(text, found),
            Block::Link { uri, name, .. } => [uri, name].into_iter().for_each(|text| self.text(text, found)),
            _ => {}
        }
    }

    fn action(&self, action: &mut Action, found: &mut Found) {
        self.json(&mut action.input, found);
        self.text(&mut action.why, found);
    }

    fn view(&self, view: &mut View, found: &mut Found) {
        match view {
            View::Text(text) | View::Code { text, .. } => self.text(text, found),
            View::Diff { unified, .. } => self.text(unified, found),
            View::List(views) => views.iter_mut().for_each(|view| self.view(view, found)),
            View::Fields(fields) => {
                fields.iter_mut().for_each(|(name, value)| self.field(name, value, found))
            }
            View::Image { caption, .. } => self.text(caption, found),
            View::Progress { label, .. } => self.text(label, found),
        }
    }

    /// A field is judged by its name, too.
    fn field(&self, name: &str, value: &mut String, found: &mut Found) {
        let mut field = serde_json::json!({ name: std::mem::take(value) });
        self.json(&mut field, found);
        if let Some(Value::String(text)) = field.get_mut(name).map(Value::take) {
            *value = text;
        }
    }

    fn json(&self, value: &mut Value, found: &mut Found) {
        if let Some(redactor) = self.redactor {
            found.add(&redactor.redact_json(value));
        }
        if !self.fragments.is_empty() {
            self.parts_in_json(value, found);
        }
    }

    /// Deeper than this nothing is left: the redactor took it out.
    fn parts_in_json(&self, value: &mut Value, found: &mut Found) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.fragments.hide(text, found) {
                    *text = hidden;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.parts_in_json(item, found)),
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(_, value)| self.parts_in_json(value, found))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
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
