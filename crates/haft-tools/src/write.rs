//! `Write`: a file with this content.

use std::{borrow::Cow, fs::File, io::Read as _, path::Path};

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Files, Reply, Spec, Tool, View, shown};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    diff::{MOST_SHOWN, diff, summary},
    preview,
    shown::count,
    stored,
    text::{Form, MARK, NotText, Text, decode},
};

/// Writes a file: makes it, with the directories above it, or replaces all that is in it.
///
/// Use it for new files, or when most of a file changes. It happens in one step: nobody ever sees half of it.
/// An existing file must have been read in this session and be unchanged since: otherwise it fails, and you read it again
/// before you decide. Its encoding and line endings are kept. It also fails if the path is a directory.
#[derive(Clone, Deserialize, JsonSchema)]
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
        let lines = count(input.content.lines().count() as u64, "line");
        format!("Write {} ({lines})", shown(&input.file_path))
    }

    async fn preview(&self, input: &WriteInput, cx: &Cx) -> Option<View> {
        let input = input.clone();
        preview::of(cx, move |files| foreseen(files, &input.file_path, &input.content)).await
    }

    async fn call(&self, input: WriteInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        cx.blocking(move || write(&*files, &input.file_path, &input.content)).await
    }
}

/// The change that would be made, for whoever is asked about it.
fn foreseen(files: &dyn Files, path: &Path, content: &str) -> Result<View, Fault> {
    let before = Before::read(files, path)?;
    if before.exists {
        stored::seen(files, path)?;
    }
    let content = before.fit(content);
    before.encode(path, &content)?;
    Ok(before.view(path, &content).unwrap_or_else(|| View::text(before.unseen(path, &content))))
}

fn write(files: &dyn Files, path: &Path, content: &str) -> Result<Reply, Fault> {
    let before = Before::read(files, path)?;
    let content = before.fit(content);
    let bytes = before.encode(path, &content)?;
    files.write(path, &bytes).map_err(|fault| before.explain(fault, files, path, &content))?;
    Ok(before.reply(path, &content, bytes.len()))
}

/// What was there, and how it was written.
struct Before {
    exists: bool,
    /// As far as it can be shown.
    text: Option<String>,
    form: Form,
    has_mark: bool,
    /// Every line ends with a carriage return and a newline.
    is_crlf: bool,
}

/// Of a larger file, the beginning tells how it is written.
const MOST_READ: u64 = 64 * 1024 * 1024;

impl Before {
    const NOTHING: Before =
        Before { exists: false, text: None, form: Form::UTF_8, has_mark: false, is_crlf: false };

    fn read(files: &dyn Files, path: &Path) -> Result<Before, Fault> {
        match files.metadata(path)? {
            None => return Ok(Before::NOTHING),
            Some(metadata) if metadata.is_dir() => {
                return Err(Fault::io("write", path, std::io::ErrorKind::IsADirectory.into()));
            }
            Some(_) => {}
        }
        let file = files.open(path)?;
        let before = Before::of(file, path)?;
        if let Some(text) = &before.text {
            files.secrets_in(text);
        }
        Ok(before)
    }

    fn of(file: File, path: &Path) -> Result<Before, Fault> {
        let cannot = |err| Fault::io("read", path, err);
        let is_whole = file.metadata().map_err(cannot)?.len() <= MOST_READ;
        let mut bytes = Vec::new();
        let most = if is_whole { MOST_READ } else { MOST_SHOWN as u64 };
        file.take(most).read_to_end(&mut bytes).map_err(cannot)?;
        Ok(if is_whole { Before::whole(bytes) } else { Before::beginning(&bytes) })
    }

    fn whole(bytes: Vec<u8>) -> Before {
        match decode(bytes) {
            Ok(Text { content, form }) => {
                let before = Before::written_like(&content, form);
                Before { text: Some(content).filter(|text| text.len() <= MOST_SHOWN), ..before }
            }
            Err(NotText::Broken(form)) => Before { exists: true, form, ..Before::NOTHING },
            Err(NotText::Binary) => Before { exists: true, ..Before::NOTHING },
        }
    }

    fn beginning(bytes: &[u8]) -> Before {
        match Form::detect(bytes) {
            Some(form) => Before::written_like(&form.show(bytes), form),
            None => Before { exists: true, ..Before::NOTHING },
        }
    }

    fn written_like(text: &str, form: Form) -> Before {
        let count = |wanted: &str| text.matches(wanted).count();
        let pairs = count("\r\n");
        let is_crlf = pairs > 0 && pairs == count("\n") && pairs == count("\r");
        Before { exists: true, text: None, form, has_mark: text.starts_with(MARK), is_crlf }
    }

