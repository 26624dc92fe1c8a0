//! For fuzz targets: what strangers' bytes reach, without a tool around it.
//!
//! Each function promises to end soon, in bounded memory, without a panic, whatever it is given.

use std::time::Duration;

use haft_tool::Block;

use crate::{
    apply_patch::{Intent, Numbers, apply, parse},
    edit::edit as edit_text,
};

/// What a person's file may become at most: pictures are scaled, texts are cut.
const MOST_PICTURE: usize = 4_000_000;

/// Reads a PDF.
pub fn pdf(bytes: &[u8]) {
    if let Ok(pages) = crate::read::read_pdf(bytes.to_vec(), None, &|| false, Duration::from_secs(3)) {
        assert!(pages.units.len() <= pages.total);
        pages.pictures.iter().for_each(check);
    }
}

/// Reads a picture, of the format that its first byte chooses.
pub fn image(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let formats = [
        image::ImageFormat::Png,
        image::ImageFormat::Jpeg,
        image::ImageFormat::Gif,
        image::ImageFormat::WebP,
    ];
    match crate::read::Picture::of(rest.to_vec(), formats[usize::from(*first) % formats.len()]) {
        Ok(picture) => {
            assert!(!picture.words().is_empty());
            check(&picture.into_block());
        }
        Err(refused) => assert!(!refused.to_string().is_empty()),
    }
}

/// Reads a notebook, and edits it in every way: what comes out is a notebook again.
pub fn notebook(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(cells) = crate::read::cells(text) {
        cells.pictures.iter().for_each(check);
    }
    crate::notebook_edit::check(text);
}

fn check(block: &Block) {
    assert!(block.len() <= MOST_PICTURE, "{} bytes", block.len());
}

/// A text after an edit, and the lines in it at which the replacements start.
pub fn edit(text: &str, old: &str, new: &str, all: bool) -> Result<(String, Vec<usize>), String> {
    match edit_text(text, &[], old, new, all) {
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
        let text = apply(text, &[], hunks, Numbers::Hold).map(|applied| applied.text);
        Patched {
            removed: lines - new.sum::<usize>(),
            added: lines - old.sum::<usize>(),
            text: text.map_err(|misfits| misfits.iter().map(|misfit| format!("{misfit}\n")).collect()),
        }
    });
    Ok(patched.collect())
}
