//! Places that settings name as code: `core.hooksPath`, `include.path`, scripts of aliases and drivers.
//!
//! Writing `.githooks/pre-commit` runs a program at the next commit if `core.hooksPath` says `.githooks`.
//! The settings of the system, the user and the repository are read without running git. Conditions of `includeIf`
//! are not evaluated: every file that may be included counts.

use std::{
    collections::HashMap,
    env,
    ffi::OsStr,
    fs::{self, File},
    io::Read,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use super::{Entry, FILE_BYTES_LIMIT, is_harmless, read};
use crate::lookup::git_directories;

/// As many files of settings are read, those that are included among them.
const FILES_LIMIT: usize = 64;
/// Git follows as many includes.
const INCLUDE_DEPTH_LIMIT: usize = 10;
/// As many places are kept.
const PLACES_LIMIT: usize = 256;
/// As many workspaces are remembered.
const CACHE_LIMIT: usize = 64;

/// Powerful keys whose paths are no code: text that git shows, ignores or signs with.
const DATA: [&[u8]; 9] = [
    b"core.excludesfile",
    b"commit.template",
    b"mailmap.file",
    b"diff.orderfile",
    b"core.worktree",
    b"safe.directory",
    b"maintenance.repo",
    b"gpg.ssh.allowedsignersfile",
    b"gpg.ssh.revocationfile",
];

/// The state of a file when it was read: device, inode, size, time of change in seconds and nanoseconds.
type Stamp = Option<(u64, u64, u64, i64, i64)>;

/// Places, and the files that they come from.
#[derive(Debug, Clone)]
struct Cached {
    files: Vec<(PathBuf, Stamp)>,
    places: Arc<[PathBuf]>,
}

/// Returns the real paths that the settings of git name as code for a workspace: files, and directories with all below.
/// Some may not be there yet, and many lie outside of the workspace.
///
/// The answer is remembered until a file of settings changes. Files that cannot be read name nothing.
#[must_use]
pub fn named_places(workspace: &Path, home: Option<&Path>) -> Arc<[PathBuf]> {
    type Key = (PathBuf, Option<PathBuf>);
    static CACHE: Mutex<Option<HashMap<Key, Cached>>> = Mutex::new(None);
    let key = (workspace.to_owned(), home.map(Path::to_owned));
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let cache = cache.get_or_insert_default();
    if let Some(cached) = cache.get(&key)
        && cached.files.iter().all(|(file, stamp)| stamp_of(file) == *stamp)
    {
        return cached.places.clone();
    }
    if cache.len() >= CACHE_LIMIT {
        cache.clear();
    }
    let found = Search::new(workspace, home).run();
    let places = found.places.clone();
    cache.insert(key, found);
    places
}

struct Search<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
    files: Vec<(PathBuf, Stamp)>,
    places: Vec<PathBuf>,
}

