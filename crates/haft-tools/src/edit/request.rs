//! What the model meant to copy, where it copied too much: line numbers, a layer of escapes, blank lines around.
//!
//! Each rewriting is all or nothing: the old text and the new one must both be written that way, throughout.

use super::view::{Line, lines};

/// A passage and what replaces it, rewritten.
#[derive(Clone, Default)]
pub(super) struct Request {
    pub(super) old: String,
    pub(super) new: String,
    /// The passage starts at the start of a line.
    pub(super) from_start: bool,
    /// The passage ends at the end of a line.
    pub(super) to_end: bool,
    /// The passage stands at this line, from 1.
    pub(super) at_line: Option<usize>,
}

impl Request {
    pub(super) fn new(old: &str, new: &str) -> Request {
        Request { old: old.to_owned(), new: new.to_owned(), ..Request::default() }
    }

    /// Without a byte order mark, which no model writes on purpose.
    pub(super) fn without_mark(&self) -> Request {
        let strip = |text: &str| text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        Request { old: strip(&self.old), new: strip(&self.new), ..self.clone() }
    }

    /// Without the line numbers that Read shows.
    pub(super) fn without_numbers(&self) -> Option<Request> {
        let separator =
            SEPARATORS.into_iter().find(|separator| first_number(&self.old, separator).is_some())?;
        let first = first_number(&self.old, separator)?;
        let count = body(&self.old).count();
        // A single `12: ` or `12|` is too likely to be content.
        if count == 1 && !matches!(separator, "\t" | "→") {
            return None;
        }
        Some(Request {
            old: strip_numbers(&self.old, separator),
            new: strip_new_numbers(&self.new, &self.old, separator)?,
            from_start: true,
            // One number proves little by itself, but it does if the line is the one that it names.
            at_line: (count == 1).then_some(first),
            ..self.clone()
        })
    }

    /// Without a layer of escapes, for each layer that fits.
    pub(super) fn without_escapes(&self) -> impl Iterator<Item = Request> {
        LAYERS.iter().filter_map(|layer| {
            let old = layer.unescape(&self.old).filter(|old| *old != self.old)?;
            Some(Request { old, new: layer.unescape(&self.new)?, ..self.clone() })
        })
    }

    /// Without blank lines at the edges, if the new text has them too. What it has more of is meant.
    pub(super) fn without_edges(&self) -> Option<Request> {
        let (old, new) = (Edges::of(&self.old)?, Edges::of(&self.new)?);
        if old.above + old.below == 0 || old.above > new.above || old.below > new.below {
            return None;
        }
        Some(Request {
            old: old.core.to_owned(),
            new: without_lines(&self.new, old.above, old.below),
            from_start: self.from_start || old.above > 0,
            to_end: old.below > 0,
            at_line: None,
        })
    }
}

/// Without so many lines at the top and at the bottom.
fn without_lines(text: &str, above: usize, below: usize) -> String {
    let all: Vec<_> = lines(text).collect();
    let kept = &all[above..all.len() - below];
    let ends = kept.iter().enumerate().map(|(at, line)| if at + 1 < kept.len() { line.end } else { "" });
    kept.iter().zip(ends).flat_map(|(line, end)| [line.text, end]).collect()
}

const SEPARATORS: [&str; 4] = ["\t", "→", ": ", "|"];

/// The lines that carry numbers: all but the nothing behind the last line end.
fn body(text: &str) -> impl Iterator<Item = Line<'_>> {
    let count = lines(text).count();
    lines(text)
        .enumerate()
        .filter(move |(at, line)| at + 1 < count || !line.text.is_empty())
        .map(|(_, line)| line)
}

/// The number of the first line, if every line has one and they are consecutive.
fn first_number(text: &str, separator: &str) -> Option<usize> {
    let first = numbered(body(text).next()?.text, separator)?.0;
    body(text)
        .enumerate()
        .all(|(at, line)| {
            numbered(line.text, separator).is_some_and(|(number, _)| Some(number) == first.checked_add(at))
        })
        .then_some(first)
}

