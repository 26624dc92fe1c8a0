//! What happened between two looks at a root.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    image::{Image, Was},
    index::{Entry, GRAIN_NS, Index, What, differences},
};

/// Files that say what is left out.
const IGNORE_FILES: [&[u8]; 4] = [b".gitignore", b".ignore", b".rgignore", b"info/exclude"];

/// What happened below a root.
#[derive(Default)]
pub(super) struct Happened {
    pub(super) images: Vec<Image>,
    pub(super) left_out: Vec<String>,
}

/// What happened between two looks, besides what others are known to have done meanwhile.
pub(super) fn compare(
    root: &Path,
    before: &Index,
    after: &Index,
    by_others: &HashMap<PathBuf, Was>,
) -> Happened {
    let pairs: Vec<(Option<&Entry>, Option<&Entry>)> = differences(before, after).collect();
    let shows = Shows::new(root, before, &pairs);
    let mut happened = Happened::default();
    for (old, new) in pairs {
        let Some(entry) = old.or(new) else { continue };
        let path = entry.place(root);
        if (new.is_none() && is_there(&path)) || new.is_some_and(|new| old.is_none() && !shows.is_new(new)) {
            continue;
        }
        let after = new.map_or(Was::Absent, Entry::was);
        let before = match by_others.get(&path) {
            Some(theirs) if *theirs == after => continue,
            Some(theirs) => theirs.clone(),
            None => old.map_or(Was::Absent, Entry::was),
        };
        if before != after {
            happened.images.push(Image::new(&path, before, after));
        }
    }
    if shows.rules_changed {
        happened.left_out.push(
            "what ignore files hid before and show now, or the other way round, was left alone".to_owned(),
        );
    }
    happened
}

/// Ignore files that change make things appear that were there all the time. They must not be taken for new: whoever
/// takes the call back would remove them.
struct Shows {
    rules_changed: bool,
    inodes: HashSet<u64>,
    since_ns: i64,
}

impl Shows {
    fn new(root: &Path, before: &Index, pairs: &[(Option<&Entry>, Option<&Entry>)]) -> Shows {
        let rules_changed = pairs.iter().any(|(old, new)| reveals(root, *old, *new));
        let inodes = before.entries.iter().filter(|_| rules_changed).map(|entry| entry.details.stamp.inode);
        let since_ns = before.taken_ns.saturating_sub(GRAIN_NS);
        Shows { rules_changed, inodes: inodes.collect(), since_ns }
    }

    fn is_new(&self, entry: &Entry) -> bool {
        let is_moved = || self.inodes.contains(&entry.details.stamp.inode);
        let is_made = || entry.what != What::Directory && entry.details.changed_ns >= self.since_ns;
        !self.rules_changed || is_moved() || is_made()
    }
}

/// Whether this can make something appear: patterns that are changed or gone, new ones with exceptions, and a repository
/// that is gone, without which its patterns do not count.
fn reveals(root: &Path, old: Option<&Entry>, new: Option<&Entry>) -> bool {
    let is_rule = |entry: &Entry| {
        IGNORE_FILES.iter().any(|name| {
            entry.path.strip_suffix(*name).is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
        })
    };
    match (old, new) {
        (Some(old), None) if old.path == b".git" => true,
        (Some(old), _) => is_rule(old),
        (None, Some(new)) if is_rule(new) => {
            let text = fs::read(new.place(root)).unwrap_or_default();
            text.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"!"))
        }
        _ => false,
    }
}

/// What is not seen any more may be hidden by an ignore file, or lie where nobody may look.
fn is_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Err(err) => !matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        Ok(found) => found.is_dir() || found.is_file() || found.is_symlink(),
    }
}
