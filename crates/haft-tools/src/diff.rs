//! A change to a file, as a person sees it and as a model is told of it.

use std::{fmt::Write, path::Path, time::Duration};

use haft_tool::{View, shown};
use similar::{ChangeTag, TextDiff};

use crate::shown::count;

/// A diff of more than this helps nobody.
pub(crate) const MOST_SHOWN: usize = 1024 * 1024;

const PATIENCE: Duration = Duration::from_millis(100);

/// The change as a unified diff; of large texts only that they changed.
pub(crate) fn diff(path: &Path, old: &str, new: &str) -> View {
    diff_below(path, 0, old, new)
}

/// The same for a part of a file before which there are so many lines.
pub(crate) fn diff_below(path: &Path, lines: usize, old: &str, new: &str) -> View {
    if is_large(old, new) {
        return View::Text(format!("{}: {} → {} bytes", shown(path), old.len(), new.len()));
    }
    let mut unified = String::new();
    for hunk in compare(old, new).unified_diff().context_radius(3).iter_hunks() {
        let text = hunk.to_string();
        let (header, body) = text.split_once('\n').unwrap_or((&text, ""));
        // Writing to a String cannot fail.
        let _ = writeln!(unified, "{}", moved_down(header, lines));
        unified.push_str(body);
    }
    View::Diff { path: shown(path).to_string(), unified }
}

/// `@@ -1,4 +1,5 @@` with other line numbers.
fn moved_down(header: &str, lines: usize) -> String {
    let moved = |word: &str| {
        let (side, rest) = word.split_at_checked(1)?;
        let (line, count) = rest.split_once(',').map_or((rest, None), |(line, count)| (line, Some(count)));
        let line = line.parse::<usize>().ok()? + lines;
        matches!(side, "-" | "+").then(|| match count {
            Some(count) => format!("{side}{line},{count}"),
            None => format!("{side}{line}"),
        })
    };
    let words = header.split(' ').map(|word| moved(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ")
}

fn is_large(old: &str, new: &str) -> bool {
    old.len().max(new.len()) > MOST_SHOWN
}

/// Past its time it gives a coarser answer, never a wrong one.
fn compare<'a>(old: &'a str, new: &'a str) -> TextDiff<'a, 'a, str> {
    TextDiff::configure().timeout(PATIENCE).diff_lines(old, new)
}

/// How many lines a change adds and takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

pub(crate) fn tally(old: &str, new: &str) -> Tally {
    if is_large(old, new) {
        // What both begin and end with did not change; between, all did.
        return rough_tally(old, new);
    }
    let mut tally = Tally::default();
    for change in compare(old, new).iter_all_changes() {
        match change.tag() {
            ChangeTag::Insert => tally.added += 1,
            ChangeTag::Delete => tally.removed += 1,
            ChangeTag::Equal => {}
        }
    }
    tally
}

fn rough_tally(old: &str, new: &str) -> Tally {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old[head..].iter().rev().zip(new[head..].iter().rev());
    let same = head + rest.take_while(|(old, new)| old == new).count();
    Tally { added: new.len() - same, removed: old.len() - same }
}

const MOST_LINES: usize = 12;
const MOST_COLUMNS: usize = 120;

/// What a change takes away and adds, in few lines: "takes 1 line away (-) and adds 2 lines (+):". None if the texts are
/// the same or too large.
pub(crate) fn summary(old: &str, new: &str) -> Option<String> {
    if old == new || is_large(old, new) {
        return None;
    }
    let Tally { added, removed } = tally(old, new);
    let mut summary = format!(
        "takes {} away (-) and adds {} (+):",
        count(removed as u64, "line"),
        count(added as u64, "line")
    );
    let changes = compare(old, new);
    let changed = changes.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    for change in changed.take(MOST_LINES) {
        let line = change.value().trim_end_matches(['\n', '\r']);
        let end = line.floor_char_boundary(MOST_COLUMNS);
        let cut = if end < line.len() { "…" } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(summary, "\n{}{}{cut}", change.tag(), &line[..end]);
    }
    if let Some(more @ 1..) = (added + removed).checked_sub(MOST_LINES) {
        let _ = write!(summary, "\n… and {}", count(more as u64, "more line"));
    }
    Some(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_short_whatever_changed() {
        assert_eq!(
            summary("a\nb\nc\n", "a\nx\nc\n").unwrap(),
            "takes 1 line away (-) and adds 1 line (+):\n-b\n+x"
        );
        assert_eq!(summary("a\n", "a\n"), None);
        let long = summary("", &"x".repeat(1_000_000)).unwrap();
        assert!(long.len() < 200, "{long}");
        let many = summary("", &"x\n".repeat(1_000)).unwrap();
        assert!(many.ends_with("\n… and 988 more lines"), "{many}");
    }

    #[test]
    fn what_a_large_text_gains_is_counted_roughly() {
        let old = "line\n".repeat(400_000);
        let new = old.replacen("line", "one\ntwo", 1);
        assert_eq!(tally(&old, &new), Tally { added: 2, removed: 1 });
    }
}
