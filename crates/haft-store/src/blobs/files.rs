//! Blobs as files below a directory, readable by their owner only.
//!
//! A blob is compressed (`.z`) unless that does not help, or the file system can share the bytes of a large file with the
//! file itself; then it is as it was. So is one for which somebody waits, until there is time: whoever prunes packs it. A
//! name is there only when all of it is, and the plain one until the packed one is: who looks for both looks in that order.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, FileTimes, Metadata},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use flate2::{Compression, read::DeflateDecoder, write::DeflateEncoder};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
use tempfile::NamedTempFile;

use super::{Blob, BlobLimits, Blobs, BlobsPruned, Hash, Hasher, Verified, Whole};

/// Up to this size a file is read at once, and written only if it is new.
const SMALL: u64 = 1 << 20;

/// From here on packing takes longer than to write it as it is.
const LONG: u64 = 128 << 10;

/// Nothing is gained by compressing less than this.
const TINY: usize = 64;

/// Blobs below a directory.
#[derive(Debug, Clone)]
pub struct FileBlobs {
    root: PathBuf,
}

impl FileBlobs {
    /// Below this directory, which is made when it is first needed.
    pub fn new(root: impl Into<PathBuf>) -> FileBlobs {
        FileBlobs { root: root.into() }
    }

    /// Where a blob is, as it was and compressed.
    pub(super) fn paths(&self, hash: &Hash) -> [PathBuf; 2] {
        let name = hash.to_string();
        let (directory, rest) = name.split_at(2);
        let plain = self.root.join(directory).join(rest);
        let compressed = plain.with_extension("z");
        [plain, compressed]
    }

    fn put_small(&self, file: &File, len: u64, lasting: bool) -> io::Result<Blob> {
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0) + 1);
        Whole::of(file).read_to_end(&mut bytes)?;
        let blob = Blob { hash: Hash::of(&bytes), len: bytes.len() as u64 };
        let [plain, compressed] = self.paths(&blob.hash);
        if self.renew(&[&plain, &compressed], lasting)? {
            return Ok(blob);
        }
        let packed = pack(&bytes)?;
        let (bytes, path) = if packed.len() < bytes.len() { (packed, compressed) } else { (bytes, plain) };
        let mut staged = self.stage(&path)?;
        staged.write_all(&bytes)?;
        if lasting {
            staged.as_file().sync_data()?;
        }
        persist(staged, &path)?;
        Ok(blob)
    }

    /// A change waits for this: the disk takes the bytes as they are.
    fn put_quickly(&self, file: &File) -> io::Result<Blob> {
        let staged = NamedTempFile::new_in(self.made(&self.root)?)?;
        let mut both = Both { hasher: Hasher::default(), to: staged };
        Whole::of(file).copy_to(&mut both)?;
        both.to.as_file().sync_data()?;
        self.keep(both.to, both.hasher.finish(), 0, true)
    }

    /// A file that is not brought into memory: shared if the file system can, compressed on the way if not.
    fn put_large(&self, file: &File, lasting: bool) -> io::Result<Blob> {
        let shared = NamedTempFile::new_in(self.made(&self.root)?)?;
        if rustix::fs::ioctl_ficlone(shared.as_file(), file).is_ok() {
            // The copy does not change any more, whatever becomes of the file.
            let blob = Hash::of_file(shared.as_file())?;
            if lasting {
                shared.as_file().sync_data()?;
            }
            return self.keep(shared, blob, 0, lasting);
        }
        let mut both = Both { hasher: Hasher::default(), to: DeflateEncoder::new(shared, LEVEL) };
        Whole::of(file).copy_to(&mut both)?;
        let Both { hasher, to } = both;
        let packed = to.finish()?;
        if lasting {
            packed.as_file().sync_data()?;
        }
        self.keep(packed, hasher.finish(), 1, lasting)
    }

    /// Gives a file that the disk has, if it is to last, the name of its content.
    fn keep(&self, staged: NamedTempFile, blob: Blob, encoding: usize, lasting: bool) -> io::Result<Blob> {
        let [plain, compressed] = &self.paths(&blob.hash);
        if !self.renew(&[plain, compressed], lasting)? {
            let path = [plain, compressed][encoding];
            self.made(path.parent().unwrap_or(&self.root))?;
            persist(staged, path)?;
        }
        Ok(blob)
    }

    /// Whether it is there already. It is young again then: whoever prunes does not know yet that it is wanted.
    fn renew(&self, paths: &[&PathBuf; 2], lasting: bool) -> io::Result<bool> {
        for path in paths {
            if let Some(file) = there(File::open(path))? {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                rustix::fs::futimens(&file, &Timestamps { last_access: now, last_modification: now })?;
                if lasting {
                    file.sync_all()?;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn stage(&self, path: &Path) -> io::Result<NamedTempFile> {
        let directory = path.parent().unwrap_or(&self.root);
        match NamedTempFile::new_in(directory) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => NamedTempFile::new_in(self.made(directory)?),
            staged => staged,
        }
    }

    fn made<'a>(&self, directory: &'a Path) -> io::Result<&'a Path> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        Ok(directory)
    }
}

