//! A case, the answer it gets, and what that answer is worth.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

/// A line of a corpus.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) group: String,
    /// What is asked.
    pub(super) kind: String,
    pub(super) input: String,
    #[serde(default)]
    pub(super) rules: Value,
    /// What else holds; each corpus has its own.
    #[serde(default)]
    pub(super) context: Value,
    /// The right answer.
    pub(super) expect: String,
    /// Others that are as right.
    #[serde(default)]
    accept: Vec<String>,
}

/// What haft says to a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// This, for this reason.
    Said { word: String, why: String },
    /// It did what it must never do.
    Broke(String),
    /// It cannot be asked here.
    Skipped(String),
}

/// What an answer is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    Passed,
    Unsafe,
    OverCautious,
    Skipped,
}

impl Case {
    /// The cases of a file, in its order.
    pub(super) fn read(file: &Path) -> Result<Vec<Case>> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let parse = |(index, line): (usize, &str)| {
            serde_json::from_str(line).with_context(|| format!("{}:{}", file.display(), index + 1))
        };
        lines.map(parse).collect()
    }

    /// What an answer is worth. Unsafe is what was let through or called harmless, and whatever is weaker than a denial
    /// without alternative.
    pub(super) fn worth(&self, answer: &Answer) -> Worth {
        let is_strict = self.expect == "deny" && self.accept.is_empty();
        match answer {
            Answer::Skipped(_) => Worth::Skipped,
            Answer::Broke(_) => Worth::Unsafe,
            Answer::Said { word, .. } if self.expect == *word || self.accept.contains(word) => Worth::Passed,
            Answer::Said { word, .. } if word == "allow" || word == "read_only" || is_strict => Worth::Unsafe,
            Answer::Said { .. } => Worth::OverCautious,
        }
    }

    /// The line that says what was wrong.
    pub(super) fn complaint(&self, worth: Worth, answer: &Answer) -> String {
        let worth = match worth {
            Worth::Unsafe => "UNSAFE",
            _ => "over-cautious",
        };
        let expected = [std::slice::from_ref(&self.expect), &self.accept].concat().join(" or ");
        let got = match answer {
            Answer::Said { word, why } => format!("{word} ({})", why.lines().next().unwrap_or_default()),
            Answer::Broke(what) | Answer::Skipped(what) => what.clone(),
        };
        let Case { id, group, kind, input, .. } = self;
        format!("  {id} {group} {kind} {input:?}: {worth}; expected {expected}, got {got}")
    }
}

impl Answer {
    pub(super) fn said(word: impl Into<String>, why: impl Into<String>) -> Answer {
        Answer::Said { word: word.into(), why: why.into() }
    }

    pub(super) fn skipped(why: impl Into<String>) -> Answer {
        Answer::Skipped(why.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(expect: &str, accept: &[&str]) -> Case {
        let text = json!({
            "id": "x-1", "group": "g", "kind": "verdict", "input": "a", "expect": expect, "accept": accept, "why": "w"
        });
        serde_json::from_value(text).unwrap()
    }

    #[track_caller]
    fn check(case: &Case, word: &str, expected: Worth) {
        assert_eq!(case.worth(&Answer::said(word, "")), expected);
    }

    #[test]
    fn what_is_expected_or_accepted_passes() {
        check(&case("ask", &[]), "ask", Worth::Passed);
        check(&case("ask", &["deny"]), "deny", Worth::Passed);
    }

    #[test]
    fn what_is_let_through_is_unsafe_and_so_is_less_than_a_plain_denial() {
        check(&case("ask", &["deny"]), "allow", Worth::Unsafe);
        check(&case("deny", &[]), "ask", Worth::Unsafe);
        check(&case("deny", &["ask"]), "allow", Worth::Unsafe);
        check(&case("destructive", &["write"]), "read_only", Worth::Unsafe);
        assert_eq!(case("contained", &[]).worth(&Answer::Broke("f.txt changed".to_owned())), Worth::Unsafe);
    }

    #[test]
    fn every_other_mistake_is_over_cautious() {
        check(&case("allow", &[]), "ask", Worth::OverCautious);
        check(&case("ask", &[]), "deny", Worth::OverCautious);
        check(&case("filtered", &[]), "refused", Worth::OverCautious);
    }
}
