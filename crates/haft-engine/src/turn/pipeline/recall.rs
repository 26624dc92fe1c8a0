//! Before step 1: has this call come before?
//!
//! One that has finished is answered from the journal, or from the session's own books where there is none: it is not
//! checked, judged or asked about again, and above all not made again. One that was cut off is made again if twice is the same as once; otherwise the model is told what can be
//! seen of it, and that is its result for good.

use std::{
    fmt::Write,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use haft_tool::{CallId, Cx, Fault, FaultKind, shown};

use super::{CallCx, Ended, Prepared, begin::Halt, finish};
use crate::{
    result::{ToolResult, refused},
    session::{Arrival, CallKey, CallState, Did, Evidence, Finished, Found, Journal, Note, Noted},
    turn::{Call, Event},
};

/// A call in the books of the session.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) key: CallKey,
    /// How far the call came before, if it is not new.
    before: Option<CallState>,
    /// Whether what it changed in the session may have to be changed again.
    is_recent: bool,
    /// Whether its result was given before.
    was_told: bool,
    /// Whether it is this run of it that has begun.
    is_ours: AtomicBool,
    /// Whether it was cut off in this process when it began again.
    was_dropped: AtomicBool,
}

impl<'t> CallCx<'t> {
    /// Puts a call that arrives into the books. `None` where none is made.
    pub(crate) fn ticket(&self, call: &Call) -> Option<Arc<Ticket>> {
        let known = self.session.known_by_now().filter(|_| self.turn > 0)?;
        if self.session.counts_calls_anew() {
            known.count_anew();
        }
        let Arrival { key, before, is_recent, was_told } =
            known.arrives(self.session.identity(), self.turn, call, self.recalling().is_some());
        let was_dropped = AtomicBool::new(before == Some(CallState::CutOff));
        Some(Arc::new(Ticket {
            key,
            before,
            is_recent,
            was_told,
            is_ours: AtomicBool::default(),
            was_dropped,
        }))
    }

    /// The journal that says what came of calls, if there is one.
    fn recalling(&self) -> Option<&'t dyn Journal> {
        self.session.engine().journal().filter(|journal| journal.recalls())
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
    pub(super) fn dropped(&self, ticket: &Ticket) {
        if let Some(known) = self.session.known_by_now().filter(|_| ticket.is_ours()) {
            known.dropped(&ticket.key);
        }
    }

    /// A call begins. One that may change something must be claimed. Says whether this run has it.
    pub(super) fn claim(&self, prepared: &Prepared<'_>, ticket: &Ticket) -> bool {
        let Some(known) = self.session.known_by_now() else { return true };
        if known.state(&ticket.key) == Some(CallState::CutOff) {
            ticket.was_dropped.store(true, Ordering::Relaxed);
        }
        if prepared.has_side_effects() {
            self.session.engine().known_calls().add(self.session.identity(), known.clone());
            if !known.claim(&ticket.key, prepared.is_repeatable()) {
                return false;
            }
        } else {
            known.came(&ticket.key, CallState::Open);
        }
        ticket.is_ours.store(true, Ordering::Relaxed);
        true
    }

    /// A call that was claimed does not begin after all.
    pub(super) fn give_back(&self, ticket: &Ticket) {
        if ticket.is_ours.swap(false, Ordering::Relaxed) {
            self.came(ticket, CallState::Refused);
        }
    }

    /// Whether a run of this call has begun.
    pub(super) fn has_begun(&self, ticket: &Ticket) -> bool {
        ticket.is_ours()
    }

    /// A call has its result. One that never ran says nothing of another run of it.
    pub(super) fn ended(&self, ticket: &Ticket, manner: finish::Manner) {
        let Some(known) = self.session.known_by_now() else { return };
        match manner.ran {
            Some(did) => known.finished(&ticket.key, did),
            None => self.give_back(ticket),
        }
    }

    /// Keeps what came of a call that may have changed something, where no journal does.
    pub(super) fn keep(&self, ticket: &Ticket, ended: &Ended, is_recorded: bool) {
        if is_recorded && self.recalling().is_some() {
            return;
        }
        if let Some(known) = self.session.known_by_now() {
            let result = ToolResult { view: None, ..(*ended.result).clone() };
            known.keep(&ticket.key, Finished { result, changes: ended.changes.clone() });
        }
    }
}

