//! The journal under the same treatment: is what was said to have happened recorded, and does nothing happen twice?
//!
//! A turn of edits, commands, large results and calls of a server is killed at random, then sent again and left alone. Every
//! command adds a line of its own to a file, and every call of the server to the server's book, so that a side effect that
//! happens twice is seen.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::undo::{Tree, there_and_back, tree};
use crate::haft::Haft;

const SESSION: &str = "journal";
const OPTIONS: [&str; 8] =
    ["--session", SESSION, "--allow", "Edit(**)", "--allow", "Bash", "--allow", "mcp__kept"];
/// The server, which is the one of `soak`.
const SERVER: &str = "kept";
/// Where commands leave their lines.
const LINES: &str = "lines.txt";
/// So many lines are in a large result.
const SPILLED: u32 = 30_000;
/// So many of each kind of call are in a turn.
const EACH: usize = 4;

/// How much a run has proved.
#[derive(Default)]
pub(super) struct Tally {
    rounds: u32,
    alive: u32,
    /// Calls that had said that they were done when the process was killed.
    finished: usize,
    /// Calls of which nobody knows how far they came.
    interrupted: usize,
    /// Calls that were answered from the journal when they were sent again.
    recalled: usize,
}

impl Tally {
    /// How many kills met a process at work.
    pub(super) fn alive(&self) -> u32 {
        self.alive
    }

    pub(super) fn text(&self) -> String {
        let Tally { rounds, alive, finished, interrupted, recalled } = self;
        format!(
            "journal: {rounds} rounds, {alive} killed at work; {finished} calls had finished and are all recorded, \
             {recalled} were recalled, {interrupted} were cut off, none was made twice; all was taken back and made again"
        )
    }
}

/// Where it happens.
pub(super) struct Field {
    haft: Haft,
    workspace: PathBuf,
    message: PathBuf,
    state: PathBuf,
    /// Where the server has its book: nowhere that is taken back.
    servers: PathBuf,
    whole: Duration,
    round: u32,
    /// What was there before the session, and must be there when all of it is taken back.
    first: Tree,
}

impl Field {
    pub(super) fn new(haft: &Haft, root: &Path) -> Result<Field> {
        let home = root.join("journal-home");
        let mut field = Field {
            haft: haft.at(&home),
            workspace: root.join("journal-ws"),
            message: root.join("journal-message.json"),
            state: home.join(".local/state/haft"),
            servers: root.join("journal-servers"),
            whole: Duration::ZERO,
            round: 0,
            first: Tree::new(),
        };
        fs::create_dir_all(field.workspace.join(".git"))?;
        fs::write(field.workspace.join(LINES), "")?;
        field.name_server(&home)?;
        field.first = tree(&field.workspace)?;
        let start = Instant::now();
        let results = field.send()?;
        field.whole = start.elapsed();
        ensure!(results.values().all(|one| one.fault.is_none()), "an ordinary turn fails: {results:?}");
        let problems = field.effects(&results)?;
        ensure!(problems.is_empty(), "an ordinary turn does not do what it should: {problems:?}");
        Ok(field)
    }

    /// In the user's settings: nobody has to trust the workspace for it.
    fn name_server(&self, home: &Path) -> Result<()> {
        for folder in ["books", "alive"] {
            fs::create_dir_all(self.servers.join(folder))?;
        }
        let (this, args) = (std::env::current_exe()?, json!(["soak-server", SERVER, self.servers]));
        let settings = format!("[mcp.servers.{SERVER}]\ncommand = {}\nargs = {args}\n", json!(this));
        fs::create_dir_all(home.join(".config/haft"))?;
        Ok(fs::write(home.join(".config/haft/haft.toml"), settings)?)
    }

    /// Kills a turn, sends it again, and says what is wrong afterwards.
    pub(super) fn round(&mut self, tally: &mut Tally) -> Result<Vec<String>> {
        self.round += 1;
        tally.rounds += 1;
        let (finished, was_alive) = self.kill()?;
        tally.alive += u32::from(was_alive);
        tally.finished += finished.len();
        let mut problems = self.unrecorded(&finished)?;
        let results = self.send()?;
        tally.interrupted += results.values().filter(|one| one.is_interrupted()).count();
        tally.recalled += results.values().filter(|one| one.recalled).count();
        problems.extend(self.effects(&results)?);
        problems.extend(self.cut_short(&results)?);
        problems.extend(self.damaged()?);
        if problems.is_empty() {
            problems.extend(there_and_back(&self.haft, &self.workspace, SESSION, &self.first)?);
        }
        Ok(problems)
    }

    /// Runs a turn and kills it: which calls had said that they are done, and whether it still lived.
    fn kill(&self) -> Result<(BTreeSet<String>, bool)> {
        let said = self.message.with_extension("said");
        let mut child = self.turn()?.stdout(fs::File::create(&said)?).spawn()?;
        thread::sleep(self.whole.mul_f64(fastrand::f64()));
        let was_alive = child.try_wait()?.is_none();
        child.kill()?;
        child.wait()?;
        let said = fs::read_to_string(said)?;
        let events = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        // Only calls with side effects promise to be recorded when they are told; the others when the turn has ended.
        let finished =
            events.filter(|event| event["type"] == "finished" && event["result"]["is_error"] != true);
        let ids = finished.filter_map(|event| event["result"]["call"].as_str().map(str::to_owned));
        Ok((ids.filter(|id| !id.starts_with("read")).collect(), was_alive))
    }

