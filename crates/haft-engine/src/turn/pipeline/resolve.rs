//! Step 1: which tool is meant.

use haft_tool::{CallId, Fault, FaultKind};

use super::{NotUnderstood, pinned::quarantined};
use crate::{
    pool::{Entry, Pool, Problem, ProblemKind, TOOL_SEARCH, split},
    turn::{Arguments, Call},
};

/// A call of a tool that exists.
pub(crate) struct Resolved<'t> {
    pub(crate) call: CallId,
    /// The name that the model used: its API wants to see it again.
    pub(crate) name: String,
    pub(crate) entry: &'t Entry,
    pub(crate) input: Arguments,
}

pub(crate) fn resolve(pool: &Pool, call: Call) -> Result<Resolved<'_>, NotUnderstood> {
    match pool.find(&call.name) {
        Some(entry) => Ok(Resolved { call: call.id, name: call.name, entry, input: call.input }),
        None => Err(NotUnderstood { fault: unknown(pool, &call.name), call: call.id, name: call.name }),
    }
}

fn unknown(pool: &Pool, name: &str) -> Fault {
    if let Some(Problem { kind: ProblemKind::Quarantined(changed), .. }) = pool.absence(name) {
        return quarantined(name, changed);
    }
    let shown: String = name.chars().take(80).collect();
    if let Some(Problem { kind: ProblemKind::Hidden(why), .. }) = pool.absence(name) {
        let message = format!("`{}` is not offered here: {why}", shown.escape_debug());
        return Fault::new(FaultKind::UnknownTool, message);
    }
    let near = pool.nearest(name, 3);
    let advice = match (pool.absence(name).or_else(|| of_its_server(pool, name)), near.as_slice()) {
        (Some(problem), _) if problem.tool.is_empty() => format!("its server has none now: {}", problem.kind),
        (Some(problem), _) => format!("it is not offered here: {}", problem.kind),
        (None, []) if pool.find(TOOL_SEARCH).is_some() => "find the right one with ToolSearch".to_owned(),
        (None, []) => format!("the tools are: {}", names(pool)),
        (None, near) => format!("did you mean {}?", near.join(" or ")),
    };
    Fault::new(FaultKind::UnknownTool, format!("there is no tool `{}`; {advice}", shown.escape_debug()))
}

/// Why the server that the name speaks of has no tools at all, if that is so.
fn of_its_server<'p>(pool: &'p Pool, name: &str) -> Option<&'p Problem> {
    let (server, _) = split(name)?;
    let is_of_it = |problem: &&Problem| problem.source.split_once(':').is_some_and(|(_, id)| id == server);
    pool.problems().iter().take_while(|problem| problem.tool.is_empty()).find(is_of_it)
}

fn names(pool: &Pool) -> String {
    const MOST: usize = 40;
    let mut names: Vec<&str> = pool.offers().take(MOST).map(|offer| offer.name).collect();
    if pool.offers().nth(MOST).is_some() {
        names.push("…");
    }
    names.join(", ")
}
