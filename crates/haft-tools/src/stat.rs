//! `Stat`: what is at a path, without reading it.

use std::fs::Metadata;

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Tells what is at a path: a directory, a link, or a file and how large it is.
///
/// Use it to check that a path exists, or before you read a file that may be large.
/// A missing path is an answer, not an error. It fails only where the system forbids to look.
/// To list a directory, use List.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatInput {
    /// The path to look at.
    path: AbsolutePath,
}

pub(crate) struct Stat;

impl Tool for Stat {
    type Input = StatInput;
    const SPEC: Spec = Spec::new("Stat")
        .toolset("readonly")
        .aliases(&["fs_stat", "FileInfo", "file_info"])
        .search_hint("exists size type of a file or directory");

    fn effects(&self, input: &StatInput) -> Effects {
        Effects::reads(&input.path)
    }

    fn describe(&self, input: &StatInput) -> String {
        format!("Look at {}", input.path.shown())
    }

    async fn call(&self, input: StatInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        let found = cx.blocking(move || files.metadata(&input.path)).await?;
        Ok(Reply::text(found.as_ref().map_or("nothing is there".to_owned(), describe)))
    }
}

fn describe(metadata: &Metadata) -> String {
    if metadata.is_dir() {
        return "directory".to_owned();
    }
    if !metadata.is_file() {
        return "neither a file nor a directory".to_owned();
    }
    format!("file, {} bytes", metadata.len())
}

#[cfg(test)]
mod tests {
    use haft_testkit::{Workspace, run};
    use serde_json::json;

    use super::Stat;

    #[track_caller]
    fn check(path: &str, expected: &str) {
        let workspace = Workspace::new(
            "-- src/main.rs
             fn main() {}",
        );
        assert_eq!(run(Stat, &workspace, json!({ "path": path })).expect("a reply").text, expected);
    }

    #[test]
    fn a_missing_path_is_an_answer() {
        check("src/main.rs", "file, 13 bytes");
        check("src/mian.rs", "nothing is there");
    }

    #[test]
    fn directories_are_told_apart() {
        check("src", "directory");
        check(".", "directory");
    }
}
