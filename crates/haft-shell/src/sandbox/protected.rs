//! The names that are code.
//!
//! Inside a directory that a command may change there are files that somebody else runs later, outside of any sandbox: hooks
//! and settings of version control, tasks of editors, settings of agents, haft's own. What is there is closed by a read-only mount. What stands
//! above it must stay where it is, or it would be moved away with it and made anew. What is not there is guarded when it is
//! made ([`files`](super::files)).

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use haft_tool::protected::{Part, Protected, Writer, find, folded, holds_packages};

use super::error::SandboxError;
use crate::git_config::named_places;

/// Frozen below the directory of a repository: it has no business with them after it was made.
const FROZEN_IN_REPOSITORY: [&str; 3] = ["hooks", "info/attributes", "commondir"];
/// Frozen besides where nothing guards them by their contents.
const UNGUARDED_IN_REPOSITORY: [&str; 4] = ["config", "config.worktree", "info", "gitdir"];

/// How deep, and through how many directories, one looks for repositories and settings below a root. Deeper ones are not
/// protected; the documentation says so.
const DEPTH: usize = 3;
const DIRECTORIES: usize = 1000;

/// What is to be closed below a root.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// There, and not to be changed.
    pub(super) frozen: BTreeSet<PathBuf>,
    /// To be changed, but not moved.
    pub(super) pinned: BTreeSet<PathBuf>,
    /// Whether a supervisor guards what a repository changes itself.
    is_guarded: bool,
}

/// Where names count.
#[derive(Debug, Clone, Copy)]
struct Base<'a> {
    root: &'a Path,
    home: Option<&'a Path>,
}

impl Base<'_> {
    /// The protected place that a path lies in, if it is code.
    fn code_at(self, path: &Path) -> Option<Protected> {
        find(path, self.root, self.home, Writer::Process).filter(Protected::is_code)
    }
}

impl Names {
    /// All that is closed below a root, which is a real path.
    pub(super) fn below(root: &Path, home: Option<&Path>, is_guarded: bool) -> Result<Names, SandboxError> {
        let mut names = Names { is_guarded, ..Names::default() };
        let base = Base { root, home };
        if let Some(home) = home.filter(|home| home.starts_with(root) && *home != root && home.is_dir()) {
            names.look_around(home, base)?;
        }
        match root.ends_with(".git") {
            true => names.repository(root, DEPTH),
            false => names.look_around(root, base)?,
        }
        names.freeze_code_places(root, home);
        names.pin_what_is_above(root);
        Ok(names)
    }

    /// Freezes the places that settings of git name as code, as far as they are there.
    fn freeze_code_places(&mut self, root: &Path, home: Option<&Path>) {
        code_places(root, home)
            .into_iter()
            .filter(|place| place.exists())
            .for_each(|place| self.freeze(place));
    }

    fn freeze(&mut self, path: PathBuf) {
        if let Ok(target) = path.canonicalize().map(|target| (target != path).then_some(target)) {
            self.frozen.extend(target);
        }
        self.frozen.insert(path);
    }

    /// Looks for repositories and for names in other spellings, breadth first.
    fn look_around(&mut self, start: &Path, base: Base<'_>) -> Result<(), SandboxError> {
        let mut waiting = VecDeque::from([(start.to_owned(), 0)]);
        let mut left = DIRECTORIES;
        while let Some((directory, depth)) = waiting.pop_front() {
            let entries = match fs::read_dir(&directory) {
                Ok(entries) => entries,
                Err(err) if depth == 0 => return Err(SandboxError::path("look into", directory, err)),
                Err(_) => continue, // what cannot be listed by us cannot be listed inside
            };
            for entry in entries.flatten() {
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let path = entry.path();
                let is_worth_it = self.consider(&path, is_directory, base);
                let goes_on = is_worth_it && is_directory && depth < DEPTH && left > 0;
                if goes_on {
                    left -= 1;
                    waiting.push_back((path, depth + 1));
                }
            }
        }
        Ok(())
    }

