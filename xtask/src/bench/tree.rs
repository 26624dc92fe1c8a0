//! The tree that is searched: made once, of real source where there is some.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// How many files it has, but for a few of ours, and how many of them are in each half, the directories `0` and `1`.
const FILES: usize = 60_000;
const HALF: usize = FILES / 2;

/// A word that only these files have, in every copy.
pub(super) const NEEDLE: &str = "haft_bench_needle_7f3a";

/// The tree, and what it is made of.
pub(super) fn tree(place: &Path) -> Result<(PathBuf, String)> {
    let (root, mark) = (place.join("tree"), place.join("tree-of-60000.txt"));
    if let Ok(said) = fs::read_to_string(&mark) {
        return Ok((root, said));
    }
    if root.exists() {
        // An earlier run did not come to the end of it.
        fs::remove_dir_all(&root)?;
    }
    // Both sides respect it only in a repository.
    fs::create_dir_all(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "target/\n*.o\n*.log\n/ignored\n")?;
    fs::create_dir_all(root.join("ignored"))?;
    fs::write(root.join("ignored/never.rs"), NEEDLE)?;
    let said = match sources().filter(|sources| count(sources) > FILES / 10) {
        Some(sources) => copied(&sources, &root)?,
        None => written(&root)?,
    };
    for name in ["needle.rs", "0/needle.txt"] {
        fs::write(root.join(name), format!("// one\n// two\nfn {NEEDLE}() {{}}\n"))?;
    }
    fs::write(mark, &said)?;
    Ok((root, said))
}

/// The sources of everything that this machine has built.
fn sources() -> Option<PathBuf> {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    Some(cargo.or_else(home)?.join("registry/src")).filter(|path| path.is_dir())
}

fn count(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries.flatten().map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

fn copied(sources: &Path, root: &Path) -> Result<String> {
    let mut copies = 0;
    for half in ["0", "1"] {
        let mut room = HALF;
        while room > 0 {
            copy(sources, &root.join(half).join(copies.to_string()), &mut room)?;
            copies += 1;
        }
    }
    Ok(format!("{FILES} files: {copies} copies of {}, the last of each half in part", sources.display()))
}

/// Copies files and directories as long as there is room for another file.
fn copy(from: &Path, to: &Path, room: &mut usize) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if *room == 0 {
            break;
        } else if kind.is_dir() {
            copy(&entry.path(), &to, room)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to)?;
            *room -= 1;
        }
    }
    Ok(())
}

const WORDS: [&str; 24] = [
    "fn", "let", "unwrap", "HashMap", "return", "impl", "struct", "trait", "Error", "Result", "self",
    "match", "pub", "use", "mut", "String", "Vec", "async", "await", "where", "clone", "unsafe", "iter",
    "TODO",
];

/// Text from a vocabulary, the same on every machine.
fn written(root: &Path) -> Result<String> {
    let mut random = fastrand::Rng::with_seed(7);
    for file in 0..FILES {
        let directory = root.join(format!("{}/{}/src/tests", file / HALF, file / 100));
        fs::create_dir_all(&directory)?;
        let mut text = String::new();
        for line in 0..random.usize(30..400) {
            let mut word = || WORDS[random.usize(..WORDS.len())];
            writeln!(text, "    {} {}_{line} {} {}Error;", word(), word(), word(), word())?;
        }
        let extension = ["rs", "toml", "md"][random.usize(..3)];
        fs::write(directory.join(format!("{file}.{extension}")), text)?;
    }
    Ok(format!("{FILES} files, written at random"))
}
