//! `shell.jsonl`: may this command line run, and what does it amount to?

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde_json::json;

use super::{
    case::{Answer, Case},
    session::Session,
};
use crate::haft::Haft;

/// Where the cases say that they are.
const WORKSPACE: &str = "/w/app";
const HOME: &str = "/home/u";

pub(super) fn judge(_: &Haft, case: &Case) -> Result<Answer> {
    let session = Session::elsewhere(PathBuf::from(WORKSPACE), PathBuf::from(HOME), &case.rules)?;
    let explained = match session.explain("Bash", json!({ "command": case.input })) {
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
