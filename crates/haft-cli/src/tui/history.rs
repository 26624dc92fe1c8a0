//! What was typed before: in this run, and in runs before it.
//!
//! Kept in the state directory, a line of JSON each, without the secrets that haft knows.

use std::{
    io,
    path::{Path, PathBuf},
};

use haft_redact::Redactor;

use crate::kept;

/// So many are kept.
const MOST: usize = 500;
/// What is longer was pasted, and is not kept.
const LONGEST: usize = 8 * 1024;

/// Lines that were typed, the newest last.
#[derive(Debug, Default)]
pub(super) struct History {
    lines: Vec<String>,
    /// The one that is shown.
    at: Option<usize>,
    /// What was being typed before one was shown.
    draft: String,
}

impl History {
    pub(super) fn of(lines: Vec<String>) -> History {
        History { lines, ..History::default() }
    }

    pub(super) fn add(&mut self, line: &str) {
        self.at = None;
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
        self.lines.drain(..self.lines.len().saturating_sub(MOST));
    }

    /// The line before the one that is shown.
    pub(super) fn back(&mut self, typed: &str) -> Option<&str> {
        let at = match self.at {
            None => {
                typed.clone_into(&mut self.draft);
                self.lines.len()
            }
            Some(at) => at,
        };
        self.at = Some(at.checked_sub(1)?);
        self.lines.get(at - 1).map(String::as_str)
    }

    /// The line after it, and at the end what was being typed.
    pub(super) fn forth(&mut self) -> Option<&str> {
        let at = self.at? + 1;
        self.at = (at < self.lines.len()).then_some(at);
        Some(self.at.map_or(self.draft.as_str(), |at| &self.lines[at]))
    }
}

/// Where the lines are kept.
#[derive(Debug, Clone)]
pub(super) struct Kept(PathBuf);

impl Kept {
    pub(super) fn at(state: &Path) -> Kept {
        Kept(state.join("typed.jsonl"))
    }

    /// Those of before. What cannot be read is not there: it only saves typing.
    pub(super) fn lines(&self) -> Vec<String> {
        let bytes = kept::read(&self.0).ok().flatten().unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Adds a line to those that other runs may have added meanwhile.
    pub(super) fn add(&self, line: &str, redactor: Option<&Redactor>) -> io::Result<()> {
        let line =
            redactor.map_or_else(|| line.to_owned(), |redactor| redactor.redact(line).text.into_owned());
        if line.len() > LONGEST {
            return Ok(());
        }
        let _lock = kept::lock(&self.0.with_extension("lock"))?;
        let mut history = History::of(self.lines());
        history.add(&line);
        let mut text = String::new();
        for line in &history.lines {
            text.push_str(&serde_json::to_string(line)?);
            text.push('\n');
        }
        kept::replace(&self.0, text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_and_forth_ends_where_it_began() {
        let mut history = History::of(vec!["one".into(), "two".into()]);
        assert_eq!(history.back("dra"), Some("two"));
        assert_eq!(history.back(""), Some("one"));
        assert_eq!(history.back(""), None);
        assert_eq!(history.forth(), Some("two"));
        assert_eq!(history.forth(), Some("dra"));
        assert_eq!(history.forth(), None);
    }

    #[test]
    fn the_same_line_is_there_once_and_the_oldest_go() {
        let mut history = History::default();
        ["a", "a", "b"].iter().for_each(|line| history.add(line));
        assert_eq!(history.lines, ["a", "b"]);
        (0..2 * MOST).for_each(|number| history.add(&number.to_string()));
        assert_eq!(history.lines.len(), MOST);
    }

    #[test]
    fn lines_are_kept_for_the_next_run_without_secrets() {
        let directory = tempfile::tempdir().unwrap();
        let kept = Kept::at(directory.path());
        let redactor = Redactor::builder().secret("hunter2-hunter2").build();
        kept.add("two\nlines", Some(&redactor)).unwrap();
        kept.add("use hunter2-hunter2", Some(&redactor)).unwrap();
        kept.add(&"x".repeat(LONGEST + 1), None).unwrap();
        let lines = kept.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (2, "two\nlines"));
        assert!(!lines[1].contains("hunter2"), "{lines:?}");
    }
}
