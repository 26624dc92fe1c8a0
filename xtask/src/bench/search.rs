//! `cargo xtask bench search`: Grep and Glob against `rg` and `fd`, in a tree of many files.
//!
//! Grep is measured twice: as a process like its peer, and as a call in this process, as an agent makes it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use haft_engine::{Call, Engine, Session, SessionOptions, result::FileStore};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use super::{
    peers::{Peer, peer, timed},
    table::{Row, race},
    tree::{NEEDLE, tree},
};
use crate::haft::Haft;

/// The same search, as a peer and as haft are told.
struct Search {
    what: &'static str,
    peer: Vec<&'static str>,
    input: Value,
}

const RG: Peer = Peer { program: "rg", package: "ripgrep" };
const FD: Peer = Peer { program: "fd", package: "fd-find" };

fn greps() -> [Search; 6] {
    let content = |pattern: &str| json!({ "pattern": pattern, "output_mode": "content", "head_limit": 0 });
    let with = |mut input: Value, key: &str, value: Value| {
        input[key] = value;
        input
    };
    let alternation = r"(impl|struct|trait) [A-Z]\w*Error\b";
    [
        Search { what: "rare literal", peer: vec!["-n", NEEDLE], input: content(NEEDLE) },
        Search {
            what: "common literal, counted",
            peer: vec!["-c", "unwrap"],
            input: with(content("unwrap"), "output_mode", "count".into()),
        },
        Search { what: "alternation", peer: vec!["-n", alternation], input: content(alternation) },
        Search {
            what: "any case",
            peer: vec!["-n", "-i", "deprecated"],
            input: with(content("deprecated"), "-i", true.into()),
        },
        Search {
            what: "files that match",
            peer: vec!["-l", "HashMap"],
            input: with(content("HashMap"), "output_mode", "files_with_matches".into()),
        },
        Search {
            what: "2 lines of context",
            peer: vec!["-n", "-C2", "unsafe impl"],
            input: with(content("unsafe impl"), "-C", 2.into()),
        },
    ]
}

fn globs() -> [Search; 3] {
    let glob = |pattern: &str| json!({ "pattern": pattern, "head_limit": 0 });
    [
        Search { what: "**/*.rs", peer: vec!["-t", "f", "-g", "*.rs"], input: glob("**/*.rs") },
        Search {
            what: "**/tests/**/*.rs",
            peer: vec!["-t", "f", "-p", "-g", "**/tests/**/*.rs"],
            input: glob("**/tests/**/*.rs"),
        },
        Search {
            what: "**/Cargo.toml",
            peer: vec!["-t", "f", "-g", "Cargo.toml"],
            input: glob("**/Cargo.toml"),
        },
    ]
}

pub(super) fn rows(haft: &Haft, place: &Path, install: bool) -> Result<Vec<Row>> {
    let (root, said) = tree(place)?;
    println!("bench search: {said}");
    let mut rows = Vec::new();
    match RG.find(install)? {
        Ok(rg) => {
            let greps = greps();
            greps.iter().for_each(|search| compare_sets(haft, &root, "Grep", search, &rg));
            rows.extend(grep_rows(haft, &root, &greps, &rg)?);
        }
        Err(why) => rows.push(Row::missing("Grep", why)),
    }
    match FD.find(install)? {
        Ok(fd) => {
            let globs = globs();
            globs.iter().for_each(|search| compare_sets(haft, &root, "Glob", search, &fd));
            rows.extend(globs.iter().map(|search| glob_row(haft, &root, search, &fd)));
        }
        Err(why) => rows.push(Row::missing("Glob", why)),
    }
    Ok(rows)
}

fn grep_rows(haft: &Haft, root: &Path, greps: &[Search], rg: &Path) -> Result<Vec<Row>> {
    let inside = Inside::new(root)?;
    let mut rows = Vec::new();
    for search in greps {
        let outside = race([
            &mut || timed(&mut haft.command(root, &["call", "Grep", &search.input.to_string()])),
            &mut || timed(&mut peer(rg, root, &search.peer)),
        ]);
        rows.push(Row::race(format!("Grep, {}: rg", search.what), 1.0, outside));
        let inside = race([&mut || inside.timed("Grep", &search.input), &mut || {
            timed(&mut peer(rg, root, &search.peer))
        }]);
        rows.push(Row::race("  the same without a start: rg", 0.9, inside));
    }
    Ok(rows)
}

