//! Private keys: the one secret that goes over many lines.
//!
//! A key begins with its first line (`-----BEGIN … PRIVATE KEY-----`) and goes on until its last, whether its line breaks
//! are real or written as `\n`, whether it is indented, quoted or numbered. Where it is cut off, it ends before the first
//! line that cannot belong to it; a first line with nothing behind it is no key. As a key may be larger than what a
//! stream holds, what is known about it at the end of a block is a [`Key`].

use std::sync::OnceLock;

use memchr::memmem;
use regex::bytes::Regex;

use crate::found::is_marked;

/// What comes before the first line of the inside is bounded, as a stream keeps it until it knows.
const MOST_HEADERS: u8 = 8;
const LONGEST_HEADER: usize = 256;
/// In the line of its beginning, less than this is no inside of a key.
const LEAST_BODY: usize = 16;

/// How far a key has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    /// In the middle of a line.
    is_inside: bool,
    /// Something of it was seen besides its first line.
    pub(crate) has_body: bool,
    /// So many lines like `Proc-Type: …` may still come, empty ones among them.
    headers: u8,
    /// Only the last line may come.
    must_end: bool,
}

/// Where a key ends, or that it goes on behind the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) end: usize,
    pub(crate) has_body: bool,
    pub(crate) open: Option<Key>,
}

/// Where the first line of a key may stand, if there is one.
pub(crate) fn begins(text: &[u8]) -> Option<usize> {
    let begins = |place: &usize| text[..*place].ends_with(b"-----") || text[..*place].ends_with(b"---- ");
    memmem::find_iter(text, b"BEGIN ").find(begins)
}

/// The key whose first line stands here.
pub(crate) fn find(text: &[u8], start: usize) -> Option<Read> {
    let header = first_line().find(&text[start..text.len().min(start + 96)])?;
    let body = start + header.end();
    if !may_follow(&text[body..]) {
        return None;
    }
    let key = Key { is_inside: true, has_body: false, headers: MOST_HEADERS, must_end: false };
    let read = go_on(text, body, key);
    (read.has_body || read.open.is_some()).then_some(read)
}

/// What a first line is followed by, unless somebody only speaks of it. Its own line says so: the next may not be there yet.
fn may_follow(rest: &[u8]) -> bool {
    let run =
        rest.strip_prefix(b" ").unwrap_or(rest).iter().take(20).take_while(|byte| is_body(**byte)).count();
    let blank = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    run == 20 || rest.starts_with(b"\\") || matches!(rest.get(blank), None | Some(b'\n'))
}

/// Reads on in a key that was begun.
pub(crate) fn go_on(text: &[u8], mut at: usize, mut key: Key) -> Read {
    loop {
        if key.is_inside {
            let length = inner_length(&text[at..]);
            key.has_body |= length >= LEAST_BODY;
            at += length;
            if at == text.len() {
                return Read { end: at, has_body: key.has_body, open: Some(key) };
            }
            if let Some(length) = last_line(&text[at..]) {
                return Read { end: at + length, has_body: true, open: None };
            }
            let Some(length) = line_break(&text[at..]) else { return closed(at, key) };
            key.is_inside = false;
            if at + length < text.len() && !belongs(line_at(text, at + length), &mut key) {
                return closed(at, key);
            }
            at += length;
        } else if at < text.len() && !belongs(line_at(text, at), &mut key) {
            return closed(at, key);
        }
        if at == text.len() {
            return Read { end: at, has_body: key.has_body, open: Some(key) };
        }
        let line = line_at(text, at);
        if let Some(length) = through_last_line(line) {
            return Read { end: at + length, has_body: true, open: None };
        }
        at += line.len();
        key.is_inside = true;
    }
}

fn closed(end: usize, key: Key) -> Read {
    Read { end, has_body: key.has_body, open: None }
}

fn line_break(text: &[u8]) -> Option<usize> {
    match text {
        [b'\n', ..] => Some(1),
        [b'\r', b'\n', ..] => Some(2),
        _ => None,
    }
}

fn line_at(text: &[u8], at: usize) -> &[u8] {
    let rest = &text[at..];
    let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Whether a line can belong to a key, and what that says of those after it.
fn belongs(line: &[u8], key: &mut Key) -> bool {
    if through_last_line(line).is_some() {
        return true;
    }
    let inner = without_margin(line).trim_ascii_end();
    if key.must_end {
        return false;
    }
    if key.headers > 0 && (inner.is_empty() || inner.len() < LONGEST_HEADER && header().is_match(inner)) {
        key.headers -= 1;
        return true;
    }
    let body = inner.strip_suffix(b"\\").unwrap_or(inner);
    let is_body = |byte: &u8| is_body(*byte) || matches!(byte, b'"' | b'\'' | b',' | b';' | b'\\');
    if body.is_empty() || !body.iter().all(is_body) {
        return false;
    }
    (key.headers, key.has_body) = (0, true);
    key.must_end = body.len() < 20;
    true
}

/// A line without what was put before it: indentation, a number, the marks of a diff, of a quotation, of a comment.
fn without_margin(line: &[u8]) -> &[u8] {
    static MARGIN: OnceLock<Regex> = OnceLock::new();
    let form = r#"^(?-u:[ \t]*(?:[0-9]{1,7}(?:[:|\t]|\xe2\x86\x92))?[ \t+>|#*"'-]*)"#;
    let margin = MARGIN.get_or_init(|| Regex::new(form).expect("it is fixed"));
    &line[margin.find(line).map_or(0, |found| found.end())..]
}

/// How much of a line is the inside of a key, line breaks that are written out and all.
fn inner_length(text: &[u8]) -> usize {
    let may_be = |at: &usize| match text[*at] {
        b'-' => !text[*at..].starts_with(b"----"),
        byte => is_body(byte) || matches!(byte, b'\\' | b' ' | b'\t' | b':' | b','),
    };
    (0..text.len()).take_while(may_be).count()
}

fn is_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_')
}

fn through_last_line(line: &[u8]) -> Option<usize> {
    let place = memmem::find(line, b"-----END ").or_else(|| memmem::find(line, b"---- END "))?;
    // The end of one that has been taken out already is not the end of another.
    if is_marked(&line[..place]) {
        return None;
    }
    last_line(&line[place..]).map(|length| place + length)
}

fn last_line(text: &[u8]) -> Option<usize> {
    static LAST: OnceLock<Regex> = OnceLock::new();
    let form = "^(?-u:-{4,5} ?END [A-Z0-9 ]{0,40}KEY(?: BLOCK)? ?-{4,5})";
    let last = LAST.get_or_init(|| Regex::new(form).expect("it is fixed"));
    last.find(&text[..text.len().min(96)]).map(|found| found.end())
}

fn first_line() -> &'static Regex {
    static FIRST: OnceLock<Regex> = OnceLock::new();
    let form = "^(?-u:-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5})";
    FIRST.get_or_init(|| Regex::new(form).expect("it is fixed"))
}

fn header() -> &'static Regex {
    static HEADER: OnceLock<Regex> = OnceLock::new();
    let form = "^(?-u:(?:Proc-Type|DEK-Info|Version|Comment|Subject|X-[A-Za-z-]+): )";
    HEADER.get_or_init(|| Regex::new(form).expect("it is fixed"))
}
