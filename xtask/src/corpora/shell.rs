//! `shell.jsonl` and `redteam.jsonl`: may this command line run, and what does it amount to?

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Deserialize;
use serde_json::json;

use super::{
    case::{Answer, Case},
    session::Session,
    stage::{Prop, Stage},
};
use crate::haft::Haft;

/// The workspace and the home of a case that has no files.
const WORKSPACE: &str = "/w/app";
const HOME: &str = "/home/u";

/// The circumstances of a case.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Context {
    /// What is in the workspace before the call. Relative paths begin there.
    layout: Vec<Prop>,
    /// Bash's argument `write`.
    write: Vec<String>,
}

pub(super) fn judge(_: &Haft, case: &Case) -> Result<Answer> {
    if case.context.is_null() {
        let session = Session::elsewhere(PathBuf::from(WORKSPACE), PathBuf::from(HOME), &case.rules)?;
        return answer(case, &session, &case.input, &[]);
    }
    let stage = Stage::new()?;
    let context: Context = Deserialize::deserialize(stage.filled_value(&case.context))?;
    context.layout.iter().try_for_each(|prop| stage.set(prop))?;
    let session = Session::begin(&stage, &case.rules, None)?;
    answer(case, &session, &stage.filled(&case.input), &context.write)
}

fn answer(case: &Case, session: &Session, command: &str, write: &[String]) -> Result<Answer> {
    let explained = match session.explain("Bash", json!({ "command": command, "write": write })) {
        Ok(explained) => explained,
        Err(refused) => return Ok(Answer::said("deny", refused.text())),
    };
    let why = explained.decision.reason();
    match case.kind.as_str() {
        "verdict" => Ok(Answer::said(explained.decision.verdict.to_string(), why)),
        "effect" => Ok(Answer::said(explained.effects.class().to_string(), why)),
        kind => bail!("no case of the kind {kind} is known"),
    }
}
