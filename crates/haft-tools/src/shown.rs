//! A path as the model reads it: short, on one line, and good as an argument of the next call.

use std::{borrow::Cow, ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

/// What stands before the paths below a root: nothing in the current directory, else the way from there, or the whole.
pub(crate) fn prefix(root: &Path, cwd: &Path) -> String {
    match path(root.strip_prefix(cwd).unwrap_or(root)) {
        way if way.is_empty() || way.ends_with('/') => way.into_owned(),
        way => format!("{way}/"),
    }
}

/// A path on one line, in the one spelling that is understood when it comes back.
pub(crate) fn path(path: &Path) -> Cow<'_, str> {
    let bytes = path.as_os_str().as_bytes();
    // Nearly all paths, and a search shows many: no branch, so that many bytes are looked at together.
    let is_plain = bytes.iter().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'#' | b'%'..=b'~'));
    match std::str::from_utf8(bytes) {
        Ok(text) if is_plain => Cow::Borrowed(text),
        _ => Cow::Owned(haft_tool::shown(path).to_string()),
    }
}

/// The same for the bytes of one.
pub(crate) fn bytes(bytes: &[u8]) -> Cow<'_, str> {
    path(Path::new(OsStr::from_bytes(bytes)))
}

/// "1 file", "3 files", "12,000 files".
pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = match (number, what) {
        (1, _) => what.to_owned(),
        (_, what) if what.ends_with("ch") => format!("{what}es"),
        (_, what) => what.strip_suffix('y').map_or(format!("{what}s"), |stem| format!("{stem}ies")),
    };
    format!("{} {plural}", thousands(number))
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_short_where_they_can_be() {
        let check =
            |root: &str, expected: &str| assert_eq!(prefix(Path::new(root), Path::new("/w/app")), expected);
        check("/w/app", "");
        check("/w/app/src", "src/");
        check("/w/other", "/w/other/");
        check("/", "/");
    }

    #[test]
    fn odd_names_are_spelled_as_everywhere() {
        let check = |name: &[u8], expected: &str| assert_eq!(bytes(name), expected);
        check(b"plain name.txt", "plain name.txt");
        check("grün".as_bytes(), "grün");
        check(b"d/a\nb", r"d/$'a\nb'");
        check(b"\xff", r"$'\xff'");
    }

    #[test]
    fn figures_are_easy_to_read() {
        assert_eq!(
            [count(1, "match"), count(2, "match"), count(0, "entry")],
            ["1 match", "2 matches", "0 entries"]
        );
        assert_eq!(count(1_234_567, "file"), "1,234,567 files");
    }
}
