//! Settings of git, by key: what is harmless goes on.
//!
//! Git does not write a file of settings in place. It writes `config.lock` beside it and moves that over it, so both are there to be
//! compared at the moment in which the settings change.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::Concern;
use crate::git_config::{KeyChange, compare_in};

/// Files of settings that are larger are not read: they may say anything.
const SETTINGS_BYTES_LIMIT: u64 = 4 << 20;

/// How many keys are named.
const KEYS_LIMIT: usize = 5;

/// Whether a protected path is a repository's file of settings.
pub(super) fn are_at(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "config" || name == "config.worktree")
        && path.components().any(|part| part.as_os_str() == ".git")
}

/// The changes that can run or redirect something, if a file takes the place of settings. None if there are none.
pub(super) fn powerful(path: &Path, new: &Path) -> Option<Vec<KeyChange>> {
    let changes = match (read(path), read(new)) {
        (Ok(old), Ok(new)) => compare_in(path.parent().unwrap_or(path), &old, &new),
        // What cannot be read counts as text that git cannot read: anything may have changed.
        _ => compare_in(path, b"", b"["),
    };
    let powerful: Vec<KeyChange> = changes.into_iter().filter(|change| !change.is_harmless()).collect();
    (!powerful.is_empty()).then_some(powerful)
}

/// Reads a plain file of settings. One that is missing is empty.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let opened = File::options().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path);
    let file = match opened {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    if !file.metadata()?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut text = Vec::new();
    file.take(SETTINGS_BYTES_LIMIT + 1).read_to_end(&mut text)?;
    if text.len() as u64 > SETTINGS_BYTES_LIMIT { Err(ErrorKind::FileTooLarge.into()) } else { Ok(text) }
}

/// The change of some keys as something to be decided.
pub(super) fn concern(path: &Path, changes: Vec<KeyChange>) -> Concern {
    let names: Vec<String> = changes.iter().map(KeyChange::name).collect();
    let shown = names[..names.len().min(KEYS_LIMIT)].join(", ");
    let more = if names.len() > KEYS_LIMIT { " and others" } else { "" };
    let reason = changes.first().map(KeyChange::reason).unwrap_or_default();
    Concern {
        path: path.to_owned(),
        place: path.to_owned(),
        effect: format!("setting {shown}{more}, {reason}"),
        keys: names.join("\n"),
        crosses: false,
    }
}
