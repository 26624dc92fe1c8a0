//! `Read`: the lines of a text file.

use std::{
    fmt::Write,
    fs::File,
    io::{self, BufRead, BufReader},
    path::Path,
};

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Limit, Reply, Spec, Stamp, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;

/// Reads a text file and shows its lines with their numbers.
///
/// Use it for source code, settings and logs. Without `offset` and `limit` it shows the first 2000 lines; give both to
/// read on in a larger file. Lines longer than 2000 characters are cut.
/// It fails if the path does not exist, is a directory (use List) or is not text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadInput {
    /// The file.
    file_path: AbsolutePath,
    /// The first line to show, counted from 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to show.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

const MOST_LINES: u64 = 2000;
const MOST_COLUMNS: usize = 2000;

pub(crate) struct Read;

impl Tool for Read {
    type Input = ReadInput;
    const SPEC: Spec = Spec::new("Read")
        .toolset("readonly")
        .aliases(&["FileRead", "fs_read", "read_file", "cat"])
        .search_hint("open show view file text lines")
        // A spilled result would have to be read again, and again: Read keeps its own limits.
        .limit(Limit::Unlimited);

    fn effects(&self, input: &ReadInput) -> Effects {
        Effects::reads(&input.file_path)
    }

    fn describe(&self, input: &ReadInput) -> String {
        format!("Read {}", input.file_path.display())
    }

    async fn call(&self, input: ReadInput, cx: &Cx) -> Result<Reply, Fault> {
        let (files, cx_inside) = (cx.files(), cx.clone());
        cx.blocking(move || {
            let file = files.open(&input.file_path)?;
            let cannot = |err| Fault::io("read", &input.file_path, err);
            // Before the first byte: a change while we read counts as one since.
            let stamp = Stamp::of(&file.metadata().map_err(cannot)?);
            let first = input.offset.unwrap_or(1);
            let page = Page::read(file, first, input.limit.unwrap_or(MOST_LINES), &cx_inside);
            let reply = page.map_err(cannot)?.reply(&input.file_path, first)?;
            files.see(&input.file_path, stamp.into())?;
            Ok(reply)
        })
        .await
    }
}

/// Some lines of a file. Whatever the file holds, no more than these lines are in memory.
struct Page {
    text: String,
    lines: u64,
    /// Lines that were seen in all: up to the page if there is more, the whole file if not.
    seen: u64,
    has_more: bool,
    is_binary: bool,
    is_lossy: bool,
}

impl Page {
    fn read(file: File, first: u64, limit: u64, cx: &Cx) -> io::Result<Page> {
        let mut page = Page {
            text: String::new(),
            lines: 0,
            seen: 0,
            has_more: false,
            is_binary: false,
            is_lossy: false,
        };
        let mut reader = BufReader::with_capacity(64 * 1024, file);
        // Text has no zero bytes; one in the first block is what tells a binary file from a text in an odd encoding.
        page.is_binary = reader.fill_buf()?.iter().take(8192).any(|byte| *byte == 0);
        if page.is_binary {
            return Ok(page);
        }
        let mut line = Vec::new();
        while !cx.is_cancelled() {
            let wanted = page.seen + 1 >= first;
            if wanted && page.lines == limit {
                page.has_more = !reader.fill_buf()?.is_empty();
                break;
            }
            let keep = if wanted { MOST_COLUMNS * 4 } else { 0 };
            let Some(cut) = next_line(&mut reader, &mut line, keep)? else { break };
            page.seen += 1;
            if wanted {
                page.show(&line, cut);
            }
        }
        Ok(page)
    }

    fn show(&mut self, line: &[u8], mut hidden: usize) {
        self.lines += 1;
        let text = String::from_utf8_lossy(line);
        self.is_lossy |= matches!(text, std::borrow::Cow::Owned(_));
        let text = text.trim_end_matches('\r');
        let end = text.char_indices().nth(MOST_COLUMNS).map_or(text.len(), |(end, _)| end);
        hidden += text.len() - end;
        let marker =
            if hidden > 0 { format!(" [… {hidden} bytes of this line hidden]") } else { String::new() };
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{:>6}\t{}{marker}", self.seen, &text[..end]);
    }

