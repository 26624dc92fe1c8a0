//! Secrets that are typed: options of programs, lines of password files, SQL.

use crate::{
    assigned::{ABOVE, LONGEST_MARGIN, judged, quoted_or_bare},
    found::{PASSWORD, Span},
    scan::Line,
    value, words,
};

/// How a program takes a password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// `-p SECRET`
    Next,
    /// `-pSECRET`
    Attached,
    /// `-u user:SECRET`
    BehindColon,
    /// `-U user%SECRET`
    BehindPercent,
    /// `-b name=SECRET`
    BehindEquals,
    /// `-b file user SECRET`
    Third,
}

/// Programs, their options, and how these take a password.
pub(crate) const OPTIONS: [(&str, &str, Takes); 40] = [
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
    ("curl", "--user", Takes::BehindColon),
    ("curl", "--proxy-user", Takes::BehindColon),
    ("curl", "-b", Takes::BehindEquals),
    ("htpasswd", "-b", Takes::Third),
    ("htpasswd", "-bB", Takes::Third),
    ("htpasswd", "-cb", Takes::Third),
    ("htpasswd", "-cbB", Takes::Third),
    ("htpasswd", "-nb", Takes::Third),
    ("http", "-a", Takes::BehindColon),
    ("smbclient", "-U", Takes::BehindPercent),
    ("rpcclient", "-U", Takes::BehindPercent),
];

/// A program is looked for so far before its option.
const FAR: usize = 256;
/// A line of a password file is no longer than this.
const LONGEST_LINE: usize = 512;

/// Where each program of the table was last seen. They come before their options.
pub(crate) struct Programs([Option<usize>; OPTIONS.len()]);

impl Default for Programs {
    fn default() -> Programs {
        Programs([None; OPTIONS.len()])
    }
}

impl Programs {
    /// Notes what stands at `start` of a text, which is `place` for those who ask.
    pub(crate) fn note(&mut self, text: &[u8], row: usize, start: usize, place: usize) {
        if start == 0 || !text[start - 1].is_ascii_alphanumeric() && text[start - 1] != b'-' {
            self.0[row] = Some(place);
        }
    }

    /// The rows of those that were seen since a place and have this option.
    fn with<'a>(&'a self, option: &'a [u8], since: usize) -> impl Iterator<Item = Takes> + 'a {
        let seen = OPTIONS.iter().zip(&self.0).filter(move |(_, at)| at.is_some_and(|at| at >= since));
        seen.filter(move |(row, _)| row.1.as_bytes() == option).map(|(row, _)| row.2)
    }
}

/// The password behind an option of a program that is known to take one there.
pub(crate) fn option(line: &Line<'_>, start: usize, end: usize, programs: &Programs) -> Option<Span> {
    let text = &line.text[..line.end];
    let option = text[start..end].trim_ascii();
    if option == b"pass:" {
        return after_pass(line, start, end);
    }
    let at = start + 1 + option.len();
    let since = logical_start(line).max(start.saturating_sub(FAR));
    programs.with(option, since).find_map(|takes| taken(text, at, takes))
}

/// Where a command begins that goes on over lines, each of which but the last ends with a backslash.
fn logical_start(line: &Line<'_>) -> usize {
    let mut start = line.start;
    for _ in 0..ABOVE {
        let Some(before) = line.text[..start].strip_suffix(b"\\\n") else { return start };
        let near = &before[before.len().saturating_sub(LONGEST_MARGIN)..];
        match memchr::memrchr(b'\n', near) {
            Some(at) => start = before.len() - near.len() + at + 1,
            None if near.len() == before.len() => start = 0,
            None => return start,
        }
    }
    start
}

/// `-passin pass:SECRET`
fn after_pass(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    let before = &line.text[line.start.max(start.saturating_sub(FAR))..start];
    let is_word = matches!(before.last(), Some(b' ' | b'"' | b'\''));
    let is_openssl = is_word && memchr::memmem::find(before, b"openssl ").is_some();
    if is_openssl { span(line.text, end, line.end) } else { None }
}

