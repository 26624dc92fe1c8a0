//! A tree of files as it is, to be compared: byte for byte, or by what it means where times and hashes must differ.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
    process::Command,
};

use anyhow::Result;

/// What is at each name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Snapshot(BTreeMap<String, Vec<u8>>);

impl Snapshot {
    /// Everything below a directory, byte for byte, with modes and the targets of links.
    pub(crate) fn exact(root: &Path) -> Result<Snapshot> {
        let mut snapshot = Snapshot::default();
        snapshot.add(root, root)?;
        Ok(snapshot)
    }

    /// The same without what differs from run to run: hashes and times in git's files, and objects, which its refs and
    /// trees stand for. Names that end like one of these are left out.
    pub(crate) fn meaning(root: &Path, ignored: &[&str]) -> Result<Snapshot> {
        let exact = Snapshot::exact(root)?;
        let mut snapshot = Snapshot::default();
        for (name, content) in &exact.0 {
            let is_ignored = |part: &str| ignored.iter().any(|end| part.ends_with(end));
            if name.split('/').any(is_ignored) || is_internal(name) {
                continue;
            }
            let content = if is_of_git(name) { normal(content) } else { content.clone() };
            snapshot.0.insert(String::from_utf8_lossy(&normal(name.as_bytes())).into_owned(), content);
        }
        for repository in exact.repositories() {
            for (question, answer) in facts(&root.join(&repository))? {
                snapshot.0.insert(format!("{repository}: git {question}"), answer);
            }
        }
        Ok(snapshot)
    }

    /// Where they differ, a line each. The other one is what should be.
    pub(crate) fn differences(&self, expected: &Snapshot) -> Vec<String> {
        let names = self.0.keys().chain(expected.0.keys()).collect::<std::collections::BTreeSet<_>>();
        let line = |name: &String| match (self.0.get(name), expected.0.get(name)) {
            (Some(_), None) => Some(format!("{name} is there and should not be")),
            (None, Some(_)) => Some(format!("{name} is missing")),
            (Some(is), Some(should)) if is != should => {
                Some(format!("{name} is {}, should be {}", shown(is), shown(should)))
            }
            _ => None,
        };
        names.into_iter().filter_map(line).collect()
    }

    /// Whether something is at this name.
    #[cfg(test)]
    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn add(&mut self, root: &Path, directory: &Path) -> Result<()> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let facts = fs::symlink_metadata(&path)?;
            let mode = facts.permissions().mode();
            let content = if facts.is_symlink() {
                fs::read_link(&path)?.as_os_str().as_bytes().to_vec()
            } else if facts.is_file() {
                fs::read(&path)?
            } else {
                Vec::new()
            };
            let content = [format!("{mode:o} ").into_bytes(), content].concat();
            self.0.insert(path.strip_prefix(root)?.to_string_lossy().into_owned(), content);
            if facts.is_dir() {
                self.add(root, &path)?;
            }
        }
        Ok(())
    }

    /// The directories that hold a repository or a work tree of one.
    fn repositories(&self) -> Vec<String> {
        let heads = self.0.keys().filter_map(|name| {
            let place = name
                .strip_suffix("/.git")
                .or_else(|| name.strip_suffix(".git/HEAD").map(|at| &name[..at.len() + 4]))?;
            (!place.contains(".git/") && !place.ends_with("/.git") && place != ".git")
                .then(|| place.to_owned())
        });
        let mut found: Vec<String> = heads.collect();
        found.sort();
        found.dedup();
        found
    }
}

/// Whether a name is git's own, in a repository with or without a work tree.
fn is_of_git(name: &str) -> bool {
    name.contains(".git/") || name.ends_with("/.git")
}

