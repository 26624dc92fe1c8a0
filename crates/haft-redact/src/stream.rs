//! Text that comes in pieces.
//!
//! Lines are given out as soon as they are whole. Of a line that does not end, at most [`Stream::HELD`] bytes are kept
//! back; then it is given out from its beginning, up to a point behind which enough is left to know what begins there.
//! A secret that is longer than all that is hidden as far as it was seen, and so is everything that goes on as the same
//! word: reaching the bound hides more, never less. The same is done with long lines of a whole text and with private keys
//! in it, which is why the pieces do not matter.

use std::sync::Arc;

use crate::{
    Redactor, assigned,
    block::{Carry, Worker},
    found::Found,
    pem,
};

/// From here on a line is long.
pub(crate) const LONG: usize = 32 * 1024;
/// What is left of a long line, to know what begins there.
const AHEAD: usize = 8 * 1024;
/// What is kept of what was given out, to look back at.
const BEHIND: usize = 1024;
/// Pieces are taken in so much at a time.
const BITE: usize = 64 * 1024;

/// Takes secrets out of text that comes in pieces. However it is cut, the same text comes out.
///
/// ```
/// use std::sync::Arc;
/// use haft_redact::{Redactor, Stream};
///
/// let mut stream = Stream::new(Arc::new(Redactor::builder().build()));
/// let mut out = stream.push("DB_PASSW");
/// out += &stream.push("ORD=Zq7-Wm3-Kp9\nnext");
/// assert_eq!(out, "DB_PASSWORD=[redacted: password]\n");
/// assert_eq!(stream.finish(), "next");
/// ```
pub struct Stream {
    redactor: Arc<Redactor>,
    pieces: Pieces,
}

impl Stream {
    /// No more than this is kept back.
    pub const HELD: usize = LONG + 4096;

    /// A stream that has seen nothing yet.
    pub fn new(redactor: Arc<Redactor>) -> Stream {
        Stream { redactor, pieces: Pieces::default() }
    }

    /// Takes a piece, gives out what is known to be harmless or was made so.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = Vec::with_capacity(piece.len());
        self.push_bytes(piece.as_bytes(), &mut out);
        text(out)
    }

    /// The same with bytes; what is no text stays as it is.
    pub fn push_bytes(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        self.pieces.push(&self.redactor.worker(), piece, out);
    }

    /// The end: gives out the rest. The stream can be used for another text.
    pub fn finish(&mut self) -> String {
        let mut out = Vec::new();
        self.finish_bytes(&mut out);
        text(out)
    }

    /// The same with bytes.
    pub fn finish_bytes(&mut self, out: &mut Vec<u8>) {
        self.pieces.finish(&self.redactor.worker(), out);
    }

    /// What has been found so far.
    pub fn found(&self) -> &Found {
        &self.pieces.found
    }

    /// How many bytes are kept back now.
    pub fn held(&self) -> usize {
        self.pieces.buffer.len() - self.pieces.done + self.pieces.carry.held()
    }
}

/// What is kept between two pieces.
#[derive(Default)]
pub(crate) struct Pieces {
    buffer: Vec<u8>,
    /// What lies before this is needed no more.
    from: usize,
    /// How much of the buffer was given out.
    done: usize,
    carry: Carry,
    pub(crate) found: Found,
}

impl Pieces {
    pub(crate) fn push(&mut self, worker: &Worker<'_>, piece: &[u8], out: &mut Vec<u8>) {
        for bite in piece.chunks(BITE) {
            self.buffer.extend_from_slice(bite);
            // What was there before has no end of a line in it, and need not be looked through again.
            let is_short = self.buffer.len() - self.done < LONG;
            if is_short && memchr::memchr(b'\n', bite).is_none() {
                continue;
            }
            while self.step(worker, out) {}
            self.buffer.drain(..self.from);
            self.done -= self.from;
            self.from = 0;
        }
    }

