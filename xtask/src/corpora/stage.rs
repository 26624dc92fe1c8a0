//! The directories of a case: made anew, filled as it says, gone afterwards.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::Write,
    os::unix::{ffi::OsStringExt, fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

/// Where a case plays. What a case calls `{WS}`, `{HOME}` and `{OUT}` are directories here.
pub(super) struct Stage {
    root: PathBuf,
    _directory: TempDir,
}

/// Something that is there before the case begins.
#[derive(Deserialize)]
pub(super) struct Prop {
    #[serde(flatten)]
    place: Place,
    #[serde(flatten)]
    thing: Thing,
}

/// A path; in base64 where it is not UTF-8.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Path(PathBuf),
    PathB64(String),
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Thing {
    File { content: String },
    Dir,
    Symlink { target: PathBuf },
    Hardlink { target: PathBuf },
    Fifo,
    Socket,
    Sparse { size: u64 },
    Fill { size: usize, byte: String },
}

impl Stage {
    pub(super) fn new() -> Result<Stage> {
        let directory = tempfile::Builder::new().prefix("haft-case-").tempdir()?;
        let root = directory.path().canonicalize()?;
        for name in ["ws", "home", "out"] {
            fs::create_dir(root.join(name))?;
        }
        Ok(Stage { root, _directory: directory })
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.root.join("ws")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Where haft keeps what it keeps; no case knows of it.
    pub(super) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// The real places, wherever a text names them.
    pub(super) fn filled(&self, text: &str) -> String {
        let path = |name: &str| self.root.join(name).to_string_lossy().into_owned();
        text.replace("{WS}", &path("ws")).replace("{HOME}", &path("home")).replace("{OUT}", &path("out"))
    }

    /// The same in every text of a value.
    pub(super) fn filled_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.filled(text)),
            Value::Array(list) => list.iter().map(|one| self.filled_value(one)).collect(),
            Value::Object(map) => {
                map.iter().map(|(key, one)| (key.clone(), self.filled_value(one))).collect()
            }
            other => other.clone(),
        }
    }

    /// The same in a path of any bytes.
    pub(super) fn filled_bytes(&self, base64: &str) -> Result<PathBuf> {
        let bytes = BASE64.decode(base64).with_context(|| format!("`{base64}` is no base64"))?;
        let below = |name: &str, rest: &[u8]| {
            self.root.join(name).into_os_string().into_vec().into_iter().chain(rest.iter().copied()).collect()
        };
        let places = [("{WS}", "ws"), ("{HOME}", "home"), ("{OUT}", "out")];
        let found = places
            .iter()
            .find_map(|(mark, name)| bytes.strip_prefix(mark.as_bytes()).map(|rest| below(name, rest)));
        Ok(OsString::from_vec(found.unwrap_or(bytes)).into())
    }

    /// Puts a thing in its place.
    pub(super) fn set(&self, prop: &Prop) -> Result<()> {
        // A relative path begins in the workspace.
        let path = self.workspace().join(match &prop.place {
            Place::Path(path) => path.clone(),
            Place::PathB64(text) => self.filled_bytes(text)?,
        });
        fs::create_dir_all(path.parent().context("a path without a directory")?)?;
        prop.thing.make(&path).with_context(|| path.display().to_string())
    }
}

impl Thing {
    fn make(&self, path: &Path) -> Result<()> {
        match self {
            Thing::File { content } => fs::write(path, content)?,
            Thing::Dir => fs::create_dir_all(path)?,
            Thing::Symlink { target } => symlink(target, path)?,
            Thing::Hardlink { target } => fs::hard_link(target, path)?,
            Thing::Fifo => mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?,
            // The name stays when the listener goes.
            Thing::Socket => drop(UnixListener::bind(path)?),
            Thing::Sparse { size } => File::create(path)?.set_len(*size)?,
            Thing::Fill { size, byte } => fill(path, *size, byte.as_bytes())?,
        }
        Ok(())
    }
}

/// As many times these bytes, without holding them all.
fn fill(path: &Path, times: usize, bytes: &[u8]) -> Result<()> {
    const CHUNK: usize = 1 << 16;
    let mut file = File::create(path)?;
    let chunk = bytes.repeat(times.min(CHUNK));
    for _ in 0..times / CHUNK {
        file.write_all(&chunk)?;
    }
    Ok(file.write_all(&bytes.repeat(times % CHUNK))?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn set(stage: &Stage, prop: Value) {
        stage.set(&serde_json::from_value(stage.filled_value(&prop)).unwrap()).unwrap();
    }

    #[test]
    fn things_are_where_the_case_wants_them() {
        let stage = Stage::new().unwrap();
        set(&stage, json!({ "path": "{WS}/a/b.txt", "type": "file", "content": "x" }));
        set(&stage, json!({ "path": "{OUT}/l", "type": "symlink", "target": "{WS}/a/b.txt" }));
        set(&stage, json!({ "path": "{WS}/long", "type": "fill", "size": 70_000, "byte": "a" }));
        assert_eq!(fs::read_to_string(stage.filled("{OUT}/l")).unwrap(), "x");
        assert_eq!(fs::metadata(stage.filled("{WS}/long")).unwrap().len(), 70_000);
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_given_in_base64() {
        let stage = Stage::new().unwrap();
        let name = BASE64.encode(b"{WS}/\xfe.key");
        set(&stage, json!({ "path_b64": name, "type": "file", "content": "x" }));
        assert!(stage.filled_bytes(&name).unwrap().is_file());
    }
}
