//! One turn: calls come in, the scheduler says which may run, results go out in the model's order.
//!
//! The same loop serves a message that is complete and one that the model still writes. It owns the running calls and
//! polls them itself: no task is spawned per call, and dropping the loop drops them all.

use std::{collections::VecDeque, panic::AssertUnwindSafe, sync::Arc, task::Poll};

use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use haft_tool::{BoxFuture, CallId, Effects, Fault};
use tokio::{sync::mpsc::UnboundedReceiver, task::JoinHandle};

use super::{
    Call, Events, Interrupt, Scheduler,
    pipeline::{self, CallCx, Ended, Prepared, Ticket, Walked},
    scheduler::CallIndex,
};
use crate::{
    result::{Budget, ToolResult, refused},
    session::{Note, Places, Session, locate_each},
};

/// Where the calls of a turn come from.
pub(crate) enum Feed {
    /// The message is complete.
    Complete(Vec<Call>),
    /// The model still writes.
    Live(UnboundedReceiver<Call>),
}

/// The bounds of calls that a call makes.
#[derive(Debug, Clone, Copy)]
pub struct Within {
    /// Whether those that have not begun never do once one has failed.
    pub until_error: bool,
    /// How many bytes of text their results may have together. What is more goes where large results go.
    pub room: usize,
}

/// Runs a turn to its end, and takes its results as given. There is exactly one result per call, in the order of the calls.
pub(crate) async fn drive(
    session: &Session,
    feed: Feed,
    events: &Events,
    interrupt: &Interrupt,
) -> Vec<ToolResult> {
    drive_undelivered(session, feed, events, interrupt).await.deliver(session)
}

/// The results of a turn, to be taken later.
pub(crate) struct Driven {
    turn: u32,
    results: Vec<ToolResult>,
}

impl Driven {
    /// The results, which are given now: a call that comes again after this was answered.
    pub(crate) fn deliver(self, session: &Session) -> Vec<ToolResult> {
        session.delivered(self.turn);
        self.results
    }
}

/// Runs a turn to its end.
pub(crate) async fn drive_undelivered(
    session: &Session,
    feed: Feed,
    events: &Events,
    interrupt: &Interrupt,
) -> Driven {
    let pool = session.pool();
    let cx = CallCx { session, pool: &pool, events, interrupt, turn: session.begin_turn().await };
    let within = Within { until_error: false, room: session.engine().settings().budget.per_turn };
    let undelivered = Undelivered(session);
    let results = run_all(cx, feed, within).await;
    events.ended(&results);
    session.end_turn(cx.turn, results.len()).await;
    std::mem::forget(undelivered);
    Driven { turn: cx.turn, results }
}

/// A turn whose results were not delivered. If it is dropped, the model was not shown what its calls have read.
struct Undelivered<'a>(&'a Session);

impl Drop for Undelivered<'_> {
    fn drop(&mut self) {
        self.0.forget_shown();
    }
}

/// Runs calls that a call of a turn makes: in that turn, and stopped with it.
pub(crate) async fn drive_within(cx: CallCx<'_>, calls: Vec<Call>, within: Within) -> Vec<ToolResult> {
    // What an earlier call changed, a mode or a loaded tool, holds for these.
    let pool = cx.session.pool();
    run_all(CallCx { pool: &pool, ..cx }, Feed::Complete(calls), within).await
}

