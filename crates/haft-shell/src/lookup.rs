//! What names mean on this machine: where `PATH` leads, and which repository git finds.
//!
//! The repository that a session works in must not choose which programs run. So a program counts as the one that its
//! name promises only where `PATH` leads to it outside of the workspace, and git only where it finds the workspace's own
//! repository. Nothing is cached: what is on disk may have changed since the last call.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::Read,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

/// Answers questions about the disk for commands of one workspace.
#[derive(Debug, Clone)]
pub struct Lookup {
    workspace: PathBuf,
    path: OsString,
}

/// Where programs are if `PATH` says nothing.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Where the system keeps its programs.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/sbin", "/nix/store", "/run/current-system", "/etc/alternatives"];

/// Links on the way to a program, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// A file that only names a directory is no longer than this.
const LONGEST_POINTER: u64 = 8192;

impl Lookup {
    /// With haft's own `PATH`. The workspace is free of links.
    pub fn new(workspace: impl Into<PathBuf>) -> Lookup {
        Lookup::with_path(workspace, env::var_os("PATH").unwrap_or_else(|| SYSTEM_PATH.into()))
    }

    /// With this `PATH`.
    pub fn with_path(workspace: impl Into<PathBuf>, path: impl Into<OsString>) -> Lookup {
        Lookup { workspace: workspace.into(), path: path.into() }
    }

    /// The `PATH` without the directories that the workspace could put a program into: its own, relative ones and empty
    /// ones. The system's directories if nothing is left.
    pub fn outside_path(&self) -> OsString {
        let is_outside = |directory: &PathBuf| {
            directory.is_absolute() && directory.canonicalize().is_ok_and(|real| !self.holds(&real))
        };
        let kept = env::join_paths(env::split_paths(&self.path).filter(is_outside)).ok();
        kept.filter(|kept| !kept.is_empty()).unwrap_or_else(|| SYSTEM_PATH.into())
    }

    /// Whether the first program with this name in `PATH` is one that the workspace could have put there.
    pub fn leads_inside(&self, name: &str, cwd: &Path) -> bool {
        if name.is_empty() || name.contains('/') {
            return false;
        }
        env::split_paths(&self.path)
            // An empty directory is the current one.
            .map(|directory| (directory.is_absolute(), cwd.join(directory).join(name)))
            .find(|(_, program)| is_program(program))
            .is_some_and(|(absolute, program)| !absolute || self.passes_through(program))
    }

    /// Whether a file, or a link on the way to it, lies in the workspace.
    fn passes_through(&self, mut path: PathBuf) -> bool {
        for _ in 0..MOST_LINKS {
            let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return true };
            let Ok(directory) = directory.canonicalize() else { return true };
            if self.holds(&directory) {
                return true;
            }
            let real = directory.join(name);
            match fs::read_link(&real) {
                Ok(target) => path = directory.join(target),
                Err(_) => return false,
            }
        }
        true
    }

    /// Whether a directory lies in the workspace. Where that is the whole machine, the system's own directories do not.
    fn holds(&self, real: &Path) -> bool {
        let is_system = || SYSTEM.iter().any(|place| real.starts_with(place));
        real.starts_with(&self.workspace) && (self.workspace.parent().is_some() || !is_system())
    }

    /// Whether git in this directory may find another repository than in the root of the workspace.
    pub fn has_other_repository(&self, directory: &Path) -> bool {
        if directory == self.workspace {
            return self.is_elsewhere();
        }
        let Ok(real) = directory.canonicalize() else { return true };
        if !real.starts_with(&self.workspace) {
            return true;
        }
        let below = real.ancestors().take_while(|place| *place != self.workspace);
        below.into_iter().any(|place| place.ends_with(".git") || is_repository(place)) || self.is_elsewhere()
    }

    /// Whether `.git` in the workspace leads to a repository outside that does not know of it. A linked worktree is known by
    /// its repository, a submodule by the one around it.
    fn is_elsewhere(&self) -> bool {
        let dotted = self.workspace.join(".git");
        let Ok(found) = fs::metadata(&dotted) else { return false };
        let named = if found.is_dir() { Some(dotted.clone()) } else { pointer(&dotted, "gitdir: ") };
        let Some(Ok(real)) = named.map(|named| self.workspace.join(named).canonicalize()) else {
            return true;
        };
        let is_back = || {
            let back = pointer(&real.join("gitdir"), "").map(|back| real.join(back));
            back.is_some_and(|back| {
                back.parent()
                    .is_some_and(|place| place.canonicalize().is_ok_and(|place| place == self.workspace))
            })
        };
        let is_submodule =
            || self.workspace.ancestors().skip(1).any(|above| real.starts_with(above.join(".git/modules")));
        !(real.starts_with(&self.workspace) || is_back() || is_submodule())
    }

    /// Where git keeps what all worktrees of a repository share: settings, hooks. `None` where it finds no repository.
    pub fn git_directory(&self, directory: &Path) -> Option<PathBuf> {
        git_directories(directory).map(|(_, common)| common)
    }
}

