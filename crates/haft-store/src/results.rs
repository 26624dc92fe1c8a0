//! Large results: by which handle they are found, and how long they are kept.
//!
//! They are plain files, as the engine's own [`FileStore`] writes them, so that Read and Grep take them by their paths; what is
//! added here is an end to them. Not here: what is large.

use std::{
    fmt,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::{Duration, SystemTime},
};

use haft_engine::result::{FileStore, ResultStore};
use haft_tool::{Block, BoxFuture, CallId, Kept, SessionId};

use crate::due::{Forget, when_due};

/// How long results are kept, and how much of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultLimits {
    /// So long.
    pub keep: Duration,
    /// So many bytes; the oldest go first.
    pub most_bytes: u64,
}

impl Default for ResultLimits {
    fn default() -> ResultLimits {
        ResultLimits { keep: Duration::from_secs(30 * 24 * 3600), most_bytes: 1 << 30 }
    }
}

/// Results as files below a directory, readable by their owner only, and not forever. Clones are the same.
#[derive(Debug, Clone)]
pub struct Results {
    root: PathBuf,
    files: FileStore,
    limits: ResultLimits,
}

/// By what a kept result is found: `result:SESSION/CALL`, with `-N` behind it where a call kept several.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handle {
    session: String,
    name: String,
}

impl Handle {
    /// Whose it is, as results are kept: a session's id, with what no file name has replaced.
    pub fn session(&self) -> &str {
        &self.session
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "result:{}/{}", self.session, self.name)
    }
}

/// Text that is no handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a handle is written `result:SESSION/CALL`")]
pub struct NoHandle;

impl FromStr for Handle {
    type Err = NoHandle;

    fn from_str(text: &str) -> Result<Handle, NoHandle> {
        let (session, name) =
            text.strip_prefix("result:").and_then(|rest| rest.split_once('/')).ok_or(NoHandle)?;
        // Only names that the store gives: none of them leads elsewhere.
        let is_name = |name: &str| {
            let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            (1..=110).contains(&name.len()) && name.chars().all(is_safe)
        };
        if !is_name(session) || !is_name(name) {
            return Err(NoHandle);
        }
        Ok(Handle { session: session.to_owned(), name: name.to_owned() })
    }
}

impl Results {
    /// Results below this directory, which is made when it is first needed.
    pub fn at(root: impl Into<PathBuf>, limits: ResultLimits) -> Results {
        let root = root.into();
        Results { files: FileStore::new(&root), root, limits }
    }

    /// How much is kept.
    #[cfg(feature = "objects")]
    pub(crate) fn limits(&self) -> ResultLimits {
        self.limits
    }

    /// The handle of a result that is kept at a path; `None` if it is none of ours.
    pub fn handle(&self, path: &Path) -> Option<Handle> {
        let below = path.strip_prefix(&self.root).ok()?;
        let (session, file) = (below.parent()?.to_str()?, below.file_stem()?.to_str()?);
        format!("result:{session}/{file}").parse().ok()
    }

    /// Where a result is.
    pub fn path(&self, handle: &Handle) -> PathBuf {
        self.root.join(&handle.session).join(&handle.name).with_extension("txt")
    }

    /// Opens a result; `None` if it is not kept any more.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub fn open(&self, handle: &Handle) -> io::Result<Option<File>> {
        match File::open(self.path(handle)) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Forgets what is not kept any longer, on a thread of its own, if that is due. Nobody waits for it.
    pub fn prune_when_due(&self) {
        let results = self.clone();
        self.when_due(".pruned", move |forget| results.prune_by(SystemTime::now(), forget).map(drop));
    }

    /// Does something on a thread of its own, if it was not done lately. The stamp is the file that says so.
    pub(crate) fn when_due(&self, stamp: &str, work: impl FnOnce(Forget) -> io::Result<()> + Send + 'static) {
        when_due(self.root.join(stamp), work);
    }

