//! What files were before calls changed them, and how that is taken back.
//!
//! A change through haft's own tools says beforehand what it replaces (`album`). What processes change is found by
//! looking before and after (`watch`). Both become images: events of the call in the [`Book`], and bytes in [`Blobs`].
//! Undo reads them back in their order (`chain`), says what it would do (`plan`) and does it (`undo`) by the engine's
//! own way of changing files. Not here: what a person sees and answers.

mod image; //    what was at a path, and what came after it
mod album; //    the images of a change that is about to be made
mod index; //    what lies below a root
mod scan; //     a look at it
mod compare; //  what happened between two looks
mod marker; //   a watch that is open, for the next start
mod watch; //    from one look to the next
mod chain; //    which images stand
mod plan; //     what taking back would do
mod undo; //     doing it
mod evidence; // what can be seen of a call that was cut off
mod keep; //     how long all of this is kept

pub use image::{Changed, Image, Was};
pub use plan::{Plan, Planned, Standing};
pub use undo::{Target, UndoError, Undone};

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    io,
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Duration,
};

use haft_engine::session::{Album, CallKey, Doer, Images, Watch};
use haft_tool::{SessionId, shown};

use self::{album::Keeping, index::Index, watch::Lasting};
use crate::{
    blobs::{Blobs, Hash},
    book::{Book, BookError, Durability},
    journal::OnFailure,
    record::{Entry, EventKind, EventRow, Instant},
};

/// What is kept for undo, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoOptions {
    /// haft's own directory: what happens in there is nobody's work.
    pub own: PathBuf,
    /// Larger files are not kept.
    pub max_file: u64,
    /// So much is kept of all files together, as it is stored.
    pub max_total: u64,
    /// So long.
    pub keep: Duration,
    /// What becomes of a change whose image cannot be kept.
    pub on_failure: OnFailure,
    /// What becomes of one that cannot be written down, although what is there is kept: what becomes of every call then.
    pub on_unrecorded: OnFailure,
    /// Whether it is also found out what processes change.
    pub shell: bool,
    /// Whether that includes what ignore files leave out.
    pub ignored: bool,
    /// A root with more in it is not watched.
    pub most_files: usize,
    /// So much is read before a command.
    pub most_read: u64,
    /// So long. What is not read in time is read before the next one.
    pub patience: Duration,
}

impl UndoOptions {
    /// The usual, with haft's own directory.
    pub fn at(own: impl Into<PathBuf>) -> UndoOptions {
        UndoOptions {
            own: own.into(),
            max_file: 64 << 20,
            max_total: 2 << 30,
            keep: Duration::from_secs(30 * 24 * 3600),
            on_failure: OnFailure::Refuse,
            on_unrecorded: OnFailure::Warn,
            shell: true,
            ignored: false,
            most_files: 100_000,
            most_read: 512 << 20,
            patience: Duration::from_secs(5),
        }
    }

    fn place(&self) -> PathBuf {
        self.own.join("undo")
    }
}

/// Keeps images in a book and in blobs. Clones are the same.
#[derive(Clone)]
pub struct StoredImages(Arc<Shared>);

struct Shared {
    book: Arc<dyn Book>,
    blobs: Arc<dyn Blobs>,
    options: UndoOptions,
    room: Mutex<Room>,
}

/// What is known in this process.
#[derive(Default)]
struct Room {
    /// The last look at each root.
    roots: HashMap<PathBuf, Arc<Index>>,
    /// The roots with too much in them: nobody looks at them again.
    too_large: HashSet<PathBuf>,
    /// How many watches are open.
    open: usize,
    /// What was changed through albums while watches are open: it is nobody else's work.
    sealed: HashMap<PathBuf, Was>,
    /// Watches of calls whose tasks go on.
    lasting: Vec<Lasting>,
    /// What results must say.
    notes: HashMap<CallKey, Vec<String>>,
    /// Calls that run and are not in the journal.
    unrecorded: HashSet<CallKey>,
}

impl StoredImages {
    /// Images in this book and these blobs.
    pub fn new(book: Arc<dyn Book>, blobs: Arc<dyn Blobs>, options: UndoOptions) -> StoredImages {
        StoredImages(Arc::new(Shared { book, blobs, options, room: Mutex::default() }))
    }
}

impl StoredImages {
    /// What a file held, if it is kept and no larger than this.
    ///
    /// # Errors
    /// It is kept and cannot be read.
    pub fn content(&self, was: &Was, most: u64) -> io::Result<Option<Vec<u8>>> {
        was.content(&*self.0.blobs, most)
    }
}

impl Images for StoredImages {
    fn begin<'a>(&'a self, doer: &'a Doer) -> Box<dyn Album + 'a> {
        Box::new(Keeping::new(&self.0, doer))
    }

