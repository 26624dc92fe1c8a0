//! What waits to be written.
//!
//! Most of it is waited for by nobody: it gathers for a moment, so that a thousand calls are a few transactions and wake
//! the writer a few times. As soon as somebody waits, the writer is woken and writes all that is there.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::writer::Job;

/// So many jobs wait at most, and so many bytes.
const MOST_JOBS: usize = 4096;
const MOST_BYTES: usize = 16 << 20;
/// So many are written in one transaction.
const BATCH: usize = 1024;
/// How long what nobody waits for may gather.
pub(super) const GATHER: Duration = Duration::from_millis(4);

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// For the writer: something came.
    came: Condvar,
    /// For those who send: there is room again.
    room: Notify,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    bytes: usize,
    /// Somebody waits for one of them.
    urgent: bool,
    /// The writer sleeps until something comes, not until what is there has gathered.
    idle: bool,
    closed: bool,
}

impl Queue {
    /// Adds a job, and waits while there is no room. Says no if the writer is gone.
    pub(super) async fn push(&self, job: Job) -> bool {
        let mut job = Some(job);
        loop {
            let room = self.room.notified();
            match self.try_push(&mut job) {
                Some(pushed) => return pushed,
                None => room.await,
            }
        }
    }

    fn try_push(&self, job: &mut Option<Job>) -> Option<bool> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Some(false);
        }
        if waiting.jobs.len() >= MOST_JOBS || waiting.bytes >= MOST_BYTES {
            waiting.urgent = true;
            self.came.notify_one();
            return None;
        }
        let job = job.take()?;
        let urgent = job.is_waited_for();
        let wake = waiting.idle || (urgent && !waiting.urgent);
        waiting.bytes += job.size();
        waiting.urgent |= urgent;
        waiting.jobs.push_back(job);
        drop(waiting);
        if wake {
            self.came.notify_one();
        }
        Some(true)
    }

    /// The next jobs to write, in their order, once they have gathered for so long or somebody waits; none if none came until the
    /// time of a look. `None` if there will be no more.
    pub(super) fn take(&self, look: Option<Instant>, gather: Duration) -> Option<Vec<Job>> {
        let mut waiting = self.lock();
        while waiting.jobs.is_empty() {
            if waiting.closed {
                return None;
            }
            waiting.idle = true;
            waiting = match look.map(|look| look.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => {
                    waiting.idle = false;
                    return Some(Vec::new());
                }
                Some(left) => self.came.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
        waiting.idle = false;
        let until = Instant::now() + gather;
        while !waiting.urgent && !waiting.closed {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                break;
            };
            waiting = self.came.wait_timeout(waiting, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let count = waiting.jobs.len().min(BATCH);
        let batch: Vec<Job> = waiting.jobs.drain(..count).collect();
        waiting.bytes = waiting.bytes.saturating_sub(batch.iter().map(Job::size).sum());
        waiting.urgent = waiting.jobs.iter().any(Job::is_waited_for);
        drop(waiting);
        self.room.notify_waiters();
        Some(batch)
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().jobs.is_empty()
    }

    /// No more comes.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.came.notify_one();
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
