//! `cargo xtask conformance`: does haft speak the protocol as the official suite says, on both sides and in both eras?
//!
//! The suite is run against a server of ours that has all it asks for, then against the same server behind haft's door and behind
//! the real binary as a gateway: what fails there and not on the bare server is haft's fault. And it plays the server for a
//! client that is built on haft's own connections. A scenario that counts and fails makes the chore fail.

mod suite; //    how the suite is run, and what it says

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Result, bail};

use crate::{
    haft::{Haft, Profile},
    kit::Kit,
    repository::{cargo, metadata, succeeds},
    serving::{Serving, gateway},
};
use suite::{REVISIONS, Subject, Verdict};

/// What can be tried, in the order in which it is.
const RUNS: [(&str, Side); 4] =
    [("fixture", Side::Fixture), ("door", Side::Door), ("gateway", Side::Gateway), ("client", Side::Client)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The server that all others stand in front of.
    Fixture,
    /// The same behind haft's door, in one process.
    Door,
    /// The same behind the real binary, by HTTP.
    Gateway,
    /// A client on haft's connections.
    Client,
}

/// `cargo xtask conformance [NAME…]`.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let sides = chosen(words)?;
    let kit = Kit::find()?;
    if let Err(why) = kit.script("@modelcontextprotocol/conformance", "dist/index.js").and(kit.node()) {
        println!("conformance: skipped: {why}");
        return Ok(ExitCode::SUCCESS);
    }
    let examples = build()?;
    let mut is_good = true;
    println!("{:<10} {:<11} {:>7} {:>7} {:>7} {:>5}", "run", "revision", "passed", "failed", "scored", "s");
    for (name, side) in sides {
        for revision in REVISIONS {
            is_good &= show(name, revision, attempt(&kit, &examples, side, revision)?);
        }
    }
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn chosen(words: &[&str]) -> Result<Vec<(&'static str, Side)>> {
    for word in words {
        if !RUNS.iter().any(|(name, _)| name == word) {
            bail!("`{word}` is no run; there are fixture, door, gateway and client");
        }
    }
    Ok(RUNS.into_iter().filter(|(name, _)| words.is_empty() || words.contains(name)).collect())
}

/// Builds our server and our client, and says where they are.
fn build() -> Result<PathBuf> {
    let words = ["build", "--quiet", "--locked", "--package", "haft-mcp", "--examples"];
    if !succeeds(&mut cargo(&words))? {
        bail!("the server and the client for the suite do not build");
    }
    Ok(metadata()?.target_directory.join("debug/examples"))
}

fn attempt(kit: &Kit, examples: &Path, side: Side, revision: &str) -> Result<Result<Verdict, String>> {
    let server = examples.join("conformance_server");
    let listen = ["--listen", "127.0.0.1:0"];
    match side {
        Side::Client => {
            let client = examples.join("conformance_client").display().to_string();
            suite::run(kit, &Subject::Client(&client), revision)
        }
        Side::Fixture => {
            let serving = Serving::start(Command::new(server).args(listen))?;
            suite::run(kit, &Subject::Server(&serving.address), revision)
        }
        Side::Door => {
            let serving = Serving::start(Command::new(server).arg("--door").args(listen))?;
            suite::run(kit, &Subject::Server(&serving.address), revision)
        }
        Side::Gateway => {
            let home = tempfile::tempdir()?;
            let haft = Haft::build(Profile::Debug, home.path())?;
            let upstream = Serving::start(Command::new(server).args(listen))?;
            let serving = gateway(&haft, home.path(), &upstream.address)?;
            suite::run(kit, &Subject::Server(&serving.address), revision)
        }
    }
}

/// A line of the table. Says whether nothing that counts failed.
fn show(name: &str, revision: &str, outcome: Result<Verdict, String>) -> bool {
    match outcome {
        Err(why) => {
            println!("{name:<10} {revision:<11} {why}");
            false
        }
        Ok(Verdict { passed, failed, scored, unscored, seconds }) => {
            let bad = scored.len();
            println!("{name:<10} {revision:<11} {passed:>7} {failed:>7} {bad:>7} {seconds:>5}");
            for (word, names) in [("failed", &scored), ("not scored", &unscored)] {
                if !names.is_empty() {
                    println!("{:<10} {word}: {}", "", names.join(", "));
                }
            }
            scored.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_runs_are_meant_where_none_is_named() {
        assert_eq!(chosen(&[]).unwrap().len(), RUNS.len());
        assert_eq!(chosen(&["client"]).unwrap(), [("client", Side::Client)]);
        assert!(chosen(&["clients"]).is_err());
    }
}
