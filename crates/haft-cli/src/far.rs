//! What is kept past this machine: from settings to servers.
//!
//! Where `[store]` names a server, calls and what sessions know are there; where it names a bucket, large results and
//! before-images are in it as well as here. Nobody is contacted before there is something to keep or to find.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use anyhow::Context;
use haft_engine::{result::ResultStore, session::Memory};
use haft_store::{
    Book, Retention,
    blobs::{Blobs, FileBlobs},
    results::Results,
};
use haft_tool::{Block, BoxFuture, CallId, SessionId};
use serde_json::Value;

#[cfg(feature = "objects")]
use crate::out::complain;
use crate::{exit::usage, place, settings::Settings, watch};

/// Where an address is that is in no file.
const ADDRESS: &str = "HAFT_STORE_URL";

/// The book on a server and its place, if calls are recorded on one.
pub(crate) fn book(
    settings: &Settings,
    retention: Retention,
) -> anyhow::Result<Option<(Arc<dyn Book>, String)>> {
    address(settings)?.map(|address| postgres(settings, &address, retention)).transpose()
}

/// The address of the server. What a file says wins over the environment.
fn address(settings: &Settings) -> anyhow::Result<Option<String>> {
    let given = std::env::var(ADDRESS).ok().filter(|address| !address.is_empty());
    match settings.store.journal.as_deref() {
        Some("sqlite") => Ok(None),
        Some("postgres") => match given {
            Some(address) => Ok(Some(address)),
            None => Err(usage(format!("store.journal is \"postgres\", and {ADDRESS} does not say where"))),
        },
        Some(address) if is_address(address) => Ok(Some(address.to_owned())),
        // The word may hold a password.
        Some(_) => Err(usage("store.journal is \"sqlite\", \"postgres\" or an address, postgres://…")),
        None if given.as_deref().is_some_and(|address| !is_address(address)) => {
            Err(usage(format!("{ADDRESS} is not an address, postgres://…")))
        }
        None => Ok(given),
    }
}