    pub(crate) fn finish(&mut self, worker: &Worker<'_>, out: &mut Vec<u8>) {
        let rest = std::mem::take(&mut self.buffer);
        // Nothing is no line: it must not look like one more that belongs to a private key.
        if rest.len() > self.done {
            worker.lines(&rest, self.done, &mut self.carry, out, &mut self.found);
        }
        worker.finish(&mut self.carry, out, &mut self.found);
        self.done = 0;
    }

    /// Gives out lines, or the beginning of a long one. Says whether there was something to give.
    fn step(&mut self, worker: &Worker<'_>, out: &mut Vec<u8>) -> bool {
        let (fresh, behind) = (&self.buffer[self.done..], self.done - self.from);
        let (lines, has_long) = (short_lines(fresh), fresh.len() >= LONG);
        if lines > 0 {
            let lines = self.at_once(&fresh[..lines]);
            if lines == 0 {
                return false;
            }
            let block = &self.buffer[self.from..self.done + lines];
            worker.lines(block, behind, &mut self.carry, out, &mut self.found);
            let kept = if self.carry.has_key() { 0 } else { naming_lines(block) };
            self.done += lines;
            self.from = self.done - kept;
        } else if has_long {
            let window = &self.buffer[self.from..self.done + LONG];
            self.done =
                self.from + worker.window(window, behind, AHEAD, &mut self.carry, out, &mut self.found);
            self.from = self.from.max(self.done.saturating_sub(BEHIND));
        }
        lines > 0 || has_long
    }

    /// How much of whole lines is judged at once. Those that may belong to a private key come one by one: it goes over lines, and
    /// what is made of each must not depend on how many others came with it.
    fn at_once(&self, lines: &[u8]) -> usize {
        let first_line = |lines: &[u8]| memchr::memchr(b'\n', lines).map_or(lines.len(), |end| end + 1);
        let key = if self.carry.has_key() { Some(0) } else { pem::begins(lines) };
        let count = match key.map(|key| memchr::memrchr(b'\n', &lines[..key])) {
            None => lines.len(),
            Some(Some(before)) => before + 1,
            Some(None) => first_line(lines),
        };
        if self.carry.has_key() || !self.carry.body.is_open(&lines[..count]) {
            return count;
        }
        match last_line(&lines[..count]) {
            // The next line says what it is: it is judged with that, or waits for it.
            0 if count < lines.len() => self.with_next(lines, count),
            start => start,
        }
    }

    /// The first line, and as many behind it as it takes to judge all of them.
    fn with_next(&self, lines: &[u8], mut count: usize) -> usize {
        while count < lines.len() && self.carry.body.is_open(&lines[..count]) {
            count += memchr::memchr(b'\n', &lines[count..]).map_or(lines.len() - count, |end| end + 1);
        }
        if self.carry.body.is_open(&lines[..count]) { last_line(&lines[..count]) } else { count }
    }
}

/// Where the last of these lines begins.
fn last_line(lines: &[u8]) -> usize {
    let line = lines.strip_suffix(b"\n").unwrap_or(lines);
    memchr::memrchr(b'\n', line).map_or(0, |at| at + 1)
}

/// How much at the end of these lines names what lines below may hold.
fn naming_lines(lines: &[u8]) -> usize {
    let (mut end, mut kept) = (lines.len(), 0);
    let mut is_chain = true;
    for number in 0..assigned::ABOVE {
        if end == 0 {
            break;
        }
        let start = last_line(&lines[..end]);
        let line = lines[start..end].strip_suffix(b"\n").unwrap_or(&lines[start..end]);
        is_chain &= assigned::is_continued(line);
        if is_chain || assigned::names_next(line, number == 0) {
            kept = lines.len() - start;
        }
        end = start;
    }
    kept
}

/// How much of a text are whole lines, up to the first that is long.
pub(crate) fn short_lines(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(last) = memchr::memrchr(b'\n', &text[at..text.len().min(at + LONG)]) {
        at += last + 1;
    }
    at
}

/// What is cut out of text begins and ends at characters, so what is left is text.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned())
}
