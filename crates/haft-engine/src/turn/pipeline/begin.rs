//! Steps 4 and 5: may this call run, and who must know before it does.
//!
//! The order is rules, hooks, a classifier, a person. Nothing has happened yet when these say no.

use std::{sync::Arc, time::Instant};

use haft_tool::{Cx, Fault, FaultKind};
use serde_json::Value;

use super::{
    CallCx, Ended, Prepared,
    hooks::{self, BeforeThePerson, InPlace},
    marked, pinned,
    preview::preview,
    recall,
    told::Told,
};
use crate::{
    policy::{self, Asker, Asking, Decision, Permit, Question, Refused, Settled, Verdict, Warrant},
    session::{Note, Start, Word},
    turn::Event,
};

/// Why a call does not go on.
pub(crate) enum Halt {
    /// It may not, or could not.
    Fault(Fault),
    /// A hook wants it with another input: it goes back to where inputs are understood.
    Changed(Value),
    /// It has run already, or ran and was cut off: this is what is known of it.
    Answered(Box<Ended>),
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Halt {
        Halt::Fault(fault)
    }
}

/// Permission, and the journal's "started".
pub(crate) async fn begin(
    cx: &CallCx<'_>,
    prepared: &mut Prepared<'_>,
    tool_cx: &Cx,
) -> Result<Permit, Halt> {
    let touched = prepared.effects.paths().iter();
    touched.map(|effect| effect.place()).try_for_each(|real| cx.session.refuse_results_of_others(real))?;
    let claimed = prepared.ticket.clone();
    let counted = claimed.as_deref().filter(|_| prepared.has_side_effects());
    if let Some(ticket) = counted {
        Box::pin(recall::settle_earlier(cx, prepared, ticket, tool_cx)).await?;
    }
    marked::check(cx, prepared).await?;
    let permit = permit(cx, prepared, tool_cx).await?;
    if prepared.entry.is_external() {
        Box::pin(pinned::pin(cx, prepared.entry)).await?;
    }
    while let Some(ticket) = &claimed
        && !cx.claim(prepared, ticket)
    {
        Box::pin(recall::settle_earlier(cx, prepared, ticket, tool_cx)).await?;
    }
    if cx.session.engine().journal().is_some() {
        let recorded = Box::pin(record(cx, prepared, &permit, tool_cx)).await;
        if let (Err(Halt::Fault(_)), Some(ticket)) = (&recorded, &claimed) {
            cx.give_back(ticket);
        }
        prepared.unrecorded = recorded?;
    }
    cx.events.send(|| {
        let Told { input, effects, decision, .. } = cx.told(prepared, permit.decision());
        let (call, tool) = (prepared.call.clone(), prepared.entry.name().to_owned());
        Event::Started { call, tool, input, effects, decision }
    });
    Ok(permit)
}

/// Claims the call. Whoever else has it is waited for, and gives the result. Says why it is not recorded, if it runs all the same.
async fn record(
    cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    permit: &Permit,
    tool_cx: &Cx,
) -> Result<Option<String>, Halt> {
    let (Some(journal), Some(ticket)) = (cx.session.engine().journal(), &prepared.ticket) else {
        return Ok(None);
    };
    let mut unrecorded = None;
    let session = cx.session.facts();
    let told = cx.told_whole(prepared, permit.decision());
    let written = cx.told_rules(permit.written());
    let word = match permit.warrant() {
        Warrant::Always => Word::Always(&written),
        warrant => Word::Yes(warrant),
    };
    let starting = told.starting(cx, &session, (prepared, ticket), word);
    let deadline = cx.time_limit(prepared.entry.tool().spec()).map(|limit| Instant::now() + limit);
    for looks in 0.. {
        match journal.started(starting).await.map_err(cannot_record)? {
            Start::Go => break,
            Start::Unrecorded(why) => {
                cx.note(ticket, Note::Unrecorded(&why)).await;
                let call = &prepared.call;
                cx.events.send(|| Event::Unrecorded { call: call.clone(), why: why.clone() });
                unrecorded = Some(why);
                break;
            }
            Start::Answered(finished) => {
                let ended = recall::answer(cx, *finished, ticket).await;
                cx.events.send(|| Event::Finished(Arc::new((*ended.result).clone())));
                return Err(Halt::Answered(Box::new(ended)));
            }
            Start::CutOff => return Err(recall::cut_off(cx, prepared, ticket).await),
            Start::Busy(by) => {
                let is_late = deadline.is_some_and(|deadline| Instant::now() > deadline);
                if is_late || !recall::wait_for_another(looks, tool_cx).await {
                    return Err(recall::busy(prepared.entry.name(), &by).into());
                }
            }
        }
    }
    Ok(unrecorded)
}

/// Written before a side effect: a call that cannot be recorded does not happen.
fn cannot_record(err: std::io::Error) -> Fault {
    let message = "the call was not made, because it could not be recorded in the journal";
    Fault::new(FaultKind::Unavailable, message).with_source(err)
}

