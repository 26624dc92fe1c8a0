//! A command for bash, and where it leaves off.
//!
//! The text that was judged is the text that runs: it is one argument, and nothing is put before or after it. To learn in
//! which directory a command ends, bash reads a line of ours first (`BASH_ENV`, on a descriptor that it is given), which
//! sets a trap for its exit; the directory comes back on another descriptor. A command that sets such a trap itself, or
//! that replaces the shell, leaves no word, and the directory stays what it was.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::MemfdFlags,
    pipe::{PipeFlags, pipe_with},
};

use super::start::{PASSED, high};

/// Where bash is found. Never through `PATH`: that may lead into the workspace.
const PLACES: [&str; 4] =
    ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/run/current-system/sw/bin/bash"];

/// The longest argument that the kernel takes, without its end.
pub const LONGEST_COMMAND: usize = 128 * 1024 - 1;

/// The bash that runs commands, or where it was looked for.
pub fn bash_program() -> io::Result<PathBuf> {
    let found = PLACES.iter().map(Path::new).find(|path| path.exists());
    let missing = || {
        let message = format!("there is no bash here; it is looked for at {}", PLACES.join(", "));
        io::Error::new(io::ErrorKind::NotFound, message)
    };
    found.map(Path::to_owned).ok_or_else(missing)
}

pub(super) fn arguments(command: &str) -> io::Result<Vec<OsString>> {
    if command.len() > LONGEST_COMMAND {
        let message = format!(
            "the command has {} bytes and the system takes at most {LONGEST_COMMAND}; write it to a file and run that",
            command.len()
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    Ok(["--noprofile", "--norc", "-c", command].map(OsString::from).to_vec())
}

/// The two descriptors by which bash tells where it left off.
pub(super) struct Whereabouts {
    script: File,
    told: OwnedFd,
    tell: OwnedFd,
}

impl Whereabouts {
    pub(super) fn new() -> io::Result<Whereabouts> {
        let mut script = File::from(high(rustix::fs::memfd_create("haft-bash", MemfdFlags::CLOEXEC)?)?);
        // Silent under `set -x`; `builtin`, because a command may have a function of that name.
        write!(script, "unset BASH_ENV\ntrap '{{ builtin pwd -P >&{}; }} 2>/dev/null' EXIT\n", PASSED[1])?;
        let (told, tell) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Whereabouts { script, told, tell: high(tell)? })
    }

    /// What the child's descriptors [`PASSED`] are to be.
    pub(super) fn passed(&self) -> [RawFd; 2] {
        [self.script.as_raw_fd(), self.tell.as_raw_fd()]
    }

    pub(super) fn variable() -> (OsString, OsString) {
        ("BASH_ENV".into(), format!("/proc/self/fd/{}", PASSED[0]).into())
    }

    /// Where it left off. It is over: what is not there now will not come.
    pub(super) fn told(self) -> Option<PathBuf> {
        drop(self.tell);
        let mut told = Vec::new();
        // The pipe does not block; what came before that error is there.
        let _ = File::from(self.told).take(LONGEST_PATH).read_to_end(&mut told);
        let path = told.strip_suffix(b"\n")?;
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        path.is_absolute().then_some(path)
    }
}

/// Longer than any path that the kernel tells.
const LONGEST_PATH: u64 = 64 * 1024;

/// The environment of this process without what makes bash do more than the command says.
pub fn inherited(own: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    own.filter(|(name, _)| !steers_bash(name)).collect()
}

fn steers_bash(name: &OsStr) -> bool {
    const NAMES: [&str; 11] = [
        "BASH_ENV",
        "ENV",
        "SHELLOPTS",
        "BASHOPTS",
        "PS4",
        "PROMPT_COMMAND",
        "CDPATH",
        "GLOBIGNORE",
        "BASH_XTRACEFD",
        "TEXTDOMAIN",
        "TEXTDOMAINDIR",
    ];
    NAMES.iter().any(|steers| name == *steers) || name.as_bytes().starts_with(b"BASH_FUNC_")
}
