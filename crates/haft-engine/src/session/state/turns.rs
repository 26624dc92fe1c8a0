//! The turns of a session: how they are begun and stopped, and which calls came before them.

use std::{
    io,
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};

use futures::FutureExt;
use haft_tool::{Block, CallId, Fault};

use super::Session;
use crate::{
    result::{ToolResult, refused},
    session::{
        journal::{Note, Noted},
        known::Known,
    },
    turn::{Call, Event, Events, Feed, Interrupt, LiveTurn, drive},
};

impl Session {
    /// Runs all calls of one model message. There is exactly one result per call, in the order of the calls.
    ///
    /// Calls that do not conflict run together. Nothing here fails: what goes wrong is a result. Needs a tokio runtime
    /// with its clock enabled.
    pub async fn turn(&self, calls: Vec<Call>) -> Vec<ToolResult> {
        let interrupt = self.fresh_interrupt();
        drive(self, Feed::Complete(calls), &Events::of(self), &interrupt).await
    }

    /// Runs one call.
    pub async fn call(&self, call: Call) -> ToolResult {
        let id = call.id.clone();
        let result = self.turn(vec![call]).await.pop();
        // One call, one result: the other branch keeps this free of panics, and its words true.
        result.unwrap_or_else(|| refused(id, String::new(), &Fault::failed("no result")))
    }

    /// Runs one call in the task that asks for it, and hands over what happens to it meanwhile.
    pub async fn watched_call(&self, call: Call, mut on_event: impl FnMut(Event)) -> ToolResult {
        let id = call.id.clone();
        let (interrupt, (events, mut happening)) = (self.fresh_interrupt(), Events::channel(self));
        let turn = drive(self, Feed::Complete(vec![call]), &events, &interrupt);
        tokio::pin!(turn);
        let results = loop {
            tokio::select! {
                biased;
                Some(event) = happening.next() => on_event(event),
                results = &mut turn => break results,
            }
        };
        while let Some(event) = happening.next_that_is_there() {
            on_event(event);
        }
        results
            .into_iter()
            .next_back()
            .unwrap_or_else(|| refused(id, String::new(), &Fault::failed("no result")))
    }

    /// Begins a turn that is fed while the model still writes. Needs a tokio runtime.
    pub fn live_turn(&self) -> LiveTurn {
        LiveTurn::start(self.clone(), self.fresh_interrupt())
    }

    /// The same, stopped by an interrupt of the caller's: one that stops more than this turn.
    pub fn live_turn_under(&self, interrupt: Interrupt) -> LiveTurn {
        self.lock().interrupt = interrupt.clone();
        LiveTurn::start(self.clone(), interrupt)
    }

    /// Keeps what the model has read of a call where Read and Grep find it, so that the conversation need not hold it.
    pub async fn put_away(&self, call: &CallId, blocks: Vec<Block>) -> io::Result<PathBuf> {
        self.results().keep(self.id(), call, Arc::new(blocks)).await
    }

    /// Stops the turn that runs; the second time, also calls that are waited for.
    pub fn interrupt(&self) {
        let interrupt = self.lock().interrupt.clone();
        interrupt.trigger();
    }

    /// The interrupt of the next turn: the one that is there, unless it was used.
    fn fresh_interrupt(&self) -> Interrupt {
        let mut state = self.lock();
        if state.interrupt.is_triggered() {
            state.interrupt = Interrupt::default();
        }
        state.interrupt.clone()
    }
}

/// What the journal is told of turns, and what it knows of earlier ones.
impl Session {
    /// The calls that came before: those that this process knows of, or those that the journal does. It is asked once; what it
    /// cannot say now it says when a call is about to start.
    pub(crate) async fn known(&self) -> &Arc<Known> {
        let past = async {
            let (sessions, identity) = (self.engine().known_calls(), self.identity());
            if let Some(known) = sessions.find(identity) {
                return known;
            }
            let past = match self.engine().journal() {
                Some(journal) => journal.past(self.id()).await.unwrap_or_default(),
                None => Vec::new(),
            };
            sessions.add(identity, Arc::new(Known::recall(identity, past)))
        };
        self.0.known.get_or_init(|| past).await
    }

    /// The same, once they were asked for.
    pub(crate) fn known_by_now(&self) -> Option<&Arc<Known>> {
        self.0.known.get()
    }

    /// Says that calls may have been made before, without a record in this session: they stand without results
    /// in a conversation that goes on. One of them that may change something is not made then, unless it is known that it
    /// never began.
    pub async fn suspect(&self, calls: &[Call]) {
        let known = self.known().await;
        calls.iter().for_each(|call| known.suspect(self.identity(), call));
    }

    /// Says that the model was not shown what its latest calls have read: their results never came to the conversation.
    pub fn forget_shown(&self) {
        self.seen().forget_shown();
    }

    /// Says that ids of calls are only places in their turn: some APIs give none. A call that comes with an id and an input of
    /// before is then a new one, unless its turn was cut off.
    pub fn count_calls_anew(&self) {
        self.0.counts_anew.store(true, Ordering::Relaxed);
    }

    pub(crate) fn counts_calls_anew(&self) -> bool {
        self.0.counts_anew.load(Ordering::Relaxed)
    }

    /// Counts a turn that begins, and notes it in the journal, if there is one.
    pub(crate) async fn begin_turn(&self) -> u32 {
        let turn = self.known().await.next_turn();
        let Some(journal) = self.engine().journal() else { return turn };
        let workspace = self.workspace();
        let note = Note::Turn { workspace: &workspace, mode: self.mode(), caller: &self.0.caller };
        // Nothing depends on it: each call says for itself that it could not be recorded.
        let noted = journal.noted(Noted { session: self.id(), call: None, turn, note });
        let _ = AssertUnwindSafe(noted).catch_unwind().await;
        turn
    }

    /// The results were delivered to the program that began a turn.
    pub(crate) fn delivered(&self, turn: u32) {
        if let Some(known) = self.known_by_now() {
            known.delivered(turn);
        }
    }

    /// Every call of a turn has its result.
    pub(crate) async fn end_turn(&self, turn: u32, calls: usize) {
        let earlier = self.known().await.turn_ended(turn);
        let Some(journal) = self.engine().journal() else { return };
        let note = Note::TurnEnded { calls };
        for turn in earlier.into_iter().chain([turn]) {
            let noted = journal.noted(Noted { session: self.id(), call: None, turn, note });
            let _ = AssertUnwindSafe(noted).catch_unwind().await;
        }
    }
}
