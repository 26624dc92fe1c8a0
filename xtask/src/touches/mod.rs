//! `cargo xtask touches`: do commands touch what haft foresaw, and nothing else?
//!
//! Every command line of the shell corpus that haft understands, and that is safe to run, is run in the sandbox on a
//! small repository, watched by strace. Every file of the workspace that it tried to open must be among the effects that
//! were foreseen, and what was called read-only must leave the workspace as it was.

pub(crate) mod sample; //  the repository that they run in
pub(crate) mod trace; //   what strace saw

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use haft_shell::understand;
use haft_tool::{Access, Class, Effects, PathEffect, by_text};
use serde_json::Value;

use crate::{
    haft::{Haft, Profile, watch},
    repository::{is_there, root},
};
use sample::Sample;
use trace::Tried;

/// Programs that change files, and say all of them in their words.
const CHANGERS: [&str; 12] =
    ["cp", "mv", "mkdir", "touch", "rm", "rmdir", "tee", "ln", "truncate", "chmod", "sed", "install"];

/// What every program of a family looks at, wherever it runs.
const LOOKED_AT: [(&str, &[&str]); 3] = [
    ("git", &[".git", ".gitattributes", ".gitignore", ".gitmodules", ".mailmap"]),
    ("rg", &[".gitignore", ".ignore", ".rgignore", ".git"]),
    ("fd", &[".gitignore", ".ignore", ".fdignore", ".git"]),
];

const LIMIT: Duration = Duration::from_secs(10);

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(words)?;
    let file = options.directory.join("shell.jsonl");
    if !file.is_file() {
        println!("touches: skipped, there is no file {}", file.display());
        return Ok(ExitCode::SUCCESS);
    }
    if !is_there(Command::new("strace").arg("-V")) {
        println!("touches: skipped, strace is not installed");
        return Ok(ExitCode::SUCCESS);
    }
    let home = tempfile::tempdir()?;
    let haft = Haft::build(Profile::Debug, home.path())?;
    let lines = command_lines(&std::fs::read_to_string(&file)?)?;
    let lines: Vec<String> = lines.into_iter().step_by(options.every).collect();
    let (mut ran, mut complaints) = (0, Vec::new());
    for line in &lines {
        let sample = Sample::new()?;
        let effects = understand(line, &sample.base()).effects();
        if !is_safe_to_run(&effects, &sample) {
            continue;
        }
        ran += 1;
        complaints.extend(
            observe(&haft, &sample, line, &effects)?.into_iter().map(|what| format!("  {line:?}: {what}")),
        );
    }
    println!("touches: {} command lines, {ran} run, {} surprises", lines.len(), complaints.len());
    complaints.iter().for_each(|complaint| println!("{complaint}"));
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the person asked for.
struct Options {
    directory: PathBuf,
    /// Only every so many-th command line.
    every: usize,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Options> {
        let mut options = Options { directory: root().join("../shared/corpora"), every: 1 };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--dir" => options.directory = words.next().context("--dir needs a directory")?.into(),
                "--every" => {
                    options.every = words.next().context("--every needs a number")?.parse::<usize>()?.max(1)
                }
                word => bail!("`{word}` is not understood"),
            }
        }
        Ok(options)
    }
}

fn command_lines(text: &str) -> Result<BTreeSet<String>> {
    let mut lines = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line)?;
        lines.extend(case["input"].as_str().map(str::to_owned));
    }
    Ok(lines)
}

/// Understood to the last word, and made of programs whose words say all that they do.
fn is_safe_to_run(effects: &Effects, sample: &Sample) -> bool {
    let is_told = |argv: &[String]| argv.first().is_some_and(|program| CHANGERS.contains(&program.as_str()));
    let mut commands = effects.commands().iter();
    // What would be written elsewhere is not tried: the sandbox is here to be a second wall, not the only one.
    let stays = |effect: &PathEffect| {
        effect.access == Access::Read || real(&effect.path).starts_with(sample.workspace())
    };
    !effects.is_unknown()
        && effects.paths().iter().all(stays)
        && effects.hosts().is_empty()
        && commands.all(|command| command.class == Class::ReadOnly || is_told(&command.argv))
}

