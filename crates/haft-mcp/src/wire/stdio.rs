//! A server that is a process.
//!
//! It is looked for in `PATH` of our own environment, started by `haft-shell` with a scrubbed environment, and ended with all
//! that it started: first its input ends, which servers take as a farewell; who does not is told, and then made.

use std::{
    collections::BTreeMap,
    env, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use haft_shell::{
    run::{Launch, Process, confined},
    sandbox::{Confinement, environment},
};
use haft_tool::BoxFuture;
use tokio::{
    net::unix::pipe::{Receiver, Sender},
    time::timeout,
};

use super::{Inbox, Pipe, Wire, pipe::Behind};

/// What is to be started.
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) cwd: &'a Path,
    pub(crate) sandboxed: bool,
}

/// How long a server may take to end by itself when its input has ended. Some never do, and somebody waits; those that need
/// longer have the time after they were told to.
const FAREWELL: Duration = Duration::from_millis(500);

/// How long it may take after it was told to.
const GRACE: Duration = Duration::from_secs(2);

/// So much of what it wrote to stderr is shown.
const SHOWN: usize = 2000;

/// Starts a server.
pub(crate) async fn start(
    program: &Program<'_>,
    most: usize,
    inbox: Arc<dyn Inbox>,
) -> io::Result<Arc<dyn Wire>> {
    let launch = launch(program)?;
    let started = tokio::task::spawn_blocking(move || launch.start_piped());
    let (process, ends) = started.await.map_err(io::Error::other)??;
    let behind = Arc::new(Running(process));
    let input = Sender::from_owned_fd(ends.input)?;
    let output = Receiver::from_owned_fd(ends.output)?;
    watch_life(&behind, inbox.clone());
    Ok(Arc::new(Pipe::new(input, output, most, behind, inbox)))
}

/// What is written to stderr is a sign of life, once.
fn watch_life(running: &Arc<Running>, inbox: Arc<dyn Inbox>) {
    let changed = running.0.changed();
    tokio::spawn(async move {
        changed.await;
        inbox.alive();
    });
}

/// Tells a server that it runs within haft, and how deep: it may be haft, or start it.
const WITHIN: &str = "HAFT_MCP_WITHIN";

/// How many hafts have started one another, down to this one, to have servers: 0 for one that a person or a client started.
pub fn depth() -> usize {
    env::var(WITHIN).ok().and_then(|depth| depth.parse().ok()).unwrap_or_default()
}

fn launch(program: &Program<'_>) -> io::Result<Launch> {
    let mut launch = Launch::new(found(program)?, program.cwd);
    launch.args = program.args.iter().map(Into::into).collect();
    launch.env = environment(env::vars_os());
    launch.set = program.env.iter().map(|(name, value)| (name.into(), value.into())).collect();
    launch.set.push((WITHIN.into(), (depth() + 1).to_string().into()));
    launch.grace = GRACE;
    if program.sandboxed {
        // Who wants a sandbox does not want half of one.
        let whole = Confinement { required: true, ..Confinement::at(program.cwd) };
        launch.fence = confined(whole);
    }
    Ok(launch)
}

/// The program by its absolute path. A relative one with a slash is meant from where the server runs.
pub(crate) fn found(program: &Program<'_>) -> io::Result<PathBuf> {
    if program.command.contains('/') {
        return Ok(program.cwd.join(program.command));
    }
    let path = program.env.get("PATH").map(Into::into).or_else(|| env::var_os("PATH")).unwrap_or_default();
    // A relative place in `PATH` leads into whatever workspace is open.
    let places = env::split_paths(&path).filter(|place| place.is_absolute());
    places.map(|place| place.join(program.command)).find(|file| is_program(file)).ok_or_else(|| {
        let message =
            format!("`{}` is not found in PATH; install it, or give its absolute path", program.command);
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The process behind a pipe. It ends when nobody holds this any more.
struct Running(Process);

impl Behind for Running {
    fn end(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let ended = match timeout(FAREWELL, self.0.ended()).await {
                Ok(ended) => ended,
                Err(_) => {
                    self.0.stop();
                    self.0.ended().await
                }
            };
            let said = self.last_words();
            match said.is_empty() {
                true => format!("its process has ended ({})", ended.status),
                false => format!("its process has ended ({}); it wrote to stderr:\n{said}", ended.status),
            }
        })
    }
}

impl Running {
    /// The end of what it wrote to stderr.
    fn last_words(&self) -> String {
        let said = self.0.with_output(|errors| {
            let text = errors.text();
            text.head + &text.tail
        });
        let said = said.trim_end();
        let start = said.ceil_char_boundary(said.len().saturating_sub(SHOWN));
        said[start..].trim_start().to_owned()
    }
}