    /// Calls that said that they are done, and of which the journal does not know that.
    fn unrecorded(&self, finished: &BTreeSet<String>) -> Result<Vec<String>> {
        let words = ["log", "--session", SESSION, "--json", "--state", "finished", "--limit", "200"];
        let output = self
            .haft
            .command(&self.workspace, &words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()?;
        let (said, talk) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success() && talk.is_empty(), "the journal cannot be read: {talk}");
        let rows = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let known: BTreeSet<String> =
            rows.filter_map(|row| row["call"].as_str().map(str::to_owned)).collect();
        Ok(finished.difference(&known).map(|id| format!("{id} finished and is not recorded")).collect())
    }

    /// Sends the turn, to its end.
    fn send(&self) -> Result<BTreeMap<String, Outcome>> {
        let output = self.turn()?.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        let talk = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success() && !talk.contains("journal"), "the turn fails: {talk}");
        let events = said.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
        let finished =
            events.iter().filter(|event| event["type"] == "finished").map(|event| &event["result"]);
        let outcome = |result: &Value| {
            let id = result["call"].as_str().context("a result without a call")?.to_owned();
            Ok((id, Outcome::of(result)))
        };
        finished.map(outcome).collect()
    }

    fn turn(&self) -> Result<Command> {
        fs::write(&self.message, self.calls().to_string())?;
        let message = self.message.to_string_lossy();
        Ok(self.haft.command(&self.workspace, &[&["turn", "--stream", &*message], &OPTIONS[..]].concat()))
    }

    /// Commands that add a line, files that are made, large results, tokens for the server, and looks in between.
    fn calls(&self) -> Value {
        let round = self.round;
        let one = |n: usize| {
            let line = format!("bash-{round}-{n}");
            let made = format!("made/{round}-{n}.txt");
            [
                (line.clone(), "Bash", json!({ "command": format!("echo {line} >> {LINES}") })),
                (format!("write-{round}-{n}"), "Write", json!({ "file_path": made, "content": line })),
                (
                    format!("spill-{round}-{n}"),
                    "Bash",
                    json!({ "command": format!("echo spill-{round}-{n} >> {LINES}; seq 1 {SPILLED}") }),
                ),
                (
                    format!("mcp-{round}-{n}"),
                    "mcp__kept__keep",
                    json!({ "token": format!("mcp-{round}-{n}") }),
                ),
                (format!("read-{round}-{n}"), "Read", json!({ "file_path": LINES, "limit": 1 })),
            ]
        };
        let block = |(id, name, input): (String, &str, Value)| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
        (0..EACH).flat_map(one).map(block).collect()
    }

    /// Every call that is not in doubt happened once; one that is, at most once.
    fn effects(&self, results: &BTreeMap<String, Outcome>) -> Result<Vec<String>> {
        let mut text = fs::read_to_string(self.workspace.join(LINES))?;
        text.push_str(&fs::read_to_string(self.servers.join("books").join(SERVER)).unwrap_or_default());
        let mut problems = Vec::new();
        for n in 0..EACH {
            for kind in ["bash", "spill", "mcp"] {
                let id = format!("{kind}-{}-{n}", self.round);
                let count = text.lines().filter(|line| *line == id).count();
                problems.extend(wrong(&id, count, results.get(&id)));
            }
            let id = format!("write-{}-{n}", self.round);
            let there = self.workspace.join(format!("made/{}-{n}.txt", self.round)).exists();
            problems.extend(wrong(&id, usize::from(there), results.get(&id)));
        }
        Ok(problems)
    }

    /// Large results that are not kept whole, although their calls have one.
    fn cut_short(&self, results: &BTreeMap<String, Outcome>) -> Result<Vec<String>> {
        let whole: String = (1..=SPILLED).map(|number| format!("{number}\n")).collect();
        let kept = self.state.join("results").join(SESSION);
        let names: Vec<String> = fs::read_dir(&kept)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_>>()?;
        let mut problems = Vec::new();
        for (id, _) in results.iter().filter(|(id, one)| id.starts_with("spill") && !one.is_interrupted()) {
            // A call that was made again has a second file beside that of the first attempt.
            let is_its = |name: &&String| {
                name.strip_prefix(id.as_str()).is_some_and(|rest| rest.starts_with(['.', '-']))
            };
            let is_whole =
                |name: &String| fs::read_to_string(kept.join(name)).is_ok_and(|text| text == whole);
            if !names.iter().filter(is_its).any(is_whole) {
                problems.push(format!("the large result of {id} is not kept whole"));
            }
        }
        Ok(problems)
    }

    /// What SQLite itself finds wrong with the file.
    fn damaged(&self) -> Result<Option<String>> {
        let journal = rusqlite::Connection::open(self.state.join("journal.db"))?;
        let said: String = journal.query_row("PRAGMA quick_check", [], |row| row.get(0))?;
        Ok((said != "ok").then(|| format!("the journal is damaged: {said}")))
    }
}

/// What became of a call.
#[derive(Debug)]
struct Outcome {
    fault: Option<String>,
    recalled: bool,
}

impl Outcome {
    fn of(result: &Value) -> Outcome {
        Outcome {
            fault: result["fault"]["kind"].as_str().map(str::to_owned),
            recalled: result["meta"]["recalled"] == true,
        }
    }

    fn is_interrupted(&self) -> bool {
        self.fault.as_deref() == Some("interrupted")
    }
}

fn wrong(id: &str, count: usize, outcome: Option<&Outcome>) -> Option<String> {
    match (outcome, count) {
        (None, _) => Some(format!("{id} has no result")),
        (Some(outcome), 0 | 1) if outcome.is_interrupted() => None,
        (Some(Outcome { fault: None, .. }), 1) => None,
        (Some(outcome), count) => Some(format!("{id} happened {count} times, and its result is {outcome:?}")),
    }
}
