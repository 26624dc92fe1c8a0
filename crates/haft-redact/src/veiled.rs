//! Tokens that are written in another way: with colours or invisible characters inside, in base64, percent-encoded.

use std::sync::OnceLock;

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::{
    found::Span,
    kinds::KINDS,
    known::{self, Known},
    scan::{Keys, Machine},
};

/// Beginnings that are looked for in base64, too: those that are met most often.
const BEGINNINGS: [&str; 18] = [
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "sk-ant-",
    "sk-proj-",
    "sk_live_",
    "AKIA",
    "npm_",
    "AIza",
    "dckr_pat_",
    "pypi-",
    "sk-or-v1-",
    "hvs.",
    "-----BEGIN ",
];

/// So much of a run of base64 is looked at before and behind the beginning of a token in it.
const BEFORE: usize = 1024;
const BEHIND: usize = 4096;

/// How the beginnings of tokens read in base64, whatever stands before them.
pub(crate) fn in_base64() -> &'static [Vec<u8>] {
    static ALL: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let each = |begin: &&str| {
            (0..3).map(|before| known::in_base64(begin.as_bytes(), before)).collect::<Vec<_>>()
        };
        let mut all: Vec<Vec<u8>> = BEGINNINGS.iter().flat_map(each).collect();
        all.sort();
        all.dedup();
        all
    })
}

/// The beginnings of tokens with `_` and `-` percent-encoded, and the kind of each.
pub(crate) fn percent_encoded() -> &'static [(usize, String)] {
    static ALL: OnceLock<Vec<(usize, String)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = Vec::new();
        for (index, kind) in KINDS.iter().enumerate() {
            for begin in kind.begins.iter().filter(|begin| begin.ends_with('_')) {
                all.extend(["%5F", "%5f"].map(|code| (index, begin.replace('_', code))));
            }
        }
        all
    })
}

/// The run of base64 around a place, if there is a token in what it stands for. Says how far it was looked at.
pub(crate) fn decoded(text: &[u8], place: usize, machine: &Machine) -> (usize, Option<Span>) {
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let before = text[..place].iter().rev().take(BEFORE).take_while(is_part).count();
    let start = place - before;
    let length = before + text[place..].iter().take_while(is_part).count();
    let padding = text[start + length..].iter().take(2).take_while(|byte| **byte == b'=').count();
    let end = start + length + padding;
    if before == BEFORE {
        return (end, None);
    }
    let seen = &text[start..start + length.min(before + BEHIND)];
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    };
    // A single character at the end is no byte.
    let seen: Vec<u8> = seen[..seen.len() - usize::from(seen.len() % 4 == 1)].iter().map(standard).collect();
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let Ok(clear) = GeneralPurpose::new(&alphabet::STANDARD, config).decode(seen) else { return (end, None) };
    let found = machine.scan(&clear, &[], Keys::Look).spans.into_iter().find(|span| span.sure);
    (end, found.map(|found| Span { start, end, kind: found.kind, sure: true }))
}

/// Tokens with colours or invisible characters inside, in whole lines from a place on.
pub(crate) fn find(text: &[u8], from: usize, machine: &Machine, known: &[Known], spans: &mut Vec<Span>) {
    let mut at = from;
    while let Some(place) = next_veil(text, at) {
        let start = memchr::memrchr(b'\n', &text[at..place]).map_or(at, |before| at + before + 1);
        let end = place + memchr::memchr(b'\n', &text[place..]).unwrap_or(text.len() - place);
        let (clear, places) = unveiled(text, start, end);
        let found = machine.scan(&clear, known, Keys::Leave).spans.into_iter().filter(|span| span.sure);
        spans.extend(found.map(|span| Span {
            start: places[span.start],
            end: places[span.end - 1] + 1,
            ..span
        }));
        at = end;
    }
}

/// The next place where something invisible stands between two characters of a word.
fn next_veil(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let place = at + memchr::memchr3(0x1b, 0xe2, 0xef, text.get(at..)?)?;
        let length = invisible(&text[place..]);
        let is_word = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
        };
        if length > 0 && place > 0 && is_word(text.get(place - 1)) && is_word(text.get(place + length)) {
            return Some(place);
        }
        at = place + length.max(1);
    }
}

/// How long a code for colours is, or what has no width.
fn invisible(rest: &[u8]) -> usize {
    match rest {
        [0x1b, b'[', rest @ ..] => {
            let code = rest.iter().take(16).take_while(|byte| matches!(byte, b'0'..=b'9' | b';')).count();
            if matches!(rest.get(code), Some(b'm' | b'K')) { code + 3 } else { 0 }
        }
        [0xe2, 0x80, 0x8b..=0x8f, ..] | [0xe2, 0x81, 0xa0..=0xa4, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}

/// A line without what is invisible, and where each byte of it stood.
fn unveiled(text: &[u8], start: usize, end: usize) -> (Vec<u8>, Vec<usize>) {
    let (mut clear, mut places) = (Vec::with_capacity(end - start), Vec::with_capacity(end - start));
    let mut at = start;
    while at < end {
        let length = invisible(&text[at..end]);
        if length == 0 {
            clear.push(text[at]);
            places.push(at);
        }
        at += length.max(1);
    }
    (clear, places)
}
