//! Text that only a decoder reads: long runs of Base64, hexadecimal digits, percent signs or escapes.
//!
//! What decodes to readable text has no business in a description. What decodes to anything else may be an example.

use std::sync::LazyLock;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use regex::Regex;

use super::{
    Kind, Severity,
    places::{Role, Text},
    remark::Remark,
};

static RUNS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9+/_-]{24,}").expect("a pattern of ours"));
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:%[0-9A-Fa-f]{2}){12,}|(?:\\x[0-9A-Fa-f]{2}){8,}|(?:\\u\{?[0-9A-Fa-f]{4}\}?){8,}|(?:&#x?[0-9A-Fa-f]{2,6};){8,}")
        .expect("a pattern of ours")
});

/// From here on a run is long even for an example.
const LONG: usize = 200;

pub(super) fn look(text: &Text<'_>, remarks: &mut Vec<Remark>) {
    for run in RUNS.find_iter(text.text) {
        if let Some((severity, words)) = run_of(run.as_str()) {
            remarks.push(text.remark(Kind::Encoded, weight(text, severity), words));
            break;
        }
    }
    if let Some(found) = ESCAPES.find(text.text).filter(|_| text.role != Role::Value) {
        remarks.push(text.remark(Kind::Encoded, Severity::Warn, found.as_str()));
    }
}

/// Examples and defaults may be encoded; a description may not.
fn weight(text: &Text<'_>, severity: Severity) -> Severity {
    if text.role == Role::Value { severity.min(Severity::Warn) } else { severity }
}

fn run_of(run: &str) -> Option<(Severity, String)> {
    if let Some(read) = decoded(run) {
        return Some((Severity::Alarm, format!("{} (decoded: {read})", shortened(run))));
    }
    // A path or an identifier has words; what is encoded has none.
    (run.len() >= LONG && is_dense(run)).then(|| (Severity::Warn, shortened(run)))
}

fn shortened(run: &str) -> String {
    let head: String = run.chars().take(40).collect();
    if head.len() < run.len() { format!("{head}… ({} characters)", run.len()) } else { head }
}

/// What a run says, if it decodes to readable text with more than one word.
fn decoded(run: &str) -> Option<String> {
    let is_hex = run.len().is_multiple_of(2) && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hex = if is_hex { readable(hex(run)) } else { None };
    hex.or_else(|| readable(STANDARD_NO_PAD.decode(trimmed(run)).ok()?))
        .or_else(|| readable(URL_SAFE_NO_PAD.decode(trimmed(run)).ok()?))
}

/// As many characters as can be decoded: a rest of one cannot, and padding is not part of a run.
fn trimmed(run: &str) -> &str {
    &run[..run.len() - run.len() % 4]
}

fn hex(run: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    run.as_bytes().chunks_exact(2).map(|pair| (digit(pair[0]) << 4) | digit(pair[1])).collect()
}

fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_text = text.chars().all(|c| c.is_ascii_graphic() || matches!(c, ' ' | '\n' | '\t'));
    let letters = text.chars().filter(|c| c.is_ascii_alphabetic() || *c == ' ').count();
    (is_text && text.split_whitespace().count() > 1 && letters * 4 >= text.len() * 3).then_some(text)
}

/// Whether capitals, small letters and digits are mixed throughout.
fn is_dense(run: &str) -> bool {
    let count = |is: fn(&u8) -> bool| run.bytes().filter(is).count();
    let (large, small, digits) =
        (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit));
    let is_hex = run.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex || [large, small, digits].iter().all(|part| part * 20 > run.len())
}
