//! What a process that a call starts may touch.

use std::{path::PathBuf, time::Duration};

/// The limits for the processes of one call: made by the engine from the session's rules and from what the call declared
/// and was permitted. Roots come from the session, never from a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grant {
    /// Whether processes are to be confined to this.
    pub confined: bool,
    /// Whether nothing may run where they cannot be, fully.
    pub required: bool,
    /// What they may write, with all below.
    pub write: Vec<PathBuf>,
    /// Files that are not there yet, and that they may make.
    pub make: Vec<PathBuf>,
    /// Directories that are not there yet, and that they may make and fill: for `git worktree add ../x`.
    pub make_directories: Vec<PathBuf>,
    /// Protected places that they may write, make or replace: what the call declared to write, and was permitted to.
    pub permitted: Vec<PathBuf>,
    /// Whether more than the defaults says yes to what the call runs: a rule for its commands or for the whole tool, a hook, a
    /// classifier, a person, or mode `bypass`. Otherwise it runs unasked, because it stays inside the workspace.
    pub approved: bool,
    /// What they may read, but for what the next two close.
    pub reads: ReadScope,
    /// What they may not read, with all below.
    pub deny_read: Vec<PathBuf>,
    /// What they may not read either, also where nothing is now: below a directory, names that fit a pattern. A sandbox
    /// masks what is there; these are for who reads what was there once.
    pub deny_patterns: Vec<(PathBuf, String)>,
    /// The Unix sockets that they may connect to.
    pub sockets: Vec<PathBuf>,
    /// The hosts that they may contact, each with a port behind a colon if only that one is meant.
    pub hosts: Vec<String>,
    /// Whether the session may be in another directory after them. A call that declared everything it does, and nothing that
    /// others stand on, leaves it where it is.
    pub moves: bool,
    /// How much they may use.
    pub limits: ResourceLimits,
}

/// Bounds on what a command uses, with all that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceLimits {
    /// Bytes of memory in use: of its processes, and of its private temporary files. `None`: what the machine can spare.
    pub memory: Option<u64>,
    /// Processes and threads at once.
    pub processes: Option<u64>,
    /// Bytes of one file.
    pub file_size: Option<u64>,
    /// Processor time of all its processes together.
    pub cpu_time: Option<Duration>,
    /// Bytes that stay free on each file system that it may write. `None`: a fiftieth of it, at most 1 GiB.
    pub disk_reserve: Option<u64>,
    /// Files that one process has open.
    pub open_files: Option<u64>,
}

impl Default for ResourceLimits {
    /// Room for any build; an end to a fork bomb, to a file that fills the disk, and to what fills the memory.
    fn default() -> ResourceLimits {
        ResourceLimits {
            memory: None,
            processes: Some(8192),
            file_size: Some(64 << 30),
            cpu_time: None,
            disk_reserve: None,
            open_files: None,
        }
    }
}

/// What processes may read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReadScope {
    /// Everything that their user may.
    #[default]
    Everything,
    /// These places with all below, and the system's own, which every program needs to start.
    Confined(Vec<PathBuf>),
}
