//! Step 8: what goes back to the model.

use std::{borrow::Cow, sync::Arc};

use haft_tool::{Change, Fault, Reply};

use super::{CallCx, Ended, Prepared, recall::Ticket};
use crate::{
    result::{FileSecrets, Meta, ToolResult, from_fault, from_reply, redact},
    session::{Deed, Did, Ending},
    turn::Event,
};

/// The shape of the result, and what it changes in the session.
pub(crate) fn compose(
    cx: &CallCx<'_>,
    prepared: &mut Prepared<'_>,
    outcome: Result<Reply, Fault>,
    meta: Meta,
) -> Ended {
    // Drawn only for somebody who looks.
    let view = cx.events.are_watched().then(|| prepared.view(&outcome)).map(Box::new);
    let mut ended = shape(prepared, outcome, meta);
    ended.result.view = view;
    hide_secrets(cx, prepared.entry.name(), &prepared.secrets, &mut ended.result);
    if !ended.result.is_error() && prepared.entry.is_external() {
        cx.session.note_use(prepared.entry.name());
    }
    ended
}

fn shape(prepared: &mut Prepared<'_>, outcome: Result<Reply, Fault>, meta: Meta) -> Ended {
    let (call, name) = (prepared.call.clone(), std::mem::take(&mut prepared.name));
    match outcome {
        Ok(mut reply) => {
            let changes = std::mem::take(&mut reply.changes);
            let meta = Meta { loaded: loaded(&changes), ..meta };
            Ended { result: Box::new(from_reply(call, name, reply, meta)), changes }
        }
        Err(fault) => Ended { result: Box::new(from_fault(call, name, &fault, meta)), changes: Vec::new() },
    }
}

fn loaded(changes: &[Change]) -> Vec<String> {
    let names = changes.iter().filter_map(|change| match change {
        Change::Load(names) => Some(names),
        _ => None,
    });
    names.flatten().cloned().collect()
}

/// Taken out before anybody sees the result: hooks, the store of large ones, the journal, whoever watches.
pub(crate) fn hide_secrets(cx: &CallCx<'_>, tool: &str, secrets: &FileSecrets, result: &mut ToolResult) {
    if let Some(redactor) = cx.session.engine().redactor_for(tool) {
        redact(redactor, secrets, result);
    }
}

/// Step 8: the result is cut to its budget and recorded.
pub(crate) async fn finish(cx: &CallCx<'_>, prepared: &Prepared<'_>, ran: bool, ended: &mut Ended) {
    let engine = cx.session.engine();
    let limit = prepared.entry.tool().spec().result_limit();
    engine.settings().budget.fit(&mut ended.result, limit, &cx.attic()).await;
    let fault = ended.result.fault.as_ref().map(|fault| fault.kind);
    let did = Did::of(&prepared.effects, prepared.has_side_effects(), fault);
    let manner = Manner { ran: ran.then_some(did) };
    let deed = || Deed::of(prepared.entry.name(), &prepared.input, &prepared.effects, &ended.result);
    if ran && let Some(deed) = deed() {
        cx.session.note_deed(deed);
    }
    record(cx, prepared.ticket.as_deref(), manner, ended).await;
}

/// What a call changes in its session, as it is recorded: state may hold what the result does not show.
fn told_changes<'a>(cx: &CallCx<'_>, changes: &'a [Change]) -> Cow<'a, [Change]> {
    let Some(redactor) = cx.session.redactor().filter(|_| !changes.is_empty()) else { return changes.into() };
    let told = |change: &Change| match change.clone() {
        Change::State(key, mut value) => {
            redactor.redact_json(&mut value);
            Change::State(key, value)
        }
        other => other,
    };
    changes.iter().map(told).collect()
}

/// What the journal must know of a call besides its result.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// What it did, if it ran.
    pub(crate) ran: Option<Did>,
}

pub(crate) const NEVER_RAN: Manner = Manner { ran: None };

/// The journal's "finished". The effect has happened: a journal that fails now must not hide the result.
pub(crate) async fn record(cx: &CallCx<'_>, ticket: Option<&Ticket>, manner: Manner, ended: &mut Ended) {
    if let Some(ticket) = ticket {
        let has_changed = manner.ran.is_some_and(|did| did != Did::Look);
        let recorded = match cx.session.engine().journal() {
            Some(journal) => {
                let (ran, side_effects) = (manner.ran.is_some(), has_changed);
                let (result, changes) = (&*ended.result, told_changes(cx, &ended.changes));
                let (key, turn, changes) = (&ticket.key, cx.turn, &*changes);
                journal.finished(Ending { key, turn, ran, side_effects, result, changes }).await
            }
            None => Ok(()),
        };
        if let Err(err) = &recorded {
            let words = format!("this result was not recorded: {err}");
            // That the call itself is not there says more.
            ended.result.meta.notes.entry("journal").or_insert_with(|| words.into());
        }
        if has_changed {
            cx.keep(ticket, ended, recorded.is_ok());
        }
        cx.ended(ticket, manner);
    }
    cx.events.send(|| Event::Finished(Arc::new((*ended.result).clone())));
}