async fn run_all(cx: CallCx<'_>, feed: Feed, within: Within) -> Vec<ToolResult> {
    let (session, interrupt) = (cx.session, cx.interrupt);
    let (incoming, mut live) = match feed {
        Feed::Complete(calls) => (VecDeque::from(calls), None),
        Feed::Live(calls) => (VecDeque::new(), Some(calls)),
    };
    let mut turn = Turn::new(cx, incoming);
    turn.until_error = within.until_error;
    if live.is_none() {
        turn.scheduler.close();
    }
    // Made for the first call that does not end at once.
    let mut running: Option<FuturesUnordered<Running<'_>>> = None;
    let mut locating: Option<JoinHandle<Vec<Result<Places, Fault>>>> = None;
    let interrupted = interrupt.triggered();
    tokio::pin!(interrupted);
    let mut was_interrupted = false;
    if live.is_none() && interrupt.is_triggered() {
        was_interrupted = true;
        turn.stop(INTERRUPTED);
    }

    loop {
        if locating.is_none() {
            locating = turn.prepare();
        }
        let mut at_once = false;
        while let Some((slot, work)) = turn.next() {
            // Most calls that need nothing from outside end at their first poll, and need no place among the running.
            let mut call = perform(cx, slot, work);
            match futures::poll!(&mut call) {
                Poll::Ready((slot, walked)) => {
                    turn.take(slot, walked);
                    at_once = true;
                }
                Poll::Pending => running.get_or_insert_default().push(call),
            }
        }
        if live.is_none() && locating.is_none() && turn.is_settled() {
            break;
        }
        if at_once && !interrupt.is_triggered() {
            continue; // What had to wait for those may be prepared now.
        }
        tokio::select! {
            biased;
            () = &mut interrupted, if !was_interrupted => {
                was_interrupted = true;
                while let Some(Ok(call)) = live.as_mut().map(UnboundedReceiver::try_recv) {
                    turn.arrive(call);
                }
                live = None;
                locating = None;
                turn.stop(INTERRUPTED);
            }
            Some((slot, walked)) = next_end(&mut running), if is_any(&running) => turn.take(slot, walked),
            call = next_call(&mut live), if live.is_some() => match call {
                Some(call) => turn.arrive(call),
                None => {
                    live = None;
                    turn.scheduler.close();
                }
            },
            located = finished(&mut locating), if locating.is_some() => {
                locating = None;
                turn.schedule(located);
            }
        }
    }
    let mut results = turn.results();
    let budget = Budget { per_turn: within.room, ..session.engine().settings().budget };
    for slot in budget.fit_turn(&mut results, &cx.attic()).await {
        // They were recorded when they ended, as they were then.
        if let (Some(ticket), Some(cut)) = (turn.ticket(slot), &results[slot].meta.truncated) {
            cx.note(&ticket, Note::Shortened(cut)).await;
        }
    }
    results
}

/// Boxed one by one: the state of a call is large, and a set of them moves it several times.
fn perform<'t>(cx: CallCx<'t>, slot: usize, work: Work<'t>) -> Running<'t> {
    match work {
        Work::Run(prepared) => {
            let named = (prepared.call.clone(), prepared.name.clone());
            let run = contained(cx, named, prepared.ticket.clone(), pipeline::run(cx, prepared));
            Box::pin(async move { (slot, run.await) })
        }
        Work::Refuse(result, ticket) => {
            let named = (result.call.clone(), result.tool.clone());
            let refuse = async move { Walked::Ended(pipeline::refuse(cx, result, ticket).await) };
            let refuse = contained(cx, named, None, refuse);
            Box::pin(async move { (slot, refuse.await) })
        }
        Work::Recall(call, ticket) => {
            let named = (call.id.clone(), call.name.clone());
            let recall = async move { Walked::Ended(pipeline::recall(cx, call, &ticket).await) };
            let recall = contained(cx, named, None, recall);
            Box::pin(async move { (slot, recall.await) })
        }
    }
}

/// A panic of what the program brought (an asker, a hook, a journal, a store) is the end of one call, and no other.
async fn contained<'t>(
    cx: CallCx<'t>,
    (call, name): (CallId, String),
    ticket: Option<Arc<Ticket>>,
    work: impl Future<Output = Walked<'t>>,
) -> Walked<'t> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(walked) => walked,
        Err(panic) => Walked::Ended(pipeline::broken(&cx, (call, name), ticket.as_deref(), panic)),
    }
}

/// A call that goes on.
type Running<'t> = BoxFuture<'t, (usize, Walked<'t>)>;

fn is_any(running: &Option<FuturesUnordered<Running<'_>>>) -> bool {
    running.as_ref().is_some_and(|running| !running.is_empty())
}

async fn next_end<'t>(running: &mut Option<FuturesUnordered<Running<'t>>>) -> Option<(usize, Walked<'t>)> {
    running.as_mut()?.next().await
}

async fn next_call(live: &mut Option<UnboundedReceiver<Call>>) -> Option<Call> {
    live.as_mut()?.recv().await
}

