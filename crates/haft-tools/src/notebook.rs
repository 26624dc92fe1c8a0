//! A notebook as text: where its cells are, and how one is put in place of another.
//!
//! A notebook is not written anew from what was understood of it. A changed cell goes where the old one was; every
//! byte outside of it stays, and with it whatever other programs keep there.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, ser::PrettyFormatter, value::RawValue};

/// A notebook that was understood.
#[derive(Debug)]
pub(crate) struct Notebook<'a> {
    text: &'a str,
    pub(crate) cells: Vec<Cell>,
    /// The list of cells in the text. A notebook of the third format may have several.
    lists: Vec<Range<usize>>,
    pub(crate) format: (u64, u64),
    pub(crate) language: Option<String>,
}

/// One cell: what it says, and where.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    pub(crate) fields: Map<String, Value>,
    at: Range<usize>,
}

/// Why a text is no notebook.
#[derive(Debug)]
pub(crate) struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<serde_json::Error> for Broken {
    fn from(err: serde_json::Error) -> Broken {
        Broken(err.to_string())
    }
}

#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow)]
    cells: Option<&'a RawValue>,
    #[serde(borrow, default)]
    worksheets: Vec<Worksheet<'a>>,
    #[serde(default)]
    nbformat: Option<u64>,
    #[serde(default)]
    nbformat_minor: Option<u64>,
    #[serde(default)]
    metadata: Value,
}

#[derive(Deserialize)]
struct Worksheet<'a> {
    #[serde(borrow)]
    cells: Option<&'a RawValue>,
}

