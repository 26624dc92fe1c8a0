//! `NotebookEdit`: replaces, inserts or deletes a cell of a notebook.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io::Read as _,
    path::Path,
};

use haft_tool::{AbsolutePath, Cx, Effects, Fault, Files, Reply, Spec, Tool, View, shown};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    diff::diff,
    notebook::{Broken, Cell, Notebook, source},
    preview, stored, text,
};

/// Changes one cell of a Jupyter notebook (.ipynb): replaces what is in it, inserts a new one, or deletes it.
///
/// Use it for notebooks instead of Edit and Write: everything else in the notebook stays as it is. When the code of a
/// cell is replaced, its outputs are cleared, because they are no longer its. The notebook must have been read in this
/// session, and must not have changed since. It fails if there is no such cell, or if the file is no notebook.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotebookEditInput {
    /// The notebook.
    notebook_path: AbsolutePath,
    /// The cell: its id as Read shows it, or `cell-N` counted from 0. A new cell is inserted after it, or at the
    /// beginning of the notebook if it is left out.
    cell_id: Option<String>,
    /// All that the cell is to hold. Not needed to delete.
    new_source: Option<String>,
    /// What the cell is to be; as it was, or code, if it is left out.
    cell_type: Option<CellType>,
    /// What to do; replace if it is left out.
    #[serde(default)]
    edit_mode: EditMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CellType {
    Code,
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

/// As large as Read takes them.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) struct NotebookEdit;

impl Tool for NotebookEdit {
    type Input = NotebookEditInput;
    const SPEC: Spec = Spec::new("NotebookEdit")
        .toolset("edit")
        .aliases(&["notebook_edit", "EditNotebook", "edit_notebook", "edit_notebook_cell"])
        .search_hint("jupyter ipynb notebook cell replace insert delete change");

    fn effects(&self, input: &NotebookEditInput) -> Effects {
        Effects::reads(&input.notebook_path).and_writes(&input.notebook_path)
    }

    fn validate(&self, input: &NotebookEditInput) -> Result<(), Fault> {
        if input.edit_mode != EditMode::Delete && input.new_source.is_none() {
            return Err(Fault::rejected("`new_source` is missing: say what the cell is to hold"));
        }
        if input.edit_mode != EditMode::Insert && input.cell_id.is_none() {
            return Err(Fault::rejected("`cell_id` is missing: say which cell, by its id or as `cell-N`"));
        }
        Ok(())
    }

    fn describe(&self, input: &NotebookEditInput) -> String {
        let path = input.notebook_path.shown();
        match (input.edit_mode, input.cell_id.as_deref()) {
            (EditMode::Replace, id) => format!("Replace cell {} of {path}", id.unwrap_or_default()),
            (EditMode::Delete, id) => format!("Delete cell {} of {path}", id.unwrap_or_default()),
            (EditMode::Insert, Some(id)) => format!("Insert a cell after {id} into {path}"),
            (EditMode::Insert, None) => format!("Insert a cell at the beginning of {path}"),
        }
    }

    async fn preview(&self, input: &NotebookEditInput, cx: &Cx) -> Option<View> {
        let input = input.clone();
        preview::of(cx, move |files| foreseen(files, &input)).await
    }

    async fn call(&self, input: NotebookEditInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        cx.blocking(move || {
            let path: &Path = &input.notebook_path;
            let before = read(&*files, path)?;
            let edited = edit(&before.content, &input).map_err(|refused| refused.fault(path))?;
            let bytes = before.form.encode(&edited.text).map_err(|err| Fault::failed(err.to_string()))?;
            files.write(path, &bytes)?;
            Ok(Reply::text(&edited.words).drawn(edited.view(path)))
        })
        .await
    }
}

/// The change that would be made, for whoever is asked about it.
fn foreseen(files: &dyn Files, input: &NotebookEditInput) -> Result<View, Fault> {
    let path: &Path = &input.notebook_path;
    let before = read(files, path)?;
    stored::seen(files, path)?;
    Ok(edit(&before.content, input).map_err(|refused| refused.fault(path))?.view(path))
}

fn read(files: &dyn Files, path: &Path) -> Result<text::Text, Fault> {
    let mut bytes = Vec::new();
    let file = files.open(path)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|err| Fault::io("read", path, err))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Fault::failed(format!("{} is too large for a notebook", shown(path))));
    }
    let text = text::decode(bytes)
        .map_err(|err| Fault::failed(format!("{} cannot be edited: {err}", shown(path))))?;
    files.secrets_in(&text.content);
    Ok(text)
}

