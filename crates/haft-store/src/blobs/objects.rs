//! Blobs that several machines share: objects, with a directory of this machine before them.
//!
//! What is put is there for the others when `put` returns. What is read is kept here, so that it is fetched once. An object
//! holds the bytes of the local file, compressed or not; its name says which.

use std::{
    fs::File,
    io::{self, Read},
    time::SystemTime,
};

use super::{
    Blob, BlobLimits, Blobs, BlobsPruned, FileBlobs, Hash,
    bucket::{Bucket, Object, staged},
};

/// Below this name of the bucket.
const BELOW: &str = "blobs";

/// Blobs in a bucket.
#[derive(Debug, Clone)]
pub struct ObjectBlobs {
    near: FileBlobs,
    bucket: Bucket,
}

impl ObjectBlobs {
    /// Blobs in this bucket, and what this machine has of them in a directory.
    pub fn new(near: FileBlobs, bucket: Bucket) -> ObjectBlobs {
        ObjectBlobs { near, bucket }
    }

    /// Brings a blob here; whether it is there.
    fn fetch(&self, hash: &Hash) -> io::Result<bool> {
        for (path, name) in self.near.paths(hash).into_iter().zip(names(hash)) {
            let file = staged(&path)?;
            if self.bucket.fetch(&name, file.reopen()?)? {
                file.persist(&path).map_err(|err| err.error)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The names of a blob as it was and compressed, in the order of its paths.
fn names(hash: &Hash) -> [String; 2] {
    [format!("{BELOW}/{hash}"), format!("{BELOW}/{hash}.z")]
}

impl Blobs for ObjectBlobs {
    fn put(&self, file: &File, lasting: bool) -> io::Result<Blob> {
        let blob = self.near.put(file, lasting)?;
        let names = names(&blob.hash);
        for (path, name) in self.near.paths(&blob.hash).iter().zip(&names) {
            if let Ok(stored) = File::open(path) {
                if !self.bucket.has(name)? {
                    self.bucket.put(name, stored)?;
                }
                return Ok(blob);
            }
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "what was just kept is gone"))
    }

    fn settle(&self, kept: &[Hash]) -> io::Result<()> {
        self.near.settle(kept)
    }

    fn get(&self, hash: &Hash) -> io::Result<Option<Box<dyn Read + Send>>> {
        if let Some(found) = self.near.get(hash)? {
            return Ok(Some(found));
        }
        if self.fetch(hash)? { self.near.get(hash) } else { Ok(None) }
    }

    fn has(&self, hash: &Hash) -> io::Result<bool> {
        if self.near.has(hash)? {
            return Ok(true);
        }
        let [plain, compressed] = names(hash);
        Ok(self.bucket.has(&compressed)? || self.bucket.has(&plain)?)
    }

    fn prune(&self, wanted: &dyn Fn(&Hash) -> bool, limits: &BlobLimits) -> io::Result<BlobsPruned> {
        self.near.prune(wanted, limits)?;
        let mut pruned = BlobsPruned::default();
        let (mut kept, mut gone): (Vec<Object>, Vec<String>) = (Vec::new(), Vec::new());
        for object in self.bucket.list(BELOW)? {
            let is_wanted = named(&object.name).is_some_and(|hash| wanted(&hash));
            match is_old(object.at, limits) && !is_wanted {
                true => gone.push(object.name),
                false => kept.push(object),
            }
        }
        kept.sort_by_key(|object| object.at);
        pruned.left = kept.iter().map(|object| object.bytes).sum();
        for object in kept {
            if pruned.left <= limits.most_bytes {
                break;
            }
            pruned.left -= object.bytes;
            pruned.wanted += 1;
            gone.push(object.name);
        }
        pruned.forgotten = gone.len() as u64;
        self.bucket.remove(gone)?;
        Ok(pruned)
    }
}

fn named(name: &str) -> Option<Hash> {
    let name = name.rsplit('/').next()?;
    name.strip_suffix(".z").unwrap_or(name).parse().ok()
}

fn is_old(at: SystemTime, limits: &BlobLimits) -> bool {
    limits.now.duration_since(at).is_ok_and(|age| age >= limits.young)
}
