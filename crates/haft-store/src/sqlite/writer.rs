//! The one thread that writes.
//!
//! It takes what has gathered, writes it in one transaction, and tells those who wait. Only a transaction in which something
//! must survive the end of power waits for the disk. What cannot be written is told to whoever waits; what nobody waits for is
//! kept and tried again with what comes next, as far as there is room for it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, TransactionBehavior};
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    owner::{Owner, Owners},
    prune,
    queue::{GATHER, Queue},
    schema::{LATELY, open_to_write, put_aside, wrong},
    write::Pen,
};
use crate::{
    book::{BookError, Claimed, Durability, Limits, Pruned, Retention},
    record::{Claim, Entry},
};

/// What nobody waits for and could not be written: so many jobs are kept for the next time.
const KEPT_BACK: usize = 4096;

/// By about so much longer jobs gather each time, until it is long enough.
const SOON: Duration = Duration::from_micros(500);

/// The size of a page of SQLite, and so many it needs in any case.
const PAGE_BYTES: u64 = 4096;
const FEWEST_PAGES: u64 = 64;

type Answer<T> = oneshot::Sender<Result<T, BookError>>;

/// Something to write.
pub(super) enum Job {
    Append { entries: Vec<Entry>, durability: Durability, done: Option<Answer<()>> },
    Claim { claim: Box<Claim>, done: Answer<Claimed> },
    Put { place: (String, String), version: u64, body: Option<Value>, done: Answer<Option<u64>> },
    Prune { limits: Limits, done: Answer<Pruned> },
}

/// What became of a job, before those who wait are told: nothing is so before the transaction has ended.
enum Done {
    Nothing,
    Claimed(Claimed),
    Version(Option<u64>),
}

impl Job {
    pub(super) fn is_waited_for(&self) -> bool {
        !matches!(self, Job::Append { done: None, .. })
    }

    /// Whether it must survive the end of power.
    fn is_for_good(&self) -> bool {
        match self {
            Job::Append { durability, .. } => *durability == Durability::Power,
            Job::Claim { claim, .. } => !claim.sealed,
            Job::Put { .. } => true,
            Job::Prune { .. } => false,
        }
    }

    /// About how much memory it takes.
    pub(super) fn size(&self) -> usize {
        let of_claim = |claim: &Claim| 1024 + claim.paths.len() * 128 + size_of_value(&claim.input);
        let of_entry = |entry: &Entry| match entry {
            Entry::Started(claim) | Entry::Refused(claim) => of_claim(claim),
            Entry::Finished(outcome) => 256 + outcome.result.len(),
            Entry::Touched { paths, .. } => 256 + paths.len() * 128,
            Entry::Event(event) => 256 + size_of_value(&event.body),
            Entry::Turn(_) | Entry::TurnEnded { .. } => 256,
        };
        match self {
            Job::Append { entries, .. } => entries.iter().map(of_entry).sum(),
            Job::Claim { claim, .. } => of_claim(claim),
            Job::Put { body, .. } => 256 + body.as_ref().map_or(0, size_of_value),
            Job::Prune { .. } => 0,
        }
    }

    /// It could not be written: whoever waits is told. Gives what is to be tried again: what nobody waits for, and the end of
    /// a call, which is so whoever heard that it is not written. Nothing else is: who is told that a call cannot begin does
    /// not begin it.
    fn fail(self, err: &BookError) -> Option<Job> {
        // Whoever does not wait any more need not know.
        match self {
            Job::Append { entries, durability, done } => {
                let told = done.map(|done| drop(done.send(Err(err.clone()))));
                let stays = told.is_none() || entries.iter().any(Entry::ends_a_call);
                return stays.then_some(Job::Append { entries, durability, done: None });
            }
            Job::Claim { done, .. } => drop(done.send(Err(err.clone()))),
            Job::Put { done, .. } => drop(done.send(Err(err.clone()))),
            Job::Prune { done, .. } => drop(done.send(Err(err.clone()))),
        }
        None
    }

    fn succeed(self, result: Done) {
        match (self, result) {
            (Job::Append { done: Some(done), .. }, _) => drop(done.send(Ok(()))),
            (Job::Claim { done, .. }, Done::Claimed(claimed)) => drop(done.send(Ok(claimed))),
            (Job::Put { done, .. }, Done::Version(version)) => drop(done.send(Ok(version))),
            _ => {}
        }
    }
}

fn size_of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 32,
        Value::Array(values) => values.iter().map(size_of_value).sum::<usize>() + 32,
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + size_of_value(value)).sum::<usize>() + 64
        }
        _ => 32,
    }
}

/// What the thread and those who send to it share.
pub(super) struct Shared {
    pub(super) path: PathBuf,
    pub(super) queue: Queue,
    pub(super) retention: Retention,
    pub(super) tell: Box<dyn Fn(&str) + Send + Sync>,
    /// What was not written and is waited for by nobody.
    pub(super) troubled: std::sync::atomic::AtomicBool,
}

