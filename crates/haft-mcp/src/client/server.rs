//! How a server is reached. Values are final: variables are filled in before.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc, time::Duration};

use haft_tool::BoxFuture;
use tokio::io::DuplexStream;

use crate::wire::{Program, found};

/// A server that can be connected to.
#[derive(Debug, Clone)]
pub struct Server {
    /// What the user calls it. It is the namespace of its tools, whatever the server calls itself.
    pub name: String,
    /// How it is spoken to.
    pub transport: Transport,
    /// How long it may take for what.
    pub limits: Limits,
    /// Whether its process is confined like a command.
    pub sandboxed: bool,
    /// Whether it may ask for completions of the user's model. Each one is asked about all the same.
    pub may_sample: bool,
    /// Whether one connection serves all principals.
    pub shared: bool,
    /// Has tokens for it, if it is reached over HTTP and wants any.
    pub tokens: Option<Arc<dyn Tokens>>,
    /// The tools whose schemas are always shown: names or patterns, `*` for all of them.
    pub always_load: Vec<String>,
    /// Which of its tools are offered, by what the user says.
    pub tools: Selection,
    /// The tools of which twice is the same as once, by what the user says: names or patterns. What the server says of that
    /// does not count.
    pub idempotent: Vec<String>,
    /// Whether a result that breaks the server's own promise (`outputSchema`) is a failure.
    pub strict_output: bool,
}

/// Which tools of a server are offered: names or patterns with `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these; all, if it is empty.
    pub allow: Vec<String>,
    /// Not these.
    pub deny: Vec<String>,
}

/// Has tokens for one server. Implementers keep them; nothing of them may be shown by `Debug`.
pub trait Tokens: Send + Sync + fmt::Debug {
    /// The token to send now, refreshed if that is due.
    fn token(&self) -> BoxFuture<'_, Option<String>>;

    /// Answers a challenge: with another token, which [`token`](Tokens::token) gives from then on, or with why there is none.
    fn challenged<'a>(&'a self, challenge: Challenge<'a>) -> BoxFuture<'a, Result<(), String>>;

    /// Takes the tokens that were sent out of a text of the server. Called for every text: it must not wait.
    fn hide(&self, text: &mut String);
}

/// What a server said instead of an answer: it wants a token, or a better one.
#[derive(Debug, Clone, Copy)]
pub struct Challenge<'a> {
    /// 401, or 403 for want of scope.
    pub status: u16,
    /// What it sent as `WWW-Authenticate`; empty if it sent nothing.
    pub header: &'a str,
    /// The token that it did not take, if it was sent one.
    pub refused: Option<&'a str>,
    /// How many challenges the same request has met before.
    pub before: usize,
}

/// How a server is spoken to.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A process, by its stdin and stdout. It gets a scrubbed environment and `env`.
    Stdio {
        /// The program, looked for in `PATH` if it is a plain name.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that it has besides the harmless ones of our own.
        env: BTreeMap<String, String>,
        /// Where it runs.
        cwd: PathBuf,
    },
    /// Streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// The HTTP transport before that: events from one address, messages to another.
    Sse {
        /// Where the events come from.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// A WebSocket: one message a frame.
    WebSocket {
        /// Where: `ws` or `wss`.
        url: String,
        /// Headers of the handshake.
        headers: BTreeMap<String, String>,
    },
    /// A server in this process.
    Bridge(Bridge),
}

impl Transport {
    /// The file that would be run, if it is a process and there is one.
    pub fn program(&self) -> Option<PathBuf> {
        let Transport::Stdio { command, args, env, cwd } = self else { return None };
        found(&Program { command, args, env, cwd, sandboxed: false }).ok()
    }
}

/// A server in this process: each connection is a pipe to a new instance of it.
#[derive(Clone)]
pub struct Bridge(Arc<dyn Fn() -> DuplexStream + Send + Sync>);

impl Bridge {
    /// `connect` starts an instance and gives our end of the pipe to it.
    pub fn new(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Bridge {
        Bridge(Arc::new(connect))
    }

    /// Our end of a pipe to a new instance.
    pub fn connect(&self) -> DuplexStream {
        (self.0)()
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bridge")
    }
}

/// How long a server may take, and how much it may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From its start until it has said who it is. Python servers on a busy machine need more than ten seconds.
    pub start: Duration,
    /// For an answer without any sign of life in between. Progress begins it anew.
    pub idle: Duration,
    /// For an answer, whatever happens in between.
    pub total: Duration,
    /// How long it may be unused before it is ended. `None`: as long as haft runs.
    pub unused: Option<Duration>,
    /// The largest message that is read, in bytes.
    pub message: usize,
    /// How many pages of a list are read.
    pub pages: usize,
    /// How many tools, prompts or resources are kept of a list.
    pub listed: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            start: Duration::from_secs(60),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(30 * 60),
            unused: Some(Duration::from_secs(10 * 60)),
            message: 64 << 20,
            pages: 200,
            listed: 10_000,
        }
    }
}

impl Server {
    /// A server with everything else as usual.
    pub fn new(name: impl Into<String>, transport: Transport) -> Server {
        Server {
            name: name.into(),
            transport,
            limits: Limits::default(),
            sandboxed: false,
            may_sample: false,
            shared: false,
            tokens: None,
            always_load: Vec::new(),
            tools: Selection::default(),
            idempotent: Vec::new(),
            strict_output: false,
        }
    }
}
