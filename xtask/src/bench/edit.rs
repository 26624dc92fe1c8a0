//! `cargo xtask bench edit`: one word in a large file, against a copy of that file.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{
    peers::{peer, timed},
    read::large_text,
    table::{Row, race},
};
use crate::haft::Haft;

/// 50 MB.
const LINES: u64 = 625_000;
const MIDDLE: u64 = LINES / 2;

const FILE: &str = "large.txt";

pub(super) fn rows(haft: &Haft, place: &Path) -> Result<Vec<Row>> {
    let place = place.join("edit");
    fs::create_dir_all(place.join(".git"))?;
    let text = place.join(FILE);
    large_text(&text, LINES)?;
    // Nobody changes what was not read. An edit counts as having read, so that once is enough.
    timed(&mut call(haft, &place, "Read", &json!({ "file_path": FILE, "limit": 10 })))?;
    let times = race([&mut || edit(haft, &place, &text), &mut || {
        timed(&mut peer("cp", &place, &[FILE, "copy.txt"]))
    }]);
    Ok(vec![Row::race("Edit of a word in 50 MB: cp", 3.0, times)])
}

/// Changes the word to the other one, and checks that this is what has happened.
fn edit(haft: &Haft, place: &Path, text: &Path) -> Result<Duration> {
    let words = ["quick", "quack"].map(|word| format!("{MIDDLE:010} the {word}"));
    let is_old = fs::read_to_string(text)?.contains(&words[0]);
    let (old, new) = if is_old { (&words[0], &words[1]) } else { (&words[1], &words[0]) };
    let input = json!({ "file_path": FILE, "old_string": old, "new_string": new });
    let time = timed(&mut call(haft, place, "Edit", &input))?;
    ensure!(fs::read_to_string(text)?.contains(new), "the edit did not happen");
    Ok(time)
}

fn call(haft: &Haft, place: &Path, tool: &str, input: &Value) -> Command {
    haft.command(place, &["call", tool, &input.to_string(), "--session", "bench", "--allow", "Edit(**)"])
}
