//! What the model is told first: one file, where it is, and what the caller and the project add.
//!
//! It is the beginning of every request, so it does not change while a conversation lasts.

use haft_tool::{SessionFacts, shown};

/// haft's own words.
const WORDS: &str = include_str!("system.md");

/// All of it.
pub(crate) fn prompt(facts: &SessionFacts, additions: &[String], notes: Option<&str>) -> String {
    let mut text = format!("{WORDS}\nThe workspace is {}", shown(&facts.workspace));
    if facts.cwd != facts.workspace {
        text += &format!("; relative paths begin at {}", shown(&facts.cwd));
    }
    text += &format!(". The system is {}.\n", std::env::consts::OS);
    for addition in additions {
        text += &format!("\n{}\n", addition.trim());
    }
    if let Some(notes) = notes {
        text += &format!("\n{notes}\n");
    }
    text
}
