//! What of a git repository's own directory runs or redirects programs.
//!
//! Objects, references, the index and the state of a merge are data: every git command writes them.

use super::{Part, folded};

/// Files that settings come from, or that say where the repository's files are.
const FILES: [&str; 4] = ["config", "config.worktree", "commondir", "gitdir"];
/// Directories with repositories of submodules, and with those of linked worktrees.
const REPOSITORIES: [&str; 2] = ["modules", "worktrees"];
/// Namespaces of references: below them `config` is the name of a branch.
const REFERENCES: [&str; 4] = ["heads", "tags", "remotes", "notes"];

/// Returns how many of the names below a repository's directory lead to what is protected in it.
pub(super) fn find<'a>(rest: impl Iterator<Item = &'a [u8]> + Clone) -> Option<(usize, Part)> {
    let mut given = rest.clone().map(folded);
    match given.next().as_deref() {
        None => Some((0, Part::Directory)),
        Some(name) if REPOSITORIES.contains(&name) => nested(rest),
        Some(_) => own(rest),
    }
}

/// In the repository's own directory.
fn own<'a>(rest: impl Iterator<Item = &'a [u8]> + Clone) -> Option<(usize, Part)> {
    let mut given = rest.map(folded);
    let first = given.next()?;
    let second = given.next();
    let last = given.next().is_none();
    match (&*first, second.as_deref()) {
        (file, None) if FILES.contains(&file) => Some((1, Part::Whole)),
        ("hooks" | "info", None) => Some((1, Part::Directory)),
        // Samples have no effect under this name.
        ("hooks", Some(hook)) if last && hook.ends_with(".sample") => None,
        ("hooks", Some(_)) => Some((1, Part::Whole)),
        ("info", Some("attributes")) => Some((2, Part::Whole)),
        _ => None,
    }
}

/// In `modules` and `worktrees`. The name of a submodule may have slashes, so each name may be its last.
fn nested<'a>(rest: impl Iterator<Item = &'a [u8]> + Clone) -> Option<(usize, Part)> {
    let length = rest.clone().count();
    if length <= 2 {
        return Some((length, Part::Directory));
    }
    // Git writes these for each new linked worktree. Where they lead, the look at what appeared judges; older ones are mounted read-only.
    let names: Vec<_> = rest.clone().map(folded).collect();
    if length == 3 && names[0] == "worktrees" && matches!(&*names[2], "gitdir" | "commondir") {
        return None;
    }
    for skipped in 2..length {
        let below = rest.clone().skip(skipped);
        if is_data(below.clone()) {
            return None;
        }
        if let Some((names, part)) = own(below) {
            return Some((skipped + names, part));
        }
    }
    None
}

/// Whether what follows is no repository's name any more, but references or objects of one.
fn is_data<'a>(rest: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut given = rest.map(folded);
    let (first, second) = (given.next(), given.next());
    match (first.as_deref(), second.as_deref()) {
        (Some("refs"), Some(second)) => REFERENCES.contains(&second),
        (Some("logs"), Some(second)) => matches!(second, "refs" | "head"),
        (Some("objects"), Some(second)) => second.len() == 2 || matches!(second, "info" | "pack"),
        _ => false,
    }
}
