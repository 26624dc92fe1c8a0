//! `haft demo`: a scripted model drives the real engine through a small temporary project.
//!
//! Nothing is faked but the model: its messages are an API's real JSON, decoded by the same code that decodes them
//! everywhere, and every line about the engine is read from its events and results.

mod project; //   the project, the engine, and the tools that only the demo has
mod stage; //     says a message to the engine and shows what happens
mod timeline; //  who ran when, as a picture
mod tally; //     what happened in all
mod scenes; //    what is shown

use std::time::{Duration, Instant};

use crate::{draw::Paint, exit::Exit, out::Out};
use project::Project;
use stage::Stage;

/// What can be typed after `haft demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  haft demo | less -R")]
pub(crate) struct Args {}

pub(crate) fn run() -> anyhow::Result<Exit> {
    let began = Instant::now();
    let project = Project::make()?;
    let mut stage = Stage::new(&project, Out::stdout(), Paint::stdout())?;
    stage.opening()?;
    for (title, scene) in scenes::ALL {
        stage.title(title)?;
        scene(&mut stage)?;
    }
    stage.closing(rounded(began.elapsed()))?;
    Ok(Exit::Done)
}

fn rounded(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