    /// Forgets what is too old, then the oldest of what is too much. Gives how many were forgotten.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn prune(&self, now: SystemTime) -> io::Result<usize> {
        self.prune_by(now, Forget::OldAndMuch)
    }

    fn prune_by(&self, now: SystemTime, forget: Forget) -> io::Result<usize> {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for session in there(fs::read_dir(&self.root))?.into_iter().flatten() {
            for file in there(fs::read_dir(session?.path()))?.into_iter().flatten() {
                let file = file?;
                if let Some(found) = there(file.metadata())? {
                    files.push((found.modified()?, found.len(), file.path()));
                }
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, len, _)| len).sum();
        let is_old = |at: &SystemTime| {
            forget == Forget::OldAndMuch && now.duration_since(*at).is_ok_and(|age| age > self.limits.keep)
        };
        let mut forgotten = 0;
        for (at, len, path) in files {
            if !is_old(&at) && total <= self.limits.most_bytes {
                break;
            }
            there(fs::remove_file(&path))?;
            (total, forgotten) = (total - len, forgotten + 1);
            if let Some(session) = path.parent() {
                // Only if it was the last one.
                let _ = fs::remove_dir(session);
            }
        }
        Ok(forgotten)
    }
}

impl ResultStore for Results {
    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        blocks: Arc<Vec<Block>>,
    ) -> BoxFuture<'_, io::Result<PathBuf>> {
        self.prune_when_due();
        self.files.keep(session, call, blocks)
    }

    fn begin(&self, session: &SessionId, call: &CallId) -> io::Result<Kept> {
        self.prune_when_due();
        self.files.begin(session, call)
    }

    fn handle(&self, path: &Path) -> Option<String> {
        Results::handle(self, path).map(|handle| handle.to_string())
    }

    fn directory(&self, session: &SessionId) -> Option<PathBuf> {
        self.files.directory(session)
    }

    fn root(&self) -> Option<PathBuf> {
        self.files.root()
    }
}

fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(err) if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(err) => Err(err),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn keep(results: &Results, session: &str, call: &str, text: &str) -> PathBuf {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let blocks = Arc::new(vec![Block::Text(text.into())]);
        runtime.block_on(results.keep(&session.into(), &call.into(), blocks)).unwrap()
    }

    #[test]
    fn a_result_is_found_by_its_handle() {
        let place = tempfile::tempdir().unwrap();
        let results = Results::at(place.path(), ResultLimits::default());
        keep(&results, "s", "call.1", "first");
        let path = keep(&results, "s", "call.1", "second");
        let handle = results.handle(&path).unwrap();
        assert_eq!(handle.to_string(), "result:s/call_1-1");
        let mut text = String::new();
        let again: Handle = handle.to_string().parse().unwrap();
        results.open(&again).unwrap().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "second");
        assert!(results.open(&"result:s/none".parse().unwrap()).unwrap().is_none());
        for text in
            ["result:s", "result:../x/y", "result:s/../y", "result:s/a/b", "s/call", "result:/x", "result:s/"]
        {
            assert_eq!(text.parse::<Handle>(), Err(NoHandle), "{text}");
        }
        assert_eq!(results.handle(Path::new("/etc/passwd")), None);
    }

    #[test]
    fn what_is_too_old_goes_and_then_the_oldest() {
        let place = tempfile::tempdir().unwrap();
        let limits = ResultLimits { keep: Duration::from_secs(60), most_bytes: 10 };
        let results = Results::at(place.path(), limits);
        // Or a thread would do it, too.
        fs::write(place.path().join(".pruned"), "").unwrap();
        let now = SystemTime::now();
        let at = |call: &str, age: u64| {
            let path = keep(&results, call, call, "12345");
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(now - Duration::from_secs(age))
                .unwrap();
            path
        };
        let paths = [at("old", 100), at("older", 30), at("newer", 20), at("new", 10)];
        assert_eq!(results.prune(now).unwrap(), 2);
        assert_eq!(paths.map(|path| path.exists()), [false, false, true, true]);
        assert!(!place.path().join("old").exists(), "an empty directory goes with the last of it");
    }

    #[test]
    fn a_clock_that_jumped_ahead_makes_no_result_old() {
        let place = tempfile::tempdir().unwrap();
        let results =
            Results::at(place.path(), ResultLimits { keep: Duration::from_secs(60), most_bytes: 10 });
        fs::write(place.path().join(".pruned"), "").unwrap();
        for call in ["a", "b", "c"] {
            keep(&results, call, call, "12345");
        }
        let jumped = SystemTime::now() + Duration::from_secs(400 * 24 * 3600);
        assert_eq!(results.prune_by(jumped, Forget::Much).unwrap(), 1, "what is too much goes all the same");
        assert_eq!(results.prune_by(jumped, Forget::OldAndMuch).unwrap(), 2);
    }
}
