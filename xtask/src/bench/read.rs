//! `cargo xtask bench read`: a page in the middle of a large file, against `sed`.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    time::Duration,
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{
    peers::{peer, timed},
    table::{Row, race},
};
use crate::haft::{Haft, watch};

/// 100 MB of log.
const LINES: u64 = 1_250_000;
const FIRST: u64 = LINES / 2;
const LAST: u64 = FIRST + 1_999;

const MOST_MEMORY: u64 = 30_000_000;
/// No run takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn rows(haft: &Haft, place: &Path) -> Result<Vec<Row>> {
    let place = place.join("read");
    fs::create_dir_all(place.join(".git"))?;
    let log = place.join("large.log");
    large_text(&log, LINES)?;
    let page = json!({ "file_path": "large.log", "offset": FIRST, "limit": LAST - FIRST + 1 });
    Ok(vec![
        pages(haft, &place, &page, "p"),
        pages(haft, &place, &page, "p;q"),
        memory(haft, &place, &page)?,
        together(haft, &place, &page)?,
    ])
}

/// Lines of 80 bytes, each another. What is there already stays.
pub(super) fn large_text(path: &Path, lines: u64) -> Result<()> {
    if fs::metadata(path).is_ok_and(|found| found.len() == lines * 80) {
        return Ok(());
    }
    let mut file = BufWriter::new(File::create(path)?);
    for line in 0..lines {
        let text = format!("{line:010} the quick brown fox jumps over the lazy dog {}", line % 997);
        writeln!(file, "{text:.<79}")?;
    }
    file.flush()?;
    ensure!(fs::metadata(path)?.len() == lines * 80, "a line has not 80 bytes");
    Ok(())
}

/// `sed` may stop after the page (`p;q`) or read on to the end.
fn pages(haft: &Haft, place: &Path, page: &Value, commands: &str) -> Row {
    let script = match commands {
        "p" => format!("{FIRST},{LAST}p"),
        _ => format!("{FIRST},{LAST}p;{LAST}q"),
    };
    let what = format!("Read, 2,000 lines amid 100 MB: sed -n '{commands}'");
    let times =
        race([&mut || timed(&mut haft.command(place, &["call", "Read", &page.to_string()])), &mut || {
            timed(&mut peer("sed", place, &["-n", &script, "large.log"]))
        }]);
    Row::race(what, 1.5, times)
}

fn memory(haft: &Haft, place: &Path, page: &Value) -> Result<Row> {
    let mut most = 0;
    for _ in 0..5 {
        let watched = watch(&mut haft.command(place, &["call", "Read", &page.to_string()]), PATIENCE)?;
        most = watched.peak_bytes.max(most);
    }
    Ok(Row::memory("Read, the same: peak memory", most, MOST_MEMORY))
}

/// Six pages in one turn, of which one takes longest, against that one alone.
fn together(haft: &Haft, place: &Path, page: &Value) -> Result<Row> {
    let mut inputs = vec![page.clone()];
    for name in ["1.log", "2.log", "3.log", "4.log", "5.log"] {
        large_text(&place.join(name), 1_000)?;
        inputs.push(json!({ "file_path": name }));
    }
    turn_of(&place.join("one.json"), &inputs[..1])?;
    turn_of(&place.join("six.json"), &inputs)?;
    let times = race([&mut || timed(&mut haft.command(place, &["turn", "six.json"])), &mut || {
        timed(&mut haft.command(place, &["turn", "one.json"]))
    }]);
    Ok(Row::race("6 Reads in a turn: the slowest alone", 1.3, times))
}

fn turn_of(message: &Path, inputs: &[Value]) -> Result<()> {
    let call = |(index, input): (usize, &Value)| json!({ "type": "tool_use", "id": format!("call_{index}"), "name": "Read", "input": input });
    let calls: Value = inputs.iter().enumerate().map(call).collect();
    Ok(fs::write(message, calls.to_string())?)
}
