//! The cells of a notebook, as a model reads them: source, then what came out of it.

use std::fmt::Write;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use haft_engine::result::{preview, size};
use haft_tool::Block;
use image::ImageFormat;
use serde_json::{Map, Value};

use super::picture::Picture;
use crate::{
    notebook::{Broken, Cell, Notebook, joined},
    text::MARK,
};

/// Of one output; of all that a cell printed, the ends tell most.
const MOST_OUTPUT: usize = 8 * 1024;
const MOST_PICTURES: usize = 20;

/// What a notebook shows.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    pub(crate) head: String,
    /// Each cell's number from 0, and its text.
    pub(crate) units: Vec<(u64, String)>,
    pub(crate) pictures: Vec<Block>,
}

/// Reads a notebook of format 3 or 4.
pub(crate) fn cells(text: &str) -> Result<Cells, Broken> {
    let notebook = Notebook::parse(text.strip_prefix(MARK).unwrap_or(text))?;
    let mut shown = Cells::default();
    let language = notebook.language.map(|language| format!(", {language}")).unwrap_or_default();
    let (major, minor) = notebook.format;
    shown.head = format!("({} cells, format {major}.{minor}{language})\n", notebook.cells.len());
    for (number, cell) in (0..).zip(&notebook.cells) {
        let text = shown.cell(number, cell);
        shown.units.push((number, text));
    }
    Ok(shown)
}

impl Cells {
    fn cell(&mut self, number: u64, cell: &Cell) -> String {
        let id = cell.id().map(|id| format!(", id {id}")).unwrap_or_default();
        let run = ["execution_count", "prompt_number"].iter().find_map(|key| cell.fields.get(*key)?.as_u64());
        let run = run.map(|count| format!(", run as {count}")).unwrap_or_default();
        let mut text = format!("\n[cell-{number}{id}: {}{run}]\n", cell.kind());
        push_lines(&mut text, &cell.source());
        let outputs = cell.fields.get("outputs").and_then(Value::as_array);
        for output in outputs.into_iter().flatten().filter_map(Value::as_object) {
            self.output(output, &mut text);
        }
        text
    }

    fn output(&mut self, output: &Map<String, Value>, text: &mut String) {
        let get = |key: &str| output.get(key).map(joined).unwrap_or_default();
        match output.get("output_type").and_then(Value::as_str) {
            Some("stream") => {
                let name =
                    if get("name") == "stderr" || get("stream") == "stderr" { "stderr" } else { "output" };
                push_output(text, name, &get("text"));
            }
            Some("error" | "pyerr") => {
                let trace = output.get("traceback").and_then(Value::as_array);
                let lines = trace.into_iter().flatten().filter_map(Value::as_str);
                let trace: String = lines.map(|line| format!("{line}\n")).collect();
                let words = format!("{}: {}", get("ename"), get("evalue"));
                push_output(text, "error", if trace.is_empty() { &words } else { &trace });
            }
            // The fourth format has what was shown by its media type, the third by a short name.
            _ => self.data(output.get("data").and_then(Value::as_object).unwrap_or(output), text),
        }
    }

    fn data(&mut self, data: &Map<String, Value>, text: &mut String) {
        let any = |keys: &[&str]| keys.iter().find_map(|key| data.get(*key)).map(joined);
        for (keys, format) in PICTURES {
            if let Some(encoded) = any(keys) {
                let words = self.picture(&encoded, *format);
                push_output(text, "output", &words);
            }
        }
        for keys in TEXTS {
            if let Some(words) = any(keys) {
                return push_output(text, "output", &words);
            }
        }
    }

    /// Takes up a picture, and says which it is.
    fn picture(&mut self, encoded: &str, format: ImageFormat) -> String {
        if self.pictures.len() >= MOST_PICTURES {
            return "(one more picture, not shown)".to_owned();
        }
        let encoded: String = encoded.split_ascii_whitespace().collect();
        let Ok(bytes) = BASE64_STANDARD.decode(encoded) else {
            return "(a picture that cannot be read: it is not base64)".to_owned();
        };
        match Picture::of(bytes, format) {
            Ok(picture) => {
                let words = picture.words();
                self.pictures.push(picture.into_block());
                format!("(picture {} below: {words})", self.pictures.len())
            }
            Err(err) => format!("(what should be a picture {err})"),
        }
    }
}

const PICTURES: &[(&[&str], ImageFormat)] = &[
    (&["image/png", "png"], ImageFormat::Png),
    (&["image/jpeg", "jpeg"], ImageFormat::Jpeg),
    (&["image/gif"], ImageFormat::Gif),
    (&["image/webp"], ImageFormat::WebP),
];

/// The plainest first.
const TEXTS: &[&[&str]] = &[
    &["text/plain", "text"],
    &["text/markdown"],
    &["text/latex", "latex"],
    &["text/html", "html"],
    &["image/svg+xml", "svg"],
    &["application/javascript", "javascript"],
];

fn push_lines(text: &mut String, lines: &str) {
    text.push_str(lines);
    if !lines.is_empty() && !lines.ends_with('\n') {
        text.push('\n');
    }
}