/// Settles a call that may change something and that this process has begun before: waits while it runs, and ends this one if
/// it must not be made again. No question is asked about such a call.
pub(super) async fn settle_earlier(
    cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    ticket: &Ticket,
    tool_cx: &Cx,
) -> Result<(), Halt> {
    let Some(known) = cx.session.known_by_now() else { return Ok(()) };
    let deadline =
        cx.time_limit(prepared.entry.tool().spec()).map(|limit| tokio::time::Instant::now() + limit);
    loop {
        let mut changed = std::pin::pin!(known.changed());
        changed.as_mut().enable();
        match known.state(&ticket.key) {
            None | Some(CallState::Refused) => return Ok(()),
            Some(CallState::CutOff) if prepared.is_repeatable() => return Ok(()),
            Some(CallState::CutOff) => return Err(cut_off(cx, prepared, ticket).await),
            Some(CallState::Finished) => {
                let call = (prepared.call.clone(), prepared.name.clone());
                let ended = finished_before(cx, call, ticket).await;
                return Err(Halt::Answered(Box::new(ended)));
            }
            Some(CallState::Open) => {}
        }
        tokio::select! {
            () = changed => {}
            () = until(deadline) => return Err(busy(prepared.entry.name(), "this one").into()),
            () = tool_cx.cancelled() => {
                let name = prepared.entry.name();
                return Err(Fault::cancelled(format!("{name} was interrupted while it waited for its earlier run")).into());
            }
        }
    }
}

async fn until(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl Ticket {
    /// Whether there is a result already.
    pub(crate) fn is_answered(&self) -> bool {
        self.before == Some(CallState::Finished)
    }

    /// Whether an earlier run of it in this process was dropped, so that it does not run here.
    pub(super) fn was_dropped(&self) -> bool {
        self.was_dropped.load(Ordering::Relaxed)
    }

    fn is_ours(&self) -> bool {
        self.is_ours.load(Ordering::Relaxed)
    }
}

/// Answers a call that has finished before.
pub(crate) async fn recall(cx: CallCx<'_>, call: Call, ticket: &Ticket) -> Ended {
    finished_before(&cx, (call.id, call.name), ticket).await
}

async fn finished_before(cx: &CallCx<'_>, (call, name): (CallId, String), ticket: &Ticket) -> Ended {
    let own = cx.session.known_by_now().and_then(|known| known.result(&ticket.key)).map(Box::new);
    let found = match (own, cx.recalling()) {
        (None, Some(journal)) => journal.result(&ticket.key).await,
        (own, _) => Ok(own),
    };
    let answered = match found {
        Ok(Some(finished)) => answer(cx, *finished, ticket).await,
        found => lost((call, name), found.err()),
    };
    cx.events.send(|| Event::Finished(Arc::new((*answered.result).clone())));
    answered
}

/// The result that is there, and a word that it was there.
pub(super) async fn answer(cx: &CallCx<'_>, finished: Finished, ticket: &Ticket) -> Ended {
    let Finished { mut result, changes } = finished;
    result.meta.notes.insert("recalled".to_owned(), true.into());
    if ticket.was_told {
        result.messages.push(RECALLED.to_owned());
    }
    cx.came(ticket, CallState::Finished);
    cx.note(ticket, Note::Recalled).await;
    // What an old call changed in the session has been changed again since.
    let changes = if ticket.is_recent { changes } else { Vec::new() };
    Ended { result: Box::new(result), changes }
}

const RECALLED: &str = "This call was made before, with the same id and input, and was not made again: this is its result from then. \
                        To make it again, send it with another id.";

/// It ran, and nobody can say any more what came of it.
fn lost((call, name): (CallId, String), err: Option<io::Error>) -> Ended {
    let why = if err.is_some() { "cannot be read now" } else { "is not kept any more" };
    let message = format!(
        "this call has run before, and its result {why}; it was not run again. Look at what it changed before you do it anew"
    );
    let mut fault = Fault::new(FaultKind::Interrupted, message);
    if let Some(err) = err {
        fault = fault.with_source(err);
    }
    Ended { result: Box::new(refused(call, name, &fault)), changes: Vec::new() }
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
    let manner = finish::Manner { ran: Some(Did::Change) };
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
