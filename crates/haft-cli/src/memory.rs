//! What a session that was named by `--session` knows from one run to the next: a file in the state directory.

use std::{fs, io, path::PathBuf};

use haft_engine::session::Memory;

use crate::{exit::usage, place};

fn file(id: &str) -> anyhow::Result<PathBuf> {
    // The id was checked when the options were read: letters, digits, `-` and `_`.
    Ok(place::state()?.join("sessions").join(format!("{id}.json")))
}

/// What the session knew at the end of the last run.
pub(crate) fn recall(id: &str) -> anyhow::Result<Memory> {
    let file = file(id)?;
    match fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|err| {
            usage(format!("{}: {err}; remove the file to begin the session anew", file.display()))
        }),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(Memory::default()),
        Err(err) => Err(usage(format!("{}: {err}", file.display()))),
    }
}

/// Keeps what it knows now. Written beside and moved: a run that is killed leaves the old one whole.
pub(crate) fn remember(id: &str, memory: &Memory) -> anyhow::Result<()> {
    let file = file(id)?;
    let staged = file.with_extension(format!("{}.partial", std::process::id()));
    let write = || {
        fs::create_dir_all(staged.parent().unwrap_or(&staged))?;
        fs::write(&staged, serde_json::to_vec(memory)?)?;
        fs::rename(&staged, &file)
    };
    write().map_err(|err| anyhow::anyhow!("the session cannot be kept in {}: {err}", file.display()))
}
