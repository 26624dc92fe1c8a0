//! stub
use std::process::ExitCode;
use anyhow::Result;
pub(crate) fn run(_: &[&str]) -> Result<ExitCode> { Ok(ExitCode::SUCCESS) }
