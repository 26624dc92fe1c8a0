//! `Edit`: replaces a passage of a text file.
//!
//! The contract is here; the modules are text in, text out, and know neither files nor tools. Read `matching` first: it
//! has the order in which a passage is looked for. Whether it is found is never a matter of how similar it is: each step
//! forgives one kind of difference that cannot change what is meant, and only if one place is left.

mod matching; //    where does the passage stand, and what replaces it?
mod request; //     what did the model mean to copy? (line numbers, escapes, blank lines around)
mod view; //        the file with some differences taken out, and the way back
mod merge; //       the new passage, with the file's bytes where the model changed nothing
mod indent; //      the new lines in the file's own indentation
mod typography; //  the same character written in two ways
mod nearest; //     what is there instead?
mod large; //       the same in a file that is not worth reading whole

use std::{fs::File, path::Path};

use haft_tool::{AbsolutePath, Cx, Effects, Fault, FileChange, Files, Reply, Spec, Tool, View, shown};
use schemars::JsonSchema;
use serde::Deserialize;

use self::{
    large::Window,
    matching::{Edited, sensible},
};
pub(crate) use self::{
    matching::{Loosening, edit},
    nearest::{Region, find as nearest_region},
};
use crate::{
    diff::{diff, diff_below},
    preview,
    stored::Stored,
};

/// Replaces a passage of a text file.
///
/// Use it for changes to a file that you have read. `old_string` must stand in the file once: copy it with enough
/// lines around it, without the line numbers of Read; or replace every place with `replace_all`. To make a file or
/// change most of one, use Write.
/// It fails if the file was not read in this session, or if the passage is not there or stands in several places; the
/// answer then shows what is there, or where.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditInput {
    /// The file.
    file_path: AbsolutePath,
    /// The passage to replace, as it stands in the file.
    old_string: String,
    /// What is to stand there instead.
    new_string: String,
    /// Replace every place, not only one.
    #[serde(default)]
    replace_all: bool,
}

pub(crate) struct Edit;

impl Tool for Edit {
    type Input = EditInput;
    const SPEC: Spec = Spec::new("Edit")
        .toolset("edit")
        .aliases(&["FileEdit", "file_edit", "str_replace", "fs_edit", "edit_file"])
        .search_hint("change replace text passage in file");

    fn validate(&self, input: &EditInput) -> Result<(), Fault> {
        sensible(&input.old_string, &input.new_string).map_err(|refused| Fault::rejected(refused.to_string()))
    }

    fn effects(&self, input: &EditInput) -> Effects {
        Effects::reads(&input.file_path).and_writes(&input.file_path)
    }

    fn describe(&self, input: &EditInput) -> String {
        format!("Edit {}", shown(&input.file_path))
    }

    async fn preview(&self, input: &EditInput, cx: &Cx) -> Option<View> {
        let input = input.clone();
        preview::of(cx, move |files| foreseen(files, &input)).await
    }

    async fn call(&self, input: EditInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        let (reply, was) = cx.blocking(move || change(&*files, &input)).await?;
        if was.is_some() {
            // Nobody needs to wait for its end.
            tokio::task::spawn_blocking(move || drop(was));
        }
        Ok(reply)
    }
}

/// Makes the edit. Gives what was there, too, where it is large.
fn change(files: &dyn Files, input: &EditInput) -> Result<(Reply, Option<File>), Fault> {
    if let Some((reply, was)) = large::change(files, input)? {
        return Ok((reply, Some(was)));
    }
    let path: &Path = &input.file_path;
    let (stored, edited) = edited(files, input)?;
    let content = stored.encode(path, &edited.text)?;
    stored.footing.change(files, &FileChange::Write { path, content: &content })?;
    Ok((reply(path, &edited, stored.footing.is_stale(), &Window::whole(stored.text)), None))
}

/// What is there, and what would be there instead.
fn edited(files: &dyn Files, input: &EditInput) -> Result<(Stored, Edited), Fault> {
    let path: &Path = &input.file_path;
    let stored = Stored::read(files, path)?;
    let hidden = files.secrets_in(&stored.text);
    let (old, new) = (&input.old_string, &input.new_string);
    let edited = edit(&stored.text, &hidden, old, new, input.replace_all)
        .map_err(|refused| Fault::rejected(format!("{}: {refused}", shown(path))))?;
    Ok((stored, edited))
}

/// The change that would be made, for whoever is asked about it.
fn foreseen(files: &dyn Files, input: &EditInput) -> Result<View, Fault> {
    if let Some(view) = large::foreseen(files, input)? {
        return Ok(view);
    }
    preview::is_small(files, &input.file_path)?;
    let (stored, edited) = edited(files, input)?;
    stored.encode(&input.file_path, &edited.text)?;
    Ok(diff(&input.file_path, &stored.text, &edited.text))
}

/// What is told of an edit: `was` is what was edited, the whole or some lines of it.
fn reply(path: &Path, edited: &Edited, is_stale: bool, was: &Window) -> Reply {
    let places: Vec<String> = edited.places.iter().take(20).map(ToString::to_string).collect();
    let mut text = match edited.places.len() {
        1 => format!("edited {} at line {}", shown(path), places.join("")),
        count => format!("edited {} at {count} places, lines {}", shown(path), places.join(", ")),
    };
    if edited.places.len() > places.len() {
        text.push_str(", …");
    }
    if let Some(loosened) = edited.loosened {
        text.push_str(&format!("\n({loosened})"));
    }
    if is_stale {
        text.push_str("\n(the file has changed since you read it; the edit was made to what is there now)");
    }
    Reply::text(text).note("places", edited.places.len()).drawn(diff_below(
        path,
        was.lines_before,
        &was.text,
        &edited.text,
    ))
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod calls;
