//! A text and hunks, and what the text is afterwards.
//!
//! Every hunk is looked for in the text as it was, as whole lines: first as they are written, then but for line ends,
//! then but for blanks at the ends of lines. The first way that finds it decides. A hunk that fits in several places is
//! refused, unless its own line number names one of them. Lines that are kept keep the file's bytes.

use std::{collections::HashMap, fmt, ops::Range};

use super::parse::{Hunk, HunkLine, Sign};
use crate::{
    edit::{Loosening, Region, nearest_region},
    text::MARK,
};

/// A text after all hunks.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// What was forgiven, for the model to know.
    pub(crate) loosened: Option<Loosening>,
}

/// A hunk that cannot be applied. Displayed, it tells the model how to go on.
#[derive(Debug)]
pub(crate) struct Misfit {
    /// Where the hunk starts in the patch.
    pub(crate) line: usize,
    pub(crate) reason: Reason,
}

#[derive(Debug)]
pub(crate) enum Reason {
    /// Its lines do not follow each other anywhere.
    NotThere { nearest: Option<Region> },
    /// They do, but not below the lines that the header names.
    NotBelow { headings: Vec<String>, lines: Vec<usize> },
    /// They do, but not at the end of the file.
    NotAtEnd { lines: Vec<usize> },
    /// It fits at these lines, and at more than are listed.
    Ambiguous { lines: Vec<usize>, more: usize },
    /// It only adds, and does not say where.
    Nowhere,
    /// It changes lines that the hunk at that line of the patch has too.
    Overlaps { other: usize },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the hunk at line {} of the patch ", self.line)?;
        match &self.reason {
            Reason::NotThere { nearest: None } => f.write_str(
                "does not fit: its lines are not in the file, nor anything like them; read the file again",
            ),
            Reason::NotThere { nearest: Some(region) } => write!(f, "does not fit; {region}"),
            Reason::NotBelow { headings, lines } => write!(
                f,
                "fits at {}, but not below `{}`; correct the `@@` line",
                Listed(lines, 0),
                headings.join("` and `")
            ),
            Reason::NotAtEnd { lines } => {
                write!(f, "fits at {}, but the file does not end there", Listed(lines, 0))
            }
            Reason::Ambiguous { lines, more } => write!(
                f,
                "fits in {} places ({}); give it more lines around the change",
                lines.len() + more,
                Listed(lines, *more)
            ),
            Reason::Nowhere => f.write_str("only adds lines; give it a line that is there, to say where"),
            Reason::Overlaps { other } => {
                write!(f, "changes lines that the one at line {other} has too; make one of both")
            }
        }
    }
}

/// Some numbers of lines, and how many more there are.
struct Listed<'a>(&'a [usize], usize);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Listed(lines, more) = self;
        let listed: Vec<_> = lines.iter().map(usize::to_string).collect();
        write!(f, "{} {}", if lines.len() + more == 1 { "line" } else { "lines" }, listed.join(", "))?;
        if *more > 0 { write!(f, " and {more} more") } else { Ok(()) }
    }
}

/// Whether the line numbers of a patch are those of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    Hold,
    /// The text has changed since the model was shown it: its lines may stand elsewhere now.
    MayBeOld,
}

/// Of so many hunks that do not fit it is said what is there instead.
const MOST_NEAREST: usize = 10;

/// Applies all hunks, or tells of each why it cannot be.
pub(crate) fn apply(text: &str, hunks: &[Hunk<'_>], numbers: Numbers) -> Result<Applied, Vec<Misfit>> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let file = FileLines::of(body);
    let mut search = Search { file: &file, numbers, views: HashMap::new() };
    let (mut placed, mut misfits) = (Vec::new(), Vec::new());
    for hunk in hunks {
        match search.place(hunk) {
            Ok(place) => placed.push(place),
            Err(mut reason) => {
                if misfits.len() < MOST_NEAREST {
                    reason = reason.with_nearest(body, hunk);
                }
                misfits.push(Misfit { line: hunk.line, reason });
            }
        }
    }
    placed.sort_by_key(|placed| placed.start);
    misfits.extend(placed.windows(2).filter_map(|pair| pair[1].overlap(&pair[0])));
    if !misfits.is_empty() {
        return Err(misfits);
    }
    let loosest = placed.iter().map(|placed| placed.way).max();
    let text = [&text[..text.len() - body.len()], &rewritten(&file, &placed)].concat();
    Ok(Applied { text, loosened: loosest.and_then(Way::loosening) })
}

impl Reason {
    fn with_nearest(self, text: &str, hunk: &Hunk<'_>) -> Reason {
        match self {
            Reason::NotThere { .. } => {
                let old: Vec<_> = hunk.before().map(|line| line.text).collect();
                Reason::NotThere { nearest: nearest_region(text, &old.join("\n")) }
            }
            other => other,
        }
    }
}

/// The lines of a text as a diff sees them: a carriage return is a part of its line.
struct FileLines<'a> {
    lines: Vec<&'a str>,
    /// What stands between them. Very old files have only carriage returns.
    separator: &'static str,
    /// Whether one stands behind the last line as well.
    is_ended: bool,
}

