//! Takes back the powerful changes of a file, and keeps the harmless ones.

use std::{collections::HashMap, ops::Range, path::Path};

use super::{
    compare::{KeyChange, Value, compare, compare_in},
    read::{Entry, read, split_key},
};

/// Returns the settings of `before` with the harmless changes of `current`. If one of them cannot be read, `before`.
///
/// Powerful keys stay where they stood, byte for byte; comments that are new in `current` are lost. `git_directory` is
/// where the file lies, as for [`compare_in`].
#[must_use]
pub fn revert(current: &[u8], before: &[u8], git_directory: Option<&Path>) -> Vec<u8> {
    let changes = match git_directory {
        Some(directory) => compare_in(directory, before, current),
        None => compare(before, current),
    };
    let Ok(entries) = read(before) else { return before.to_vec() };
    if changes.iter().any(|change| change.key.is_empty()) {
        return before.to_vec();
    }
    if changes.iter().all(KeyChange::is_harmless) {
        return current.to_vec();
    }
    let harmless: HashMap<&[u8], &[Value]> = changes
        .iter()
        .filter(|change| change.is_harmless())
        .map(|change| (&*change.key, &*change.after))
        .collect();
    let mut bytes = replace(before, &entries, &harmless);
    append(&mut bytes, &entries, &harmless);
    bytes
}

/// Puts the new values of keys where their first old value stood, and leaves out the other old ones.
fn replace(before: &[u8], entries: &[Entry], harmless: &HashMap<&[u8], &[Value]>) -> Vec<u8> {
    let (mut bytes, mut copied, mut seen) = (Vec::new(), 0, Vec::new());
    for entry in entries {
        let Some(values) = harmless.get(&*entry.key) else { continue };
        let span = whole_lines(before, &entry.span);
        bytes.extend_from_slice(&before[copied..span.start]);
        copied = span.end;
        if span.start == entry.span.start && span.start > 0 {
            bytes.push(b'\n'); // it stands behind `[section]`
        }
        if !seen.contains(&&entry.key) {
            seen.push(&entry.key);
            values.iter().for_each(|value| push_variable(&mut bytes, &entry.key, value));
        }
    }
    bytes.extend_from_slice(&before[copied..]);
    bytes
}

/// The span of an entry with the space in front of it, if it stands on lines of its own.
fn whole_lines(bytes: &[u8], span: &Range<usize>) -> Range<usize> {
    let line = memchr::memrchr(b'\n', &bytes[..span.start]).map_or(0, |at| at + 1);
    let is_indented = bytes[line..span.start].trim_ascii().is_empty();
    if is_indented { line..span.end } else { span.clone() }
}

/// Adds sections for keys that were not there. Those of one section stay together.
fn append(bytes: &mut Vec<u8>, entries: &[Entry], harmless: &HashMap<&[u8], &[Value]>) {
    let is_new = |key: &[u8]| entries.iter().all(|entry| entry.key != key);
    let mut added: Vec<_> = harmless.iter().filter(|(key, _)| is_new(key)).collect();
    added.sort_unstable();
    let mut section = None;
    for (key, values) in added {
        let (name, subsection, _) = split_key(key);
        if section != Some((name, subsection)) {
            section = Some((name, subsection));
            push_section(bytes, name, subsection);
        }
        values.iter().for_each(|value| push_variable(bytes, key, value));
    }
}

fn push_section(bytes: &mut Vec<u8>, name: &[u8], subsection: Option<&[u8]>) {
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    // A backslash at the end of the last line makes the next one a part of its value.
    if bytes.ends_with(b"\\\n") {
        bytes.push(b'\n');
    }
    bytes.push(b'[');
    bytes.extend_from_slice(name);
    if let Some(subsection) = subsection {
        bytes.extend_from_slice(b" \"");
        push_escaped(bytes, subsection);
        bytes.push(b'"');
    }
    bytes.extend_from_slice(b"]\n");
}

fn push_variable(bytes: &mut Vec<u8>, key: &[u8], value: &Value) {
    bytes.push(b'\t');
    bytes.extend_from_slice(split_key(key).2);
    if let Some(value) = value {
        bytes.extend_from_slice(b" = ");
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:@+*".contains(byte);
        let needs_quotes = value.is_empty() || !value.iter().all(is_plain);
        bytes.extend_from_slice(if needs_quotes { b"\"" } else { b"" });
        push_escaped(bytes, value);
        bytes.extend_from_slice(if needs_quotes { b"\"" } else { b"" });
    }
    bytes.push(b'\n');
}

/// Text between quotes. Line feeds and tabs do not occur in subsections, where their escapes mean letters.
fn push_escaped(bytes: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            b'"' | b'\\' => bytes.extend([b'\\', *byte]),
            b'\n' => bytes.extend_from_slice(b"\\n"),
            _ => bytes.push(*byte),
        }
    }
}
