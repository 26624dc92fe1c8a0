//! A small repository with the names that command lines in examples like to have.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use haft_tool::PathBase;
use tempfile::TempDir;

pub(crate) struct Sample {
    root: PathBuf,
    _directory: TempDir,
}

const FILES: [(&str, &str); 14] = [
    ("README.md", "# Sample\n\nA lamp, and nothing else.\n"),
    ("Cargo.toml", "[package]\nname = \"sample\"\nversion = \"0.1.0\"\n"),
    ("a.txt", "b\na\nc\n"),
    ("b.txt", "a\nb\n"),
    ("f.txt", "one two\nthree\n"),
    ("in.txt", "2\n1\n"),
    ("x.txt", "x\n"),
    ("f.json", "{\"a\": [{\"b\": 2}]}\n"),
    ("data.csv", "1,2\n3,4\n"),
    ("package.json", "{\"name\": \"sample\", \"scripts\": {}}\n"),
    ("src/main.rs", "fn main() {\n    println!(\"lamp\");\n}\n"),
    ("src/lib.rs", "pub fn lamp() {}\n"),
    ("docs/notes.md", "notes\n"),
    ("build/out.o", "object\n"),
];

impl Sample {
    pub(crate) fn new() -> Result<Sample> {
        // Not below /tmp, which the sandbox may have its own of.
        let directory = tempfile::Builder::new().prefix("haft-touches-").tempdir_in(home_of_samples()?)?;
        let root = directory.path().canonicalize()?;
        let sample = Sample { root, _directory: directory };
        fs::create_dir_all(sample.home())?;
        for (name, content) in FILES {
            let path = sample.workspace().join(name);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, content)?;
        }
        sample.git(&["init", "-q"])?;
        sample.git(&["add", "."])?;
        sample.git(&["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "first"])?;
        Ok(sample)
    }

    fn git(&self, words: &[&str]) -> Result<()> {
        let status = Command::new("git")
            .args(words)
            .current_dir(self.workspace())
            .env("HOME", self.home())
            .status()?;
        ensure!(status.success(), "git {words:?} failed");
        Ok(())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.join("ws")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn base(&self) -> PathBase {
        PathBase { cwd: self.workspace(), home: Some(self.home()), workspace: Some(self.workspace()) }
    }

    /// Every file of the workspace with its content; git's own book-keeping of when it last looked is none.
    pub(crate) fn contents(&self) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
        let mut contents = BTreeMap::new();
        gather(&self.workspace(), &mut contents)?;
        contents.remove(&self.workspace().join(".git/index"));
        Ok(contents)
    }
}

fn home_of_samples() -> Result<PathBuf> {
    let place = crate::repository::metadata()?.target_directory.join("touches");
    fs::create_dir_all(&place)?;
    Ok(place)
}

fn gather(directory: &Path, contents: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let metadata = path.symlink_metadata()?;
        if metadata.is_dir() {
            contents.insert(path.clone(), Vec::new());
            gather(&path, contents)?;
        } else if metadata.is_file() {
            contents.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(())
}
