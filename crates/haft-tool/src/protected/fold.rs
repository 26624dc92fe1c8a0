//! Names as the most forgiving file system compares them.

use std::borrow::Cow;

/// Returns the name as the most forgiving file system sees it. Bytes that are no text are dropped: no place has any.
pub fn folded(name: &[u8]) -> Cow<'_, str> {
    let plain = |byte: &u8| byte.is_ascii() && !byte.is_ascii_uppercase() && *byte != b':';
    if name.iter().all(plain) && !name.ends_with(b".") && !name.ends_with(b" ") {
        return str::from_utf8(name).map_or(Cow::Borrowed(""), Cow::Borrowed);
    }
    let text = String::from_utf8_lossy(name);
    let stream = text.split(':').next().unwrap_or_default();
    let shown = stream.chars().filter(|char| !does_not_show(*char) && *char != char::REPLACEMENT_CHARACTER);
    // Through upper case and back: that also folds letters such as `ſ`, whose lower case is itself.
    let lower: String = shown.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    Cow::Owned(lower.trim_end_matches(['.', ' ']).to_owned())
}

/// Returns true for characters that some file systems leave out when they compare names, and that people do not see.
pub fn does_not_show(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
