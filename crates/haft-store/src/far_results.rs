//! Large results that several machines share: files here, objects for the others.
//!
//! Read and Grep take a result by its path, so it is a file on the machine that made it, and becomes one on another when the
//! session goes on there. For that the state directories must have the same path. An object that could not be sent is told and
//! costs the others that result, and nobody the call.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use haft_engine::result::ResultStore;
use haft_tool::{Block, BoxFuture, CallId, Kept, SessionId};

use crate::{
    blobs::{Bucket, staged},
    due::Forget,
    results::Results,
};

/// Below this name of the bucket.
const BELOW: &str = "results";

/// Results here and in a bucket. Clones are the same.
#[derive(Clone)]
pub struct SharedResults {
    near: Results,
    bucket: Bucket,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
}

impl SharedResults {
    /// What is kept here is kept in the bucket, too. `tell` is told what could not be.
    pub fn new(near: Results, bucket: Bucket, tell: impl Fn(&str) + Send + Sync + 'static) -> SharedResults {
        SharedResults { near, bucket, tell: Arc::new(tell) }
    }

    /// Those that are here.
    pub fn near(&self) -> &Results {
        &self.near
    }

    /// Brings the results of a session here that other machines made. Gives how many came. Blocks.
    ///
    /// # Errors
    /// The bucket does not answer, or there is no room here.
    pub fn fetch(&self, session: &SessionId) -> io::Result<usize> {
        let Some(directory) = self.near.directory(session) else { return Ok(0) };
        let Some(below) = name_of(&directory) else { return Ok(0) };
        let mut came = 0;
        for object in self.bucket.list(&below)? {
            let Some(path) = place(&directory, &object.name) else { continue };
            if path.try_exists()? {
                continue;
            }
            let file = staged(&path)?;
            if self.bucket.fetch(&object.name, file.reopen()?)? {
                file.persist(&path).map_err(|err| err.error)?;
                came += 1;
            }
        }
        Ok(came)
    }

    /// Forgets what is too old in the bucket, then the oldest of what is too much. Gives how many. Blocks.
    ///
    /// # Errors
    /// The bucket does not answer.
    pub fn prune(&self, now: SystemTime) -> io::Result<usize> {
        self.prune_by(now, Forget::OldAndMuch)
    }

    fn prune_by(&self, now: SystemTime, forget: Forget) -> io::Result<usize> {
        let (limits, mut objects) = (self.near.limits(), self.bucket.list(BELOW)?);
        objects.sort_by_key(|object| object.at);
        let mut total: u64 = objects.iter().map(|object| object.bytes).sum();
        let mut gone = Vec::new();
        for object in objects {
            let is_old = forget == Forget::OldAndMuch
                && now.duration_since(object.at).is_ok_and(|age| age > limits.keep);
            if !is_old && total <= limits.most_bytes {
                break;
            }
            total -= object.bytes;
            gone.push(object.name);
        }
        let count = gone.len();
        self.bucket.remove(gone)?;
        Ok(count)
    }

    /// The same on a thread of its own, once in a while. One machine of several does it at a time, or two do it twice.
    fn prune_when_due(&self) {
        let results = self.clone();
        self.near
            .when_due(".pruned-shared", move |forget| results.prune_by(SystemTime::now(), forget).map(drop));
    }

    fn send(&self, path: &Path) {
        let sent = (name_of_file(path), File::open(path));
        let (Some(name), Ok(file)) = sent else { return };
        let (tell, shown) = (self.tell.clone(), path.display().to_string());
        self.bucket.put_later(&name, file, move |err| {
            tell(&format!("{shown} is here and not on the shared store: {err}"));
        });
    }
}

/// The name of a session's results in the bucket.
fn name_of(directory: &Path) -> Option<String> {
    Some(format!("{BELOW}/{}", directory.file_name()?.to_str()?))
}

fn name_of_file(path: &Path) -> Option<String> {
    Some(format!("{}/{}", name_of(path.parent()?)?, path.file_name()?.to_str()?))
}

/// Where an object belongs. Names come from a server: only those that the store gives lead anywhere.
fn place(directory: &Path, name: &str) -> Option<PathBuf> {
    let name = name.rsplit('/').next()?.strip_suffix(".txt")?;
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    ((1..=110).contains(&name.len()) && name.chars().all(is_safe))
        .then(|| directory.join(name).with_extension("txt"))
}

impl ResultStore for SharedResults {
    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        blocks: Arc<Vec<Block>>,
    ) -> BoxFuture<'_, io::Result<PathBuf>> {
        self.prune_when_due();
        let kept = self.near.keep(session, call, blocks);
        Box::pin(async move {
            let path = kept.await?;
            self.send(&path);
            Ok(path)
        })
    }

    fn begin(&self, session: &SessionId, call: &CallId) -> io::Result<Kept> {
        self.prune_when_due();
        let (path, text) = self.near.begin(session, call)?;
        let growing = Growing { text, path: path.clone(), results: self.clone() };
        Ok((path, Box::new(growing)))
    }

    fn handle(&self, path: &Path) -> Option<String> {
        ResultStore::handle(&self.near, path)
    }

    fn directory(&self, session: &SessionId) -> Option<PathBuf> {
        self.near.directory(session)
    }

    fn root(&self) -> Option<PathBuf> {
        self.near.root()
    }
}

/// A text that is sent when it is whole.
struct Growing {
    text: Box<dyn Write + Send>,
    path: PathBuf,
    results: SharedResults,
}

impl Write for Growing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.text.flush()
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        let _ = self.text.flush();
        if fs::metadata(&self.path).is_ok_and(|found| found.len() > 0) {
            self.results.send(&self.path);
        }
    }
}
