//! The sandbox as the fence around a process.

use std::io;

use super::{Confine, Fence};
use crate::sandbox::{Confinement, Guard, SandboxError};

/// Confines the process by the kernel.
///
/// # Errors
/// What cannot be resolved, opened or had: nothing is started then.
pub fn confined(confinement: &Confinement) -> Result<Confine, SandboxError> {
    let prepared = confinement.prepare()?;
    Ok(Box::new(move |command| {
        let guard = prepared.apply(command).map_err(io::Error::other)?;
        Ok(Box::new(guard))
    }))
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

    fn ends_all(&self) -> bool {
        self.level().namespaces
    }
}
