//! What was typed before: in this run, and in runs before it.
//!
//! Kept in the state directory, a line of JSON each, without the secrets that haft knows.

use std::{
    collections::BTreeMap,
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
    /// Lines that were shown and changed.
    changed: BTreeMap<usize, String>,
}

impl History {
    pub(super) fn of(lines: Vec<String>) -> History {
        History { lines, ..History::default() }
    }

    pub(super) fn add(&mut self, line: &str) {
        (self.at, self.draft) = (None, String::new());
        self.changed.clear();
        if self.lines.last().is_none_or(|last| last != line) {
            self.lines.push(line.to_owned());
        }
        self.lines.drain(..self.lines.len().saturating_sub(MOST));
    }

    /// The line before the one that is shown.
    pub(super) fn back(&mut self, typed: &str) -> Option<&str> {
        let at = self.at.unwrap_or(self.lines.len()).checked_sub(1)?;
        self.leave(typed);
        self.at = Some(at);
        self.line(at)
    }

    /// The line after it, and at the end what was being typed.
    pub(super) fn forth(&mut self, typed: &str) -> Option<&str> {
        let Some(at) = self.at else {
            return (typed.is_empty() && !self.draft.is_empty()).then_some(self.draft.as_str());
        };
        self.leave(typed);
        self.at = Some(at + 1).filter(|next| *next < self.lines.len());
        self.at.map_or(Some(self.draft.as_str()), |at| self.line(at))
    }

    /// What is typed was cleared: the way back begins at the end again. What was being typed first can still be brought back.
    pub(super) fn clear(&mut self, typed: &str) {
        if self.at.take().is_none() && !typed.is_empty() {
            typed.clone_into(&mut self.draft);
        }
        self.changed.clear();
    }

    /// The newest line before this one that has these words in it, and its number.
    pub(super) fn find(&self, words: &str, before: Option<usize>) -> Option<(usize, &str)> {
        let lines = self.lines.iter().enumerate().take(before.unwrap_or(self.lines.len()));
        lines.rev().find(|(_, line)| line.contains(words)).map(|(at, line)| (at, line.as_str()))
    }

    fn leave(&mut self, typed: &str) {
        match self.at {
            // An empty line is no reason to forget what was cleared.
            None if !typed.is_empty() => typed.clone_into(&mut self.draft),
            None => {}
            Some(at) if self.line(at) != Some(typed) => drop(self.changed.insert(at, typed.to_owned())),
            Some(_) => {}
        }
    }

    fn line(&self, at: usize) -> Option<&str> {
        self.changed.get(&at).or_else(|| self.lines.get(at)).map(String::as_str)
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
        assert_eq!(history.back("two"), Some("one"));
        assert_eq!(history.back("one"), None);
        assert_eq!(history.forth("one"), Some("two"));
        assert_eq!(history.forth("two"), Some("dra"));
        assert_eq!(history.forth("dra"), None);
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
