//! The texts in a word whose whole is known only when it runs.
//!
//! `prog $DIR/.env`, `prog ${FILE:-.env}`, `prog $(echo .env)`: the path is known only when the line runs, but its literal parts
//! are held against rules that deny reading.

use crate::syntax::{CommandKind, Part, Script, Word};

/// No word has more that is looked at.
const MOST: usize = 64;

/// The texts in a word that has expansions; none for one that is plain.
pub(super) fn pieces(word: &Word) -> Vec<String> {
    let mut pieces = Pieces::default();
    pieces.parts(&word.parts);
    pieces.end();
    if pieces.has_expansions { pieces.done } else { Vec::new() }
}

#[derive(Default)]
struct Pieces {
    done: Vec<String>,
    text: String,
    /// Whether an expansion stands before the text: a slash does not make it absolute then.
    continues: bool,
    has_expansions: bool,
}

impl Pieces {
    fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Literal(text) | Part::Quoted(text) => self.text.push_str(text),
                Part::Double(parts) => self.parts(parts),
                part => self.expansion(part),
            }
        }
    }

    fn expansion(&mut self, part: &Part) {
        self.end();
        self.has_expansions = true;
        match part {
            Part::Translated(parts) => self.parts(parts),
            Part::Brace(words) | Part::Parameter { words, .. } => self.words(words),
            Part::Command(script) => self.script(script),
            _ => {}
        }
        self.end();
        self.continues = true;
    }

    fn words(&mut self, words: &[Word]) {
        for word in words {
            self.continues = false;
            self.parts(&word.parts);
            self.end();
        }
    }

    /// The words of the simple commands, which are what commands like `echo` print.
    fn script(&mut self, script: &Script) {
        let pipelines = script
            .items
            .iter()
            .flat_map(|item| std::iter::once(&item.first).chain(item.rest.iter().map(|(_, rest)| rest)));
        for command in pipelines.flat_map(|pipeline| &pipeline.commands) {
            if let CommandKind::Simple { words, .. } = &command.kind {
                self.words(words);
            }
        }
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = if self.continues { text.trim_start_matches('/') } else { &text };
        if !text.is_empty() && self.done.len() < MOST {
            self.done.push(text.to_owned());
        }
        self.continues = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parse;

    fn of(line: &str) -> Vec<String> {
        let script = parse(line).script;
        let CommandKind::Simple { words, .. } = &script.items[0].first.commands[0].kind else {
            panic!("{line}")
        };
        pieces(&words[1])
    }

    #[test]
    fn texts_around_and_within_expansions_are_found() {
        for (line, expected) in [
            ("p .env", &[][..]),
            ("p '.e'nv", &[]),
            ("p $D/.env", &[".env"]),
            ("p ~+/.env", &[".env"]),
            ("p \"${F:-.env}\"", &[".env"]),
            ("p \"$(git rev-parse)/a/key\"", &["git", "rev-parse", "a/key"]),
            ("p --x=$(echo .env)", &["--x=", "echo", ".env"]),
            ("p `cat .env`", &["cat", ".env"]),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}
