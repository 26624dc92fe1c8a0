//! Steps 4 and 5: may this call run, and who must know before it does.
//!
//! Nothing has happened yet when these say no.

use std::sync::Arc;

use haft_tool::{Cx, Fault, FaultKind, Refusal};

use super::{CallCx, Prepared};
use crate::{
    policy::{self, Permit},
    turn::{Before, Event},
};

/// Permission, hooks, and the journal's "started".
pub(crate) async fn begin(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Fault> {
    let permit = permit(cx, prepared, tool_cx).await?;
    for hook in cx.session.engine().hooks() {
        if let Before::Block(reason) = hook.before(prepared.facts()).await {
            return Err(Fault::denied(Refusal::Hook, format!("a hook refused this call: {reason}")));
        }
    }
    if let Some(journal) = cx.session.engine().journal() {
        journal.started(cx.judged(prepared, permit.decision())).await.map_err(unrecorded)?;
    }
    cx.events.send(|| Event::Started {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        input: prepared.input.clone(),
        effects: Arc::new(prepared.effects.clone()),
        decision: Arc::new(permit.decision().clone()),
    });
    Ok(permit)
}

/// Written before a side effect: a call that cannot be recorded does not happen.
fn unrecorded(err: std::io::Error) -> Fault {
    let message = "the call was not made, because it could not be recorded in the journal";
    Fault::new(FaultKind::Unavailable, message).with_source(err)
}

/// Asks the policy, and whoever must be asked.
async fn permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Fault> {
    let request = cx.session.request(prepared);
    let describe = || prepared.describe();
    let token = || tool_cx.token().clone();
    let asked = policy::Asked { describe: &describe, input: &prepared.input, token: &token };
    let asker = cx.session.engine().asker();
    let permit = policy::permit(cx.session.policy(), cx.session.grants(), asker, asked, &request);
    match permit.await {
        Ok(permit) => Ok(permit),
        // Boxed: refusals are rare, and their state should not make every call's larger.
        Err(refused) => Err(Box::pin(refuse_permit(cx, prepared, *refused)).await),
    }
}

async fn refuse_permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, refused: policy::Refused) -> Fault {
    let policy::Refused { decision, mut fault } = refused;
    if let Some(journal) = cx.session.engine().journal()
        && let Err(err) = journal.refused(cx.judged(prepared, &decision)).await
    {
        fault = fault.with_source(err);
    }
    cx.events.send(|| Event::Refused {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        decision: Arc::new(decision),
    });
    fault
}
