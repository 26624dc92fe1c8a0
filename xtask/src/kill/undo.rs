//! Undo under the same treatment: whatever was killed when, taking everything back gives the tree that was there before.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::haft::Haft;

/// All that is below a directory: modes and contents. What git keeps for itself is not haft's.
pub(super) type Tree = BTreeMap<String, (u32, Vec<u8>)>;

pub(super) fn tree(root: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    collect(root, root, &mut tree)?;
    Ok(tree)
}

fn collect(root: &Path, directory: &Path, tree: &mut Tree) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let (path, mode) = (entry.path(), entry.metadata()?.permissions().mode());
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if !kind.is_dir() && !kind.is_file() {
            // What the sandbox puts where nothing may be made is no file, and goes with the next command.
            continue;
        }
        let is_directory = kind.is_dir();
        tree.insert(name, (mode, if is_directory { Vec::new() } else { fs::read(&path)? }));
        if is_directory {
            collect(root, &path, tree)?;
        }
    }
    Ok(())
}

/// Takes a session back, makes it again, and takes it back for good. Says what is wrong.
pub(super) fn there_and_back(haft: &Haft, root: &Path, session: &str, first: &Tree) -> Result<Vec<String>> {
    let last = tree(root)?;
    if last == *first {
        return Ok(Vec::new());
    }
    let mut problems = Vec::new();
    for (words, expected) in [(&[session][..], first), (&["--redo"], &last), (&[session], first)] {
        let said = undo(haft, root, words)?;
        let refused: Vec<&Value> =
            said["files"].as_array().into_iter().flatten().filter(|file| file["ready"] != true).collect();
        if !refused.is_empty() {
            problems.push(format!("undo {words:?} refuses {refused:?}"));
        }
        problems
            .extend(differences(&tree(root)?, expected).map(|what| format!("after undo {words:?}: {what}")));
        if !problems.is_empty() {
            break;
        }
    }
    Ok(problems)
}

fn undo(haft: &Haft, root: &Path, words: &[&str]) -> Result<Value> {
    let line = [&["undo", "--yes", "--json"], words].concat();
    let output = haft.command(root, &line).stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
    let talk = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code().is_some_and(|code| code < 2), "haft undo does not work: {talk}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn differences<'a>(found: &'a Tree, expected: &'a Tree) -> impl Iterator<Item = String> + 'a {
    let names = found.keys().chain(expected.keys().filter(|name| !found.contains_key(*name)));
    names.filter(|name| found.get(*name) != expected.get(*name)).map(move |name| {
        match (found.get(name), expected.get(name)) {
            (Some(_), None) => format!("{name} is there"),
            (None, _) => format!("{name} is missing"),
            _ => format!("{name} is not what it was"),
        }
    })
}
