//! Paths as people and models see and write them.
//!
//! A name in a file system is bytes; a model writes text. A name that is not UTF-8, or that would play tricks on a screen,
//! is written as bash writes it, `$'caf\xe9'`, and means the same file when it comes back in an input. Every name has
//! exactly one spelling, so that nothing can be called by two names.

use std::{
    ffi::OsString,
    fmt::{self, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// A path for people and models. What it writes is understood by [`unshown`].
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(&'a Path);

/// Writes a path for people and models.
///
/// ```
/// use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};
///
/// let odd = Path::new(OsStr::from_bytes(b"/menu/caf\xe9 \n"));
/// assert_eq!(haft_tool::shown(odd).to_string(), r"/menu/$'caf\xe9 \n'");
/// assert_eq!(haft_tool::shown(Path::new("/menu/café")).to_string(), "/menu/café");
/// assert_eq!(haft_tool::unshown(r"/menu/$'caf\xe9 \n'"), odd);
/// ```
pub fn shown(path: &Path) -> Shown<'_> {
    Shown(path)
}

/// The path that a text means.
pub fn unshown(text: &str) -> PathBuf {
    if !text.contains("$'") {
        return PathBuf::from(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    for (at, name) in text.split('/').enumerate() {
        if at > 0 {
            bytes.push(b'/');
        }
        match unescape(name) {
            Some(name) => bytes.extend(name),
            None => bytes.extend(name.as_bytes()),
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.as_os_str().as_bytes();
        if let Ok(text) = std::str::from_utf8(bytes)
            && !text.chars().any(is_tricky)
            && !text.contains("$'")
        {
            return f.write_str(text);
        }
        for (at, name) in bytes.split(|byte| *byte == b'/').enumerate() {
            if at > 0 {
                f.write_char('/')?;
            }
            match std::str::from_utf8(name) {
                Ok(name) if is_plain(name) => f.write_str(name)?,
                _ => escape(name, f)?,
            }
        }
        Ok(())
    }
}

/// Whether a name is its own spelling.
fn is_plain(name: &str) -> bool {
    !name.chars().any(is_tricky) && unescape(name).is_none()
}

/// Characters that move the cursor, start a line, or turn the direction of writing.
fn is_tricky(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn escape(name: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("$'")?;
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => f.write_str(r"\\")?,
                '\'' => f.write_str(r"\'")?,
                '\n' => f.write_str(r"\n")?,
                '\t' => f.write_str(r"\t")?,
                '\r' => f.write_str(r"\r")?,
                tricky if is_tricky(tricky) => write!(f, r"\u{:04x}", u32::from(tricky))?,
                plain => f.write_char(plain)?,
            }
        }
        chunk.invalid().iter().try_for_each(|byte| write!(f, r"\x{byte:02x}"))?;
    }
    f.write_char('\'')
}

/// The bytes of an escaped name. None for a name that is not one, or that would not be written like this: it is itself.
fn unescape(name: &str) -> Option<Vec<u8>> {
    let mut rest = name.strip_prefix("$'")?.strip_suffix('\'')?;
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some(at) = rest.find(['\\', '\'']) {
        bytes.extend(&rest.as_bytes()[..at]);
        let escape = rest[at..].strip_prefix('\\')?;
        let kind = escape.chars().next()?;
        rest = &escape[kind.len_utf8()..];
        match kind {
            '\\' | '\'' => bytes.push(kind as u8),
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'x' => bytes.push(u8::try_from(hex(&mut rest, 2)?).ok()?),
            'u' => {
                let character = char::from_u32(hex(&mut rest, 4)?)?;
                bytes.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return None,
        }
    }
    bytes.extend(rest.as_bytes());
    // An ordinary name has no other spelling than itself. Each look inside is shorter, so this ends.
    let is_ordinary = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(is_plain);
    let is_its_spelling = is_name(&bytes) && !is_ordinary(&bytes) && Escaped(&bytes).to_string() == name;
    is_its_spelling.then_some(bytes)
}

/// Escapes cannot make a separator, an end, or a step up.
fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes != b"." && bytes != b".." && !bytes.contains(&b'/') && !bytes.contains(&0)
}

fn hex(rest: &mut &str, digits: usize) -> Option<u32> {
    let number = rest.get(..digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    *rest = &rest[digits..];
    u32::from_str_radix(number, 16).ok()
}

struct Escaped<'a>(&'a [u8]);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escape(self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &str) {
        let path = Path::new(OsStr::from_bytes(bytes));
        assert_eq!(shown(path).to_string(), expected);
        assert_eq!(unshown(expected), path, "the way back");
    }

    #[test]
    fn ordinary_names_are_themselves() {
        check(b"/a b/c'd/$e", "/a b/c'd/$e");
        check("/日本/🦀".as_bytes(), "/日本/🦀");
        check(br"/back\slash\x41", r"/back\slash\x41");
        check(b"relative/", "relative/");
    }

    #[test]
    fn odd_names_are_written_as_bash_would() {
        check(b"/a/\xff\xfe", r"/a/$'\xff\xfe'");
        check(b"/new\nline/\x1b[2J", r"/$'new\nline'/$'\u001b[2J'");
        check("/evil\u{202e}txt.exe".as_bytes(), r"/$'evil\u202etxt.exe'");
        check(b"it's\xe9", r"$'it\'s\xe9'");
    }

    #[test]
    fn a_name_that_looks_like_an_escaped_one_is_told_from_it() {
        // `$'x'` is nobody's spelling: it is a name.
        check(b"$'x'", "$'x'");
        check(br"$'\xff'", r"$'$\'\\xff\''");
        assert_eq!(unshown(r"a/$'..\x2f'"), Path::new(r"a/$'..\x2f'"), "no separators, no steps up");
    }

    proptest! {
        #[test]
        fn every_path_comes_back(bytes in proptest::collection::vec(
            prop_oneof![any::<u8>(), Just(b'/'), Just(b'\''), Just(b'$'), Just(b'\\'), Just(b'x')], 0..24)
        ) {
            prop_assume!(!bytes.contains(&0));
            let path = PathBuf::from(OsString::from_vec(bytes));
            let text = shown(&path).to_string();
            prop_assert!(!text.chars().any(is_tricky));
            prop_assert_eq!(unshown(&text), path);
        }
    }
}