/// A notebook after an edit.
#[derive(Debug)]
struct Edited {
    text: String,
    /// What the model is told.
    words: String,
    /// The source of the cell, for a person.
    old_source: String,
    new_source: String,
}

impl Edited {
    fn view(&self, path: &Path) -> View {
        diff(path, &self.old_source, &self.new_source)
    }
}

/// Why nothing was edited.
#[derive(Debug)]
enum Refused {
    NoNotebook(Broken),
    NoCell { wanted: String, there: String },
}

impl Refused {
    fn fault(self, path: &Path) -> Fault {
        let path = shown(path);
        match self {
            Refused::NoNotebook(broken) => {
                Fault::failed(format!("{path} cannot be edited as a notebook: {broken}"))
            }
            Refused::NoCell { wanted, there } => {
                Fault::rejected(format!("{path} has no cell `{wanted}`; it has {there}"))
            }
        }
    }
}

impl From<Broken> for Refused {
    fn from(broken: Broken) -> Refused {
        Refused::NoNotebook(broken)
    }
}

fn edit(text: &str, input: &NotebookEditInput) -> Result<Edited, Refused> {
    // A mark is no part of the JSON, but stays in the file.
    let (mark, json) = match text.strip_prefix(text::MARK) {
        Some(json) => (&text[..text::MARK.len_utf8()], json),
        None => ("", text),
    };
    let notebook = Notebook::parse(json)?;
    let cell = input.cell_id.as_deref().map(|id| found(&notebook, id)).transpose()?;
    let new_source = input.new_source.clone().unwrap_or_default();
    let (text, name, old_source) = match (input.edit_mode, cell) {
        (EditMode::Replace, Some(index)) => {
            let fields = replaced(&notebook, &notebook.cells[index], &new_source, input.cell_type);
            (notebook.replaced(index, &fields)?, name(index, &fields), notebook.cells[index].source())
        }
        (EditMode::Delete, Some(index)) => {
            let cell = &notebook.cells[index];
            (notebook.deleted(index)?, name(index, &cell.fields), cell.source())
        }
        (_, after) => {
            let index = after.map_or(0, |index| index + 1);
            let fields = new_cell(&notebook, &new_source, input.cell_type.unwrap_or(CellType::Code));
            (notebook.inserted(index, &fields)?, name(index, &fields), String::new())
        }
    };
    let words = match input.edit_mode {
        EditMode::Replace => format!("replaced {name}"),
        EditMode::Insert => format!("inserted {name}; the cells after it have moved on by one"),
        EditMode::Delete => format!("deleted {name}; the cells after it have moved up by one"),
    };
    Ok(Edited { text: format!("{mark}{text}"), words, old_source, new_source })
}

fn found(notebook: &Notebook<'_>, id: &str) -> Result<usize, Refused> {
    // A bare number is what other tools call a cell.
    let by_number = || notebook.find(&format!("cell-{id}"));
    notebook.find(id).or_else(by_number).ok_or_else(|| Refused::NoCell {
        wanted: id.to_owned(),
        there: match notebook.cells.len() {
            0 => "none".to_owned(),
            count => format!("{count}, cell-0 to cell-{}", count - 1),
        },
    })
}

fn name(index: usize, fields: &Map<String, Value>) -> String {
    match fields.get("id").and_then(Value::as_str) {
        Some(id) => format!("cell-{index} (id {id})"),
        None => format!("cell-{index}"),
    }
}

/// The cell with another source, and with what follows from it.
fn replaced(notebook: &Notebook<'_>, cell: &Cell, text: &str, to: Option<CellType>) -> Map<String, Value> {
    let mut fields = cell.fields.clone();
    let as_lines = fields.get(cell.source_key()).map_or(notebook.has_lines(), Value::is_array);
    let is_code = match to {
        Some(to) => to == CellType::Code,
        None => cell.kind() == "code",
    };
    if is_code != (cell.kind() == "code") {
        // The key of the source differs between the kinds in the third format: it is kept where it stands.
        let kind = if is_code { "code" } else { "markdown" };
        fields.insert("cell_type".to_owned(), kind.into());
        let key = source_key(notebook, &fields, is_code);
        rename(&mut fields, cell.source_key(), key);
    } else if to == Some(CellType::Markdown) {
        fields.insert("cell_type".to_owned(), "markdown".into());
    }
    let key = source_key(notebook, &fields, is_code);
    fields.insert(key.to_owned(), source(text, as_lines));
    let count = if is_old(notebook) { "prompt_number" } else { "execution_count" };
    if is_code {
        fields.insert("outputs".to_owned(), json!([]));
        if !is_old(notebook) || fields.contains_key(count) {
            fields.insert(count.to_owned(), Value::Null);
        }
    } else {
        for key in ["outputs", "execution_count", "prompt_number", "collapsed", "language"] {
            fields.shift_remove(key);
        }
    }
    fields
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if from == to {
        return;
    }
    *fields = std::mem::take(fields)
        .into_iter()
        .map(|(key, value)| (if key == from { to.to_owned() } else { key }, value))
        .collect();
}

