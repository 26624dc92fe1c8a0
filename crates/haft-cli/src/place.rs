//! Where: directory, workspace, home, settings, state.

use std::{
    env,
    path::{Path, PathBuf},
};

use haft_engine::session::locate;

use crate::exit::usage;

/// Where a command works.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Where relative paths begin.
    pub(crate) cwd: PathBuf,
    /// What may be read unasked.
    pub(crate) workspace: PathBuf,
    /// What `~` means, links resolved.
    pub(crate) home: Option<PathBuf>,
}

/// What makes a directory the root of a workspace.
const MARKS: [&str; 3] = ["haft.toml", ".haft/haft.toml", ".git"];

impl Place {
    /// The directory that was asked for, or the current one.
    pub(crate) fn find(wanted: Option<&Path>) -> anyhow::Result<Place> {
        let cwd = directory(wanted)?;
        let home = home().and_then(|home| locate(&home).ok());
        let workspace = workspace(&cwd, home.as_deref());
        Ok(Place { cwd, workspace, home })
    }
}

fn directory(wanted: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = wanted.unwrap_or(Path::new("."));
    let option = if wanted.is_some() { "--cwd " } else { "the current directory " };
    match path.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(found) => Err(usage(format!("{option}{}: it is not a directory", found.display()))),
        Err(err) => Err(usage(format!("{option}{}: {err}", path.display()))),
    }
}

/// The nearest directory with a mark, from this one upwards. A home or the root of the file system is never found this
/// way: a stray `.git` there would open everything below it.
fn workspace(cwd: &Path, home: Option<&Path>) -> PathBuf {
    // What a sandbox puts in the place of a file that must not be made is no mark.
    let is_mark = |path: PathBuf| path.is_file() || path.is_dir();
    let is_marked = |directory: &&Path| MARKS.iter().any(|mark| is_mark(directory.join(mark)));
    let is_narrow = |directory: &&Path| directory.parent().is_some() && Some(*directory) != home;
    cwd.ancestors().take_while(is_narrow).find(is_marked).unwrap_or(cwd).to_owned()
}

/// The user's home, as the environment has it.
pub(crate) fn home() -> Option<PathBuf> {
    variable("HOME")
}

/// The administrator's settings file, whether it exists or not.
///
/// Nothing that a user can say leads elsewhere, or management would end where the environment begins. Only in debug
/// builds, which nobody manages, may a variable do so: tests need it, and are not root.
pub(crate) fn managed_settings() -> PathBuf {
    let elsewhere = if cfg!(debug_assertions) { variable("HAFT_MANAGED_SETTINGS") } else { None };
    elsewhere.unwrap_or_else(|| "/etc/haft/haft.toml".into())
}

/// The user's settings file, whether it exists or not.
pub(crate) fn user_settings() -> Option<PathBuf> {
    let base = variable("XDG_CONFIG_HOME").or_else(|| Some(home()?.join(".config")));
    Some(base?.join("haft/haft.toml"))
}

/// Where the user keeps skills, whether there are any or not.
pub(crate) fn user_skills() -> Option<PathBuf> {
    Some(user_settings()?.parent()?.join("skills"))
}

/// Where the user keeps definitions of agents, whether there are any or not.
pub(crate) fn user_agents() -> Option<PathBuf> {
    Some(user_settings()?.parent()?.join("agents"))
}

/// What outlives a command.
pub(crate) fn state() -> anyhow::Result<PathBuf> {
    let base = variable("XDG_STATE_HOME").or_else(|| Some(home()?.join(".local/state")));
    let unset = || usage("there is no place for results: set HOME or XDG_STATE_HOME to an absolute path");
    Ok(base.ok_or_else(unset)?.join("haft"))
}

/// The user that the process runs as, by name if the system knows one. Not from the environment, which anybody sets.
pub(crate) fn user() -> String {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1) == Some(&id)).then(|| name.to_owned())
    });
    named.unwrap_or(id)
}

/// A directory from the environment; what is not absolute counts as not set.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use haft_testkit::Workspace;

    use super::*;

    #[track_caller]
    fn check(files: &str, home: Option<&str>, expected: &str) {
        let tree = Workspace::new(files);
        let home = home.map(|home| tree.root().join(home));
        let found = workspace(&tree.root().join("a/b/c"), home.as_deref());
        assert_eq!(found, tree.root().join(expected));
    }

    #[test]
    fn the_workspace_is_the_nearest_marked_parent() {
        check("-- a/b/c/x\n", None, "a/b/c");
        check("-- a/haft.toml\n-- a/b/c/x\n", None, "a");
        check("-- a/.git/HEAD\n-- a/b/haft.toml\n-- a/b/c/x\n", None, "a/b");
    }

    #[test]
    fn a_home_is_never_found_as_one() {
        check("-- a/.git/HEAD\n-- a/b/c/x\n", Some("a"), "a/b/c");
        check("-- a/.git/HEAD\n-- a/b/c/x\n", Some("a/b"), "a/b/c");
    }
}
