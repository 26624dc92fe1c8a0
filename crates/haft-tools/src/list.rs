//! `List`: what is in a directory.

use std::{fmt::Write, fs::Metadata, path::PathBuf};

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

/// Lists what is in a directory: names, kinds and sizes, directories first.
///
/// Use it to find your way in a directory that you do not know. To look at one path, use Stat; to see what is in a
/// file, use Read. It does not go into subdirectories, and fails if the path is not a directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInput {
    /// The directory; the current one if it is left out.
    #[serde(default = "here")]
    path: AbsolutePath,
}

fn here() -> AbsolutePath {
    PathBuf::from(".").into()
}

pub(crate) struct List;

impl Tool for List {
    type Input = ListInput;
    const SPEC: Spec = Spec::new("List")
        .toolset("readonly")
        .aliases(&["LS", "ls", "fs_list", "list_directory", "list_dir"])
        .search_hint("directory folder contents files names");

    fn effects(&self, input: &ListInput) -> Effects {
        Effects::reads(&input.path)
    }

    fn describe(&self, input: &ListInput) -> String {
        format!("List {}", input.path.display())
    }

    async fn call(&self, input: ListInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        let mut entries = cx.blocking(move || files.list(&input.path)).await?;
        entries.sort_by(|(a, of_a), (b, of_b)| (!of_a.is_dir(), a).cmp(&(!of_b.is_dir(), b)));
        let observation = match entries.len() {
            0 => "The directory is empty.".to_owned(),
            1 => "1 entry:".to_owned(),
            count => format!("{count} entries:"),
        };
        Ok(Reply::text(table(&entries)).observed(observation).note("entries", entries.len()))
    }
}

fn table(entries: &[(PathBuf, Metadata)]) -> String {
    let mut text = String::new();
    for (name, metadata) in entries {
        // A name may hold anything: what would break the line is shown escaped.
        let name = name.to_string_lossy().escape_debug().to_string();
        // Writing to a String cannot fail.
        let _ = match metadata {
            directory if directory.is_dir() => writeln!(text, "{name}/"),
            link if link.is_symlink() => writeln!(text, "{name} (link)"),
            file if file.is_file() => writeln!(text, "{name} ({} bytes)", file.len()),
            _ => writeln!(text, "{name} (special)"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use haft_testkit::{Workspace, run};
    use serde_json::{Value, json};

    use super::List;

    fn list(input: Value) -> Result<String, String> {
        let workspace = Workspace::new(
            "-- b.txt
             hello
             -- a/inner.txt
             x
             -- c.txt
             ",
        );
        run(List, &workspace, input).map(|reply| reply.text).map_err(|fault| fault.text)
    }

    #[test]
    fn directories_come_first_and_the_rest_by_name() {
        assert_eq!(list(json!({})).unwrap(), "3 entries:\n\na/\nb.txt (6 bytes)\nc.txt (0 bytes)\n");
    }

    #[test]
    fn a_file_cannot_be_listed() {
        let fault = list(json!({ "path": "b.txt" })).unwrap_err();
        assert!(fault.ends_with("b.txt: a part of the path is not a directory"), "{fault}");
    }
}