impl<'a> Search<'a> {
    fn new(workspace: &'a Path, home: Option<&'a Path>) -> Search<'a> {
        Search { workspace, home, files: Vec::new(), places: Vec::new() }
    }

    fn run(mut self) -> Cached {
        let mut files = vec![PathBuf::from("/etc/gitconfig")];
        if let Some(home) = self.home {
            let given = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|place| place.is_absolute());
            files.push(given.unwrap_or_else(|| home.join(".config")).join("git/config"));
            files.push(home.join(".gitconfig"));
        }
        let (own, common) = git_directories(self.workspace).unwrap_or_default();
        // Where no repository is yet, its file is watched all the same.
        let common = if common.as_os_str().is_empty() { self.workspace.join(".git") } else { common };
        files.push(common.join("config"));
        if !own.as_os_str().is_empty() {
            files.push(own.join("config.worktree"));
        }
        files.iter().for_each(|file| self.read(file, 0));
        self.places.sort_unstable();
        self.places.dedup();
        Cached { files: self.files, places: self.places.into() }
    }

    fn read(&mut self, file: &Path, depth: usize) {
        if self.files.len() >= FILES_LIMIT || self.files.iter().any(|(known, _)| known == file) {
            return;
        }
        self.files.push((file.to_owned(), stamp_of(file)));
        let Some(entries) = bytes_of(file).and_then(|bytes| read(&bytes).ok()) else { return };
        for entry in &entries {
            self.follow(file, entry, depth);
        }
    }

    fn follow(&mut self, file: &Path, entry: &Entry, depth: usize) {
        let Some(value) = entry.value.as_deref().filter(|value| !value.is_empty()) else { return };
        match (entry.section(), entry.variable()) {
            (b"include" | b"includeif", b"path") => {
                let directory = file.parent().unwrap_or(file).to_owned();
                let Some(included) = self.path(&directory, value) else { return };
                self.add(&included);
                if depth < INCLUDE_DEPTH_LIMIT {
                    self.read(&included, depth + 1);
                }
            }
            (b"core", b"hookspath" | b"attributesfile") | (b"init", b"templatedir") => {
                if let Some(path) = self.path(self.workspace, value) {
                    self.add(&path);
                }
            }
            _ if is_harmless(&entry.key, Some(value)) || DATA.contains(&&*entry.key) => {}
            _ => self.add_words(value),
        }
    }

    /// The words of a command that are paths: all with a slash, and others that look like files. The first word without a
    /// slash is a program that `PATH` leads to.
    fn add_words(&mut self, value: &[u8]) {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`;|&()<>=$!{},".contains(byte);
        let words = value.split(is_end).filter(|word| !word.is_empty());
        for (at, word) in words.enumerate().filter(|(_, word)| !word.starts_with(b"-")) {
            let has_slash = word.contains(&b'/') && memchr::memmem::find(word, b"://").is_none();
            let Some(path) = self.path(self.workspace, word) else { continue };
            let found = fs::metadata(&path);
            let is_directory = found.as_ref().is_ok_and(|found| found.is_dir());
            let looks_like_file = at > 0 && (word[1..].contains(&b'.') || found.is_ok());
            if (has_slash || looks_like_file) && !is_directory {
                self.add(&path);
            }
        }
    }

    /// A path of a setting: `~/x` in the home, others in a directory.
    fn path(&self, directory: &Path, value: &[u8]) -> Option<PathBuf> {
        let path = match value.strip_prefix(b"~/") {
            Some(rest) => self.home?.join(OsStr::from_bytes(rest)),
            None => directory.join(OsStr::from_bytes(value)),
        };
        (path.as_os_str().len() < libc::PATH_MAX as usize).then_some(path)
    }

    /// Keeps the path as it is named, and the real one.
    fn add(&mut self, path: &Path) {
        if self.places.len() >= PLACES_LIMIT {
            return;
        }
        let named = plain(path);
        let real = real(&named);
        // A setting that names all of the workspace would make all of it code.
        let is_narrow = |place: &PathBuf| !self.workspace.starts_with(place);
        let found: Vec<_> = [real, named].into_iter().filter(is_narrow).collect();
        self.places.extend(found);
    }
}

fn stamp_of(file: &Path) -> Stamp {
    let found = fs::metadata(file).ok()?;
    Some((found.dev(), found.ino(), found.size(), found.ctime(), found.ctime_nsec()))
}

/// The bytes of a regular file that is not too large.
fn bytes_of(file: &Path) -> Option<Vec<u8>> {
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(FILE_BYTES_LIMIT as u64 + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The path without `.` and `..`, by its words.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The real path of what is there, with the names behind it that are not.
fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found {
        Some((above, real)) => match path.strip_prefix(above) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A workspace `w` with a repository, and a home `h`.
    struct Scene {
        _directory: tempfile::TempDir,
        root: PathBuf,
    }

    impl Scene {
        fn new(settings: &str) -> Scene {
            let directory = tempfile::tempdir().unwrap();
            let root = directory.path().canonicalize().unwrap();
            fs::create_dir_all(root.join("h")).unwrap();
            for place in ["objects", "refs"] {
                fs::create_dir_all(root.join("w/.git").join(place)).unwrap();
            }
            let scene = Scene { _directory: directory, root };
            scene.write("w/.git/HEAD", "ref: refs/heads/main\n");
            scene.write("w/.git/config", settings);
            scene
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// The places below the workspace.
        fn places(&self) -> Vec<String> {
            let (workspace, home) = (self.root.join("w"), self.root.join("h"));
            let found = named_places(&workspace, Some(&home));
            let inside = found.iter().filter_map(|place| place.strip_prefix(&workspace).ok());
            inside.map(|place| place.display().to_string()).collect()
        }
    }

    #[test]
    fn directory_of_hooks_and_included_files_are_code() {
        let scene = Scene::new("[core]\n\thooksPath = .githooks/\n[include]\n\tpath = ../conf/gitconfig\n");
        scene.write(
            "w/conf/gitconfig",
            "[core]\nattributesFile = conf/attributes\n[alias]x = !./run.sh --fast\n",
        );
        assert_eq!(scene.places(), [".githooks", "conf/attributes", "conf/gitconfig", "run.sh"]);
    }

    #[test]
    fn scripts_of_drivers_are_code_and_data_is_not() {
        let scene = Scene::new(
            "[diff \"x\"]\n\tcommand = python tools/diff.py 'a b'\n[merge \"y\"]\n\tdriver = \"sh merge.sh %O\"\n\
             [filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n[commit]\n\ttemplate = .message\n\
             [remote \"o\"]\n\turl = ../other\n[core]\n\teditor = vim\n",
        );
        assert_eq!(scene.places(), ["merge.sh", "tools/diff.py"]);
    }

    #[test]
    fn settings_of_the_user_count_and_changes_are_seen() {
        let scene = Scene::new("");
        assert_eq!(scene.places(), [] as [&str; 0]);
        scene.write("h/.gitconfig", "[core]\nhooksPath = hooks\n");
        assert_eq!(scene.places(), ["hooks"]);
        scene.write("w/.git/config", "[core]\nhooksPath = other\n");
        assert_eq!(scene.places(), ["hooks", "other"]);
        fs::remove_file(scene.root.join("h/.gitconfig")).unwrap();
        assert_eq!(scene.places(), ["other"]);
    }

    #[test]
    fn links_are_followed_and_the_workspace_itself_is_no_place() {
        let scene = Scene::new("[core]\nhooksPath = link\n[init]\ntemplateDir = .\n");
        fs::create_dir(scene.root.join("w/real")).unwrap();
        symlink("real", scene.root.join("w/link")).unwrap();
        assert_eq!(scene.places(), ["link", "real"]);
    }

    #[test]
    fn files_that_include_each_other_and_broken_files_end() {
        let scene = Scene::new("[include]\npath = ../a\n[core]\nhooksPath = h\n");
        scene.write("w/a", "[include]\npath = a\npath = b\npath = .git/config\n");
        scene.write("w/b", "[core\nhooksPath = x\n");
        assert_eq!(scene.places(), [".git/config", "a", "b", "h"]);
    }
}
