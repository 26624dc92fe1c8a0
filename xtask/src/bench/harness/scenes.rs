//! What the model has haft do, and how long that may take.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Result;
use haft_model::{Dialect, scripted::Turn};
use serde_json::{Value, json};

use super::{
    super::{read::large_text, table::Row, tree},
    Player, ROUNDS, median,
};
use crate::{haft::Haft, scripted::ScriptedModel};

/// A group of figures that come from the same runs.
pub(super) type Scene = fn(&Field) -> Result<Vec<Row>>;

/// All scenes by name, in the order of the table.
pub(super) const SCENES: &[(&str, Scene)] = &[
    ("start", start),
    ("one_read", one_read),
    ("six_reads", six_reads),
    ("sandboxed", sandboxed),
    ("sleepers", sleepers),
    ("overlap", overlap),
    ("reads_in_a_stream", reads_in_a_stream),
    ("grep", grep),
    ("shell_output", shell_output),
    ("edits", edits),
    ("streamed_write", streamed_write),
    ("long_session", long_session),
    ("longest_session", longest_session),
];

/// Where they are played.
pub(super) struct Field {
    haft: Haft,
    pub(super) project: PathBuf,
    place: PathBuf,
}

/// More than any scene has turns: to read the same again and again is a circle, which haft ends.
const FILES: usize = 512;

impl Field {
    pub(super) fn new(haft: &Haft, root: &Path, place: &Path) -> Result<Field> {
        let project = root.join("project");
        fs::create_dir_all(project.join(".git"))?;
        for file in 0..FILES {
            fs::write(project.join(format!("{file}.txt")), format!("line of {file}\n").repeat(40))?;
        }
        Ok(Field { haft: haft.clone(), project, place: place.to_owned() })
    }

    /// haft, as a person starts it who lets it run and edit.
    pub(super) fn haft(&self) -> Player<'_> {
        let command = |directory: &Path, model: &ScriptedModel| {
            let options = model.options();
            let mut words = vec!["run", "-q", "--allow", "Bash", "--allow", "Edit(**)"];
            words.extend(options.iter().map(String::as_str));
            words.push("Work");
            Ok(self.haft.command(directory, &words))
        };
        Player { dialect: Dialect::Anthropic, command: Box::new(command) }
    }

    /// Makes a large file anew. What was kept before need not be kept again, which would be quicker: so no two are the same.
    pub(super) fn make_large(&self, name: &str, lines: u64) -> Result<()> {
        let path = self.project.join(name);
        large_text(&path, lines)?;
        let begin = fastrand::u64(..).to_string();
        Ok(File::options().write(true).open(&path)?.write_all_at(begin.as_bytes(), 0)?)
    }

    /// The best of several runs, by what is taken of each.
    fn best(&self, turns: &[Turn], figure: impl Fn(&[Duration]) -> Duration) -> Result<Duration> {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            best = best.min(figure(&self.haft().play(&self.project, turns)?.gaps));
        }
        Ok(best)
    }
}

const fn ms(milliseconds: f64) -> Duration {
    Duration::from_micros((milliseconds * 1000.0) as u64)
}

/// A file of the project, by number.
pub(super) fn read_path(file: usize) -> String {
    format!("{}.txt", file % FILES)
}

fn read(file: usize) -> Value {
    json!({ "file_path": read_path(file) })
}

fn bash(command: &str) -> Turn {
    Turn::new().call("Bash", json!({ "command": command }))
}

/// The first turn finds caches cold: it is left out.
fn warm(gaps: &[Duration]) -> Duration {
    median(&gaps[1..])
}

fn last(gaps: &[Duration]) -> Duration {
    gaps.last().copied().unwrap_or_default()
}

fn start(field: &Field) -> Result<Vec<Row>> {
    let (mut best, mut first) = (Duration::MAX, String::new());
    for _ in 0..2 * ROUNDS {
        let played = field.haft().play(&field.project, &[])?;
        best = best.min(played.start);
        first = played.first;
    }
    let body: Value = serde_json::from_str(&first)?;
    let bytes = body["tools"].to_string().len() + body["system"].to_string().len();
    Ok(vec![
        Row::limit("process start to first request", best, ms(9.0)),
        Row::figure("tokens of tools and system (bytes / 4)", bytes as f64 / 4.0, 3000.0),
    ])
}

fn one_read(field: &Field) -> Result<Vec<Row>> {
    let turns: Vec<Turn> = (0..12).map(|turn| Turn::new().call("Read", read(turn))).collect();
    Ok(vec![Row::limit("one Read", field.best(&turns, warm)?, ms(0.7))])
}

fn six_reads(field: &Field) -> Result<Vec<Row>> {
    let six = |turn: usize| (0..6).fold(Turn::new(), |all, file| all.call("Read", read(turn + file)));
    let turns: Vec<Turn> = (0..8).map(six).collect();
    Ok(vec![Row::limit("six Reads", field.best(&turns, warm)?, ms(1.5))])
}

fn sandboxed(field: &Field) -> Result<Vec<Row>> {
    let turns: Vec<Turn> = (0..8).map(|turn| bash(&format!("echo {turn}"))).collect();
    Ok(vec![Row::limit("one sandboxed echo", field.best(&turns, warm)?, ms(7.0))])
}

fn sleepers(field: &Field) -> Result<Vec<Row>> {
    let ten = (0..10).fold(Turn::new(), |all, _| all.call("Bash", json!({ "command": "sleep 0.2" })));
    Ok(vec![Row::limit("ten `sleep 0.2` in one turn", field.best(&[bash("true"), ten], last)?, ms(220.0))])
}

