//! `cargo xtask corpora`: does haft judge rightly what it must never judge wrongly?
//!
//! A corpus is a file with a case a line. The corpora are no part of the repository; where they are not, that is said
//! and is no failure. Each has a module that knows how its cases are put to haft.

mod case; //     a case, and what an answer to it is worth
mod paths; //    may this file be touched, and is it the one that is touched?
mod shell; //    may this command line run? (shell.jsonl, redteam.jsonl)
mod urls; //     may this be fetched?
mod secrets; //  is it taken out?
mod source; //   does ordinary source stay as it is?
mod sandbox; //  does it hold?
mod peers; //    what do others say to the same command lines?
mod gtfobins; // what does haft say to snippets that misuse programs?
mod nl2bash; //  how much of a public collection of command lines is asked?
mod stage; //    the directories of a case
mod session; //  a session of haft, in this process

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};

use crate::{
    haft::{Haft, Profile},
    repository::root,
};
use case::{Answer, Case, Worth};

/// How cases are put to haft. The binary is for those that need a process.
type Judge = fn(&Haft, &Case) -> Result<Answer>;

/// A corpus is known by how its file's name begins.
const CORPORA: [(&str, Judge); 6] = [
    ("paths", paths::judge),
    ("redteam", shell::judge),
    ("sandbox", sandbox::judge),
    ("secrets", secrets::judge),
    ("shell", shell::judge),
    ("urls", urls::judge),
];

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    if words.contains(&"--nl2bash") {
        return nl2bash::run(words);
    }
    if let ["--source", directories @ ..] = words {
        return source::run(directories);
    }
    let options = Options::parse(words)?;
    if let Some(directory) = &options.gtfobins {
        return gtfobins::run(directory);
    }
    if !options.directory.is_dir() {
        println!("corpora: skipped, there is no directory {}", options.directory.display());
        return Ok(ExitCode::SUCCESS);
    }
    let home = tempfile::tempdir()?;
    let haft = Haft::build(Profile::Debug, home.path())?;
    let mut failed = false;
    for (name, file) in files(&options)? {
        let cases = Case::read(&file)?;
        let report = Report::of(&haft, &name, &cases)?;
        println!("{}", report.text(&name));
        let missed =
            if name.starts_with("secrets") { secrets::missed(&cases, &report.worths) } else { Vec::new() };
        missed.iter().for_each(|bound| println!("  {bound}"));
        failed |= report.count(Worth::Unsafe) > 0 || !missed.is_empty();
        if options.peers && name.starts_with("shell") {
            compare(&haft, &cases)?;
        }
    }
    sandbox::finish();
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The table of docs/shell.md.
fn compare(haft: &Haft, cases: &[Case]) -> Result<()> {
    println!("| | cases | right | unsafe | over-cautious |\n|---|---|---|---|---|");
    for peer in peers::installed() {
        println!("{}", peer.compare(cases, |case| shell::judge(haft, case))?);
    }
    Ok(())
}

/// What the person asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// Whether programs of others are asked, too.
    peers: bool,
    directory: PathBuf,
    /// Where the snippets of GTFOBins are, if those are judged.
    gtfobins: Option<PathBuf>,
    /// None are all.
    names: Vec<String>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options {
            peers: false,
            directory: root().join("../shared/corpora"),
            gtfobins: None,
            names: Vec::new(),
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--peers" => options.peers = true,
                "--dir" => options.directory = words.next().context("--dir needs a directory")?.into(),
                "--gtfobins" => {
                    options.gtfobins = Some(words.next().context("--gtfobins needs a directory")?.into());
                }
                name => options.names.push(name.to_owned()),
            }
        }
        Ok(options)
    }
}

/// The files that were asked for, by name.
fn files(options: &Options) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(&options.directory)? {
        let path = entry?.path();
        files.extend(name_of(&path).map(|name| (name, path.clone())));
    }
    for wanted in &options.names {
        let place = options.directory.display();
        files.get(wanted).with_context(|| format!("there is no {wanted}.jsonl in {place}"))?;
    }
    files.retain(|name, _| options.names.is_empty() || options.names.contains(name));
    Ok(files)
}

fn name_of(path: &Path) -> Option<String> {
    let is_corpus = path.extension().is_some_and(|extension| extension == "jsonl");
    is_corpus.then(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
}

/// What became of a corpus.
#[derive(Default)]
struct Report {
    worths: Vec<Worth>,
    complaints: Vec<String>,
    /// Why cases were skipped, and how many.
    skips: BTreeMap<String, usize>,
}

impl Report {
    fn of(haft: &Haft, corpus: &str, cases: &[Case]) -> Result<Report> {
        let judge = CORPORA.iter().find(|(name, _)| corpus.starts_with(name)).map(|(_, judge)| *judge);
        let judge = judge.unwrap_or(|_, _| Ok(Answer::skipped("no module of xtask/src/corpora knows it")));
        let mut report = Report::default();
        for case in cases {
            report.add(case, &judge(haft, case).with_context(|| case.id.clone())?);
        }
        Ok(report)
    }

    fn add(&mut self, case: &Case, answer: &Answer) {
        let worth = case.worth(answer);
        self.worths.push(worth);
        match (worth, answer) {
            (Worth::Unsafe | Worth::OverCautious, _) => self.complaints.push(case.complaint(worth, answer)),
            (_, Answer::Skipped(why)) => *self.skips.entry(why.clone()).or_default() += 1,
            _ => {}
        }
    }

    fn count(&self, worth: Worth) -> usize {
        self.worths.iter().filter(|one| **one == worth).count()
    }

    fn text(&self, name: &str) -> String {
        let mut lines = vec![format!(
            "{name} cases={} passed={} unsafe={} over_cautious={} skipped={}",
            self.worths.len(),
            self.count(Worth::Passed),
            self.count(Worth::Unsafe),
            self.count(Worth::OverCautious),
            self.count(Worth::Skipped),
        )];
        lines.extend(self.complaints.iter().cloned());
        lines.extend(self.skips.iter().map(|(why, count)| format!("  {count} skipped: {why}")));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_directory_and_names_are_understood() {
        let options = Options::parse(&["--dir", "/x", "paths", "urls"]).unwrap();
        assert_eq!(
            (options.directory, options.names),
            (PathBuf::from("/x"), vec!["paths".to_owned(), "urls".to_owned()])
        );
        assert!(Options::parse(&["--dir"]).is_err());
    }

    #[test]
    fn the_report_counts_complains_and_says_each_reason_once() {
        let line =
            json!({ "id": "x-1", "group": "g", "kind": "k", "input": "a b", "expect": "ask", "why": "" });
        let case: Case = serde_json::from_value(line).unwrap();
        let mut report = Report::default();
        for answer in [
            Answer::said("ask", ""),
            Answer::said("allow", "a rule\nmore"),
            Answer::skipped("no tool"),
            Answer::skipped("no tool"),
        ] {
            report.add(&case, &answer);
        }
        assert_eq!(
            report.text("paths"),
            "paths cases=4 passed=1 unsafe=1 over_cautious=0 skipped=2\n  \
             x-1 g k \"a b\": UNSAFE; expected ask, got allow (a rule)\n  \
             2 skipped: no tool"
        );
    }
}