/// Quick: what is kept is mostly never read again.
const LEVEL: Compression = Compression::fast();

fn pack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    if bytes.len() < TINY {
        return Ok(bytes.to_owned());
    }
    let mut packed = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 2), LEVEL);
    packed.write_all(bytes)?;
    packed.finish()
}

/// Of so much it is seen whether all of it would be smaller.
const SAMPLE: usize = 32 << 10;

/// Puts a packed file in the place of one that was kept in a hurry. Gives its length and path; nothing if it is none, or if
/// packing does not help.
fn pack_file(path: &Path, metadata: &Metadata) -> io::Result<Option<(u64, PathBuf)>> {
    let in_a_hurry = LONG..=SMALL;
    if path.extension().is_some() || !in_a_hurry.contains(&metadata.len()) {
        return Ok(None);
    }
    let bytes = fs::read(path)?;
    let sample = &bytes[..SAMPLE.min(bytes.len())];
    if pack(sample)?.len() > sample.len() / 10 * 9 {
        return Ok(None);
    }
    let packed = pack(&bytes)?;
    let (directory, place) = (path.parent().unwrap_or(path), path.with_extension("z"));
    let mut staged = NamedTempFile::new_in(directory)?;
    staged.write_all(&packed)?;
    // As old as what it replaces, which may have become younger meanwhile.
    let modified = fs::metadata(path)?.modified()?;
    staged.as_file().set_times(FileTimes::new().set_modified(modified))?;
    staged.as_file().sync_all()?;
    persist(staged, &place)?;
    File::open(directory)?.sync_all()?;
    fs::remove_file(path)?;
    Ok(Some((packed.len() as u64, place)))
}

fn persist(staged: NamedTempFile, path: &Path) -> io::Result<()> {
    staged.persist(path).map(drop).map_err(|err| err.error)
}

impl Blobs for FileBlobs {
    fn put(&self, file: &File, lasting: bool) -> io::Result<Blob> {
        match file.metadata()?.len() {
            LONG..=SMALL if lasting => self.put_quickly(file),
            len @ ..=SMALL => self.put_small(file, len, lasting),
            _ => self.put_large(file, lasting),
        }
    }

    fn settle(&self, kept: &[Hash]) -> io::Result<()> {
        let paths = kept.iter().flat_map(|hash| self.paths(hash));
        let directories: BTreeSet<PathBuf> =
            paths.filter_map(|path| Some(path.parent()?.to_owned())).collect();
        directories.iter().try_for_each(|directory| File::open(directory)?.sync_all())
    }

    fn get(&self, hash: &Hash) -> io::Result<Option<Box<dyn Read + Send>>> {
        let [plain, compressed] = self.paths(hash);
        if let Some(file) = there(File::open(plain))? {
            return Ok(Some(Box::new(Verified::new(file, *hash))));
        }
        let packed = there(File::open(compressed))?;
        Ok(packed.map(|file| Box::new(Verified::new(DeflateDecoder::new(file), *hash)) as _))
    }

    fn has(&self, hash: &Hash) -> io::Result<bool> {
        let [plain, compressed] = self.paths(hash);
        Ok(plain.try_exists()? || compressed.try_exists()?)
    }

