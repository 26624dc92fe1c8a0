//! The sandbox as the fence around a process.

use std::{io, path::PathBuf, sync::Arc};

use super::{Confine, Fence};
use crate::sandbox::{
    Blocked, Confinement, Gatekeeper, Guard, LimitExceeded, Loopback, NewDirectories, ProtectedChange,
};

/// Confines the process by the kernel. Where that cannot be, nothing is started, and the error has a
/// [`SandboxError`](crate::sandbox::SandboxError) in it.
///
/// What it takes is looked up on the thread that starts the process, so that many can be started side by side.
pub fn confined(confinement: Confinement) -> Confine {
    Box::new(move |command| {
        let guard = confinement.prepare().and_then(|prepared| prepared.apply(command));
        Ok(Box::new(guard.map_err(io::Error::other)?))
    })
}

/// Confines like [`confined`], for a process that makes these directories and fills them: `git worktree add ../x`.
///
/// A directory that is not there cannot be opened for writing alone, and its parent was not asked for. So each is made
/// just before the process starts, and removed when that has ended if nothing is in it.
pub fn confined_with_directories(mut confinement: Confinement, directories: Vec<PathBuf>) -> Confine {
    Box::new(move |command| {
        let made = NewDirectories::make(directories)?;
        confinement.write.extend(made.paths().iter().cloned());
        let guard = confinement.prepare().and_then(|prepared| prepared.apply(command));
        let mut guard = guard.map_err(io::Error::other)?;
        guard.hold(made);
        Ok(Box::new(guard))
    })
}

impl Fence for Guard {
    fn started(&mut self) -> io::Result<()> {
        Guard::started(self).map_err(io::Error::other)
    }

    fn explain(&self, err: io::Error) -> io::Error {
        io::Error::other(Guard::explain(self, err))
    }

    fn facts(&self, output: &[u8]) -> Vec<String> {
        let mut facts: Vec<String> = self.blocked(output).iter().map(ToString::to_string).collect();
        facts.extend(self.copy_failures());
        facts.extend(self.protected_changes_so_far().iter().map(ToString::to_string));
        if !self.level().is_complete() {
            facts.push(format!("the sandbox here is {}", self.level()));
        }
        facts
    }

    fn exceeded(&self) -> Option<LimitExceeded> {
        Guard::exceeded(self)
    }

    fn blocked(&self, output: &[u8]) -> Vec<Blocked> {
        Guard::blocked(self, output)
    }

    fn protected_changes(&self) -> Vec<ProtectedChange> {
        self.copy_out();
        Guard::protected_changes(self)
    }

    fn loopback(&self) -> Option<Arc<Loopback>> {
        Guard::loopback(self)
    }

    fn gatekeeper(&self) -> Option<Arc<dyn Gatekeeper>> {
        Guard::gatekeeper(self)
    }

    fn ends_all(&self) -> bool {
        self.level().namespaces
    }
}
