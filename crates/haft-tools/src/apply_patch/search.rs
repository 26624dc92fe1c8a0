//! Where a hunk fits.
//!
//! As whole lines: first as they are written, then but for line ends, then but for blanks at the ends of lines. The first
//! way that finds it decides. Of several places the one is meant that stands below the headings, or that the hunk's own
//! line number names; if that leaves more than one, nothing is guessed.

use std::collections::HashMap;

use super::{
    misfit::{Misfit, Reason},
    parse::{Hunk, HunkLine, Sign},
};
use crate::edit::Loosening;

/// Whether the line numbers of a patch are those of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    Hold,
    /// The text has changed since the model was shown it: its lines may stand elsewhere now.
    MayBeOld,
}

/// The lines of a text as a diff sees them: a carriage return is a part of its line.
pub(super) struct FileLines<'a> {
    pub(super) lines: Vec<&'a str>,
    /// What stands between them. Very old files have only carriage returns.
    pub(super) separator: &'static str,
    /// Whether one stands behind the last line as well.
    pub(super) is_ended: bool,
}

impl<'a> FileLines<'a> {
    pub(super) fn of(text: &'a str) -> FileLines<'a> {
        let separator = if !text.contains('\n') && text.contains('\r') { "\r" } else { "\n" };
        let mut lines: Vec<_> = text.split(separator).collect();
        let is_ended = text.ends_with(separator);
        if is_ended || text.is_empty() {
            lines.pop();
        }
        FileLines { lines, separator, is_ended }
    }

    pub(super) fn is_line_ended(&self, at: usize) -> bool {
        at + 1 < self.lines.len() || self.is_ended
    }

    /// The kind of line end that is used around a line.
    pub(super) fn end_near(&self, at: usize) -> &'static str {
        let ended = (at..self.lines.len()).chain((0..at.min(self.lines.len())).rev());
        let near = ended.take(2).find(|at| self.is_line_ended(*at)).map(|at| self.lines[at]);
        if near.is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { self.separator }
    }
}

/// How lines are compared, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Way {
    AsWritten,
    ButLineEnds,
    ButTrailingBlanks,
}

impl Way {
    const ALL: [Way; 3] = [Way::AsWritten, Way::ButLineEnds, Way::ButTrailingBlanks];

    /// What of a line counts.
    pub(super) fn trim(self, line: &str) -> &str {
        match self {
            Way::AsWritten => line,
            Way::ButLineEnds => line.strip_suffix('\r').unwrap_or(line),
            Way::ButTrailingBlanks => line.trim_end_matches([' ', '\t', '\r']),
        }
    }

    pub(super) fn loosening(self) -> Option<Loosening> {
        match self {
            Way::AsWritten => None,
            Way::ButLineEnds => Some(Loosening::LineEndings),
            Way::ButTrailingBlanks => Some(Loosening::TrailingBlanks),
        }
    }
}

/// The lines of a file as numbers, one for each different line, for each way to compare them.
pub(super) struct Search<'a> {
    file: &'a FileLines<'a>,
    numbers: Numbers,
    views: HashMap<Way, Numbered<'a>>,
}

struct Numbered<'a> {
    numbers: Vec<usize>,
    number_of: HashMap<&'a str, usize>,
}

/// Where a hunk goes.
#[derive(Debug)]
pub(super) struct Placed<'h> {
    pub(super) hunk: &'h Hunk<'h>,
    /// The line of the file, from 0.
    pub(super) start: usize,
    pub(super) way: Way,
}

const MOST_LISTED: usize = 20;
/// More places than this are not told apart by headings.
const MOST_PLACES: usize = 200;

