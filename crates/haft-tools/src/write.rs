//! `Write`: a file with this content.

use std::{io::Read as _, path::Path, time::Duration};

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Files, Reply, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use similar::TextDiff;

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

/// A diff of more than this helps nobody.
const MOST_SHOWN: u64 = 1024 * 1024;

fn before(files: &dyn Files, path: &Path) -> Result<Before, Fault> {
    match files.metadata(path)? {
        None => Ok(Before::Nothing),
        Some(metadata) if metadata.is_dir() => {
            Err(Fault::io("write", path, std::io::ErrorKind::IsADirectory.into()))
        }
        Some(metadata) if metadata.len() > MOST_SHOWN => Ok(Before::Unshown),
        Some(_) => {
            let mut bytes = Vec::new();
            let file = files.open(path)?;
            file.take(MOST_SHOWN).read_to_end(&mut bytes).map_err(|err| Fault::io("read", path, err))?;
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
    let is_shown = !matches!(before, Before::Unshown) && content.len() as u64 <= MOST_SHOWN;
    let view = if is_shown { diff(path, old, content) } else { View::text(&text) };
    Reply::text(text).note("bytes", content.len()).drawn(view)
}

/// The change as a person sees it.
fn diff(path: &Path, old: &str, new: &str) -> View {
    // Past its time it gives a coarser answer, never a wrong one.
    let diff = TextDiff::configure().timeout(Duration::from_millis(100)).diff_lines(old, new);
    let unified = diff.unified_diff().context_radius(3).to_string();
    View::Diff { path: path.display().to_string(), unified }
}

#[cfg(test)]
mod tests {
    use haft_engine::{
        Call, Session,
        policy::{Origin, Rules},
    };
    use haft_testkit::{Workspace, engine, session};
    use serde_json::{Value, json};

    use super::Write;
    use crate::read::Read;

    /// A session that may edit, and somebody who makes its calls.
    struct Desk {
        workspace: Workspace,
        session: Session,
        runtime: tokio::runtime::Runtime,
    }

    impl Desk {
        fn new(files: &str) -> Desk {
            let workspace = Workspace::new(files);
            let allow = vec![("Edit(**)".to_owned(), Origin::Session)];
            let rules = Rules { allow, ..Rules::default() };
            let engine = engine(&workspace).tool(Read).tool(Write).rules(rules).build().unwrap();
            let session = session(&engine, &workspace);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            Desk { workspace, session, runtime }
        }

        /// The text of the result, without the place of the workspace.
        fn call(&self, tool: &str, input: Value) -> String {
            let result = self.runtime.block_on(self.session.call(Call::new("1", tool, input)));
            result.text().replace(&format!("{}/", self.workspace.root().display()), "")
        }

        fn write(&self, path: &str, content: &str) -> String {
            self.call("Write", json!({ "file_path": path, "content": content }))
        }
    }

    #[test]
    fn a_new_file_is_made_with_its_directories() {
        let desk = Desk::new("");
        assert_eq!(desk.write("a/b/new.txt", "one\ntwo\n"), "created a/b/new.txt: 2 lines, 8 bytes");
        assert_eq!(desk.workspace.text("a/b/new.txt"), "one\ntwo\n");
    }

    #[test]
    fn a_file_that_was_not_read_is_not_overwritten() {
        let desk = Desk::new("-- notes\nprecious\n");
        let refused = desk.write("notes", "gone");
        assert_eq!(
            refused,
            "notes exists (9 bytes) and has not been read in this session; nothing was written. Read it first"
        );
        assert_eq!(desk.workspace.text("notes"), "precious\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        assert_eq!(desk.write("notes", "less precious\n"), "replaced notes: 1 lines, 14 bytes");
        assert_eq!(desk.write("notes", "again\n"), "replaced notes: 1 lines, 6 bytes");
    }

    #[test]
    fn a_file_that_changed_since_is_not_overwritten() {
        let desk = Desk::new("-- notes\nprecious\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        desk.workspace.write("notes", b"somebody else was here\n");
        let refused = desk.write("notes", "gone");
        assert!(refused.starts_with("notes has changed since it was read (9 bytes → 23 bytes)"), "{refused}");
        assert_eq!(desk.workspace.text("notes"), "somebody else was here\n");
    }

    #[test]
    fn a_directory_is_not_a_file() {
        let desk = Desk::new("-- dir/x\n");
        assert_eq!(desk.write("dir", "x"), "cannot write dir: it is a directory");
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
