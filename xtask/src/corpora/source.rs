//! `cargo xtask corpora --source [DIR…]`: does ordinary source stay as it is?
//!
//! Source speaks of keys, tokens and passwords without holding any. Every line that redaction changes in it is a line that
//! a reader misses. Without a directory, the sources of the crates that cargo has fetched are read, and what Python and
//! Node brought along. Files of tests, examples and fixtures do hold made-up secrets; they are counted by themselves.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use haft_redact::Redactor;

/// In so many lines, at most so many may change.
const LINES: usize = 2_000_000;
const CHANGED: usize = 20;

/// What is source.
const ENDINGS: [&str; 16] =
    ["rs", "py", "js", "mjs", "ts", "tsx", "go", "java", "kt", "c", "h", "cc", "cpp", "rb", "php", "cs"];
/// Words in a path of which the file holds made-up secrets.
const MADE_UP: [&str; 9] =
    ["test", "spec", "fixture", "mock", "example", "sample", "bench", "/doc", "credential"];
/// A larger file was written by a program.
const LARGEST: u64 = 2 << 20;
/// So is one with lines as long as this.
const LONGEST_LINE: usize = 5_000;

pub(super) fn run(directories: &[&str]) -> Result<ExitCode> {
    let directories = match directories {
        [] => usual_places(),
        some => some.iter().map(PathBuf::from).collect(),
    };
    let count = count(&directories, usize::MAX)?;
    count.changed.iter().chain(&count.in_tests).for_each(|line| println!("{line}"));
    println!(
        "source files={} lines={} changed={} changed_in_tests_and_examples={}",
        count.files,
        count.lines,
        count.changed.len(),
        count.in_tests.len()
    );
    let is_fine = count.changed.len() * LINES <= CHANGED * count.lines.max(LINES);
    if !is_fine {
        println!("  at most {CHANGED} of {LINES} lines may change");
    }
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where sources of others are on most machines.
fn usual_places() -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let python = home.join(".pyenv/versions");
    [registry(), Some(python), Some("/usr/lib/python3".into()), Some("/usr/lib/node_modules".into())]
        .into_iter()
        .flatten()
        .filter(|directory| directory.is_dir())
        .collect()
}

fn registry() -> Option<PathBuf> {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")))?;
    Some(cargo.join("registry/src")).filter(|directory| directory.is_dir())
}

#[derive(Default)]
struct Count {
    files: usize,
    lines: usize,
    /// `path:line: what became of it`
    changed: Vec<String>,
    in_tests: Vec<String>,
}

/// Reads files in the order of their names until there are enough lines.
fn count(directories: &[PathBuf], enough: usize) -> Result<Count> {
    let redactor = Redactor::builder().build();
    let mut count = Count::default();
    let mut waiting: Vec<PathBuf> = directories.iter().rev().cloned().collect();
    while let Some(path) = waiting.pop() {
        if count.lines >= enough {
            break;
        }
        let kind = fs::symlink_metadata(&path).with_context(|| path.display().to_string())?;
        if kind.is_dir() {
            let entries = fs::read_dir(&path)?.map(|entry| Ok(entry?.path()));
            let mut entries = entries.collect::<Result<Vec<_>>>()?;
            entries.sort_unstable_by(|one, other| other.cmp(one));
            waiting.extend(entries);
        } else if kind.is_file() && kind.len() <= LARGEST && is_source(&path) {
            count.add(&redactor, &path);
        }
    }
    Ok(count)
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ENDINGS.iter().any(|one| ending == *one))
}

impl Count {
    fn add(&mut self, redactor: &Redactor, path: &Path) {
        let Ok(text) = fs::read_to_string(path) else { return };
        if text.lines().any(|line| line.len() > LONGEST_LINE) {
            return;
        }
        self.files += 1;
        self.lines += text.lines().count();
        let hidden = redactor.hidden_ranges(&text);
        let name = path.to_string_lossy();
        let lower = name.to_ascii_lowercase();
        let is_made_up = MADE_UP.iter().any(|word| lower.contains(word));
        let list = if is_made_up { &mut self.in_tests } else { &mut self.changed };
        let mut last = 0;
        for (range, _) in hidden {
            let (first, end) = (line_number(&text, range.start), line_number(&text, range.end));
            for number in first.max(last + 1)..=end {
                let line = text.lines().nth(number - 1).unwrap_or_default().trim();
                list.push(format!("{name}:{number}: {}", line.chars().take(160).collect::<String>()));
            }
            last = last.max(end);
        }
    }
}

fn line_number(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_holds_a_secret_is_counted_once() {
        let directory = tempfile::tempdir().unwrap();
        let line = "let password = \"q7Wm-Trombone9\"; let api_token = \"83r1xbijteqidvoxg1aps8gx\";\n";
        fs::write(directory.path().join("a.rs"), format!("fn main() {{}}\n{line}")).unwrap();
        fs::write(directory.path().join("a_test.rs"), line).unwrap();
        fs::write(directory.path().join("a.txt"), line).unwrap();
        let count = count(&[directory.path().to_owned()], usize::MAX).unwrap();
        assert_eq!((count.files, count.lines, count.changed.len(), count.in_tests.len()), (2, 3, 1, 1));
        assert!(count.changed[0].contains("a.rs:2: let password"), "{}", count.changed[0]);
    }

    /// The crates that this one is built from are always there. The bound is what is in them, with some room.
    #[test]
    fn the_source_of_dependencies_stays_as_it_is() {
        const ENOUGH: usize = 200_000;
        const MOST: usize = 4;
        let Some(registry) = registry() else { return };
        let places = fs::read_dir(registry).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
        let count = count(&places, ENOUGH).unwrap();
        assert!(count.changed.len() <= MOST, "{} lines:\n{}", count.lines, count.changed.join("\n"));
    }
}
