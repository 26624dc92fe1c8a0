//! A text that is too large for one reply, in parts that are not.
//!
//! A part ends between two of the things that the text is made of (lines, pages, cells). Only one that is too large by
//! itself is cut, between its lines.

use std::{fmt::Write, path::PathBuf};

use haft_engine::result::size;
use haft_tool::shown;

/// What one reply may hold.
pub(super) const BUDGET: usize = 25_000;
/// What a reply about the parts shows of the first.
const PREVIEW: usize = 2_000;
/// As many lines as Read shows unasked, so that a part is read in one call.
const MOST_LINES: usize = 2000;
const MOST_HEADING: usize = 60;

/// About how many tokens a text is: four ASCII characters, or one of any others.
pub(super) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.bytes().filter(|byte| *byte >= 0xc0).count();
    ascii.div_ceil(4) + others
}

/// What stands before a line when it is read: the number and a tab.
const NUMBER: usize = 7;

/// The cost of a line with its number.
fn line_tokens(line: &str) -> usize {
    tokens(line) + NUMBER / 4 + 1
}

/// Something that a text is made of: a line, a page, a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit<'a> {
    pub(super) number: u64,
    pub(super) text: &'a str,
}

/// A piece of a text that fits into a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The first thing of which something is in it, and the last.
    pub(super) range: (u64, u64),
    pub(super) text: String,
}

/// Splits a text into parts that can be read in one call each.
pub(super) fn split<'a>(units: impl Iterator<Item = Unit<'a>>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut open = Open::default();
    for unit in units {
        let (cost, lines) = cost(unit.text);
        if cost <= BUDGET && lines <= MOST_LINES {
            open.close_unless_fits(cost, lines, &mut parts);
            open.add(unit.number, unit.text, cost, lines);
            continue;
        }
        for line in unit.text.split_inclusive('\n') {
            let cost = line_tokens(line);
            open.close_unless_fits(cost, 1, &mut parts);
            open.add(unit.number, line, cost, 1);
        }
    }
    parts.extend(open.part);
    parts
}

fn cost(text: &str) -> (usize, usize) {
    text.split_inclusive('\n').fold((0, 0), |(cost, lines), line| (cost + line_tokens(line), lines + 1))
}

/// The part that is being filled.
#[derive(Default)]
struct Open {
    part: Option<Part>,
    cost: usize,
    lines: usize,
}

impl Open {
    fn close_unless_fits(&mut self, cost: usize, lines: usize, parts: &mut Vec<Part>) {
        if self.cost + cost > BUDGET || self.lines + lines > MOST_LINES {
            parts.extend(std::mem::take(self).part);
        }
    }

    fn add(&mut self, number: u64, text: &str, cost: usize, lines: usize) {
        let part = self.part.get_or_insert_with(|| Part { range: (number, number), text: String::new() });
        part.range.1 = number;
        part.text.push_str(text);
        self.cost += cost;
        self.lines += lines;
    }
}

/// The table of contents: where each part is, what of the text it is, and how it begins.
pub(super) fn contents<'a>(
    parts: impl Iterator<Item = (&'a Part, &'a Option<PathBuf>)>,
    word: &str,
    total_tokens: usize,
) -> String {
    let mut table =
        format!("about {total_tokens} tokens, more than the {BUDGET} of one reply; these are its parts:\n");
    for (number, (part, path)) in (1..).zip(parts) {
        let range = match part.range {
            (first, last) if first == last => format!("{word} {first}"),
            (first, last) => format!("{word}s {first}-{last}"),
        };
        let place = path.as_ref().map(|path| format!(" in {}", shown(path))).unwrap_or_default();
        let heading = heading(&part.text).map(|heading| format!(": {heading}")).unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(table, "{number}. {range} ({}){place}{heading}", size(part.text.len()));
    }
    table
}

/// The line that says best what a part is about: a heading if it has one near its beginning, else its first words.
fn heading(text: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim).filter(|line| line.chars().any(char::is_alphanumeric));
    let is_heading = |line: &&str| {
        line.starts_with('#') || HEADS.iter().any(|head| line.strip_prefix(head).is_some_and(starts_word))
    };
    let line = lines().take(100).find(is_heading).or_else(|| lines().next())?;
    let end = line.char_indices().nth(MOST_HEADING).map(|(end, _)| end);
    Some(end.map_or(line.to_owned(), |end| format!("{}…", &line[..end])))
}

fn starts_word(rest: &str) -> bool {
    rest.starts_with(' ')
}

/// Words that begin something worth naming, in the languages that are read most.
const HEADS: &[&str] = &[
    "class",
    "struct",
    "enum",
    "trait",
    "interface",
    "module",
    "mod",
    "namespace",
    "package",
    "impl",
    "fn",
    "def",
    "func",
    "function",
    "pub",
    "export",
    "Chapter",
    "Section",
    "===",
];

/// The beginning of the first part, cut between lines.
pub(super) fn preview(part: &Part) -> &str {
    let mut room = PREVIEW;
    let mut end = 0;
    for line in part.text.split_inclusive('\n') {
        let Some(left) = room.checked_sub(line_tokens(line)) else { break };
        (room, end) = (left, end + line.len());
    }
    &part.text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str) -> impl Iterator<Item = Unit<'_>> {
        (1..).zip(text.split_inclusive('\n')).map(|(number, text)| Unit { number, text })
    }

    #[test]
    fn tokens_are_estimated_high_rather_than_low() {
        assert_eq!(tokens("abcd"), 1);
        assert_eq!(tokens("日本語"), 3);
        assert_eq!(tokens(""), 0);
    }

    #[test]
    fn parts_end_between_units_and_only_a_giant_is_cut() {
        let page = format!("{}\n", "word ".repeat(10_000));
        let giant = "a line of a giant page\n".repeat(5_000);
        let units = [&page, &page, &page, &giant, &page];
        let units = (1..).zip(units).map(|(number, text)| Unit { number, text });
        let ranges: Vec<_> = split(units).iter().map(|part| part.range).collect();
        assert_eq!(ranges, [(1, 1), (2, 2), (3, 4), (4, 4), (4, 5)]);
    }

    #[test]
    fn the_table_says_where_each_part_is_and_what_about() {
        let text = format!("intro\n{}# Second\n{}", "text\n".repeat(1_999), "more\n".repeat(500));
        let parts = split(lines(&text));
        let paths = [Some(PathBuf::from("/kept/1.txt")), None];
        insta::assert_snapshot!(contents(parts.iter().zip(&paths), "line", 31_000), @r"
        about 31000 tokens, more than the 25000 of one reply; these are its parts:
        1. lines 1-2000 (9.8 KB) in /kept/1.txt: intro
        2. lines 2001-2501 (2.5 KB): # Second
        ");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn nothing_is_lost_and_every_part_fits(text in "([a-z日]{0,400}\n){0,60}", times in 1..12usize) {
            let text = text.repeat(times);
            let parts = split(lines(&text));
            let again: String = parts.iter().map(|part| part.text.as_str()).collect();
            prop_assert_eq!(&again, &text);
            for part in &parts {
                let shown = super::super::lines::numbered(&part.text, 1);
                prop_assert!(tokens(&shown) <= BUDGET);
                // A part that is read is not split again.
                prop_assert_eq!(split(lines(&part.text)).len(), 1);
            }
        }
    }
}
