//! What a directory holds: the names and kinds, in two allocations that are used again.

use std::{ffi::CStr, fs::File, mem::MaybeUninit};

use haft_tool::Kind;
use rustix::{
    fs::{FileType, RawDir},
    io::Errno,
};

/// As much as the kernel tells at once.
const BLOCK: usize = 32 * 1024;

/// Names in the order in which the directory has them, or sorted.
#[derive(Default)]
pub(super) struct Names {
    /// One behind the other, each with its zero byte.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// What the kernel writes into.
    block: Vec<MaybeUninit<u8>>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    end: usize,
    /// `None` where the file system does not tell it with the name.
    kind: Option<Kind>,
}

impl Names {
    /// Forgets what it holds and takes what is in this directory.
    pub(super) fn read(&mut self, directory: &File) -> Result<(), Errno> {
        self.bytes.clear();
        self.entries.clear();
        self.block.resize(BLOCK, MaybeUninit::uninit());
        let mut entries = RawDir::new(directory, &mut self.block);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(name.to_bytes_with_nul());
                self.entries.push(Entry { start, end: self.bytes.len(), kind: kind(entry.file_type()) });
            }
        }
        Ok(())
    }

    /// By their bytes: what a directory's own name begins comes after what is in it.
    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.entries
            .sort_unstable_by(|one, other| bytes[one.start..one.end].cmp(&bytes[other.start..other.end]));
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Name<'_>, Option<Kind>)> {
        self.entries.iter().map(|entry| (Name(&self.bytes[entry.start..entry.end]), entry.kind))
    }

    /// Keeps the first so many names and gives the others away, in parts of as many.
    pub(super) fn split(&mut self, size: usize) -> impl Iterator<Item = Names> {
        let others = self.entries.split_off(size.min(self.entries.len()));
        let parts: Vec<Names> = others.chunks(size).map(|entries| self.part(entries)).collect();
        parts.into_iter()
    }

    fn part(&self, entries: &[Entry]) -> Names {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Names::default() };
        let shift = |entry: &Entry| Entry {
            start: entry.start - first.start,
            end: entry.end - first.start,
            kind: entry.kind,
        };
        let bytes = self.bytes[first.start..last.end].to_owned();
        Names { bytes, entries: entries.iter().map(shift).collect(), block: Vec::new() }
    }
}

/// A name with its zero byte. Checked only when the kernel is to see it: most names are only looked at.
#[derive(Clone, Copy)]
pub(super) struct Name<'a>(&'a [u8]);

impl<'a> Name<'a> {
    pub(super) fn of(name: &'a CStr) -> Name<'a> {
        Name(name.to_bytes_with_nul())
    }

    pub(super) fn bytes(self) -> &'a [u8] {
        self.0.strip_suffix(b"\0").unwrap_or(self.0)
    }

    pub(super) fn for_kernel(self) -> &'a CStr {
        // It came with its zero byte, and names have no other.
        CStr::from_bytes_with_nul(self.0).unwrap_or(c"")
    }
}

pub(super) fn kind(of: FileType) -> Option<Kind> {
    match of {
        FileType::Directory => Some(Kind::Directory),
        FileType::RegularFile => Some(Kind::File),
        FileType::Symlink => Some(Kind::Link),
        FileType::Unknown => None,
        _ => Some(Kind::Special),
    }
}
