//! `haft demo`: a scripted model drives the real engine through a small temporary project.
//!
//! Nothing is faked but the model: its messages are an API's real JSON, decoded by the same code that decodes them
//! everywhere, and every line about the engine is read from its events and results.

mod project; //   the project, the engine, and the tools that only the demo has
mod stage; //     says a message to the engine and shows what happens
mod pace; //      no faster than it can be read
mod timeline; //  who ran when, as a picture
mod tally; //     what happened in all
mod scenes; //    what is shown

use std::time::{Duration, Instant};

use crate::{draw::Paint, exit::Exit, out::Out};
use pace::Pace;
use project::Project;
use stage::Stage;

/// What can be typed after `haft demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "On a terminal it takes its time: Enter goes on without pauses, Ctrl-C ends it.\n\n\
Example:\n  haft demo | less -R")]
pub(crate) struct Args {
    /// Without pauses, on a terminal too
    #[arg(long)]
    fast: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let began = Instant::now();
    let project = Project::make()?;
    let mut stage = Stage::new(&project, Out::stdout(), Paint::stdout(), Pace::new(args.fast))?;
    stage.opening()?;
    for (title, scene) in scenes::ALL {
        stage.title(title)?;
        scene(&mut stage)?;
    }
    let worked = began.elapsed().saturating_sub(stage.waited());
    stage.closing(rounded(worked))?;
    Ok(Exit::Done)
}

fn rounded(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