    /// The new content, with the mark and the line ends that the file has.
    fn fit<'c>(&self, content: &'c str) -> Cow<'c, str> {
        let mut fitted = Cow::Borrowed(content);
        if self.is_crlf && content.contains('\n') && !content.contains('\r') {
            fitted = Cow::Owned(content.replace('\n', "\r\n"));
        }
        if self.has_mark && !content.starts_with(MARK) {
            fitted.to_mut().insert(0, MARK);
        }
        fitted
    }

    fn encode<'c>(&self, path: &Path, content: &'c str) -> Result<Cow<'c, [u8]>, Fault> {
        self.form.encode(content).map_err(|err| {
            Fault::rejected(format!("cannot write {}: {err}; nothing was written", shown(path)))
        })
    }

    /// The change, as far as what was there can be shown.
    fn view(&self, path: &Path, content: &str) -> Option<View> {
        match &self.text {
            Some(old) => Some(diff(path, old, content)),
            None if !self.exists => Some(diff(path, "", content)),
            None => None,
        }
    }

    /// What is said where it cannot.
    fn unseen(&self, path: &Path, content: &str) -> String {
        let lines = count(content.lines().count() as u64, "line");
        format!("{} is replaced by {lines}; what is there now is too large to show, or not text", shown(path))
    }

    /// A file that has changed since it was read: adds how it differs from what was to be written.
    fn explain(&self, mut fault: Fault, files: &dyn Files, path: &Path, content: &str) -> Fault {
        let was_seen = matches!(files.seen(path), Ok(Some(_)));
        if let Some(text) = self.text.as_deref().filter(|_| was_seen)
            && let Some(summary) = summary(text, content)
        {
            let told = format!(".\nAgainst what is there now, your content {summary}");
            fault.message_mut().push_str(&told);
        }
        fault
    }

    fn reply(&self, path: &Path, content: &str, bytes: usize) -> Reply {
        let verb = match &self.text {
            _ if !self.exists => "created",
            Some(old) if old == content => "left as it was",
            _ => "replaced",
        };
        let lines = count(content.lines().count() as u64, "line");
        let mut text = format!("{verb} {}: {lines}, {}", shown(path), count(bytes as u64, "byte"));
        if !self.form.is_utf8() {
            text.push_str(&format!("\n(written as {}, as the file was)", self.form.name()));
        }
        if self.is_crlf && content.contains("\r\n") {
            text.push_str("\n(with the line endings of the file: CRLF)");
        }
        let view = self.view(path, content).unwrap_or_else(|| View::text(&text));
        Reply::text(text).note("bytes", bytes).drawn(view)
    }
}

#[cfg(test)]
mod tests {
    use haft_tool::IntoTool;
    use serde_json::json;

    use super::{Before, Write};
    use crate::desk::{Desk, drawings};

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
        assert_eq!(write(&desk, "notes", "less precious\n"), "replaced notes: 1 line, 14 bytes");
        assert_eq!(write(&desk, "notes", "again\n"), "replaced notes: 1 line, 6 bytes");
    }

    #[test]
    fn a_file_that_changed_since_is_not_overwritten_and_what_differs_is_told() {
        let desk = Desk::new("-- notes\nprecious\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        desk.workspace.write("notes", b"precious\nsomebody else was here\n");
        insta::assert_snapshot!(write(&desk, "notes", "precious\nmine\n"), @"
        notes has changed since it was read (9 bytes → 32 bytes); nothing was written. Read it again, then decide.
        Against what is there now, your content takes 1 line away (-) and adds 1 line (+):
        -somebody else was here
        +mine
        ");
        assert_eq!(desk.workspace.text("notes"), "precious\nsomebody else was here\n");
    }

    #[test]
    fn a_directory_is_not_a_file() {
        let desk = Desk::new("-- dir/x\n");
        assert_eq!(write(&desk, "dir", "x"), "cannot write dir: it is a directory");
    }

    #[test]
    fn encoding_and_line_ends_of_the_file_stay() {
        let desk = Desk::new("-- notes\n");
        desk.workspace.write("notes", b"d\xe9j\xe0 vu, caf\xe9\r\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        insta::assert_snapshot!(write(&desk, "notes", "thé\ncafé\n"), @"
        replaced notes: 2 lines, 11 bytes
        (written as windows-1252, as the file was)
        (with the line endings of the file: CRLF)
        ");
        let bytes = || std::fs::read(desk.workspace.root().join("notes")).unwrap();
        assert_eq!(bytes(), b"th\xe9\r\ncaf\xe9\r\n");
        insta::assert_snapshot!(write(&desk, "notes", "crab: 🦀\n"), @"cannot write notes: the file is windows-1252, which has no `🦀` (U+1F980, line 1 of the new text); nothing was written");
        assert_eq!(bytes(), b"th\xe9\r\ncaf\xe9\r\n");
    }

    #[track_caller]
    fn check_fit(before: &str, form: fn(&str) -> Vec<u8>, content: &str, expected: &str) {
        let before = Before::whole(form(before));
        let fitted = before.fit(content);
        assert_eq!(*before.form.encode(&fitted).unwrap(), *form(expected));
    }

    #[test]
    fn new_content_is_written_as_the_old_was() {
        let utf8 = |text: &str| text.as_bytes().to_vec();
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        check_fit("a\r\nb\r\n", utf8, "x\ny", "x\r\ny");
        check_fit("a\r\nb\n", utf8, "x\ny", "x\ny");
        check_fit("a\r\n", utf8, "x\r\ny\n", "x\r\ny\n");
        check_fit("\u{feff}a\n", utf8, "x\n", "\u{feff}x\n");
        check_fit("\u{feff}a\n", utf8, "\u{feff}x\n", "\u{feff}x\n");
        check_fit("\u{feff}a\r\n", wide, "é🦀\n", "\u{feff}é🦀\r\n");
        check_fit("", utf8, "x\n", "x\n");
    }

    #[test]
    fn a_person_sees_the_change() {
        let desk = Desk::new("-- notes\none\ntwo\nthree\n");
        desk.call("Read", json!({ "file_path": "notes" }));
        let input = json!({ "file_path": "notes", "content": "one\n2\nthree\n" });
        insta::assert_snapshot!(desk.drawn("Write", input), @"
        notes
        @@ -1,3 +1,3 @@
         one
        -two
        +2
         three
        ");
        let input = json!({ "file_path": "new", "content": "one\n" });
        insta::assert_snapshot!(desk.drawn("Write", input.clone()), @"
        new
        @@ -0,0 +1 @@
        +one
        ");
        insta::assert_snapshot!(drawings(&Write.into_tool(), &input), @"
        Write new (1 line) (waiting)
        Write new (1 line)
        Write new (1 line): the disk is full
        Write new (1 line) (refused): the user said no
        ");
    }
}
