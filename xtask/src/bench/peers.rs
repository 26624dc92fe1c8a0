//! The programs to be compared with: found, installed if that is asked for, timed.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};

use crate::repository::{cargo, is_there, succeeds, tools};

/// A program of others, and the package that has it.
pub(super) struct Peer {
    pub(super) program: &'static str,
    pub(super) package: &'static str,
}

impl Peer {
    /// Where it is, or why it is not. Ours comes first: a distribution's may be years old.
    pub(super) fn find(&self, install: bool) -> Result<Result<PathBuf, String>> {
        let (own, Peer { program, package }) = (tools()?, self);
        let path = env::var_os("PATH").unwrap_or_default();
        let directories = std::iter::once(own.join("bin")).chain(env::split_paths(&path));
        let found = directories.map(|directory| directory.join(program)).find(|path| runs(path));
        if let Some(found) = found {
            return Ok(Ok(found));
        }
        if !install {
            return Ok(Err(format!(
                "{program} is not installed; `cargo xtask bench search --install` does it"
            )));
        }
        let is_installed = succeeds(cargo(&["install", "--locked", package, "--root"]).arg(&own))?;
        Ok(if is_installed {
            Ok(own.join("bin").join(program))
        } else {
            Err(format!("{package} cannot be installed"))
        })
    }
}

fn runs(program: &Path) -> bool {
    program.is_file() && is_there(Command::new(program).arg("--version"))
}

/// A program in a directory, as little disturbed by the person's settings as haft is.
pub(super) fn peer(program: impl AsRef<Path>, directory: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program.as_ref());
    command.args(words).current_dir(directory);
    command.env_clear().envs(env::var_os("PATH").map(|path| ("PATH", path))).env("HOME", "/nonexistent");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// How long a program takes, from its start to its end.
pub(super) fn timed(command: &mut Command) -> Result<Duration> {
    let start = Instant::now();
    let status = command.status().with_context(|| format!("{command:?}"))?;
    let time = start.elapsed();
    ensure!(status.success(), "{command:?}: {status}");
    Ok(time)
}
