//! Reads a file of settings as git's `config.c` does, character by character.

use std::ops::Range;

/// Larger files are not read. Real ones have a few kilobytes.
pub const FILE_BYTES_LIMIT: usize = 1 << 20;

/// One `key = value` of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `section.variable` or `section.subsection.variable`, in lower case except for a subsection in quotes.
    pub key: Vec<u8>,
    /// The value without quotes, escapes and comments. `None` for a key without `=`, which git takes for `true`.
    pub value: Option<Vec<u8>>,
    /// The bytes from the key to the end of its last line.
    pub(super) span: Range<usize>,
}

impl Entry {
    /// The section, in lower case.
    #[must_use]
    pub fn section(&self) -> &[u8] {
        split_key(&self.key).0
    }

    /// The subsection, if there is one.
    #[must_use]
    pub fn subsection(&self) -> Option<&[u8]> {
        split_key(&self.key).1
    }

    /// The variable, in lower case.
    #[must_use]
    pub fn variable(&self) -> &[u8] {
        split_key(&self.key).2
    }
}

/// The section, subsection and variable of a key: the first and the last dot count.
pub(super) fn split_key(key: &[u8]) -> (&[u8], Option<&[u8]>, &[u8]) {
    let is_dot = |byte: &u8| *byte == b'.';
    let (Some(first), Some(last)) = (key.iter().position(is_dot), key.iter().rposition(is_dot)) else {
        return (b"", None, key);
    };
    (&key[..first], key.get(first + 1..last), &key[last + 1..])
}

/// Returns a key as [`Entry::key`] has it: section and variable in lower case. `None` if git takes it for none.
#[must_use]
pub fn normalize_key(key: &[u8]) -> Option<Vec<u8>> {
    let (section, _, variable) = split_key(key);
    let is_variable = variable.first().is_some_and(u8::is_ascii_alphabetic)
        && variable.iter().all(|byte| is_key_byte(*byte));
    let is_section = !section.is_empty() && section.iter().all(|byte| is_key_byte(*byte));
    let is_plain = !key.contains(&b'\n') && !key.contains(&0);
    (is_variable && is_section && is_plain).then(|| {
        let (mut key, last) = (key.to_vec(), key.len() - variable.len());
        key[..section.len()].make_ascii_lowercase();
        key[last..].make_ascii_lowercase();
        key
    })
}

/// A file that is no valid file of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line} cannot be read")]
pub struct Unreadable {
    /// The line, from 1.
    pub line: usize,
}

/// Returns the settings of a file in order. Files that it includes are not read.
///
/// ```
/// let entries = haft_shell::git_config::read(b"[Remote \"O\"]\n\tURL = \"a b\" # x").unwrap();
/// assert_eq!(entries[0].key, b"remote.O.url");
/// assert_eq!(entries[0].value.as_deref(), Some(&b"a b"[..]));
/// ```
///
/// # Errors
///
/// If git cannot read the file, if it is too large, or if it has bytes that are zero.
pub fn read(bytes: &[u8]) -> Result<Vec<Entry>, Unreadable> {
    let mut reader = Reader { bytes, at: 0, ended: false };
    let has_zero = bytes.contains(&0);
    let entries = if has_zero || bytes.len() > FILE_BYTES_LIMIT { None } else { reader.entries() };
    entries.ok_or_else(|| {
        let before = &bytes[..reader.at.min(bytes.len())];
        Unreadable { line: 1 + memchr::memchr_iter(b'\n', before).count() }
    })
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the end was reached. Git reads a line feed there.
    ended: bool,
}

