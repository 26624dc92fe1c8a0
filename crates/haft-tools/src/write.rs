//! `Write`: a file with this content.

use std::{io::Read as _, path::Path};

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Files, Reply, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::diff::{MOST_SHOWN, diff};

/// Writes a file: makes it, with the directories above it, or replaces all that is in it.
///
/// Use it for new files, or when most of a file changes. The change happens in one step: nobody ever sees half of it.
/// An existing file must have been read in this session, and must not have changed since: otherwise it fails, and you
/// read the file again before you decide. It also fails if the path is a directory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteInput {
    /// The file.
    file_path: AbsolutePath,
    /// All that the file is to hold.
    content: String,
}

pub(crate) struct Write;

impl Tool for Write {
    type Input = WriteInput;
    const SPEC: Spec = Spec::new("Write")
        .toolset("edit")
        .aliases(&["FileWrite", "fs_write", "write_file", "create_file"])
        .search_hint("create overwrite replace save file");

    fn effects(&self, input: &WriteInput) -> Effects {
        // The answer shows what was there before, so it reads as well.
        Effects::reads(&input.file_path).and_writes(&input.file_path)
    }

    fn describe(&self, input: &WriteInput) -> String {
        format!("Write {} ({} lines)", input.file_path.display(), input.content.lines().count())
    }

    async fn call(&self, input: WriteInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        cx.blocking(move || {
            let path: &Path = &input.file_path;
            let before = before(&*files, path)?;
            files.write(path, input.content.as_bytes())?;
            Ok(reply(path, &before, &input.content))
        })
        .await
    }
}

/// What was there, as far as it can be shown.
enum Before {
    Nothing,
    Text(String),
    /// Too large, or no text.
    Unshown,
}

fn before(files: &dyn Files, path: &Path) -> Result<Before, Fault> {
    match files.metadata(path)? {
        None => Ok(Before::Nothing),
        Some(metadata) if metadata.is_dir() => {
            Err(Fault::io("write", path, std::io::ErrorKind::IsADirectory.into()))
        }
        Some(metadata) if metadata.len() > MOST_SHOWN as u64 => Ok(Before::Unshown),
        Some(_) => {
            let mut bytes = Vec::new();
            let file = files.open(path)?;
            file.take(MOST_SHOWN as u64)
                .read_to_end(&mut bytes)
                .map_err(|err| Fault::io("read", path, err))?;
            Ok(String::from_utf8(bytes).map_or(Before::Unshown, Before::Text))
        }
    }
}

fn reply(path: &Path, before: &Before, content: &str) -> Reply {
    let (verb, old) = match before {
        Before::Nothing => ("created", ""),
        Before::Text(old) if old == content => ("left as it was", content),
        Before::Text(old) => ("replaced", old.as_str()),
        Before::Unshown => ("replaced", ""),
    };
    let shown = path.display();
    let text = format!("{verb} {shown}: {} lines, {} bytes", content.lines().count(), content.len());
    let view = if matches!(before, Before::Unshown) { View::text(&text) } else { diff(path, old, content) };
    Reply::text(text).note("bytes", content.len()).drawn(view)
}

#[cfg(test)]
mod tests {
    use haft_engine::Call;
    use serde_json::json;

    use crate::desk::Desk;

    fn write(desk: &Desk, path: &str, content: &str) -> String {
        desk.call("Write", json!({ "file_path": path, "content": content }))
    }

    #[test]
    fn a_new_file_is_made_with_its_directories() {
        let desk = Desk::new("");
        assert_eq!(write(&desk, "a/b/new.txt", "one\ntwo\n"), "created a/b/new.txt: 2 lines, 8 bytes");
        assert_eq!(desk.workspace.text("a/b/new.txt"), "one\ntwo\n");
    }

    #[test]
    fn a_file_that_was_not_read_is_not_overwritten() {
        let desk = Desk::new("-- notes\nprecious\n");
        let refused = write(&desk, "notes", "gone");
        assert_eq!(
            refused,
            "notes exists (9 bytes) and has not been read in this session; nothing was written. Read it first"
        );
        assert_eq!(desk.workspace.text("notes"), "precious\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        assert_eq!(write(&desk, "notes", "less precious\n"), "replaced notes: 1 lines, 14 bytes");
        assert_eq!(write(&desk, "notes", "again\n"), "replaced notes: 1 lines, 6 bytes");
    }

    #[test]
    fn a_file_that_changed_since_is_not_overwritten() {
        let desk = Desk::new("-- notes\nprecious\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        desk.workspace.write("notes", b"somebody else was here\n");
        let refused = write(&desk, "notes", "gone");
        assert!(refused.starts_with("notes has changed since it was read (9 bytes → 23 bytes)"), "{refused}");
        assert_eq!(desk.workspace.text("notes"), "somebody else was here\n");
    }

    #[test]
    fn a_directory_is_not_a_file() {
        let desk = Desk::new("-- dir/x\n");
        assert_eq!(write(&desk, "dir", "x"), "cannot write dir: it is a directory");
    }

    #[test]
    fn a_person_sees_the_change() {
        let desk = Desk::new("-- notes\none\ntwo\nthree\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        let view = desk.runtime.block_on(async {
            let turn = desk.session.live_turn();
            let input = json!({ "file_path": "notes", "content": "one\n2\nthree\n" });
            turn.push(Call::new("1", "Write", input)).unwrap();
            turn.results().await.remove(0).view.expect("somebody watches")
        });
        let haft_tool::View::Diff { unified, .. } = *view else { panic!("no diff: {view:?}") };
        assert_eq!(unified, "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    }
}
