//! Secrets that are told by their place: `BasicAuth("user", "…")`, `echo … | docker login --password-stdin`.

use crate::{
    assigned::{judged, name_end, name_start, quoted_or_bare},
    found::{PASSWORD, Span},
    names::Weight,
    scan::Line,
    value::{self, Written},
};

/// What is looked through for the arguments of a call, and before a program for what it is told.
const NEAR: usize = 512;
/// A password is at most the fifth argument.
const MOST_ARGUMENTS: usize = 5;

/// Whether a call may begin behind the name in which a key word stands.
pub(crate) fn is_call(text: &[u8], end: usize) -> bool {
    arguments(text, name_end(text, end)).is_some()
}

/// Where the arguments of a call begin: `f(`, `f=(`, and as Ruby does `f 'a', 'b'`.
fn arguments(text: &[u8], at: usize) -> Option<usize> {
    let openings: [&[u8]; 4] = [b"(", b"=(", b" = (", b": ("];
    let opened =
        openings.iter().find(|opening| text[at..].starts_with(opening)).map(|opening| at + opening.len());
    opened.or_else(|| matches!(text[at..], [b' ', b'"' | b'\'', ..]).then_some(at + 1))
}

/// The password of a call that is told a user and a password, by their places.
pub(crate) fn password(line: &Line<'_>, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let end = name_end(text, end);
    let mut at =
        arguments(text, end).filter(|_| is_login(&text[name_start(text, end).max(line.start)..end]))?;
    let near = &text[..text.len().min(at + NEAR)];
    for index in 0..MOST_ARGUMENTS {
        at += near.get(at..)?.iter().take_while(|byte| **byte == b' ').count();
        at += if near[at..].starts_with(b"Some(") { 5 } else { 0 };
        let is_quoted = matches!(near.get(at), Some(b'"' | b'\''));
        if is_quoted && index > 0 {
            let found = judged(text, at, quoted_or_bare, |word, _| is_password(word));
            if let Some(found) = found {
                return Some(Span { start: found.start, end: found.end, kind: PASSWORD, sure: false });
            }
        }
        let behind =
            if is_quoted { quoted_or_bare(near, at).map_or(at + 2, |found| found.end + 1) } else { at };
        at = behind + near.get(behind..)?.iter().position(|byte| matches!(byte, b',' | b';' | b'{'))?;
        if near[at] != b',' {
            return None;
        }
        at += 1;
    }
    None
}

fn is_login(name: &[u8]) -> bool {
    const ENDS: [&[u8]; 9] = [
        b"auth",
        b"login",
        b"credential",
        b"credentials",
        b"authentication",
        b"getconnection",
        b"mysqli",
        b"mysqli_connect",
        b"authenticate",
    ];
    let name = name.to_ascii_lowercase();
    ENDS.iter().any(|end| name.ends_with(end))
}

fn is_password(word: &[u8]) -> bool {
    let written = Written { is_quoted: true, is_setting: false };
    let is_sentence = word.iter().any(u8::is_ascii_whitespace);
    !is_sentence && value::is_odd(word, Weight::Password) && value::is_secret(word, Weight::Password, written)
}

/// What a program is told by `echo … |` before it, or by `<<<` behind it.
pub(crate) fn typed(line: &Line<'_>, start: usize, end: usize) -> Option<Span> {
    let text = &line.text[..line.end];
    let behind = &text[end..text.len().min(end + NEAR)];
    let at = match memchr::memmem::find(behind, b"<<<") {
        Some(at) => end + at + 3 + behind[at + 3..].iter().take_while(|byte| **byte == b' ').count(),
        None => echoed(text, line.start.max(start.saturating_sub(NEAR)), start)?,
    };
    let is_told = |word: &[u8], _| {
        word.len() >= 3
            && !value::is_placeholder(word)
            && !value::is_reference(word)
            && !word.starts_with(b"$")
    };
    let found = judged(text, at, quoted_or_bare, is_told)?;
    // `user:password`, as `chpasswd` reads it.
    let word = &text[found.start..found.end];
    let user = if &text[start..end] == b"chpasswd" { memchr::memchr(b':', word)? + 1 } else { 0 };
    let rest = &word[user..];
    let is_secret = !rest.is_empty() && !rest.starts_with(b"$") && !value::is_reference(rest);
    is_secret.then_some(Span { start: found.start + user, end: found.end, kind: PASSWORD, sure: false })
}

/// The last word of the `echo` or `printf` that writes to what stands at a place.
fn echoed(text: &[u8], from: usize, start: usize) -> Option<usize> {
    let before = &text[from..start];
    let pipe = memchr::memrchr(b'|', before)?;
    let told = before[..pipe].trim_ascii_end();
    let command =
        ["echo ", "printf "].iter().filter_map(|name| memchr::memmem::rfind(told, name.as_bytes())).max()?;
    let is_first = command == 0 || !told[command - 1].is_ascii_alphanumeric();
    let last = match told.last()? {
        quote @ (b'"' | b'\'') => memchr::memrchr(*quote, &told[..told.len() - 1])?,
        _ => memchr::memrchr(b' ', told)? + 1,
    };
    (is_first && last > command && !told[command..last].contains(&b'|')).then_some(from + last)
}
