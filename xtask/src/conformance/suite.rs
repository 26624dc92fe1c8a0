//! The suite: how it is run, and what it says.

use std::{collections::BTreeSet, process::Command, time::Instant};

use anyhow::{Context, Result};

use crate::kit::Kit;

/// The revisions whose requirements haft has to meet.
pub(super) const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// Longer than any scenario needs on a machine with something else to do.
const PATIENCE: &str = "60000";

/// What a run of the suite found.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Single checks.
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Scenarios that count, and failed.
    pub(super) scored: Vec<String>,
    /// Scenarios that do not count, and failed.
    pub(super) unscored: Vec<String>,
    pub(super) seconds: u64,
}

/// What is tried.
pub(super) enum Subject<'a> {
    /// A server at this address.
    Server(&'a str),
    /// A client, as a command that gets an address.
    Client(&'a str),
}

/// Runs all scenarios that a revision requires.
pub(super) fn run(kit: &Kit, subject: &Subject<'_>, revision: &str) -> Result<Result<Verdict, String>> {
    let command = match command(kit, subject, revision) {
        Ok(command) => command,
        Err(why) => return Ok(Err(why)),
    };
    let start = Instant::now();
    let (mut command, said) = (command, "the suite's output");
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let text = String::from_utf8(output.stdout).context(said)?;
    let verdict = read(&text).map(|verdict| Verdict { seconds: start.elapsed().as_secs(), ..verdict });
    let errors = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = errors.lines().rev().take(3).collect();
    Ok(verdict.ok_or_else(|| {
        format!("the suite ended without a summary ({}): {}", output.status, tail.join(" | "))
    }))
}

fn command(kit: &Kit, subject: &Subject<'_>, revision: &str) -> Result<Command, String> {
    let script = kit.script("@modelcontextprotocol/conformance", "dist/index.js")?;
    let words = match subject {
        Subject::Server(address) => ["server", "--url", address],
        Subject::Client(program) => ["client", "--command", program],
    };
    let mut command = kit.node_command(&script, &words)?;
    command.args(["--requirements", revision, "--timeout", PATIENCE]);
    Ok(command)
}

/// The summary at the end: a line for each scenario, the sum, and those that do not count.
fn read(text: &str) -> Option<Verdict> {
    let (_, summary) =
        text.rsplit_once("=== SUMMARY ===").or_else(|| text.rsplit_once("=== SUITE SUMMARY ==="))?;
    let (scenarios, rest) = summary.split_once("Total:")?;
    let mut numbers =
        rest.lines().next()?.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let (passed, failed) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let names =
        |text: &str| -> BTreeSet<String> { text.lines().filter_map(failure).map(str::to_owned).collect() };
    let (all, uncounted) = (names(scenarios), names(rest));
    let scored = all.difference(&uncounted).cloned().collect();
    Some(Verdict { passed, failed, scored, unscored: uncounted.into_iter().collect(), seconds: 0 })
}

/// The name in `✗ name: 1 passed, 2 failed` or `✗ name (extension)`.
fn failure(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix('✗')?.trim_start();
    rest.split([':', ' ']).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "noise\n=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n✗ caching: 7 passed, 1 failed\n\
        ✗ tasks-lifecycle: 1 passed, 8 failed\n\nTotal: 10 passed, 9 failed\n\n\
        Not scored for 2026-07-28: 1 scenario(s) run, 1 failing.\n  ✗ tasks-lifecycle (extension)\n  ✓ other (pending)\n";

    #[test]
    fn what_does_not_count_is_told_from_what_does() {
        let verdict = read(SAID).expect("a summary");
        assert_eq!((verdict.passed, verdict.failed), (10, 9));
        assert_eq!(verdict.scored, ["caching"]);
        assert_eq!(verdict.unscored, ["tasks-lifecycle"]);
    }

    #[test]
    fn a_run_without_a_summary_is_no_success() {
        assert_eq!(read("Error: connect ECONNREFUSED"), None);
        assert_eq!(read("=== SUMMARY ===\nnothing"), None);
    }
}