    fn prune(&self, wanted: &dyn Fn(&Hash) -> bool, limits: &BlobLimits) -> io::Result<BlobsPruned> {
        let mut pruned = BlobsPruned::default();
        let mut kept: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for directory in there(fs::read_dir(&self.root))?.into_iter().flatten() {
            let directory = directory?;
            if !directory.file_type()?.is_dir() {
                forget_if(is_old(&directory.metadata()?, limits), &directory.path(), &mut pruned)?;
                continue;
            }
            for file in fs::read_dir(directory.path())? {
                let file = file?;
                // Somebody else may prune at the same time.
                let Some(metadata) = there(file.metadata())? else { continue };
                let hash = named(&directory.path(), &file.path());
                if is_old(&metadata, limits) && !hash.is_some_and(|hash| wanted(&hash)) {
                    forget_if(true, &file.path(), &mut pruned)?;
                    continue;
                }
                let is_ripe = hash.is_some() && is_old(&metadata, limits);
                // What cannot be packed now is packed another day.
                let packed = is_ripe.then(|| pack_file(&file.path(), &metadata).ok().flatten()).flatten();
                let (len, path) = packed.unwrap_or_else(|| (metadata.len(), file.path()));
                pruned.left += len;
                kept.push((metadata.modified()?, len, path));
            }
        }
        self.shrink(kept, limits, &mut pruned)?;
        Ok(pruned)
    }
}

impl FileBlobs {
    /// The oldest go first until the rest fits.
    fn shrink(
        &self,
        mut kept: Vec<(SystemTime, u64, PathBuf)>,
        limits: &BlobLimits,
        pruned: &mut BlobsPruned,
    ) -> io::Result<()> {
        kept.sort();
        for (_, len, path) in kept {
            if pruned.left <= limits.most_bytes {
                break;
            }
            forget_if(true, &path, pruned)?;
            pruned.wanted += 1;
            pruned.left -= len;
        }
        Ok(())
    }
}

fn forget_if(is_time: bool, path: &Path, pruned: &mut BlobsPruned) -> io::Result<()> {
    if is_time {
        there(fs::remove_file(path))?;
        pruned.forgotten += 1;
    }
    Ok(())
}

fn is_old(metadata: &Metadata, limits: &BlobLimits) -> bool {
    // A time in the future is that of a clock that was wrong.
    let age = metadata.modified().ok().and_then(|modified| limits.now.duration_since(modified).ok());
    age.is_some_and(|age| age >= limits.young)
}

/// The hash that a path stands for; what is left of a write that was cut off stands for none.
fn named(directory: &Path, file: &Path) -> Option<Hash> {
    let name = format!("{}{}", directory.file_name()?.to_str()?, file.file_stem()?.to_str()?);
    name.parse().ok()
}

fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

/// Hashes what it passes on.
struct Both<W> {
    hasher: Hasher,
    to: W,
}

