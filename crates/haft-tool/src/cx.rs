//! What a running call may use: as little as possible.
//!
//! A tool gets no session. It gets a token that is cancelled, a way to report progress, the few facts it may need, and
//! the door to the file system, which opens only what the call's effects declared.

use std::{
    fmt,
    fs::{File, Metadata},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Fault, FaultKind, View};

/// The id that the model gave a call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(Arc<str>);

/// The id of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(Arc<str>);

macro_rules! id {
    ($name:ident) => {
        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl<T: Into<Arc<str>>> From<T> for $name {
            fn from(text: T) -> $name {
                $name(text.into())
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}
id!(CallId);
id!(SessionId);

/// Who is behind the session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Caller {
    /// The user, if known.
    pub user: Option<String>,
    /// The user's roles.
    pub roles: Vec<String>,
    /// Through which door: `cli`, `mcp`, `http`.
    pub channel: Option<String>,
}

/// What a tool may know of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFacts {
    /// Which session.
    pub id: SessionId,
    /// The root of the workspace, links resolved.
    pub workspace: PathBuf,
    /// Where relative paths begin.
    pub cwd: PathBuf,
    /// What `~` means.
    pub home: Option<PathBuf>,
    /// Who is behind it.
    pub caller: Caller,
}

/// Something to say while a call runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// What is going on: "scanning", or a line of output.
    pub label: String,
    /// How far, in some unit.
    pub done: u64,
    /// Out of how much, if that is known.
    pub total: Option<u64>,
}

impl Progress {
    /// A line without figures.
    pub fn line(label: impl Into<String>) -> Progress {
        Progress { label: label.into(), done: 0, total: None }
    }

    /// So much of so much.
    pub fn of(label: impl Into<String>, done: u64, total: Option<u64>) -> Progress {
        Progress { label: label.into(), done, total }
    }

    pub(crate) fn view(&self) -> View {
        View::Progress { label: self.label.clone(), done: self.done, total: self.total }
    }
}

/// The one door to the file system.
///
/// Implemented by the engine. Every operation refuses a path that the call's effects did not declare, and holds on
/// the real file after links, so that what was permitted and what is opened are the same. The operations block:
/// use them inside [`Cx::blocking`].
pub trait Files: Send + Sync {
    /// Opens a regular file for reading. Never hangs on a FIFO, a device or a socket: these are refused.
    fn open(&self, path: &Path) -> Result<File, Fault>;
    /// Looks at a path. `None` if nothing is there.
    fn metadata(&self, path: &Path) -> Result<Option<Metadata>, Fault>;
    /// The names in a directory, in no order, with what each is (links are not followed).
    fn list(&self, path: &Path) -> Result<Vec<(PathBuf, Metadata)>, Fault>;
    /// Replaces a regular file in one step, or makes it and its parents. Mode and owner stay; whoever reads meanwhile
    /// sees the old content or the new. A file that the session has not seen, or that has changed since it did, is not
    /// replaced.
    fn write(&self, path: &Path, content: &[u8]) -> Result<(), Fault>;
    /// The file as the session last saw it; `None` if it never did.
    fn seen(&self, path: &Path) -> Result<Option<Stamp>, Fault>;
    /// Notes that the model is shown a file as it is now.
    fn see(&self, path: &Path, stamp: Stamp) -> Result<(), Fault>;
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

/// What stands behind a [`Cx`]. Implemented by the engine, and by [`NoHost`] for tests of a tool alone.
pub trait Host: Send + Sync {
    /// The token of this call: cancelled when the call must end.
    fn token(&self) -> &CancellationToken;
    /// The facts of the session, as they are now.
    fn facts(&self) -> Arc<SessionFacts>;
    /// Somebody may want to see this.
    fn progress(&self, call: &CallId, progress: Progress);
    /// The door to the file system.
    fn files(&self) -> Arc<dyn Files>;
    /// A piece of the session's state that a tool keeps under a key.
    fn state(&self, key: &str) -> Option<serde_json::Value>;
}

/// The context of one running call. Cheap to clone.
#[derive(Clone)]
pub struct Cx {
    call: CallId,
    host: Arc<dyn Host>,
}

impl Cx {
    /// For engines: a context for one call.
    pub fn new(call: CallId, host: Arc<dyn Host>) -> Cx {
        Cx { call, host }
    }