    fn watch(&self, doer: &Doer, roots: &[PathBuf]) -> io::Result<Box<dyn Watch>> {
        self.prune_when_due();
        watch::begin(&self.0, doer, roots)
    }

    fn notes(&self, key: &CallKey) -> Vec<String> {
        let mut room = self.0.room();
        room.unrecorded.remove(key);
        room.notes.remove(key).unwrap_or_default()
    }

    fn end(&self, session: &SessionId) {
        watch::end(&self.0, session);
    }
}

impl Shared {
    fn room(&self) -> MutexGuard<'_, Room> {
        // Nothing is left half done in here.
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what a call changed.
    fn record(&self, doer: &Doer, changed: &Changed, durability: Durability) -> io::Result<()> {
        wait(self.book.append(events(doer, changed)?, durability))
    }

    fn note(&self, key: &CallKey, words: String) {
        let mut room = self.room();
        // A result that nobody asks for must not be remembered forever.
        if room.notes.len() < MOST_NOTES {
            room.notes.entry(key.clone()).or_default().push(words);
        }
    }

    /// What to do about an image that cannot be kept: no change, or a loud one. Of a call that nobody finds again nothing can
    /// be taken back in any case, and that was decided when it began.
    fn failed(&self, doer: &Doer, err: io::Error) -> io::Result<String> {
        if self.room().unrecorded.contains(&doer.key) {
            return self.failed_by(self.options.on_unrecorded, doer, err);
        }
        let way_out = |err: io::Error| {
            let words = format!("{err}. With `undo.on_failure = \"warn\"` it is done without undo");
            io::Error::new(err.kind(), words)
        };
        self.failed_by(self.options.on_failure, doer, err).map_err(way_out)
    }

    /// The same where the journal does not take it: that is decided with the journal.
    fn unrecorded(&self, doer: &Doer, err: io::Error) -> io::Result<()> {
        self.failed_by(self.options.on_unrecorded, doer, err).map(drop)
    }

    fn failed_by(&self, decided: OnFailure, doer: &Doer, err: io::Error) -> io::Result<String> {
        match decided {
            OnFailure::Refuse => Err(err),
            OnFailure::Warn => {
                let words = format!("this cannot be taken back: what was there could not be kept: {err}");
                self.note(&doer.key, words.clone());
                Ok(words)
            }
        }
    }
}

/// So many images at most are in one event.
const MOST_IMAGES: usize = 500;

const MOST_NOTES: usize = 1_000;

/// So many calls at most are known to run unrecorded.
const MOST_UNRECORDED: usize = 10_000;

/// What a call changed, as it is written down. Many images become several events.
fn events(doer: &Doer, changed: &Changed) -> io::Result<Vec<Entry>> {
    let parts = changed.images.chunks(MOST_IMAGES);
    let parts: Vec<&[Image]> = if changed.images.is_empty() { vec![&[]] } else { parts.collect() };
    let mut entries = Vec::with_capacity(parts.len());
    for (at, images) in parts.into_iter().enumerate() {
        let mut part = changed.without_images();
        part.images = images.to_vec();
        part.workspace = shown(&doer.workspace).to_string();
        if at == 0 {
            part.left_out.clone_from(&changed.left_out);
            part.settled.clone_from(&changed.settled);
        }
        entries.push(Entry::Event(event(doer, EventKind::IMAGE, serde_json::to_value(part)?)));
    }
    Ok(entries)
}

fn event(doer: &Doer, kind: EventKind, body: serde_json::Value) -> EventRow {
    EventRow {
        session: doer.key.session.clone(),
        key: Some(doer.key.clone()),
        turn: doer.turn,
        at: Instant::now(),
        kind,
        body,
    }
}

/// Waits for a book, where blocking is fine. A runtime does not let itself be waited for from its own threads, so there the
/// thread sleeps by itself until it is woken.
fn wait<T>(work: impl Future<Output = Result<T, BookError>>) -> io::Result<T> {
    if tokio::runtime::Handle::try_current().is_ok() {
        return Ok(asleep_until(work)?);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(work)?)
}

/// Whom a waker wakes.
struct Sleeper(Thread);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn asleep_until<T>(work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let waker = Waker::from(Arc::new(Sleeper(thread::current())));
    loop {
        match work.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(answer) => return answer,
            // Woken before it sleeps, it does not sleep.
            Poll::Pending => thread::park(),
        }
    }
}

/// Where things about a root are.
fn directory_of(place: &Path, root: &Path) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    place.join("roots").join(&Hash::of(root.as_os_str().as_bytes()).to_string()[..32])
}
