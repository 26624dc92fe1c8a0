//! What of all finds is shown, and how the model and a person see it.

use std::{fmt::Write, ops::Range};

use haft_tool::{Reply, View, Walked};

use super::{
    GrepInput, Mode,
    finds::{Finds, LineKind},
    search::{Search, Tally},
};
use crate::{
    shelf::in_order,
    shown::{self, count},
};

/// A person sees so many lines of it.
const MOST_DRAWN: usize = 30;

/// The finds of all threads, as far as they are needed, in the order of their places.
pub(super) struct Page {
    finds: Vec<Finds>,
    tally: Tally,
    /// Whether all was looked at.
    is_all: bool,
}

impl Page {
    pub(super) fn of(crew: Vec<Search>, input: &GrepInput) -> Page {
        let mut tally = Tally::default();
        let mut room = input.reach();
        for search in &crew {
            tally.add(&search.tally);
            // A thread that had to let go of something knows nothing of what comes behind.
            room = room.min(search.shelf.room());
        }
        let is_all = crew.iter().all(Search::has_seen_all);
        let finds = in_order(crew.into_iter().map(|search| search.shelf));
        Page { finds, tally, is_all }.within(room)
    }

    /// Without what lies beyond the room of some thread.
    fn within(mut self, room: u64) -> Page {
        let mut held = 0;
        self.finds.retain(|finds| {
            let fits = held < room;
            held += crate::shelf::Thing::weight(finds);
            fits
        });
        self
    }

    pub(super) fn reply(&self, input: &GrepInput, prefix: &str, walked: Walked) -> Reply {
        let mut text = String::new();
        let shown = match input.output_mode {
            Mode::Content => self.content(input, prefix, &mut text),
            mode => self.paths(input, prefix, mode, &mut text),
        };
        let observation = self.observation(input, &shown);
        let drawn = drawn(&observation, &text);
        self.warn(walked, &mut text);
        Reply::text(text)
            .observed(observation)
            .note("matches", self.tally.matches)
            .note("files", self.tally.files)
            .drawn(drawn)
    }

    fn paths(&self, input: &GrepInput, prefix: &str, mode: Mode, text: &mut String) -> Range<u64> {
        let skipped = usize::try_from(input.offset).unwrap_or(usize::MAX);
        let limit = usize::try_from(input.limit()).unwrap_or(usize::MAX);
        let mut shown = 0;
        for finds in self.finds.iter().skip(skipped).take(limit) {
            push_path(text, prefix, finds);
            // Writing to a String cannot fail.
            let _ = match mode {
                Mode::Count => writeln!(text, ":{}", finds.count),
                _ => writeln!(text),
            };
            shown += 1;
        }
        input.offset..input.offset.saturating_add(shown)
    }

    fn content(&self, input: &GrepInput, prefix: &str, text: &mut String) -> Range<u64> {
        let window = input.offset..input.reach();
        let mut at = 0;
        for finds in &self.finds {
            let here = at..at + crate::shelf::Thing::weight(finds);
            at = here.end;
            let from = window.start.saturating_sub(here.start);
            let to = window.end.min(here.end).saturating_sub(here.start);
            if from < to {
                if !text.is_empty() {
                    text.push('\n');
                }
                push_path(text, prefix, finds);
                text.push('\n');
                push_lines(text, finds, from..to, input);
            }
        }
        window.start..window.end.min(at).max(window.start)
    }

    /// One line that says what there is, and what of it is shown.
    fn observation(&self, input: &GrepInput, shown: &Range<u64>) -> String {
        let Tally { searched, files, matches, .. } = self.tally;
        if searched == 0 && files == 0 {
            return "No file was searched: none fits. Hidden and ignored files are passed over.".to_owned();
        }
        if files == 0 {
            return format!("No matches in {}.", count(searched, "file"));
        }
        let all = match input.output_mode {
            Mode::FilesWithMatches => format!("{} with matches", count(files, "file")),
            _ => format!("{} in {}", count(matches, "match"), count(files, "file")),
        };
        let all = if self.is_all { all } else { format!("at least {all} (not all was searched)") };
        let total = if input.output_mode == Mode::Content { matches } else { files };
        match (shown.is_empty(), shown.end < total) {
            (true, _) => format!("{all}; there is nothing at offset {}.", input.offset),
            (_, true) => {
                format!("{all}; showing {}–{}, go on with offset {}:", shown.start + 1, shown.end, shown.end)
            }
            _ if shown.start > 0 => format!("{all}; showing {}–{}:", shown.start + 1, shown.end),
            _ => format!("{all}:"),
        }
    }

    fn warn(&self, walked: Walked, text: &mut String) {
        if self.tally.failed > 0 {
            let _ = writeln!(text, "({} could not be searched)", count(self.tally.failed, "file"));
        }
        if walked.unreadable > 0 {
            let unreadable = count(walked.unreadable, "directory");
            let _ = writeln!(text, "({unreadable} could not be read)");
        }
    }
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.searched += other.searched;
        self.files += other.files;
        self.matches += other.matches;
        self.failed += other.failed;
    }
}

fn push_path(text: &mut String, prefix: &str, finds: &Finds) {
    let path = finds.place.path();
    // Where the root itself is the file, the prefix is its whole path.
    let prefix = if path.is_empty() { prefix.trim_end_matches('/') } else { prefix };
    text.push_str(prefix);
    text.push_str(&shown::bytes(&path));
}

/// Some of the matches in a file, with their neighbours.
fn push_lines(text: &mut String, finds: &Finds, matches: Range<u64>, input: &GrepInput) {
    let range = lines_of(finds, &matches, input);
    for line in &finds.lines[range] {
        let words = &finds.text[line.text.clone()];
        // Writing to a String cannot fail.
        let _ = match (line.kind, line.number) {
            (LineKind::Gap, _) => writeln!(text, "--"),
            (LineKind::Context, Some(number)) => writeln!(text, "{number}-{words}"),
            (_, Some(number)) => writeln!(text, "{number}:{words}"),
            (_, None) => writeln!(text, "{words}"),
        };
    }
}

/// Which lines belong to these matches: from the neighbours before the first to those behind the last.
fn lines_of(finds: &Finds, matches: &Range<u64>, input: &GrepInput) -> Range<usize> {
    let lines = &finds.lines;
    let starts = (0..lines.len()).filter(|at| lines[*at].kind == LineKind::Match);
    let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let is_context = |at: &usize| lines[*at].kind == LineKind::Context;
    let first = starts.clone().nth(index(matches.start)).unwrap_or(lines.len());
    let before = (0..first).rev().take(input.before()).take_while(is_context).count();
    let last = starts.clone().nth(index(matches.end - 1)).unwrap_or(lines.len());
    let more = (last + 1..lines.len()).take_while(|at| lines[*at].kind == LineKind::More).count();
    let end = (last + 1 + more).min(lines.len());
    let after = (end..lines.len()).take(input.after()).take_while(is_context).count();
    first - before..end + after
}

fn drawn(observation: &str, text: &str) -> View {
    let mut lines: Vec<&str> = text.lines().take(MOST_DRAWN + 1).collect();
    let rest = if lines.len() > MOST_DRAWN { text.lines().count() - MOST_DRAWN } else { 0 };
    lines.truncate(MOST_DRAWN);
    let mut views = vec![View::text(observation)];
    if !lines.is_empty() {
        views.push(View::Code { language: String::new(), text: lines.join("\n") });
    }
    if rest > 0 {
        views.push(View::Text(View::more_lines(rest)));
    }
    View::List(views)
}