/// Runs a command line, and says what was not foreseen.
fn observe(haft: &Haft, sample: &Sample, line: &str, effects: &Effects) -> Result<Vec<String>> {
    surprises(haft, sample, line, effects, &|tried| is_foreseen(tried, effects, sample))
}

/// The same by another idea of what was foreseen.
pub(crate) fn surprises(
    haft: &Haft,
    sample: &Sample,
    line: &str,
    effects: &Effects,
    is_foreseen: &dyn Fn(&Tried) -> bool,
) -> Result<Vec<String>> {
    let before = sample.contents()?;
    let log = sample.root().join("trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y", "-Y", "-s", "4096", "-e", "trace=%file,connect", "-o"]).arg(&log);
    let sandboxed = haft.command(&sample.workspace(), &[]);
    strace
        .arg(sandboxed.get_program())
        .args(["sandbox", "--network", "off", "--write"])
        .arg(sample.workspace());
    // What goes on for ever must end by itself: to kill strace is to let go of what it watches.
    let limit = format!("{}s", LIMIT.as_secs() / 2);
    strace.args(["--", "env", "GIT_OPTIONAL_LOCKS=0", "timeout", "-k", "1s", &limit, "bash", "-c", line]);
    strace
        .current_dir(sample.workspace())
        .env_clear()
        .envs(sandboxed.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("HOME", sample.home());
    strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    watch(&mut strace, LIMIT)?;
    let tried = trace::read(&log, &sample.workspace()).context("what strace wrote")?;
    let mut surprises: Vec<String> =
        tried.iter().filter(|tried| !is_foreseen(tried)).map(ToString::to_string).collect();
    if effects.is_read_only() && sample.contents()? != before {
        surprises.push("it was called read-only and changed something".to_owned());
    }
    surprises.dedup();
    Ok(surprises)
}

pub(crate) fn is_foreseen(tried: &Tried, effects: &Effects, sample: &Sample) -> bool {
    let Tried::Path { path, access } = tried else { return false };
    if !path.starts_with(sample.workspace()) {
        // Elsewhere a command writes into a layer of its own, which is gone with it: nothing may be left.
        return *access == Access::Read || !path.starts_with(sample.root()) || !path.exists();
    }
    let covers = |effect: &PathEffect| {
        let place = real(&effect.path);
        path.starts_with(&place) && (*access == Access::Read || effect.access == Access::Write)
    };
    effects.paths().iter().any(covers)
        || is_own_draft(path, effects)
        || *access == Access::Read && is_looked_at(path, effects, sample)
}

/// `sed -i` writes beside its file before it takes the file's name.
fn is_own_draft(path: &Path, effects: &Effects) -> bool {
    let is_draft = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with("sed") && name.len() == 9);
    let beside =
        |effect: &PathEffect| effect.access == Access::Write && effect.path.parent() == path.parent();
    is_draft && effects.paths().iter().any(beside)
}

fn is_looked_at(path: &Path, effects: &Effects, sample: &Sample) -> bool {
    // Whoever runs anywhere looks at the directory itself.
    if path == sample.workspace() {
        return true;
    }
    let names = |program: &str| {
        LOOKED_AT.iter().find(|(name, _)| *name == program).map_or(&[][..], |(_, names)| names)
    };
    let programs = effects.commands().iter().filter_map(|command| command.argv.first());
    let base = |program: &str| program.rsplit('/').next().unwrap_or_default().to_owned();
    let is_own = |program: &String| {
        let program = base(program);
        // git compares whatever is tracked.
        program == "git"
            || names(&program).iter().any(|name| path.components().any(|part| part.as_os_str() == *name))
    };
    programs.into_iter().any(is_own)
}

/// A path without `.`, `..` and links, as strace shows what was opened.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| by_text(path))
}
