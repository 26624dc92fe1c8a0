//! Words to text.

use super::Renderer;
use crate::syntax::{odd::is_odd, odd_characters, tree::*, word::ESCAPED_IN_BRACKETS};

/// Where a part stands: that decides what must be escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Word,
    Double,
    Verbatim,
    Here,
}

impl Renderer {
    pub(super) fn words(&mut self, words: &[Word]) {
        for word in words {
            self.push(" ");
            self.word(word);
        }
    }

    pub(super) fn word(&mut self, word: &Word) {
        self.parts(&word.parts, Place::Word);
    }

    pub(super) fn verbatim(&mut self, word: &Word) {
        self.parts(&word.parts, Place::Verbatim);
    }

    fn parts(&mut self, parts: &[Part], place: Place) {
        let mut after_dollar = false;
        for (number, part) in parts.iter().enumerate() {
            match part {
                Part::Quoted(text) if place == Place::Word => self.quoted(text, after_dollar),
                Part::Double(inner) if place == Place::Word => self.double(inner, after_dollar),
                Part::Variable(name) => self.variable(name, parts.get(number + 1)),
                _ => self.part(part, place),
            }
            after_dollar = place == Place::Word && matches!(part, Part::Literal(text) if text.ends_with('$'));
        }
    }

    fn part(&mut self, part: &Part, place: Place) {
        match part {
            Part::Glob(text) if text.len() > 1 && text.starts_with('[') => self.bracket_expression(text),
            Part::Literal(text) | Part::Glob(text) | Part::Range(text) | Part::Odd(_, text) => {
                self.visible(text)
            }
            Part::Quoted(text) => self.escaped(text, place),
            Part::Double(parts) => self.parts(parts, place),
            Part::Translated(parts) => self.translated(parts),
            Part::Tilde(name) => {
                self.push("~");
                self.visible(name);
            }
            Part::Brace(words) => self.alternatives(words),
            Part::Variable(name) => self.variable(name, None),
            Part::Parameter { name, operator, words } => self.parameter(name, operator, words),
            Part::Command(script) => {
                self.push("$");
                self.substitution(script);
            }
            Part::Arithmetic(word) => {
                self.push("$((");
                self.verbatim(word);
                self.push("))");
            }
            Part::Process(flow, script) => {
                self.push(if *flow == Flow::From { "<" } else { ">" });
                self.substitution(script);
            }
        }
    }

    fn bracket_expression(&mut self, text: &str) {
        for piece in text.split_inclusive(ESCAPED_IN_BRACKETS) {
            let (rest, last) = piece.split_at(piece.trim_end_matches(ESCAPED_IN_BRACKETS).len());
            self.visible(rest);
            self.push(if last.is_empty() { "" } else { "\\" });
            self.push(last);
        }
    }

    fn alternatives(&mut self, words: &[Word]) {
        for (number, word) in words.iter().enumerate() {
            self.push(if number == 0 { "{" } else { "," });
            self.word(word);
        }
        self.push("}");
    }

    /// With braces where the next letter would become part of the name.
    fn variable(&mut self, name: &str, next: Option<&Part>) {
        let touches = match next {
            Some(Part::Literal(text) | Part::Quoted(text) | Part::Glob(text) | Part::Odd(_, text)) => {
                text.starts_with(|letter: char| letter.is_ascii_alphanumeric() || "_[".contains(letter))
            }
            _ => false,
        };
        let has_many_digits = name.len() > 1 && name.starts_with(|digit: char| digit.is_ascii_digit());
        match touches || has_many_digits {
            true => self.push(&format!("${{{name}}}")),
            false => self.push(&format!("${name}")),
        }
    }

    fn parameter(&mut self, name: &str, operator: &str, words: &[Word]) {
        self.push("${");
        self.push(name);
        let mut words = words.iter();
        let operator = match operator.strip_prefix('[') {
            Some(rest) => {
                self.push("[");
                words.by_ref().take(1).for_each(|index| self.verbatim(index));
                self.push("]");
                rest
            }
            None => operator,
        };
        self.push(operator);
        words.for_each(|word| self.verbatim(word));
        self.push("}");
    }

    /// Text in quotes. Behind a `$` they would mean something else, so the first character gets a backslash there.
    fn quoted(&mut self, text: &str, after_dollar: bool) {
        let text = if after_dollar { self.first_escaped(text) } else { Some(text) };
        let Some(text) = text else { return };
        match text {
            _ if !odd_characters(text).is_empty() => self.ansi(text),
            _ if !text.contains('\'') => self.push(&format!("'{text}'")),
            _ if !text.contains(['$', '`', '\\', '"']) => self.push(&format!("\"{text}\"")),
            _ => self.push(&format!("'{}'", text.replace('\'', r"'\''"))),
        }
    }