impl<W: Write> Write for Both<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes)?;
        self.hasher.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt, time::Duration};

    use super::*;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn read(blobs: &FileBlobs, hash: &Hash) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        blobs.get(hash)?.expect("it is there").read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn stored(root: &Path) -> Vec<PathBuf> {
        let directories = fs::read_dir(root).into_iter().flatten().map(|entry| entry.unwrap().path());
        let files = directories.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).unwrap());
        files.map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_was_kept_comes_back_whatever_it_is() {
        let place = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::new(place.path().join("blobs"));
        let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(2 << 20).collect();
        let text = "the same line\n".repeat(200_000);
        for bytes in [&b""[..], b"a", &noise[..1000], &text.as_bytes()[..1000], &noise, text.as_bytes()] {
            for lasting in [false, true] {
                let blob = blobs.put(&file(bytes), lasting).unwrap();
                assert_eq!(blob, Blob { hash: Hash::of(bytes), len: bytes.len() as u64 });
                assert!(blobs.has(&blob.hash).unwrap());
                assert!(read(&blobs, &blob.hash).unwrap() == bytes, "{} bytes", bytes.len());
            }
        }
        assert_eq!(stored(&place.path().join("blobs")).len(), 6, "each once");
        assert!(!blobs.has(&Hash([7; 32])).unwrap() && blobs.get(&Hash([7; 32])).unwrap().is_none());
    }

    #[test]
    fn only_the_owner_may_read_it_and_text_takes_less_room() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("blobs");
        FileBlobs::new(&root).put(&file("a line\n".repeat(1000).as_bytes()), false).unwrap();
        let path = stored(&root).remove(0);
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(metadata.len() < 200, "{}", metadata.len());
    }

    #[test]
    fn what_was_damaged_is_not_given_out_as_what_was_kept() {
        let place = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::new(place.path());
        for bytes in [&b"short"[..], "long\n".repeat(100).as_bytes()] {
            let blob = blobs.put(&file(bytes), false).unwrap();
            let path =
                stored(place.path()).into_iter().find(|path| fs::metadata(path).unwrap().len() > 0).unwrap();
            fs::write(&path, b"other").unwrap();
            assert!(read(&blobs, &blob.hash).is_err());
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn what_was_kept_in_a_hurry_is_packed_when_there_is_time() {
        let place = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::new(place.path().join("blobs"));
        let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(LONG as usize).collect();
        let text = "the same line\n".repeat(LONG as usize / 10);
        let names = [&noise[..], text.as_bytes()].map(|bytes| blobs.put(&file(bytes), true).unwrap().hash);
        let lens = |blobs: &FileBlobs| {
            let mut lens: Vec<u64> =
                stored(&blobs.root).iter().map(|path| fs::metadata(path).unwrap().len()).collect();
            lens.sort_unstable();
            lens
        };
        assert_eq!(lens(&blobs), [noise.len() as u64, text.len() as u64]);
        let limits = |hours: u64| BlobLimits {
            most_bytes: u64::MAX,
            young: Duration::from_secs(3600),
            now: SystemTime::now() + Duration::from_secs(hours * 3600 + 60),
        };
        blobs.prune(&|_| true, &limits(0)).unwrap();
        assert_eq!(lens(&blobs)[1], text.len() as u64, "it is young");
        let modified = |blobs: &FileBlobs| {
            stored(&blobs.root).iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).max()
        };
        let before = modified(&blobs);
        let pruned = blobs.prune(&|_| true, &limits(1)).unwrap();
        let [packed, plain] = lens(&blobs)[..] else { panic!("one file each") };
        assert!(packed < 10_000 && plain == noise.len() as u64, "{packed}, {plain}");
        assert_eq!((pruned.left, modified(&blobs)), (packed + plain, before), "no younger for it");
        assert!(
            read(&blobs, &names[0]).unwrap() == noise && read(&blobs, &names[1]).unwrap() == text.as_bytes()
        );
        assert_eq!(blobs.put(&file(text.as_bytes()), true).unwrap().hash, names[1]);
        assert_eq!(stored(&blobs.root).len(), 2, "it is known packed, too");
    }

    #[test]
    fn what_nobody_wants_goes_and_then_the_oldest() {
        let place = tempfile::tempdir().unwrap();
        let blobs = FileBlobs::new(place.path());
        let names = [b"a", b"b", b"c"].map(|bytes| {
            // File systems do not tell times apart that are closer.
            std::thread::sleep(Duration::from_millis(30));
            blobs.put(&file(bytes), false).unwrap().hash
        });
        let wanted = |hash: &Hash| *hash != names[1];
        let limits = |hours: u64, most_bytes| BlobLimits {
            most_bytes,
            young: Duration::from_secs(3600),
            now: SystemTime::now() + Duration::from_secs(hours * 3600 + 60),
        };
        assert_eq!(blobs.prune(&wanted, &limits(0, 10)).unwrap().forgotten, 0, "all are young");
        let pruned = blobs.prune(&wanted, &limits(1, 10)).unwrap();
        assert_eq!((pruned.forgotten, pruned.wanted, pruned.left), (1, 0, 2));
        let pruned = blobs.prune(&wanted, &limits(1, 1)).unwrap();
        assert_eq!((pruned.forgotten, pruned.wanted, pruned.left), (1, 1, 1));
        assert!(blobs.has(&names[2]).unwrap() && !blobs.has(&names[0]).unwrap());
    }
}
