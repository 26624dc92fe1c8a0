//! Step 3: what is this call going to do.
//!
//! Paths become absolute before anybody sees the input; the tool validates it and says its effects. All of it is the
//! tool's own code, so a panic in it is caught here like one in the call itself.

use std::{
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Instant,
};

use haft_schema::Coercion;
use haft_tool::{Access, Bound, CallId, Effects, Fault, FaultKind, PathBase};
use serde_json::Value;

use super::{NotUnderstood, check::Checked, hooks::Heard, panic_fault, recall::Ticket};
use crate::{
    policy::Said,
    pool::Entry,
    result::FileSecrets,
    session::{Session, WaitingTime},
};

/// A call that is understood: it can be scheduled, judged, shown and run.
pub(crate) struct Prepared<'t> {
    pub(crate) call: CallId,
    pub(crate) name: String,
    pub(crate) entry: &'t Entry,
    pub(crate) input: Arc<Value>,
    /// Taken by the first attempt to run it.
    pub(crate) bound: Option<Box<dyn Bound>>,
    pub(crate) effects: Effects,
    /// The workspace that it was understood in.
    pub(crate) workspace: Arc<Path>,
    /// The places that settings name as code, for a call that writes.
    pub(crate) code_places: Arc<[PathBuf]>,
    pub(crate) coerced: Vec<Coercion>,
    pub(crate) arrived: Instant,
    /// What hooks have said of it, once they were asked.
    pub(crate) heard: Option<Box<Heard>>,
    /// Its place in the books, where there is a journal.
    pub(crate) ticket: Option<Arc<Ticket>>,
    /// What it must not tell of the files that it looks at.
    pub(crate) secrets: Arc<FileSecrets>,
    /// Why it runs unrecorded, if it does.
    pub(crate) unrecorded: Option<String>,
    /// The rule of the user by which it runs outside of the sandbox.
    pub(crate) unsandboxed_by: Option<String>,
    /// The hook that stopped the turn in a call that this one made.
    pub(crate) stopped_within: OnceLock<Box<Said>>,
    /// For how long it had the person think something over.
    pub(crate) waiting: Arc<WaitingTime>,
}

pub(crate) fn foresee<'t>(checked: Checked<'t>, session: &Session) -> Result<Prepared<'t>, NotUnderstood> {
    let Checked { call, name, entry, mut input, coerced } = checked;
    let (base, workspace) = (&*session.path_base(), session.workspace());
    entry.tool().schema().make_paths_absolute(&mut input, base);
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| ask(entry, &input, base)));
    match asked.unwrap_or_else(|panic| Err(panic_fault(entry.name(), panic))) {
        Ok((bound, effects)) => Ok(Prepared {
            code_places: code_places(session, &effects, &workspace, base),
            call,
            name,
            entry,
            input: Arc::new(input),
            bound: Some(bound),
            effects,
            workspace,
            coerced,
            arrived: Instant::now(),
            heard: None,
            ticket: None,
            secrets: Arc::default(),
            unrecorded: None,
            unsandboxed_by: None,
            stopped_within: OnceLock::new(),
            waiting: Arc::default(),
        }),
        Err(fault) => Err(NotUnderstood { call, name, fault }),
    }
}

/// The places are read only for calls that need them.
fn code_places(session: &Session, effects: &Effects, workspace: &Path, base: &PathBase) -> Arc<[PathBuf]> {
    let writes = effects.paths().iter().any(|effect| effect.access == Access::Write);
    let find = session.engine().settings().code_places.filter(|_| writes);
    find.map_or_else(|| [].into(), |find| find(workspace, base.home.as_deref()))
}

fn ask(entry: &Entry, input: &Value, base: &PathBase) -> Result<(Box<dyn Bound>, Effects), Fault> {
    let bound = entry.tool().clone().bind(input)?;
    bound.validate()?;
    let effects = bound.effects(base);
    honest(entry, &effects)?;
    Ok((bound, effects))
}

/// What a tool claims must at least agree with itself.
fn honest(entry: &Entry, effects: &Effects) -> Result<(), Fault> {
    let broken = |what: &str| {
        let message = format!("the tool {} is broken: {what}; use another way", entry.name());
        Err(Fault::new(FaultKind::Internal, message))
    };
    if entry.tool().spec().membership() == "readonly" && !effects.is_read_only() {
        return broken("it belongs to the toolset `readonly` but this call would change something");
    }
    if effects.paths().iter().any(|effect| !effect.path.is_absolute()) {
        return broken("it declared a path that is not absolute");
    }
    Ok(())
}
