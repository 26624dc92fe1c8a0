//! `cargo xtask bench`: is haft as quick as it says?
//!
//! The engine is measured against fixed budgets. The tools are measured against programs that do the same work, in the
//! same run and in turns, so that what disturbs the machine disturbs both; what counts is the shortest time of each.

mod engine; //  a call without a tool
mod search; //  Grep and Glob against rg and fd
mod tree; //    the tree that they search
mod read; //    Read against sed
mod edit; //    Edit against cp
mod sandbox; // a confined command against the same without
mod gateway; // a call through haft mcp against a call without
mod harness; // the loop, between a model's answer and the next request
mod journal; // recording calls, and finding them
mod undo; //    keeping what they change
mod peers; //   the programs to be compared with
mod table; //   who took how long, and what was promised

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{
    haft::{Haft, Profile},
    repository::{cargo, metadata},
};

pub(crate) use gateway::serve as serve_echo;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Engine,
    Search,
    Read,
    Edit,
    Sandbox,
    Gateway,
    Harness,
    Journal,
    Undo,
}

const ALL: [(&str, Subject); 9] = [
    ("engine", Subject::Engine),
    ("search", Subject::Search),
    ("read", Subject::Read),
    ("edit", Subject::Edit),
    ("sandbox", Subject::Sandbox),
    ("gateway", Subject::Gateway),
    ("harness", Subject::Harness),
    ("journal", Subject::Journal),
    ("undo", Subject::Undo),
];

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(words)?;
    let is_part_of_it =
        |subject: &Subject| matches!(subject, Subject::Search | Subject::Gateway | Subject::Harness);
    if cfg!(debug_assertions) && options.subjects.iter().any(is_part_of_it) {
        // Part of it is measured in this process, which therefore has to be as quick as what it measures.
        let again = cargo(&["run", "--quiet", "--profile=bench", "--package", "xtask", "--", "bench"])
            .args(words)
            .status()?;
        return Ok(if again.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let mut are_kept = true;
    for subject in &options.subjects {
        are_kept &= match subject {
            Subject::Engine => engine::run()?,
            tool => compare(*tool, &options)?,
        };
    }
    // Only a strict run fails: a busy machine is slow. What the gateway adds is a difference, which is not.
    let is_strict = options.strict || options.subjects.contains(&Subject::Gateway);
    Ok(if are_kept || !is_strict { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures a tool, prints the table, and says whether every bound was kept. That a peer is not here breaks none, unless
/// somebody wants to know for certain.
fn compare(subject: Subject, options: &Options) -> Result<bool> {
    let place = metadata()?.target_directory.join("bench");
    std::fs::create_dir_all(&place)?;
    // What is built quickly also shows whether a sandbox has become slow.
    let is_quick = cfg!(debug_assertions) && subject == Subject::Sandbox;
    let profile = if is_quick { Profile::Debug } else { Profile::Release };
    let haft = Haft::build(profile, place.join("home"))?;
    let rows = match subject {
        Subject::Search => search::rows(&haft, &place, options.install)?,
        Subject::Read => read::rows(&haft, &place)?,
        Subject::Edit => edit::rows(&haft, &place)?,
        Subject::Sandbox => sandbox::rows(&haft, &place)?,
        Subject::Gateway => gateway::rows(&haft, &place)?,
        Subject::Harness => harness::rows(&haft, &place, options)?,
        Subject::Journal => journal::rows(&haft, &place)?,
        Subject::Undo => undo::rows()?,
        Subject::Engine => Vec::new(),
    };
    println!("{}", table::text(&rows));
    Ok(rows.iter().all(|row| row.is_kept() || (!options.strict && !row.is_over())))
}

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    subjects: Vec<Subject>,
    strict: bool,
    install: bool,
    /// The one scene of the harness that is wanted.
    only: Option<String>,
    /// Whether the harness is compared with other agents.
    peers: bool,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options> {
        let mut options =
            Options { subjects: Vec::new(), strict: false, install: false, only: None, peers: false };
        for word in words {
            match (*word, ALL.iter().find(|(name, _)| name == word)) {
                ("--check", _) => options.strict = true,
                ("--install", _) => options.install = true,
                ("--peers", _) => options.peers = true,
                (word, _) if word.starts_with("--only=") => {
                    options.only = Some(word["--only=".len()..].to_owned())
                }
                ("all", _) => options.subjects.extend(ALL.map(|(_, subject)| subject)),
                (_, Some((_, subject))) => options.subjects.push(*subject),
                (other, None) => {
                    bail!(
                        "`{other}` is no bench; there are engine, search, read, edit, sandbox, gateway, harness, journal, undo and all"
                    )
                }
            }
        }
        if options.subjects.is_empty() {
            options.subjects.push(Subject::Engine);
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_meant_where_nothing_is_said() {
        assert_eq!(Options::parse(&["--check"]).unwrap().subjects, [Subject::Engine]);
        assert_eq!(Options::parse(&["read", "edit"]).unwrap().subjects, [Subject::Read, Subject::Edit]);
        assert_eq!(Options::parse(&["all"]).unwrap().subjects.len(), 9);
        assert!(Options::parse(&["everything"]).is_err());
    }
}
