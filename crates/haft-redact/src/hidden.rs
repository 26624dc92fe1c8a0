//! Where in a text is what would be hidden?

use std::ops::Range;

use crate::{
    Redactor,
    block::{ROUNDS, merged},
    found::{MARK, write_mark},
    marks::marks,
    scan::Keys,
};

/// A literal of a line that is shorter may stand anywhere, also within a secret.
const TELLING: usize = 16;

impl Redactor {
    /// The ranges of bytes that [`Redactor::redact`] replaces in a text, in order, none over another, each with the mark
    /// that stands there instead.
    ///
    /// They begin and end at characters. Callers that show a part of a file, or compare it with something, use them to
    /// keep the rest as it is.
    pub fn hidden_ranges(&self, text: &str) -> Vec<(Range<usize>, String)> {
        let redacted = self.redact(text);
        if redacted.found.is_empty() {
            return Vec::new();
        }
        let replaced = self.replaced(text.as_bytes());
        if replaced.text == redacted.text.as_bytes() {
            return replaced
                .marks
                .into_iter()
                .map(|mark| (mark.source, format!("{MARK}{}]", mark.kind)))
                .collect();
        }
        // Long lines and private keys are looked through in pieces, which may hide more than one look at the whole.
        Aligned::new(text).all(&redacted.text)
    }

    fn replaced(&self, text: &[u8]) -> Replaced {
        let worker = self.worker();
        let mut replaced = Replaced { text: text.to_vec(), marks: Vec::new() };
        for round in 0..=ROUNDS {
            let keys = if round == 0 { Keys::Look } else { Keys::Leave };
            let spans = merged(worker.machine.scan(&replaced.text, worker.known, keys).spans);
            if spans.is_empty() {
                break;
            }
            let spans = spans.into_iter().map(|span| (span.start..span.end, span.kind));
            replaced = replaced.with(spans);
        }
        replaced
    }
}

/// A text in which ranges of a source were replaced.
struct Replaced {
    text: Vec<u8>,
    marks: Vec<Mark>,
}

/// What stands in the place of a range.
struct Mark {
    place: Range<usize>,
    source: Range<usize>,
    kind: &'static str,
}

impl Replaced {
    /// The same with more ranges of it replaced.
    fn with(self, spans: impl Iterator<Item = (Range<usize>, &'static str)>) -> Replaced {
        let mut next = Replaced { text: Vec::with_capacity(self.text.len()), marks: Vec::new() };
        let mut old = self.marks.iter().peekable();
        let (mut at, mut source) = (0, 0);
        for (span, kind) in spans {
            while let Some(mark) = old.next_if(|mark| mark.place.end <= span.start) {
                next.copy(&self.text[at..mark.place.end], mark, at);
                (at, source) = (mark.place.end, mark.source.end);
            }
            let start = match old.peek() {
                Some(mark) if mark.place.start <= span.start => mark.source.start,
                _ => source + span.start - at,
            };
            next.text.extend_from_slice(&self.text[at..span.start]);
            (source, at) = (source + span.end - at, span.end);
            while let Some(mark) = old.next_if(|mark| mark.place.start < span.end) {
                source = mark.source.end + span.end.saturating_sub(mark.place.end);
            }
            let place = next.text.len();
            write_mark(&mut next.text, kind);
            next.marks.push(Mark { place: place..next.text.len(), source: start..source, kind });
        }
        for mark in old {
            next.copy(&self.text[at..mark.place.end], mark, at);
            at = mark.place.end;
        }
        next.text.extend_from_slice(&self.text[at..]);
        next
    }

    fn copy(&mut self, text: &[u8], mark: &Mark, from: usize) {
        let place = self.text.len() + mark.place.start - from;
        self.text.extend_from_slice(text);
        self.marks.push(Mark { place: place..self.text.len(), source: mark.source.clone(), kind: mark.kind });
    }
}

/// A text and what became of it, side by side: whatever of the text does not stand in the other, in order, is hidden. Where
/// the two cannot be told apart, this hides more.
struct Aligned<'a> {
    text: &'a str,
    /// Its lines, with their ends.
    lines: Vec<Range<usize>>,
    line: usize,
    hidden: Vec<(Range<usize>, String)>,
}

impl<'a> Aligned<'a> {
    fn new(text: &'a str) -> Aligned<'a> {
        let mut at = 0;
        let lines = text.split_inclusive('\n').map(|line| {
            at += line.len();
            at - line.len()..at
        });
        Aligned { text, lines: lines.collect(), line: 0, hidden: Vec::new() }
    }

    fn all(mut self, clean: &str) -> Vec<(Range<usize>, String)> {
        let mut changed: Vec<&str> = Vec::new();
        for line in clean.split_inclusive('\n') {
            let is_same = |at: usize| &self.text[self.lines[at].clone()] == line;
            if changed.is_empty() && self.line < self.lines.len() && is_same(self.line) {
                self.line += 1;
            } else if marks(line).next().is_some() {
                changed.push(line);
            } else if let Some(next) = (self.line..self.lines.len()).find(|at| is_same(*at)) {
                self.pass(&changed, next);
                changed.clear();
                self.line = next + 1;
            } else {
                // It was two lines, or the end of another.
                changed.push(line);
            }
        }
        self.pass(&changed, self.lines.len());
        self.hidden
    }

    /// The lines up to `end` became those.
    fn pass(&mut self, changed: &[&str], end: usize) {
        let lines: Vec<Range<usize>> = self.lines[self.line..end].to_vec();
        if lines.len() == changed.len() {
            lines.into_iter().zip(changed).for_each(|(line, clean)| self.within(line, clean));
        } else if let (Some(first), Some(last)) = (lines.first(), lines.last()) {
            self.within(first.start..last.end, &changed.concat());
        }
    }

    /// This part of the text became that.
    fn within(&mut self, part: Range<usize>, clean: &str) {
        let text = &self.text[part.clone()];
        if text == clean {
            return;
        }
        let mut at = common(text.chars(), clean.chars());
        let end = text.len() - common(text[at..].chars().rev(), clean[at..].chars().rev());
        let mut mark = None;
        let mut literal = at;
        let prefix = at;
        for next in marks(clean).filter(|next| next.range.end > prefix) {
            let between = clean.get(literal..next.range.start).unwrap_or_default();
            if let Some(shown) = mark.take_if(|_| between.len() >= TELLING)
                && let Some(found) = text[at..end].find(between)
            {
                self.hide(part.start + at..part.start + at + found, shown);
                at += found + between.len();
            }
            mark.get_or_insert(next.text);
            literal = next.range.end;
        }
        self.hide(part.start + at..part.start + end, mark.unwrap_or("[redacted: secret]"));
    }

    fn hide(&mut self, range: Range<usize>, mark: &str) {
        if !range.is_empty() {
            self.hidden.push((range, mark.to_owned()));
        }
    }
}

/// How many bytes two texts have in common.
fn common(one: impl Iterator<Item = char>, other: impl Iterator<Item = char>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum()
}
