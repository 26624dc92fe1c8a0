//! An image: what was at a path before a call, and what the call left there.

use std::{
    io::{self, Read},
    path::{Path, PathBuf},
};

use haft_engine::session::{CallKey, Thing};
use haft_tool::{shown, unshown};
use serde::{Deserialize, Serialize};

use crate::blobs::{Blobs, Hash};

/// What a call made of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Where, as it is shown.
    path: String,
    /// What was there.
    pub before: Was,
    /// What the call left there.
    pub after: Was,
}

impl Image {
    /// An image of a path.
    pub fn new(path: &Path, before: Was, after: Was) -> Image {
        Image { path: shown(path).to_string(), before, after }
    }

    /// Where, as it is shown.
    pub(super) fn shown(&self) -> &str {
        &self.path
    }

    /// Whether it is about a file or a link, not about a directory alone.
    pub(super) fn is_of_content(&self) -> bool {
        let is_content = |was: &Was| !matches!(was, Was::Absent | Was::Directory { .. });
        is_content(&self.before) || is_content(&self.after)
    }

    /// Where.
    pub fn path(&self) -> PathBuf {
        unshown(&self.path)
    }
}

/// What is, or was, at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Was {
    /// Nothing.
    Absent,
    /// A file whose content is known.
    File {
        /// Its content.
        hash: Hash,
        /// How much of it.
        len: u64,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// What is written in it, as it is shown.
        target: String,
    },
    /// A directory.
    Directory {
        /// Its permissions.
        mode: u32,
    },
    /// A file whose content was not kept.
    Unkept {
        /// How much it holds.
        len: u64,
        /// Its permissions.
        mode: u32,
        /// When it was changed.
        modified_ns: i64,
        /// Why it was not kept.
        why: String,
    },
}

impl Was {
    /// A link.
    pub fn link(target: &Path) -> Was {
        Was::Link { target: shown(target).to_string() }
    }

    /// What it holds, if it is a file whose content is known.
    pub fn hash(&self) -> Option<&Hash> {
        match self {
            Was::File { hash, .. } => Some(hash),
            _ => None,
        }
    }

    /// In a few words.
    pub fn describe(&self) -> String {
        match self {
            Was::Absent => "nothing".to_owned(),
            Was::File { len, mode, .. } | Was::Unkept { len, mode, .. } => {
                format!("a file of {len} bytes, mode {mode:o}")
            }
            Was::Link { target } => format!("a link to {target}"),
            Was::Directory { mode } => format!("a directory, mode {mode:o}"),
        }
    }

    /// What it held, as far as anybody wants to see it. `None`: it is no file, or not kept.
    pub fn content(&self, blobs: &dyn Blobs, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Was::File { hash, len, .. } = self else { return Ok(None) };
        let Some(blob) = blobs.get(hash)?.filter(|_| *len <= most) else { return Ok(None) };
        let mut bytes = Vec::new();
        blob.take(most).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

/// What a call changed: the body of an event about images.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Changed {
    /// What was changed.
    pub images: Vec<Image>,
    /// The workspace of whoever changed it, as it is shown.
    pub workspace: String,
    /// It was found only after whoever did it was gone: somebody else may have done some of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// What may have been changed besides and cannot be taken back, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The calls that it takes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<CallKey>,
    /// Paths that these calls changed, and that are as they were without anything being done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settled: Vec<String>,
    /// The undo that it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redoes: Option<CallKey>,
}

impl Changed {
    /// All paths that it is about.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let settled = self.settled.iter().map(|path| unshown(path));
        self.images.iter().map(Image::path).chain(settled).collect()
    }

    /// The same of no images.
    pub(super) fn without_images(&self) -> Changed {
        let Changed { late, undoes, redoes, .. } = self;
        Changed { late: *late, undoes: undoes.clone(), redoes: redoes.clone(), ..Changed::default() }
    }
}

/// What the engine shows of a place, without its content.
pub(super) fn without_content(thing: &Thing<'_>) -> Option<Was> {
    match thing {
        Thing::Absent => Some(Was::Absent),
        Thing::Link(target) => Some(Was::link(target)),
        Thing::Directory { mode } => Some(Was::Directory { mode: *mode }),
        Thing::Closed { len, mode, why } => {
            Some(Was::Unkept { len: *len, mode: *mode, modified_ns: 0, why: why.clone() })
        }
        Thing::File { .. } => None,
    }
}
