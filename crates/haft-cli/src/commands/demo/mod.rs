//! stub
use crate::exit::Exit;
/// x
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run() -> anyhow::Result<Exit> { Ok(Exit::Done) }