fn is_address(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

#[cfg(feature = "postgres")]
fn postgres(
    settings: &Settings,
    address: &str,
    retention: Retention,
) -> anyhow::Result<(Arc<dyn Book>, String)> {
    let seconds = |seconds: std::num::NonZeroUsize| std::time::Duration::from_secs(seconds.get() as u64);
    let lease = settings.store.lease_s.map_or(haft_store::LEASE, seconds);
    let book = haft_store::PostgresBook::at(address, lease, retention).map_err(usage)?;
    let shown = book.shown().to_owned();
    Ok((Arc::new(book), shown))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &Settings, _: &str, _: Retention) -> anyhow::Result<(Arc<dyn Book>, String)> {
    Err(usage("this haft was built without PostgreSQL (feature `postgres`)"))
}

/// Whose documents are what a session knows.
const SESSIONS: &str = "session";

/// What a session knew at the end of its last run, wherever that was.
pub(crate) fn recall(book: &Arc<dyn Book>, id: &str) -> anyhow::Result<Memory> {
    let (book, key) = (book.clone(), id.to_owned());
    let document = aside(async move { book.document(SESSIONS, &key).await })??;
    match document {
        None => Ok(Memory::default()),
        Some(document) => serde_json::from_value(document.body)
            .map_err(|err| usage(format!("what is kept of the session {id} cannot be read: {err}"))),
    }
}

/// Keeps what it knows now. Of two who keep at once the later wins, as with files.
pub(crate) fn remember(book: &Arc<dyn Book>, id: &str, memory: &Memory) -> anyhow::Result<()> {
    let (book, key, body) = (book.clone(), id.to_owned(), serde_json::to_value(memory)?);
    let kept = aside(async move {
        for _ in 0..10 {
            let version = book.document(SESSIONS, &key).await?.map_or(0, |document| document.version);
            if book.put(SESSIONS, &key, version, Some(body.clone())).await?.is_some() {
                return Ok(());
            }
        }
        Err(haft_store::BookError::Locked(format!("the session {key}")))
    })?;
    kept.context("the session cannot be kept")
}

/// One document of a book that several machines share.
#[derive(Clone)]
pub(crate) struct Leaf {
    book: Arc<dyn Book>,
    space: &'static str,
    key: String,
}

/// So often a document is read anew because somebody else was faster.
const TRIES: u32 = 100;

impl Leaf {
    /// The tools of servers that this user has pinned.
    pub(crate) fn pins(book: &Arc<dyn Book>) -> Leaf {
        Leaf { book: book.clone(), space: "pins", key: place::user() }
    }

    /// The rules that this user always wants.
    pub(crate) fn rules(book: &Arc<dyn Book>) -> Leaf {
        Leaf { book: book.clone(), space: "rules", key: place::user() }
    }

    /// What is written there.
    pub(crate) fn read(&self) -> io::Result<Option<Value>> {
        Ok(self.look()?.1)
    }

    fn look(&self) -> io::Result<(u64, Option<Value>)> {
        let found = aside(async { self.book.document(self.space, &self.key).await });
        let found = found.map_err(io::Error::other)??;
        Ok(found.map_or((0, None), |found| (found.version, Some(found.body))))
    }

    /// Puts something else there, made of what is there now: nobody else's change is lost. Where it is the same, or nothing,
    /// nothing is written. The server is waited for.
    pub(crate) fn change<T>(
        &self,
        mut change: impl FnMut(Option<&Value>) -> io::Result<(Option<Value>, T)>,
    ) -> io::Result<T> {
        for _ in 0..TRIES {
            let (version, before) = self.look()?;
            let (after, outcome) = change(before.as_ref())?;
            let Some(after) = after.filter(|after| before.as_ref() != Some(after)) else {
                return Ok(outcome);
            };
            let put = aside(async { self.book.put(self.space, &self.key, version, Some(after)).await });
            if put.map_err(io::Error::other)??.is_some() {
                return Ok(outcome);
            }
        }
        Err(io::Error::other(format!("others change the {} of {} all the time", self.space, self.key)))
    }
}

/// Waits for work on a thread of its own: whoever calls may be on one that must not wait.
fn aside<T: Send>(work: impl Future<Output = T> + Send) -> anyhow::Result<T> {
    let wait = || Ok(watch::runtime()?.block_on(work));
    std::thread::scope(|scope| scope.spawn(wait).join())
        .map_err(|_| anyhow::anyhow!("a thread broke down"))?
}

/// Blobs here, and in the bucket if there is one.
#[cfg(feature = "objects")]
pub(crate) fn blobs(settings: &Settings, near: FileBlobs) -> anyhow::Result<Arc<dyn Blobs>> {
    Ok(match bucket(settings)? {
        Some(bucket) => Arc::new(haft_store::blobs::ObjectBlobs::new(near, bucket)),
        None => Arc::new(near),
    })
}

/// Large results here, and in the bucket if there is one.
#[cfg(feature = "objects")]
pub(crate) fn results(settings: &Settings, near: Results) -> anyhow::Result<Kept> {
    Ok(match bucket(settings)? {
        Some(bucket) => Kept::Far(haft_store::SharedResults::new(near, bucket, complain)),
        None => Kept::Near(near),
    })
}

#[cfg(feature = "objects")]
static BUCKET: OnceLock<haft_store::blobs::Bucket> = OnceLock::new();

/// The bucket that the settings name; one for the whole command, which has one file of settings.
#[cfg(feature = "objects")]
fn bucket(settings: &Settings) -> anyhow::Result<Option<haft_store::blobs::Bucket>> {
    let Some(address) = wanted_bucket(settings)? else { return Ok(None) };
    if let Some(bucket) = BUCKET.get() {
        return Ok(Some(bucket.clone()));
    }
    let bucket = haft_store::blobs::Bucket::at(address)
        .map_err(|err| usage(format!("store.blobs, {address}: {err}")))?;
    Ok(Some(BUCKET.get_or_init(|| bucket).clone()))
}

fn wanted_bucket(settings: &Settings) -> anyhow::Result<Option<&str>> {
    match settings.store.blobs.as_deref() {
        None | Some("files") => Ok(None),
        Some(address) if address.starts_with("s3://") => Ok(Some(address)),
        Some(_) => Err(usage("store.blobs is \"files\" or an address, s3://BUCKET/PREFIX")),
    }
}

/// Waits for what is still on its way to the bucket.
pub(crate) fn settle() {
    #[cfg(feature = "objects")]
    if let Some(bucket) = BUCKET.get() {
        bucket.settle();
    }
}

#[cfg(not(feature = "objects"))]
pub(crate) fn blobs(settings: &Settings, near: FileBlobs) -> anyhow::Result<Arc<dyn Blobs>> {
    wanted_bucket(settings)?.map_or(Ok(Arc::new(near) as _), |_| Err(usage(WITHOUT)))
}

#[cfg(not(feature = "objects"))]
pub(crate) fn results(settings: &Settings, near: Results) -> anyhow::Result<Kept> {
    wanted_bucket(settings)?.map_or(Ok(Kept::Near(near)), |_| Err(usage(WITHOUT)))
}

#[cfg(not(feature = "objects"))]
const WITHOUT: &str = "this haft was built without object stores (feature `objects`)";

/// Large results, wherever they are.
#[derive(Clone)]
pub(crate) enum Kept {
    Near(Results),
    #[cfg(feature = "objects")]
    Far(haft_store::SharedResults),
}

impl Kept {
    fn store(&self) -> &dyn ResultStore {
        match self {
            Kept::Near(near) => near,
            #[cfg(feature = "objects")]
            Kept::Far(far) => far,
        }
    }

    /// Those that are here.
    pub(crate) fn near(&self) -> &Results {
        match self {
            Kept::Near(near) => near,
            #[cfg(feature = "objects")]
            Kept::Far(far) => far.near(),
        }
    }

    /// Brings what other machines kept of a session. What does not come is told, and missed only by who wants it.
    pub(crate) fn fetch(&self, session: &str) {
        match self {
            Kept::Near(_) => {}
            #[cfg(feature = "objects")]
            Kept::Far(far) => {
                if let Err(err) = far.fetch(&SessionId::from(session.to_owned())) {
                    complain(&format!("large results that other machines kept are not here: {err}"));
                }
            }
        }
    }
}

impl ResultStore for Kept {
    fn keep(
        &self,
        session: &SessionId,
        call: &CallId,
        blocks: Arc<Vec<Block>>,
    ) -> BoxFuture<'_, io::Result<PathBuf>> {
        self.store().keep(session, call, blocks)
    }

    fn handle(&self, path: &Path) -> Option<String> {
        self.store().handle(path)
    }

    fn begin(&self, session: &SessionId, call: &CallId) -> io::Result<haft_tool::Kept> {
        self.store().begin(session, call)
    }

    fn directory(&self, session: &SessionId) -> Option<PathBuf> {
        self.store().directory(session)
    }

    fn root(&self) -> Option<PathBuf> {
        self.store().root()
    }
}
