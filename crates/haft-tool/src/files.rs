//! The one door to the file system, as a tool sees it.
//!
//! A tool names paths; the engine opens them. What the call did not declare stays shut, what was judged is what is
//! opened, and what the model has not seen is not overwritten.

use std::{
    borrow::Cow,
    fs::{File, Metadata},
    ops::Range,
    os::unix::fs::MetadataExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::{Fault, FaultKind, Visitor, Walk, Walked};

/// The one door to the file system.
///
/// Implemented by the engine. Every operation refuses a path that the call's effects did not declare, and holds on
/// the real file after links, so that what was permitted and what is opened are the same. The operations block:
/// use them inside [`Cx::blocking`](crate::Cx::blocking).
pub trait Files: Send + Sync {
    /// Opens a regular file for reading. Never hangs on a FIFO, a device or a socket: these are refused.
    fn open(&self, path: &Path) -> Result<File, Fault>;

    /// Looks at a path. `None` if nothing is there.
    fn metadata(&self, path: &Path) -> Result<Option<Metadata>, Fault>;

    /// Shows the visitors all that lies below a directory and may be read, each on a thread of its own. A file is shown
    /// alone. Links are shown, never followed. Ends early when the call is cancelled, with a fault.
    fn walk(&self, root: &Path, walk: &Walk, visitors: &mut [&mut dyn Visitor]) -> Result<Walked, Fault>;

    /// Makes all of these changes, or none. Each is one step: whoever reads meanwhile sees the old content or the new.
    /// A file that the session has not seen, or that has changed since it did, is neither replaced nor removed.
    fn change(&self, changes: &[FileChange<'_>]) -> Result<(), Fault>;

    /// What the session knows of a file since it last saw it; `None` if it never did.
    fn seen(&self, path: &Path) -> Result<Option<Sight>, Fault>;

    /// Notes that the model is shown a file as it is now. What was known of it before is forgotten.
    fn see(&self, path: &Path, sight: Sight) -> Result<(), Fault>;

    /// Where the secrets stand in a text that was read. None of it may be told in any words: the answer of this call is
    /// kept free of them and of their parts, whatever it quotes. A tool that shows or compares a file's text asks first.
    fn secrets_in(&self, _text: &str) -> Vec<Hidden> {
        Vec::new()
    }

    /// Replaces a regular file in one step, or makes it and its parents. As in [`change`](Files::change).
    fn write(&self, path: &Path, content: &[u8]) -> Result<(), Fault> {
        self.change(&[FileChange::Write { path, content }])
    }
}

/// A part of a text that must not be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden {
    /// Where it stands.
    pub range: Range<usize>,
    /// What a model is shown in its place.
    pub mark: String,
}

/// A text as a model is shown it: with marks in place of what is hidden, and as many lines as before.
pub fn without_hidden<'a>(text: &'a str, hidden: &[Hidden]) -> Cow<'a, str> {
    if hidden.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for Hidden { range, mark } in hidden {
        out.push_str(&text[at..range.start]);
        out.push_str(mark);
        out.extend(text[range.clone()].matches('\n'));
        at = range.end;
    }
    out.push_str(&text[at..]);
    Cow::Owned(out)
}

/// A change of one file.
#[derive(Debug, Clone, Copy)]
pub enum FileChange<'a> {
    /// The file holds this from now on. It is made, with its parents, if it is not there; mode and owner stay.
    Write {
        /// Which file.
        path: &'a Path,
        /// All that it is to hold.
        content: &'a [u8],
    },
    /// The file holds these pieces from now on. For a small change of a large file: what stays is not brought into memory.
    Splice {
        /// Which file.
        path: &'a Path,
        /// The file as it was opened here. If it is changed before all is done, nothing is.
        was: &'a File,
        /// What it is to hold, in this order.
        pieces: &'a [Piece<'a>],
    },
    /// The file is no longer there.
    Remove {
        /// Which file.
        path: &'a Path,
    },
}

impl<'a> FileChange<'a> {
    /// Which file.
    pub fn path(&self) -> &'a Path {
        match self {
            FileChange::Write { path, .. }
            | FileChange::Splice { path, .. }
            | FileChange::Remove { path } => path,
        }
    }
}

/// A piece of what a file is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// These bytes of what it holds already.
    Same(Range<u64>),
    /// These.
    New(&'a [u8]),
}

/// By what a file is recognised as unchanged, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Its size.
    pub len: u64,
    /// When it was changed, in nanoseconds since 1970; negative before.
    pub modified_ns: i64,
    /// Which file it is: a replaced one is another.
    pub inode: u64,
}

impl Stamp {
    /// The stamp of a file that was opened.
    pub fn of(metadata: &Metadata) -> Stamp {
        let modified_ns =
            metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        Stamp { len: metadata.len(), modified_ns, inode: metadata.ino() }
    }
}

/// What a session knows of a file: it holds as long as the stamp does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// Which state of the file.
    #[serde(flatten)]
    pub stamp: Stamp,
    /// What of it the model was shown, in the words of the tool that showed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
    /// Where some of its lines begin: the line, counted from 1, and its first byte. Rising.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<(u64, u64)>,
}

impl From<Stamp> for Sight {
    fn from(stamp: Stamp) -> Sight {
        Sight { stamp, shown: Vec::new(), marks: Vec::new() }
    }
}

/// A door that does not open, for tools that need no files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn open(&self, path: &Path) -> Result<File, Fault> {
        Err(no_files(path))
    }
    fn metadata(&self, path: &Path) -> Result<Option<Metadata>, Fault> {
        Err(no_files(path))
    }
    fn walk(&self, root: &Path, _: &Walk, _: &mut [&mut dyn Visitor]) -> Result<Walked, Fault> {
        Err(no_files(root))
    }
    fn change(&self, changes: &[FileChange<'_>]) -> Result<(), Fault> {
        changes.first().map_or(Ok(()), |change| Err(no_files(change.path())))
    }
    fn seen(&self, path: &Path) -> Result<Option<Sight>, Fault> {
        Err(no_files(path))
    }
    fn see(&self, path: &Path, _: Sight) -> Result<(), Fault> {
        Err(no_files(path))
    }
}

fn no_files(path: &Path) -> Fault {
    Fault::new(FaultKind::Unavailable, format!("no file access here: {}", path.display()))
}
