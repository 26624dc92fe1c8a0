//! What a running call may use: as little as possible.
//!
//! A tool gets no session. It gets a token that is cancelled, a way to report progress, the few facts it may need, and
//! the door to the file system, which opens only what the call's effects declared.

use std::{
    fmt,
    io::{self, Write},
    path::PathBuf,
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{BoxFuture, Effects, Fault, Files, Grant, Refusal, Tasks, View, files::NoFiles, task::NoTasks};

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

/// What a running call turns out to need beyond what it declared before it started.
#[derive(Debug, Clone)]
pub struct PermissionRequest {
    /// What the call would do in addition.
    pub effects: Effects,
    /// One line for the person: "keep .vscode/tasks.json, which the command created".
    pub description: String,
    /// What the question shows: a diff, the command.
    pub preview: Option<View>,
    /// Whether the processes of the call failed in the sandbox and would run again, from their beginning. That is always put to
    /// the person, who may also answer "once, outside the sandbox" where the settings permit it. Effects that are
    /// [none](Effects::none) say that nothing less would help.
    pub unsandboxed: bool,
}

/// What a [`PermissionRequest`] was answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// The requested effects, in the sandbox of the call. The next [`Cx::grant`] has them.
    Requested,
    /// Processes of this call outside of the sandbox. The next [`Cx::grant`] is not confined.
    Unsandboxed,
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
    /// Keeps a text where the model can read parts of it, and says where.
    fn keep(&self, call: &CallId, text: String) -> BoxFuture<'_, io::Result<PathBuf>>;
    /// Makes a place to keep a text piece by piece.
    fn keeper(&self, call: &CallId) -> Keeper;
    /// A piece of the session's state that a tool keeps under a key.
    fn state(&self, key: &str) -> Option<serde_json::Value>;
    /// What processes of this call may touch. May look at many files.
    fn grant(&self) -> Result<Grant, Fault>;
    /// Asks for more than the call declared: the rules decide, then the person. An error says who refused it.
    fn request_permission<'a>(
        &'a self,
        _call: &'a CallId,
        _request: PermissionRequest,
    ) -> BoxFuture<'a, Result<Permission, Fault>> {
        Box::pin(async {
            Err(Fault::denied(Refusal::NobodyThere, "this call cannot ask for more permissions"))
        })
    }
    /// Whether a rule allows this very host, written out. Nobody's rules allow nothing.
    fn names_host(&self, _host: &str) -> bool {
        false
    }
    /// By which name the call is known in traces, if somebody traces it.
    fn traceparent(&self, _call: &CallId) -> Option<String> {
        None
    }
    /// What goes on in this session.
    fn tasks(&self) -> Arc<dyn Tasks>;
}

/// Keeps a text that comes piece by piece, and says where from the first piece on. It outlives its call, and holds on to
/// nothing of the session.
#[derive(Clone)]
pub struct Keeper(Arc<dyn Fn() -> io::Result<Kept> + Send + Sync>);

/// A text that is being kept: where it is, and where its pieces go.
pub type Kept = (PathBuf, Box<dyn Write + Send>);

impl Keeper {
    /// For engines: a keeper that begins a text like this.
    pub fn new(begin: impl Fn() -> io::Result<Kept> + Send + Sync + 'static) -> Keeper {
        Keeper(Arc::new(begin))
    }

    /// Begins a text.
    pub fn begin(&self) -> io::Result<Kept> {
        (self.0)()
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
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

    /// Keeps a text beside the session's large results, for the model to read parts of: says where. Only for what a
    /// tool made itself and cannot be found elsewhere; a result that is too large is put away by the engine.
    pub async fn keep(&self, text: String) -> Result<PathBuf, Fault> {
        let kept = self.host.keep(&self.call, text).await;
        kept.map_err(|err| Fault::failed("the text could not be kept").with_source(err))
    }

    /// Keeps a text like [`keep`](Cx::keep), but while it comes: for output that is too much for memory.
    pub fn keeper(&self) -> Keeper {
        self.host.keeper(&self.call)
    }

    /// What processes of this call may touch.
    pub async fn grant(&self) -> Result<Grant, Fault> {
        let host = self.host.clone();
        self.blocking(move || host.grant()).await
    }

    /// Asks for more than the call declared, in the middle of the call: the rules decide, then the person. The time limit of
    /// the call does not run meanwhile. Nothing waits for other calls that touch the same.
    ///
    /// # Errors
    /// A rule, the mode or the person says no, or this session is non-interactive. Nothing of the request may happen then.
    pub async fn request_permission(&self, request: PermissionRequest) -> Result<Permission, Fault> {
        self.host.request_permission(&self.call, request).await
    }

    /// Whether a rule allows this very host, written out: the only way to one that is not on the open internet. For whoever
    /// opens connections itself.
    pub fn names_host(&self, host: &str) -> bool {
        self.host.names_host(host)
    }

    /// By which name the call is known in traces, if somebody traces it: a `traceparent` of W3C Trace Context, for a
    /// server that is asked on its behalf and is to find itself in the same trace.
    pub fn traceparent(&self) -> Option<String> {
        self.host.traceparent(&self.call)
    }

    /// What goes on in this session, and where to put what is to go on after this call.
    pub fn tasks(&self) -> Arc<dyn Tasks> {
        self.host.tasks()
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
        Arc::new(NoFiles)
    }
    fn keep(&self, _: &CallId, _: String) -> BoxFuture<'_, io::Result<PathBuf>> {
        Box::pin(async { Err(io::Error::other("nothing is kept here")) })
    }
    fn keeper(&self, _: &CallId) -> Keeper {
        Keeper::new(|| Err(io::Error::other("nothing is kept here")))
    }
    fn state(&self, _: &str) -> Option<serde_json::Value> {
        None
    }
    fn grant(&self) -> Result<Grant, Fault> {
        Ok(Grant::default())
    }
    fn tasks(&self) -> Arc<dyn Tasks> {
        Arc::new(NoTasks)
    }
}
