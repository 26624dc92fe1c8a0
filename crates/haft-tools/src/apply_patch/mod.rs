//! `ApplyPatch`: the changes of a patch, in all of its files or in none.
//!
//! The contract is here. Two steps are pure: `parse` makes data of the patch's text, `apply` makes a new text of an old
//! one and hunks. `plan` reads the files and holds what is to be written, until it is known that all of it can be.

mod parse; //     what does the patch say?
mod unified; //   … in the form of diff and git
mod names; //         and how these write names
mod envelope; //  … in the form with `*** Begin Patch`
mod apply; //     what is a text after its hunks?
mod search; //        where does a hunk fit?
mod misfit; //        why does it not?
mod plan; //      what becomes of each file?

use std::path::{Path, PathBuf};

use haft_tool::{
    AbsolutePath, Cx, Effects, Fault, FaultKind, FileChange, Files, Reply, Spec, Tool, View, shown,
};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use self::parse::{Intent, parse};
#[cfg(feature = "fuzzing")]
pub(crate) use self::{apply::apply, search::Numbers};
use self::{
    parse::{FilePatch, Patch},
    plan::Plan,
};
use crate::{preview, shown::count};

/// Applies a patch to one or more files: all of it, or none if a part does not fit.
///
/// Use it for changes at several places or in several files that you have read. For one passage, use Edit; for a new
/// file alone, use Write. It takes a unified diff (`--- a/x`, `+++ b/x`, `@@ -1,3 +1,4 @@`; `/dev/null` makes or
/// deletes a file), or this form:
/// *** Begin Patch
/// *** Update File: src/main.rs
/// @@ fn main() {
///  a line that stays
/// -a line that goes
/// +a line that comes
/// *** Add File: new.txt
/// +its first line
/// *** Delete File: old.txt
/// *** End Patch
/// The lines of a hunk must stand in the file, at one place: give about three lines around a change. Line numbers are
/// only hints. It fails if a file was not read in this session, or if a hunk fits nowhere or at several places; the
/// answer then says for each what is there instead.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplyPatchInput {
    /// The patch.
    patch: String,
    /// The directory that the names in the patch start from; the current one if it is left out.
    #[serde(default = "AbsolutePath::here")]
    cwd: AbsolutePath,
}

impl ApplyPatchInput {
    fn parse(&self) -> Result<Patch<'_>, Fault> {
        parse(&self.patch).map_err(|err| Fault::rejected(format!("{err}; nothing was changed")))
    }

    fn place(&self, name: &Path) -> PathBuf {
        self.cwd.join(name)
    }
}

pub(crate) struct ApplyPatch;

impl Tool for ApplyPatch {
    type Input = ApplyPatchInput;
    const SPEC: Spec = Spec::new("ApplyPatch")
        .toolset("edit")
        .aliases(&["apply_patch", "patch", "applypatch", "apply_diff", "fs_patch"])
        .search_hint("diff hunks change several files at once");

    fn validate(&self, input: &ApplyPatchInput) -> Result<(), Fault> {
        input.parse().map(drop)
    }

    fn effects(&self, input: &ApplyPatchInput) -> Effects {
        // What cannot be parsed was rejected before.
        let Ok(patch) = input.parse() else { return Effects::unknown() };
        patch.files.iter().fold(Effects::none(), |effects, file| effects.and(effects_of(input, file)))
    }

    fn describe(&self, input: &ApplyPatchInput) -> String {
        input.parse().map_or_else(|_| "Apply a patch".to_owned(), |patch| described(&patch))
    }

    async fn preview(&self, input: &ApplyPatchInput, cx: &Cx) -> Option<View> {
        let input = input.clone();
        preview::of(cx, move |files| foreseen(files, &input)).await
    }

    async fn call(&self, input: ApplyPatchInput, cx: &Cx) -> Result<Reply, Fault> {
        let files = cx.files();
        cx.blocking(move || change(&*files, &input)).await
    }
}

fn effects_of(input: &ApplyPatchInput, file: &FilePatch<'_>) -> Effects {
    let path = input.place(&file.path);
    match &file.intent {
        Intent::Add(_) => Effects::writes(path),
        // Nobody keeps what is deleted.
        Intent::Remove(_) => Effects::reads(&path).and_writes(&path).irreversible(),
        Intent::Update { to, .. } => {
            let effects = Effects::reads(&path).and_writes(&path);
            to.iter().fold(effects, |effects, to| effects.and_writes(input.place(to)))
        }
    }
}

