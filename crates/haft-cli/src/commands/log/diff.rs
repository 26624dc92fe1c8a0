//! What a call changed in files: a diff of what was there and what it left, as far as both are kept.

use std::{fs, path::Path};

use haft_store::{
    EventKind,
    blobs::Hash,
    images::{Changed, Image, StoredImages, Was},
};
use haft_tool::shown;
use serde_json::Value;

use crate::trust::unified;

/// Larger files are not compared.
const MOST: u64 = 1 << 20;

/// Of the events of a call.
pub(super) fn of(events: &Value, images: &StoredImages) -> String {
    let events = events.as_array().map(Vec::as_slice).unwrap_or_default();
    let of_images = events.iter().filter(|event| event["kind"] == EventKind::IMAGE.0.as_ref());
    let changed = of_images.filter_map(|event| serde_json::from_value::<Changed>(event["body"].clone()).ok());
    let each = |changed: Changed| {
        changed.images.iter().map(|image| one(image, &changed, images)).collect::<String>()
    };
    changed.map(each).collect()
}

fn one(image: &Image, changed: &Changed, images: &StoredImages) -> String {
    let path = image.path();
    let name = shown(path.strip_prefix(&changed.workspace).unwrap_or(&path)).to_string();
    match (content(&image.before, &path, images), content(&image.after, &path, images)) {
        (Some(before), Some(after)) => unified(&name, &before, &after),
        // A link, a directory, something large or not kept: the events say what became of it.
        _ => String::new(),
    }
}

/// What a file held, if it is a text. What nobody kept may still be there as it was left.
fn content(was: &Was, path: &Path, images: &StoredImages) -> Option<String> {
    let Was::File { hash, len, .. } = was else { return matches!(was, Was::Absent).then(String::new) };
    let there = || fs::read(path).ok().filter(|bytes| Hash::of(bytes) == *hash);
    let kept = images.content(was, MOST).ok().flatten();
    let bytes = kept.or_else(|| (*len <= MOST).then(there).flatten())?;
    String::from_utf8(bytes).ok()
}
