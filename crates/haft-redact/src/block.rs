//! Whole lines in, text without secrets out.
//!
//! A block may be any number of lines: what is between two line breaks is judged by itself, so that it does not matter
//! where blocks begin. What does matter from one block to the next is a [`Carry`].

use crate::{
    found::{Found, KNOWN, PRIVATE_KEY, Span, write_mark},
    known::Known,
    pem,
    scan::{Keys, Machine},
};

/// What is known about text that has been given out already.
#[derive(Default)]
pub(crate) struct Carry {
    /// A private key that was begun.
    key: Option<pem::Key>,
    /// What is given out as it is, unless the key goes on: its first line as long as nothing follows, a line break.
    pending: Vec<u8>,
    /// So much of that was given out, and is there to be looked back at.
    seen: usize,
    /// What the key's first line begins with, as it is given out if the key goes on, and what was found in it.
    before: (Vec<u8>, Found),
    /// A secret without end: what goes on as a word belongs to it.
    is_hiding: bool,
}

/// Takes secrets out of blocks.
pub(crate) struct Worker<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) known: &'a [Known],
}

/// Of a line in which a key begins, so much is kept back with it.
const KEPT: usize = 1024;

/// How often what became of a line is looked at again.
pub(crate) const ROUNDS: usize = 4;

impl Worker<'_> {
    /// A whole text without long lines and private keys; `None` if it can be given out as it is.
    pub(crate) fn whole(&self, text: &[u8], found: &mut Found) -> Option<Vec<u8>> {
        let spans = self.machine.scan(text, self.known, Keys::Leave).spans;
        if spans.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(text.len());
        self.write(text, 0, &merged(spans), &mut out, found);
        Some(out)
    }

    /// Gives out whole lines. What lies before `done` was given out and is there to be looked back at.
    pub(crate) fn lines(
        &self,
        text: &[u8],
        done: usize,
        carry: &mut Carry,
        out: &mut Vec<u8>,
        found: &mut Found,
    ) {
        let mut done = carry.hidden(text, done);
        // Behind a key that ends here, what is before it is still there to be looked back at, but is no text any more.
        let key_end = self.key_end(text, done, carry, out, found);
        done = key_end.unwrap_or(done);
        let from = key_end.unwrap_or(0);
        let scanned = self.machine.scan_from(text, from, self.known, Keys::Look);
        let (end, spans) = (carry.begin_key(text, scanned.open), merged(scanned.spans));
        let is_key = |span: &&Span| span.kind == PRIVATE_KEY && span.end <= end;
        let from = spans.iter().rev().find(is_key).map_or(from, |last| last.end);
        if end == text.len() || end - from > KEPT {
            return self.write(&text[..end], done, &spans, out, found);
        }
        // Whether there is a key decides how what stands before it reads.
        let (out_now, later) = spans.split_at(spans.partition_point(|span| span.end <= from));
        if from > done {
            self.write(&text[..from], done, out_now, out, found);
        }
        let done = done.max(from);
        (carry.pending, carry.seen) = (text[from..].to_vec(), done - from);
        let (before, found) = &mut carry.before;
        self.write(&text[..end], done, later, before, found);
        // Without the key's first line, its last word may read otherwise.
        self.settle(true, 0, before, found);
    }

    /// Gives out the beginning of a line that is too long to wait for its end, and says how far it went. What begins in
    /// the last bytes is left for the next time, when more of it is there.
    pub(crate) fn window(
        &self,
        text: &[u8],
        done: usize,
        ahead: usize,
        carry: &mut Carry,
        out: &mut Vec<u8>,
        found: &mut Found,
    ) -> usize {
        let done = carry.hidden(text, done);
        if done == text.len() {
            return done;
        }
        if let Some(end) = self.key_end(text, done, carry, out, found) {
            return end;
        }
        let scanned = self.machine.scan(text, self.known, Keys::Look);
        let mut cut = char_start(text, done.max(text.len().saturating_sub(ahead)));
        let mut spans = merged(scanned.spans);
        spans.retain(|span| {
            let is_now = span.start < cut;
            cut = if is_now { cut.max(span.end) } else { cut };
            is_now
        });
        let open = scanned.open.filter(|(start, _)| *start < cut);
        carry.is_hiding =
            cut == text.len() && open.is_none() && spans.last().is_some_and(|last| last.end == cut);
        let end = if open.is_some() { carry.begin_key(text, open) } else { cut };
        self.write(&text[..end], done, &spans, out, found);
        if open.is_some() { text.len() } else { cut }
    }

    /// Where the key ends that was begun in an earlier block.
    fn key_end(
        &self,
        text: &[u8],
        done: usize,
        carry: &mut Carry,
        out: &mut Vec<u8>,
        found: &mut Found,
    ) -> Option<usize> {
        let key = carry.key.take()?;
        let read = pem::go_on(text, done, key);
        if read.has_body && !key.has_body {
            let (before, in_it) = std::mem::take(&mut carry.before);
            out.extend_from_slice(&before);
            found.add(&in_it);
            write_mark(out, PRIVATE_KEY);
            found.note(PRIVATE_KEY);
        }
        if read.has_body && (read.end > done || read.open.is_some()) {
            (carry.pending, carry.seen) = (Vec::new(), 0);
        }
        carry.key = read.open;
        match (read.open, read.has_body) {
            (Some(_), true) => carry.pending = line_break(text).to_vec(),
            (Some(_), false) => carry.pending.extend_from_slice(&text[done..]),
            (None, true) => out.append(&mut carry.pending),
            // It was none: what was kept back is text like any other, and so is what it was read on over.
            (None, false) => {
                self.give_up(carry, out, found);
                return Some(done);
            }
        }
        Some(read.end)
    }

    /// What was kept back is given out.
    fn give_up(&self, carry: &mut Carry, out: &mut Vec<u8>, found: &mut Found) {
        let (pending, seen) = (std::mem::take(&mut carry.pending), std::mem::take(&mut carry.seen));
        carry.before = Default::default();
        let scanned = self.machine.scan(&pending, self.known, Keys::Leave);
        self.write(&pending, seen, &merged(scanned.spans), out, found);
    }

    /// The end: nothing is kept back any longer.
    pub(crate) fn finish(&self, carry: &mut Carry, out: &mut Vec<u8>, found: &mut Found) {
        self.give_up(carry, out, found);
        *carry = Carry::default();
    }

    fn write(&self, text: &[u8], done: usize, spans: &[Span], out: &mut Vec<u8>, found: &mut Found) {
        let (mut at, mut line) = (done, out.len());
        let mut is_changed = false;
        for span in spans.iter().filter(|span| span.end > done) {
            let between = &text[at..span.start.max(at)];
            if let Some(first) = memchr::memchr(b'\n', between) {
                out.extend_from_slice(&between[..first]);
                self.settle(is_changed, line, out, found);
                out.extend_from_slice(&between[first..]);
                line = memchr::memrchr(b'\n', out).map_or(line, |at| at + 1);
            } else {
                out.extend_from_slice(between);
            }
            write_mark(out, span.kind);
            found.note(span.kind);
            (at, is_changed) = (span.end, true);
        }
        let rest = &text[at.min(text.len())..];
        let first = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        out.extend_from_slice(&rest[..first]);
        self.settle(is_changed, line, out, found);
        out.extend_from_slice(&rest[first..]);
    }

    /// Looks again at a line that was changed: what is left may look different without what was taken out. So doing it
    /// all once more changes nothing.
    fn settle(&self, is_changed: bool, line: usize, out: &mut Vec<u8>, found: &mut Found) {
        for _ in 0..if is_changed { ROUNDS } else { 0 } {
            let spans = merged(self.machine.scan(&out[line..], self.known, Keys::Leave).spans);
            if spans.is_empty() {
                return;
            }
            let text = out.split_off(line);
            let mut at = 0;
            for span in spans {
                out.extend_from_slice(&text[at..span.start]);
                write_mark(out, span.kind);
                found.note(span.kind);
                at = span.end;
            }
            out.extend_from_slice(&text[at..]);
        }
    }
}