/// Parts of a repository that its refs, trees and lists stand for.
fn is_internal(name: &str) -> bool {
    let Some((_, inner)) = name.split_once(".git/") else { return false };
    let last = inner.rsplit('/').next().unwrap_or_default();
    inner == "objects"
        || inner.starts_with("objects/")
        || inner.contains("/objects/")
        || inner.ends_with("/objects")
        || matches!(last, "index" | "COMMIT_EDITMSG" | "gc.pid" | "packed-refs")
        || inner.starts_with("refs/")
        || inner.starts_with("logs/refs")
}

/// What is asked of each repository. Trees are told by their hashes: they have no times, and those of set-ups are fixed.
const QUESTIONS: [&[&str]; 8] = [
    &[
        "for-each-ref",
        "--format=%(refname) %(symref) %(objecttype) %(tree) %(*tree) %(contents:subject) %(upstream) %(upstream:track) %(push)",
    ],
    &["log", "--all", "--format=%T %an %ae %G? %s"],
    &["ls-files", "--stage"],
    &["status", "--porcelain=v2", "--branch", "--ignored"],
    &["stash", "list", "--format=%gd %gs"],
    &["worktree", "list", "--porcelain"],
    &["submodule", "status"],
    &["fsck", "--no-dangling", "--no-progress"],
];

fn facts(repository: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let mut facts = Vec::new();
    for words in QUESTIONS {
        let mut git = Command::new("git");
        git.arg("-C")
            .arg(repository)
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"])
            .args(words);
        git.env("GIT_OPTIONAL_LOCKS", "0");
        let output = git.output()?;
        // A question that does not fit (a bare repository has no status) gets the same error on both sides.
        let answer = [output.stdout, output.stderr].concat();
        let answer =
            if matches!(words[0], "for-each-ref" | "log" | "ls-files") { answer } else { normal(&answer) };
        facts.push((words[0].to_owned(), sorted(&answer)));
    }
    Ok(facts)
}

fn sorted(text: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    lines.sort_unstable();
    lines.join(&b'\n')
}

/// A text with `H` for each hash and `T` for each time.
fn normal(text: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.first() {
        let run =
            rest.iter().take_while(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase()).count();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_time = run == digits && run == 10 && rest.first() == Some(&b'1');
        let is_short = (7..40).contains(&run) && digits < run && rest[..run].iter().any(u8::is_ascii_digit);
        if run >= 40 || is_time || is_short {
            result.push(if is_time { b'T' } else { b'H' });
            rest = &rest[run..];
        } else if run > 0 {
            result.extend(&rest[..run]);
            rest = &rest[run..];
        } else {
            result.push(*first);
            rest = &rest[1..];
        }
    }
    result
}

/// The beginning of a content, in one line.
fn shown(content: &[u8]) -> String {
    const SHOWN_BYTES: usize = 600;
    format!("{:?}", String::from_utf8_lossy(&content[..content.len().min(SHOWN_BYTES)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_times_are_normalised() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(normal(format!("{hash} HEAD 1700000000 +0000").as_bytes()), b"H HEAD T +0000");
        assert_eq!(normal(b"face 123 deadbeef1 3.0"), b"face 123 H 3.0");
    }

    #[test]
    fn differences_name_what_is_missing_and_what_is_new() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "1").unwrap();
        let before = Snapshot::exact(directory.path()).unwrap();
        assert!(before.has("a") && before.differences(&before).is_empty());
        fs::rename(directory.path().join("a"), directory.path().join("b")).unwrap();
        let after = Snapshot::exact(directory.path()).unwrap();
        assert_eq!(after.differences(&before), ["a is missing", "b is there and should not be"]);
    }

    #[test]
    fn repositories_are_found_with_and_without_a_work_tree() {
        let names = ["w/.git", "w/.git/HEAD", "origin.git/HEAD", "w/.git/modules/lib/HEAD", "w/lib/.git"];
        let snapshot = Snapshot(names.map(|name| (name.to_owned(), Vec::new())).into());
        assert_eq!(snapshot.repositories(), ["origin.git", "w", "w/lib"]);
    }
}
