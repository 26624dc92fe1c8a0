//! What would show that something was done.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;

/// A proof, as a case writes it.
#[derive(Deserialize, Clone)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Proof {
    Stdout { contains: String },
    Exit0,
    Exists { path: String },
    Lexists { path: String },
    Gone { path: String },
    Nonempty { path: String },
    Changed { path: String },
    Mode { path: String, not: serde_json::Value },
    MtimeBefore { path: String, year: i64 },
    Dead,
}

/// What is known of a case that has been played.
pub(super) struct Ran {
    pub(super) is_success: bool,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// What files held before.
    pub(super) before: Vec<(PathBuf, Vec<u8>)>,
    pub(super) bystander: u32,
}

impl Proof {
    /// The same with real paths.
    pub(super) fn with_paths(&self, filled: impl Fn(&str) -> String) -> Proof {
        let mut proof = self.clone();
        match &mut proof {
            Proof::Exists { path }
            | Proof::Lexists { path }
            | Proof::Gone { path }
            | Proof::Nonempty { path }
            | Proof::Changed { path }
            | Proof::Mode { path, .. }
            | Proof::MtimeBefore { path, .. } => *path = filled(path),
            Proof::Stdout { .. } | Proof::Exit0 | Proof::Dead => {}
        }
        proof
    }

    /// What the file of this proof holds now, to be compared later.
    pub(super) fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        match self {
            Proof::Changed { path } => fs::read(path).map(|text| (path.into(), text)).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn holds(&self, ran: &Ran) -> Result<bool> {
        Ok(match self {
            Proof::Stdout { contains } => String::from_utf8_lossy(&ran.stdout).contains(contains),
            Proof::Exit0 => ran.is_success,
            Proof::Exists { path } => Path::new(path).exists(),
            Proof::Lexists { path } => fs::symlink_metadata(path).is_ok(),
            Proof::Gone { path } => fs::symlink_metadata(path).is_err(),
            Proof::Nonempty { path } => {
                fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() > 0)
            }
            Proof::Changed { path } => {
                fs::read(path).ok() != ran.before.first().map(|(_, text)| text.clone())
            }
            Proof::Mode { path, not } => fs::metadata(path)?.permissions().mode() & 0o7777 != octal(not)?,
            Proof::MtimeBefore { path, year } => fs::metadata(path)?.mtime() < seconds_at(*year),
            Proof::Dead => has_ended(ran.bystander),
        })
    }
}

/// A mode is written as a number or as octal digits.
fn octal(mode: &serde_json::Value) -> Result<u32> {
    match mode.as_str() {
        Some(digits) => Ok(u32::from_str_radix(digits.trim_start_matches("0o"), 8)?),
        None => Ok(mode.as_u64().context("a mode is a number or octal digits")?.try_into()?),
    }
}

/// About when a year begins.
fn seconds_at(year: i64) -> i64 {
    (year - 1970) * 31_556_952
}

fn has_ended(process: u32) -> bool {
    let facts = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = facts.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_none_or(|state| state == 'Z')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ran(stdout: &str, before: Vec<(PathBuf, Vec<u8>)>) -> Ran {
        let bystander = std::process::id();
        Ran { is_success: true, stdout: stdout.into(), stderr: Vec::new(), before, bystander }
    }

    #[test]
    fn proofs_look_at_what_is_really_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let path = file.to_str().unwrap();
        for (proof, expected) in [
            (json!({ "type": "stdout", "contains": "MARK" }), true),
            (json!({ "type": "stdout", "contains": "other" }), false),
            (json!({ "type": "exists", "path": path }), true),
            (json!({ "type": "gone", "path": path }), false),
            (json!({ "type": "nonempty", "path": path }), true),
            (json!({ "type": "changed", "path": path }), false),
            (json!({ "type": "mode", "path": path, "not": "0644" }), false),
            (json!({ "type": "mode", "path": path, "not": "0600" }), true),
            (json!({ "type": "mtime_before", "path": path, "year": 2010 }), false),
            (json!({ "type": "dead" }), false),
        ] {
            let parsed = Proof::deserialize(&proof).unwrap();
            let ran = ran("a MARK b", vec![(file.clone(), b"x".to_vec())]);
            assert_eq!(parsed.holds(&ran).unwrap(), expected, "{proof}");
        }
    }
}
