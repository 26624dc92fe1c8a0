//! Which tools of servers were called in a workspace: a file in the state directory for each.
//!
//! It only orders what ToolSearch finds, so nothing fails because of it. A workspace never sees another's: each has a file
//! of its own, which says whose it is.

use std::{
    collections::BTreeMap,
    fmt::Write,
    io,
    path::{Path, PathBuf},
};

use haft_engine::pool::search::{MemoryUsage, Usage};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::kept;

/// The form of the file. Another number is another form.
const FORM: u32 = 1;
/// So many tools are kept, those that are called most.
const MOST: usize = 1_000;

#[derive(Default, Serialize, Deserialize)]
struct Written {
    form: u32,
    workspace: PathBuf,
    tools: BTreeMap<String, u32>,
}

/// What was called in a workspace, in this run and before.
#[derive(Debug)]
pub(crate) struct FileUsage {
    path: PathBuf,
    workspace: PathBuf,
    before: MemoryUsage,
    now: MemoryUsage,
}

impl FileUsage {
    /// That of a workspace. A file that cannot be used is none.
    pub(crate) fn of(state: &Path, workspace: &Path) -> FileUsage {
        let path = state.join("usage").join(format!("{}.json", name(workspace)));
        let before = read(&path, workspace).unwrap_or_default();
        FileUsage {
            before: MemoryUsage::new(before),
            path,
            workspace: workspace.to_owned(),
            now: MemoryUsage::default(),
        }
    }

    /// Adds what was called in this run to what is kept, also by other processes.
    pub(crate) fn keep(&self) -> io::Result<()> {
        let now = self.now.all();
        if now.is_empty() {
            return Ok(());
        }
        let _lock = kept::lock(&self.path.with_extension("lock"))?;
        let mut tools = read(&self.path, &self.workspace).unwrap_or_default();
        for (tool, times) in now {
            let kept = tools.entry(tool).or_default();
            *kept = kept.saturating_add(times);
        }
        let written = Written { form: FORM, workspace: self.workspace.clone(), tools: most_called(tools) };
        kept::replace(&self.path, &serde_json::to_vec(&written)?)
    }
}

impl Usage for FileUsage {
    fn called(&self, tool: &str) {
        self.now.called(tool);
    }

    fn times(&self, tool: &str) -> u32 {
        self.before.times(tool).saturating_add(self.now.times(tool))
    }
}

fn read(path: &Path, workspace: &Path) -> Option<BTreeMap<String, u32>> {
    let bytes = kept::read(path).ok()??;
    let written: Written = serde_json::from_slice(&bytes).ok()?;
    (written.form == FORM && written.workspace == workspace).then_some(written.tools)
}

fn most_called(tools: BTreeMap<String, u32>) -> BTreeMap<String, u32> {
    let mut tools: Vec<(String, u32)> = tools.into_iter().collect();
    tools.sort_by_key(|(_, times)| u32::MAX - times); // stable
    tools.into_iter().take(MOST).collect()
}

/// A name for a path, of letters and digits.
fn name(workspace: &Path) -> String {
    let hash = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
    hash.iter().take(16).fold(String::new(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}"); // into a String, which cannot fail
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_called_is_known_in_the_next_run_and_in_no_other_workspace() {
        let state = tempfile::tempdir().unwrap();
        let of = |workspace: &str| FileUsage::of(state.path(), Path::new(workspace));
        let (one, other) = (of("/a"), of("/a"));
        one.called("mcp__s__x");
        other.called("mcp__s__x");
        other.called("mcp__s__y");
        assert_eq!(one.times("mcp__s__x"), 1);
        one.keep().unwrap();
        other.keep().unwrap();
        assert_eq!((of("/a").times("mcp__s__x"), of("/a").times("mcp__s__y")), (2, 1));
        assert_eq!(of("/b").times("mcp__s__x"), 0);
    }

    #[test]
    fn a_file_of_another_workspace_or_form_is_none() {
        let state = tempfile::tempdir().unwrap();
        let usage = FileUsage::of(state.path(), Path::new("/a"));
        for text in [
            "{",
            r#"{"form":1,"workspace":"/b","tools":{"x":3}}"#,
            r#"{"form":2,"workspace":"/a","tools":{"x":3}}"#,
        ] {
            kept::replace(&usage.path, text.as_bytes()).unwrap();
            assert_eq!(FileUsage::of(state.path(), Path::new("/a")).times("x"), 0, "{text}");
        }
    }

    #[test]
    fn nothing_is_written_where_nothing_was_called() {
        let state = tempfile::tempdir().unwrap();
        FileUsage::of(state.path(), Path::new("/a")).keep().unwrap();
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 0);
    }
}