    fn reply(self, path: &Path, first: u64) -> Result<Reply, Fault> {
        if self.is_binary {
            return Err(Fault::failed(format!("{} is not text: it holds zero bytes", path.display())));
        }
        let lossy =
            if self.is_lossy { "(not all of it is UTF-8: what is not is shown as \u{fffd})\n" } else { "" };
        let text = match (self.lines, self.seen) {
            (0, 0) => "(the file is empty)".to_owned(),
            (0, seen) => {
                return Err(Fault::rejected(format!(
                    "{} has {seen} lines; offset {first} is past its end",
                    path.display()
                )));
            }
            _ if self.has_more => {
                let next = first + self.lines;
                format!("{lossy}{}[… more lines follow: read on with offset {next} …]\n", self.text)
            }
            _ => format!("{lossy}{}", self.text),
        };
        let shown = match self.lines {
            0 => format!("{} is empty", path.display()),
            lines => format!("{lines} lines of {}, from line {first}", path.display()),
        };
        Ok(Reply::text(text).note("lines", self.lines).drawn(View::text(shown)))
    }
}

/// The next line without its end, at most `keep` bytes of it; says how many bytes were passed over.
fn next_line(reader: &mut BufReader<File>, line: &mut Vec<u8>, keep: usize) -> io::Result<Option<usize>> {
    line.clear();
    let mut passed = 0;
    let mut any = false;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(any.then_some(passed));
        }
        any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let room = keep.saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(&part[..room]);
        passed += part.len() - room;
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(passed));
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_testkit::{Workspace, run};
    use serde_json::{Value, json};

    use super::Read;

    fn read(workspace: &Workspace, input: Value) -> Result<String, String> {
        run(Read, workspace, input).map(|reply| reply.text).map_err(|fault| fault.text)
    }

    fn poem() -> Workspace {
        Workspace::new(
            "-- poem.txt
             one
             two
             three
             -- empty
             ",
        )
    }

    #[test]
    fn lines_are_numbered() {
        assert_eq!(
            read(&poem(), json!({ "file_path": "poem.txt" })).unwrap(),
            "     1\tone\n     2\ttwo\n     3\tthree\n"
        );
        assert_eq!(read(&poem(), json!({ "file_path": "empty" })).unwrap(), "(the file is empty)");
    }

    #[test]
    fn a_page_says_how_to_read_on() {
        let page = read(&poem(), json!({ "file_path": "poem.txt", "offset": "2", "limit": "1" })).unwrap();
        assert_eq!(page, "     2\ttwo\n[… more lines follow: read on with offset 3 …]\n");
    }

    #[test]
    fn an_offset_past_the_end_says_how_long_the_file_is() {
        let fault = read(&poem(), json!({ "file_path": "poem.txt", "offset": 9 })).unwrap_err();
        assert!(fault.ends_with("poem.txt has 3 lines; offset 9 is past its end"), "{fault}");
    }

    #[test]
    fn what_is_not_text_is_refused() {
        let workspace = poem();
        workspace.write("image", b"\x89PNG\r\n\0\0\0");
        let fault = read(&workspace, json!({ "file_path": "image" })).unwrap_err();
        assert!(fault.ends_with("image is not text: it holds zero bytes"), "{fault}");
        let fault = read(&workspace, json!({ "file_path": "." })).unwrap_err();
        assert!(fault.ends_with("it is a directory"), "{fault}");
    }

    #[test]
    fn a_name_that_is_nearly_right_is_suggested() {
        let fault = read(&poem(), json!({ "file_path": "peom.txt" })).unwrap_err();
        assert!(fault.ends_with("peom.txt: it does not exist; did you mean poem.txt?"), "{fault}");
    }

    #[test]
    fn very_long_lines_are_cut_between_characters() {
        let workspace = poem();
        workspace.write("long", "é".repeat(100_000).as_bytes());
        let text = read(&workspace, json!({ "file_path": "long" })).unwrap();
        assert!(text.ends_with("é [… 196000 bytes of this line hidden]\n"), "{}", &text[text.len() - 80..]);
    }
}
