//! The places in which chores run commands: empty directories that a script fills.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Result, ensure};

/// Runs a script of set-up in a directory. Its commits have the same time, and so the same hash, whenever it runs.
pub(crate) fn script(directory: &Path, text: &str) -> Result<()> {
    let mut bash = Command::new("bash");
    bash.args(["-ec", text]).current_dir(directory).stdin(Stdio::null());
    bash.envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, COMMIT_TIME)));
    let output = bash.output()?;
    ensure!(output.status.success(), "set-up failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Empties a directory, whatever modes are in it, and runs a script there that knows the functions of [`PRELUDE`].
pub(crate) fn fill(directory: &Path, text: &str) -> Result<()> {
    if directory.exists() {
        Command::new("chmod").args(["-R", "u+rwX"]).arg(directory).output()?;
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)?;
    script(directory, &format!("{PRELUDE}\n{text}"))
}

const COMMIT_TIME: &str = "1700000000 +0000";

/// Functions for set-ups.
const PRELUDE: &str = r#"
set -e
commit() { git -C "$1" add -A; git -C "$1" commit -q -m "$2"; }
# A bare repository with two commits, and its clone in `w`.
project() {
    git init -q --bare origin.git; git clone -q origin.git w 2>/dev/null
    echo one > w/a.txt; commit w first; echo two > w/b.txt; commit w second; git -C w push -q origin master
}
# The same with a branch of one's own.
topic() { project; git -C w checkout -q -b topic; echo three > w/c.txt; commit w third; }
# Another clone, where a colleague works.
colleague() { git clone -q origin.git colleague; }
# A small library with a repository.
library() { git init -q lib; echo lib > lib/lib.txt; commit lib library; }
"#;
