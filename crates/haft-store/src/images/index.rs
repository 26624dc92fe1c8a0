//! What lies below a root, as it was when somebody last looked: so that only what changed since is read again.
//!
//! Like git's index: a file whose stamp is the same is the same, unless it was changed so shortly before the look that a
//! second change could have the same stamp.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Write},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use haft_tool::{Details, Stamp};

use super::image::Was;
use crate::blobs::Hash;

/// What was found below a root, in the order of the paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Index {
    /// When the look began, in nanoseconds since 1970.
    pub(super) taken_ns: i64,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// From the root on; empty for the root itself.
    pub(super) path: Vec<u8>,
    pub(super) details: Details,
    pub(super) what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Directory,
    Link(Vec<u8>),
    File(Hash),
    /// A file that was not kept.
    Unkept(Reason),
}

/// Why a file was not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    Large,
    Unreadable,
    /// There was no time or room for it at that look. The next one tries again.
    Late,
}

/// Clocks of file systems are no finer than this.
pub(super) const GRAIN_NS: i64 = 20_000_000;

impl Index {
    pub(super) fn find(&self, path: &[u8]) -> Option<&Entry> {
        self.entries
            .binary_search_by(|entry| entry.path.as_slice().cmp(path))
            .ok()
            .map(|at| &self.entries[at])
    }

    /// Whether something in it was changed just before the look.
    pub(super) fn is_fresh(&self) -> bool {
        self.entries.iter().any(|entry| !self.believes(entry))
    }

    fn believes(&self, entry: &Entry) -> bool {
        entry.what == What::Directory || entry.details.changed_ns < self.taken_ns.saturating_sub(GRAIN_NS)
    }

    /// The same place, if nothing can have happened to it since.
    pub(super) fn unchanged(&self, path: &[u8], details: &Details) -> Option<&Entry> {
        self.find(path).filter(|entry| entry.details == *details && self.believes(entry))
    }
}

impl Entry {
    pub(super) fn place(&self, root: &Path) -> PathBuf {
        place(root, &self.path)
    }

    pub(super) fn was(&self) -> Was {
        let Details { stamp, mode, .. } = self.details;
        match &self.what {
            What::Directory => Was::Directory { mode },
            What::Link(target) => Was::link(Path::new(OsStr::from_bytes(target))),
            What::File(hash) => Was::File { hash: *hash, len: stamp.len, mode },
            What::Unkept(reason) => Was::Unkept {
                len: stamp.len,
                mode,
                modified_ns: stamp.modified_ns,
                why: reason.words().to_owned(),
            },
        }
    }
}

impl Reason {
    fn words(self) -> &'static str {
        match self {
            Reason::Large => "it is larger than `undo.max_file_mb`",
            Reason::Unreadable => "it could not be read",
            Reason::Late => "there was no time to read it before the command",
        }
    }
}

pub(super) fn place(root: &Path, path: &[u8]) -> PathBuf {
    if path.is_empty() { root.to_owned() } else { root.join(OsStr::from_bytes(path)) }
}

/// What became of what, in the order of the paths.
pub(super) fn differences<'a>(
    before: &'a Index,
    after: &'a Index,
) -> impl Iterator<Item = (Option<&'a Entry>, Option<&'a Entry>)> {
    let (mut old, mut new) = (before.entries.iter().peekable(), after.entries.iter().peekable());
    std::iter::from_fn(move || {
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return None,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.path.cmp(&new.path),
            };
            let pair = match order {
                std::cmp::Ordering::Less => (old.next(), None),
                std::cmp::Ordering::Greater => (None, new.next()),
                std::cmp::Ordering::Equal => (old.next(), new.next()),
            };
            match pair {
                (Some(one), Some(other)) if is_same(one, other) => {}
                pair => return Some(pair),
            }
        }
    })
}

/// Whether nothing happened that could be taken back. What was not read is known by its stamp alone.
fn is_same(one: &Entry, other: &Entry) -> bool {
    match (&one.what, &other.what) {
        (What::Unkept(_), _) | (_, What::Unkept(_)) => one.details == other.details,
        (one_what, other_what) => one_what == other_what && one.details.mode == other.details.mode,
    }
}

/// By this an index is known, and its version.
const MAGIC: &[u8] = b"haft index 1\n";

impl Index {
    pub(super) fn read(path: &Path) -> io::Result<Option<Index>> {
        match fs::read(path) {
            // One that was not written whole, or by another version, is none: everything is read again.
            Ok(bytes) => Ok(decode(&bytes)),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }

    /// In one step, so that a name which somebody else gave the old one keeps the old one.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        let mut staged = tempfile::NamedTempFile::new_in(directory)?;
        staged.write_all(&self.encode())?;
        staged.persist(path).map(drop).map_err(|err| err.error)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.reserve(self.entries.len() * 128);
        bytes.extend(self.taken_ns.to_le_bytes());
        bytes.extend((self.entries.len() as u64).to_le_bytes());
        self.entries.iter().for_each(|entry| entry.encode(&mut bytes));
        let sum = Hash::of(&bytes);
        bytes.extend(sum.0);
        bytes
    }
}

