//! Parts of values that were hidden elsewhere.
//!
//! A form gives a secret away only where all of it stands, with its name before it. What quotes a few characters of a file,
//! or one line of it, shows neither. The secrets of the whole file are known to the code that reads it, and their parts can be
//! looked for.

use std::{borrow::Cow, collections::HashSet};

use crate::{
    found::{Found, MARK, SECRET},
    marks::marks,
};

/// So many characters in a row are a part. Fewer are in every text.
const LENGTH: usize = 6;

/// Values of which no part may be told.
///
/// ```
/// use haft_redact::{Fragments, Found};
///
/// let mut fragments = Fragments::default();
/// fragments.add("Sup3rS3cret!");
/// let hidden = fragments.hide("not `nope` but `Sup3rS3`", &mut Found::default());
/// assert_eq!(hidden, "not `nope` but `[redacted: secret]`");
/// ```
#[derive(Default)]
pub struct Fragments {
    /// The hash of every [`LENGTH`] characters in a row of a value. Two texts of one hash hide more, never less.
    parts: HashSet<u64>,
}

impl Fragments {
    /// One more value. Of several lines each counts for itself; frames such as `-----BEGIN …-----` are no part of it.
    pub fn add(&mut self, value: &str) {
        let is_frame = |line: &&str| line.starts_with("-----") || line.ends_with("-----");
        for line in value.lines().map(str::trim).filter(|line| !is_frame(line)) {
            let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
            for ends in starts.windows(LENGTH + 1) {
                let part = &line[ends[0]..ends[LENGTH]];
                if part.contains(char::is_alphanumeric) {
                    self.parts.insert(hash(part));
                }
            }
        }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// A text without the parts. What stands in the place of other secrets stays.
    pub fn hide<'a>(&self, text: &'a str, found: &mut Found) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        let mut at = 0;
        for hidden in self.places(text) {
            out.push_str(&text[at..hidden.start]);
            out.extend([MARK, SECRET, "]"]);
            found.note(SECRET);
            at = hidden.end;
        }
        if at == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[at..]);
        Cow::Owned(out)
    }

    /// Where parts stand, in order; what overlaps or touches is one place.
    fn places(&self, text: &str) -> Vec<std::ops::Range<usize>> {
        let mut places: Vec<std::ops::Range<usize>> = Vec::new();
        let mut at = 0;
        let stops = marks(text).map(|mark| mark.range).chain(std::iter::once(text.len()..text.len()));
        for stop in stops {
            let between = &text[at..stop.start];
            let starts: Vec<usize> =
                between.char_indices().map(|(start, _)| start).chain([between.len()]).collect();
            for ends in starts.windows(LENGTH + 1) {
                let (start, end) = (at + ends[0], at + ends[LENGTH]);
                if !self.parts.contains(&hash(&text[start..end])) {
                    continue;
                }
                match places.last_mut() {
                    Some(last) if start <= last.end => last.end = end,
                    _ => places.push(start..end),
                }
            }
            at = stop.end;
        }
        places
    }
}

fn hash(part: &str) -> u64 {
    // FNV-1a: the keys are short, and a collision only hides more.
    part.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[&str], text: &str, expected: &str) {
        let mut fragments = Fragments::default();
        values.iter().for_each(|value| fragments.add(value));
        assert_eq!(fragments.hide(text, &mut Found::default()), expected);
    }

    #[test]
    fn six_characters_of_a_value_are_hidden_and_five_are_not() {
        check(&["hunter2Xk9v"], "unter2 and nter2", "[redacted: secret] and nter2");
        check(&["hunter2Xk9v"], "a hunter2Xk9v b", "a [redacted: secret] b");
        check(&["hunter2Xk9v"], "hunter2Xunter2", "[redacted: secret]");
        check(&["pässwörd"], "xpässwöx", "x[redacted: secret]x");
        check(&["short"], "short", "short");
        check(&[], "hunter2Xk9v", "hunter2Xk9v");
    }

    #[test]
    fn what_stands_for_a_secret_stays() {
        check(
            &["[redacted: password] it was"],
            "DB_PASSWORD=[redacted: password]",
            "DB_PASSWORD=[redacted: password]",
        );
        check(
            &["my-password-12"],
            "[redacted: password] password",
            "[redacted: password] [redacted: secret]",
        );
    }

    #[test]
    fn of_a_private_key_the_body_counts() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----";
        check(&[key], "see: PRIVATE KEY\n------\nAIBAAK", "see: PRIVATE KEY\n------\n[redacted: secret]");
    }
}
