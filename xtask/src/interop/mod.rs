//! `cargo xtask interop`: does haft work with the servers and the clients of others?
//!
//! Each case is one peer by one transport: `haft call` with a server of others behind it, or a client of others in front of
//! `haft mcp`. A peer that is not in the kit is skipped, with the reason; one that does not get its answer makes the chore fail.

mod servers; // haft as the client of others
mod clients; // haft as the server of others
mod lasting; // haft in between, for longer than a call
mod stage; //   where a case takes place

use std::{process::ExitCode, time::Instant};

use anyhow::Result;

use crate::{
    haft::{Haft, Profile},
    kit::Kit,
};
use stage::Stage;

/// One peer by one transport.
struct Case {
    name: &'static str,
    run: fn(&Stage) -> Result<(), Trouble>,
}

/// Why a case did not go well.
#[derive(Debug)]
enum Trouble {
    /// The peer is not there: why.
    Skipped(String),
    /// haft and the peer did not get along.
    Failed(String),
}

impl From<anyhow::Error> for Trouble {
    fn from(err: anyhow::Error) -> Trouble {
        Trouble::Failed(format!("{err:#}"))
    }
}

impl From<std::io::Error> for Trouble {
    fn from(err: std::io::Error) -> Trouble {
        Trouble::Failed(err.to_string())
    }
}

/// `cargo xtask interop [WORD…]`: the cases whose names have one of the words, or all.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let home = tempfile::tempdir()?;
    let haft = Haft::build(Profile::Debug, home.path())?;
    let is_meant = |case: &&Case| words.is_empty() || words.iter().any(|word| case.name.contains(word));
    let mut is_good = true;
    for case in servers::CASES.iter().chain(&clients::CASES).chain(&lasting::CASES).filter(is_meant) {
        let stage = Stage::new(&haft, Kit::find()?)?;
        let start = Instant::now();
        let outcome = (case.run)(&stage);
        is_good &= !matches!(outcome, Err(Trouble::Failed(_)));
        println!("{:<44} {:>6.1} s  {}", case.name, start.elapsed().as_secs_f64(), words_for(outcome));
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn words_for(outcome: Result<(), Trouble>) -> String {
    match outcome {
        Ok(()) => "ok".to_owned(),
        Err(Trouble::Skipped(why)) => format!("skipped: {why}"),
        Err(Trouble::Failed(why)) => format!("FAILED: {why}"),
    }
}