fn taken(text: &[u8], at: usize, takes: Takes) -> Option<Span> {
    match (takes, text.get(at)?) {
        (Takes::Attached, byte) if !byte.is_ascii_whitespace() => span(text, at, text.len()),
        (Takes::Next, b' ' | b'=') => span(text, at + 1, text.len()),
        (Takes::BehindColon, b' ' | b'=') => behind(text, at + 1, b':'),
        (Takes::BehindColon, byte) if *byte != b'-' => behind(text, at, b':'),
        (Takes::BehindPercent, b' ') => behind(text, at + 1, b'%'),
        (Takes::BehindEquals, b' ') => behind(text, at + 1, b'='),
        (Takes::Third, b' ') => span(text, third_word(text, at)?, text.len()),
        _ => None,
    }
}

/// Where the third word behind an option begins.
fn third_word(text: &[u8], at: usize) -> Option<usize> {
    let near = &text[at..text.len().min(at + FAR)];
    let mut begins = (1..near.len()).filter(|place| near[*place - 1] == b' ' && near[*place] != b' ');
    begins.nth(2).map(|place| at + place)
}

fn behind(text: &[u8], at: usize, joint: u8) -> Option<Span> {
    let after = |word: &[u8]| memchr::memchr(joint, word).map(|place| place + 1);
    let is_secret = |word: &[u8], _: bool| {
        !word.starts_with(b"<")
            && after(word).is_some_and(|place| word.len() == place || is_password(&word[place..]))
    };
    let found = judged(text, at, quoted_or_bare, is_secret)?;
    let start = found.start + after(&text[found.start..found.end])?;
    if start < found.end {
        return Some(Span { start, end: found.end, kind: PASSWORD, sure: false });
    }
    // `user:'SECRET'`, or a token that is the user and has no password.
    match text.get(start) {
        Some(b'"' | b'\'') if !found.is_quoted => span(text, start, text.len()),
        _ => {
            let user = &text[found.start..start - 1];
            let is_token = user.len() >= 10 && !words::is_made_of_words(user) && is_password(user);
            is_token.then_some(Span { start: found.start, end: start - 1, kind: PASSWORD, sure: false })
        }
    }
}

fn span(text: &[u8], at: usize, end: usize) -> Option<Span> {
    let found = judged(&text[..end], at, quoted_or_bare, |word, _| is_password(word))?;
    Some(Span { start: found.start, end: found.end, kind: PASSWORD, sure: false })
}

fn is_password(secret: &[u8]) -> bool {
    let is_port = secret.iter().all(u8::is_ascii_digit) && secret.len() < 6;
    secret.len() >= 3
        && secret[0] != b'-'
        && !is_port
        && !value::is_placeholder(secret)
        && !value::is_reference(secret)
}

/// `IDENTIFIED BY 'SECRET'`
pub(crate) fn sql(line: &Line<'_>, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let is_quoted = matches!(text.get(end), Some(b'"' | b'\'' | b'\\'));
    if is_quoted { span(text, end, line.end) } else { None }
}

/// `host:5432:database:user:SECRET`, a whole line.
pub(crate) fn passfile(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    // A star is found in many lists with colons; a host has none before it.
    let host = &line.text[line.start.max(start.saturating_sub(FAR))..start];
    if line.text[start + 1] == b'*'
        && (host.is_empty() || host.iter().any(|byte| matches!(byte, b':' | b' ')))
    {
        return None;
    }
    let rest = &line.text[end..line.end];
    let rest = rest.strip_suffix(b"\r").unwrap_or(rest);
    if rest.len() > LONGEST_LINE || rest.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let database = memchr::memchr(b':', rest)?;
    let user = memchr::memchr(b':', &rest[database + 1..])?;
    let start = end + database + 1 + user + 1;
    let is_secret = database > 0 && user > 0 && is_password(&line.text[start..end + rest.len()]);
    is_secret.then_some(Span { start, end: end + rest.len(), kind: PASSWORD, sure: false })
}
