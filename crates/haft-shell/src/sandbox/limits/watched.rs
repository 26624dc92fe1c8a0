//! A sandbox that is measured.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::PathBuf,
    sync::{Mutex, OnceLock, PoisonError},
};

use haft_tool::ResourceLimits;
use rustix::{
    fs::{Mode, OFlags, openat},
    process::{Pid, Signal, kill_process_group, test_kill_process},
};

use super::{
    LimitExceeded, Resource, disk,
    usage::{Processes, open_directory},
};

/// Ends a sandbox with all that runs in it.
#[derive(Debug)]
pub(in super::super) struct KillSwitch {
    /// The outer process holds the other end, and ends everything when this one is closed, however that happens.
    lifeline: Mutex<Option<OwnedFd>>,
    /// Without namespaces: the process whose group is to be ended.
    leader: OnceLock<Pid>,
}

impl KillSwitch {
    pub(in super::super) fn new(lifeline: OwnedFd) -> KillSwitch {
        KillSwitch { lifeline: Mutex::new(Some(lifeline)), leader: OnceLock::new() }
    }

    /// Ends what runs. The number of a process that was waited for is not used: the sandbox is released before that.
    pub(super) fn end(&self) {
        let mut lifeline = self.lock();
        if lifeline.take().is_some()
            && let Some(leader) = self.leader.get()
            && test_kill_process(*leader).is_ok()
        {
            let _ = kill_process_group(*leader, Signal::KILL);
        }
    }

    /// Lets go: nothing is left to be ended.
    pub(in super::super) fn release(&self) {
        drop(self.lock().take());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<OwnedFd>> {
        self.lifeline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A sandbox that is measured, as long as its guard lives.
#[derive(Debug)]
pub(in super::super) struct Watched {
    pub(super) limits: ResourceLimits,
    /// What it may write.
    pub(super) write: Vec<PathBuf>,
    pub(super) processes: Processes,
    /// Its private directories, which are in memory.
    private: Vec<(PathBuf, OwnedFd)>,
    switch: std::sync::Arc<KillSwitch>,
    exceeded: OnceLock<LimitExceeded>,
}

impl Watched {
    /// A sandbox whose root directory is this; `private` are its own directories in memory.
    pub(in super::super) fn inside(
        root: &OwnedFd,
        private: impl Iterator<Item = PathBuf>,
        has_processes: bool,
        leader: i32,
        switch: std::sync::Arc<KillSwitch>,
    ) -> std::io::Result<Watched> {
        let processes = if has_processes {
            Processes::Namespace(open_directory(root, "proc")?)
        } else {
            Processes::Session(leader)
        };
        let mut opened = Vec::new();
        for path in private {
            let name = path.strip_prefix("/").unwrap_or(&path);
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory = openat(root.as_fd(), name, flags, Mode::empty())?;
            opened.push((path, directory));
        }
        Ok(Watched { private: opened, ..Watched::new(processes, switch) })
    }

    /// A process without namespaces, which leads a session.
    pub(in super::super) fn session(leader: i32, switch: std::sync::Arc<KillSwitch>) -> Watched {
        if let Some(leader) = Pid::from_raw(leader) {
            let _ = switch.leader.set(leader);
        }
        Watched::new(Processes::Session(leader), switch)
    }

    fn new(processes: Processes, switch: std::sync::Arc<KillSwitch>) -> Watched {
        Watched {
            limits: ResourceLimits::default(),
            write: Vec::new(),
            processes,
            private: Vec::new(),
            switch,
            exceeded: OnceLock::new(),
        }
    }

    /// The same with these bounds, which may write these places.
    pub(in super::super) fn bounded(self, limits: ResourceLimits, write: Vec<PathBuf>) -> Watched {
        Watched { limits, write, ..self }
    }

    /// Measures it from now on.
    pub(in super::super) fn watch(self: &std::sync::Arc<Self>) -> std::io::Result<()> {
        super::watch::register(self)
    }

    /// How much its files in memory take.
    pub(super) fn private_bytes(&self) -> u64 {
        self.private.iter().map(|(_, directory)| disk::used_bytes(directory)).sum()
    }

    /// A private directory that is full.
    pub(in super::super) fn full_directory(&self) -> Option<PathBuf> {
        self.private.iter().find(|(_, directory)| disk::is_full(directory)).map(|(path, _)| path.clone())
    }

    /// Ends it. The first reason counts.
    pub(super) fn end(&self, resource: Resource, limit: u64) {
        let _ = self.exceeded.set(LimitExceeded { resource, limit });
        self.switch.end();
    }

    /// Why it was ended, if it was.
    pub(in super::super) fn exceeded(&self) -> Option<&LimitExceeded> {
        self.exceeded.get()
    }
}
