//! Values that are known to be secret, and how else they are written.

use base64::{Engine, engine::general_purpose};

use crate::found::{KNOWN, Span};

/// Something that is written exactly so.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Known(Vec<u8>);

/// A value is looked for in pieces of at most this: nothing that is looked for may be longer than what a stream holds.
const PIECE: usize = 256;
/// In other writings shorter ones would be found everywhere.
const SHORTEST_ENCODED: usize = 8;

impl Known {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn at(&self, start: usize) -> Option<Span> {
        Some(Span { start, end: start + self.0.len(), kind: KNOWN, sure: true })
    }
}

/// All writings of values. A value of several lines is as many values; a long one is looked for in pieces.
pub(crate) fn all(values: &[String]) -> Vec<Known> {
    let lines = values.iter().flat_map(|value| value.lines()).map(str::trim);
    let mut all: Vec<Known> =
        lines.flat_map(|line| line.as_bytes().chunks(PIECE)).flat_map(writings).collect();
    all.sort();
    all.dedup();
    all
}

fn writings(value: &[u8]) -> Vec<Known> {
    if value.len() < 4 {
        return Vec::new();
    }
    let mut all = vec![value.to_vec(), percent_encoded(value), json_escaped(value)];
    if value.len() >= SHORTEST_ENCODED {
        for before in 0..3 {
            let standard = in_base64(value, before);
            let for_addresses = standard.iter().map(|byte| match byte {
                b'+' => b'-',
                b'/' => b'_',
                byte => *byte,
            });
            all.extend([for_addresses.collect(), standard]);
        }
    }
    all.into_iter().map(Known).collect()
}

/// The part of an encoding that is the same whatever stands around the value, with some bytes before it.
pub(crate) fn in_base64(value: &[u8], before: usize) -> Vec<u8> {
    let padded = [&[0; 3][..before], value].concat();
    let encoded = general_purpose::STANDARD_NO_PAD.encode(&padded).into_bytes();
    let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    encoded[first..end].to_vec()
}

fn percent_encoded(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            byte => out.extend(format!("%{byte:02X}").into_bytes()),
        }
    }
    out
}

fn json_escaped(value: &[u8]) -> Vec<u8> {
    let quoted = serde_json::Value::from(String::from_utf8_lossy(value)).to_string();
    quoted.as_bytes()[1..quoted.len() - 1].to_vec()
}

#[cfg(test)]
mod tests {
    use base64::{
        Engine,
        engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
    };

    use crate::Redactor;

    #[track_caller]
    fn check(text: &str) {
        let redactor = Redactor::builder().secret("pa55 \"w/rd\"?>~é").build();
        let redacted = redactor.redact(text);
        assert!(redacted.text.contains("[redacted: known secret]"), "{text} became {}", redacted.text);
    }

    #[test]
    fn a_known_value_is_found_in_its_usual_writings() {
        check("it is pa55 \"w/rd\"?>~é here");
        check(r#"{"it": "pa55 \"w/rd\"?>~é"}"#);
        check("?q=pa55%20%22w%2Frd%22%3F%3E~%C3%A9&r");
        for before in ["", "u:", "user:", "x:y:"] {
            let text = format!("{before}pa55 \"w/rd\"?>~é and more");
            check(&STANDARD.encode(&text));
            check(&URL_SAFE_NO_PAD.encode(&text));
        }
    }

    #[test]
    fn a_value_of_several_lines_is_found_line_by_line() {
        let redactor = Redactor::builder().secret("first line 1234\nsecond line 5678").build();
        assert_eq!(
            redactor.redact("> second line 5678\n> first line 1234").text,
            "> [redacted: known secret]\n> [redacted: known secret]"
        );
    }
}
