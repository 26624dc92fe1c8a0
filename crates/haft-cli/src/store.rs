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
use haft_store::{Book, Instant, Journal, Limits, OnFailure, SqliteBook};

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
    let path = place::state()?.join("journal.db");
    let on_failure = match settings.journal.on_failure {
        Some(settings::OnFailure::Refuse) => OnFailure::Refuse,
        Some(settings::OnFailure::Warn) | None => OnFailure::Warn,
    };
    let book = SqliteBook::at(path, limits(settings), complain);
    Ok(Store { book: Arc::new(book), on_failure })
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
