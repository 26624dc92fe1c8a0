//! A command in the foreground: it has our standard input and output, and we wait for it.

use std::{
    ffi::OsString,
    os::unix::process::ExitStatusExt,
    process::{Command, ExitStatus},
};

use super::{Blocked, Confinement, Level, LimitExceeded, ProtectedChange, SandboxError};

/// How a command in the foreground ended.
#[derive(Debug)]
pub struct Ended {
    /// Its code; for a signal 128 and the signal's number, as shells say it.
    pub code: u8,
    /// What held.
    pub level: Level,
    /// The bound that ended it, if one did.
    pub exceeded: Option<LimitExceeded>,
    /// The hosts that it was refused.
    pub blocked: Vec<Blocked>,
    /// What it changed under protected names.
    pub protected_changes: Vec<ProtectedChange>,
}

impl Confinement {
    /// Runs a program confined, and waits for it.
    ///
    /// # Errors
    /// There is no sandbox, or no such program; nothing was run.
    #[expect(clippy::disallowed_methods, reason = "this crate is where processes are started")]
    pub fn foreground(&self, program: &OsString, arguments: &[OsString]) -> Result<Ended, SandboxError> {
        let mut command = Command::new(program);
        command.args(arguments);
        let mut guard = self.prepare()?.apply(&mut command)?;
        let mut child = command.spawn().map_err(|err| guard.explain(err))?;
        guard.started()?;
        let status = child.wait().map_err(SandboxError::Start)?;
        let protected_changes = guard.protected_changes();
        let (exceeded, blocked) = (guard.exceeded(), guard.blocked(&[]));
        let level = guard.level().clone();
        Ok(Ended { code: code(status), level, exceeded, blocked, protected_changes })
    }
}

impl Confinement {
    /// Builds a sandbox here and does nothing in it: which level there is, or why there is none.
    ///
    /// # Errors
    /// There is no sandbox.
    pub fn trial(&self) -> Result<Level, SandboxError> {
        self.foreground(&"true".into(), &[]).map(|ended| ended.level)
    }
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
