//! What a turn changes, and what each file may hold: pure, the same every time.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

/// How often a turn changes each file.
pub(super) const CHANGES: u64 = 6;

/// Enough that a text is not written at once.
const LINES: usize = 2_000;

/// Replaced as a whole, again and again.
pub(super) const WRITTEN: &str = "written.txt";
/// Edited in its first line.
pub(super) const EDITED: &str = "edited.txt";
/// Patched in their first lines, always together.
pub(super) const PATCHED: [&str; 2] = ["patched/a.txt", "patched/deep/b.txt"];

/// Which of its texts each file holds. Those of a patch share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Versions {
    pub(super) written: u64,
    pub(super) edited: u64,
    pub(super) patched: u64,
}

/// The file that a patch adds, and the next one removes.
pub(super) fn added(version: u64) -> String {
    format!("patched/added-{version}.txt")
}

/// The new file that is written beside a version.
pub(super) fn made(version: u64) -> String {
    format!("made/{version}.txt")
}

/// What a turn can make of a version.
pub(super) fn reachable(version: u64) -> RangeInclusive<u64> {
    version..=version + CHANGES
}

/// All that a file holds. Only the heading of an edited or patched one changes; every line of a written one does.
pub(super) fn text(name: &str, version: u64) -> String {
    let shown = if name == WRITTEN { version } else { 0 };
    let lines = (0..LINES).map(|line| format!("{name} {shown} {line}\n"));
    heading(version) + &lines.collect::<String>()
}

fn heading(version: u64) -> String {
    format!("version {version}\n")
}

/// The version that a text says it is.
pub(super) fn version_of(text: &str) -> Option<u64> {
    text.lines().next()?.strip_prefix("version ")?.parse().ok()
}

impl Versions {
    /// What the model sends: it reads what it is going to change, then changes it again and again.
    pub(super) fn message(self, patches: bool, round: u32) -> Value {
        let read = |name: &str| ("Read", json!({ "file_path": name, "limit": 1 }));
        let mut calls: Vec<(&str, Value)> = [WRITTEN, EDITED].into_iter().chain(PATCHED).map(read).collect();
        calls.push(read(&added(self.patched)));
        for change in 1..=CHANGES {
            let (written, edited) = (self.written + change, self.edited + change);
            calls.push(write(WRITTEN, written));
            calls.push(write(&made(written), written));
            calls.push(edit(EDITED, edited));
            if patches {
                calls.push(("ApplyPatch", json!({ "patch": patch(self.patched + change) })));
            }
        }
        let block = |(index, (name, input)): (usize, (&str, Value))| json!({ "type": "tool_use", "id": format!("call_{round}_{index}"), "name": name, "input": input });
        calls.into_iter().enumerate().map(block).collect()
    }
}

fn write(name: &str, version: u64) -> (&'static str, Value) {
    ("Write", json!({ "file_path": name, "content": text(name, version) }))
}

fn edit(name: &str, version: u64) -> (&'static str, Value) {
    let (old, new) = (heading(version - 1), heading(version));
    ("Edit", json!({ "file_path": name, "old_string": old, "new_string": new }))
}

/// To this version from the one before: changes two files, adds one, removes one.
fn patch(version: u64) -> String {
    let (old, new) = (heading(version - 1), heading(version));
    let updates = PATCHED.map(|name| format!("*** Update File: {name}\n@@\n-{old}+{new}")).concat();
    let (add, remove) = (added(version), added(version - 1));
    let content: String = text(&add, version).lines().map(|line| format!("+{line}\n")).collect();
    format!(
        "*** Begin Patch\n{updates}*** Add File: {add}\n{content}*** Delete File: {remove}\n*** End Patch\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_knows_its_version() {
        assert_eq!(version_of(&text(WRITTEN, 7)), Some(7));
        assert_eq!(version_of("versi"), None);
    }

    #[test]
    fn an_edit_makes_the_next_text_of_the_last() {
        let (_, input) = edit(EDITED, 4);
        let [old, new] = ["old_string", "new_string"].map(|key| input[key].as_str().unwrap());
        assert_eq!(text(EDITED, 3).replacen(old, new, 1), text(EDITED, 4));
    }

    #[test]
    fn a_patch_goes_from_one_version_to_the_next() {
        let patch = patch(2);
        assert!(
            patch.starts_with(
                "*** Begin Patch\n*** Update File: patched/a.txt\n@@\n-version 1\n+version 2\n***"
            )
        );
        assert!(patch.contains("*** Add File: patched/added-2.txt\n+version 2\n+patched/added-2.txt 0 0\n"));
        assert!(patch.ends_with("\n*** Delete File: patched/added-1.txt\n*** End Patch\n"));
    }
}
