//! A text and hunks, and what the text is afterwards.
//!
//! Every hunk is looked for in the text as it was, so their order does not matter. Lines that are kept keep the file's
//! bytes; lines that are added end as those around them do, unless the patch shows that it knows better.

use std::ops::Range;

use haft_tool::{Hidden, without_hidden};

use super::{
    misfit::Misfit,
    parse::{Hunk, HunkLine, Sign},
    search::{FileLines, Numbers, Placed, Search, Way},
};
use crate::{edit::Loosening, text::MARK};

/// A text after all hunks.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) text: String,
    /// What was forgiven, for the model to know.
    pub(crate) loosened: Option<Loosening>,
}

/// Of so many hunks that do not fit it is said what is there instead.
const MOST_NEAREST: usize = 10;

/// Applies all hunks, or tells of each why it cannot be.
///
/// What is there instead is told as the model is shown it, without what is hidden.
pub(crate) fn apply(
    text: &str,
    hidden: &[Hidden],
    hunks: &[Hunk<'_>],
    numbers: Numbers,
) -> Result<Applied, Vec<Misfit>> {
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let file = FileLines::of(body);
    let mut search = Search::new(&file, numbers);
    let (mut placed, mut misfits) = (Vec::new(), Vec::new());
    for hunk in hunks {
        match search.place(hunk) {
            Ok(place) => placed.push(place),
            Err(mut reason) => {
                if misfits.len() < MOST_NEAREST {
                    let shown = without_hidden(text, hidden);
                    reason = reason.with_nearest(shown.strip_prefix(MARK).unwrap_or(&shown), hunk);
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
    let bare = if last.end == "\n" { Way::ButLineEnds.trim(last.text) } else { last.text };
    // An empty line is there by its end alone.
    if is_ended || bare.is_empty() {
        last.end = if last.end.is_empty() { near } else { last.end };
    } else {
        *last = NewLine { text: bare, end: "" };
    }
    lines.iter().flat_map(|line| [line.text, line.end]).collect()
}
