//! Is it JSON at all? If not, where did it break?
//!
//! Broken text is never completed or guessed: half a path or half a command is worse than a second call. The one
//! repair is a lone surrogate (`\ud83d` without its other half), which some models send when an emoji is cut; it
//! becomes U+FFFD, as it would in every browser.

use std::fmt;

use serde_json::{Map, Value};

/// How much of the text is shown on either side of the break.
const EXCERPT_CHARS: usize = 40;

/// Parses the arguments of a call.
///
/// Empty text is `{}`: models send nothing for tools without arguments. Of a key that is given twice, the last value
/// counts. Nesting deeper than 128 is an error.
pub fn parse(text: &str) -> Result<Value, SyntaxError> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let err = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(err) => err,
    };
    match without_lone_surrogates(text) {
        Some(repaired) => serde_json::from_str(&repaired).map_err(|err| SyntaxError::new(&repaired, &err)),
        None => Err(SyntaxError::new(text, &err)),
    }
}

/// Text that is not JSON. Its `Display` is the message for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    problem: String,
    truncated: bool,
    line: usize,
    column: usize,
    before: String,
    after: String,
}

impl SyntaxError {
    /// Whether the text simply ends too early: the model ran out of output, rather than wrote it wrongly.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    fn new(text: &str, err: &serde_json::Error) -> SyntaxError {
        let offset = offset_of(text, err.line(), err.column());
        let with_position = err.to_string();
        let problem = with_position.split(" at line ").next().unwrap_or_default();
        SyntaxError {
            problem: problem.to_owned(),
            truncated: err.is_eof(),
            line: err.line(),
            column: err.column(),
            before: last_chars(&text[..offset]),
            after: first_chars(&text[offset..]),
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SyntaxError { problem, line, column, before, after, .. } = self;
        if self.truncated {
            return write!(
                f,
                "The arguments are cut off: the JSON ends at line {line}, column {column}, after `{before}` ({problem}). \
                 Nothing was run. Send the whole call again; if it is long, split the work into smaller calls."
            );
        }
        write!(
            f,
            "The arguments are not valid JSON: {problem} at line {line}, column {column}: `{before}⟨here⟩{after}`. \
             Nothing was run. Correct the JSON and send the call again{}",
            advice(problem)
        )
    }
}

impl std::error::Error for SyntaxError {}

/// The mistakes that models make most, with what to do instead.
fn advice(problem: &str) -> &'static str {
    match problem {
        "invalid escape" => "; in a JSON string a backslash is written `\\\\`.",
        "trailing characters" => "; the arguments are one JSON object, with nothing after it.",
        "recursion limit exceeded" => "; it is nested deeper than 128 levels.",
        _ if problem.starts_with("control character") => "; in a JSON string a line break is written `\\n`.",
        _ => ".",
    }
}

/// The byte at which the parser stopped. Its columns count bytes from 1, and point at the last byte it has read.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    text.floor_char_boundary(line_start + column)
}

fn last_chars(text: &str) -> String {
    match text.char_indices().rev().nth(EXCERPT_CHARS) {
        Some((cut, first)) => format!("…{}", &text[cut + first.len_utf8()..]),
        None => text.to_owned(),
    }
}

fn first_chars(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// The text with `\ufffd` for every surrogate that has lost its other half; `None` if there is none. The escape has
/// the same length, so that positions stay true.
fn without_lone_surrogates(text: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match unicode_escape(&text[at..]) {
            Some(0xD800..=0xDBFF) if matches!(unicode_escape(&text[at + 6..]), Some(0xDC00..=0xDFFF)) => {
                at += 12
            }
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // Another escape: its second character may be a backslash, which starts none.
            _ => at = text.ceil_char_boundary(at + 2),
        }
    }
    repaired.push_str(&text[copied..]);
    (copied > 0).then_some(repaired)
}

fn unicode_escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, expected: Value) {
        assert_eq!(parse(text).expect("this is JSON"), expected);
    }

    fn error(text: &str) -> SyntaxError {
        parse(text).expect_err("this is not JSON")
    }

    #[test]
    fn no_arguments_are_an_empty_object() {
        check("", json!({}));
        check(" \n\t", json!({}));
        check("null", Value::Null);
    }

    #[test]
    fn of_a_repeated_key_the_last_value_counts() {
        check(r#"{"a":1,"a":2}"#, json!({ "a": 2 }));
    }

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        check(r#"{"a":"x\ud83dy"}"#, json!({ "a": "x\u{fffd}y" }));
        check(r#"["\ude00", "\ud83d\ud83d\ude00"]"#, json!(["\u{fffd}", "\u{fffd}😀"]));
        check(r#"["\\ud83d \ud83d"]"#, json!(["\\ud83d \u{fffd}"]));
        check(r#"["\ud83d\n"]"#, json!(["\u{fffd}\n"]));
    }

    #[test]
    fn cut_off_text_says_where_it_ends() {
        let err = error("{\"path\": \"a.rs\",\n \"text\": \"fn mai");
        assert!(err.is_truncated());
        insta::assert_snapshot!(err, @r#"
        The arguments are cut off: the JSON ends at line 2, column 16, after `{"path": "a.rs",
         "text": "fn mai` (EOF while parsing a string). Nothing was run. Send the whole call again; if it is long, split the work into smaller calls.
        "#);
    }

    #[test]
    fn broken_text_shows_the_place() {
        let err = error(r#"{"path": "a.rs",, "limit": 3}"#);
        assert!(!err.is_truncated());
        insta::assert_snapshot!(err, @r#"The arguments are not valid JSON: key must be a string at line 1, column 17: `{"path": "a.rs",,⟨here⟩ "limit": 3}`. Nothing was run. Correct the JSON and send the call again."#);
        insta::assert_snapshot!(error("{\"text\": \"a\nb\"}"), @r#"
        The arguments are not valid JSON: control character (\u0000-\u001F) found while parsing a string at line 2, column 0: `{"text": "a
        ⟨here⟩b"}`. Nothing was run. Correct the JSON and send the call again; in a JSON string a line break is written `\n`.
        "#);
        insta::assert_snapshot!(error(r#"{"a":1} {"b":2}"#), @r#"The arguments are not valid JSON: trailing characters at line 1, column 9: `{"a":1} {⟨here⟩"b":2}`. Nothing was run. Correct the JSON and send the call again; the arguments are one JSON object, with nothing after it."#);
    }

    #[test]
    fn a_long_line_is_shown_around_the_break_only() {
        let text = format!("{{\"text\": \"{}\", oops}}", "é".repeat(10_000));
        let message = error(&text).to_string();
        assert!(message.len() < 600, "{}", message.len());
        assert!(message.contains("é\", o⟨here⟩ops}"), "{message}");
    }

    #[test]
    fn a_broken_escape_at_the_very_end_is_no_panic() {
        for text in
            ["\"\\", "\"\\u", "\"\\ud83d\\", "\"\\ud83d\\u", "\"\\ué\"", "\"\\é\"", "{\"a\":\"\\ud83d"]
        {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let err = error(&"[".repeat(100_000));
        assert!(err.to_string().contains("deeper than 128"), "{err}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_a_value_or_an_error(text in r#"[\\ud8cé"{}\[\],:0-9a-f \n]{0,40}"#) {
            if let Err(err) = parse(&text) {
                proptest::prop_assert!(err.to_string().len() < 1000);
            }
        }
    }
}
