//! Text as PostgreSQL takes it. It takes every character but one, and a model may send just that one.

use std::borrow::Cow;

/// Stands before what it hides. It is of the private use area: nobody misses it.
const MARK: char = '\u{e000}';

/// The text without the character NUL, so that [`shown`] gives it back as it was.
pub(super) fn kept(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', MARK]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(MARK, "\u{e000}1").replace('\0', "\u{e000}0"))
}

/// The text as it was.
pub(super) fn shown(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    text.replace("\u{e000}0", "\0").replace("\u{e000}1", "\u{e000}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[\0\u{e000}01a]{0,12}") {
            prop_assert!(!kept(&text).contains('\0'));
            prop_assert_eq!(shown(kept(&text).into_owned()), text);
        }
    }
}
