//! What the thread has: the line to the server, this process's lease, and the task that writes what is queued.

use std::{
    cell::Cell,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use deadpool_postgres::Client;
use tokio::{
    sync::OnceCell,
    task::spawn_local,
    time::{sleep, timeout},
};
use uuid::Uuid;

use super::{
    link::{Link, Trouble},
    prune,
    queue::{Batch, Queue},
    schema::{self, Form},
    write,
};
use crate::book::{BookError, Retention};

/// How long the writer leaves a server alone that did not take what it was given.
const RESPITE: Duration = Duration::from_secs(1);

/// How long the last words may take.
const LAST_WORD: Duration = Duration::from_secs(3);

pub(super) struct Room {
    link: Link,
    queue: Arc<Queue>,
    pub(super) lease: Lease,
    retention: Retention,
    /// Set when the tables are as they should be and the lease is ours.
    ready: OnceCell<()>,
}

/// By what others see that this process lives.
pub(super) struct Lease {
    /// Nobody else's.
    pub(super) id: String,
    /// For people: where it is.
    pub(super) owner: String,
    /// For how long each renewal holds.
    pub(super) holds: Duration,
    renewed: Cell<Option<Instant>>,
}

impl Lease {
    pub(super) fn new(holds: Duration) -> Lease {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = if host.trim().is_empty() { "?" } else { host.trim() };
        let owner = format!("process {} on {host}", std::process::id());
        Lease { id: Uuid::now_v7().to_string(), owner, holds, renewed: Cell::new(None) }
    }

    fn seconds(&self) -> f64 {
        self.holds.as_secs_f64()
    }

    /// Whether it is time to renew it: long before others could think that it has ended.
    fn is_due(&self) -> bool {
        self.renewed.get().is_none_or(|at| at.elapsed() >= self.holds / 3)
    }
}

impl Room {
    pub(super) fn new(link: Link, queue: Arc<Queue>, lease: Lease, retention: Retention) -> Room {
        Room { link, queue, lease, retention, ready: OnceCell::new() }
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// The line to the server, whose tables are as they should be.
    pub(super) async fn link(self: &Rc<Self>) -> Result<&Link, BookError> {
        self.ready
            .get_or_try_init(async || {
                match self.link.ask(async |client| schema::prepare(client).await).await? {
                    Form::Present => {}
                    Form::Later(found) => {
                        let path = self.link.shown().to_owned();
                        let (found, known) = (i64::from(found), i64::from(schema::present()));
                        return Err(BookError::Newer { path, found, known });
                    }
                }
                self.renew().await?;
                spawn_local(Room::keep_renewing(self.clone()));
                spawn_local(Room::keep_forgetting(self.clone()));
                Ok(())
            })
            .await?;
        Ok(&self.link)
    }

    /// Whether the server answers, without patience.
    pub(super) async fn greet(self: &Rc<Self>) -> Result<(), BookError> {
        self.link.ask_once(&async |client| client.query_one("SELECT 1", &[]).await).await?;
        self.link().await.map(drop)
    }

    /// Says that this process lives, unless it was said a moment ago. The server's clock counts: all processes have that one.
    pub(super) async fn renew(&self) -> Result<(), Trouble> {
        if !self.lease.is_due() {
            return Ok(());
        }
        let (at, lease) = (Instant::now(), &self.lease);
        self.link
            .ask(async |client| {
                let sql = client.prepare_cached(RENEW).await?;
                client.execute(&sql, &[&lease.id, &lease.owner, &lease.seconds()]).await
            })
            .await?;
        lease.renewed.set(Some(at));
        Ok(())
    }

    async fn keep_renewing(room: Rc<Room>) {
        loop {
            sleep(room.lease.holds / 3).await;
            // One that fails is tried again before long; what can be told of it, the next claim tells.
            let _ = room.renew().await;
        }
    }

    async fn keep_forgetting(room: Rc<Room>) {
        loop {
            prune::daily(room.clone(), room.retention.now()).await;
            sleep(room.retention.every).await;
        }
    }

    /// Gives up the lease: what is still open was cut off, and others need not wait to know it.
    pub(super) async fn leave(&self) {
        if self.ready.initialized() {
            let sql = "DELETE FROM haft_leases WHERE lease = $1";
            let leave = async |client: &mut Client| client.execute(sql, &[&self.lease.id]).await;
            let _ = timeout(LAST_WORD, self.link.ask_once(&leave)).await;
        }
    }

    /// Writes what is queued, until the book is closed and nothing is left.
    pub(super) async fn write_queued(room: Rc<Room>) {
        loop {
            let batches = room.queue.take();
            let is_last = room.queue.is_closed();
            if batches.is_empty() && is_last {
                return;
            }
            if batches.is_empty() {
                room.queue.work.notified().await;
                continue;
            }
            let is_written = room.write(batches).await;
            if !is_written && is_last {
                return;
            }
            if !is_written {
                sleep(RESPITE).await;
            }
        }
    }

    /// Writes these; whether the server took them.
    async fn write(self: &Rc<Self>, batches: Vec<Batch>) -> bool {
        match self.try_to_write(&batches).await {
            Ok(()) => {
                batches.into_iter().for_each(|batch| self.end(batch, Ok(())));
                true
            }
            // One of them is at fault. The others do not suffer for it.
            Err(Failed { is_data: true, .. }) if batches.len() > 1 => {
                for batch in batches {
                    Box::pin(self.write(vec![batch])).await;
                }
                true
            }
            Err(Failed { is_data: true, error }) => {
                batches.into_iter().for_each(|batch| self.give_up(batch, &error));
                true
            }
            Err(Failed { error, .. }) => {
                let awaited = self.queue.put_back(batches);
                awaited.into_iter().for_each(|batch| self.end(batch, Err(error.clone())));
                false
            }
        }
    }

    async fn try_to_write(self: &Rc<Self>, batches: &[Batch]) -> Result<(), Failed> {
        if batches.iter().all(|batch| batch.entries.is_empty()) {
            return Ok(());
        }
        let link = self.link().await.map_err(|error| Failed { is_data: false, error })?;
        let written = link.ask(async |client| write::entries(client, batches, &self.lease).await).await;
        written.map_err(|trouble| Failed { is_data: trouble.is_data(), error: trouble.into() })
    }

    fn end(&self, batch: Batch, outcome: Result<(), BookError>) {
        self.queue.written(batch.entries.len());
        batch.answer(outcome);
    }

    fn give_up(&self, batch: Batch, why: &BookError) {
        if !batch.is_awaited() {
            self.queue.lose(why.clone());
        }
        self.end(batch, Err(why.clone()));
    }
}

struct Failed {
    is_data: bool,
    error: BookError,
}

/// Leases that ended long ago go with the first renewal of a process.
const RENEW: &str = "
    WITH old AS (DELETE FROM haft_leases WHERE until < clock_timestamp() - interval '1 day' AND lease <> $1)
    INSERT INTO haft_leases (lease, owner, until)
    VALUES ($1, $2, clock_timestamp() + $3::float8 * interval '1 second')
    ON CONFLICT (lease) DO UPDATE SET until = excluded.until";
