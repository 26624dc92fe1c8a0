//! `cargo xtask git-work`: does what a person approved work, and does nothing happen that was refused?
//!
//! Everyday sequences of git, packages, containers, ssh and databases. Each runs three times in the same place: without haft; by
//! haft's Bash with yes as the answer to each question, which must end the same; and with no, which must leave every byte as it
//! was and say how it can be allowed.

mod sequence; //     a row of the tables
mod git_rows;
mod package_rows;
mod service_rows;
mod services; //     the servers that sequences talk to
mod stand_ins; //    small servers for what cannot run here
mod snapshot; // a tree of files, to be compared

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::{
    account::{Account, Entry},
    row_options::RowOptions,
    set_up,
    terminal::{self, Answer, Transcript},
};
use sequence::{Sequence, Step};
use services::Services;
use snapshot::Snapshot;

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = RowOptions::parse("git-work", words)?;
    let sequences = sequences(&options);
    ensure!(!sequences.is_empty(), "no sequence has such a name");
    if options.lists {
        sequences.iter().for_each(|sequence| println!("{}", sequence.name));
        return Ok(ExitCode::SUCCESS);
    }
    let words = [&["git-work"], words].concat();
    let account = match Account::enter(&words)? {
        Entry::Finished(code) => return Ok(code),
        Entry::Account(account) => account,
    };
    let start = Instant::now();
    let field = Field { services: Services::start(&account.home)?, account };
    let mut failed = 0;
    for sequence in &sequences {
        let problems = field.problems(sequence).unwrap_or_else(|err| vec![format!("{err:#}")]);
        failed += usize::from(!problems.is_empty());
        match problems.as_slice() {
            [] if options.is_verbose => println!("ok   {}", sequence.name),
            [] => {}
            problems => println!("FAIL {}\n       {}", sequence.name, problems.join("\n       ")),
        }
    }
    println!(
        "git-work: {} of {} sequences end as without a sandbox after a yes, and change nothing after a no ({} s)",
        sequences.len() - failed,
        sequences.len(),
        start.elapsed().as_secs()
    );
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn sequences(options: &RowOptions) -> Vec<Sequence> {
    let all = [git_rows::ROWS, package_rows::ROWS, service_rows::ROWS].concat();
    options.select(all, |sequence, word| sequence.name.contains(word))
}

/// A failure shows no more of them.
const SHOWN_DIFFERENCES: usize = 6;

/// The place in which sequences run: the same directory each time, so that paths in files are the same.
struct Field {
    services: Services,
    account: Account,
}

/// The end of all steps of a sequence.
struct Outcome {
    codes: Vec<i32>,
    tree: Snapshot,
    /// Questions and results of haft, which say the reason of a failure.
    talk: Vec<String>,
}

impl Field {
    fn problems(&self, sequence: &Sequence) -> Result<Vec<String>> {
        let expected = self.without_haft(sequence).context("without haft")?;
        let is = self.after_yes(sequence).context("after a yes")?;
        let mut problems = Vec::new();
        if is.codes != expected.codes {
            problems.push(format!("yes: exit codes are {:?}, should be {:?}", is.codes, expected.codes));
        }
        let differences = is.tree.differences(&expected.tree);
        let more = differences.len().saturating_sub(SHOWN_DIFFERENCES);
        problems.extend(differences.iter().take(SHOWN_DIFFERENCES).map(|line| format!("yes: {line}")));
        problems.extend((more > 0).then(|| format!("yes: {more} more names differ")));
        if !problems.is_empty() {
            problems.extend(
                is.talk.iter().map(|text| format!("haft: {}", text.trim().replace('\n', "\n         "))),
            );
        }
        problems.extend(
            self.after_no(sequence).context("after a no")?.into_iter().map(|line| format!("no: {line}")),
        );
        Ok(problems)
    }