impl Reader<'_> {
    fn entries(&mut self) -> Option<Vec<Entry>> {
        match common_length(self.bytes, BYTE_ORDER_MARK) {
            0 => {}
            whole if whole == BYTE_ORDER_MARK.len() => self.at = whole,
            _ => return None,
        }
        let (mut entries, mut section, mut in_comment) = (Vec::new(), Vec::new(), false);
        loop {
            let start = self.at;
            match self.next_byte() {
                b'\n' if self.ended => return Some(entries),
                b'\n' => in_comment = false,
                _ if in_comment => {}
                byte if is_space(byte) => {}
                b'#' | b';' => in_comment = true,
                b'[' => section = self.section()?,
                byte if byte.is_ascii_alphabetic() => {
                    let mut key = section.clone();
                    key.push(byte.to_ascii_lowercase());
                    let value = self.variable(&mut key)?;
                    entries.push(Entry { key, value, span: start..self.at });
                }
                _ => return None,
            }
        }
    }

    /// The next byte. A carriage return before a line feed is left out.
    fn next_byte(&mut self) -> u8 {
        let Some(&byte) = self.bytes.get(self.at) else {
            self.ended = true;
            return b'\n';
        };
        self.at += 1;
        if byte == b'\r' && self.bytes.get(self.at) == Some(&b'\n') {
            self.at += 1;
            return b'\n';
        }
        byte
    }

    /// The rest of `[section]`, `[section.subsection]` or `[section "subsection"]`, with a dot at its end.
    fn section(&mut self) -> Option<Vec<u8>> {
        let mut name = Vec::new();
        loop {
            match self.next_byte() {
                _ if self.ended => return None,
                b']' => break,
                byte if is_space(byte) => {
                    self.subsection(byte, &mut name)?;
                    break;
                }
                byte if is_key_byte(byte) || byte == b'.' => name.push(byte.to_ascii_lowercase()),
                _ => return None,
            }
        }
        if name.is_empty() {
            return None;
        }
        name.push(b'.');
        Some(name)
    }

    /// The rest of ` "subsection"]`.
    fn subsection(&mut self, mut byte: u8, name: &mut Vec<u8>) -> Option<()> {
        while is_space(byte) {
            if byte == b'\n' {
                return None;
            }
            byte = self.next_byte();
        }
        if byte != b'"' {
            return None;
        }
        name.push(b'.');
        loop {
            let mut byte = self.next_byte();
            if byte == b'"' {
                break;
            }
            if byte == b'\\' {
                byte = self.next_byte();
            }
            if byte == b'\n' {
                return None;
            }
            name.push(byte);
        }
        (self.next_byte() == b']').then_some(())
    }

    /// The rest of a variable's name, and its value.
    fn variable(&mut self, key: &mut Vec<u8>) -> Option<Option<Vec<u8>>> {
        let mut byte = self.next_byte();
        while !self.ended && is_key_byte(byte) {
            key.push(byte.to_ascii_lowercase());
            byte = self.next_byte();
        }
        while byte == b' ' || byte == b'\t' {
            byte = self.next_byte();
        }
        match byte {
            b'\n' => Some(None),
            b'=' => self.value().map(Some),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut quoted, mut in_comment) = (Vec::new(), false, false);
        // Where unquoted space at the end begins; zero for none, as in git.
        let mut trimmed = 0;
        loop {
            match self.next_byte() {
                b'\n' if quoted => return None,
                b'\n' => {
                    if trimmed > 0 {
                        value.truncate(trimmed);
                    }
                    return Some(value);
                }
                _ if in_comment => {}
                byte if is_space(byte) && !quoted => {
                    if trimmed == 0 {
                        trimmed = value.len();
                    }
                    if !value.is_empty() {
                        value.push(byte);
                    }
                }
                b'#' | b';' if !quoted => in_comment = true,
                byte => {
                    trimmed = 0;
                    match byte {
                        b'\\' => value.extend(self.escaped()?),
                        b'"' => quoted = !quoted,
                        _ => value.push(byte),
                    }
                }
            }
        }
    }

    /// The byte that an escape means; none for a line that goes on.
    fn escaped(&mut self) -> Option<Option<u8>> {
        Some(match self.next_byte() {
            b'\n' => None,
            b't' => Some(b'\t'),
            b'b' => Some(8),
            b'n' => Some(b'\n'),
            byte @ (b'\\' | b'"') => Some(byte),
            _ => return None,
        })
    }
}

fn common_length(bytes: &[u8], with: &[u8]) -> usize {
    bytes.iter().zip(with).take_while(|(one, other)| one == other).count()
}

/// Space as git's own tables have it: without vertical tabs and form feeds.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}
