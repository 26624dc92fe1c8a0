//! For fuzz targets: what strangers' bytes reach, without a tool around it.
//!
//! Each function promises to end soon, in bounded memory, without a panic, whatever it is given.

use std::time::Duration;

use haft_tool::Block;

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
