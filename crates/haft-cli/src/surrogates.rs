//! JSON as models write it, so that a strict reader can take it: half a surrogate pair becomes U+FFFD.
//!
//! `haft_schema::parse` does the same for a text that is there as a whole. This one passes on each byte as soon as it can, for
//! input that comes while calls run.

use std::io::{self, Read};

/// Reads what another reader has, with `\ufffd` for each escaped surrogate that has lost its other half.
pub(crate) struct WholeSurrogates<R> {
    from: R,
    /// The beginning of an escape of which the rest has not come.
    held: Vec<u8>,
    /// What can be passed on, and how much of it was.
    ready: Vec<u8>,
    passed: usize,
}

/// What the bytes at hand turn out to be.
enum Beginning {
    /// So many bytes are as they should be.
    Whole(usize),
    /// An escape without its other half.
    Half,
    /// More must come.
    Open,
}

impl<R: Read> WholeSurrogates<R> {
    pub(crate) fn new(from: R) -> WholeSurrogates<R> {
        WholeSurrogates { from, held: Vec::new(), ready: Vec::new(), passed: 0 }
    }

    fn take(&mut self, byte: u8) {
        self.held.push(byte);
        while !self.held.is_empty() {
            match beginning(&self.held) {
                Beginning::Whole(count) => self.ready.extend(self.held.drain(..count)),
                Beginning::Half => {
                    self.ready.extend(b"\\ufffd");
                    self.held.drain(..ESCAPE);
                }
                Beginning::Open => return,
            }
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        (self.passed, self.ready) = (0, Vec::new());
        let mut chunk = [0; 8 * 1024];
        while self.ready.is_empty() {
            let count = self.from.read(&mut chunk)?;
            if count == 0 {
                self.ready.append(&mut self.held);
                return Ok(());
            }
            chunk[..count].iter().for_each(|byte| self.take(*byte));
        }
        Ok(())
    }
}

impl<R: Read> Read for WholeSurrogates<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.passed == self.ready.len() {
            self.fill()?;
        }
        let count = buffer.len().min(self.ready.len() - self.passed);
        buffer[..count].copy_from_slice(&self.ready[self.passed..self.passed + count]);
        self.passed += count;
        Ok(count)
    }
}

/// The length of `\ud800`.
const ESCAPE: usize = 6;

fn beginning(bytes: &[u8]) -> Beginning {
    match escape(bytes) {
        Escape::None(count) => Beginning::Whole(count),
        Escape::Open => Beginning::Open,
        Escape::Unit(0xD800..=0xDBFF) => {
            match bytes.get(ESCAPE..).filter(|rest| !rest.is_empty()).map(escape) {
                Some(Escape::Unit(0xDC00..=0xDFFF)) => Beginning::Whole(2 * ESCAPE),
                Some(Escape::Open) | None => Beginning::Open,
                Some(_) => Beginning::Half,
            }
        }
        Escape::Unit(0xDC00..=0xDFFF) => Beginning::Half,
        Escape::Unit(_) => Beginning::Whole(ESCAPE),
    }
}

enum Escape {
    /// None of a code unit: so many bytes are something else.
    None(usize),
    Open,
    Unit(u16),
}

fn escape(bytes: &[u8]) -> Escape {
    match bytes {
        [b'\\', b'u', digits @ ..] => {
            let digits = &digits[..digits.len().min(4)];
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return Escape::None(2);
            }
            let unit = str::from_utf8(digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok());
            unit.filter(|_| digits.len() == 4).map_or(Escape::Open, Escape::Unit)
        }
        [b'\\'] => Escape::Open,
        // What a backslash stands before may be a backslash, which begins nothing.
        [b'\\', ..] => Escape::None(2),
        _ => Escape::None(1),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives a byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn read(from: impl Read) -> String {
        let mut all = String::new();
        WholeSurrogates::new(from).read_to_string(&mut all).unwrap();
        all
    }

    #[test]
    fn half_a_pair_is_replaced_and_all_else_is_passed_on() {
        for (text, expected) in [
            (r#"{"a":"\ud800"}"#, r#"{"a":"\ufffd"}"#),
            (r#""\udfff\ud83d\ude00\ud83d""#, r#""\ufffd\ud83d\ude00\ufffd""#),
            (r#""\\ud800 \u00e9 \n \ux""#, r#""\\ud800 \u00e9 \n \ux""#),
            (r"\ud8", r"\ud8"),
            (r#""\ud800\u0041""#, r#""\ufffd\u0041""#),
        ] {
            assert_eq!(read(text.as_bytes()), expected);
            assert_eq!(read(Slow(text.as_bytes())), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_read_is_what_the_whole_text_means(text in r#"(\\u(d8|DC|00|df)[0-9a-f]{2}|\\\\|\\n|[a-z]){0,12}"#) {
            let json = format!("\"{text}\"");
            let whole = haft_schema::parse(&json).expect("JSON");
            let read: serde_json::Value = serde_json::from_str(&read(Slow(json.as_bytes()))).expect("JSON");
            prop_assert_eq!(read, whole);
        }
    }
}
