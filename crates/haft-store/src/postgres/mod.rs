//! The book that several machines share: PostgreSQL.
//!
//! The tables are made when they are first needed. A process that runs calls holds a lease and renews it while it lives; a call
//! that is open in the name of a lease that has run out was cut off. All times of leases are the server's.

mod tls; //        a line that nobody else reads
mod link; //       connections, time limits, another attempt
mod schema; //     the tables, and how they become the present ones
mod text; //       text as the server takes it
mod queue; //      what waits to be written
mod room; //       lease and writer
mod desk; //       the thread that they live on
mod write; //      entries as statements
mod claim; //      who gets a call
mod read; //       what is found again
mod page; //       all of it, a page at a time
mod documents; //  documents
mod prune; //      what is forgotten

use std::{io, sync::Arc, time::Duration};

use haft_engine::session::{CallKey, PastCall};
use haft_tool::{BoxFuture, SessionId};
use serde_json::Value;

use self::{
    desk::Desk,
    link::Link,
    queue::Queue,
    room::{Lease, Room},
};
use crate::{
    book::{
        Book, BookError, Bookmark, CallFilter, Claimed, Document, Durability, EventFilter, Limits, Page,
        Pruned, Retention,
    },
    record::{CallRow, Claim, Entry, EventRow, SessionRow},
};

/// How long a process that says nothing is taken to live.
pub const LEASE: Duration = Duration::from_secs(30);

/// The longest name of a session or of a document: an index takes no more.
const LONGEST_NAME: usize = 500;

/// A book on a PostgreSQL server. Dropping it writes what is queued, if the server is there, and gives up the lease.
pub struct PostgresBook {
    // Before the queue: its thread ends first.
    desk: Desk,
    queue: Arc<Queue>,
    shown: String,
}

impl std::fmt::Debug for PostgresBook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PostgresBook({})", self.shown)
    }
}

impl PostgresBook {
    /// The book at this address, as `postgres://user@host/database` or in the words of libpq. The server is contacted when
    /// something is first written or read. An address that leaves this machine means TLS, with the server's certificate
    /// checked; `sslmode=disable` in it says otherwise.
    ///
    /// `lease` is how long a process that says nothing is taken to live: [`LEASE`] for most. `retention` is enforced once
    /// a day, by one of the processes.
    pub fn at(address: &str, lease: Duration, retention: Retention) -> io::Result<PostgresBook> {
        let (link, queue) = (Link::to(address)?, Arc::new(Queue::default()));
        let shown = link.shown().to_owned();
        let desk =
            Desk::open(move |queue| Room::new(link, queue, Lease::new(lease), retention), queue.clone())?;
        Ok(PostgresBook { desk, queue, shown })
    }

    /// Where it is, without a password.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Whether the server answers and has, or can be given, the tables. Does not wait for one that is away.
    pub async fn greet(&self) -> Result<(), BookError> {
        self.desk.ask(|room| async move { room.greet().await }).await
    }
}

impl Book for PostgresBook {
    fn append(&self, entries: Vec<Entry>, durability: Durability) -> BoxFuture<'_, Result<(), BookError>> {
        Box::pin(async move {
            entries.iter().map(session_of).try_for_each(|session| check(session.as_str()))?;
            self.queue.append(entries, durability).await
        })
    }

    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, BookError>> {
        if let Err(refused) = check(claim.key.session.as_str()) {
            return Box::pin(std::future::ready(Err(refused)));
        }
        Box::pin(self.desk.ask(|room| claim::claim(room, claim)))
    }

    fn past<'a>(
        &'a self,
        session: &'a SessionId,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<PastCall>, BookError>> {
        let session = session.clone();
        self.settled(move |room| read::past(room, session, most))
    }

    fn result<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<Option<String>, BookError>> {
        let key = key.clone();
        self.settled(|room| read::result(room, key))
    }

    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, BookError>> {
        self.settled(|room| read::calls(room, filter))
    }

    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<EventRow>, BookError>> {
        self.settled(|room| read::events(room, filter))
    }

    fn sessions(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionRow>, BookError>> {
        self.settled(move |room| read::sessions(room, most))
    }

    fn page(&self, filter: CallFilter, from: Option<Bookmark>) -> BoxFuture<'_, Result<Page, BookError>> {
        self.settled(|room| page::page(room, filter, from))
    }

    fn document<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, BookError>> {
        let (space, key) = (space.to_owned(), key.to_owned());
        Box::pin(self.desk.ask(|room| documents::get(room, space, key)))
    }

    fn put<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        version: u64,
        body: Option<Value>,
    ) -> BoxFuture<'a, Result<Option<u64>, BookError>> {
        if let Err(refused) = check(space).and_then(|()| check(key)) {
            return Box::pin(std::future::ready(Err(refused)));
        }
        let (space, key) = (space.to_owned(), key.to_owned());
        Box::pin(self.desk.ask(move |room| documents::put(room, space, key, version, body)))
    }

    fn prune(&self, limits: Limits) -> BoxFuture<'_, Result<Pruned, BookError>> {
        Box::pin(self.desk.ask(move |room| prune::prune(room, limits)))
    }
}

impl PostgresBook {
    /// Reads what was said so far: what is queued is written first.
    fn settled<T: Send + 'static, F>(
        &self,
        work: impl FnOnce(std::rc::Rc<Room>) -> F + Send + 'static,
    ) -> BoxFuture<'_, Result<T, BookError>>
    where
        F: Future<Output = Result<T, BookError>> + 'static,
    {
        Box::pin(self.desk.ask(|room| async move {
            room.queue().settle().await?;
            work(room).await
        }))
    }
}

fn session_of(entry: &Entry) -> &SessionId {
    match entry {
        Entry::Turn(turn) => &turn.session,
        Entry::Started(claim) | Entry::Refused(claim) => &claim.key.session,
        Entry::Finished(outcome) => &outcome.key.session,
        Entry::Touched { key, .. } => &key.session,
        Entry::Event(event) => &event.session,
        Entry::TurnEnded { session, .. } => session,
    }
}

fn check(name: &str) -> Result<(), BookError> {
    if name.len() <= LONGEST_NAME {
        return Ok(());
    }
    Err(BookError::Other(format!(
        "the name of a session or document has {} bytes, and {LONGEST_NAME} is the most",
        name.len()
    )))
}
