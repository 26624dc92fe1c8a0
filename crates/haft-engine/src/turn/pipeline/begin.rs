//! Steps 4 and 5: may this call run, and who must know before it does.
//!
//! Nothing has happened yet when these say no.

use std::sync::Arc;

use haft_tool::{Cx, Fault, FaultKind, Refusal};

use super::{CallCx, Prepared};
use crate::{
    policy::{self, Asked, Decision, Permit, Settled},
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

/// Asks the policy, and whoever must be asked. Nearly always the policy knows, and nothing is waited for: all else is
/// boxed, so that its state does not make every call's larger.
async fn permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Fault> {
    let refused = match settle(cx, prepared, tool_cx) {
        Settled::Permitted(permit) => return Ok(permit),
        Settled::Refused(refused) => refused,
        Settled::Open(decision) => match Box::pin(ask(cx, prepared, tool_cx, decision)).await {
            Ok(permit) => return Ok(permit),
            Err(refused) => refused,
        },
    };
    Err(Box::pin(refuse_permit(cx, prepared, *refused)).await)
}

fn settle(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Settled {
    let (describe, token) = (|| prepared.describe(), || tool_cx.token().clone());
    let asked = Asked { describe: &describe, input: &prepared.input, token: &token };
    policy::settle(cx.session.policy(), cx.session.grants(), &asked, &cx.session.request(prepared))
}

async fn ask(
    cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    tool_cx: &Cx,
    decision: Decision,
) -> Result<Permit, Box<policy::Refused>> {
    let (describe, token) = (|| prepared.describe(), || tool_cx.token().clone());
    let asked = Asked { describe: &describe, input: &prepared.input, token: &token };
    let (grants, asker) = (cx.session.grants(), cx.session.engine().asker());
    policy::ask(decision, grants, asker, asked, &cx.session.request(prepared)).await
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
