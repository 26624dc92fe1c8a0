//! The sandbox as the fence around a process.

use std::{
    fs,
    io::{self, ErrorKind},
    path::PathBuf,
    sync::Arc,
};

use super::{Confine, Fence};
use crate::sandbox::{Blocked, Confinement, Gatekeeper, Guard, Loopback};

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
        confinement.write.extend(made.0.iter().cloned());
        let guard = confinement.prepare().and_then(|prepared| prepared.apply(command));
        Ok(Box::new(Filled { guard: guard.map_err(io::Error::other)?, _made: made }))
    })
}

/// Directories that were made for a process. Those that are empty in the end are removed.
struct NewDirectories(Vec<PathBuf>);

impl NewDirectories {
    fn make(directories: Vec<PathBuf>) -> io::Result<NewDirectories> {
        let mut made = NewDirectories(Vec::new());
        for directory in directories {
            match fs::create_dir(&directory) {
                Ok(()) => made.0.push(directory),
                // What has come to be there since was not permitted, and a directory further up neither.
                Err(err) if matches!(err.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {}
                Err(err) => return Err(err),
            }
        }
        Ok(made)
    }
}

impl Drop for NewDirectories {
    fn drop(&mut self) {
        for directory in &self.0 {
            // One that is not empty stays.
            let _ = fs::remove_dir(directory);
        }
    }
}

/// A sandbox whose process fills new directories. They are looked at after the sandbox has ended.
struct Filled {
    guard: Guard,
    _made: NewDirectories,
}

impl Fence for Filled {
    fn started(&mut self) -> io::Result<()> {
        Fence::started(&mut self.guard)
    }

    fn explain(&self, err: io::Error) -> io::Error {
        Fence::explain(&self.guard, err)
    }

    fn facts(&self, output: &[u8]) -> Vec<String> {
        self.guard.facts(output)
    }

    fn loopback(&self) -> Option<Arc<Loopback>> {
        Fence::loopback(&self.guard)
    }

    fn ends_all(&self) -> bool {
        self.guard.ends_all()
    }
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
        if !self.level().is_complete() {
            facts.push(format!("the sandbox here is {}", self.level()));
        }
        facts
    }

    fn blocked(&self, output: &[u8]) -> Vec<Blocked> {
        Guard::blocked(self, output)
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