async fn finished(
    locating: &mut Option<JoinHandle<Vec<Result<Places, Fault>>>>,
) -> Vec<Result<Places, Fault>> {
    match locating {
        // A look-up that broke located nothing; every call of the batch is told so.
        Some(locating) => locating.await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

const INTERRUPTED: &str = "the turn was interrupted before this call started; nothing was done";
const AFTER_AN_ERROR: &str =
    "an earlier call failed before this one started, and the rest was to be left then; nothing was done";

/// Something to be done for a call.
enum Work<'t> {
    /// It was scheduled and its time has come.
    Run(Box<Prepared<'t>>),
    /// It cannot run, and this is its result.
    Refuse(Box<ToolResult>, Option<Arc<Ticket>>),
    /// It has run before, and its result is in the journal.
    Recall(Call, Arc<Ticket>),
}

/// The books of a turn. A slot per call, in the model's order.
struct Turn<'t> {
    cx: CallCx<'t>,
    scheduler: Scheduler,
    slots: Vec<Slot<'t>>,
    /// Arrived, not looked at yet.
    incoming: VecDeque<Call>,
    /// Understood, while somebody finds out what their paths really are.
    batch: Vec<(usize, Prepared<'t>)>,
    /// What needs no place among the others: it will touch nothing.
    ready: VecDeque<(usize, Work<'t>)>,
    /// The slot of each call that the scheduler knows.
    scheduled: Vec<usize>,
    /// What each of these touches, for calls that come to touch something else. Kept only where hooks may make them.
    footprints: Vec<Effects>,
    /// The changes of so many calls are applied.
    applied: usize,
    /// Why nothing starts any more.
    stopped: Option<String>,
    /// Whether nothing starts any more once a call has failed.
    until_error: bool,
}

#[derive(Default)]
struct Slot<'t> {
    waiting: Option<Box<Prepared<'t>>>,
    scheduled_as: Option<CallIndex>,
    /// Its place in the books of the session, where there is a journal.
    ticket: Option<Arc<Ticket>>,
    ended: Option<Ended>,
}

impl<'t> Turn<'t> {
    fn new(cx: CallCx<'t>, incoming: VecDeque<Call>) -> Turn<'t> {
        let scheduler = Scheduler::new(cx.session.engine().settings().parallel);
        Turn {
            cx,
            scheduler,
            slots: Vec::with_capacity(incoming.len()),
            incoming,
            batch: Vec::new(),
            ready: VecDeque::new(),
            scheduled: Vec::new(),
            footprints: Vec::new(),
            applied: 0,
            stopped: None,
            until_error: false,
        }
    }

    fn arrive(&mut self, call: Call) {
        match &self.stopped {
            None => self.incoming.push_back(call),
            Some(why) => {
                let fault = Fault::cancelled(why.as_str());
                let slot = self.open_slot(&call);
                self.refuse(slot, refused(call.id, call.name, &fault));
            }
        }
    }

    /// Understands what has arrived, up to a call that may change what the following ones mean. Returns a job if
    /// paths must be looked up first.
    fn prepare(&mut self) -> Option<JoinHandle<Vec<Result<Places, Fault>>>> {
        while self.stopped.is_none() && !self.scheduler.is_alone_pending() && !self.batch_runs_alone() {
            let Some(call) = self.incoming.pop_front() else { break };
            let slot = self.open_slot(&call);
            let ticket = self.slots[slot].ticket.clone();
            if let Some(ticket) = ticket.clone().filter(|ticket| ticket.is_answered()) {
                self.ready.push_back((slot, Work::Recall(call, ticket)));
                continue;
            }
            match pipeline::prepare(self.cx, call, ticket) {
                Ok(prepared) if prepared.named(self.cx.session).is_empty() && self.batch.is_empty() => {
                    self.push(slot, Box::new(prepared));
                }
                Ok(prepared) => self.batch.push((slot, prepared)),
                Err(result) => self.refuse(slot, *result),
            }
        }
        if self.batch.is_empty() {
            return None;
        }
        let names = self.batch.iter().map(|(_, prepared)| prepared.named(self.cx.session)).collect();
        let workspace = self.cx.session.workspace();
        Some(tokio::task::spawn_blocking(move || locate_each(names, &workspace)))
    }

    fn batch_runs_alone(&self) -> bool {
        self.batch.last().is_some_and(|(_, prepared)| prepared.effects.runs_alone())
    }

    fn open_slot(&mut self, call: &Call) -> usize {
        self.slots.push(Slot { ticket: self.cx.ticket(call), ..Slot::default() });
        self.slots.len() - 1
    }

    /// The paths of the batch are known: its calls can be compared with others.
    fn schedule(&mut self, located: Vec<Result<Places, Fault>>) {
        let mut located = located.into_iter();
        for (slot, mut prepared) in std::mem::take(&mut self.batch) {
            let found =
                located.next().unwrap_or_else(|| Err(Fault::failed("the paths could not be resolved")));
            match found {
                Ok(places) => {
                    places.note_in(&mut prepared.effects, self.cx.session.confines_reading());
                    self.push(slot, Box::new(prepared));
                }
                Err(fault) => self.refuse(slot, prepared.refused(&fault)),
            }
        }
    }

    fn push(&mut self, slot: usize, prepared: Box<Prepared<'t>>) {
        let index = self.scheduler.push(&prepared.effects);
        if !self.cx.session.engine().hooks().is_empty() {
            self.footprints.push(prepared.effects.clone());
        }
        self.scheduled.push(slot);
        self.slots[slot].scheduled_as = Some(index);
        self.slots[slot].waiting = Some(prepared);
    }

    /// A call that has ended, or comes back with another input.
    fn take(&mut self, slot: usize, walked: Walked<'t>) {
        match walked {
            Walked::Ended(ended) => self.end(slot, ended),
            Walked::Changed(prepared) => match &self.stopped {
                None => self.push_again(slot, prepared),
                Some(why) => {
                    let fault = Fault::cancelled(why.as_str());
                    self.refuse(slot, prepared.refused(&fault));
                }
            },
        }
    }

    /// Back into the books at its place in the model's order: it must not race what it touches now.
    fn push_again(&mut self, slot: usize, prepared: Box<Prepared<'t>>) {
        let Some(index) = self.slots[slot].scheduled_as else { return };
        let (effects, footprints) = (&prepared.effects, &self.footprints);
        self.scheduler.reschedule(index, effects, |other| footprints[other].conflicts_with(effects));
        self.footprints[index] = effects.clone();
        self.slots[slot].waiting = Some(prepared);
    }

    /// What is to be done next, if anything may be.
    fn next(&mut self) -> Option<(usize, Work<'t>)> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        if self.stopped.is_some() {
            return None;
        }
        let slot = self.scheduled[self.scheduler.start()?];
        let prepared = self.slots[slot].waiting.take()?;
        Some((slot, Work::Run(prepared)))
    }

    fn end(&mut self, slot: usize, ended: Ended) {
        if let Some(index) = self.slots[slot].scheduled_as {
            self.scheduler.finish(index);
        }
        let stops = pipeline::stops(&ended.result.meta.hooks).map(|said| {
            let why = said.stop.as_deref().unwrap_or_default();
            format!(
                "the hook `{}` stopped the turn before this call started ({why}); nothing was done",
                said.by
            )
        });
        let is_the_end = self.until_error && ended.result.is_error();
        self.slots[slot].ended = Some(ended);
        self.apply_changes();
        let stops = stops.or_else(|| is_the_end.then(|| AFTER_AN_ERROR.to_owned()));
        if let Some(why) = stops.filter(|_| self.stopped.is_none()) {
            self.stop(&why);
        }
    }

    /// Changes of the session take effect in the model's order, whatever ended first.
    fn apply_changes(&mut self) {
        while let Some(Slot { ended: Some(ended), .. }) = self.slots.get_mut(self.applied) {
            self.cx.session.apply(std::mem::take(&mut ended.changes));
            self.applied += 1;
        }
    }

    /// Interrupted, or stopped by a hook: what does not run yet never will. What runs is told by its token, if it is.
    fn stop(&mut self, why: &str) {
        self.stopped = Some(why.to_owned());
        let fault = Fault::cancelled(why);
        for (slot, prepared) in std::mem::take(&mut self.batch) {
            self.refuse(slot, prepared.refused(&fault));
        }
        for slot in 0..self.slots.len() {
            if let Some(prepared) = self.slots[slot].waiting.take() {
                self.refuse(slot, prepared.refused(&fault));
                // It never ran, so its end is no end to the scheduler, which is not asked any more.
                self.slots[slot].scheduled_as = None;
            }
        }
        for call in std::mem::take(&mut self.incoming) {
            let slot = self.open_slot(&call);
            self.refuse(slot, refused(call.id, call.name, &fault));
        }
    }

    fn refuse(&mut self, slot: usize, result: ToolResult) {
        let ticket = self.slots[slot].ticket.clone();
        self.ready.push_back((slot, Work::Refuse(Box::new(result), ticket)));
    }

    /// Whether every call that arrived has its result.
    fn is_settled(&self) -> bool {
        self.incoming.is_empty() && self.applied == self.slots.len()
    }

    /// One for each slot: asked when all have ended.
    fn results(&mut self) -> Vec<ToolResult> {
        let mut results = Vec::with_capacity(self.slots.len());
        results.extend(self.slots.iter_mut().filter_map(|slot| slot.ended.take()).map(|ended| *ended.result));
        results
    }

    fn ticket(&self, slot: usize) -> Option<Arc<Ticket>> {
        self.slots.get(slot)?.ticket.clone()
    }
}
