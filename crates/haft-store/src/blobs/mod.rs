//! Bytes that do not change, found by what they are.
//!
//! Undo keeps what files held; most of it is the same as before, so it is kept by its hash, once. Who keeps it (files here,
//! an object store for several machines) is behind [`Blobs`]. Not here: which bytes are still wanted.

mod files; //   below a directory
#[cfg(feature = "objects")]
mod bucket; //  an S3-compatible store
#[cfg(feature = "objects")]
mod objects; // in one, and here

#[cfg(feature = "objects")]
pub(crate) use bucket::staged;
#[cfg(feature = "objects")]
pub use bucket::{Bucket, Object};
pub use files::FileBlobs;
#[cfg(feature = "objects")]
pub use objects::ObjectBlobs;

use std::{
    fmt,
    fs::File,
    io::{self, Read},
    str::FromStr,
    time::{Duration, SystemTime},
};

use haft_engine::session::{Fingerprint, Listener};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A file is read in pieces of this size: smaller ones cost a system call each, larger ones memory that nobody has used yet.
const BUFFER: usize = 64 << 10;

/// Keeps bytes by their hash. All of it blocks.
pub trait Blobs: Send + Sync {
    /// Keeps what a file holds, from its beginning to its end. Nothing is written if it is there already.
    ///
    /// `lasting`: whether it must outlast the machine's power, its bytes when this returns, its name when it is settled. It
    /// outlasts the process in any case.
    fn put(&self, file: &File, lasting: bool) -> io::Result<Blob>;

    /// From now on these are found also after an end of power. Apart from putting them, because it takes the disk a while in
    /// which something else can be done.
    fn settle(&self, kept: &[Hash]) -> io::Result<()>;

    /// Opens what was kept; `None` if it is not there. What is read is what was kept, or the reading fails.
    fn get(&self, hash: &Hash) -> io::Result<Option<Box<dyn Read + Send>>>;

    /// Whether it is there.
    fn has(&self, hash: &Hash) -> io::Result<bool>;

    /// Forgets what is neither wanted nor young: whoever is about to want it may not have said so yet. Then, if more is
    /// left than `most_bytes`, what is old among the wanted.
    fn prune(&self, wanted: &dyn Fn(&Hash) -> bool, limits: &BlobLimits) -> io::Result<BlobsPruned>;
}

/// What was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blob {
    /// By what it is found.
    pub hash: Hash,
    /// How many bytes it has.
    pub len: u64,
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlobLimits {
    /// So much at most, as it is stored.
    pub most_bytes: u64,
    /// What is younger than this is left alone.
    pub young: Duration,
    /// What time it is.
    pub now: SystemTime,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlobsPruned {
    /// So many were forgotten.
    pub forgotten: u64,
    /// So many of them were wanted still.
    pub wanted: u64,
    /// So many bytes are left.
    pub left: u64,
}

/// A BLAKE3 hash: nobody makes two contents with the same one, not even who writes the files. Every change of a file waits for
/// two of them, and this one takes a fifth of the time of a SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        Hash(blake3::hash(bytes).into())
    }

    /// The hash of what a file holds.
    pub fn of_file(file: &File) -> io::Result<Blob> {
        let mut hasher = Hasher::default();
        Whole::of(file).copy_to(&mut hasher)?;
        Ok(hasher.finish())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not 64 hexadecimal digits")]
pub struct NoHash;

impl FromStr for Hash {
    type Err = NoHash;

    fn from_str(text: &str) -> Result<Hash, NoHash> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(NoHash),
        };
        let bytes = text.as_bytes();
        if bytes.len() != 64 {
            return Err(NoHash);
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(bytes.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Hash(hash))
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Hashes what is written to it.
#[derive(Default)]
pub(crate) struct Hasher {
    hash: blake3::Hasher,
    len: u64,
}

impl Hasher {
    pub(crate) fn finish(self) -> Blob {
        Blob { hash: Hash(self.hash.finalize().into()), len: self.len }
    }
}

impl Listener for Hasher {
    fn hear(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
    }

    fn fingerprint(self: Box<Self>) -> Fingerprint {
        Fingerprint(self.finish().hash.0)
    }
}

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hear(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a file from its beginning, wherever others who share it are.
pub(crate) struct Whole<'a> {
    file: &'a File,
    at: u64,
}

impl<'a> Whole<'a> {
    pub(crate) fn of(file: &'a File) -> Whole<'a> {
        Whole { file, at: 0 }
    }

    /// Copies all of it, in pieces.
    pub(crate) fn copy_to(&mut self, to: &mut impl io::Write) -> io::Result<()> {
        let len = usize::try_from(self.file.metadata()?.len()).unwrap_or(BUFFER);
        let mut buffer = vec![0; len.clamp(1, BUFFER)];
        loop {
            match self.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => to.write_all(&buffer[..read])?,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(err),
            }
        }
    }
}

impl Read for Whole<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads what was kept, and fails at the end if it is not that.
pub(crate) struct Verified<R> {
    from: R,
    hasher: Option<Hasher>,
    wanted: Hash,
}

impl<R: Read> Verified<R> {
    pub(crate) fn new(from: R, wanted: Hash) -> Verified<R> {
        Verified { from, hasher: Some(Hasher::default()), wanted }
    }
}

impl<R: Read> Read for Verified<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            if let Some(hasher) = &mut self.hasher {
                io::Write::write_all(hasher, &buffer[..read])?;
            }
            return Ok(read);
        }
        let read = self.hasher.take().map(Hasher::finish);
        if read.is_some_and(|read| read.hash != self.wanted) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what was kept is damaged"));
        }
        Ok(0)
    }
}