/// The directory of the repository that git finds in a directory, and the one that all its worktrees share. In most
/// repositories they are the same.
pub(crate) fn git_directories(directory: &Path) -> Option<(PathBuf, PathBuf)> {
    let real = directory.canonicalize().ok()?;
    let found = real.ancestors().find_map(|place| {
        let dotted = place.join(".git");
        match fs::metadata(&dotted) {
            Ok(found) if found.is_dir() => Some(dotted),
            Ok(_) => Some(place.join(pointer(&dotted, "gitdir: ")?)),
            Err(_) => is_git_directory(place).then(|| place.to_owned()),
        }
    })?;
    let common = pointer(&found.join("commondir"), "").map(|common| found.join(common));
    Some((found.clone(), common.unwrap_or(found)))
}

/// The directory that all worktrees of a repository share, for a workspace that is a linked worktree of it.
///
/// `None` unless both sides agree: the workspace's `.git` names a directory below `.git/worktrees` of the repository, and
/// that directory names the workspace. A workspace alone proves nothing. Nor is a bare repository taken: its names do not
/// say which of its files are settings.
#[must_use]
pub fn linked_repository(workspace: &Path) -> Option<PathBuf> {
    let dotted = workspace.join(".git");
    if !fs::symlink_metadata(&dotted).ok()?.is_file() {
        return None;
    }
    let own = workspace.join(pointer(&dotted, "gitdir: ")?).canonicalize().ok()?;
    let common = own.join(pointer(&own.join("commondir"), "")?).canonicalize().ok()?;
    let back = own.join(pointer(&own.join("gitdir"), "")?).canonicalize().ok()?;
    let is_mutual = back == dotted.canonicalize().ok()? && own.parent() == Some(&common.join("worktrees"));
    (is_mutual && common.ends_with(".git") && common.is_dir()).then_some(common)
}

/// The path that a small file names after these words.
fn pointer(file: &Path, words: &str) -> Option<PathBuf> {
    let mut text = Vec::new();
    fs::File::open(file).ok()?.take(LONGEST_POINTER).read_to_end(&mut text).ok()?;
    let path = text.strip_prefix(words.as_bytes())?.trim_ascii_end();
    (!path.is_empty()).then(|| OsStr::from_bytes(path).into())
}

/// A program as a shell finds it: a file that may be run, after links.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Whether git stops here on its way up: at `.git`, whatever that is, or at a directory that looks like one.
fn is_repository(directory: &Path) -> bool {
    directory.join(".git").symlink_metadata().is_ok() || is_git_directory(directory)
}

