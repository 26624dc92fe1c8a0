//! The haft binary, as a person starts it: built, in a home of its own, watched.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::repository::{cargo, metadata, succeeds};

/// A haft that knows nothing of the person who runs the chore: its home, settings and state are below one directory.
#[derive(Clone)]
pub(crate) struct Haft {
    binary: PathBuf,
    home: PathBuf,
}

const STATE: &str = ".local/state";

/// How it is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

impl Haft {
    /// Builds it, unless `HAFT_BINARY` (`HAFT_RELEASE_BINARY` for what is measured) names one that was built already: alone it is
    /// built with other features of its dependencies than with the rest of the workspace, so that all of them would be built once
    /// more.
    pub(crate) fn build(profile: Profile, home: impl Into<PathBuf>) -> Result<Haft> {
        let (named, option, folder): (&str, &[&str], &str) = match profile {
            Profile::Debug => ("HAFT_BINARY", &[], "debug"),
            Profile::Release => ("HAFT_RELEASE_BINARY", &["--release"], "release"),
        };
        if let Some(binary) = env::var_os(named) {
            return Ok(Haft { binary: binary.into(), home: home.into() });
        }
        if !succeeds(cargo(&["build", "--quiet", "--locked", "--package", "haft-cli"]).args(option))? {
            bail!("haft does not build");
        }
        Ok(Haft { binary: metadata()?.target_directory.join(folder).join("haft"), home: home.into() })
    }

    /// A binary that is known, in a home.
    pub(crate) fn of(binary: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Haft {
        Haft { binary: binary.into(), home: home.into() }
    }

    /// The same binary in another home.
    pub(crate) fn at(&self, home: impl Into<PathBuf>) -> Haft {
        Haft { home: home.into(), ..self.clone() }
    }

    /// Where it keeps what is too long to be said at once.
    pub(crate) fn results(&self, session: &str) -> PathBuf {
        self.home.join(STATE).join("haft/results").join(session)
    }

    /// `haft WORDS`, in a directory. It says nothing unless the caller wants to hear it.
    pub(crate) fn command(&self, directory: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(words).current_dir(directory);
        command.env_clear().envs(env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", &self.home).env("XDG_STATE_HOME", self.home.join(STATE));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// What became of a process.
pub(crate) struct Watched {
    /// `None` if it was killed because its time was over.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) wall: Duration,
    /// The most memory it held at once.
    pub(crate) peak_bytes: u64,
}

/// Between two looks at a process. The system keeps its peak, so that only a peak in the last moment can be missed.
const LOOK: Duration = Duration::from_millis(1);

/// Runs it to its end or to the limit, whichever comes first.
pub(crate) fn watch(command: &mut Command, limit: Duration) -> Result<Watched> {
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let mut peak_bytes = 0;
    loop {
        peak_bytes = peak(&child).unwrap_or(0).max(peak_bytes);
        let status = child.try_wait()?;
        let wall = start.elapsed();
        if status.is_some() {
            return Ok(Watched { status, wall, peak_bytes });
        }
        if wall > limit {
            child.kill()?;
            child.wait()?;
            return Ok(Watched { status: None, wall, peak_bytes });
        }
        thread::sleep(LOOK);
    }
}

/// Nothing is known of a process that has ended, or of any on another system than Linux.
fn peak(child: &Child) -> Option<u64> {
    bytes_in(&fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?, "VmHWM:")
}

/// A figure in what the system says of a process.
pub(crate) fn bytes_in(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_read_from_what_the_system_says() {
        let status = "VmPeak:\t  9000 kB\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n";
        assert_eq!(bytes_in(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(bytes_in("State:\tZ (zombie)\n", "VmHWM:"), None);
    }

    #[test]
    fn a_process_that_takes_too_long_is_killed() {
        let watched = watch(Command::new("sleep").arg("60"), Duration::from_millis(20)).unwrap();
        assert!(watched.status.is_none() && watched.wall < Duration::from_secs(30));
    }
}
