//! The keys by which two files differ.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use super::{
    harmless::{self, Surroundings},
    read::{Entry, read},
};

/// A value: `None` for a key without `=`.
pub(super) type Value = Option<Vec<u8>>;

/// One key whose values changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// `section.subsection.variable`. Empty if a file could not be read: then anything may have changed.
    pub key: Vec<u8>,
    /// The values that it had, in order.
    pub before: Vec<Option<Vec<u8>>>,
    /// The values that it has, in order.
    pub after: Vec<Option<Vec<u8>>>,
    harmless: bool,
}

impl KeyChange {
    /// Returns whether neither the old nor the new value can run a program, or lead git elsewhere.
    #[must_use]
    pub fn is_harmless(&self) -> bool {
        self.harmless
    }

    /// The key as it can be shown: `core.fsmonitor`.
    #[must_use]
    pub fn name(&self) -> String {
        match self.key.is_empty() {
            true => "a file of settings that cannot be read".to_owned(),
            false => String::from_utf8_lossy(&self.key).replace(char::is_control, "\u{fffd}"),
        }
    }

    /// Why it is not harmless, as the end of a sentence.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        if self.key.is_empty() { "so anything may have changed" } else { harmless::reason(&self.key) }
    }
}

/// Returns the keys by which two files of settings differ, in order of their names. A missing file is an empty one.
///
/// ```
/// use haft_shell::git_config::compare;
///
/// let changes = compare(b"", b"[core]\n\tfsmonitor = ./x\n[pull]\n\trebase = true\n");
/// let told: Vec<_> = changes.iter().map(|change| (change.name(), change.is_harmless())).collect();
/// assert_eq!(told, [("core.fsmonitor".to_owned(), false), ("pull.rebase".to_owned(), true)]);
/// ```
#[must_use]
pub fn compare(old: &[u8], new: &[u8]) -> Vec<KeyChange> {
    compare_files(old, new, None)
}

/// Compares like [`compare`], for files in this directory of a repository. There git writes `core.worktree` for a
/// submodule, which is harmless if it leads into the tree of the repository around it.
#[must_use]
pub fn compare_in(git_directory: &Path, old: &[u8], new: &[u8]) -> Vec<KeyChange> {
    compare_files(old, new, Some(git_directory))
}

fn compare_files(old: &[u8], new: &[u8], directory: Option<&Path>) -> Vec<KeyChange> {
    if old == new {
        return Vec::new();
    }
    let (Ok(old), Ok(new)) = (read(old), read(new)) else {
        return vec![KeyChange { key: Vec::new(), before: vec![], after: vec![], harmless: false }];
    };
    // Either may be put back.
    let rewrites = harmless::has_powerful_rewrite(&old) || harmless::has_powerful_rewrite(&new);
    let surroundings = Surroundings { directory, rewrites };
    let (before, after) = (values(&old), values(&new));
    let mut changes = BTreeMap::new();
    for key in before.keys().chain(after.keys()) {
        let of = |values: &HashMap<&[u8], Vec<Value>>| values.get(key).cloned().unwrap_or_default();
        let (before, after) = (of(&before), of(&after));
        if before != after {
            let harmless = surroundings.is_harmless_change(key, &after);
            let change = KeyChange { key: key.to_vec(), before, after, harmless };
            changes.insert(key.to_vec(), change);
        }
    }
    add_moved(&mut changes, &old, &new);
    changes.into_values().collect()
}

/// Adds the powerful keys whose values are the same, in another order among each other. An `include` in front of a key
/// is not one behind it.
fn add_moved(changes: &mut BTreeMap<Vec<u8>, KeyChange>, old: &[Entry], new: &[Entry]) {
    let kept = |entries: &[Entry]| -> Vec<Vec<u8>> {
        let is_kept = |entry: &&Entry| !changes.contains_key(&entry.key) && !is_harmless_entry(entry);
        entries.iter().filter(is_kept).map(|entry| entry.key.clone()).collect()
    };
    let (before, after) = (kept(old), kept(new));
    let moved: Vec<_> = before.into_iter().zip(after).filter(|(one, other)| one != other).collect();
    for (key, _) in moved {
        let values = |entries: &[Entry]| {
            entries.iter().filter(|entry| entry.key == key).map(|entry| entry.value.clone()).collect()
        };
        let change = KeyChange { before: values(old), after: values(new), key: key.clone(), harmless: false };
        changes.insert(key, change);
    }
}

fn is_harmless_entry(entry: &Entry) -> bool {
    harmless::is_harmless(&entry.key, entry.value.as_deref())
}

pub(super) fn values(entries: &[Entry]) -> HashMap<&[u8], Vec<Value>> {
    let mut values: HashMap<&[u8], Vec<Value>> = HashMap::new();
    for entry in entries {
        values.entry(&entry.key).or_default().push(entry.value.clone());
    }
    values
}