impl<'a> Search<'a> {
    pub(super) fn new(file: &'a FileLines<'a>, numbers: Numbers) -> Search<'a> {
        Search { file, numbers, views: HashMap::new() }
    }

    pub(super) fn place<'h>(&mut self, hunk: &'h Hunk<'h>) -> Result<Placed<'h>, Reason> {
        if hunk.before().next().is_none() {
            let is_sure = self.file.lines.is_empty() || hunk.ends_file;
            let end = Placed { hunk, start: self.file.lines.len(), way: Way::AsWritten };
            return is_sure.then_some(end).ok_or(Reason::Nowhere);
        }
        for way in Way::ALL {
            let found = self.find(hunk.before(), way);
            if !found.is_empty() {
                return Ok(Placed { hunk, start: self.choose(hunk, found)?, way });
            }
        }
        match self.find(hunk.after(), Way::ButTrailingBlanks)[..] {
            [done] => Err(Reason::Done { line: done + 1 }),
            _ => Err(Reason::NotThere { nearest: None }),
        }
    }

    /// Every place at which these lines follow each other.
    fn find<'l>(&mut self, lines: impl Iterator<Item = &'l HunkLine<'l>>, way: Way) -> Vec<usize> {
        let view = self.views.entry(way).or_insert_with(|| Numbered::of(self.file, way));
        let wanted: Option<Vec<_>> =
            lines.map(|line| view.number_of.get(way.trim(line.text)).copied()).collect();
        wanted.map(|wanted| occurrences(&view.numbers, &wanted)).unwrap_or_default()
    }

    /// The one place that the hunk means.
    fn choose(&self, hunk: &Hunk<'_>, found: Vec<usize>) -> Result<usize, Reason> {
        let all = listed(&found);
        let len = hunk.before().count();
        let at_end = |start: &usize| !hunk.ends_file || start + len == self.file.lines.len();
        let found: Vec<_> = found.into_iter().filter(at_end).collect();
        if found.is_empty() {
            return Err(Reason::NotAtEnd { lines: all });
        }
        let found = self.below_headings(&hunk.headings, found);
        match found[..] {
            [] => Err(Reason::NotBelow {
                headings: hunk
                    .headings
                    .iter()
                    .take(3)
                    .map(|heading| heading.chars().take(80).collect())
                    .collect(),
                lines: all,
            }),
            [only] => Ok(only),
            _ => {
                let at = hunk.at.filter(|_| self.numbers == Numbers::Hold);
                let named = at.and_then(|at| at.checked_sub(1)).filter(|at| found.contains(at));
                let more = found.len().saturating_sub(MOST_LISTED);
                named.ok_or_else(|| Reason::Ambiguous { lines: listed(&found), more })
            }
        }
    }

    /// Those that stand inside of what the headings begin; if none does, those that stand anywhere below them.
    fn below_headings(&self, headings: &[&str], found: Vec<usize>) -> Vec<usize> {
        if headings.is_empty() || found.len() > MOST_PLACES {
            return found;
        }
        let inside: Vec<_> = found.iter().copied().filter(|at| self.is_inside(headings, *at)).collect();
        if !inside.is_empty() {
            return inside;
        }
        let mut lines = self.file.lines.iter().map(|line| line.trim()).enumerate();
        let mut last = None;
        for heading in headings {
            let Some((at, _)) = lines.find(|(_, line)| line == heading) else { return Vec::new() };
            last = Some(at);
        }
        found.into_iter().filter(|at| Some(*at) >= last).collect()
    }

    /// Whether the headings are among the lines that begin what a line stands in, as its indentation tells.
    fn is_inside(&self, headings: &[&str], at: usize) -> bool {
        let mut wanted = headings.iter().rev().peekable();
        let mut limit = usize::MAX;
        for line in self.file.lines[..=at].iter().rev() {
            let text = line.trim();
            let indentation = line.len() - line.trim_start().len();
            if text.is_empty() || indentation >= limit {
                continue;
            }
            // A brace of its own, or the end of a list of parameters, belongs to the line above it.
            let belongs_above = text.starts_with(['{', ')', ']']);
            limit = indentation + usize::from(belongs_above);
            wanted.next_if(|heading| **heading == text);
            if wanted.peek().is_none() || limit == 0 {
                break;
            }
        }
        wanted.peek().is_none()
    }
}

/// The lines, counted from 1, of some places.
fn listed(places: &[usize]) -> Vec<usize> {
    places.iter().take(MOST_LISTED).map(|place| place + 1).collect()
}

impl<'a> Numbered<'a> {
    fn of(file: &FileLines<'a>, way: Way) -> Numbered<'a> {
        let mut number_of = HashMap::new();
        let number = |line: &&'a str| {
            let next = number_of.len();
            *number_of.entry(way.trim(line)).or_insert(next)
        };
        let numbers = file.lines.iter().map(number).collect();
        Numbered { numbers, number_of }
    }
}

/// Every place at which `wanted` stands in `all`, also where they overlap, in one walk: what is known of the part that
/// fitted so far tells where to go on.
fn occurrences(all: &[usize], wanted: &[usize]) -> Vec<usize> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let fallback = fallbacks(wanted);
    let (mut places, mut fitting) = (Vec::new(), 0);
    for (at, number) in all.iter().enumerate() {
        while fitting > 0 && (fitting == wanted.len() || wanted[fitting] != *number) {
            fitting = fallback[fitting - 1];
        }
        fitting += usize::from(wanted[fitting] == *number);
        if fitting == wanted.len() {
            places.push(at + 1 - fitting);
        }
    }
    places
}

/// For each beginning of `wanted`, the longest shorter one that it ends with.
fn fallbacks(wanted: &[usize]) -> Vec<usize> {
    let mut fallback = vec![0; wanted.len()];
    let mut fitting = 0;
    for at in 1..wanted.len() {
        while fitting > 0 && wanted[fitting] != wanted[at] {
            fitting = fallback[fitting - 1];
        }
        fitting += usize::from(wanted[fitting] == wanted[at]);
        fallback[at] = fitting;
    }
    fallback
}

impl Placed<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.hunk.before().count()
    }

    /// The first and the last line that it changes, or between which it adds.
    fn changed(&self) -> (usize, usize) {
        let is_kept = |line: &&HunkLine<'_>| line.sign == Sign::Kept;
        let above = self.hunk.lines.iter().take_while(is_kept).count();
        let below = self.hunk.lines.iter().rev().take_while(is_kept).count();
        (self.start + above, self.end().saturating_sub(below).max(self.start))
    }

    /// Two hunks may show the same lines around their changes, but not change what the other has.
    pub(super) fn overlap(&self, earlier: &Placed<'_>) -> Option<Misfit> {
        let is_apart = self.start >= earlier.end();
        let only_shown = earlier.changed().1 <= self.start && self.changed().0 >= earlier.end();
        (!is_apart && !only_shown)
            .then_some(Misfit { line: self.hunk.line, reason: Reason::Overlaps { other: earlier.hunk.line } })
    }
}
