//! What a session that was named by `--session` knows from one run to the next: a file in the state directory.

use std::{io, path::PathBuf};

use haft_engine::session::Memory;

use crate::{exit::usage, kept, place};

fn file(id: &str) -> anyhow::Result<PathBuf> {
    // The id was checked when the options were read: letters, digits, `-` and `_`.
    Ok(place::state()?.join("sessions").join(format!("{id}.json")))
}

/// What the session knew at the end of the last run.
pub(crate) fn recall(id: &str) -> anyhow::Result<Memory> {
    let file = file(id)?;
    // It says what a person has granted: it counts only if nobody else could have written it.
    let wrong = |err: io::Error| {
        usage(format!("{}: {err}; remove the file to begin the session anew", file.display()))
    };
    match kept::read(&file).map_err(wrong)? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|err| wrong(err.into())),
        None => Ok(Memory::default()),
    }
}

/// Keeps what it knows now. Written beside and moved: a run that is killed leaves the old one whole.
pub(crate) fn remember(id: &str, memory: &Memory) -> anyhow::Result<()> {
    let file = file(id)?;
    let write = || kept::replace(&file, &serde_json::to_vec(memory)?);
    write().map_err(|err| anyhow::anyhow!("the session cannot be kept in {}: {err}", file.display()))
}