/// Starts the thread. It ends when the queue is closed and empty.
pub(super) fn start(shared: Arc<Shared>) -> std::io::Result<()> {
    let writer = thread::Builder::new().name("haft-journal".to_owned());
    writer.spawn(move || Writer::new(&shared).run()).map(drop)
}

struct Writer<'a> {
    shared: &'a Shared,
    owners: Owners,
    /// Who this process is to others. Had once and held to the end, whatever breaks meanwhile: without it, what runs here
    /// would look cut off.
    owner: Option<Arc<Owner>>,
    hand: Option<Hand>,
    kept_back: Vec<Job>,
    /// When it is asked next whether something is to be forgotten.
    next_look: Option<Instant>,
}

/// What it needs to write; had as soon as there is something to write, and again after it broke.
struct Hand {
    db: Connection,
    owner: Arc<Owner>,
    owners: Owners,
    waits_for_disk: bool,
}

impl<'a> Writer<'a> {
    fn new(shared: &'a Shared) -> Writer<'a> {
        let owners = Owners::of(&shared.path);
        Writer { shared, owners, owner: None, hand: None, kept_back: Vec::new(), next_look: None }
    }

    fn run(mut self) {
        // Whoever had this thread started has something to write, so the file can be opened. What goes wrong with that is told
        // when something is written.
        let _ = self.hand();
        // Everything takes longest the first time. So what comes first hardly gathers: who waits later does not wait for that.
        let mut gather = Duration::ZERO;
        while let Some(batch) = self.shared.queue.take(self.next_look, gather) {
            gather = GATHER.min(gather * 2 + SOON);
            let (prunes, jobs): (Vec<Job>, Vec<Job>) =
                batch.into_iter().partition(|job| matches!(job, Job::Prune { .. }));
            self.write(jobs);
            prunes.into_iter().for_each(|job| self.prune(job));
            self.maintain();
            self.move_in();
        }
        // The trouble may be over by now.
        self.write(Vec::new());
        if !self.kept_back.is_empty() {
            let count = self.kept_back.len();
            let words =
                format!("what waited for the journal could not be written and is lost (entries: {count}).");
            (self.shared.tell)(&words);
        }
    }

    fn write(&mut self, jobs: Vec<Job>) {
        let jobs: Vec<Job> = std::mem::take(&mut self.kept_back).into_iter().chain(jobs).collect();
        if jobs.is_empty() {
            return;
        }
        match self.commit(&jobs) {
            Ok(results) => {
                self.shared.troubled.store(false, Ordering::Relaxed);
                jobs.into_iter().zip(results).for_each(|(job, result)| job.succeed(result));
            }
            Err(err) => {
                self.shared.troubled.store(true, Ordering::Relaxed);
                self.keep_back(jobs.into_iter().filter_map(|job| job.fail(&err)).collect(), &err);
            }
        }
    }

    fn keep_back(&mut self, jobs: Vec<Job>, err: &BookError) {
        // What no other disk would take either is not tried again for ever.
        let lasts = matches!(err, BookError::Other(_) | BookError::Corrupt(..) | BookError::Newer { .. });
        let lost = if lasts { jobs.len() } else { jobs.len().saturating_sub(KEPT_BACK) };
        if lost > 0 {
            (self.shared.tell)(&format!("{err}; what waited for it is lost (entries: {lost})."));
        }
        self.kept_back = jobs.into_iter().skip(lost).collect();
    }

    /// Writes jobs in one transaction. A file that turns out to be damaged is put aside once.
    fn commit(&mut self, jobs: &[Job]) -> Result<Vec<Done>, BookError> {
        match self.try_commit(jobs) {
            Err(BookError::Corrupt(..)) => {
                self.hand = None;
                put_aside(&self.shared.path, &self.shared.tell)?;
                self.try_commit(jobs)
            }
            Err(BookError::Full(_)) if self.make_room() => {
                self.try_commit(jobs).inspect_err(|_| self.hand = None)
            }
            Err(err) => {
                // A connection that could not write may have been left in the middle.
                self.hand = None;
                Err(err)
            }
            done => done,
        }
    }

    /// Forgets what is more than may be, where that is why there is no room. Says whether something was.
    fn make_room(&mut self) -> bool {
        let (Some(hand), Some(most)) = (&mut self.hand, self.shared.retention.max_bytes) else {
            return false;
        };
        // Not all of what may be: the next one wants room, too.
        let limits = Limits { before: None, max_bytes: Some(most / 4 * 3) };
        prune::prune(&mut hand.db, &hand.owners, limits, &|| true).is_ok_and(|pruned| pruned.calls > 0)
    }

    fn try_commit(&mut self, jobs: &[Job]) -> Result<Vec<Done>, BookError> {
        let for_good = jobs.iter().any(Job::is_for_good);
        let path = &self.shared.path;
        self.hand()?.write(jobs, for_good).map_err(|err| wrong(path, err))
    }

    fn hand(&mut self) -> Result<&mut Hand, BookError> {
        let hand = match self.hand.take() {
            Some(hand) => hand,
            None => Hand::new(self.shared, self.owners.clone(), &mut self.owner)?,
        };
        Ok(self.hand.insert(hand))
    }

    fn prune(&mut self, job: Job) {
        let Job::Prune { limits, done } = job else { return };
        let path = &self.shared.path;
        let pruned = self.hand().and_then(|hand| {
            prune::prune(&mut hand.db, &hand.owners, limits, &|| true).map_err(|err| wrong(path, err))
        });
        let _ = done.send(pruned);
    }

    /// Once a day, when nothing else is to be done: what is too old or too much goes.
    fn maintain(&mut self) {
        let (queue, retention) = (&self.shared.queue, self.shared.retention);
        let is_due = self.next_look.is_none_or(|at| at <= Instant::now());
        let Some(hand) = self.hand.as_mut().filter(|_| is_due && queue.is_empty()) else { return };
        let go_on = || queue.is_empty();
        // What went wrong is tried again at the next look; nothing depends on it.
        let is_done = prune::daily(&mut hand.db, &hand.owners, retention.now(), &go_on).unwrap_or(true);
        self.next_look = is_done.then(|| Instant::now() + retention.every);
    }

    /// What was written beside the file goes into it, when nothing else is to be done. What went wrong is tried again.
    fn move_in(&self) {
        if let Some(hand) = self.hand.as_ref().filter(|_| self.shared.queue.is_empty()) {
            let _ = hand.move_in();
        }
    }
}

impl Hand {
    fn new(shared: &Shared, owners: Owners, owner: &mut Option<Arc<Owner>>) -> Result<Hand, BookError> {
        let path = &*shared.path;
        let mut db = open_to_write(path, &shared.tell)?;
        if let Some(most) = shared.retention.max_bytes {
            // What runs is not forgotten: without a bound of its own it could fill the disk.
            let pages = (most.saturating_mul(2) / PAGE_BYTES).max(FEWEST_PAGES);
            db.pragma_update(None, "max_page_count", i64::try_from(pages).unwrap_or(i64::MAX))
                .map_err(|err| wrong(path, err))?;
        }
        let owner = held(path, &owners, owner)?;
        let marked = db.transaction_with_behavior(TransactionBehavior::Immediate).and_then(|marking| {
            Pen { db: &marking, owner: owner.name(), owners: &owners }.mark_cut_off()?;
            marking.commit()
        });
        marked.map_err(|err| wrong(path, err))?;
        Ok(Hand { db, owner, owners, waits_for_disk: false })
    }