impl Carry {
    /// How much this keeps back.
    pub(crate) fn held(&self) -> usize {
        self.pending.len() - self.seen
    }

    /// Whether a private key was begun.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Where a secret without end ends.
    fn hidden(&mut self, text: &[u8], done: usize) -> usize {
        if !self.is_hiding {
            return done;
        }
        let is_end = |byte: &u8| {
            byte.is_ascii_whitespace()
                || matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'&' | b';' | b',')
        };
        let length = text[done..].iter().position(is_end);
        self.is_hiding = length.is_none();
        done + length.unwrap_or(text.len() - done)
    }

    /// Remembers a key that goes on behind a block. Says where what is given out of the block ends.
    fn begin_key(&mut self, text: &[u8], open: Option<(usize, pem::Key)>) -> usize {
        let Some((start, key)) = open else { return text.len() };
        self.key = Some(key);
        if key.has_body {
            self.pending = line_break(text).to_vec();
            return text.len();
        }
        self.pending = text[start.min(text.len())..].to_vec();
        start
    }
}

/// The line break at the end of a text.
fn line_break(text: &[u8]) -> &[u8] {
    let length = if text.ends_with(b"\r\n") { 2 } else { usize::from(text.ends_with(b"\n")) };
    &text[text.len() - length..]
}

/// In order, none over another. What overlaps becomes one, named by the surer, and so do the pieces of a long value.
pub(crate) fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last)
                if span.start < last.end
                    || span.start == last.end && span.kind == KNOWN && last.kind == KNOWN =>
            {
                last.end = last.end.max(span.end);
                if span.sure && !last.sure {
                    (last.kind, last.sure) = (span.kind, true);
                }
            }
            _ => merged.push(span),
        }
    }
    merged
}

/// The beginning of the character at a place, if it is in the middle of one.
fn char_start(text: &[u8], at: usize) -> usize {
    let back = text[..(at + 1).min(text.len())]
        .iter()
        .rev()
        .take(4)
        .take_while(|byte| **byte & 0xc0 == 0x80)
        .count();
    if back < 4 { at.saturating_sub(back) } else { at }
}