fn is_old(notebook: &Notebook<'_>) -> bool {
    notebook.format.0 < 4
}

/// What the source of a cell is called, as [`Cell::source_key`] finds it afterwards. A notebook may have cells of the
/// third format without saying so.
fn source_key(notebook: &Notebook<'_>, fields: &Map<String, Value>, is_code: bool) -> &'static str {
    if is_code && (is_old(notebook) || fields.contains_key("input")) { "input" } else { "source" }
}

/// A new cell, its keys in the order in which notebooks have them.
fn new_cell(notebook: &Notebook<'_>, text: &str, kind: CellType) -> Map<String, Value> {
    let is_code = kind == CellType::Code;
    let source = source(text, notebook.has_lines());
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    put("cell_type", if is_code { "code".into() } else { "markdown".into() });
    if is_code && is_old(notebook) {
        put("collapsed", false.into());
        put("input", source.clone());
        put("language", "python".into());
    } else if is_code {
        put("execution_count", Value::Null);
    }
    if notebook.has_ids() {
        put("id", new_id(notebook, text).into());
    }
    put("metadata", json!({}));
    if is_code {
        put("outputs", json!([]));
    }
    if !is_code || !is_old(notebook) {
        put("source", source);
    }
    fields
}

/// An id that no cell has yet. Made from the text, so that the same edit makes the same notebook.
fn new_id(notebook: &Notebook<'_>, text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    (text, notebook.cells.len()).hash(&mut hasher);
    loop {
        let id = format!("{:08x}", hasher.finish() >> 32);
        if notebook.cells.iter().all(|cell| cell.id() != Some(&id)) {
            return id;
        }
        id.hash(&mut hasher);
    }
}

/// Edits a notebook in every way, and holds that everything else is as it was.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn check(text: &str) {
    let Ok(before) = Notebook::parse(text) else { return };
    let sources = |notebook: &Notebook<'_>| notebook.cells.iter().map(Cell::source).collect::<Vec<_>>();
    for (edit_mode, cell_id) in [
        (EditMode::Insert, None),
        (EditMode::Insert, Some(0)),
        (EditMode::Replace, Some(0)),
        (EditMode::Delete, Some(0)),
    ] {
        let input = NotebookEditInput {
            notebook_path: Path::new("/a").to_owned().into(),
            cell_id: cell_id.map(|index: usize| format!("cell-{index}")),
            new_source: Some("new\nlines".to_owned()),
            cell_type: None,
            edit_mode,
        };
        let Ok(edited) = edit(text, &input) else { continue };
        let after = Notebook::parse(&edited.text).map_err(|err| format!("{err}: {}", edited.text));
        let after = after.unwrap_or_else(|broken| panic!("no notebook any more: {broken}"));
        // An id may be written like the place of another cell: the edit is of the cell that was found.
        let at = input.cell_id.as_deref().map_or(0, |id| before.find(id).unwrap_or(0));
        let mut expected = sources(&before);
        match edit_mode {
            EditMode::Insert => expected.insert(cell_id.map_or(0, |_| at + 1), "new\nlines".to_owned()),
            EditMode::Replace => expected[at] = "new\nlines".to_owned(),
            EditMode::Delete => drop(expected.remove(at)),
        }
        assert_eq!(sources(&after), expected, "{edit_mode:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desk::Desk;

    const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "words"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {"tags": ["x"], "strange": 1e-07},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["2\n"]}
   ],
   "source": [
    "1 + 1"
   ]
  }
 ],
 "metadata": {
  "z": 1.50, "a": "\u00e9"
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

    /// What an edit changes, as a diff of the file.
    fn changed(text: &str, input: Value) -> String {
        let input: NotebookEditInput = serde_json::from_value(input).unwrap();
        match edit(text, &input) {
            Ok(edited) => {
                serde_json::from_str::<Value>(&edited.text).expect("still JSON");
                let diff = similar::TextDiff::from_lines(text, &edited.text);
                format!("{}\n{}", edited.words, diff.unified_diff().context_radius(2))
            }
            Err(refused) => refused.fault(Path::new("a.ipynb")).to_string(),
        }
    }

    #[test]
    fn a_replaced_cell_loses_its_outputs_and_nothing_else_changes() {
        let input = json!({ "notebook_path": "/a", "cell_id": "sum", "new_source": "x = 2\nx" });
        insta::assert_snapshot!(changed(NOTEBOOK, input), @r#"
        replaced cell-1 (id sum)
        @@ -12,12 +12,16 @@
           {
            "cell_type": "code",
        -   "execution_count": 3,
        +   "execution_count": null,
            "id": "sum",
        -   "metadata": {"tags": ["x"], "strange": 1e-07},
        -   "outputs": [
        -    {"name": "stdout", "output_type": "stream", "text": ["2\n"]}
        -   ],
        +   "metadata": {
        +    "tags": [
        +     "x"
        +    ],
        +    "strange": 1e-7
        +   },
        +   "outputs": [],
            "source": [
        -    "1 + 1"
        +    "x = 2\n",
        +    "x"
            ]
           }
        "#);
    }

    #[test]
    fn code_becomes_markdown_without_what_only_code_has() {
        let input = json!({ "notebook_path": "/a", "cell_id": "cell-1", "new_source": "text", "cell_type": "markdown" });
        insta::assert_snapshot!(changed(NOTEBOOK, input), @r#"
        replaced cell-1 (id sum)
        @@ -11,13 +11,14 @@
           },
           {
        -   "cell_type": "code",
        -   "execution_count": 3,
        +   "cell_type": "markdown",
            "id": "sum",
        -   "metadata": {"tags": ["x"], "strange": 1e-07},
        -   "outputs": [
        -    {"name": "stdout", "output_type": "stream", "text": ["2\n"]}
        -   ],
        +   "metadata": {
        +    "tags": [
        +     "x"
        +    ],
        +    "strange": 1e-7
        +   },
            "source": [
        -    "1 + 1"
        +    "text"
            ]
           }
        "#);
    }

    #[test]
    fn a_new_cell_is_inserted_after_another_or_first() {
        let input =
            json!({ "notebook_path": "/a", "cell_id": "intro", "new_source": "y", "edit_mode": "insert" });
        insta::assert_snapshot!(changed(NOTEBOOK, input), @r#"
        inserted cell-1 (id 804b721b); the cells after it have moved on by one
        @@ -12,4 +12,14 @@
           {
            "cell_type": "code",
        +   "execution_count": null,
        +   "id": "804b721b",
        +   "metadata": {},
        +   "outputs": [],
        +   "source": [
        +    "y"
        +   ]
        +  },
        +  {
        +   "cell_type": "code",
            "execution_count": 3,
            "id": "sum",
        "#);
        let input = json!({ "notebook_path": "/a", "new_source": "# First\n", "cell_type": "markdown",
                            "edit_mode": "insert" });
        insta::assert_snapshot!(changed(NOTEBOOK, input), @r##"
        inserted cell-0 (id da678e2b); the cells after it have moved on by one
        @@ -3,4 +3,12 @@
           {
            "cell_type": "markdown",
        +   "id": "da678e2b",
        +   "metadata": {},
        +   "source": [
        +    "# First\n"
        +   ]
        +  },
        +  {
        +   "cell_type": "markdown",
            "id": "intro",
            "metadata": {},
        "##);
    }

    #[test]
    fn cells_are_deleted_down_to_none_and_inserted_again() {
        let delete = |id: &str| json!({ "notebook_path": "/a", "cell_id": id, "edit_mode": "delete" });
        insta::assert_snapshot!(changed(NOTEBOOK, delete("1")), @r#"
        deleted cell-1 (id sum); the cells after it have moved up by one
        @@ -9,16 +9,4 @@
             "words"
            ]
        -  },
        -  {
        -   "cell_type": "code",
        -   "execution_count": 3,
        -   "id": "sum",
        -   "metadata": {"tags": ["x"], "strange": 1e-07},
        -   "outputs": [
        -    {"name": "stdout", "output_type": "stream", "text": ["2\n"]}
        -   ],
        -   "source": [
        -    "1 + 1"
        -   ]
           }
          ],
        "#);
        let edit =
            |text: &str, input: Value| edit(text, &serde_json::from_value(input).unwrap()).unwrap().text;
        let none = edit(&edit(NOTEBOOK, delete("cell-0")), delete("cell-0"));
        assert!(none.contains("\"cells\": [],"), "{none}");
        let insert = json!({ "notebook_path": "/a", "new_source": "a\nb", "cell_type": "markdown", "edit_mode": "insert" });
        insta::assert_snapshot!(changed(&none, insert), @r#"
        inserted cell-0 (id 8e7c83e1); the cells after it have moved on by one
        @@ -1,4 +1,14 @@
         {
        - "cells": [],
        + "cells": [
        +  {
        +   "cell_type": "markdown",
        +   "id": "8e7c83e1",
        +   "metadata": {},
        +   "source": [
        +    "a\n",
        +    "b"
        +   ]
        +  }
        + ],
          "metadata": {
           "z": 1.50, "a": "\u00e9"
        "#);
    }

    #[test]
    fn a_notebook_without_ids_gets_none_and_one_line_stays_one_line() {
        let compact =
            r#"{"cells":[{"cell_type":"code","source":"a","outputs":[]}],"nbformat":4,"nbformat_minor":4}"#;
        let input =
            json!({ "notebook_path": "/a", "cell_id": "cell-0", "new_source": "b", "edit_mode": "insert" });
        insta::assert_snapshot!(changed(compact, input), @r#"
        inserted cell-1; the cells after it have moved on by one
        @@ -1 +1 @@
        -{"cells":[{"cell_type":"code","source":"a","outputs":[]}],"nbformat":4,"nbformat_minor":4}
        \ No newline at end of file
        +{"cells":[{"cell_type":"code","source":"a","outputs":[]}, {"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":"b"}],"nbformat":4,"nbformat_minor":4}
        \ No newline at end of file
        "#);
    }

    #[test]
    fn the_third_format_keeps_its_own_names() {
        let old = r#"{"nbformat": 3, "worksheets": [{"cells": [
  {"cell_type": "code", "input": ["1"], "language": "python", "outputs": [{}], "prompt_number": 2}
]}]}"#;
        let input = json!({ "notebook_path": "/a", "cell_id": "cell-0", "new_source": "2" });
        insta::assert_snapshot!(changed(old, input), @r#"
        replaced cell-0
        @@ -1,3 +1,3 @@
         {"nbformat": 3, "worksheets": [{"cells": [
        -  {"cell_type": "code", "input": ["1"], "language": "python", "outputs": [{}], "prompt_number": 2}
        +  {"cell_type":"code","input":["2"],"language":"python","outputs":[],"prompt_number":null}
         ]}]}
        \ No newline at end of file
        "#);
    }

    #[test]
    fn a_cell_that_is_not_there_is_refused_with_those_that_are() {
        let input = json!({ "notebook_path": "/a", "cell_id": "nope", "new_source": "" });
        assert_eq!(
            changed(NOTEBOOK, input.clone()),
            "a.ipynb has no cell `nope`; it has 2, cell-0 to cell-1"
        );
        assert_eq!(changed("{}", input), "a.ipynb cannot be edited as a notebook: it has no list of cells");
    }

    #[test]
    fn every_edit_leaves_the_other_cells_alone() {
        for text in [
            NOTEBOOK,
            r#"{"cells": []}"#,
            r#"{"cells": [ {} ,{"source": ["a", 1]}]}"#,
            "{\n\"cells\": [\n]}",
            r#"{"worksheets": [{"cells": [{"cell_type": "code", "input": ["1"]}]}]}"#,
        ] {
            check(text);
        }
    }

    #[test]
    fn a_notebook_is_edited_only_as_it_was_read() {
        let desk = Desk::new("-- x\n\n");
        desk.workspace.write("a.ipynb", NOTEBOOK.as_bytes());
        let edit = || {
            desk.call(
                "NotebookEdit",
                json!({ "notebook_path": "a.ipynb", "cell_id": "0", "new_source": "# New" }),
            )
        };
        let refused = edit();
        assert!(refused.contains("has not been read in this session"), "{refused}");
        desk.call("Read", json!({ "file_path": "a.ipynb" }));
        assert_eq!(edit(), "replaced cell-0 (id intro)");
        let shown = desk.call("Read", json!({ "file_path": "a.ipynb" }));
        assert!(shown.contains("[cell-0, id intro: markdown]\n# New\n"), "{shown}");
        let missing = desk.call("NotebookEdit", json!({ "notebook_path": "a.ipynb", "edit_mode": "delete" }));
        assert!(missing.contains("`cell_id` is missing"), "{missing}");
    }
}
