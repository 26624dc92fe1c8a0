//! Quoted text, in all its forms.

use super::{
    pieces::{Pieces, push_joined},
    reader::Parser,
    tree::*,
};

/// What quotes stand around something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    Nothing,
    /// `"…"`
    Double,
    /// The body of a here-document.
    Here,
    /// Text where bash reads quotes twice, in two ways.
    Unclear,
}

impl Parser<'_> {
    /// `\x`
    pub(super) fn escaped(&mut self, pieces: &mut Pieces) {
        let start = self.pos;
        self.bump();
        match self.take_char() {
            Some(next) => pieces.quoted(next.encode_utf8(&mut [0; 4])),
            None => self.fail(start, "nothing follows the backslash"),
        }
    }

    /// `'…'`
    pub(super) fn single_quoted(&mut self, pieces: &mut Pieces) {
        if let Some(text) = self.single() {
            pieces.quoted(text);
        }
    }

    /// What stands between single quotes; `None` if they are not closed.
    pub(super) fn single(&mut self) -> Option<&str> {
        let start = self.pos;
        self.bump();
        let from = self.pos;
        match self.text[from..].find('\'') {
            Some(length) => {
                self.pos = from + length + 1;
                Some(&self.text[from..from + length])
            }
            None => {
                self.fail(start, "a single quote is not closed");
                None
            }
        }
    }

    /// `"…"`
    pub(super) fn double_quoted(&mut self, pieces: &mut Pieces) {
        let start = self.pos;
        self.bump();
        let parts = self.nested(|parser| parser.double(Around::Double));
        if !self.eat("\"") {
            self.fail(start, "a double quote is not closed");
        }
        match parts.iter().all(|part| matches!(part, Part::Quoted(_))) {
            true if parts.is_empty() => pieces.quoted(""),
            true => parts.into_iter().for_each(|part| pieces.part(part)),
            false => pieces.part(Part::Double(parts)),
        }
    }

    /// `$"…"`, from the first quote on.
    pub(super) fn translated(&mut self, pieces: &mut Pieces) {
        let start = self.pos;
        self.bump();
        let parts = self.nested(|parser| parser.double(Around::Double));
        if !self.eat("\"") {
            self.fail(start, "a double quote is not closed");
        }
        pieces.part(Part::Translated(parts));
    }

    /// The pieces up to the closing quote, or of the whole text of a here-document.
    pub(super) fn double(&mut self, around: Around) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'"' if around == Around::Double => break,
                b'\\' => self.escaped_in_double(around, &mut parts),
                b'`' => parts.push(self.backquoted(around)),
                b'$' => match self.dollar(around) {
                    Some(part) => parts.push(part),
                    None => push_joined(&mut parts, Part::Quoted("$".to_owned())),
                },
                _ => self.text_in_double(&mut parts),
            }
        }
        parts
    }

    fn text_in_double(&mut self, parts: &mut Vec<Part>) {
        let start = self.pos;
        let rest = &self.text.as_bytes()[start + 1..];
        let ends = |byte: &u8| matches!(byte, b'"' | b'\\' | b'`' | b'$');
        self.pos = start + 1 + rest.iter().position(ends).unwrap_or(rest.len());
        push_joined(parts, Part::Quoted(self.text[start..self.pos].to_owned()));
    }

    /// Within double quotes a backslash quotes only what would be special there.
    fn escaped_in_double(&mut self, around: Around, parts: &mut Vec<Part>) {
        self.bump();
        let text = match self.raw() {
            Some(next @ (b'$' | b'`' | b'\\')) => char::from(next),
            Some(b'"') if around == Around::Double => '"',
            _ => return push_joined(parts, Part::Quoted("\\".to_owned())),
        };
        self.bump();
        push_joined(parts, Part::Quoted(text.to_string()));
    }

    /// `$'…'`, from the first quote on.
    pub(super) fn ansi_quoted(&mut self, pieces: &mut Pieces) {
        let Some(source) = self.ansi() else { return };
        match unescape(source) {
            Some(text) => pieces.quoted(&text),
            None => pieces.part(Part::Odd("escapes that make no text", format!("$'{source}'"))),
        }
    }

    /// What stands between the quotes of `$'…'`; `None` if they are not closed.
    pub(super) fn ansi(&mut self) -> Option<&str> {
        let start = self.pos;
        self.bump();
        let from = self.pos;
        loop {
            match self.raw() {
                None => {
                    self.fail(start, "`$'` is not closed");
                    return None;
                }
                Some(b'\\') => self.pos = (self.pos + 2).min(self.text.len()),
                Some(b'\'') => break,
                Some(_) => self.bump(),
            }
        }
        self.bump();
        Some(&self.text[from..self.pos - 1])
    }
}

/// The escapes of `$'…'` done; `None` if bytes come out that are no text, or an escape is one that bash reads strangely.
fn unescape(source: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(source.len());
    let mut rest = source.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'\\' => rest = escape(tail, &mut bytes)?,
            byte => bytes.push(*byte),
        }
    }
    // A NUL ends the string, as in C.
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    String::from_utf8(bytes).ok()
}

/// One escape, from behind its backslash on. Gives back what follows it.
fn escape<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let Some((letter, tail)) = rest.split_first() else {
        out.push(b'\\');
        return Some(rest);
    };
    let byte = match letter {
        b'a' => 7,
        b'b' => 8,
        b'e' | b'E' => 27,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' | b'\'' | b'"' | b'?' => *letter,
        b'0'..=b'7' => return Some(octal(rest, out)),
        b'x' => return hexadecimal(tail, out),
        b'u' => return unicode(tail, 4, out),
        b'U' => return unicode(tail, 8, out),
        b'c' => return control(tail, out),
        _ => {
            out.extend([b'\\', *letter]);
            return Some(tail);
        }
    };
    out.push(byte);
    Some(tail)
}

fn octal<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let count = rest.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let (digits, tail) = rest.split_at(count);
    let value = digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
    out.push((value & 0xff) as u8);
    tail
}

fn hexadecimal<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    // `\x{…}` is read differently by different versions.
    if rest.first() == Some(&b'{') {
        return None;
    }
    let (value, tail) = digits(rest, 2);
    match value {
        Some(value) => out.push(value as u8),
        None => out.extend(b"\\x"),
    }
    Some(tail)
}

fn unicode<'a>(rest: &'a [u8], most: usize, out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (value, tail) = digits(rest, most);
    let letter = char::from_u32(value?)?;
    out.extend(letter.encode_utf8(&mut [0; 4]).bytes());
    Some(tail)
}

fn control<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (letter, tail) = rest.split_first()?;
    if !letter.is_ascii_alphabetic() {
        return None;
    }
    out.push(letter & 0x1f);
    Some(tail)
}

/// Up to so many hexadecimal digits, as a number.
fn digits(rest: &[u8], most: usize) -> (Option<u32>, &[u8]) {
    let count = rest.iter().take(most).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, tail) = rest.split_at(count);
    let value = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
    (value, tail)
}
