//! What happened, kept: from settings to a journal.
//!
//! Nothing is opened here: the book opens itself when the first call is about to start, on its own thread.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use haft_engine::EngineBuilder;
use haft_store::{Book, BookError, Instant, Journal, Limits, OnFailure, SqliteBook};

use crate::{
    cli::Options,
    exit::usage,
    out::complain,
    place,
    settings::{self, Settings},
};

/// How long calls are kept, and how much of them, if nobody says anything else.
const KEEP_DAYS: usize = 90;
const MAX_MB: usize = 512;

/// Where calls are recorded.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) book: Arc<dyn Book>,
    on_failure: OnFailure,
    /// Where it is, without a password.
    pub(crate) shown: String,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("on_failure", &self.on_failure).finish_non_exhaustive()
    }
}

/// The store that the settings want, if calls are recorded.
pub(crate) fn wanted(settings: &Settings, options: &Options) -> anyhow::Result<Option<Store>> {
    if options.no_journal && settings.fixed.recorded {
        return Err(usage(RECORDED));
    }
    if options.no_journal || settings.journal.enabled == Some(false) {
        return Ok(None);
    }
    // Where there is no place for it, commands that make calls say so; others need none.
    Ok(place::state().is_ok().then(|| open(settings)).transpose()?)
}

/// The store, for those who look at what is there.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<Store> {
    let on_failure = match settings.journal.on_failure {
        Some(settings::OnFailure::Refuse) => OnFailure::Refuse,
        Some(settings::OnFailure::Warn) | None => OnFailure::Warn,
    };
    let (book, shown): (Arc<dyn Book>, String) = match shared(settings)? {
        Some(address) => postgres(settings, &address)?,
        None => {
            let path = place::state()?.join("journal.db");
            let shown = format!("SQLite ({})", path.display());
            (Arc::new(SqliteBook::at(path, limits(settings), complain)), shown)
        }
    };
    Ok(Store { book, on_failure, shown })
}

/// Where an address is that is in no file.
const ADDRESS: &str = "HAFT_STORE_URL";

/// The address of the server, if calls are recorded on one. What a file says wins over the environment.
fn shared(settings: &Settings) -> anyhow::Result<Option<String>> {
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
fn postgres(settings: &Settings, address: &str) -> anyhow::Result<(Arc<dyn Book>, String)> {
    let lease = settings.store.lease_s.map_or(haft_store::LEASE, |seconds| {
        std::time::Duration::from_secs(seconds.get() as u64)
    });
    let book = haft_store::PostgresBook::at(address, lease, limits(settings)).map_err(usage)?;
    let shown = book.shown().to_owned();
    Ok((Arc::new(book), shown))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &Settings, _: &str) -> anyhow::Result<(Arc<dyn Book>, String)> {
    Err(usage("this haft was built without PostgreSQL (feature `postgres`)"))
}

fn limits(settings: &Settings) -> Limits {
    let days = settings.journal.keep_days.map_or(KEEP_DAYS, std::num::NonZeroUsize::get);
    let megabytes = settings.journal.max_mb.map_or(MAX_MB, std::num::NonZeroUsize::get);
    let age = i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(86_400_000);
    Limits {
        before: Some(Instant(Instant::now().0.saturating_sub(age))),
        max_bytes: Some((megabytes as u64).saturating_mul(1 << 20)),
    }
}

impl Store {
    /// An engine that records its calls here.
    pub(crate) fn add(&self, builder: EngineBuilder) -> EngineBuilder {
        builder.journal(Journal::new(self.book.clone(), complain).on_failure(self.on_failure))
    }

    /// Whether it can be read.
    pub(crate) async fn greet(&self) -> Result<(), BookError> {
        self.book.sessions(1).await.map(drop)
    }

    /// Waits until what was recorded would outlive this process.
    pub(crate) async fn flush(&self) {
        static TOLD: AtomicBool = AtomicBool::new(false);
        if let Err(err) = self.book.flush().await
            && !TOLD.swap(true, Ordering::Relaxed)
        {
            complain(&format!("{err}. Some of what was done is not recorded."));
        }
    }
}

const RECORDED: &str = "the managed settings want calls to be recorded (journal.enabled), and --no-journal is against it; \
take one of them away";