fn numbered<'a>(line: &'a str, separator: &str) -> Option<(usize, &'a str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.len() - line.trim_start_matches(|character: char| character.is_ascii_digit()).len();
    let (number, rest) = line.split_at(digits);
    // The separator of an empty line may have lost its blank.
    let rest = rest.strip_prefix(separator).or_else(|| (rest == separator.trim_end()).then_some(""))?;
    Some((number.parse().ok()?, rest))
}

fn strip_numbers(text: &str, separator: &str) -> String {
    let strip =
        |line: Line| numbered(line.text, separator).map_or(line.text, |(_, rest)| rest).to_owned() + line.end;
    lines(text).map(strip).collect()
}

/// The new text may have numbers everywhere, nowhere, or on the lines that it shares with the old one. Anything else
/// could leave a number in the file.
fn strip_new_numbers(new: &str, old: &str, separator: &str) -> Option<String> {
    let is_numbered = |line: &Line| numbered(line.text, separator).is_some();
    if body(new).all(|line| is_numbered(&line)) {
        return Some(strip_numbers(new, separator));
    }
    let copied: std::collections::HashSet<_> = lines(old).map(|line| line.text).collect();
    let fits = body(new).all(|line| !is_numbered(&line) || copied.contains(line.text));
    fits.then(|| strip_numbers(new, separator))
}

/// Which characters were written with a backslash too many.
struct Layer {
    quotes: bool,
    backslashes: bool,
    newlines: bool,
}

const LAYERS: [Layer; 5] = [
    Layer { quotes: true, backslashes: false, newlines: false },
    Layer { quotes: false, backslashes: true, newlines: false },
    Layer { quotes: true, backslashes: true, newlines: false },
    Layer { quotes: false, backslashes: false, newlines: true },
    Layer { quotes: true, backslashes: true, newlines: true },
];

impl Layer {
    /// The text without this layer; none if it cannot have been written with it.
    fn unescape(&self, text: &str) -> Option<String> {
        let mut plain = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            if character != '\\' {
                let is_bare = (character == '"' && self.quotes) || (character == '\n' && self.newlines);
                if is_bare {
                    return None;
                }
                plain.push(character);
                rest = &rest[character.len_utf8()..];
                continue;
            }
            let run = rest.len() - rest.trim_start_matches('\\').len();
            let (slashes, behind) = rest.split_at(run);
            let escaped = behind.chars().next().and_then(|next| self.escaped(next));
            match (self.backslashes, escaped) {
                (true, Some(_)) if run % 2 == 1 => plain.push_str(&slashes[..run / 2]),
                (true, _) if run.is_multiple_of(2) => plain.push_str(&slashes[..run / 2]),
                (false, Some(_)) if run == 1 => {}
                (false, None) => plain.push_str(slashes),
                _ => return None,
            }
            rest = behind;
            // A quote behind an even run is bare, and is found out in the next round.
            if let Some(escaped) = escaped.filter(|_| run % 2 == 1) {
                plain.push(escaped);
                rest = &behind[1..];
            }
        }
        Some(plain)
    }

    /// What a backslash and this character stand for.
    fn escaped(&self, character: char) -> Option<char> {
        match character {
            '"' | '\'' if self.quotes => Some(character),
            'n' if self.newlines => Some('\n'),
            't' if self.newlines => Some('\t'),
            'r' if self.newlines => Some('\r'),
            _ => None,
        }
    }
}

struct Edges<'a> {
    above: usize,
    core: &'a str,
    below: usize,
}

impl<'a> Edges<'a> {
    /// None if there is nothing but blank lines.
    fn of(text: &'a str) -> Option<Edges<'a>> {
        let trimmed = text.trim_start_matches([' ', '\t', '\r', '\n']);
        let from = text.len() - trimmed.len();
        // The indentation of the first line is not blank space around it.
        let from = text[..from].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let to = trimmed.trim_end_matches([' ', '\t', '\r', '\n']).len() + text.len() - trimmed.len();
        let to = text[to..].find(['\n', '\r']).map_or(text.len(), |end| to + end);
        let ends = |part: &str| lines(part).count() - 1;
        (!trimmed.is_empty()).then(|| Edges {
            above: ends(&text[..from]),
            core: &text[from..to],
            below: ends(&text[to..]),
        })
    }
}