    fn write(&mut self, jobs: &[Job], for_good: bool) -> rusqlite::Result<Vec<Done>> {
        if for_good != self.waits_for_disk {
            self.db.pragma_update(None, "synchronous", if for_good { "FULL" } else { "NORMAL" })?;
            self.waits_for_disk = for_good;
        }
        let writing = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let pen = Pen { db: &writing, owner: self.owner.name(), owners: &self.owners };
        let done = jobs.iter().map(|job| one(&pen, job)).collect::<rusqlite::Result<Vec<Done>>>()?;
        writing.commit()?;
        Ok(done)
    }

    fn move_in(&self) -> rusqlite::Result<()> {
        let (beside, moved): (i64, i64) = self
            .db
            .prepare_cached("PRAGMA wal_checkpoint(NOOP)")?
            .query_row([], |row| Ok((row.get(1)?, row.get(2)?)))?;
        if beside - moved >= LATELY {
            self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        }
        Ok(())
    }
}

/// Who this process is. Another only if somebody took its file away: then nobody takes it for alive any more.
fn held(path: &Path, owners: &Owners, owner: &mut Option<Arc<Owner>>) -> Result<Arc<Owner>, BookError> {
    let held = match owner.take().filter(|owner| owner.is_known()) {
        Some(owner) => owner,
        None => Arc::new(owners.join().map_err(|err| BookError::at(path, &err))?),
    };
    Ok(owner.insert(held).clone())
}

fn one(pen: &Pen<'_>, job: &Job) -> rusqlite::Result<Done> {
    match job {
        Job::Append { entries, .. } => {
            entries.iter().try_for_each(|entry| pen.write(entry))?;
            Ok(Done::Nothing)
        }
        Job::Claim { claim, .. } => pen.claim(claim).map(Done::Claimed),
        Job::Put { place: (space, key), version, body, .. } => {
            pen.put(space, key, *version, body.as_ref()).map(Done::Version)
        }
        Job::Prune { .. } => Ok(Done::Nothing),
    }
}