fn glob_row(haft: &Haft, root: &Path, search: &Search, fd: &Path) -> Row {
    let times = race([
        &mut || timed(&mut haft.command(root, &["call", "Glob", &search.input.to_string()])),
        &mut || timed(&mut peer(fd, root, &search.peer)),
    ]);
    Row::race(format!("Glob, {}: fd", search.what), 1.0, times)
}

/// A session in this process.
struct Inside {
    session: Session,
    runtime: Runtime,
    _results: tempfile::TempDir,
}

impl Inside {
    fn new(root: &Path) -> Result<Inside> {
        let results = tempfile::tempdir()?;
        let engine =
            Engine::builder().tools(haft_tools::builtin()).results(FileStore::new(results.path())).build();
        let session = engine.map_err(|err| anyhow!("{err}"))?.session(SessionOptions::at(root));
        Ok(Inside {
            session: session.map_err(|err| anyhow!("{err}"))?,
            runtime: Builder::new_current_thread().enable_time().build()?,
            _results: results,
        })
    }

    fn timed(&self, tool: &str, input: &Value) -> Result<Duration> {
        let start = Instant::now();
        let result = self.runtime.block_on(self.session.call(Call::new("1", tool, input.clone())));
        let time = start.elapsed();
        ensure!(!result.is_error(), "{}", result.text());
        Ok(time)
    }
}

/// Says it where the two sides do not find the same files: then their times mean nothing.
fn compare_sets(haft: &Haft, root: &Path, tool: &str, search: &Search, program: &Path) {
    let what = search.what;
    match sets(haft, root, tool, search, program) {
        Ok((ours, theirs)) if ours == theirs => println!("  {what}: {} files on both sides", ours.len()),
        Ok((ours, theirs)) => {
            let example = ours.symmetric_difference(&theirs).next().cloned().unwrap_or_default();
            let (ours, theirs) = (ours.len(), theirs.len());
            println!(
                "  {what}: NOT THE SAME FILES, haft has {ours} and the peer {theirs}; for example {example}"
            );
        }
        Err(err) => println!("  {what}: {err:#}"),
    }
}

type Names = BTreeSet<String>;

/// The files that haft finds, and those that the peer does.
fn sets(haft: &Haft, root: &Path, tool: &str, search: &Search, program: &Path) -> Result<(Names, Names)> {
    let (mut input, mut words) = (search.input.clone(), search.peer.clone());
    if tool == "Grep" {
        input["output_mode"] = "files_with_matches".into();
        words.retain(|word| !["-n", "-c", "-C2"].contains(word));
        words.insert(0, "-l");
    }
    let theirs = said(&mut peer(program, root, &words))?;
    Ok((names(root, &all_said(haft, root, tool, &input)?), names(root, &theirs)))
}

/// What a call says in all: what a model is shown at once, and what is kept because it is too long for that.
fn all_said(haft: &Haft, root: &Path, tool: &str, input: &Value) -> Result<String> {
    const SESSION: &str = "compare";
    let kept = haft.results(SESSION);
    if kept.exists() {
        fs::remove_dir_all(&kept)?;
    }
    let mut text = said(&mut haft.command(root, &["call", tool, &input.to_string(), "--session", SESSION]))?;
    if kept.exists() {
        for entry in fs::read_dir(&kept)? {
            text.push('\n');
            text += &fs::read_to_string(entry?.path())?;
        }
    }
    Ok(text)
}

fn said(command: &mut Command) -> Result<String> {
    let output = command.stdout(Stdio::piped()).output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{}: {}", output.status, text.lines().next().unwrap_or_default());
    Ok(text)
}

/// The files that a text names, a line each.
fn names(root: &Path, text: &str) -> Names {
    let from_root = |line: &str| {
        let path = Path::new(line);
        path.strip_prefix(root).or_else(|_| path.strip_prefix(".")).unwrap_or(path).to_owned()
    };
    let is_file = |path: &PathBuf| !path.as_os_str().is_empty() && root.join(path).is_file();
    text.lines().map(from_root).filter(is_file).map(|path| path.to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_the_files_that_are_there() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a.rs"), "").unwrap();
        fs::write(root.path().join("b.rs"), "").unwrap();
        let text = format!("2 files:\n./a.rs\n{}/b.rs\nc.rs\n", root.path().display());
        assert_eq!(names(root.path(), &text), Names::from(["a.rs".to_owned(), "b.rs".to_owned()]));
    }
}
