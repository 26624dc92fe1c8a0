//! Secrets that are typed: options of programs, lines of password files, SQL.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

use crate::{
    assigned::quoted_or_bare,
    found::{PASSWORD, Span},
    scan::Line,
    value,
};

/// How a program takes a password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// `-p SECRET`
    Next,
    /// `-pSECRET`
    Attached,
    /// `-u user:SECRET`
    BehindColon,
    /// `-U user%SECRET`
    BehindPercent,
}

/// Programs, their options, and how these take a password.
const OPTIONS: [(&str, &str, Takes); 32] = [
    ("mysql", "-p", Takes::Attached),
    ("mysqldump", "-p", Takes::Attached),
    ("mysqladmin", "-p", Takes::Attached),
    ("mariadb", "-p", Takes::Attached),
    ("mariadb-dump", "-p", Takes::Attached),
    ("7z", "-p", Takes::Attached),
    ("rar", "-p", Takes::Attached),
    ("unrar", "-p", Takes::Attached),
    ("sshpass", "-p", Takes::Next),
    ("sshpass", "-p", Takes::Attached),
    ("login", "-p", Takes::Next),
    ("mongo", "-p", Takes::Next),
    ("mongosh", "-p", Takes::Next),
    ("mongodump", "-p", Takes::Next),
    ("mongorestore", "-p", Takes::Next),
    ("influx", "-p", Takes::Next),
    ("az", "-p", Takes::Next),
    ("bcp", "-P", Takes::Next),
    ("sqlcmd", "-P", Takes::Next),
    ("isql", "-P", Takes::Next),
    ("zip", "-P", Takes::Next),
    ("unzip", "-P", Takes::Next),
    ("ipmitool", "-P", Takes::Next),
    ("redis-cli", "-a", Takes::Next),
    ("ldapsearch", "-w", Takes::Next),
    ("ldapmodify", "-w", Takes::Next),
    ("openssl", "-k", Takes::Next),
    ("curl", "-u", Takes::BehindColon),
    ("curl", "-U", Takes::BehindColon),
    ("http", "-a", Takes::BehindColon),
    ("smbclient", "-U", Takes::BehindPercent),
    ("rpcclient", "-U", Takes::BehindPercent),
];

/// A program is looked for so far before its option.
const FAR: usize = 256;

/// The password behind an option of a program that is known to take one there.
pub(crate) fn option(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let option = text[start..end].trim_ascii();
    if option == b"pass:" {
        return after_pass(line, start, end);
    }
    let before = &text[line.start.max(start.saturating_sub(FAR))..start];
    let at = start + 1 + option.len();
    let rows = programs().find_overlapping_iter(before).map(|hit| (&OPTIONS[hit.pattern().as_usize()], hit));
    let mut rows =
        rows.filter(|(row, hit)| row.1.as_bytes() == option && is_whole(before, hit.start(), hit.end()));
    rows.find_map(|(row, _)| taken(text, at, row.2))
}

/// `-passin pass:SECRET`
fn after_pass(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    let before = &line.text[line.start.max(start.saturating_sub(FAR))..start];
    let is_word = matches!(before.last(), Some(b' ' | b'"' | b'\''));
    let is_openssl = is_word && memchr::memmem::find(before, b"openssl ").is_some();
    if is_openssl { span(line.text, end, line.end) } else { None }
}

fn programs() -> &'static AhoCorasick {
    static PROGRAMS: OnceLock<AhoCorasick> = OnceLock::new();
    PROGRAMS.get_or_init(|| AhoCorasick::new(OPTIONS.map(|row| row.0)).expect("a few short names"))
}

fn is_whole(text: &[u8], start: usize, end: usize) -> bool {
    let is_begin = start == 0 || !text[start - 1].is_ascii_alphanumeric() && text[start - 1] != b'-';
    is_begin && text.get(end).is_none_or(|byte| *byte == b' ')
}

fn taken(text: &[u8], at: usize, takes: Takes) -> Option<Span> {
    match (takes, text.get(at)?) {
        (Takes::Attached, byte) if !byte.is_ascii_whitespace() => span(text, at, text.len()),
        (Takes::Next, b' ' | b'=') => span(text, at + 1, text.len()),
        (Takes::BehindColon, _) => behind(text, at + usize::from(text[at] == b' '), b':'),
        (Takes::BehindPercent, b' ') => behind(text, at + 1, b'%'),
        _ => None,
    }
}

fn behind(text: &[u8], at: usize, joint: u8) -> Option<Span> {
    let found = quoted_or_bare(text, at)?;
    let place = memchr::memchr(joint, &text[found.start..found.end])?;
    checked(text, found.start + place + 1, found.end)
}

fn span(text: &[u8], at: usize, end: usize) -> Option<Span> {
    let found = quoted_or_bare(&text[..end], at)?;
    checked(text, found.start, found.end)
}

fn checked(text: &[u8], start: usize, end: usize) -> Option<Span> {
    let secret = &text[start..end];
    let is_port = secret.iter().all(u8::is_ascii_digit) && secret.len() < 6;
    let is_secret = secret.len() >= 3
        && secret[0] != b'-'
        && !is_port
        && !value::is_placeholder(secret)
        && !value::is_reference(secret);
    is_secret.then_some(Span { start, end, kind: PASSWORD, sure: false })
}

/// `IDENTIFIED BY 'SECRET'`
pub(crate) fn sql(line: &Line<'_>, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let is_quoted = matches!(text.get(end), Some(b'"' | b'\'' | b'\\'));
    if is_quoted { span(text, end, line.end) } else { None }
}

/// `host:5432:database:user:SECRET`, a whole line.
pub(crate) fn passfile(line: &Line<'_>, end: usize) -> Option<Span> {
    let rest = &line.text[end..line.end];
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    let (database, user) =
        (memchr::memchr(b':', rest)?, memchr::memchr(b':', &rest[memchr::memchr(b':', rest)? + 1..])?);
    let start = end + database + 1 + user + 1;
    let has_blank = rest.iter().any(u8::is_ascii_whitespace);
    if has_blank || database == 0 || user == 0 { None } else { checked(line.text, start, end + rest.len()) }
}
