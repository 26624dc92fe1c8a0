//! The patterns of rules, as git understands them.
//!
//! A rule's pattern begins at a directory and may have alternatives in braces; one of git's begins at the top of the
//! repository and has none. Wildcards, classes and `**` mean the same in both. Pure: text in, text out.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

/// More alternatives are not written out.
const MOST_ALTERNATIVES: usize = 256;

/// What begins a word that makes git leave out what fits.
const EXCLUDE: &[u8] = b":(top,exclude,glob)";

/// The words that make git leave out what a pattern below a directory covers. `None` if that cannot be said to git.
pub(super) fn exclusions(directory: &Path, pattern: &str, top: &Path) -> Option<Vec<OsString>> {
    let alternatives = alternatives(pattern)?;
    if let Ok(way) = directory.strip_prefix(top) {
        let way = escaped(way);
        return Some(alternatives.iter().map(|pattern| word(&way, pattern)).collect());
    }
    if !top.starts_with(directory) {
        return Some(Vec::new());
    }
    // The rule begins above the repository: what may stand at any depth may stand in it.
    let is_anywhere = |pattern: &String| pattern.starts_with("**");
    alternatives
        .iter()
        .all(is_anywhere)
        .then(|| alternatives.iter().map(|pattern| word(b"", pattern)).collect())
}

fn word(way: &[u8], pattern: &str) -> OsString {
    OsString::from_vec([EXCLUDE, way, pattern.as_bytes()].concat())
}

/// A path in front of a pattern, with a slash at its end.
fn escaped(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        if b"*?[\\".contains(byte) {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    if !text.is_empty() {
        text.push(b'/');
    }
    text
}

/// The pattern without braces, as often as it takes.
fn alternatives(pattern: &str) -> Option<Vec<String>> {
    let (mut waiting, mut done) = (vec![pattern.to_owned()], Vec::new());
    while let Some(next) = waiting.pop() {
        match braces(&next) {
            Some(written_out) => waiting.extend(written_out.into_iter().rev()),
            None => done.push(next),
        }
        if waiting.len() + done.len() > MOST_ALTERNATIVES {
            return None;
        }
    }
    Some(done)
}

/// The pattern once for each alternative of its first braces.
fn braces(pattern: &str) -> Option<Vec<String>> {
    let (mut depth, mut open, mut cuts) = (0usize, 0, Vec::new());
    for (at, sign) in signs(pattern) {
        match sign {
            '{' if depth == 0 => (open, depth) = (at, 1),
            '{' => depth += 1,
            ',' if depth == 1 => cuts.push(at),
            '}' if depth == 1 => return Some(written_out(pattern, open, &cuts, at)),
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn written_out(pattern: &str, open: usize, cuts: &[usize], close: usize) -> Vec<String> {
    let starts = std::iter::once(open).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([close]);
    let middles = starts.zip(ends).map(|(start, end)| &pattern[start + 1..end]);
    middles.map(|middle| format!("{}{middle}{}", &pattern[..open], &pattern[close + 1..])).collect()
}

/// The characters that mean something: not those after a backslash, nor those in a class.
fn signs(pattern: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut is_escaped, mut class) = (false, None);
    pattern.char_indices().filter(move |(at, sign)| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match (class, sign) {
            // Right after its beginning a bracket is a member.
            (Some(start), ']') if *at > start + 1 => class = None,
            (None, '[') => class = Some(*at),
            (None, '\\') => is_escaped = true,
            _ => {}
        }
        class.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(directory: &str, pattern: &str, expected: &[&str]) {
        let words = exclusions(Path::new(directory), pattern, Path::new("/w/app")).expect("it can be said");
        let words: Vec<String> = words.into_iter().map(|word| word.into_string().unwrap()).collect();
        let expected: Vec<String> =
            expected.iter().map(|word| format!(":(top,exclude,glob){word}")).collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn a_pattern_begins_at_the_top_of_the_repository() {
        check("/w/app", "**/.env", &["**/.env"]);
        check("/w/app/a[1]", "*.pem", &["a\\[1]/*.pem"]);
        check("/w", "**/.env", &["**/.env"]);
        check("/elsewhere", "*.pem", &[]);
        assert_eq!(exclusions(Path::new("/w"), "*/keys/*.pem", Path::new("/w/app")), None);
    }

    #[test]
    fn alternatives_are_written_out() {
        check("/w/app", "*.{pem,key}", &["*.pem", "*.key"]);
        check("/w/app", "{a,b{c,d}}/{e,f}", &["a/e", "a/f", "bc/e", "bc/f", "bd/e", "bd/f"]);
        check("/w/app", "[{]a,b}\\{c,d}", &["[{]a,b}\\{c,d}"]);
        check("/w/app", "{a", &["{a"]);
        assert_eq!(exclusions(Path::new("/w/app"), &"{a,b}".repeat(9), Path::new("/w/app")), None);
    }
}
