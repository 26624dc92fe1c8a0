//! `haft completions`: the completion script of a shell.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{cli::Cli, exit::Exit, out::Out};

/// What can be typed after `haft completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  haft completions bash > ~/.local/share/bash-completion/completions/haft")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Written to memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "haft", &mut script);
    let mut out = Out::stdout();
    out.text(&String::from_utf8_lossy(&script))?;
    out.flush()?;
    Ok(Exit::Done)
}