const MOST_NAMES: usize = 8;

fn described(patch: &Patch<'_>) -> String {
    let mut names: Vec<_> = patch.files.iter().take(MOST_NAMES).map(named).collect();
    if let Some(more @ 1..) = patch.files.len().checked_sub(MOST_NAMES) {
        names.push(format!("and {more} more"));
    }
    format!("Patch {}: {}", count(patch.files.len() as u64, "file"), names.join(", "))
}

fn named(file: &FilePatch<'_>) -> String {
    let name = shown(&file.path);
    match &file.intent {
        Intent::Add(_) => format!("{name} (new)"),
        Intent::Remove(_) => format!("{name} (deleted)"),
        Intent::Update { to: Some(to), .. } => format!("{name} → {}", shown(to)),
        Intent::Update { to: None, .. } => name.to_string(),
    }
}

fn change(files: &dyn Files, input: &ApplyPatchInput) -> Result<Reply, Fault> {
    let patch = input.parse()?;
    let plans = planned(files, input, &patch)?;
    commit(files, &plans)?;
    Ok(reply(&plans, patch.has_modes))
}

fn planned(files: &dyn Files, input: &ApplyPatchInput, patch: &Patch<'_>) -> Result<Vec<Plan>, Fault> {
    let (mut plans, mut faults) = (Vec::new(), Vec::new());
    for file in &patch.files {
        match Plan::make(files, &|name| input.place(name), file) {
            Ok(plan) => plans.push(plan),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(plans) } else { Err(all_in_one(faults)) }
}

/// Nobody reads more before they answer; the effects name every file.
const MOST_DRAWN: usize = 50;

/// The changes that would be made, for whoever is asked about them.
fn foreseen(files: &dyn Files, input: &ApplyPatchInput) -> Result<View, Fault> {
    let patch = input.parse()?;
    if patch.files.len() > MOST_DRAWN {
        return Err(Fault::failed(format!("a patch of {} files is too much to draw", patch.files.len())));
    }
    for file in &patch.files {
        preview::is_small(files, &input.place(&file.path))?;
    }
    Ok(drawn(&planned(files, input, &patch)?))
}

/// What becomes of each file, and only that where there is no diff of it.
fn drawn(plans: &[Plan]) -> View {
    let mut views: Vec<_> = plans.iter().map(Plan::view).collect();
    if views.len() == 1 { views.remove(0) } else { View::List(views) }
}

fn commit(files: &dyn Files, plans: &[Plan]) -> Result<(), Fault> {
    let changes: Vec<FileChange> = plans.iter().flat_map(Plan::changes).collect();
    let done =
        plans.iter().try_for_each(|plan| plan.stand_on_it(files)).and_then(|()| files.change(&changes));
    if done.is_err() {
        plans.iter().try_for_each(|plan| plan.step_off(files))?;
    }
    done
}

const MOST_PROBLEMS: usize = 10;

/// Every problem, not only the first: the next patch can be right.
fn all_in_one(mut faults: Vec<Fault>) -> Fault {
    // Who may not is not told how it would fit.
    let refused = faults.iter().position(|fault| fault.kind() == FaultKind::Denied);
    if refused.is_some() || faults.len() == 1 {
        let mut fault = faults.swap_remove(refused.unwrap_or(0));
        if !fault.message().contains("nothing was") {
            *fault.message_mut() = format!("nothing was changed: {fault}");
        }
        return fault;
    }
    let mut message = format!("nothing was changed; {}:", count(faults.len() as u64, "problem"));
    for fault in faults.iter().take(MOST_PROBLEMS) {
        message.push_str(&format!("\n- {fault}"));
    }
    if let Some(more @ 1..) = faults.len().checked_sub(MOST_PROBLEMS) {
        message.push_str(&format!("\nand {more} more"));
    }
    Fault::rejected(message)
}

fn reply(plans: &[Plan], has_modes: bool) -> Reply {
    let mut text = format!("patched {}", count(plans.len() as u64, "file"));
    for plan in plans {
        text.push_str(&format!("\n{plan}"));
    }
    if has_modes {
        text.push_str("\n(the patch changes modes; these were left as they are)");
    }
    Reply::text(text).note("files", plans.len()).drawn(drawn(plans))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod calls;