/// Asks the policy, and whoever must be asked. Nearly always the policy knows, and nothing is waited for: all else is
/// boxed, so that its state does not make every call's larger.
async fn permit(cx: &CallCx<'_>, prepared: &mut Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Halt> {
    let (policy, grants) = (cx.session.policy(), cx.session.grants());
    prepared.unsandboxed_by = cx.session.unsandboxed_by(prepared);
    let mut settled = policy::settle(&policy, grants, &prepared.input, &cx.session.request(prepared));
    if !cx.hooks().is_empty() {
        settled = Box::pin(hooked(cx, prepared, tool_cx, settled)).await?;
    }
    let refused = match settled {
        Settled::Permitted(permit) => return Ok(permit),
        Settled::Refused(refused) => refused,
        Settled::Open(decision) => match Box::pin(ask(cx, prepared, tool_cx, decision)).await? {
            Ok(permit) => return Ok(permit),
            Err(refused) => refused,
        },
    };
    Err(Box::pin(refuse_permit(cx, prepared, tool_cx, *refused)).await.into())
}

/// What hooks make of it. They are asked once, also about a call whose input they change.
async fn hooked(
    cx: &CallCx<'_>,
    prepared: &mut Prepared<'_>,
    tool_cx: &Cx,
    settled: Settled,
) -> Result<Settled, Halt> {
    let decision = match &settled {
        Settled::Refused(_) => return Ok(settled),
        Settled::Permitted(permit) => permit.decision(),
        Settled::Open(decision) => decision,
    };
    if prepared.heard.is_none() {
        let said = hooks::before(cx, prepared, decision, tool_cx).await;
        let said =
            said.ok_or_else(|| Fault::cancelled("Cancelled while a hook was asked; the call did not run."))?;
        let is_refused = policy::strictest(&said).is_some_and(|said| said.verdict == Some(Verdict::Deny));
        let changed = policy::changed_input(&said).filter(|input| !is_refused && **input != *prepared.input);
        let changed = changed.cloned();
        prepared.heard.get_or_insert_default().said = said;
        if let Some(input) = changed {
            return Err(Halt::Changed(input));
        }
    }
    let said = prepared.heard.as_ref().map_or(&[][..], |heard| &heard.said);
    Ok(policy::hear(settled, said, &cx.session.request(prepared)))
}

/// A classifier, hooks in the place of the person, and the person.
async fn ask(
    cx: &CallCx<'_>,
    prepared: &mut Prepared<'_>,
    tool_cx: &Cx,
    decision: Decision,
) -> Result<Result<Permit, Box<Refused>>, Halt> {
    if cx.hooks().is_empty() {
        return Ok(ask_with(cx, prepared, tool_cx, &decision, cx.session.asker()).await);
    }
    let asker = BeforeThePerson::new(cx, prepared, cx.session.asker());
    let answer = ask_with(cx, prepared, tool_cx, &decision, &asker).await;
    let InPlace { said, answer: by, input } = asker.heard(decision.is_uncovered());
    let is_no = by.as_ref().is_some_and(|said| said.verdict == Some(Verdict::Deny));
    let heard = prepared.heard.get_or_insert_default();
    heard.said.extend(said);
    if let Some(input) = input.filter(|_| !tool_cx.token().is_cancelled()) {
        heard.change_while_asked();
        return Err(Halt::Changed(input));
    }
    let said = prepared.heard.as_ref().map_or(&[][..], |heard| &heard.said);
    Ok(match answer {
        Ok(permit) => Ok(permit.after_hooks(said, by.as_ref().filter(|_| !is_no))),
        Err(refused) => {
            let by = by.as_ref().filter(|_| is_no && refused.fault.kind() == FaultKind::Denied);
            Err(Box::new(refused.after_hooks(said, by, &cx.session.request(prepared))))
        }
    })
}

async fn ask_with(
    cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    tool_cx: &Cx,
    decision: &Decision,
    asker: &dyn Asker,
) -> Result<Permit, Box<Refused>> {
    let (session, said) = (cx.session.facts(), prepared.said());
    let description = cx.session.with_agent(prepared.describe());
    let (engine, rules) = (cx.session.engine(), cx.session.policy());
    let asking = Asking {
        policy: &rules,
        grants: cx.session.grants(),
        classifier: engine.classifier(),
        record: cx.session.judgements(),
        said: said.as_deref(),
        asker,
        preview: &|| Box::pin(preview(prepared, tool_cx)),
        keeper: cx.session.keeper(),
        add: &|rules| cx.session.add_rules(rules),
    };
    let execution = cx.session.execution(prepared);
    let question =
        Question { execution, ..Question::new(cx.facts(&session, prepared, decision), &description) };
    policy::ask(question, &cx.session.request(prepared), &asking, tool_cx.token()).await
}

async fn refuse_permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx, refused: Refused) -> Fault {
    let Refused { decision, mut fault } = refused;
    let session = cx.session.facts();
    if let (Some(journal), Some(ticket)) = (cx.session.engine().journal(), &prepared.ticket)
        && let told = cx.told_whole(prepared, &decision)
        && let word = Word::No(fault.refusal())
        && let Err(err) = journal.refused(told.starting(cx, &session, (prepared, ticket), word)).await
    {
        fault = fault.with_source(err);
    }
    if !cx.hooks().is_empty() {
        cx.tell_refused(prepared, &decision, &fault, tool_cx).await;
    }
    cx.events.send(|| Event::Refused {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        decision: cx.told(prepared, &decision).decision,
    });
    fault
}