    /// The id that the model gave this call.
    pub fn call_id(&self) -> &CallId {
        &self.call
    }

    /// Returns when the call is cancelled. Only what lives outside the future (a process, a remote request) needs it.
    pub async fn cancelled(&self) {
        self.token().cancelled().await;
    }

    /// Whether the call is cancelled. For loops that do not await.
    pub fn is_cancelled(&self) -> bool {
        self.token().is_cancelled()
    }

    /// The token itself, to hand on to something that takes one.
    pub fn token(&self) -> &CancellationToken {
        self.host.token()
    }

    /// Says something while the call runs.
    pub fn progress(&self, progress: Progress) {
        self.host.progress(&self.call, progress);
    }

    /// What may be known of the session.
    pub fn session(&self) -> Arc<SessionFacts> {
        self.host.facts()
    }

    /// A piece of the session's state. Change it by [`Change::State`](crate::Change::State) in the reply.
    pub fn state(&self, key: &str) -> Option<serde_json::Value> {
        self.host.state(key)
    }

    /// The door to the file system.
    pub fn files(&self) -> Arc<dyn Files> {
        self.host.files()
    }

    /// Runs blocking or CPU-heavy work beside the async threads. Long loops inside look at
    /// [`is_cancelled`](Cx::is_cancelled) on a clone of this context.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            Err(err) if err.is_panic() => std::panic::resume_unwind(err.into_panic()),
            Err(_) => Err(Fault::cancelled("the runtime is shutting down")),
        }
    }
}

impl fmt::Debug for Cx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cx").field("call", &self.call).finish_non_exhaustive()
    }
}

/// A host without anything behind it, to call a tool that needs nothing.
#[derive(Debug, Clone, Default)]
pub struct NoHost(CancellationToken);

impl NoHost {
    /// A context on it.
    pub fn cx() -> Cx {
        Cx::new("test".into(), Arc::new(NoHost::default()))
    }
}

impl Host for NoHost {
    fn token(&self) -> &CancellationToken {
        &self.0
    }
    fn facts(&self) -> Arc<SessionFacts> {
        let root = PathBuf::from("/");
        Arc::new(SessionFacts {
            id: "none".into(),
            workspace: root.clone(),
            cwd: root,
            home: None,
            caller: Caller::default(),
        })
    }
    fn progress(&self, _: &CallId, _: Progress) {}
    fn files(&self) -> Arc<dyn Files> {
        Arc::new(NoHost::default())
    }
    fn state(&self, _: &str) -> Option<serde_json::Value> {
        None
    }
}

impl Files for NoHost {
    fn open(&self, path: &Path) -> Result<File, Fault> {
        Err(no_files(path))
    }
    fn metadata(&self, path: &Path) -> Result<Option<Metadata>, Fault> {
        Err(no_files(path))
    }
    fn list(&self, path: &Path) -> Result<Vec<(PathBuf, Metadata)>, Fault> {
        Err(no_files(path))
    }
    fn write(&self, path: &Path, _: &[u8]) -> Result<(), Fault> {
        Err(no_files(path))
    }
    fn seen(&self, path: &Path) -> Result<Option<Stamp>, Fault> {
        Err(no_files(path))
    }
    fn see(&self, path: &Path, _: Stamp) -> Result<(), Fault> {
        Err(no_files(path))
    }
}

fn no_files(path: &Path) -> Fault {
    Fault::new(FaultKind::Unavailable, format!("no file access here: {}", path.display()))
}
