//! `cargo xtask bench edit`: one word in a large file, against a copy of that file.

use std::{fs, path::Path};

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

pub(super) fn rows(haft: &Haft, place: &Path) -> Result<Vec<Row>> {
    let place = place.join("edit");
    fs::create_dir_all(place.join(".git"))?;
    let text = place.join("large.txt");
    let (old, new) = (format!("{MIDDLE:010} the quick"), format!("{MIDDLE:010} the quack"));
    // Whatever an earlier run left: the first edit finds the old word.
    fs::remove_file(&text).or_else(|err| if text.exists() { Err(err) } else { Ok(()) })?;
    large_text(&text, LINES)?;
    fs::write(place.join("there.json"), message(&old, &new).to_string())?;
    fs::write(place.join("back.json"), message(&new, &old).to_string())?;

    let mut turns = ["there.json", "back.json"].into_iter().cycle();
    let mut edit = || {
        let turn = turns.next().unwrap_or_default();
        timed(&mut haft.command(&place, &["turn", turn, "--allow", "Edit(**)"]))
    };
    let times = race([&mut edit, &mut || timed(&mut peer("cp", &place, &["large.txt", "copy.txt"]))]);
    // An odd number of edits: one more than the rounds that count.
    ensure!(fs::read_to_string(&text)?.contains(&new), "the edits did not happen");
    Ok(vec![Row::race("Edit of a word in 50 MB: cp", 3.0, times)])
}

/// Reads the page, then edits: nobody changes what was not read.
fn message(old: &str, new: &str) -> Value {
    json!([
        { "type": "tool_use", "id": "1", "name": "Read", "input": { "file_path": "large.txt", "offset": MIDDLE, "limit": 10 } },
        {
            "type": "tool_use", "id": "2", "name": "Edit",
            "input": { "file_path": "large.txt", "old_string": old, "new_string": new },
        },
    ])
}