    /// Closes an entry that has to be. Returns true if it is worth looking into.
    fn consider(&mut self, path: &Path, is_directory: bool, base: Base<'_>) -> bool {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        if folded(name) == ".git" {
            self.repository_at(path, is_directory);
            return false;
        }
        if base.code_at(path).is_some_and(|found| found.part == Part::Whole || !is_directory) {
            self.freeze(path.to_owned());
            return false;
        }
        !holds_packages(name)
    }

    /// `.git` is a directory, or a file or link that says where it is.
    fn repository_at(&mut self, path: &Path, is_directory: bool) {
        if is_directory {
            return self.repository(path, DEPTH);
        }
        self.freeze(path.to_owned());
        let text = fs::read_to_string(path).unwrap_or_default();
        let named = text.strip_prefix("gitdir:").map(|rest| path.with_file_name("").join(rest.trim()));
        if let Some(Ok(place)) = named.or(Some(path.to_owned())).map(|place| place.canonicalize())
            && place.is_dir()
        {
            self.repository(&place, DEPTH);
        }
    }

    /// A repository's own directory, with those of its submodules and worktrees.
    fn repository(&mut self, directory: &Path, depth: usize) {
        self.pinned.insert(directory.to_owned());
        let unguarded = UNGUARDED_IN_REPOSITORY.iter().filter(|_| !self.is_guarded);
        let names: Vec<&str> = FROZEN_IN_REPOSITORY.iter().chain(unguarded).copied().collect();
        for path in names.iter().map(|name| directory.join(name)) {
            if fs::symlink_metadata(&path).is_ok() {
                self.freeze(path);
            }
        }
        if depth > 0 {
            self.repositories(&directory.join("modules"), depth - 1);
        }
        // Git makes and removes linked worktrees as a whole.
        if depth > 0 && !self.is_guarded {
            self.repositories(&directory.join("worktrees"), depth - 1);
        }
    }

    /// The repositories below a directory: names of submodules may have slashes.
    fn repositories(&mut self, directory: &Path, depth: usize) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten().take(DIRECTORIES) {
            let path = entry.path();
            if path.join("HEAD").exists() {
                self.repository(&path, depth);
            } else if path.is_dir() && depth > 0 {
                self.repositories(&path, depth - 1);
            }
        }
    }

    /// Leaves out what lies outside the root, where nothing can be changed anyway, and pins all that is above the rest.
    fn pin_what_is_above(&mut self, root: &Path) {
        for paths in [&mut self.frozen, &mut self.pinned] {
            paths.retain(|path| path.starts_with(root) && path != root);
        }
        // A mount moves with the directory that it is in, and what is made at its old place is guarded.
        if self.is_guarded {
            return;
        }
        let closed: Vec<PathBuf> = self.frozen.iter().chain(&self.pinned).cloned().collect();
        closed.iter().for_each(|path| self.pinned.extend(between(root, path)));
    }
}

/// The directories below a root and above a path.
pub(super) fn between<'a>(root: &'a Path, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let above = path.ancestors().skip(1).take_while(move |above| above.starts_with(root) && *above != root);
    above.map(Path::to_owned)
}

/// The places below a root that settings of git name as code, besides the protected names of repositories.
pub(super) fn code_places(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let is_own =
        |place: &Path| place.components().any(|name| folded(name.as_os_str().as_encoded_bytes()) == ".git");
    let is_guarded = |place: &Path| is_own(place) && find(place, root, home, Writer::Process).is_some();
    let places = named_places(root, home);
    places.iter().filter(|place| place.starts_with(root) && !is_guarded(place)).cloned().collect()
}

