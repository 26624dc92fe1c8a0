//! What happened, kept: from settings to a journal.
//!
//! Nothing is opened here: the book opens itself when the first call is about to start, on its own thread.

use std::{
    collections::BTreeSet,
    fmt,
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use haft_engine::EngineBuilder;
use haft_store::{
    Book, BookError, Journal, OnFailure, Retention, SqliteBook,
    blobs::FileBlobs,
    images::{StoredImages, UndoOptions},
    results::{ResultLimits, Results},
};

use crate::{
    cli::Options,
    exit::usage,
    far,
    out::complain,
    place,
    settings::{self, Settings},
};

/// How long calls are kept, and how much of them, if nobody says anything else.
const KEEP: Duration = Duration::from_secs(90 * 86_400);
const MAX_MB: usize = 512;

/// Where calls are recorded.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) book: Arc<dyn Book>,
    on_failure: OnFailure,
    /// Where it is, without a password.
    pub(crate) shown: String,
    /// Whether other machines use it, too.
    is_far: bool,
    /// What calls change, if that is kept.
    pub(crate) images: Option<StoredImages>,
    tell: Tell,
    /// How long calls are kept.
    pub(crate) keep: Duration,
}

/// Tells the person what is wrong with the journal.
type Tell = Arc<dyn Fn(&str) + Send + Sync>;

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
    place::state().is_ok().then(|| open(settings)).transpose()
}

/// The store, for those who look at what is there.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<Store> {
    let on_failure = on_failure(settings.journal.on_failure).unwrap_or(OnFailure::Warn);
    let far = far::book(settings, retention(settings))?;
    let is_far = far.is_some();
    let tell = once_each();
    let (book, shown) = far.map_or_else(|| near(settings, tell.clone()), Ok)?;
    let images = settings.undo.enabled.unwrap_or(true).then(|| images(settings, &book)).transpose()?;
    let keep = retention(settings).age.unwrap_or(Duration::MAX);
    Ok(Store { book, on_failure, shown, is_far, images, tell, keep })
}

/// The book of this machine.
fn near(settings: &Settings, tell: Tell) -> anyhow::Result<(Arc<dyn Book>, String)> {
    let path = place::state()?.join("journal.db");
    let shown = format!("SQLite ({})", path.display());
    Ok((Arc::new(SqliteBook::at(path, retention(settings), move |words| tell(words))), shown))
}

fn on_failure(set: Option<settings::OnFailure>) -> Option<OnFailure> {
    set.map(|set| match set {
        settings::OnFailure::Refuse => OnFailure::Refuse,
        settings::OnFailure::Warn => OnFailure::Warn,
    })
}

/// What calls change, beside the journal.
fn images(settings: &Settings, book: &Arc<dyn Book>) -> anyhow::Result<StoredImages> {
    let state = place::state()?;
    let blobs = far::blobs(settings, FileBlobs::new(state.join("undo/blobs")))?;
    // The state may be reached through links; what is walked through is not.
    let usual = UndoOptions::at(haft_engine::session::locate(&state).unwrap_or(state));
    let set = settings.undo;
    let options = UndoOptions {
        max_file: megabytes(set.max_file_mb).unwrap_or(usual.max_file),
        max_total: megabytes(set.max_total_mb).unwrap_or(usual.max_total),
        keep: days(set.keep_days).unwrap_or(usual.keep),
        on_failure: on_failure(set.on_failure).unwrap_or(usual.on_failure),
        on_unrecorded: on_failure(settings.journal.on_failure).unwrap_or(usual.on_unrecorded),
        shell: set.shell.unwrap_or(usual.shell),
        ignored: set.ignored.unwrap_or(usual.ignored),
        most_files: set.max_files.map_or(usual.most_files, NonZeroUsize::get),
        ..usual
    };
    Ok(StoredImages::new(book.clone(), blobs, options))
}

/// Where large results go.
pub(crate) fn results(settings: &Settings) -> anyhow::Result<far::Kept> {
    let (usual, set) = (ResultLimits::default(), settings.results);
    let limits = ResultLimits {
        keep: days(set.keep_days).unwrap_or(usual.keep),
        most_bytes: megabytes(set.max_mb).unwrap_or(usual.most_bytes),
    };
    far::results(settings, Results::at(place::state()?.join("results"), limits))
}

fn megabytes(set: Option<NonZeroUsize>) -> Option<u64> {
    set.map(|figure| (figure.get() as u64).saturating_mul(1 << 20))
}

fn days(set: Option<NonZeroUsize>) -> Option<Duration> {
    set.map(|figure| Duration::from_secs((figure.get() as u64).saturating_mul(86_400)))
}

/// A trouble meets many: each first sentence is said once.
fn once_each() -> Tell {
    let said: Mutex<BTreeSet<String>> = Mutex::default();
    Arc::new(move |words| {
        let trouble = words.split(". ").next().unwrap_or(words).to_owned();
        if said.lock().unwrap_or_else(PoisonError::into_inner).insert(trouble) {
            complain(words);
        }
    })
}

fn retention(settings: &Settings) -> Retention {
    let megabytes = settings.journal.max_mb.map_or(MAX_MB, NonZeroUsize::get);
    Retention {
        age: days(settings.journal.keep_days).or(Some(KEEP)),
        max_bytes: Some((megabytes as u64).saturating_mul(1 << 20)),
        ..Retention::default()
    }
}

impl Store {
    /// An engine that records its calls here.
    pub(crate) fn add(&self, builder: EngineBuilder) -> EngineBuilder {
        let tell = self.tell.clone();
        let journal = Journal::new(self.book.clone(), move |words| tell(words)).on_failure(self.on_failure);
        match &self.images {
            Some(images) => {
                builder.journal(journal.inspector(Arc::new(images.clone()))).images(images.clone())
            }
            None => builder.journal(journal),
        }
    }

    /// The book, if what sessions know belongs there, too: where others use it.
    pub(crate) fn shared_book(&self) -> Option<&Arc<dyn Book>> {
        self.is_far.then_some(&self.book)
    }

    /// Whether other machines use it, too.
    pub(crate) fn is_far(&self) -> bool {
        self.is_far
    }

    /// Whether it can be read.
    pub(crate) async fn greet(&self) -> Result<(), BookError> {
        self.book.sessions(1).await.map(drop)
    }

    /// Waits until what was recorded would outlive this process.
    pub(crate) async fn flush(&self) {
        if let Err(err) = self.book.flush().await {
            (self.tell)(&format!("{err}. Some of what was done is not recorded."));
        }
    }
}

const RECORDED: &str = "the managed settings want calls to be recorded (journal.enabled), and --no-journal is against it; \
take one of them away";
