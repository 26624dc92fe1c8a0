//! What stands in the place of a secret, found again in a text.

use std::ops::Range;

use crate::{
    found::{AUTHORIZATION, COOKIE, KNOWN, MARK, PASSWORD, PRIVATE_KEY, SECRET, SIGNATURE},
    kinds::KINDS,
};

/// A mark such as `[redacted: password]` in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark<'a> {
    /// The mark itself.
    pub text: &'a str,
    /// Where it stands.
    pub range: Range<usize>,
}

/// The marks in a text, in order. Other words in such brackets are none.
///
/// ```
/// let text = "DB_PASSWORD=[redacted: password]  # [redacted: by the editor]";
/// let marks: Vec<&str> = haft_redact::marks(text).map(|mark| mark.text).collect();
/// assert_eq!(marks, ["[redacted: password]"]);
/// ```
pub fn marks(text: &str) -> impl Iterator<Item = Mark<'_>> {
    let mark = |(start, _)| {
        let kind = &text[start + MARK.len()..];
        let kind = kind.split([']', '\n']).next().unwrap_or_default();
        let end = start + MARK.len() + kind.len() + 1;
        let is_mark = text.as_bytes().get(end - 1) == Some(&b']') && names().any(|name| name == kind);
        is_mark.then(|| Mark { text: &text[start..end], range: start..end })
    };
    text.match_indices(MARK).filter_map(mark)
}

/// The names of all kinds of secrets.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let others = [KNOWN, PASSWORD, SECRET, AUTHORIZATION, COOKIE, SIGNATURE, PRIVATE_KEY];
    KINDS.iter().map(|kind| kind.name).chain(others).chain(["discord token"])
}
