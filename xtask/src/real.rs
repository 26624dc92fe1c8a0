//! `cargo xtask real`: does a real model do things with haft?
//!
//! A small one that runs on this machine drives real tools through `haft run`, in each API that it speaks. It is asked
//! only for what it is sure to do; how it says so is its own. Without it the chore is skipped, with the reason.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{
    haft::{Haft, Profile},
    repository::root,
};

const PORT: &str = "8970";
/// A turn takes seconds, on a machine that does other things as well up to a minute.
const PATIENCE: Duration = Duration::from_secs(600);
/// The tools that it is offered: with more it chooses badly.
const HIDDEN: [&str; 8] = ["Grep", "Glob", "List", "Stat", "WebFetch", "ApplyPatch", "Repl", "Edit"];

/// What it is asked for, and the calls that must have worked then.
const TASKS: [(&str, &[&str]); 2] = [
    ("Read the file src/main.rs", &["Read"]),
    ("Read the file src/main.rs\nRead the file notes.txt", &["Read", "Read"]),
];

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let directory = match words {
        [] => root().join("../shared/model"),
        ["--dir", directory] => PathBuf::from(directory),
        _ => bail!("real takes --dir DIR and nothing else"),
    };
    let script = directory.join("serve.sh");
    if !script.exists() {
        println!("real: skipped: there is no model at {}", directory.display());
        return Ok(ExitCode::SUCCESS);
    }
    let url = match serve(&script) {
        Ok(url) => url,
        Err(why) => {
            println!("real: skipped: the model does not start: {why:#}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let place = tempfile::Builder::new().prefix("haft-real-").tempdir()?;
    let tried = try_all(&place.path().canonicalize()?, &url);
    let stopped = Command::new(&script).arg("stop").stdout(Stdio::null()).status();
    println!("real: {}", tried?);
    ensure!(stopped?.success(), "the model does not stop");
    Ok(ExitCode::SUCCESS)
}

fn serve(script: &Path) -> Result<String> {
    let started = Command::new(script).args(["start", PORT]).stderr(Stdio::inherit()).output()?;
    ensure!(started.status.success(), "{} ends with {}", script.display(), started.status);
    let said = String::from_utf8(started.stdout)?;
    Ok(said.lines().last().context("it prints no address")?.trim().to_owned())
}

fn try_all(root: &Path, url: &str) -> Result<String> {
    let haft = Haft::build(Profile::Debug, root.join("home"))?;
    let project = root.join("project");
    fs::create_dir_all(project.join(".git"))?;
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("src/main.rs"), "fn main() {}\n")?;
    fs::write(project.join("notes.txt"), "some notes\n")?;
    let mut calls = 0;
    for dialect in ["openai", "responses", "anthropic"] {
        for (task, expected) in TASKS {
            let done = done(&haft, &project, &["--dialect", dialect, "--base-url", url, task])
                .with_context(|| format!("{dialect}: {task}"))?;
            ensure!(done == expected, "{dialect}: {task}: it made {done:?}, not {expected:?}");
            calls += done.len();
        }
    }
    Ok(format!("{calls} calls in 3 APIs"))
}

/// Has it do a task: the calls that worked.
fn done(haft: &Haft, project: &Path, words: &[&str]) -> Result<Vec<String>> {
    let mut line = vec!["run", "--output", "stream-json", "-q", "--max-turns", "6"];
    line.extend(HIDDEN.iter().flat_map(|tool| ["--deny", tool]));
    line.extend(words);
    let mut child = haft.command(project, &line).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let output = std::thread::scope(|scope| -> Result<String> {
        let mut stdout = child.stdout.take().context("stdout")?;
        let reader = scope.spawn(move || std::io::read_to_string(&mut stdout));
        let start = std::time::Instant::now();
        while child.try_wait()?.is_none() {
            if start.elapsed() > PATIENCE {
                child.kill()?;
                bail!("it does not end");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(reader.join().map_err(|_| anyhow::anyhow!("a thread broke down"))??)
    })?;
    let lines: Vec<Value> = output.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let last = lines.last().context("it says nothing")?;
    ensure!(last["end"] == "answered" && last["text"] != "", "it ends with {last}");
    let worked = |line: &&Value| line["type"] == "finished" && line["result"]["is_error"] == false;
    let name = |line: &Value| line["result"]["tool"].as_str().unwrap_or_default().to_owned();
    Ok(lines.iter().filter(worked).map(name).collect())
}