impl<'a> FileLines<'a> {
    fn of(text: &'a str) -> FileLines<'a> {
        let separator = if !text.contains('\n') && text.contains('\r') { "\r" } else { "\n" };
        let mut lines: Vec<_> = text.split(separator).collect();
        let is_ended = text.ends_with(separator);
        if is_ended || text.is_empty() {
            lines.pop();
        }
        FileLines { lines, separator, is_ended }
    }

    fn is_line_ended(&self, at: usize) -> bool {
        at + 1 < self.lines.len() || self.is_ended
    }

    /// The kind of line end that is used around a line.
    fn end_near(&self, at: usize) -> &'static str {
        let ended = (at..self.lines.len()).chain((0..at.min(self.lines.len())).rev());
        let near = ended.take(2).find(|at| self.is_line_ended(*at)).map(|at| self.lines[at]);
        if near.is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { self.separator }
    }
}

/// How lines are compared, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Way {
    AsWritten,
    ButLineEnds,
    ButTrailingBlanks,
}

impl Way {
    const ALL: [Way; 3] = [Way::AsWritten, Way::ButLineEnds, Way::ButTrailingBlanks];

    /// What of a line counts.
    fn trim(self, line: &str) -> &str {
        match self {
            Way::AsWritten => line,
            Way::ButLineEnds => line.strip_suffix('\r').unwrap_or(line),
            Way::ButTrailingBlanks => line.trim_end_matches([' ', '\t', '\r']),
        }
    }

    fn loosening(self) -> Option<Loosening> {
        match self {
            Way::AsWritten => None,
            Way::ButLineEnds => Some(Loosening::LineEndings),
            Way::ButTrailingBlanks => Some(Loosening::TrailingBlanks),
        }
    }
}

/// The lines of a file as numbers, one for each different line, for each way to compare them.
struct Search<'a> {
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
struct Placed<'h> {
    hunk: &'h Hunk<'h>,
    /// The line of the file, from 0.
    start: usize,
    way: Way,
}

const MOST_LISTED: usize = 20;
/// More places than this are not told apart by headings.
const MOST_PLACES: usize = 200;

impl<'a> Search<'a> {
    fn place<'h>(&mut self, hunk: &'h Hunk<'h>) -> Result<Placed<'h>, Reason> {
        if hunk.before().next().is_none() {
            let is_sure = self.file.lines.is_empty() || hunk.ends_file;
            let end = Placed { hunk, start: self.file.lines.len(), way: Way::AsWritten };
            return is_sure.then_some(end).ok_or(Reason::Nowhere);
        }
        for way in Way::ALL {
            let found = self.find(hunk, way);
            if !found.is_empty() {
                return Ok(Placed { hunk, start: self.choose(hunk, found)?, way });
            }
        }
        Err(Reason::NotThere { nearest: None })
    }

