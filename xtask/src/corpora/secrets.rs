//! `secrets.jsonl`: is a secret taken out, and only that?

use anyhow::Result;

use super::case::{Answer, Case};
use crate::haft::Haft;

pub(super) fn judge(_: &Haft, _: &Case) -> Result<Answer> {
    Ok(Answer::skipped("there is no `haft redact` yet"))
}
