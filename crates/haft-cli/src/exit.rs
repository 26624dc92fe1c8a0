//! What the exit code says: the only place that knows the numbers.

use std::{fmt, process::ExitCode};

use haft_engine::result::ToolResult;
use haft_tool::FaultKind;

use crate::out;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It is done.
    Done,
    /// The call or the task failed.
    Failed,
    /// The command line or the settings are wrong; nothing was done.
    Usage,
    /// Somebody said no.
    Denied,
    /// It was interrupted.
    Interrupted,
    /// What it ran ended with this.
    Passed(u8),
}

impl Exit {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            Exit::Interrupted => 130,
            Exit::Passed(code) => code,
        }
    }

    /// What a single call came to.
    pub(crate) fn of(result: &ToolResult) -> Exit {
        match result.fault.map(|fault| fault.kind) {
            None => Exit::Done,
            Some(FaultKind::Denied) => Exit::Denied,
            Some(_) => Exit::Failed,
        }
    }
}

/// Something that whoever typed the command can put right: what is wrong, where, and what would be right.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error for the person who typed the command.
pub(crate) fn usage(message: impl fmt::Display) -> anyhow::Error {
    Usage(message.to_string()).into()
}

/// The code of a command that has run, with its last words if it could not.
pub(crate) fn code(ended: anyhow::Result<Exit>) -> ExitCode {
    let exit = ended.unwrap_or_else(|err| {
        out::complain(&format!("{err:#}"));
        if err.is::<Usage>() { Exit::Usage } else { Exit::Failed }
    });
    exit.number().into()
}

/// The code of a command line that was not understood, or asked for help.
pub(crate) fn refused(refused: &clap::Error) -> ExitCode {
    // Whoever asked for help and closed the pipe has seen enough.
    let _ = refused.print();
    if refused.use_stderr() { Exit::Usage.number().into() } else { Exit::Done.number().into() }
}

/// Leaves at once. For the second Ctrl-C only.
pub(crate) fn now(exit: Exit) -> ! {
    std::process::exit(exit.number().into())
}