    /// Writes the first character with a backslash; what is left of the text, if anything is.
    fn first_escaped<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let first = text.chars().next()?;
        if is_odd(first) || first == '\n' {
            // It must be seen, so it is the `$` that gets one.
            self.out.pop();
            self.push("\\$");
            return Some(text);
        }
        let (letter, rest) = text.split_at(first.len_utf8());
        self.push(&format!("\\{letter}"));
        Some(rest).filter(|rest| !rest.is_empty())
    }

    /// `$'…'`, with everything visible.
    fn ansi(&mut self, text: &str) {
        self.push("$'");
        for letter in text.chars() {
            match letter {
                '\'' | '\\' => self.push(&format!("\\{letter}")),
                '\n' => self.push("\\n"),
                '\t' => self.push("\\t"),
                '\r' => self.push("\\r"),
                _ if is_odd(letter) && letter.is_ascii() => {
                    self.push(&format!("\\x{:02x}", u32::from(letter)))
                }
                _ if is_odd(letter) && u32::from(letter) <= 0xffff => {
                    self.push(&format!("\\u{:04x}", u32::from(letter)))
                }
                _ if is_odd(letter) => self.push(&format!("\\U{:08x}", u32::from(letter))),
                _ => self.out.push(letter),
            }
        }
        self.push("'");
    }

    /// `"…"`, interrupted where something must be written as an escape.
    fn double(&mut self, parts: &[Part], after_dollar: bool) {
        let mut is_open = false;
        for (number, part) in parts.iter().enumerate() {
            let Part::Quoted(text) = part else {
                self.open_quote(&mut is_open);
                self.in_double(part, parts.get(number + 1));
                continue;
            };
            let first = after_dollar && number == 0;
            if first || text.is_empty() || !odd_characters(text).is_empty() {
                self.close_quote(&mut is_open);
                self.quoted(text, first);
            } else {
                self.open_quote(&mut is_open);
                self.escaped(text, Place::Double);
            }
        }
        self.close_quote(&mut is_open);
    }

    /// `$"…"`. There are no escapes in it, so that what cannot be seen is shown as a text beside it.
    fn translated(&mut self, parts: &[Part]) {
        let is_odd = |part: &Part| matches!(part, Part::Quoted(text) if !odd_characters(text).is_empty());
        self.push("$\"");
        if parts.iter().any(is_odd) {
            self.push("\"");
            return self.double(parts, false);
        }
        for (number, part) in parts.iter().enumerate() {
            self.in_double(part, parts.get(number + 1));
        }
        self.push("\"");
    }

    fn in_double(&mut self, part: &Part, next: Option<&Part>) {
        match part {
            Part::Variable(name) => self.variable(name, next),
            _ => self.part(part, Place::Double),
        }
    }

    fn open_quote(&mut self, is_open: &mut bool) {
        self.push(if *is_open { "" } else { "\"" });
        *is_open = true;
    }

    fn close_quote(&mut self, is_open: &mut bool) {
        self.push(if *is_open { "\"" } else { "" });
        *is_open = false;
    }

    /// Text between double quotes or in a here-document.
    fn escaped(&mut self, text: &str, place: Place) {
        for letter in text.chars() {
            let special = matches!(letter, '$' | '`' | '\\') || (letter == '"' && place == Place::Double);
            self.push(if special && place != Place::Verbatim { "\\" } else { "" });
            self.out.push(letter);
        }
    }

    /// Text as it is, but for what cannot be seen.
    fn visible(&mut self, text: &str) {
        for letter in text.chars() {
            match is_odd(letter) {
                true => self.push(&letter.escape_unicode().to_string()),
                false => self.out.push(letter),
            }
        }
    }

    // --- here-documents ---

    /// A body that cannot be shown as it is becomes a here-string: that has escapes.
    pub(super) fn here_document(&mut self, body: &Word) {
        if !can_be_shown(&body.parts) {
            self.push("<<< ");
            return self.word(body);
        }
        let mut inner = Renderer::default();
        let quote = match body.parts.as_slice() {
            [Part::Quoted(text)] => {
                inner.push(text);
                "'"
            }
            parts => {
                inner.parts(parts, Place::Here);
                ""
            }
        };
        let text = inner.out;
        let end = free_delimiter(&text);
        self.push(&format!("<<{quote}{end}{quote}"));
        self.bodies.push_str(&format!("{text}{end}\n"));
    }
}

/// Whether all text of a body can be seen, and its last line is whole.
fn can_be_shown(parts: &[Part]) -> bool {
    match parts {
        [Part::Double(parts)] => {
            let is_visible =
                |part: &Part| !matches!(part, Part::Quoted(text) if !odd_characters(text).is_empty());
            parts.iter().all(is_visible)
                && matches!(parts.last(), Some(Part::Quoted(text)) if text.ends_with('\n'))
        }
        [Part::Quoted(text)] => odd_characters(text).is_empty() && (text.is_empty() || text.ends_with('\n')),
        _ => false,
    }
}

/// A word that no line begins with.
fn free_delimiter(text: &str) -> String {
    let lines = text.lines().filter(|line| line.starts_with("EOF"));
    let longest = lines.map(str::len).max().unwrap_or(0);
    format!("EOF{}", "_".repeat((longest + 1).saturating_sub(3) * usize::from(longest > 0)))
}
