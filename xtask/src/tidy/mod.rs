//! `cargo xtask tidy`: do the invariants of ARCHITECTURE.md hold?
//!
//! Only those that neither the compiler nor a lint can see. Each check reads a [`Tree`] and says where it is broken.

mod arrows; //    who may depend on whom
mod sources; //   what may stand in which file
mod licences; //  whose code we may ship
mod tree; //      the repository, read once

use std::{fmt, process::ExitCode};

use anyhow::Result;

use tree::Tree;

type Check = fn(&Tree) -> Vec<Violation>;

const CHECKS: [(&str, Check); 14] = [
    ("crates depend only upwards", arrows::direction),
    ("every crate has a place", arrows::places),
    ("the testkit is for tests", arrows::testkit),
    ("a library stays in its crate", arrows::kept_apart),
    ("what is banned is not used", arrows::banned),
    ("licences are allowed", licences::allowed),
    ("deciding is pure", sources::pure_policy),
    ("one crate knows a provider's JSON", sources::wire_words),
    ("no unsafe code", sources::no_unsafe),
    ("no endless file", sources::short_files),
    ("a crate begins with what it is", sources::heads),
    ("a tool is registered", sources::registered_tools),
    ("nothing is called utils", sources::names),
    ("fuzz targets have seeds", sources::fuzz_seeds),
];

pub(crate) fn run() -> Result<ExitCode> {
    let tree = Tree::read()?;
    let mut broken = 0;
    for (name, check) in CHECKS {
        let violations = check(&tree);
        for violation in &violations {
            println!("{violation} ({name})");
        }
        broken += usize::from(!violations.is_empty());
    }
    if broken > 0 {
        println!("tidy: {broken} of {} checks failed", CHECKS.len());
        return Ok(ExitCode::FAILURE);
    }
    println!("tidy: {} checks passed", CHECKS.len());
    Ok(ExitCode::SUCCESS)
}

/// A place where an invariant does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    /// The file, from the root.
    file: String,
    /// From 1.
    line: usize,
    problem: String,
}

impl Violation {
    fn new(file: impl Into<String>, line: usize, problem: impl Into<String>) -> Violation {
        Violation { file: file.into(), line, problem: problem.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.problem)
    }
}

#[cfg(test)]
#[track_caller]
fn expect(violations: &[Violation], expected: &[&str]) {
    let found: Vec<String> = violations.iter().map(Violation::to_string).collect();
    assert_eq!(found, expected);
}
