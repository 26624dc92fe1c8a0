//! `cargo xtask far`: do many processes that share a session make each call once?
//!
//! The tests `far::` of haft-cli, in a size that is too long for every day: ten processes with two hundred calls.

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::repository::{cargo, succeeds};

const SIZE: &str = "10x200";

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let size = match words {
        [] => SIZE,
        ["--size", size] => size,
        _ => bail!("far takes --size PROCESSESxCALLS and nothing else"),
    };
    println!("far: {size} (processes x calls)");
    let words = ["test", "--locked", "--package", "haft-cli", "--test", "it", "far::", "--", "--nocapture"];
    let passed = succeeds(cargo(&words).env("HAFT_FAR", size))?;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