impl<'a> Notebook<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Notebook<'a>, Broken> {
        let written: Written<'a> = serde_json::from_str(text)?;
        let format = (written.nbformat.unwrap_or(4), written.nbformat_minor.unwrap_or(0));
        let lists: Vec<_> = written
            .cells
            .into_iter()
            .chain(written.worksheets.iter().filter_map(|sheet| sheet.cells))
            .collect();
        if lists.is_empty() {
            return Err(Broken("it has no list of cells".to_owned()));
        }
        let mut cells = Vec::new();
        for list in &lists {
            for raw in serde_json::from_str::<Vec<&RawValue>>(list.get())? {
                cells.push(Cell { fields: serde_json::from_str(raw.get())?, at: place(text, raw.get()) });
            }
        }
        let language = ["/language_info/name", "/kernelspec/language"]
            .iter()
            .find_map(|pointer| written.metadata.pointer(pointer)?.as_str().map(str::to_owned));
        let lists = lists.iter().map(|list| place(text, list.get())).collect();
        Ok(Notebook { text, cells, lists, format, language })
    }

    /// The cell of an id, or of `cell-N` counted from 0.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let by_id = self.cells.iter().position(|cell| cell.id() == Some(name));
        by_id.or_else(|| name.strip_prefix("cell-")?.parse().ok().filter(|index| *index < self.cells.len()))
    }

    /// Whether its cells have ids.
    pub(crate) fn has_ids(&self) -> bool {
        self.format >= (4, 5)
    }

    /// Whether sources are lists of lines, as they mostly are.
    pub(crate) fn has_lines(&self) -> bool {
        self.cells.iter().find_map(|cell| cell.fields.get(cell.source_key())).is_none_or(Value::is_array)
    }

    /// The text with another cell in the place of this one.
    pub(crate) fn replaced(&self, index: usize, fields: &Map<String, Value>) -> Result<String, Broken> {
        let at = &self.cells[index].at;
        Ok(self.spliced(at.clone(), &self.written(fields, self.margin(at.start))?))
    }

    /// The text with a new cell before the cell of this index, or after the last.
    pub(crate) fn inserted(&self, index: usize, fields: &Map<String, Value>) -> Result<String, Broken> {
        let list = self.only_list()?;
        let Some(first) = self.cells.first() else {
            let margin = self.indentation().map(|indent| self.margin_of_line(list.start) + indent);
            let cell = self.written(fields, margin.as_deref())?;
            let (open, close) = match (margin, self.indentation()) {
                (Some(margin), Some(_)) => {
                    (format!("[\n{margin}"), format!("\n{}]", self.margin_of_line(list.start)))
                }
                _ => ("[".to_owned(), "]".to_owned()),
            };
            return Ok(self.spliced(list, &format!("{open}{cell}{close}")));
        };
        let margin = self.margin(first.at.start);
        let cell = self.written(fields, margin)?;
        let between = margin.map_or(", ".to_owned(), |margin| format!(",\n{margin}"));
        Ok(match self.cells.get(index) {
            Some(next) => self.spliced(next.at.start..next.at.start, &format!("{cell}{between}")),
            None => {
                let end = self.cells.last().unwrap_or(first).at.end;
                self.spliced(end..end, &format!("{between}{cell}"))
            }
        })
    }

    /// The text without a cell.
    pub(crate) fn deleted(&self, index: usize) -> Result<String, Broken> {
        let list = self.only_list()?;
        let at = |index: usize| self.cells.get(index).map(|cell| &cell.at);
        let (Some(here), before) = (at(index), index.checked_sub(1).and_then(at)) else {
            return Ok(self.text.to_owned());
        };
        Ok(match (before, at(index + 1)) {
            (_, Some(next)) => self.spliced(here.start..next.start, ""),
            (Some(before), None) => self.spliced(before.end..here.end, ""),
            (None, None) => self.spliced(list, "[]"),
        })
    }

    fn only_list(&self) -> Result<Range<usize>, Broken> {
        match self.lists.as_slice() {
            [list] => Ok(list.clone()),
            _ => {
                Err(Broken("it has several worksheets; cells are neither added nor deleted there".to_owned()))
            }
        }
    }

    fn spliced(&self, at: Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[..at.start], &self.text[at.end..])
    }

    /// A cell as JSON, indented as this notebook is.
    fn written(&self, fields: &Map<String, Value>, margin: Option<&str>) -> Result<String, Broken> {
        let (Some(margin), Some(indent)) = (margin, self.indentation()) else {
            return Ok(serde_json::to_string(fields)?);
        };
        let mut out = Vec::new();
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        fields.serialize(&mut serde_json::Serializer::with_formatter(&mut out, formatter))?;
        // JSON has line feeds between values only, never inside a string.
        Ok(String::from_utf8_lossy(&out).replace('\n', &format!("\n{margin}")))
    }

    /// The blanks before the first key, if the notebook is written over several lines.
    fn indentation(&self) -> Option<&'a str> {
        let inside = self.text.trim_start().strip_prefix('{')?;
        let (line, rest) = inside.split_once('\n')?;
        let indent = &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()];
        line.trim().is_empty().then_some(indent).filter(|indent| !indent.is_empty())
    }

    /// The blanks before this place, if nothing else is on its line.
    fn margin(&self, at: usize) -> Option<&'a str> {
        let line = &self.text[self.text[..at].rfind('\n')? + 1..at];
        line.trim().is_empty().then_some(line)
    }

    /// The blanks at the beginning of the line of this place.
    fn margin_of_line(&self, at: usize) -> String {
        let line = &self.text[self.text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
        line.chars().take_while(|c| c.is_whitespace()).collect()
    }
}

/// Where a part of a text is in it.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

impl Cell {
    pub(crate) fn kind(&self) -> &str {
        self.fields.get("cell_type").and_then(Value::as_str).unwrap_or("raw")
    }

    pub(crate) fn id(&self) -> Option<&str> {
        self.fields.get("id").and_then(Value::as_str)
    }

    /// Code was called `input` in the third format.
    pub(crate) fn source_key(&self) -> &'static str {
        let is_old = self.kind() == "code" && self.fields.contains_key("input");
        if is_old { "input" } else { "source" }
    }

    pub(crate) fn source(&self) -> String {
        self.fields.get(self.source_key()).map(joined).unwrap_or_default()
    }
}

/// A text that may be written as a list of lines.
pub(crate) fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// A text as a notebook has it.
pub(crate) fn source(text: &str, as_lines: bool) -> Value {
    match as_lines {
        true => text.split_inclusive('\n').map(Value::from).collect(),
        false => Value::from(text),
    }
}
