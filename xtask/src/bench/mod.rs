//! stub
mod engine;
pub(crate) fn run(_: &[&str]) -> anyhow::Result<std::process::ExitCode> { engine::run(false) }