/// What git takes for a repository without files of its own.
fn is_git_directory(directory: &Path) -> bool {
    let has = |name: &str| directory.join(name).symlink_metadata().is_ok();
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A workspace with a directory of programs, and one outside.
    struct Machine {
        _directory: tempfile::TempDir,
        root: PathBuf,
    }

    impl Machine {
        fn new() -> Machine {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap();
            for place in ["ws/bin", "ws/sub", "out/bin"] {
                fs::create_dir_all(root.join(place)).unwrap();
            }
            Machine { _directory: directory, root }
        }

        fn program(&self, path: &str) {
            fs::write(self.root.join(path), "").unwrap();
            fs::set_permissions(self.root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }

        fn lookup(&self, path: &[&str]) -> Lookup {
            let absolute = |place: &&str| match *place {
                "" | "." | "bin" => place.to_string(),
                place => self.root.join(place).display().to_string(),
            };
            let path = path.iter().map(absolute).collect::<Vec<_>>().join(":");
            Lookup::with_path(self.root.join("ws"), path)
        }

        #[track_caller]
        fn check(&self, path: &[&str], expected: bool) {
            let found = self.lookup(path).leads_inside("tool", &self.root.join("ws"));
            assert_eq!(found, expected, "{path:?}");
        }
    }

    #[test]
    fn the_first_program_of_path_counts() {
        let machine = Machine::new();
        machine.program("out/bin/tool");
        machine.check(&["ws/bin", "out/bin"], false);
        machine.program("ws/bin/tool");
        machine.check(&["ws/bin", "out/bin"], true);
        machine.check(&["out/bin", "ws/bin"], false);
        machine.check(&[], false);
    }

    #[test]
    fn relative_and_empty_elements_of_path_lie_inside() {
        let machine = Machine::new();
        machine.program("out/bin/tool");
        machine.check(&[".", "", "bin", "out/bin"], false);
        machine.program("ws/bin/tool");
        machine.check(&["bin", "out/bin"], true);
        machine.program("ws/tool");
        machine.check(&["", "out/bin"], true);
        machine.check(&[".", "out/bin"], true);
    }

    #[test]
    fn a_link_on_the_way_to_a_program_counts() {
        let machine = Machine::new();
        machine.program("ws/bin/real");
        symlink(machine.root.join("ws/bin/real"), machine.root.join("out/bin/tool")).unwrap();
        machine.check(&["out/bin"], true);
        // The workspace chooses which program of the system a name means.
        fs::remove_file(machine.root.join("out/bin/tool")).unwrap();
        symlink("/bin/sh", machine.root.join("ws/bin/tool")).unwrap();
        machine.check(&["ws/bin"], true);
        symlink(machine.root.join("ws/bin/tool"), machine.root.join("out/bin/tool")).unwrap();
        machine.check(&["out/bin"], true);
        symlink(machine.root.join("ws/bin"), machine.root.join("out/linked")).unwrap();
        machine.check(&["out/linked"], true);
    }

    #[test]
    fn a_path_for_programs_holds_nothing_of_the_workspace() {
        let machine = Machine::new();
        symlink(machine.root.join("ws/bin"), machine.root.join("out/linked")).unwrap();
        let lookup = machine.lookup(&["ws/bin", ".", "", "bin", "out/linked", "out/bin", "no/such"]);
        assert_eq!(lookup.outside_path(), machine.root.join("out/bin"));
        assert_eq!(machine.lookup(&["."]).outside_path(), SYSTEM_PATH);
    }

    #[test]
    fn a_directory_in_which_git_stops_has_a_repository() {
        let machine = Machine::new();
        let lookup = machine.lookup(&[]);
        let (workspace, sub) = (machine.root.join("ws"), machine.root.join("ws/sub"));
        fs::create_dir_all(workspace.join(".git")).unwrap();
        fs::create_dir_all(sub.join("deep")).unwrap();
        let check = |directory: &Path, expected| {
            assert_eq!(lookup.has_other_repository(directory), expected, "{}", directory.display());
        };
        check(&workspace, false);
        check(&sub.join("deep/.."), false);
        check(&sub.join("deep"), false);
        check(&sub.join("missing"), true);
        check(&machine.root.join("out"), true);
        symlink(machine.root.join("out"), workspace.join("link")).unwrap();
        check(&workspace.join("link"), true);
        fs::write(sub.join(".git"), "gitdir: ../out").unwrap();
        check(&sub.join("deep"), true);
        fs::remove_file(sub.join(".git")).unwrap();
        fs::write(sub.join("HEAD"), "").unwrap();
        check(&sub, false);
        fs::write(sub.join("commondir"), "").unwrap();
        check(&sub, true);
        fs::remove_file(sub.join("commondir")).unwrap();
        fs::create_dir(sub.join("objects")).unwrap();
        fs::create_dir(sub.join("refs")).unwrap();
        check(&sub.join("deep"), true);
    }

    #[test]
    fn a_linked_worktree_belongs_to_a_repository_that_names_it() {
        let machine = Machine::new();
        let (workspace, own) = (machine.root.join("ws"), machine.root.join("main/.git/worktrees/ws"));
        fs::create_dir_all(&own).unwrap();
        let common = machine.root.join("main/.git");
        let write = |path: PathBuf, text: &str| fs::write(path, text).unwrap();
        assert_eq!(linked_repository(&workspace), None);
        write(workspace.join(".git"), &format!("gitdir: {}\n", own.display()));
        write(own.join("commondir"), "../..\n");
        assert_eq!(linked_repository(&workspace), None, "a claim of one side");
        write(own.join("gitdir"), &format!("{}\n", workspace.join(".git").display()));
        assert_eq!(linked_repository(&workspace), Some(common));
        write(own.join("commondir"), "../../../../out\n");
        assert_eq!(linked_repository(&workspace), None, "another directory");
        write(own.join("commondir"), "../..\n");
        write(own.join("gitdir"), "/elsewhere/.git\n");
        assert_eq!(linked_repository(&workspace), None, "another worktree");
    }

    #[test]
    fn settings_of_a_repository_lie_where_all_worktrees_share_them() {
        let machine = Machine::new();
        let (lookup, workspace) = (machine.lookup(&[]), machine.root.join("ws"));
        assert_eq!(lookup.git_directory(&workspace), None);
        let linked = machine.root.join("main/.git/worktrees/ws");
        fs::create_dir_all(&linked).unwrap();
        fs::write(linked.join("commondir"), "../..\n").unwrap();
        fs::write(workspace.join(".git"), format!("gitdir: {}\n", linked.display())).unwrap();
        let found = lookup.git_directory(&workspace.join("sub")).unwrap();
        assert_eq!(found.canonicalize().unwrap(), machine.root.join("main/.git"));
    }
}
