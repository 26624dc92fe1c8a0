//! How a process ended.

use std::{fmt, os::unix::process::ExitStatusExt, path::PathBuf, process::ExitStatus, time::Duration};

use crate::sandbox::{Blocked, LimitExceeded, ProtectedChange};

/// What became of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// What it said itself.
    pub status: Status,
    /// Who ended it, if it did not end by itself.
    pub stopped: Option<Stopped>,
    /// In which directory a bash left off, if it told.
    pub directory: Option<PathBuf>,
    /// How many processes it had left running, which were ended.
    pub left_running: usize,
    /// How long it took.
    pub took: Duration,
    /// What the fence says about it.
    pub facts: Vec<String>,
    /// What was refused, as far as that is known.
    pub blocked: Vec<Blocked>,
    /// What it changed under protected names without permission. The facts say it, too.
    pub protected_changes: Vec<ProtectedChange>,
}

/// What a process says when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It ended with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Nobody could find out.
    Unknown,
}

/// Why a process was ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stopped {
    /// Somebody asked for it.
    Asked,
    /// It took too long.
    TimedOut,
    /// It wrote too much.
    WroteTooMuch,
    /// It used too much of something else.
    OverLimit(LimitExceeded),
}

impl From<ExitStatus> for Status {
    fn from(status: ExitStatus) -> Status {
        match (status.code(), status.signal()) {
            (Some(code), _) => Status::Code(code),
            (None, Some(signal)) => Status::Signal(signal),
            (None, None) => Status::Unknown,
        }
    }
}

impl Status {
    /// Whether all went well.
    pub fn is_success(self) -> bool {
        self == Status::Code(0)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Status::Code(code) => {
                write!(f, "exit code {code}")?;
                match shells_words(code) {
                    Some(words) => write!(f, " ({words})"),
                    None => Ok(()),
                }
            }
            Status::Signal(signal) => write!(f, "ended by {}", named(signal)),
            Status::Unknown => f.write_str("ended, nobody knows how"),
        }
    }
}

/// What a shell means by a code.
fn shells_words(code: i32) -> Option<String> {
    match code {
        126 => Some("found, but it cannot be run".to_owned()),
        127 => Some("the command was not found".to_owned()),
        129..=192 => Some(format!("a process was ended by {}", named(code - 128))),
        _ => None,
    }
}

fn named(signal: i32) -> String {
    signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// The name of a signal, as Linux numbers them on most machines.
pub fn signal_name(signal: i32) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    NAMES.get(usize::try_from(signal).ok()?.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_signals_are_told_in_words() {
        let cases = [
            (Status::Code(0), "exit code 0"),
            (Status::Code(2), "exit code 2"),
            (Status::Code(127), "exit code 127 (the command was not found)"),
            (Status::Code(139), "exit code 139 (a process was ended by SIGSEGV)"),
            (Status::Code(255), "exit code 255"),
            (Status::Signal(9), "ended by SIGKILL"),
            (Status::Signal(64), "ended by signal 64"),
        ];
        cases.iter().for_each(|(status, words)| assert_eq!(status.to_string(), *words));
        assert_eq!((signal_name(0), signal_name(-3), signal_name(31)), (None, None, Some("SIGSYS")));
    }
}
