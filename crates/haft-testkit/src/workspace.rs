//! A temporary directory whose files are written as text.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// A directory that is gone when it is dropped.
#[derive(Debug)]
pub struct Workspace {
    dir: TempDir,
    root: PathBuf,
}

impl Workspace {
    /// Files from a text: `-- path` begins one, the lines below are its content. Leading blanks are those of the test's
    /// own indentation and are taken off, as many as the second line has.
    pub fn new(files: &str) -> Workspace {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("the directory that was just made");
        let workspace = Workspace { dir, root };
        let margin = files.lines().nth(1).map_or(0, |line| line.len() - line.trim_start().len());
        let mut path = None;
        let mut content = String::new();
        for line in files.lines() {
            let line = line.get(margin.min(line.len() - line.trim_start().len())..).unwrap_or(line);
            if let Some(next) = line.strip_prefix("-- ") {
                workspace.put(path.replace(next.trim()), &content);
                content.clear();
            } else if path.is_some() && !(line.is_empty() && content.is_empty()) {
                content.push_str(line);
                content.push('\n');
            }
        }
        workspace.put(path, &content);
        workspace
    }

    fn put(&self, path: Option<&str>, content: &str) {
        if let Some(path) = path {
            self.write(path, content.as_bytes());
        }
    }

    /// Writes one file.
    pub fn write(&self, path: &str, content: &[u8]) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a path inside the workspace")).expect("its directory");
        fs::write(path, content).expect("the file");
    }

    /// What is in a file.
    pub fn text(&self, path: &str) -> String {
        fs::read_to_string(self.root.join(path)).expect("a text file")
    }

    /// The root, links resolved.
    pub fn root(&self) -> &Path {
        debug_assert!(self.dir.path().exists());
        &self.root
    }
}
