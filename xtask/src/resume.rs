//! `cargo xtask resume`: does a conversation that was killed go on, and is nothing done twice?
//!
//! In each round a scripted model has haft append lines, write and edit files, while haft is killed at random moments and
//! resumed, until the model has answered. Every line may be there once at most; one whose call the model was told to have
//! worked is there exactly once.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use haft_model::scripted::Turn;
use serde_json::{Value, json};

use crate::{
    haft::{Haft, Profile},
    scripted::ScriptedModel,
};

const ROUNDS: u32 = 100;
/// So many turns with calls a conversation has.
const STEPS: usize = 6;
/// So often a round is killed at most, before it is left alone.
const KILLS: u32 = 4;
/// No run that is left alone takes so long.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let rounds = match words {
        [] => ROUNDS,
        ["--rounds", number] => number.parse().context("--rounds needs a number")?,
        _ => bail!("resume takes --rounds N and nothing else"),
    };
    let directory = tempfile::Builder::new().prefix("haft-resume-").tempdir()?;
    let root = directory.path().canonicalize()?;
    let model = ScriptedModel::start(|_, body| next(body))?;
    let mut field =
        Field { haft: Haft::build(Profile::Debug, root.join("home"))?, model, root, whole: Duration::ZERO };
    field.whole = field.calibrate()?;
    let mut tally = Tally::default();
    for round in 0..rounds {
        if let Err(problem) = field.round(round, &mut tally) {
            println!("resume: round {round}: {problem:#}");
            println!("resume: everything is kept in {}", directory.keep().display());
            return Ok(ExitCode::FAILURE);
        }
    }
    let Tally { kills, resumed, unknown } = tally;
    println!(
        "resume: {rounds} conversations, killed {kills} times, resumed {resumed} times, {unknown} calls told as cut off, none made twice"
    );
    Ok(ExitCode::SUCCESS)
}

#[derive(Default)]
struct Tally {
    kills: u32,
    resumed: u32,
    unknown: usize,
}

/// What the model says next: the step is told by how many it has made, so that it goes on wherever it was cut off.
fn next(body: &str) -> Turn {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let has_call =
        |message: &&Value| message["role"] == "assistant" && message.to_string().contains("\"tool_use\"");
    let step = messages.iter().filter(has_call).count();
    let pause = Duration::from_millis(3);
    if step == STEPS {
        return Turn::new().text("All ").pause(pause).text("done.");
    }
    let append = json!({ "command": format!("echo {step} >> log-{step}") });
    let write = json!({ "file_path": format!("written-{step}"), "content": format!("{step}\n") });
    let turn = Turn::new().text(format!("Step {step}. ")).pause(pause);
    // Ids come again in every message, as with some servers.
    match step % 3 {
        0 => turn.call("Bash", append),
        1 => turn.call("Bash", append).pause(pause).call("Write", write),
        _ => turn.call("Read", json!({ "file_path": "given" })).call("Bash", append).pause(pause).text("So."),
    }
}

struct Field {
    haft: Haft,
    model: ScriptedModel,
    root: PathBuf,
    /// How long a conversation takes that nobody kills.
    whole: Duration,
}

impl Field {
    fn calibrate(&self) -> Result<Duration> {
        let workspace = self.workspace("calibration")?;
        let start = Instant::now();
        self.finish(&workspace, "calibration", &["--session", "calibration", "Work"])?;
        let whole = start.elapsed();
        self.check(&workspace)?;
        Ok(whole)
    }

    fn workspace(&self, name: &str) -> Result<PathBuf> {
        let workspace = self.root.join(name);
        fs::create_dir_all(workspace.join(".git"))?;
        fs::write(workspace.join("given"), "given\n")?;
        Ok(workspace)
    }

    fn round(&self, round: u32, tally: &mut Tally) -> Result<()> {
        let id = format!("round-{round}");
        let workspace = self.workspace(&id)?;
        self.model.take();
        let first = ["--session", &*id, "Work"];
        let again = ["--resume", &*id];
        let mut words = &first[..];
        for _ in 0..fastrand::u32(1..=KILLS) {
            let mut child = self.command(&workspace, words).spawn()?;
            thread::sleep(self.whole.mul_f64(fastrand::f64()));
            if child.try_wait()?.is_none() {
                child.kill()?;
                tally.kills += 1;
            }
            child.wait()?;
            words = if self.is_known(&workspace, &id)? { &again } else { &first };
        }
        tally.resumed += u32::from(words == again);
        self.finish(&workspace, &id, words)?;
        tally.unknown += self.check(&workspace)?;
        Ok(())
    }

    fn command(&self, workspace: &Path, words: &[&str]) -> Command {
        let options = self.model.options();
        let options = options.iter().map(String::as_str);
        let line: Vec<&str> = ["run", "--allow", "Bash", "--allow", "Edit(**)"]
            .into_iter()
            .chain(options)
            .chain(words.iter().copied())
            .collect();
        self.haft.command(workspace, &line)
    }

    /// Whether anything was said in the session. If not, nothing may have been done in it.
    fn is_known(&self, workspace: &Path, id: &str) -> Result<bool> {
        let mut log = self.haft.command(workspace, &["sessions", "--json", "--limit", "100000"]);
        let output = log.stdout(Stdio::piped()).output()?;
        let is_known = String::from_utf8_lossy(&output.stdout).contains(&format!("\"{id}\""));
        ensure!(is_known || !workspace.join("log-0").exists(), "{id} is not known, and did something");
        Ok(is_known)
    }

    /// Lets it come to its end.
    fn finish(&self, workspace: &Path, id: &str, words: &[&str]) -> Result<()> {
        let mut command = self.command(workspace, words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let start = Instant::now();
        while child.try_wait()?.is_none() {
            if start.elapsed() > PATIENCE {
                child.kill()?;
                bail!("{id} does not end");
            }
            thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output()?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(
            output.status.success() && out == "All done.\n",
            "{id} ends with {}: {out} {err}",
            output.status
        );
        Ok(())
    }

    /// What was done, against what the model was told. Gives how many calls it was told to be unknown.
    fn check(&self, workspace: &Path) -> Result<usize> {
        let asked = self.model.take();
        let body: Value = serde_json::from_str(&asked.last().context("nothing was asked")?.body)?;
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let mut unknown = 0;
        for (index, message) in messages.iter().enumerate() {
            for block in message["content"].as_array().into_iter().flatten() {
                let Some(command) = block["input"]["command"].as_str() else { continue };
                let step = command.split_whitespace().nth(1).context("a step")?;
                let told = result(&messages, index, &block["id"])?;
                let found = fs::read_to_string(workspace.join(format!("log-{step}"))).unwrap_or_default();
                let times = found.lines().count();
                let worked = told["is_error"] != json!(true);
                unknown += usize::from(!worked);
                ensure!(times <= 1, "step {step} was done {times} times");
                ensure!(!worked || times == 1, "step {step} was told to have worked, and is not there");
            }
        }
        Ok(unknown)
    }
}

fn result<'m>(messages: &'m [Value], index: usize, id: &Value) -> Result<&'m Value> {
    let answers = messages.get(index + 1).and_then(|message| message["content"].as_array());
    let found = answers.and_then(|blocks| blocks.iter().find(|block| block["tool_use_id"] == *id));
    found.with_context(|| format!("the call {id} of message {index} has no result"))
}
