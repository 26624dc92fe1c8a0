//! Step 1: which tool is meant.

use haft_tool::{CallId, Fault, FaultKind};

use crate::{
    pool::{Entry, Pool, nearest},
    turn::{Arguments, Call},
};

/// A call of a tool that exists.
pub(crate) struct Resolved<'t> {
    pub(crate) call: CallId,
    pub(crate) entry: &'t Entry,
    pub(crate) input: Arguments,
}

pub(crate) fn resolve(pool: &Pool, call: Call) -> Result<Resolved<'_>, Fault> {
    match pool.find(&call.name) {
        Some(entry) => Ok(Resolved { call: call.id, entry, input: call.input }),
        None => Err(unknown(pool, &call.name)),
    }
}

fn unknown(pool: &Pool, name: &str) -> Fault {
    let shown: String = name.chars().take(80).collect();
    let near = nearest(name, pool.entries().map(Entry::name), 3);
    let advice = match near.as_slice() {
        [] if pool.find("ToolSearch").is_some() => "find the right one with ToolSearch".to_owned(),
        [] => format!("the tools are: {}", names(pool)),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Fault::new(FaultKind::UnknownTool, format!("there is no tool `{}`; {advice}", shown.escape_debug()))
}

fn names(pool: &Pool) -> String {
    const MOST: usize = 40;
    let mut names: Vec<&str> = pool.offers().take(MOST).map(|offer| offer.name).collect();
    if pool.offers().nth(MOST).is_some() {
        names.push("…");
    }
    names.join(", ")
}
