//! What a person sees of a change before they allow it: the change itself, made by the same code and then not written.

use std::path::Path;

use haft_tool::{Cx, Fault, Files, View, shown};

use crate::shown::count;

/// Nobody waits for the preview of a larger file, and nobody would read it.
const MOST_READ: u64 = 16 * 1024 * 1024;

/// Draws a change beside the async threads. A call that would fail says so: whoever is asked need not think about it.
pub(crate) async fn of(
    cx: &Cx,
    draw: impl FnOnce(&dyn Files) -> Result<View, Fault> + Send + 'static,
) -> Option<View> {
    let files = cx.files();
    match cx.blocking(move || draw(&*files)).await {
        Ok(view) => Some(view),
        Err(fault) => Some(View::Text(format!("(no preview: {})", fault.message()))),
    }
}

/// Refuses a file that is too large to be looked at for a preview. One that is not there is small.
pub(crate) fn is_small(files: &dyn Files, path: &Path) -> Result<(), Fault> {
    match files.metadata(path)?.map(|metadata| metadata.len()) {
        Some(len @ MOST_READ..) => Err(Fault::failed(format!(
            "{} has {}, too many to show the change",
            shown(path),
            count(len, "byte")
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use haft_engine::{
        Call, Session,
        policy::{Answer, Asker, Question},
    };
    use haft_testkit::{Workspace, engine, session};
    use haft_tool::BoxFuture;
    use serde_json::{Value, json};

    use crate::desk::draw;

    /// Notes what is shown, and answers.
    #[derive(Clone)]
    struct Witness {
        answer: Answer,
        shown: Arc<Mutex<String>>,
    }

    impl Asker for Witness {
        fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
            *self.shown.lock().unwrap() = question.preview.map(draw).unwrap_or_default();
            Box::pin(async { self.answer.clone() })
        }
    }

    struct Room {
        workspace: Workspace,
        session: Session,
        witness: Witness,
    }

    impl Room {
        fn new(files: &str, answer: Answer) -> Room {
            let workspace = Workspace::new(files);
            let witness = Witness { answer, shown: Arc::default() };
            let engine = engine(&workspace).tools(crate::builtin()).asker(witness.clone()).build().unwrap();
            let session = session(&engine, &workspace);
            Room { workspace, session, witness }
        }

        /// What is shown before, and what the result's drawing is.
        fn call(&self, tool: &str, input: Value) -> (String, String) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let result = runtime.block_on(async {
                let turn = self.session.live_turn();
                turn.push(Call::new("1", tool, input)).unwrap();
                turn.results().await.remove(0)
            });
            let short = |text: &str| text.replace(&format!("{}/", self.workspace.root().display()), "");
            (short(&self.witness.shown.lock().unwrap()), short(&draw(&result.view.unwrap())))
        }
    }

    const FILES: &str = "-- a.txt\none\ntwo\nthree\n-- b.txt\nb\n";
    const NOTEBOOK: &str = r#"{"cells": [{"cell_type": "code", "source": ["1"], "metadata": {}, "outputs": []}], "nbformat": 4}"#;

    fn changes() -> [(&'static str, Value); 4] {
        let patch =
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Add File: c.txt\n+new\n*** End Patch";
        [
            ("Edit", json!({ "file_path": "a.txt", "old_string": "two", "new_string": "2" })),
            ("Write", json!({ "file_path": "a.txt", "content": "one\n2\n" })),
            ("ApplyPatch", json!({ "patch": patch })),
            ("NotebookEdit", json!({ "notebook_path": "n.ipynb", "cell_id": "0", "new_source": "2" })),
        ]
    }

    #[test]
    fn what_is_shown_before_is_what_is_done() {
        for (tool, input) in changes() {
            let room = Room::new(FILES, Answer::Once);
            room.workspace.write("n.ipynb", NOTEBOOK.as_bytes());
            for file in ["a.txt", "n.ipynb"] {
                room.call("Read", json!({ "file_path": file }));
            }
            let (before, after) = room.call(tool, input);
            assert!(before.contains("+2"), "{tool}: {before}");
            assert_eq!(before, after, "{tool}");
        }
    }

    #[test]
    fn a_preview_changes_nothing_and_is_not_a_look_at_the_file() {
        for (tool, input) in changes() {
            let room = Room::new(FILES, Answer::No(None));
            room.workspace.write("n.ipynb", NOTEBOOK.as_bytes());
            let (unread, _) = room.call(tool, input.clone());
            assert!(unread.contains("has not been read in this session"), "{tool}: {unread}");
            room.call("Read", json!({ "file_path": "a.txt" }));
            room.call("Read", json!({ "file_path": "n.ipynb" }));
            room.call(tool, input);
            assert_eq!(room.workspace.text("a.txt"), "one\ntwo\nthree\n", "{tool}");
            assert_eq!(room.workspace.text("n.ipynb"), NOTEBOOK, "{tool}");
            assert!(!room.workspace.root().join("c.txt").exists(), "{tool}");
        }
    }

    #[test]
    fn a_call_that_would_fail_says_so_before() {
        let room = Room::new(FILES, Answer::Once);
        room.call("Read", json!({ "file_path": "a.txt" }));
        let (before, _) =
            room.call("Edit", json!({ "file_path": "a.txt", "old_string": "nowhere", "new_string": "x" }));
        assert!(before.starts_with("(no preview: a.txt: "), "{before}");
    }

    #[test]
    fn a_large_file_is_shown_around_the_change_or_said_to_be_too_large() {
        let room = Room::new(FILES, Answer::No(None));
        let lines: String = (0..900_000).map(|n| format!("the line number {n}\n")).collect();
        room.workspace.write("large", lines.as_bytes());
        room.call("Read", json!({ "file_path": "large", "limit": 3 }));
        let edit = |old: &str, all: bool| json!({ "file_path": "large", "old_string": old, "new_string": "x", "replace_all": all });
        let (before, _) = room.call("Edit", edit("the line number 800000\n", false));
        assert!(before.contains("@@ -799998,8 +799998,7 @@"), "{before}");
        let (before, _) = room.call("Edit", edit("number", true));
        assert!(before.contains("too many to show the change"), "{before}");
    }

    #[test]
    fn a_command_is_shown_as_it_is_understood() {
        let room = Room::new(FILES, Answer::No(None));
        let input =
            json!({ "command": "rm   -f  'a b' ; ma\"ke\"", "background": true, "hosts": ["docs.rs"] });
        let (before, _) = room.call("Bash", input);
        assert!(before.contains(r"rm -f 'a b'\nma'ke'"), "{before}");
        assert!(before.contains("docs.rs") && before.contains("goes on after the call"), "{before}");
    }
}
