//! Step 2: does the input fit the schema.

use haft_schema::{Coercion, parse};
use haft_tool::{CallId, Fault, FaultKind};
use serde_json::Value;

use super::{NotUnderstood, resolve::Resolved};
use crate::{pool::Entry, session::Failures, turn::Arguments};

/// A call whose input fits the schema.
pub(crate) struct Checked<'t> {
    pub(crate) call: CallId,
    pub(crate) name: String,
    pub(crate) entry: &'t Entry,
    pub(crate) input: Value,
    pub(crate) coerced: Vec<Coercion>,
}

pub(crate) fn check<'t>(resolved: Resolved<'t>, failures: &Failures) -> Result<Checked<'t>, NotUnderstood> {
    let Resolved { call, name, entry, input } = resolved;
    match fit(entry, input, failures) {
        Ok(fitting) => Ok(Checked { call, name, entry, input: fitting.value, coerced: fitting.coercions }),
        Err(fault) => Err(NotUnderstood { call, name, fault }),
    }
}

fn fit(entry: &Entry, input: Arguments, failures: &Failures) -> Result<haft_schema::Checked, Fault> {
    let tool = entry.name();
    let input = match input {
        Arguments::Value(value) => value,
        Arguments::Text(text) => parse(&text).map_err(|err| invalid(format!("{tool}: {err}")))?,
    };
    let checker = entry.checker().map_err(|err| {
        Fault::new(FaultKind::Internal, format!("the tool {tool} has a schema that cannot be used: {err}"))
    })?;
    match checker.check(input) {
        Ok(checked) => {
            failures.forget(tool);
            Ok(checked)
        }
        Err(violations) => {
            let attempt = failures.count(tool, violations.identity());
            Err(invalid(violations.message(tool, checker, attempt)))
        }
    }
}

fn invalid(message: String) -> Fault {
    Fault::new(FaultKind::InvalidInput, message)
}