/// Returns true if a path below a root is closed because of its name.
pub(super) fn is_protected(root: &Path, home: Option<&Path>, path: &Path) -> bool {
    let is_named = || code_places(root, home).iter().any(|place| path.starts_with(place));
    let is_code = || Base { root, home }.code_at(path).is_some_and(|found| found.part == Part::Whole);
    path.starts_with(root) && (is_code() || is_named())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with these files.
    fn root(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        (directory, root)
    }

    #[track_caller]
    fn has(set: &BTreeSet<PathBuf>, root: &Path, names: &[&str]) {
        names.iter().for_each(|name| assert!(set.contains(&root.join(name)), "{name} is not in {set:#?}"));
    }

    #[test]
    fn what_is_there_is_frozen_but_settings_that_are_guarded_by_key() {
        let (_directory, root) = root(&[".mcp.json", ".git/config", ".git/hooks/x", ".git/info/exclude"]);
        let names = Names::below(&root, None, true).unwrap();
        assert_eq!(names.frozen, [".git/hooks", ".mcp.json"].map(|name| root.join(name)).into());
        has(&names.pinned, &root, &[".git"]);
        let names = Names::below(&root, None, false).unwrap();
        has(&names.frozen, &root, &[".mcp.json", ".git/config", ".git/hooks", ".git/info"]);
    }

    #[test]
    fn a_repository_below_is_found_and_all_above_it_stays_in_its_place() {
        let (_directory, root) = root(&["vendor/r/.git/config", "vendor/r/.git/HEAD"]);
        let names = Names::below(&root, None, false).unwrap();
        has(&names.frozen, &root, &["vendor/r/.git/config"]);
        has(&names.pinned, &root, &["vendor", "vendor/r", "vendor/r/.git"]);
    }

    #[test]
    fn places_that_settings_name_as_code_are_frozen() {
        let (_directory, root) =
            root(&[".git/HEAD", ".githooks/pre-commit", "tools/diff.sh", "tools/other.sh"]);
        ["objects", "refs"].iter().for_each(|name| fs::create_dir(root.join(".git").join(name)).unwrap());
        let settings = "[core]\nhooksPath = .githooks\n[diff]\nexternal = tools/diff.sh --x\n[alias]\nx = !./missing.sh\n";
        fs::write(root.join(".git/config"), settings).unwrap();
        let names = Names::below(&root, None, true).unwrap();
        has(&names.frozen, &root, &[".githooks", "tools/diff.sh"]);
        assert!(!names.frozen.contains(&root.join("tools/other.sh")));
        assert!(is_protected(&root, None, &root.join(".githooks/post-merge")));
        assert!(is_protected(&root, None, &root.join("missing.sh")));
        assert!(!is_protected(&root, None, &root.join("tools/other.sh")));
    }

    #[test]
    fn a_root_that_is_a_repositorys_own_directory_keeps_its_settings_and_hooks() {
        let (_directory, root) = root(&[
            "r/.git/config",
            "r/.git/hooks/x",
            "r/.git/worktrees/w/gitdir",
            "r/.git/worktrees/w/HEAD",
        ]);
        let names = Names::below(&root.join("r/.git"), None, false).unwrap();
        has(&names.frozen, &root, &["r/.git/config", "r/.git/hooks", "r/.git/worktrees/w/gitdir"]);
    }

    #[test]
    fn a_submodules_repository_is_protected_like_any_other() {
        let (_directory, root) = root(&[".git/modules/a/b/HEAD", ".git/modules/a/b/config", "b/x"]);
        let names = Names::below(&root, None, false).unwrap();
        has(&names.frozen, &root, &[".git/modules/a/b/config"]);
        has(&names.pinned, &root, &[".git/modules/a/b", ".git/modules/a", ".git/modules"]);
    }

    #[test]
    fn other_spellings_and_the_targets_of_links_count() {
        let (_directory, root) = root(&["sub/.Claude/settings.json", "shared/x", "my.code-workspace"]);
        symlink("shared", root.join(".vscode")).unwrap();
        let names = Names::below(&root, None, false).unwrap();
        has(&names.frozen, &root, &["sub/.Claude", ".vscode", "shared", "my.code-workspace"]);
    }

    #[test]
    fn a_home_that_may_be_changed_keeps_its_start_up_files() {
        let (_directory, root) = root(&["u/.bashrc", "u/.config/x"]);
        let names = Names::below(&root, Some(&root.join("u")), true).unwrap();
        has(&names.frozen, &root, &["u/.bashrc"]);
    }

    #[test]
    fn the_policy_knows_its_names() {
        let root = Path::new("/w");
        for (path, expected) in [
            ("/w/.mcp.json", true),
            ("/w/a/.VSCode/tasks.json", true),
            ("/w/a/.git/hooks/pre-push", true),
            ("/w/.git/index", false),
            ("/w/src/config", false),
            ("/x/.mcp.json", false),
        ] {
            assert_eq!(is_protected(root, None, Path::new(path)), expected, "{path}");
        }
    }
}
