//! Doors to the pure parts for the fuzz targets, one for each. Nobody else needs them.

use crate::{
    apply_patch::{Intent, Numbers, apply, parse},
    edit::edit as edit_text,
};

/// A text after an edit, and the lines in it at which the replacements start.
pub fn edit(text: &str, old: &str, new: &str, all: bool) -> Result<(String, Vec<usize>), String> {
    match edit_text(text, old, new, all) {
        Ok(edited) => Ok((edited.text, edited.places)),
        Err(refused) => Err(refused.to_string()),
    }
}

/// What a patch made of a text that one of its files holds.
#[derive(Debug)]
pub struct Patched {
    /// How many lines the hunks take away.
    pub removed: usize,
    /// How many they add.
    pub added: usize,
    /// The new text, or why there is none.
    pub text: Result<String, String>,
}

/// Applies a patch to a text, as if each of its files held that.
pub fn patch(text: &str, patch: &str) -> Result<Vec<Patched>, String> {
    let patch = parse(patch).map_err(|err| err.to_string())?;
    let hunks = patch.files.iter().filter_map(|file| match &file.intent {
        Intent::Add(_) => None,
        Intent::Remove(hunks) | Intent::Update { hunks, .. } => Some(hunks),
    });
    let patched = hunks.map(|hunks| {
        let lines: usize = hunks.iter().map(|hunk| hunk.lines.len()).sum();
        let (old, new) =
            (hunks.iter().map(|hunk| hunk.before().count()), hunks.iter().map(|hunk| hunk.after().count()));
        let text = apply(text, hunks, Numbers::Hold).map(|applied| applied.text);
        Patched {
            removed: lines - new.sum::<usize>(),
            added: lines - old.sum::<usize>(),
            text: text.map_err(|misfits| misfits.iter().map(|misfit| format!("{misfit}\n")).collect()),
        }
    });
    Ok(patched.collect())
}