fn overlap(field: &Field) -> Result<Vec<Row>> {
    let turn = bash("sleep 0.5").pause(Duration::from_millis(600)).text("So.");
    let what = "a 0.5 s command while the model streams 0.6 s";
    Ok(vec![Row::limit(what, field.best(&[bash("true"), turn], last)?, ms(2.0))])
}

fn reads_in_a_stream(field: &Field) -> Result<Vec<Row>> {
    let pause = Duration::from_millis(500);
    let turn = (0..4).fold(Turn::new(), |turn, file| turn.call("Read", read(file)).pause(pause));
    let turns = [Turn::new().call("Read", read(7)), turn.text("So.")];
    Ok(vec![Row::limit("four Reads over a stream of 2 s", field.best(&turns, last)?, ms(50.0))])
}

fn grep(field: &Field) -> Result<Vec<Row>> {
    let (root, _) = tree::tree(&field.place)?;
    // Of the whole tree, a half: 30,000 files.
    let half = root.join("0");
    let grep = |input: Value| -> Result<Duration> {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let turns = [Turn::new().call("Grep", input.clone()), Turn::new().call("Grep", input.clone())];
            best = best.min(last(&field.haft().play(&half, &turns)?.gaps));
        }
        Ok(best)
    };
    let files = count(&half);
    let rare = grep(json!({ "pattern": tree::NEEDLE }))?;
    let many = grep(json!({ "pattern": "fn ", "head_limit": 20 }))?;
    Ok(vec![
        Row::limit(format!("rare Grep in {files} files"), rare, ms(180.0)),
        Row::limit("Grep with many hits and a limit", many, ms(10.0)),
    ])
}

fn count(directory: &Path) -> usize {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries.flatten().map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
}

fn shell_output(field: &Field) -> Result<Vec<Row>> {
    let (mut best, mut more) = (Duration::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        let little = field.haft().play(&field.project, &[bash("echo 1"), bash("echo 2")])?;
        let much = field
            .haft()
            .play(&field.project, &[bash("echo 1"), bash("yes 0123456789 | head -c 20000000")])?;
        best = best.min(last(&much.gaps));
        more = more.min(much.peak.saturating_sub(little.peak));
    }
    Ok(vec![
        Row::limit("20 MB of shell output", best, ms(60.0)),
        Row::memory("20 MB of shell output: more memory", more, 5_000_000),
    ])
}

fn edits(field: &Field) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (name, lines, bound) in [("1 MB", 12_500, ms(3.5)), ("50 MB", 625_000, ms(150.0))] {
        let path = field.project.join("large.txt");
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            field.make_large("large.txt", lines)?;
            let middle = format!("{:010} the quick", lines / 2);
            let view = json!({ "file_path": "large.txt", "offset": lines / 2, "limit": 3 });
            let change = json!({ "file_path": "large.txt", "old_string": middle, "new_string": "X" });
            let turns = [Turn::new().call("Read", view), Turn::new().call("Edit", change)];
            best = best.min(last(&field.haft().play(&field.project, &turns)?.gaps));
            // The next round needs it whole.
            fs::remove_file(&path)?;
        }
        rows.push(Row::limit(format!("Edit in a file of {name}"), best, bound));
    }
    Ok(rows)
}

fn streamed_write(field: &Field) -> Result<Vec<Row>> {
    let write = |kilobytes: usize| -> Result<Duration> {
        let content = "0123456789abcde\n".repeat(kilobytes * 64);
        let turn = Turn::new().call("Write", json!({ "file_path": "streamed.txt", "content": content }));
        field.best(&[bash("rm -f streamed.txt"), turn.pieces(16)], last)
    };
    let (once, twice) = (write(200)?, write(400)?);
    Ok(vec![
        Row::limit("Write of 200 KB, streamed in pieces of 16", once, ms(30.0)),
        Row::times("the same: 400 KB against twice 200 KB", twice, once * 2, 1.3),
    ])
}

fn long_session(field: &Field) -> Result<Vec<Row>> {
    let turns: Vec<Turn> = (0..50).map(|turn| Turn::new().call("Read", read(turn))).collect();
    let (mut growth, mut peak) = (f64::MAX, u64::MAX);
    for _ in 0..ROUNDS {
        let played = field.haft().play(&field.project, &turns)?;
        let (early, late) = (median(&played.gaps[3..13]), median(&played.gaps[40..]));
        growth = growth.min(late.as_secs_f64() / early.as_secs_f64());
        peak = peak.min(played.peak);
    }
    Ok(vec![
        Row::figure("50 turns of one Read: growth", growth, 1.3),
        Row::memory("50 turns of one Read: peak memory", peak, 18_000_000),
    ])
}

/// A history is held as what was said, as JSON, and as the request that is being sent; more than this, and something else
/// grows with it.
const COPIES: f64 = 8.0;

fn longest_session(field: &Field) -> Result<Vec<Row>> {
    let turns: Vec<Turn> = (0..500).map(|turn| Turn::new().call("Read", read(turn))).collect();
    let (mut growth, mut copies) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let short = field.haft().play(&field.project, &turns[..50])?;
        let long = field.haft().play(&field.project, &turns)?;
        growth = growth.min(median(&long.gaps[490..]).as_secs_f64() / median(&long.gaps[3..8]).as_secs_f64());
        let (memory, said) = (long.peak.saturating_sub(short.peak), long.last.saturating_sub(short.last));
        copies = copies.min(memory as f64 / said.max(1) as f64);
    }
    Ok(vec![
        Row::figure("500 turns of one Read: growth", growth, 2.0),
        Row::figure("500 turns against 50: more memory by bytes of history", copies, COPIES),
    ])
}
