//! A program's text without what only terminals need.
//!
//! Colours, cursor movements, titles and links go; a progress bar that is drawn over and over on one line leaves its last
//! state. What comes out is what a person would see who looks at the terminal afterwards. Works on a stream, in bounded
//! memory, on any bytes.

use memchr::{memchr_iter, memchr3, memrchr};

/// A line longer than this is passed on in parts; only the last part can still be drawn over.
const LONGEST_LINE: usize = 16 * 1024;

/// An escape sequence longer than this is none: what follows is text again.
const LONGEST_ESCAPE: usize = 4096;

/// Takes bytes as they come, gives text.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// The line that is being written.
    line: Vec<u8>,
    /// A carriage return came last: the next byte says whether it ends the line or starts it anew.
    returned: bool,
    escape: Escape,
    /// How long the escape sequence is by now.
    length: usize,
}

/// Where in an escape sequence we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Escape {
    /// In none.
    #[default]
    None,
    /// After ESC.
    Start,
    /// After ESC and an intermediate byte: one more byte follows.
    Intermediate,
    /// In `ESC [ …`: up to a final byte.
    Control,
    /// In `ESC ] …` and the like: up to BEL or ESC \.
    Text,
    /// In such a text, after ESC.
    TextEnd,
}

impl Cleaner {
    /// Takes bytes, and hands on what is finished.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8])) {
        let mut rest = bytes;
        while let Some((&first, after)) = rest.split_first() {
            if self.escape == Escape::None && !self.returned {
                let plain = memchr3(ESC, b'\r', BACKSPACE, rest).unwrap_or(rest.len());
                if plain > 0 {
                    self.text(&rest[..plain], out);
                    rest = &rest[plain..];
                    continue;
                }
            }
            self.special(first, out);
            rest = after;
        }
    }

    /// The line that is being written, as far as it is known.
    pub(super) fn unfinished(&self) -> &[u8] {
        &self.line
    }

    /// No more comes.
    pub(super) fn finish(&mut self, out: &mut impl FnMut(&[u8])) {
        self.flush(out);
        *self = Cleaner::default();
    }

    fn text(&mut self, text: &[u8], out: &mut impl FnMut(&[u8])) {
        match memrchr(b'\n', text) {
            Some(end) => {
                self.line.extend_from_slice(&text[..=end]);
                self.flush(out);
                self.line.extend_from_slice(&text[end + 1..]);
            }
            None => self.line.extend_from_slice(text),
        }
        if self.line.len() > LONGEST_LINE {
            self.flush(out);
        }
    }

    fn flush(&mut self, out: &mut impl FnMut(&[u8])) {
        if !self.line.is_empty() {
            out(&self.line);
            self.line.clear();
        }
    }

    fn special(&mut self, byte: u8, out: &mut impl FnMut(&[u8])) {
        if self.escape != Escape::None {
            return self.in_escape(byte, out);
        }
        match byte {
            ESC => (self.escape, self.length) = (Escape::Start, 0),
            b'\r' => self.returned = true,
            b'\n' => {
                self.returned = false;
                self.text(b"\n", out);
            }
            BACKSPACE => self.back(),
            byte => {
                self.start_over();
                self.text(&[byte], out);
            }
        }
    }

    /// What follows a carriage return is drawn over the line.
    fn start_over(&mut self) {
        if std::mem::take(&mut self.returned) {
            self.line.clear();
        }
    }

    /// Takes back a character, not only a byte.
    fn back(&mut self) {
        while self.line.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
    }

    fn in_escape(&mut self, byte: u8, out: &mut impl FnMut(&[u8])) {
        self.length += 1;
        self.escape = match (self.escape, byte) {
            _ if self.length > LONGEST_ESCAPE => Escape::None,
            (Escape::Start, b'[') => Escape::Control,
            (Escape::Start, b']' | b'P' | b'X' | b'^' | b'_') => Escape::Text,
            (Escape::Start | Escape::Intermediate, 0x20..=0x2f) => Escape::Intermediate,
            (Escape::Control, 0x20..=0x3f) => Escape::Control,
            (Escape::Control, b'K') => {
                // Clears the line, or the rest of it: with a carriage return before it, all.
                self.start_over();
                Escape::None
            }
            (Escape::Text, 0x07) => Escape::None,
            (Escape::Text, ESC) => Escape::TextEnd,
            (_, b'\n' | b'\r') => return self.broken_off(byte, out),
            (Escape::Text | Escape::TextEnd, _) if byte != b'\\' || self.escape == Escape::Text => {
                Escape::Text
            }
            (_, ESC) => Escape::Start,
            _ => Escape::None,
        };
    }

    /// No sequence goes over a line's end: it was none, or was cut off.
    fn broken_off(&mut self, byte: u8, out: &mut impl FnMut(&[u8])) {
        self.escape = Escape::None;
        self.special(byte, out);
    }
}

