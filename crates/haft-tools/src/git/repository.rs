//! Which repository this is, and what it would run.
//!
//! A file `.git` can point to a repository anywhere, and a repository can say that its files are anywhere. Reading
//! outside the workspace is asked about, so it must not be had by such a detour.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use haft_tool::{Fault, Refusal, shown};

use super::{
    ask::Git,
    pinned::{Pin, overruled},
};

/// What is known of the repository before anything is run in it.
pub(crate) struct Repository {
    /// Where its files are; `None` where git finds none, which it will say itself.
    pub(crate) top: Option<PathBuf>,
    /// What its settings must be instead.
    pub(crate) pins: Vec<Pin>,
}

/// More settings that run something are no repository but an attempt.
const MOST_PINS: usize = 2_000;

impl Repository {
    pub(crate) async fn of(git: &Git<'_>, workspace: &Path) -> Result<Repository, Fault> {
        let settings = Settings::of(git).await?;
        let Some(place) = Place::of(git).await? else {
            return Ok(Repository { top: None, pins: settings.pins });
        };
        if !place.is_home(git, workspace, &settings).await? {
            return Err(foreign(&place));
        }
        Ok(Repository { top: place.top, pins: settings.pins })
    }

    /// Settings by which nothing is looked for in the files of submodules: git starts itself again there, without the
    /// settings that it was given here.
    pub(crate) async fn submodule_pins(&self, git: &Git<'_>) -> Result<Vec<Pin>, Fault> {
        let mut pins = vec![("diff.ignoreSubmodules".into(), "dirty")];
        let Some(top) = &self.top else { return Ok(pins) };
        // Git reads what is in the index where there is no file.
        let file = top.join(".gitmodules");
        let place = match file.symlink_metadata() {
            Ok(_) => [OsString::from("--file"), file.into()],
            Err(_) => ["--blob", ":.gitmodules"].map(OsString::from),
        };
        let words = ["config", "--no-includes", "--list", "--name-only", "-z"].map(OsString::from);
        let answer = git.tell(words.into_iter().chain(place).collect(), &[]).await?;
        let names = answer.said.split(|byte| *byte == 0).filter_map(submodule);
        pins.extend(
            names.map(|name| (OsString::from_vec([b"submodule.", name, b".ignore"].concat()), "dirty")),
        );
        pins.sort();
        pins.dedup();
        Ok(pins)
    }
}

/// The name of the submodule that a setting speaks of.
fn submodule(key: &[u8]) -> Option<&[u8]> {
    let rest = key.strip_prefix(b"submodule.")?;
    Some(&rest[..rest.iter().rposition(|byte| *byte == b'.')?])
}

/// What the repository itself sets.
struct Settings {
    pins: Vec<Pin>,
    /// Whether it says where its files are.
    names_worktree: bool,
}

impl Settings {
    async fn of(git: &Git<'_>) -> Result<Settings, Fault> {
        let answer = git.ask(&["config", "--list", "--show-scope", "--name-only", "-z"]).await?;
        if !answer.is_good {
            let message = format!("the settings of the repository cannot be read: {}", answer.complaint);
            return Err(Fault::failed(message));
        }
        let mut settings = Settings { pins: Vec::new(), names_worktree: false };
        let mut words = answer.said.split(|byte| *byte == 0);
        while let (Some(scope), Some(key)) = (words.next(), words.next()) {
            // What the person set for all repositories is the person's.
            if !matches!(scope, b"system" | b"global" | b"command") {
                // Only what stands beside the history: a worktree's own settings may be the workspace's.
                settings.names_worktree |= scope == b"local" && key == b"core.worktree";
                settings.pins.extend(overruled(key));
            }
        }
        settings.pins.sort();
        settings.pins.dedup();
        if settings.pins.len() > MOST_PINS {
            let message = format!(
                "the repository has more than {MOST_PINS} settings that run something; nothing was run\n\
                 Go on without git here, or tell the user that the repository's settings look like an attack"
            );
            return Err(Fault::denied(Refusal::Boundary, message));
        }
        Ok(settings)
    }
}

/// Where a repository is.
struct Place {
    /// Where its files are; `None` inside the history itself.
    top: Option<PathBuf>,
    /// Where its history is, shared by all its worktrees.
    common: PathBuf,
}

impl Place {
    /// `None` where there is no repository.
    async fn of(git: &Git<'_>) -> Result<Option<Place>, Fault> {
        let words = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-toplevel"];
        let answer = git.ask(&words).await?;
        let lines: Vec<&[u8]> = answer.said.split_inclusive(|byte| *byte == b'\n').collect();
        match (lines.as_slice(), answer.is_good) {
            ([], false) => Ok(None),
            ([common], false) => Ok(Some(Place { top: None, common: real(common)? })),
            ([common, top], true) => Ok(Some(Place { top: Some(real(top)?), common: real(common)? })),
            // A name with a line end in it: nobody knows where the other begins.
            _ => Err(Fault::failed(
                "nothing was run: where the repository is cannot be told from what git says",
            )),
        }
    }

    /// Whether it is in the workspace, or the workspace is in it.
    async fn is_home(&self, git: &Git<'_>, workspace: &Path, settings: &Settings) -> Result<bool, Fault> {
        let Some(top) = &self.top else { return Ok(self.common.starts_with(workspace)) };
        if !git.cwd().starts_with(top) {
            return Ok(false);
        }
        // The workspace says it: its word is good for what is in it.
        if self.common.starts_with(workspace) {
            return Ok(top.starts_with(workspace));
        }
        // Somebody else says it: of the directory around the workspace, of a submodule, of a worktree.
        if self.common == top.join(".git") || settings.names_worktree {
            return Ok(true);
        }
        is_known_worktree(git, top).await
    }
}

fn real(line: &[u8]) -> Result<PathBuf, Fault> {
    let path = Path::new(OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)));
    path.canonicalize().map_err(|err| Fault::io("find", path, err))
}

/// Whether the history itself knows of this worktree.
async fn is_known_worktree(git: &Git<'_>, top: &Path) -> Result<bool, Fault> {
    let answer = git.ask(&["worktree", "list", "--porcelain", "-z"]).await?;
    let mut words = answer.said.split(|byte| *byte == 0);
    Ok(answer.is_good
        && words.any(|word| {
            let path = word.strip_prefix(b"worktree ").map(OsStr::from_bytes).map(Path::new);
            path.is_some_and(|path| path.canonicalize().is_ok_and(|real| real == top))
        }))
}

fn foreign(place: &Place) -> Fault {
    let message = format!(
        "nothing was run: here git finds a repository in {}, which is outside the workspace and does not know of this \
         directory\nSet `cwd` to where that repository's files are, if that is what you want",
        shown(&place.common),
    );
    Fault::denied(Refusal::Boundary, message)
}