    fn without_haft(&self, sequence: &Sequence) -> Result<Outcome> {
        self.set_up(sequence)?;
        let mut codes = Vec::new();
        let mut talk = Vec::new();
        for step in sequence.steps {
            let line = self.services.filled(step.line);
            let mut bash = Command::new("bash");
            bash.args(["-c", &line]).current_dir(self.place().join(step.directory)).stdin(Stdio::null());
            let output = self.in_environment(&mut bash).output()?;
            codes.push(output.status.code().unwrap_or(-1));
            talk.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let tree = Snapshot::meaning(&self.place(), sequence.ignored)?;
        Ok(Outcome { codes, tree, talk })
    }

    fn after_yes(&self, sequence: &Sequence) -> Result<Outcome> {
        self.set_up(sequence)?;
        let mut codes = Vec::new();
        let mut talk = Vec::new();
        for step in sequence.steps {
            let ran = self.call(step, Answer::Yes)?;
            codes.push(exit_code(&ran));
            talk.extend(ran.questions.iter().cloned());
            talk.push(format!("{}{}", ran.stdout, ran.stderr));
        }
        let tree = Snapshot::meaning(&self.place(), sequence.ignored)?;
        Ok(Outcome { codes, tree, talk })
    }

    /// The first step that is asked about is refused, so nothing after it is tried.
    fn after_no(&self, sequence: &Sequence) -> Result<Vec<String>> {
        self.set_up(sequence)?;
        let before = Snapshot::exact(&self.place())?;
        let step = sequence.steps.first().context("a sequence without a step")?;
        let ran = self.call(step, Answer::No)?;
        let mut problems = Snapshot::exact(&self.place())?.differences(&before);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        if ran.questions.is_empty() {
            problems.push(format!("nothing was asked: {said}"));
        } else if ran.success || !is_helpful(&said) {
            problems.push(format!("no sentence that helps: {said}"));
        }
        Ok(problems)
    }

    fn set_up(&self, sequence: &Sequence) -> Result<()> {
        let settings = self.account.home.join(".config/haft/haft.toml");
        fs::write(settings, self.services.filled(sequence.settings))?;
        set_up::fill(&self.place(), &self.services.filled(sequence.set_up))
    }

    fn call(&self, step: &Step, answer: Answer) -> Result<Transcript> {
        let filled = |words: &[&str]| words.iter().map(|word| self.services.filled(word)).collect::<Vec<_>>();
        let mut input = json!({ "command": self.services.filled(step.line) });
        for (name, words) in [("hosts", step.hosts), ("write", step.write)] {
            if !words.is_empty() {
                input[name] = json!(filled(words));
            }
        }
        let directory = self.place().join(step.directory);
        let mut haft = self.account.haft.command(&directory, &["call", "Bash", &input.to_string()]);
        terminal::run(self.in_environment(&mut haft), answer)
    }

    /// Sets the variables of a person's shell.
    fn in_environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SSH_AUTH_SOCK", self.services.filled("{AGENT}"));
        command.env("DOCKER_HOST", self.services.filled("unix://{DOCKER}"));
        command.env("USER", "ada").env("LOGNAME", "ada").env("LANG", "C.UTF-8").env("SHELL", "/bin/bash")
    }

    fn place(&self) -> PathBuf {
        self.account.home.join("field")
    }
}

/// The exit code of the command that Bash ran.
fn exit_code(ran: &Transcript) -> i32 {
    let code = ran
        .stdout
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("[exit code ")?.split([']', ',', ' ']).next()?.parse().ok());
    code.unwrap_or(if ran.success { 0 } else { -1 })
}

/// Whether a refusal says what refused the call, and what can be done.
fn is_helpful(said: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    said.trim().lines().count() >= 2 && has(&["refused", "denied", "declined", "said no"])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn sequences_are_many_and_have_names_of_their_own() {
        let all = sequences(&RowOptions::default());
        let names: BTreeSet<&str> = all.iter().map(|sequence| sequence.name).collect();
        assert!(all.len() >= 60 && names.len() == all.len());
    }

    #[test]
    fn the_exit_code_is_read_from_the_result() {
        let ran = |stdout: &str, success| Transcript {
            success,
            stdout: stdout.to_owned(),
            stderr: String::new(),
            questions: Vec::new(),
        };
        assert_eq!(exit_code(&ran("x\n[exit code 128]\n", false)), 128);
        assert_eq!((exit_code(&ran("x\n", true)), exit_code(&ran("", false))), (0, -1));
    }
}
