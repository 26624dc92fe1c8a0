//! What is there instead of a passage that is not: the region that shares most words with it, and how they differ.
//!
//! It is only told, never edited, so it may be a guess. Its work is bounded, whatever the size of the file.

use std::{
    collections::HashMap,
    fmt::{self, Write},
    time::Duration,
};

use similar::{ChangeTag, TextDiff};

/// Some lines of the file that are like the passage.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) first_line: usize,
    pub(crate) last_line: usize,
    /// What to take from the old text (`-`) and to add (`+`) for it to be what the file has.
    pub(crate) diff: String,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "nearest are the lines {} to {} (- the old text, + the file):\n{}",
            self.first_line, self.last_line, self.diff
        )
    }
}

const MOST_BYTES: usize = 8 * 1024 * 1024;
const MOST_WORDS: usize = 8;
const MOST_OLD_LINES: usize = 400;
const MOST_DIFF_LINES: usize = 60;
const MOST_COLUMNS: usize = 200;
const PATIENCE: Duration = Duration::from_millis(100);

/// The region nearest to `old`, if one shares a third of it.
pub(crate) fn find(text: &str, old: &str) -> Option<Region> {
    let (searched, lines_before) = window(text, old);
    let old: Vec<_> = old.lines().take(MOST_OLD_LINES).collect();
    let first = best_start(searched, &old)?;
    let region: Vec<_> = searched.lines().skip(first).take(old.len()).collect();
    Some(Region {
        first_line: lines_before + first + 1,
        last_line: lines_before + first + region.len(),
        diff: diff(&old, &region),
    })
}

/// The part of a large file that is searched, and how many lines are before it: around the shared word that comes up
/// last, which is likely a rare one.
fn window<'a>(text: &'a str, old: &str) -> (&'a str, usize) {
    if text.len() <= MOST_BYTES {
        return (text, 0);
    }
    let shared = longest_words(old).into_iter().take(MOST_WORDS).filter_map(|word| text.find(word));
    let at = shared.max().unwrap_or(0);
    let start = text.floor_char_boundary(at.saturating_sub(MOST_BYTES / 2));
    let start = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let end = text.floor_char_boundary(start + MOST_BYTES);
    (&text[start..end], memchr::memchr_iter(b'\n', &text.as_bytes()[..start]).count())
}

/// The words of a text, those first that say most.
pub(super) fn longest_words(text: &str) -> Vec<&str> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric());
    let mut words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    words.dedup();
    words
}

/// The line at which the passage would start: every word that both share votes for one, by its length.
fn best_start(text: &str, old: &[&str]) -> Option<usize> {
    let mut lines_of: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut weight = 0;
    for (at, line) in old.iter().enumerate() {
        for word in terms(line) {
            weight += word.len();
            lines_of.entry(word).or_default().push(at);
        }
    }
    let mut votes: Vec<u32> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        votes.push(0);
        for word in terms(line) {
            for old_line in lines_of.get(word).into_iter().flatten().take(8) {
                if let Some(start) = at.checked_sub(*old_line) {
                    votes[start] += u32::try_from(word.len()).unwrap_or(0);
                }
            }
        }
    }
    // The first of the best: `max_by_key` would take the last.
    let (start, best) = votes.iter().enumerate().rev().max_by_key(|(_, votes)| **votes)?;
    (*best as usize * 3 >= weight && *best > 0).then_some(start)
}

/// The words of a line, and the whole of it, which counts for as much again.
fn terms(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|character: char| !character.is_alphanumeric()).filter(|word| word.len() > 1);
    let whole =
        Some(line.trim()).filter(|line| line.contains(|character: char| !character.is_alphanumeric()));
    words.chain(whole)
}

fn diff(old: &[&str], region: &[&str]) -> String {
    let changes = TextDiff::configure().timeout(PATIENCE).diff_slices(old, region);
    let mut shown = String::new();
    let all: Vec<_> = changes.iter_all_changes().collect();
    for change in all.iter().take(MOST_DIFF_LINES) {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let line = change.value();
        let end = line.floor_char_boundary(MOST_COLUMNS);
        let cut = if end < line.len() { "…" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(shown, "{sign}{}{cut}", &line[..end]);
    }
    if all.len() > MOST_DIFF_LINES {
        let _ = writeln!(shown, "… and {} more lines", all.len() - MOST_DIFF_LINES);
    }
    shown + &first_difference(old, region)
}

/// The first characters that differ, for lines that look the same.
fn first_difference(old: &[&str], region: &[&str]) -> String {
    let Some((old, file)) = old.iter().zip(region).find(|(old, file)| old != file) else {
        return String::new();
    };
    let column = old.chars().zip(file.chars()).take_while(|(old, file)| old == file).count();
    let show = |line: &str| match line.chars().skip(column).collect::<String>() {
        rest if rest.is_empty() => "the end of the line".to_owned(),
        rest => format!("{:?}", &rest[..shown(&rest)]),
    };
    format!("they first differ at column {}: {}, not {}", column + 1, show(file), show(old))
}

/// Twelve characters say enough, and half of what stands for a hidden value says nothing.
fn shown(rest: &str) -> usize {
    let mark = rest.starts_with("[redacted: ").then(|| rest.find(']').map(|end| end + 1)).flatten();
    mark.or_else(|| rest.char_indices().nth(12).map(|(end, _)| end)).unwrap_or(rest.len())
}
