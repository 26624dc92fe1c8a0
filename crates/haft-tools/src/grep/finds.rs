//! What was found in one file.

use std::{cmp::Ordering, io, ops::Range, os::unix::ffi::OsStrExt, path::Path};

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::shelf::Thing;

/// Longer lines are cut.
const MOST_COLUMNS: usize = 500;

/// So much of a cut line stands before its first match.
const LEAD: usize = 100;

/// A match that spans more lines is cut.
const MOST_LINES: usize = 50;

/// What a line means does not depend on what is farther away.
const AROUND: u64 = 64 << 10;

/// No more than this is looked at to understand the lines of a file.
const MOST_AROUND: u64 = 1 << 20;

/// What was found in one file, as far as it is kept.
pub(super) struct Finds {
    pub(super) place: Place,
    /// All matches, kept or not.
    pub(super) count: u64,
    /// How many of them are kept, or one if none is wanted.
    weight: u64,
    pub(super) lines: Vec<Line>,
    pub(super) text: String,
}

/// Where a file is, so that places are in the order of a tree: what is in a directory stands together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(Box<[u8]>);

impl Place {
    pub(super) fn of(path: &Path) -> Place {
        // No name holds a zero byte, and nothing sorts before it: `a/b` comes before `a.b`.
        let bytes = path.as_os_str().as_bytes();
        Place(bytes.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect())
    }

    /// The path, from the root of the search on.
    pub(super) fn path(&self) -> Vec<u8> {
        self.0.iter().map(|byte| if *byte == 0 { b'/' } else { *byte }).collect()
    }
}

/// A line that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) kind: LineKind,
    /// Counted from 1; none if numbers are not wanted.
    pub(super) number: Option<u64>,
    /// Where its text stands among the others.
    pub(super) text: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A match begins here.
    Match,
    /// The match above goes on.
    More,
    /// A neighbour of a match.
    Context,
    /// Lines between this and the next are not shown.
    Gap,
}

impl Finds {
    /// How much memory it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + self.lines.len() * size_of::<Line>() + self.place.0.len() + size_of::<Finds>()
    }
}

impl Thing for Finds {
    fn weight(&self) -> u64 {
        self.weight
    }
}

impl Ord for Finds {
    fn cmp(&self, other: &Finds) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl PartialOrd for Finds {
    fn partial_cmp(&self, other: &Finds) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Finds {
    fn eq(&self, other: &Finds) -> bool {
        self.place == other.place
    }
}

impl Eq for Finds {}

/// Takes what the searcher finds in one file.
pub(super) struct Collector<'m> {
    matcher: &'m RegexMatcher,
    /// So many matches are kept with their lines.
    room: u64,
    first_only: bool,
    pub(super) count: u64,
    pub(super) is_binary: bool,
    lines: Vec<Line>,
    text: String,
    /// From the first to the last match that is kept, in the file.
    bytes: Option<Range<u64>>,
}

impl<'m> Collector<'m> {
    pub(super) fn new(matcher: &'m RegexMatcher, room: u64, first_only: bool) -> Collector<'m> {
        let (lines, text) = (Vec::new(), String::new());
        Collector { matcher, room, first_only, count: 0, is_binary: false, lines, text, bytes: None }
    }

    /// Where in the file the lines are that are kept, with so much around them that they can be understood.
    pub(super) fn around(&self) -> Option<Range<u64>> {
        let Range { start, end } = self.bytes.clone()?;
        let start = start.saturating_sub(AROUND);
        Some(start..(end + AROUND).min(start + MOST_AROUND))
    }

    /// What was found; `None` if nothing was, or the file is binary.
    pub(super) fn finish(self, place: Place) -> Option<Finds> {
        let Collector { count, room, lines, text, .. } = self;
        let weight = count.min(room).max(1);
        (count > 0 && !self.is_binary).then_some(Finds { place, count, weight, lines, text })
    }

    fn keep(&mut self, kind: LineKind, number: Option<u64>, line: &[u8]) {
        let start = self.text.len();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= MOST_COLUMNS {
            self.text.push_str(&String::from_utf8_lossy(line));
        } else {
            let at = if kind == LineKind::Context { 0 } else { self.first_match(line) };
            push_cut(&mut self.text, line, at);
        }
        self.lines.push(Line { kind, number, text: start..self.text.len() });
    }

    fn first_match(&self, line: &[u8]) -> usize {
        self.matcher.find(line).ok().flatten().map_or(0, |found| found.start())
    }
}

/// The part of a line in which a match is, and how much is missing on both sides.
fn push_cut(text: &mut String, line: &[u8], at: usize) {
    let start = if at + LEAD < MOST_COLUMNS { 0 } else { at - LEAD };
    let start = boundary(line, start);
    let end = boundary(line, (start + MOST_COLUMNS).min(line.len()));
    if start > 0 {
        text.push_str(&format!("[… {start} bytes] "));
    }
    text.push_str(&String::from_utf8_lossy(&line[start..end]));
    if end < line.len() {
        text.push_str(&format!(" [… {} bytes]", line.len() - end));
    }
}

/// The beginning of the character that stands at a position, or the position itself where there is no such thing.
fn boundary(line: &[u8], at: usize) -> usize {
    let is_start = |at: &usize| line.get(*at).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000);
    (at.saturating_sub(3)..=at).rev().find(is_start).unwrap_or(at)
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.count += 1;
        if self.count > self.room {
            return Ok(!self.first_only);
        }
        let first = found.absolute_byte_offset();
        self.bytes.get_or_insert(first..first).end = first + found.bytes().len() as u64;
        for (at, line) in found.lines().enumerate() {
            if at == MOST_LINES {
                let hidden = found.lines().count() - MOST_LINES;
                self.keep(LineKind::More, None, format!("[… {hidden} more lines]").as_bytes());
                break;
            }
            let kind = if at == 0 { LineKind::Match } else { LineKind::More };
            self.keep(kind, found.line_number().map(|first| first + at as u64), line);
        }
        Ok(!self.first_only)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if self.count < self.room {
            self.keep(LineKind::Context, context.line_number(), context.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if self.count < self.room {
            self.lines.push(Line { kind: LineKind::Gap, number: None, text: 0..0 });
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}