    fn find(&mut self, hunk: &Hunk<'_>, way: Way) -> Vec<usize> {
        let view = self.views.entry(way).or_insert_with(|| Numbered::of(self.file, way));
        let wanted: Option<Vec<_>> =
            hunk.before().map(|line| view.number_of.get(way.trim(line.text)).copied()).collect();
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
    fn end(&self) -> usize {
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
    fn overlap(&self, earlier: &Placed<'_>) -> Option<Misfit> {
        let is_apart = self.start >= earlier.end();
        let only_shown = earlier.changed().1 <= self.start && self.changed().0 >= earlier.end();
        (!is_apart && !only_shown)
            .then_some(Misfit { line: self.hunk.line, reason: Reason::Overlaps { other: earlier.hunk.line } })
    }
}

/// A line of the new text and what stands behind it.
struct NewLine<'a> {
    text: &'a str,
    end: &'static str,
}

/// The text after all hunks, which come in order.
fn rewritten(file: &FileLines<'_>, placed: &[Placed<'_>]) -> String {
    let mut lines: Vec<NewLine> = Vec::with_capacity(file.lines.len());
    let mut at = 0;
    for placed in placed {
        keep(file, at..placed.start, &mut lines);
        at = at.max(placed.start);
        let mut ends = LineEnds::of(file, placed);
        let mut old = placed.start;
        for line in &placed.hunk.lines {
            match line.sign {
                Sign::Added => {
                    lines.push(ends.new_line(line));
                    continue;
                }
                Sign::Removed => ends.removed(old),
                Sign::Kept => {
                    ends.kept(old);
                    // Lines that two hunks show are kept once.
                    keep(file, at.max(old)..old + 1, &mut lines);
                }
            }
            old += 1;
            at = at.max(old);
        }
    }
    keep(file, at..file.lines.len(), &mut lines);
    let is_ended = is_ended(file, placed);
    joined(&mut lines, is_ended, file)
}

fn keep<'a>(file: &FileLines<'a>, range: Range<usize>, lines: &mut Vec<NewLine<'a>>) {
    for at in range {
        let end = if file.is_line_ended(at) { file.separator } else { "" };
        lines.push(NewLine { text: file.lines[at], end });
    }
}

/// What the lines end with that a hunk adds.
struct LineEnds<'a> {
    file: &'a FileLines<'a>,
    /// The patch does not know them: new lines end as the lines do that they replace, or that stand above.
    adapts: bool,
    replaced: Range<usize>,
    above: usize,
}

impl<'a> LineEnds<'a> {
    fn of(file: &'a FileLines<'a>, placed: &Placed<'_>) -> LineEnds<'a> {
        // One line that stands in the file as it is written, with its end, proves that the patch knows.
        let is_known = placed.way == Way::AsWritten
            && file.separator == "\n"
            && (placed.start..placed.end()).any(|at| file.is_line_ended(at));
        let has_ends = file.lines.len() > 1 || file.is_ended;
        let above = placed.start.saturating_sub(1);
        LineEnds { file, adapts: has_ends && !is_known, replaced: 0..0, above }
    }

    fn kept(&mut self, at: usize) {
        (self.replaced, self.above) = (0..0, at);
    }

    fn removed(&mut self, at: usize) {
        let start = if self.replaced.is_empty() { at } else { self.replaced.start };
        self.replaced = start..at + 1;
        self.above = at;
    }

    fn new_line<'p>(&mut self, line: &HunkLine<'p>) -> NewLine<'p> {
        if !self.adapts {
            return NewLine { text: line.text, end: if line.is_unended { "" } else { "\n" } };
        }
        let like = self.replaced.next().unwrap_or(self.above);
        NewLine { text: Way::ButLineEnds.trim(line.text), end: self.file.end_near(like) }
    }
}

/// Whether the new text ends with a line end: as the file does, unless a hunk changes that.
fn is_ended(file: &FileLines<'_>, placed: &[Placed<'_>]) -> bool {
    let before = file.is_ended || file.lines.is_empty();
    let Some(last) = placed.last().filter(|last| last.hunk.ends_file) else { return before };
    let unended = |line: Option<&HunkLine<'_>>| line.is_some_and(|line| line.is_unended);
    let (old, new) = (unended(last.hunk.before().last()), unended(last.hunk.after().last()));
    if old == new { before } else { !new }
}

fn joined(lines: &mut [NewLine<'_>], is_ended: bool, file: &FileLines<'_>) -> String {
    let near = file.end_near(file.lines.len());
    let Some((last, others)) = lines.split_last_mut() else { return String::new() };
    for line in others.iter_mut().filter(|line| line.end.is_empty()) {
        line.end = near;
    }
    match is_ended {
        true if last.end.is_empty() => last.end = near,
        true => {}
        false if last.end == "\n" => *last = NewLine { text: Way::ButLineEnds.trim(last.text), end: "" },
        false => last.end = "",
    }
    lines.iter().flat_map(|line| [line.text, line.end]).collect()
}