const ESC: u8 = 0x1b;
const BACKSPACE: u8 = 0x08;

/// How many lines end in here.
pub(super) fn lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clean(pieces: &[&[u8]]) -> Vec<u8> {
        let (mut cleaner, mut out) = (Cleaner::default(), Vec::new());
        let mut take = |text: &[u8]| out.extend_from_slice(text);
        pieces.iter().for_each(|piece| cleaner.push(piece, &mut take));
        cleaner.finish(&mut take);
        out
    }

    #[track_caller]
    fn check(raw: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&clean(&[raw.as_bytes()])), expected, "{raw:?}");
        let single: Vec<&[u8]> = raw.as_bytes().chunks(1).collect();
        assert_eq!(String::from_utf8_lossy(&clean(&single)), expected, "{raw:?}, byte by byte");
    }

    #[test]
    fn colours_titles_and_links_go() {
        check("\x1b[1;31merror\x1b[0m: no", "error: no");
        check("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb");
        check("\x1b(B\x1b=a\x1bMb\x1b[?25lc", "abc");
    }

    #[test]
    fn a_progress_bar_leaves_its_last_state() {
        check("10%\r50%\r100%\ndone\n", "100%\ndone\n");
        check("loading\r\x1b[Kready\n", "ready\n");
        check("10%\r", "10%");
    }

    #[test]
    fn windows_line_ends_become_plain_ones() {
        check("a\r\nb\r\r\nc", "a\nb\nc");
    }

    #[test]
    fn overstruck_characters_are_taken_back() {
        check("N\x08NA\x08A", "NA");
        check("é\x08e", "e");
    }

    #[test]
    fn a_sequence_that_never_ends_takes_no_more_than_its_line() {
        check("\x1b]0;title\nnext", "\nnext");
        check("a\x1b[12\nb", "a\nb");
        check("a\x1b", "a");
    }

    #[test]
    fn what_is_no_text_passes() {
        assert_eq!(clean(&[b"\xff\x00\xfe\n"]), b"\xff\x00\xfe\n");
    }

    #[test]
    fn a_line_without_end_is_passed_on_in_parts() {
        let mut cleaner = Cleaner::default();
        let mut passed = 0;
        for _ in 0..1000 {
            cleaner.push(&[b'x'; 1000], &mut |text| passed += text.len());
            assert!(cleaner.unfinished().len() <= LONGEST_LINE + 1000);
        }
        assert!(passed > 900_000);
    }

    proptest! {
        #[test]
        fn how_it_is_cut_into_pieces_does_not_matter(
            raw in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(ESC), Just(b'['), Just(b']'), Just(b'\r'), Just(b'\n'), Just(b'm')], 0..60),
            at in 0..60usize,
        ) {
            let (one, other) = raw.split_at(at.min(raw.len()));
            prop_assert_eq!(clean(&[&raw]), clean(&[one, other]));
        }
    }
}
