//! Is what begins here a token of the table?

use crate::{
    form::Runs,
    found::Span,
    kinds::{self, KINDS},
    scan::Line,
    value, words,
};

/// Tokens of which something stands before what is looked for: which bytes, how many at least and at most.
type Before = (&'static str, fn(u8) -> bool, usize, usize);
const BEFORE: [Before; 5] = [
    (":AA", |byte| byte.is_ascii_digit(), 8, 10),
    ("7Q~", is_word, 3, 3),
    ("8Q~", is_word, 3, 3),
    (".atlasv1.", |byte| byte.is_ascii_alphanumeric(), 14, 14),
    ("-us", |byte| byte.is_ascii_hexdigit(), 32, 32),
];

/// A token, unless it is made up.
pub(crate) struct Token {
    kind: usize,
    start: usize,
    body: usize,
    pub(crate) end: usize,
}

/// Whether it is made up is seen in so much of it.
const ENOUGH: usize = 64;

impl Token {
    pub(crate) fn span(&self, text: &[u8]) -> Option<Span> {
        let Token { kind, start, body, end } = *self;
        let is_made_up = is_name(&text[start..end.min(start + ENOUGH)])
            || value::is_filler(&text[body..end.min(body + ENOUGH)])
            || needs_digits(KINDS[kind].name)
                && text[body..end].iter().filter(|byte| byte.is_ascii_digit()).count() < 2
            || is_file_name(&text[start..end], text.get(end))
            || end - body >= 12 && words::is_words(&text[body..end.min(body + ENOUGH)])
            || value::is_example(&text[body..end]);
        (!is_made_up).then_some(Span { start, end, kind: KINDS[kind].name, sure: true })
    }
}

/// The token of a kind at a place where one of its beginnings stands.
pub(crate) fn find(text: &[u8], kind: usize, begin: &str, start: usize, runs: &mut Runs) -> Option<Token> {
    // Cheap, and almost always the end of it.
    let has_before = matches!(begin.as_bytes(), [b':' | b'7' | b'8' | b'.' | b'-', ..]);
    if !has_before && !begins_a_word(text, start) {
        return None;
    }
    let (first, body) = (whole_start(text, begin, start)?, start + begin.len());
    if has_before && !begins_a_word(text, first) {
        return None;
    }
    let end = kinds::forms()[kind].end(text, body, runs)?;
    let goes_on = text.get(end).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_');
    (!goes_on).then_some(Token { kind, start: first, body, end })
}

/// A bot's token of Discord, which has no beginning of its own: three words with dots, the middle one of six.
pub(crate) fn between_dots(line: &Line<'_>, dot: usize) -> Option<Span> {
    let text = line.text;
    let start = dot - (dot - line.start).min(27);
    let start = start + text[start..dot].iter().rposition(|byte| !is_word(*byte)).map_or(0, |at| at + 1);
    let length = text.get(dot + 8..line.end)?.iter().take_while(|byte| is_word(**byte)).count();
    let end = dot + 8 + length;
    let has_form = (23..=26).contains(&(dot - start))
        && matches!(text[start], b'M'..=b'O')
        && text[dot + 1..dot + 7].iter().all(|byte| is_word(*byte))
        && (27..=40).contains(&length);
    (has_form && begins_a_word(text, start)).then_some(Span { start, end, kind: "discord token", sure: true })
}

fn whole_start(text: &[u8], begin: &str, start: usize) -> Option<usize> {
    let Some((_, fits, least, most)) = BEFORE.iter().find(|row| row.0 == begin) else { return Some(start) };
    let before = text[..start].iter().rev().take(*most).take_while(|byte| fits(**byte)).count();
    (before >= *least).then(|| start - before)
}

/// Whether a word begins here. Colour codes, escapes and percent signs end the word before.
pub(crate) fn begins_a_word(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    match before {
        [] => true,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
        [.., b'm'] => ends_with_colour(before),
        [.., last] => !last.is_ascii_alphanumeric() && *last != b'_',
    }
}

fn ends_with_colour(before: &[u8]) -> bool {
    let code = before[..before.len() - 1]
        .iter()
        .rev()
        .take(16)
        .take_while(|byte| matches!(byte, b'0'..=b'9' | b';'));
    let rest = &before[..before.len() - 1 - code.count()];
    matches!(rest, [.., 0x1b, b'['] | [.., b'b' | b'B' | b'3' | b'e' | b'E', b'['])
}

/// `icon.ico-7a38….png`: a hash in the name of a file.
fn is_file_name(token: &[u8], next: Option<&u8>) -> bool {
    token.starts_with(b"ico-") && next == Some(&b'.') && token[4..].iter().all(u8::is_ascii_hexdigit)
}

/// Kinds that begin as ordinary words do, and always have several digits.
fn needs_digits(name: &str) -> bool {
    matches!(name, "slack token" | "vault token" | "resend key")
}

/// Whether it is a name in words, not a token: small letters and what joins them.
fn is_name(token: &[u8]) -> bool {
    token.iter().all(|byte| matches!(byte, b'a'..=b'z' | b'_' | b'-' | b'.'))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'~')
}