impl Entry {
    fn encode(&self, bytes: &mut Vec<u8>) {
        let Details { stamp, changed_ns, mode } = self.details;
        put_text(bytes, &self.path);
        bytes.extend(stamp.len.to_le_bytes());
        bytes.extend(stamp.modified_ns.to_le_bytes());
        bytes.extend(stamp.inode.to_le_bytes());
        bytes.extend(changed_ns.to_le_bytes());
        bytes.extend(u64::from(mode).to_le_bytes());
        match &self.what {
            What::Directory => bytes.push(0),
            What::Link(target) => {
                bytes.push(1);
                put_text(bytes, target);
            }
            What::File(hash) => {
                bytes.push(2);
                bytes.extend(hash.0);
            }
            What::Unkept(reason) => bytes.push(3 + *reason as u8),
        }
    }
}

fn put_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text);
}

fn decode(bytes: &[u8]) -> Option<Index> {
    let (body, sum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if Hash::of(body).0 != sum {
        return None;
    }
    let mut rest = Rest(body.strip_prefix(MAGIC)?);
    let taken_ns = rest.number()?.cast_signed();
    let count = usize::try_from(rest.number()?).ok()?;
    let mut entries = Vec::with_capacity(count.min(body.len() / 50));
    for _ in 0..count {
        entries.push(rest.entry()?);
    }
    Some(Index { taken_ns, entries })
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let len = usize::try_from(self.number()?).ok()?;
        Some(self.take(len)?.to_vec())
    }

    fn entry(&mut self) -> Option<Entry> {
        let path = self.text()?;
        let (len, modified_ns) = (self.number()?, self.number()?.cast_signed());
        let (inode, changed_ns) = (self.number()?, self.number()?.cast_signed());
        let mode = u32::try_from(self.number()?).ok()?;
        let what = match self.take(1)?.first()? {
            0 => What::Directory,
            1 => What::Link(self.text()?),
            2 => What::File(Hash(self.take(32)?.try_into().ok()?)),
            3 => What::Unkept(Reason::Large),
            4 => What::Unkept(Reason::Unreadable),
            5 => What::Unkept(Reason::Late),
            _ => return None,
        };
        Some(Entry {
            path,
            details: Details { stamp: Stamp { len, modified_ns, inode }, changed_ns, mode },
            what,
        })
    }
}

/// A path of an entry from a path of the file system.
pub(super) fn relative(path: PathBuf) -> Vec<u8> {
    path.into_os_string().into_vec()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn details() -> impl Strategy<Value = Details> {
        (any::<u64>(), any::<i64>(), any::<u64>(), any::<i64>(), 0..0o10000_u32).prop_map(
            |(len, modified_ns, inode, changed_ns, mode)| Details {
                stamp: Stamp { len, modified_ns, inode },
                changed_ns,
                mode,
            },
        )
    }

    fn what() -> impl Strategy<Value = What> {
        prop_oneof![
            Just(What::Directory),
            any::<Vec<u8>>().prop_map(What::Link),
            any::<[u8; 32]>().prop_map(|hash| What::File(Hash(hash))),
            Just(What::Unkept(Reason::Large)),
            Just(What::Unkept(Reason::Unreadable)),
            Just(What::Unkept(Reason::Late)),
        ]
    }

    fn index() -> impl Strategy<Value = Index> {
        let entry = (any::<Vec<u8>>(), details(), what());
        let entry = entry.prop_map(|(path, details, what)| Entry { path, details, what });
        (any::<i64>(), proptest::collection::vec(entry, 0..20))
            .prop_map(|(taken_ns, entries)| Index { taken_ns, entries })
    }

    proptest! {
        #[test]
        fn an_index_comes_back_as_it_was_written(index in index()) {
            prop_assert_eq!(decode(&index.encode()), Some(index));
        }

        #[test]
        fn what_is_no_index_is_none(bytes: Vec<u8>, index in index(), cut: prop::sample::Index) {
            prop_assert_eq!(decode(&bytes), None);
            let whole = index.encode();
            prop_assert_eq!(decode(&whole[..cut.index(whole.len())]), None);
        }
    }

    #[test]
    fn a_file_that_was_changed_just_before_the_look_is_looked_at_again() {
        let details = |changed_ns| Details {
            stamp: Stamp { len: 1, modified_ns: 5, inode: 7 },
            changed_ns,
            mode: 0o644,
        };
        let entry = |path: &str, changed_ns| Entry {
            path: path.into(),
            details: details(changed_ns),
            what: What::File(Hash([0; 32])),
        };
        let taken_ns = 1_000_000_000;
        let index = Index { taken_ns, entries: vec![entry("new", taken_ns - 1), entry("old", 0)] };
        assert!(index.unchanged(b"old", &details(0)).is_some());
        assert!(index.unchanged(b"old", &details(1)).is_none());
        assert!(index.unchanged(b"new", &details(taken_ns - 1)).is_none());
    }
}
