//! Where in a text is what would be hidden?

use std::ops::Range;

use crate::{
    Redactor,
    block::{ROUNDS, merged},
    found::write_mark,
    scan::Keys,
};

impl Redactor {
    /// The ranges of bytes that [`Redactor::redact`] replaces in a text, in order, none over another.
    ///
    /// They begin and end at characters. Callers that show a part of a file, or compare it with something, use them to
    /// keep the rest as it is.
    pub fn hidden_ranges(&self, text: &str) -> Vec<Range<usize>> {
        let redacted = self.redact(text);
        if redacted.found.is_empty() {
            return Vec::new();
        }
        let replaced = self.replaced(text.as_bytes());
        if replaced.text == redacted.text.as_bytes() {
            return replaced.marks.into_iter().map(|mark| mark.source).collect();
        }
        // A long line is looked through in windows, which may hide more than one look at the whole.
        vec![changed(text, &redacted.text)]
    }

    fn replaced(&self, text: &[u8]) -> Replaced {
        let worker = self.worker();
        let mut replaced = Replaced { text: text.to_vec(), marks: Vec::new() };
        for round in 0..=ROUNDS {
            let keys = if round == 0 { Keys::Look } else { Keys::Leave };
            let spans = match round {
                0 => worker.all(&replaced.text, keys),
                _ => worker.machine.scan(&replaced.text, worker.known, keys).spans,
            };
            let spans = merged(spans);
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
            next.marks.push(Mark { place: place..next.text.len(), source: start..source });
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
        self.marks.push(Mark { place: place..self.text.len(), source: mark.source.clone() });
    }
}

/// From the first to the last byte of a text that are no more in what became of it.
fn changed(text: &str, clean: &str) -> Range<usize> {
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let length = |(one, _): (char, char)| one.len_utf8();
    let start: usize = text.chars().zip(clean.chars()).take_while(same).map(length).sum();
    let (rest, clean) = (&text[start..], &clean[start..]);
    let behind: usize = rest.chars().rev().zip(clean.chars().rev()).take_while(same).map(length).sum();
    start..text.len() - behind
}
