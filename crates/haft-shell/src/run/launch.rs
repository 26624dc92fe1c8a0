//! What is to run, and how.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    process::Command,
    sync::Arc,
    time::Duration,
};

use super::{Ends, Process, bash};
use crate::sandbox::{Blocked, Gatekeeper, LimitExceeded, Loopback, ProtectedChange};

/// A process in the making. [`start`](Launch::start) starts it.
pub struct Launch {
    /// The program, by its absolute path: nothing is looked for in `PATH`.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// Its environment. A fence may put its own in the place of it.
    pub env: Vec<(OsString, OsString)>,
    /// Variables that it has in any case.
    pub set: Vec<(OsString, OsString)>,
    /// What it can read on stdin; without it, stdin is empty. It is a file and not a pipe, so a process that does not
    /// read it keeps nobody waiting, and there is nothing that could break.
    pub input: Option<Vec<u8>>,
    /// Whether what it writes to stderr is kept by itself ([`Process::with_errors`]). The order between the two is lost
    /// then. A terminal has only one.
    pub apart: bool,
    /// Whether its stdin and stdout are pipes to its owner ([`Launch::start_piped`] sets it). What is listened to and kept is
    /// stderr then.
    pub(super) piped: bool,
    /// Whether its output is a terminal. Its input never is: whoever asks gets an end of file.
    pub pty: bool,
    /// Whether there is a line to it besides input and output, on the descriptors [`SPOKEN`](super::SPOKEN): see
    /// [`Process::say`] and [`Process::heard`].
    pub spoken_to: bool,
    /// How long it may take.
    pub time_limit: Option<Duration>,
    /// How long it has to end by itself when it is told to.
    pub grace: Duration,
    /// How much of its output is kept where.
    pub room: Room,
    /// Makes the file for output that is too much to show.
    pub spill: Option<Spill>,
    /// Whoever confines it.
    pub fence: Confine,
    /// Whether it is a bash that tells where it left off. A single command takes its place otherwise, without a process more.
    pub tells_directory: bool,
}

/// Makes a file when it is first needed, and says where it is.
pub type Spill = Box<dyn FnOnce() -> io::Result<(PathBuf, Box<dyn Write + Send>)> + Send>;

/// Puts a fence around what a command is going to start. What it does in the child happens after the child has become
/// the leader of a session, and before it is given the descriptors of [`PASSED`](super::PASSED)
/// and [`SPOKEN`](super::SPOKEN).
pub type Confine = Box<dyn FnOnce(&mut Command) -> io::Result<Box<dyn Fence>> + Send>;

/// How much output is kept where, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Of the text for a model: beginning and end.
    pub shown: usize,
    /// Of what came, for a screen: beginning and end.
    pub view: usize,
    /// In all. A process that writes more is ended.
    pub most: u64,
}

impl Default for Room {
    fn default() -> Room {
        Room { shown: 30_000, view: 30_000, most: 1 << 30 }
    }
}

/// What stands around a process that is confined. It is held until the process has ended.
pub trait Fence: Send + Sync {
    /// The process has been started. What is started without what it needs is ended.
    fn started(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Why the process could not be started, if that was the fence.
    fn explain(&self, err: io::Error) -> io::Error {
        err
    }

    /// What the model should know: what was held back, judged by what the process wrote, and what guarantees are missing.
    fn facts(&self, output: &[u8]) -> Vec<String>;

    /// The bound that ended the process, if one did.
    fn exceeded(&self) -> Option<LimitExceeded> {
        None
    }

    /// What was refused, judged by what the process wrote.
    fn blocked(&self, _output: &[u8]) -> Vec<Blocked> {
        Vec::new()
    }

    /// The changes of protected names that were not permitted. The process must have ended.
    fn protected_changes(&self) -> Vec<ProtectedChange> {
        Vec::new()
    }

    /// The loopback that the process is in, for later ones to be put beside it.
    fn loopback(&self) -> Option<Arc<Loopback>> {
        None
    }

    /// Decides about protected names that the process attempts to create or change, if anything does.
    fn gatekeeper(&self) -> Option<Arc<dyn Gatekeeper>> {
        None
    }

    /// Whether all that the process started ends with it, without anybody looking for it.
    fn ends_all(&self) -> bool;
}

/// No fence: the process may do what its owner may.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unfenced;

impl Fence for Unfenced {
    fn facts(&self, _: &[u8]) -> Vec<String> {
        Vec::new()
    }
    fn ends_all(&self) -> bool {
        false
    }
}

impl Launch {
    /// A program, with everything else as usual.
    pub fn new(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Launch {
        Launch {
            program: program.into(),
            args: Vec::new(),
            cwd: cwd.into(),
            env: Vec::new(),
            set: Vec::new(),
            input: None,
            apart: false,
            piped: false,
            pty: false,
            spoken_to: false,
            time_limit: None,
            grace: Duration::from_secs(2),
            room: Room::default(),
            spill: None,
            fence: Box::new(|_| Ok(Box::new(Unfenced))),
            tells_directory: false,
        }
    }

    /// A command for bash. The bytes that run are these, nothing is wrapped around them.
    pub fn bash(command: &str, cwd: impl Into<PathBuf>) -> io::Result<Launch> {
        let mut launch = Launch::new(bash::bash_program()?, cwd);
        launch.args = bash::arguments(command)?;
        launch.tells_directory = true;
        Ok(launch)
    }

    /// Starts it. Returns when it runs, or cannot.
    pub fn start(self) -> io::Result<Process> {
        Process::start(self).map(|(process, _)| process)
    }

    /// Starts it like [`start`](Launch::start), and keeps no thread waiting for that.
    ///
    /// # Errors
    /// As there. A fence that cannot stand is one of them, and nothing runs then.
    pub async fn started(self) -> io::Result<Process> {
        Process::started(self).await
    }

    /// Starts it as a server that is spoken to by its stdin and stdout. It may write to stderr as much as it likes; the
    /// beginning and the end of that are kept. It does not outlive haft, nor does anything that it started, even if haft is
    /// killed.
    pub fn start_piped(mut self) -> io::Result<(Process, Ends)> {
        self.piped = true;
        self.room.most = u64::MAX;
        let (process, ends) = Process::start(self)?;
        let ends = ends.ok_or_else(|| io::Error::other("the process was started without pipes"))?;
        Ok((process, ends))
    }
}
