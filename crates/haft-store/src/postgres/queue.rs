//! What waits to be written.
//!
//! Entries of many calls go to the server in one transaction: whoever does not have to wait does not, and those who do wait
//! together. Nothing that was accepted is dropped because the server is away; when too much waits, the next has to.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, oneshot},
    time::timeout,
};
use uuid::Uuid;

use crate::{
    book::{BookError, Durability},
    record::Entry,
};

/// So many entries may wait, and whoever comes then waits so long for room. With a server that answers it is never more than
/// a few.
const MOST: usize = 2_000;
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// So many go in one transaction.
pub(super) const AT_ONCE: usize = 256;

/// Entries that were given together: all of them are written, or none.
pub(super) struct Batch {
    /// Each with its own mark, so that writing it twice is writing it once.
    pub(super) entries: Vec<(Uuid, Entry)>,
    pub(super) durability: Durability,
    /// Who waits for it.
    done: Option<oneshot::Sender<Result<(), BookError>>>,
}

impl Batch {
    /// Whoever waits is told.
    pub(super) fn answer(self, outcome: Result<(), BookError>) {
        if let Some(done) = self.done {
            // One who has gone away meanwhile does not mind.
            let _ = done.send(outcome);
        }
    }

    pub(super) fn is_awaited(&self) -> bool {
        self.done.is_some()
    }

    /// A copy that nobody waits for, if it ends a call.
    fn end_of_a_call(&self) -> Option<Batch> {
        let ends = self.entries.iter().any(|(_, entry)| entry.ends_a_call());
        ends.then(|| Batch { entries: self.entries.clone(), durability: self.durability, done: None })
    }
}

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// There is something to do.
    pub(super) work: Notify,
    /// There is room again.
    room: Notify,
}

#[derive(Default)]
struct State {
    batches: VecDeque<Batch>,
    entries: usize,
    closed: bool,
    /// Something that was accepted could not be written at all. The next to come is told.
    lost: Option<BookError>,
}

impl Queue {
    /// Puts entries into the queue, and waits as long as the durability says.
    pub(super) async fn append(&self, entries: Vec<Entry>, durability: Durability) -> Result<(), BookError> {
        if durability == Durability::Queued && !self.has_room(entries.len()) {
            let room = self.wait_for_room(entries.len());
            timeout(LONGEST_WAIT, room).await.map_err(|_| BookError::Other(TOO_MUCH.to_owned()))?;
        }
        let entries: Vec<(Uuid, Entry)> = entries.into_iter().map(|entry| (Uuid::now_v7(), entry)).collect();
        let (done, waits) = match durability {
            Durability::Queued => (None, None),
            Durability::Process | Durability::Power => {
                let (done, waits) = oneshot::channel();
                (Some(done), Some(waits))
            }
        };
        self.push(Batch { entries, durability, done })?;
        match waits {
            Some(waits) => waits.await.unwrap_or_else(|_| Err(closed())),
            None => Ok(()),
        }
    }

    async fn wait_for_room(&self, more: usize) {
        loop {
            let mut changed = pin!(self.room.notified());
            // Before the look: what changes after it is not missed.
            changed.as_mut().enable();
            if self.has_room(more) {
                return;
            }
            changed.await;
        }
    }

    /// Returns when all that was queued before is written.
    pub(super) async fn settle(&self) -> Result<(), BookError> {
        if self.lock().batches.is_empty() && !self.is_writing() {
            return Ok(());
        }
        self.append(Vec::new(), Durability::Process).await
    }

    /// Whether something was taken and is not written yet. Its entries are counted until it is.
    fn is_writing(&self) -> bool {
        self.lock().entries > 0
    }

    fn has_room(&self, more: usize) -> bool {
        let state = self.lock();
        state.closed || state.entries == 0 || state.entries + more <= MOST
    }

    fn push(&self, batch: Batch) -> Result<(), BookError> {
        let mut state = self.lock();
        if let Some(lost) = state.lost.take() {
            return Err(lost);
        }
        if state.closed {
            return Err(closed());
        }
        state.entries += batch.entries.len();
        state.batches.push_back(batch);
        drop(state);
        self.work.notify_one();
        Ok(())
    }

    /// Takes what goes into the next transaction, in order.
    pub(super) fn take(&self) -> Vec<Batch> {
        let (mut state, mut taken, mut entries) = (self.lock(), Vec::new(), 0);
        while let Some(next) = state.batches.front() {
            if !taken.is_empty() && entries + next.entries.len() > AT_ONCE {
                break;
            }
            entries += next.entries.len();
            taken.extend(state.batches.pop_front());
        }
        taken
    }

    /// Puts back what could not be written, before all else, and gives what somebody waits for: they are told, and decide
    /// themselves. The end of a call is so whatever they decide: a copy of it is tried again.
    pub(super) fn put_back(&self, batches: Vec<Batch>) -> Vec<Batch> {
        let mut state = self.lock();
        let later = std::mem::take(&mut state.batches);
        let mut awaited = Vec::new();
        for batch in batches.into_iter().chain(later) {
            if !batch.is_awaited() {
                state.batches.push_back(batch);
                continue;
            }
            if let Some(copy) = batch.end_of_a_call() {
                state.entries += copy.entries.len();
                state.batches.push_back(copy);
            }
            awaited.push(batch);
        }
        awaited
    }

    /// These are written, or given up.
    pub(super) fn written(&self, entries: usize) {
        self.lock().entries -= entries;
        self.room.notify_waiters();
    }

    pub(super) fn lose(&self, why: BookError) {
        self.lock().lost = Some(why);
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.room.notify_waiters();
        self.work.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done in here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const TOO_MUCH: &str = "the server takes nothing, and too much waits for it already";

fn closed() -> BookError {
    BookError::Other("the book is closed".to_owned())
}
