//! Which names are left out: what `.gitignore`, `.ignore` and their like say.
//!
//! Who wins when they disagree is what people know from their search tools: a file made for searching before one made
//! for git, a deeper directory before one above it, a later line before an earlier one. What is meant for git counts
//! inside a repository only, and not beyond its root.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use rustix::fs::{self, Mode, OFlags};

use super::{names::Names, without_slash};
use crate::session::beneath;

/// Files of patterns, the strongest first. The last two are git's.
const FILES: [&str; 4] = [".rgignore", ".ignore", ".gitignore", ".git/info/exclude"];
const FIRST_OF_GIT: usize = 2;

/// What makes a directory the root of a repository.
const REPOSITORY: [&[u8]; 2] = [b".git", b".jj"];

/// No file of patterns is larger; what is, was not written to be one.
const MOST_BYTES: u64 = 1 << 20;

/// The patterns of one directory's files.
type Files = [Option<Arc<Gitignore>>; FILES.len()];

/// What one directory says, and those above it. Only directories that say something have one.
pub(super) struct Ignores {
    above: Option<Arc<Ignores>>,
    /// How much of a path is this directory's, with the slash behind it: patterns see the rest.
    stem: usize,
    files: Files,
    is_repository: bool,
    in_repository: bool,
    has_exceptions: bool,
}

impl Ignores {
    /// What the directories above a root say. They are read by their paths: none of this reaches a tool.
    pub(super) fn above(root: &Path, compiled: &Compiled) -> Option<Arc<Ignores>> {
        let parents: Vec<&Path> = root.ancestors().skip(1).collect();
        parents.into_iter().rev().fold(None, |above, parent| {
            let Ok(directory) = beneath::open(parent, OFlags::PATH | OFlags::DIRECTORY) else { return above };
            let is_there = |name: &[u8]| {
                fs::accessat(&directory, OsStr::from_bytes(name), fs::Access::EXISTS, fs::AtFlags::empty())
                    .is_ok()
            };
            let is_repository = REPOSITORY.iter().any(|name| is_there(name));
            let stem = without_slash(parent).len() + 1;
            let files = FILES.map(|name| compiled.patterns(&directory, name));
            Ignores::new(files, is_repository, stem, above.as_ref()).map(Arc::new).or(above)
        })
    }

    /// What this directory says, if it says anything. Its names tell which files to open: mostly none.
    pub(super) fn of(
        directory: &File,
        names: &Names,
        stem: usize,
        above: Option<&Arc<Ignores>>,
        compiled: &Compiled,
    ) -> Option<Ignores> {
        let mut files: Files = [const { None }; FILES.len()];
        let mut is_repository = false;
        for name in names.iter().map(|(name, _)| name.bytes()).filter(|name| name.first() == Some(&b'.')) {
            is_repository |= REPOSITORY.contains(&name);
            for (file, wanted) in files.iter_mut().zip(FILES) {
                let is_named = wanted.as_bytes() == name || (name == b".git" && wanted.starts_with(".git/"));
                if is_named {
                    *file = compiled.patterns(directory, wanted);
                }
            }
        }
        Ignores::new(files, is_repository, stem, above)
    }

    fn new(files: Files, is_repository: bool, stem: usize, above: Option<&Arc<Ignores>>) -> Option<Ignores> {
        if !is_repository && files.iter().all(Option::is_none) {
            return None;
        }
        let excepts = |file: &Arc<Gitignore>| file.num_whitelists() > 0;
        Some(Ignores {
            stem,
            is_repository,
            in_repository: is_repository || above.is_some_and(|above| above.in_repository),
            has_exceptions: files.iter().flatten().any(excepts)
                || above.is_some_and(|above| above.has_exceptions),
            above: above.cloned(),
            files,
        })
    }

    /// Whether some pattern says that something is to be shown after all.
    pub(super) fn has_exceptions(&self) -> bool {
        self.has_exceptions
    }

    /// Whether what is meant for git counts here.
    pub(super) fn in_repository(&self) -> bool {
        self.in_repository
    }

    /// Whether something is left out, or shown after all. `None`: nobody speaks of it.
    pub(super) fn verdict(&self, path: &[u8], is_directory: bool) -> Option<bool> {
        (0..FILES.len()).find_map(|file| self.verdict_of(file, path, is_directory))
    }

    /// What the files of one name say, the innermost first.
    fn verdict_of(&self, file: usize, path: &[u8], is_directory: bool) -> Option<bool> {
        let is_gits = file >= FIRST_OF_GIT;
        if is_gits && !self.in_repository {
            return None;
        }
        let mut here = Some(self);
        while let Some(ignores) = here {
            let said = ignores.files[file].as_ref().and_then(|patterns| {
                said(patterns, Path::new(OsStr::from_bytes(&path[ignores.stem..])), is_directory)
            });
            if said.is_some() || (is_gits && ignores.is_repository) {
                return said;
            }
            here = ignores.above.as_deref();
        }
        None
    }
}

/// What somebody ignores in all repositories.
pub(super) struct Globally(Gitignore);

impl Globally {
    /// As git is configured; nothing if that is not wanted.
    pub(super) fn find(wanted: bool) -> Globally {
        Globally(if wanted { Gitignore::global().0 } else { Gitignore::empty() })
    }

    pub(super) fn verdict(&self, path: &Path, is_directory: bool) -> Option<bool> {
        said(&self.0, path, is_directory)
    }
}

fn said(patterns: &Gitignore, path: &Path, is_directory: bool) -> Option<bool> {
    match patterns.matched(path, is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

/// Files of patterns that were read before. Many say the same, and compiling takes longer than reading.
#[derive(Default)]
pub(super) struct Compiled(Mutex<HashMap<Vec<u8>, Option<Arc<Gitignore>>>>);

/// So many are remembered.
const MOST_COMPILED: usize = 1_000;

impl Compiled {
    /// The patterns of a file in a directory. What cannot be read or understood says nothing.
    fn patterns(&self, directory: &File, name: &str) -> Option<Arc<Gitignore>> {
        let text = read(directory, name).ok()?;
        if let Some(known) = self.lock().get(&text) {
            return known.clone();
        }
        let patterns = compile(&text).map(Arc::new);
        let mut known = self.lock();
        if known.len() < MOST_COMPILED {
            known.insert(text, patterns.clone());
        }
        patterns
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Option<Arc<Gitignore>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(directory: &File, name: &str) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(fs::openat(directory, name, flags, Mode::empty())?);
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text)?;
    Ok(text)
}

fn compile(text: &[u8]) -> Option<Gitignore> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    // Paths are told from the directory on: so the same patterns serve in several.
    let mut builder = GitignoreBuilder::new("");
    for line in text.split(|byte| *byte == b'\n') {
        // A line that is no pattern is passed over, like git does.
        let _ = builder.add_line(None, String::from_utf8_lossy(line).trim_end_matches('\r'));
    }
    builder.build().ok().filter(|patterns| !patterns.is_empty())
}
