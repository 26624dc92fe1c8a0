//! Steps 4 and 5: may this call run, and who must know before it does.
//!
//! Nothing has happened yet when these say no.

use std::sync::Arc;

use haft_tool::{Cx, Fault, FaultKind, Refusal};

use super::{CallCx, Prepared, pinned, preview::preview};
use crate::{
    policy::{self, Asking, CallFacts, Decision, Permit, Question, Settled},
    turn::{Before, Event},
};

/// Permission, hooks, and the journal's "started".
pub(crate) async fn begin(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Fault> {
    let permit = permit(cx, prepared, tool_cx).await?;
    if prepared.entry.is_external() {
        Box::pin(pinned::pin(cx, prepared.entry)).await?;
    }
    if cx.is_watched() {
        Box::pin(tell(cx, prepared, &permit)).await?;
    }
    cx.events.send(|| Event::Started {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        input: cx.told_input(prepared),
        effects: Arc::new(prepared.effects.clone()),
        decision: Arc::new(permit.decision().clone()),
    });
    Ok(permit)
}

/// Those who may still stop it.
async fn tell(cx: &CallCx<'_>, prepared: &Prepared<'_>, permit: &Permit) -> Result<(), Fault> {
    let session = cx.session.facts();
    let facts = cx.facts(&session, prepared, permit.decision());
    for hook in cx.session.engine().hooks() {
        if let Before::Block(reason) = hook.before(facts).await {
            return Err(Fault::denied(
                Refusal::Hook,
                format!("A hook refused this call: {}", on_one_line(&reason)),
            ));
        }
    }
    match cx.session.engine().journal() {
        Some(journal) => {
            let facts = CallFacts { input: &cx.told_input(prepared), ..facts };
            journal.started(facts).await.map_err(unrecorded)
        }
        None => Ok(()),
    }
}

fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Written before a side effect: a call that cannot be recorded does not happen.
fn unrecorded(err: std::io::Error) -> Fault {
    let message = "the call was not made, because it could not be recorded in the journal";
    Fault::new(FaultKind::Unavailable, message).with_source(err)
}

/// Asks the policy, and whoever must be asked. Nearly always the policy knows, and nothing is waited for: all else is
/// boxed, so that its state does not make every call's larger.
async fn permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Fault> {
    let (policy, grants) = (cx.session.policy(), cx.session.grants());
    let settled = policy::settle(&policy, grants, &prepared.input, &cx.session.request(prepared));
    let refused = match settled {
        Settled::Permitted(permit) => return Ok(permit),
        Settled::Refused(refused) => refused,
        Settled::Open(decision) => match Box::pin(ask(cx, prepared, tool_cx, decision)).await {
            Ok(permit) => return Ok(permit),
            Err(refused) => refused,
        },
    };
    Err(Box::pin(refuse_permit(cx, prepared, *refused)).await)
}

async fn ask(
    cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    tool_cx: &Cx,
    decision: Decision,
) -> Result<Permit, Box<policy::Refused>> {
    let (session, description, said) = (cx.session.facts(), prepared.describe(), prepared.said());
    let (engine, rules) = (cx.session.engine(), cx.session.policy());
    let asking = Asking {
        policy: &rules,
        grants: cx.session.grants(),
        classifier: engine.classifier(),
        record: cx.session.judgements(),
        said: said.as_deref(),
        asker: engine.asker(),
        preview: &|| Box::pin(preview(prepared, tool_cx)),
        keeper: engine.keeper(),
        add: &|rules| cx.session.add_rules(rules),
    };
    let question = Question::new(cx.facts(&session, prepared, &decision), &description);
    policy::ask(question, &cx.session.request(prepared), &asking, tool_cx.token()).await
}

async fn refuse_permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, refused: policy::Refused) -> Fault {
    let policy::Refused { decision, mut fault } = refused;
    let session = cx.session.facts();
    if let Some(journal) = cx.session.engine().journal()
        && let facts = cx.facts(&session, prepared, &decision)
        && let Err(err) = journal.refused(CallFacts { input: &cx.told_input(prepared), ..facts }).await
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
