//! `cargo xtask models`: would the vendors' own clients send the requests that haft makes?
//!
//! An example of `haft-model` prints requests of every kind; a script has the types of the official Python SDKs judge
//! them. Nothing is sent anywhere. Without Python or the SDKs it is skipped, with the reason.

use std::{
    io::Write,
    process::{Command, ExitCode, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{
    kit::{Kit, MODELS},
    repository::cargo,
};

const JUDGE: &str = include_str!("judge.py");

/// `cargo xtask models`.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    if !words.is_empty() {
        bail!("`{}` is no option of models; there are none", words.join(" "));
    }
    let python = match Kit::find()?.python_with(&MODELS) {
        Ok(python) => python,
        Err(why) => {
            println!("models: skipped: {why}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let requests = requests()?;
    let mut judge = Command::new(python).args(["-c", JUDGE]).stdin(Stdio::piped()).spawn()?;
    // Taken, so that it is closed when all is written.
    judge.stdin.take().context("the judge has no standard input")?.write_all(&requests)?;
    Ok(if judge.wait()?.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the example prints.
fn requests() -> Result<Vec<u8>> {
    let words = ["run", "--quiet", "--locked", "-p", "haft-model", "--example", "requests"];
    let printed = cargo(&words).stderr(Stdio::inherit()).output()?;
    if !printed.status.success() {
        bail!("the requests could not be made: {}", printed.status);
    }
    Ok(printed.stdout)
}