fn push_output(text: &mut String, name: &str, output: &str) {
    let output = without_colours(output);
    let shown = preview(&output, MOST_OUTPUT);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "[{name}]");
    push_lines(text, shown.head);
    if shown.hidden_bytes > 0 {
        let _ = writeln!(text, "[… {} hidden …]", size(shown.hidden_bytes));
        push_lines(text, shown.tail);
    }
}

/// A text without the codes by which a terminal colours it.
fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code)) = rest.split_once('\x1b') {
        out.push_str(before);
        rest = match code.as_bytes().first() {
            // A sequence ends with a letter or one of a few signs.
            Some(b'[') => after(&code[1..], |c| ('@'..='~').contains(&c)),
            // A title or a link ends with a bell, or with another escape.
            Some(b']') => after(code, |c| c == '\x07' || c == '\\'),
            _ => {
                let mut chars = code.chars();
                chars.next();
                chars.as_str()
            }
        };
    }
    out.push_str(rest);
    out
}

fn after(text: &str, is_end: impl Fn(char) -> bool) -> &str {
    let end = text.char_indices().find(|(_, c)| is_end(*c));
    end.map_or("", |(at, c)| &text[at + c.len_utf8()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let cells = cells(text).unwrap();
        let units = cells.units.iter().map(|(_, text)| text.as_str());
        format!("{}{}\n{} pictures", cells.head, units.collect::<String>(), cells.pictures.len())
    }

    #[test]
    fn cells_are_shown_with_what_came_out_of_them() {
        let notebook = r##"{
         "cells": [
          {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "words"]},
          {"cell_type": "code", "execution_count": 3, "id": "a1", "metadata": {}, "source": "print(1)",
           "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
            {"output_type": "stream", "name": "stderr", "text": "warned"},
            {"output_type": "execute_result", "data": {"text/html": "<b>2</b>", "text/plain": "2"}},
            {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["\u001b[0;31mE\u001b[0m: no"]}
           ]},
          {"cell_type": "raw", "metadata": {}, "source": []}
         ],
         "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5
        }"##;
        insta::assert_snapshot!(shown(notebook), @r"
        (3 cells, format 4.5, python)

        [cell-0, id intro: markdown]
        # Title
        words

        [cell-1, id a1: code, run as 3]
        print(1)
        [output]
        1
        [stderr]
        warned
        [output]
        2
        [error]
        E: no

        [cell-2: raw]

        0 pictures
        ");
    }

    #[test]
    fn pictures_are_taken_up_and_broken_ones_are_told() {
        let png = {
            let mut out = std::io::Cursor::new(Vec::new());
            image::DynamicImage::new_rgb8(3, 2).write_to(&mut out, ImageFormat::Png).unwrap();
            BASE64_STANDARD.encode(out.into_inner())
        };
        let notebook = format!(
            r#"{{"nbformat": 4, "nbformat_minor": 2, "cells": [{{"cell_type": "code", "source": "plot()", "outputs": [
                {{"output_type": "display_data", "data": {{"image/png": "{png}\n", "text/plain": "<Figure>"}}}},
                {{"output_type": "display_data", "data": {{"image/png": "iVBORw0KGgo="}}}},
                {{"output_type": "display_data", "data": {{"image/jpeg": "?"}}}}]}}]}}"#
        );
        let shown = shown(&notebook);
        assert!(shown.contains("(picture 1 below: PNG, 3×2 pixels)\n[output]\n<Figure>\n"), "{shown}");
        assert!(shown.contains("(what should be a picture is a PNG picture that cannot be read:"), "{shown}");
        assert!(shown.contains("it is not base64") && shown.ends_with("1 pictures"), "{shown}");
    }

    #[test]
    fn the_third_format_is_read_too() {
        let notebook = r#"{"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": [
            {"cell_type": "heading", "level": 1, "source": ["Old"]},
            {"cell_type": "code", "input": ["1+1"], "language": "python", "prompt_number": 7,
             "outputs": [{"output_type": "pyout", "prompt_number": 7, "text": ["2"]}]}]}]}"#;
        insta::assert_snapshot!(shown(notebook), @r"
        (2 cells, format 3.0)

        [cell-0: heading]
        Old

        [cell-1: code, run as 7]
        1+1
        [output]
        2

        0 pictures
        ");
    }

    #[test]
    fn long_outputs_keep_their_ends() {
        let lines: String = (0..10_000).map(|n| format!("{n}\\n")).collect();
        let notebook = format!(
            r#"{{"cells": [{{"cell_type": "code", "source": "", "outputs": [{{"output_type": "stream", "text": "{lines}"}}]}}]}}"#
        );
        let shown = shown(&notebook);
        assert!(
            shown.len() < 10_000 && shown.contains("KB hidden …]") && shown.contains("9999\n"),
            "{}",
            shown.len()
        );
    }

    #[test]
    fn what_is_no_notebook_says_why() {
        assert_eq!(cells("{}").unwrap_err().to_string(), "it has no list of cells");
        assert!(cells("[1").unwrap_err().to_string().contains("line 1 column"));
    }

    #[test]
    fn terminal_codes_are_taken_out() {
        assert_eq!(without_colours("\x1b[1;31mred\x1b[0m \x1b]8;;x\x07link\x1b(B end\x1b"), "red linkB end");
    }
}
