//! Before step 1: has this call come before?
//!
//! One that has finished is answered from the journal: it is not checked, judged or asked about again, and above all not
//! made again. One that was cut off is made again if twice is the same as once; otherwise the model is told what can be
//! seen of it, and that is its result for good.

use std::{fmt::Write, io, sync::Arc, time::Duration};

use haft_tool::{Cx, Fault, FaultKind, shown};

use super::{CallCx, Ended, Prepared, begin::Halt, finish};
use crate::{
    result::refused,
    session::{Arrival, CallKey, CallState, Digest, Evidence, Finished, Found, Note, Noted},
    turn::{Call, Event},
};

/// A call in the books of the session. There is one for each call where there is a journal.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) key: CallKey,
    /// How far the call came before, if it is not new.
    pub(crate) before: Option<CallState>,
    /// Whether what it changed in the session may have to be changed again.
    is_recent: bool,
}

impl<'t> CallCx<'t> {
    /// Puts a call that arrives into the books. `None` where there is no journal.
    pub(crate) fn ticket(&self, call: &Call) -> Option<Arc<Ticket>> {
        let journal = self.session.engine().journal().filter(|_| self.turn > 0)?;
        if !journal.recalls() {
            let (session, call) = (self.session.id().clone(), call.id.clone());
            let key = CallKey { session, call, digest: Digest([0; 16]), nth: 0 };
            return Some(Arc::new(Ticket { key, before: None, is_recent: false }));
        }
        let known = self.session.known_by_now()?;
        if self.session.counts_calls_anew() {
            known.count_anew();
        }
        let Arrival { key, before, is_recent } = known.arrives(self.session.id(), self.turn, call);
        Some(Arc::new(Ticket { key, before, is_recent }))
    }

    /// Notes something about a call. Nothing depends on whether that works.
    pub(crate) async fn note(&self, ticket: &Ticket, note: Note<'_>) {
        let (session, call) = (self.session.id(), Some(&ticket.key));
        if let Some(journal) = self.session.engine().journal() {
            let _ = journal.noted(Noted { session, call, turn: self.turn, note }).await;
        }
    }

    pub(super) fn came(&self, ticket: &Ticket, state: CallState) {
        if let Some(known) = self.session.known_by_now() {
            known.came(&ticket.key, state);
        }
    }
}

impl CallCx<'_> {
    /// A call was dropped: whoever sends it again must not wait for it.
    pub(super) fn came_to_nothing(&self, ticket: &Ticket) {
        if let Some(known) = self.session.known_by_now() {
            known.dropped(&ticket.key);
        }
    }
}

impl Ticket {
    /// Whether there is a result already.
    pub(crate) fn is_answered(&self) -> bool {
        self.before == Some(CallState::Finished)
    }
}

/// Answers a call that has finished before.
pub(crate) async fn recall(cx: CallCx<'_>, call: Call, ticket: &Ticket) -> Ended {
    let found = match cx.session.engine().journal() {
        Some(journal) => journal.result(&ticket.key).await,
        None => Ok(None),
    };
    let answered = match found {
        Ok(Some(finished)) => answer(&cx, *finished, ticket).await,
        found => lost(call, found.err()),
    };
    cx.events.send(|| Event::Finished(Arc::new((*answered.result).clone())));
    answered
}

/// The result that is there, and a word that it was there.
pub(super) async fn answer(cx: &CallCx<'_>, finished: Finished, ticket: &Ticket) -> Ended {
    let Finished { mut result, changes } = finished;
    result.meta.notes.insert("recalled".to_owned(), true.into());
    cx.came(ticket, CallState::Finished);
    cx.note(ticket, Note::Recalled).await;
    // What an old call changed in the session has been changed again since.
    let changes = if ticket.is_recent { changes } else { Vec::new() };
    Ended { result: Box::new(result), changes }
}

/// It ran, and nobody can say any more what came of it.
fn lost(call: Call, err: Option<io::Error>) -> Ended {
    let why = if err.is_some() { "cannot be read now" } else { "is not kept any more" };
    let message = format!(
        "this call has run before, and its result {why}; it was not run again. Look at what it changed before you do it anew"
    );
    let mut fault = Fault::new(FaultKind::Interrupted, message);
    if let Some(err) = err {
        fault = fault.with_source(err);
    }
    Ended { result: Box::new(refused(call.id, call.name, &fault)), changes: Vec::new() }
}

/// What the model is told of a call that was cut off and must not be repeated. It is the call's result from now on.
pub(super) async fn cut_off(cx: &CallCx<'_>, prepared: &Prepared<'_>, ticket: &Ticket) -> Halt {
    let evidence = match cx.session.engine().journal() {
        Some(journal) => journal.evidence(&ticket.key).await.unwrap_or_default(),
        None => Vec::new(),
    };
    let fault = Fault::new(FaultKind::Interrupted, interrupted(prepared.entry.name(), &evidence));
    let result = refused(prepared.call.clone(), prepared.name.clone(), &fault);
    let mut ended = Ended { result: Box::new(result), changes: Vec::new() };
    finish::hide_secrets(cx, prepared.entry.name(), &prepared.secrets, &mut ended.result);
    let manner = finish::Manner { ran: true, side_effects: true };
    finish::record(cx, Some(ticket), manner, &mut ended).await;
    Halt::Answered(Box::new(ended))
}

fn interrupted(tool: &str, evidence: &[Evidence]) -> String {
    let mut words = format!(
        "{tool} was interrupted when this call was first made, and its effect is unknown; it was not run again."
    );
    for Evidence { path, found } in evidence.iter().take(MOST_PATHS) {
        let found = match found {
            Found::Unchanged => "is as it was before",
            Found::Changed => "has changed since",
            Found::New => "is there now and was not before",
            Found::Gone => "was there before and is gone",
            Found::Unknown => "cannot be compared with what was before",
        };
        // Writing to a String cannot fail.
        let _ = write!(words, "\n- {} {found}", shown(path));
    }
    if evidence.len() > MOST_PATHS {
        let _ = write!(words, "\n- and {} more", evidence.len() - MOST_PATHS);
    }
    words.push_str("\nLook at what is there, then make a new call for what is missing.");
    words
}

/// So many paths are told.
const MOST_PATHS: usize = 20;

/// How long somebody else's run of a call is waited for between two looks.
const FIRST_LOOK: Duration = Duration::from_millis(5);
const LONGEST_LOOK: Duration = Duration::from_millis(500);

/// Waits a little longer each time. Says no if the call was cancelled meanwhile.
pub(super) async fn wait_for_another(looks: u32, tool_cx: &Cx) -> bool {
    let pause = FIRST_LOOK.saturating_mul(1 << looks.min(10)).min(LONGEST_LOOK);
    tool_cx.token().run_until_cancelled(tokio::time::sleep(pause)).await.is_some()
}

/// Whoever runs it has not said how it ended.
pub(super) fn busy(tool: &str, by: &str) -> Fault {
    let message = format!(
        "{tool} is still run by another process ({by}); it was not run a second time. Send the call again later for its result"
    );
    Fault::new(FaultKind::Unavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_what_the_file_system_shows() {
        let evidence = [("/w/a", Found::Unchanged), ("/w/b", Found::Changed), ("/w/c", Found::Gone)]
            .map(|(path, found)| Evidence { path: path.into(), found });
        insta::assert_snapshot!(interrupted("Write", &evidence), @r"
        Write was interrupted when this call was first made, and its effect is unknown; it was not run again.
        - /w/a is as it was before
        - /w/b has changed since
        - /w/c was there before and is gone
        Look at what is there, then make a new call for what is missing.
        ");
    }
}
