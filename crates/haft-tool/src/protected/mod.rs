//! The protected names: files that other programs run or obey later, outside of any rule and any sandbox.
//!
//! Writing `.git/hooks/pre-commit` runs a program at the next commit. This is the one list of such names:
//! the policy asks about them however broad a rule is, the sandbox stops commands that make or change them,
//! and the look after a command finds those that were made all the same.
//!
//! A name counts at any depth below a root, which is the workspace or any other place that may be written.
//! Names above the root do not count: a workspace may itself lie below such a name, as worktrees do.
//! Names are compared one by one and folded as the most forgiving file system would: without case,
//! without characters that do not show, without final dots and spaces.
//! Too much caution costs a question; too little costs the machine.
//!
//! Not protected is the work itself, although it runs too: `Makefile`, `package.json`, `build.rs`, `flake.nix`,
//! `eslint.config.js`, CI workflows. People and models edit them all day and look at them before they run them.

mod fold;
mod home;
mod repository;
mod table;

use std::path::{Path, PathBuf};

pub use fold::{does_not_show, folded};
pub use table::{GROUPS, Grade, Group, Inside, TableEntry};

use table::{DEPENDENCIES, ENDINGS, INDEX};

/// The author of a write, which decides how much of some places counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writer {
    /// A file tool, or a write that a call declares: the whole of `.git` is protected.
    Declared,
    /// A process: of `.git` only what runs or redirects counts, and packages in `node_modules` have what they have.
    Process,
}

/// How much of a path is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The path is the protected place, or lies in it.
    Whole,
    /// The path is a directory that holds protected places, such as `.git`, and may be made as one.
    /// A file or link in its place, and moving or replacing it, counts as writing what is protected.
    Directory,
}

/// A protected place that a path lies in.
#[derive(Debug, Clone, Copy)]
pub struct Protected {
    /// The reason, and how strictly the place is guarded.
    pub group: &'static Group,
    /// The names of the path that lead to the place, counted from the root of the file system.
    pub names: usize,
    /// How much of the path is protected.
    pub part: Part,
}

impl Protected {
    /// The protected place: `/w/.vscode` of `/w/.vscode/tasks.json`.
    pub fn place(&self, path: &Path) -> PathBuf {
        path.components().take(self.names + 1).collect()
    }

    /// Returns true if a program runs what stands there without a further decision.
    pub fn is_code(&self) -> bool {
        self.group.grade == Grade::Code
    }

    fn new(group: &'static Group, names: usize, part: Part) -> Protected {
        Protected { group, names, part }
    }
}

/// Returns the protected place that a path lies in, if it lies in one.
///
/// The path is absolute, free of `.` and `..`, and real: links are resolved. Code wins over guidance.
/// `home` adds the names that count only there.
pub fn find(path: &Path, root: &Path, home: Option<&Path>, writer: Writer) -> Option<Protected> {
    let path = path.as_os_str().as_encoded_bytes();
    let (root, home) = (root.as_os_str(), home.map(|home| home.as_os_str().as_encoded_bytes()));
    find_bytes(path, root.as_encoded_bytes(), home, writer)
}

/// Like [`find`], for paths that are bytes.
pub fn find_bytes(path: &[u8], root: &[u8], home: Option<&[u8]>, writer: Writer) -> Option<Protected> {
    // A root that is the directory of a repository is one: git's own names count in it.
    let is_repository = names(root).last().is_some_and(|name| folded(name) == ".git");
    let depth = if lies_in(path, root) { names(root).count() - usize::from(is_repository) } else { 0 };
    match find_by_name(path, depth, writer) {
        Some(found) if found.is_code() && found.part == Part::Whole => Some(found),
        found => {
            let at_home = home.filter(|home| lies_in(path, home));
            let settings = at_home.and_then(|home| home::find(path, home, depth));
            settings.filter(|settings| settings.part == Part::Whole || found.is_none()).or(found)
        }
    }
}

fn find_by_name(path: &[u8], depth: usize, writer: Writer) -> Option<Protected> {
    let (mut rest, mut position, mut in_packages) = (names(path), 0, false);
    let mut weaker: Option<Protected> = None;
    while let Some(name) = rest.next() {
        position += 1;
        let name = folded(name);
        for TableEntry { below, inside, group } in INDEX.starting_with(&name) {
            let followed = below.iter().copied().eq(rest.clone().take(below.len()).map(folded));
            let length = position + below.len();
            if !followed || (in_packages && !matches!(inside, Inside::Repository)) {
                continue;
            }
            let found = inside.find(rest.clone().skip(below.len()), writer);
            // A repository may itself be the root: then what counts in it is below.
            let found = found.filter(|(names, _)| length + names > depth);
            match found.map(|(names, part)| Protected::new(group, length + names, part)) {
                Some(found) if found.is_code() && found.part == Part::Whole => return Some(found),
                found => weaker = weaker.or(found),
            }
        }
        if position > depth {
            if let Some((_, group)) = ENDINGS.iter().find(|(ending, _)| name.ends_with(ending))
                && !in_packages
            {
                return Some(Protected::new(group, position, Part::Whole));
            }
            in_packages |= writer == Writer::Process && DEPENDENCIES.contains(&&*name);
        }
    }
    weaker
}

impl Inside {
    /// Returns how many of the names after a place lead to what is protected in it.
    fn find<'a>(self, rest: impl Iterator<Item = &'a [u8]> + Clone, writer: Writer) -> Option<(usize, Part)> {
        match (self, writer) {
            (Inside::Everything, _) | (_, Writer::Declared) => Some((0, Part::Whole)),
            (Inside::Repository, Writer::Process) => repository::find(rest),
            (Inside::Only(places), Writer::Process) => find_inside(places, rest),
        }
    }
}

fn find_inside<'a>(places: &[&str], rest: impl Iterator<Item = &'a [u8]> + Clone) -> Option<(usize, Part)> {
    let mut is_above = false;
    for place in places {
        let (mut wanted, mut given) = (place.split('/'), rest.clone().map(folded));
        let mut length = 0;
        loop {
            match (wanted.next(), given.next()) {
                (None, _) => return Some((length, Part::Whole)),
                (Some(_), None) => is_above = true,
                (Some(wanted), Some(given)) if wanted == given => {
                    length += 1;
                    continue;
                }
                _ => {}
            }
            break;
        }
    }
    is_above.then(|| (rest.count(), Part::Directory))
}

/// Returns true for the name of a directory of installed packages, where processes may make what they like but repositories.
pub fn holds_packages(name: &[u8]) -> bool {
    DEPENDENCIES.contains(&&*folded(name))
}

/// The names of a path without `.` and `..`.
fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty())
}

fn lies_in(path: &[u8], directory: &[u8]) -> bool {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

#[cfg(test)]
mod tests;
