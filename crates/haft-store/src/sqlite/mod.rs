//! The book of one machine: a file of SQLite.
//!
//! Nothing is opened before something is written or read. One thread writes (`writer`), in transactions of all that has
//! gathered; readers have a connection of their own, which never waits for it. Several processes share the file.

mod schema; // the file and its tables
mod owner; //  who is still there
mod queue; //  what waits to be written
mod writer; // the thread that writes
mod write; //  what is written
mod read; //   what is read
mod find; //   which calls
mod places; // which paths
mod page; //   all of it, a page at a time
mod prune; //  what is forgotten

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use haft_engine::session::{CallKey, PastCall};
use haft_tool::{BoxFuture, SessionId};
use rusqlite::Connection;
use serde_json::Value;
use tokio::sync::oneshot;

use self::{
    owner::Owners,
    queue::Queue,
    read::Eye,
    schema::{open_to_read, wrong},
    writer::{Job, Shared},
};
use crate::{
    book::{
        Book, BookError, Bookmark, CallFilter, Claimed, Document, Durability, EventFilter, Limits, Page,
        Pruned, Retention,
    },
    record::{CallRow, Claim, Entry, EventRow, SessionRow},
};

/// A book in a file of SQLite. Clones are the same book. The last one that is dropped lets what is queued be written, and does
/// not wait for it: [`flush`](Book::flush) before the process ends.
#[derive(Clone)]
pub struct SqliteBook(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    /// Whether there is a thread that writes; why not, if it could not be started.
    writer: OnceLock<Result<(), String>>,
    reader: Arc<Mutex<Option<Connection>>>,
}

impl SqliteBook {
    /// The book at this path. Nothing is opened yet. `tell` is told what went wrong that nobody waits for; `retention` is
    /// enforced once a day, however long the process lives.
    pub fn at(
        path: impl Into<PathBuf>,
        retention: Retention,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> SqliteBook {
        let shared = Shared {
            path: path.into(),
            queue: Queue::default(),
            retention,
            tell: Box::new(tell),
            troubled: AtomicBool::new(false),
        };
        SqliteBook(Arc::new(Inner {
            shared: Arc::new(shared),
            writer: OnceLock::new(),
            reader: Arc::default(),
        }))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.shared.path
    }

    async fn send(&self, job: Job) -> Result<(), BookError> {
        let shared = &self.0.shared;
        let started =
            self.0.writer.get_or_init(|| writer::start(shared.clone()).map_err(|err| err.to_string()));
        if let Err(why) = started {
            return Err(BookError::Other(format!("no thread can be started: {why}")));
        }
        if shared.queue.push(job).await { Ok(()) } else { Err(gone()) }
    }

    async fn wait<T>(
        &self,
        job: impl FnOnce(oneshot::Sender<Result<T, BookError>>) -> Job,
    ) -> Result<T, BookError> {
        let (done, answer) = oneshot::channel();
        self.send(job(done)).await?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Reads on a thread for that, after all that this process has written.
    async fn read<T: Send + 'static>(
        &self,
        nothing: T,
        query: impl FnOnce(&Eye<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, BookError> {
        if self.0.writer.get().is_some() {
            // What could not be written is told to whoever writes; reading goes on with what is there.
            let _ = self.flush().await;
        }
        let (path, reader) = (self.0.shared.path.clone(), self.0.reader.clone());
        let look = move || {
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            if reader.is_none() {
                *reader = open_to_read(&path)?;
            }
            let Some(db) = &*reader else { return Ok(nothing) };
            let found = query(&Eye { db, owners: &Owners::of(&path) }).map_err(|err| wrong(&path, err));
            if found.is_err() {
                // It may have been put aside: the next one looks anew.
                *reader = None;
            }
            found
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_else(|err| Err(BookError::Other(err.to_string())))
    }
}

fn gone() -> BookError {
    BookError::Other("the thread that writes it is gone".to_owned())
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.queue.close();
    }
}

impl Book for SqliteBook {
    fn append(&self, entries: Vec<Entry>, durability: Durability) -> BoxFuture<'_, Result<(), BookError>> {
        // While something is wrong, everybody waits and learns whether it still is.
        let waits = durability > Durability::Queued || self.0.shared.troubled.load(Ordering::Relaxed);
        match waits {
            true => Box::pin(self.wait(move |done| Job::Append { entries, durability, done: Some(done) })),
            false => Box::pin(self.send(Job::Append { entries, durability, done: None })),
        }
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, BookError>> {
        Box::pin(self.wait(move |done| Job::Claim { claim: Box::new(claim), done }))
    }

    fn past<'a>(
        &'a self,
        session: &'a SessionId,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<PastCall>, BookError>> {
        let session = session.clone();
        Box::pin(self.read(Vec::new(), move |eye| eye.past(&session, most)))
    }

    fn result<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<Option<String>, BookError>> {
        let key = key.clone();
        Box::pin(self.read(None, move |eye| eye.result(&key)))
    }

    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, BookError>> {
        Box::pin(self.read(Vec::new(), move |eye| eye.calls(&filter)))
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<EventRow>, BookError>> {
        Box::pin(self.read(Vec::new(), move |eye| eye.events(&filter)))
    }

    fn sessions(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionRow>, BookError>> {
        Box::pin(self.read(Vec::new(), move |eye| eye.sessions(most)))
    }

    fn page(&self, filter: CallFilter, from: Option<Bookmark>) -> BoxFuture<'_, Result<Page, BookError>> {
        let nothing = Page { rows: Vec::new(), next: None };
        Box::pin(self.read(nothing, move |eye| eye.page(&filter, from)))
    }

    fn document<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, BookError>> {
        let (space, key) = (space.to_owned(), key.to_owned());
        Box::pin(self.read(None, move |eye| eye.document(&space, &key)))
    }

    fn put<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        version: u64,
        body: Option<Value>,
    ) -> BoxFuture<'a, Result<Option<u64>, BookError>> {
        let place = (space.to_owned(), key.to_owned());
        Box::pin(self.wait(move |done| Job::Put { place, version, body, done }))
    }

    fn prune(&self, limits: Limits) -> BoxFuture<'_, Result<Pruned, BookError>> {
        Box::pin(self.wait(move |done| Job::Prune { limits, done }))
    }

    fn flush(&self) -> BoxFuture<'_, Result<(), BookError>> {
        match self.0.writer.get() {
            Some(_) => self.append(Vec::new(), Durability::Process),
            None => Box::pin(async { Ok(()) }),
        }
    }
}
