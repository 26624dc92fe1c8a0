//! Paths that arrive absolute.
//!
//! A model writes `~/notes.txt` or `src/main.rs`. Rules, hooks, logs and the tool itself must all mean the same file by
//! it, so the engine makes such fields absolute before any of them sees the input. The type is how it knows which
//! fields these are.

use std::{
    borrow::Cow,
    ffi::OsStr,
    ops::Deref,
    path::{Component, Path, PathBuf},
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::shown::{Shown, shown, unshown};

/// A path in a tool's input. It is absolute when [`Tool::effects`](crate::Tool::effects) and `call` see it; links and
/// `..` in it are not resolved yet.
/// Names that are no text arrive as [`shown`](crate::shown()) writes them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct AbsolutePath(PathBuf);

impl AbsolutePath {
    /// The marker in a schema by which the engine finds path fields. It is taken out before a model sees the schema.
    pub const FORMAT: &str = "haft-path";

    /// Where relative paths begin: the `serde` default of a field that may be left out.
    pub fn here() -> AbsolutePath {
        AbsolutePath(PathBuf::from("."))
    }

    /// The path, taken out.
    pub fn into_path_buf(self) -> PathBuf {
        self.0
    }

    /// The path for people and models.
    pub fn shown(&self) -> Shown<'_> {
        shown(&self.0)
    }
}

impl Deref for AbsolutePath {
    type Target = Path;
    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for AbsolutePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl From<String> for AbsolutePath {
    fn from(text: String) -> AbsolutePath {
        AbsolutePath(unshown(&text))
    }
}

impl From<AbsolutePath> for String {
    fn from(path: AbsolutePath) -> String {
        shown(&path.0).to_string()
    }
}

impl From<PathBuf> for AbsolutePath {
    fn from(path: PathBuf) -> AbsolutePath {
        AbsolutePath(path)
    }
}

impl JsonSchema for AbsolutePath {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Path".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": AbsolutePath::FORMAT })
    }
}

/// A path without `.` and `..`, by its text alone: where links are, it may be another place.
pub fn by_text(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(tidy.pop()),
            part => tidy.push(part),
        }
    }
    tidy
}

/// What relative paths and `~` stand on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathBase {
    /// Where relative paths begin.
    pub cwd: PathBuf,
    /// What `~` means, if that is known.
    pub home: Option<PathBuf>,
    /// The root of the session's workspace, free of links. Without it a tool cannot ask the disk what a name means here.
    pub workspace: Option<PathBuf>,
}

impl PathBase {
    /// Makes a path absolute. `.` and doubled slashes go; `..` stays, because what it means depends on links.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        let mut parts = path.components().peekable();
        let mut absolute = match (parts.peek(), &self.home) {
            (Some(Component::Normal(first)), Some(home)) if *first == OsStr::new("~") => {
                parts.next();
                home.clone()
            }
            _ => self.cwd.clone(),
        };
        // Pushing a root component replaces what was there: an absolute path stays itself.
        absolute.extend(parts.filter(|part| *part != Component::CurDir));
        absolute
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let base = PathBase { cwd: "/w/app".into(), home: Some("/home/u".into()), workspace: None };
        assert_eq!(base.absolute(Path::new(path)), Path::new(expected));
    }

    #[test]
    fn relative_and_home_paths_become_absolute() {
        check("src/main.rs", "/w/app/src/main.rs");
        check("./src//main.rs", "/w/app/src/main.rs");
        check("~/x", "/home/u/x");
        check("~", "/home/u");
        check("/etc/hosts", "/etc/hosts");
        check("", "/w/app");
    }

    #[test]
    fn parent_steps_are_kept_because_links_decide_what_they_mean() {
        check("link/../x", "/w/app/link/../x");
        check("../x", "/w/app/../x");
    }

    #[test]
    fn another_users_home_is_not_guessed() {
        check("~root/x", "/w/app/~root/x");
        check("a/~/x", "/w/app/a/~/x");
    }
}
