//! Books of every kind, to be tried by the same tests.

use std::{
    ops::Deref,
    sync::{Arc, Mutex},
};

use haft_engine::session::{CallKey, Digest};
use haft_store::{Book, CallFilter, Claim, Entry, Instant, MemoryBook, Outcome, PathRow, SqliteBook, Turn};
use serde_json::json;

use crate::kit::NO_LIMITS;

/// One book that several processes have in hand.
pub(crate) struct Library {
    open: Box<dyn Fn() -> Hand + Send + Sync>,
}

impl Library {
    /// The book in the hands of another process.
    pub(crate) fn open(&self) -> Hand {
        (self.open)()
    }

    /// The plainest one.
    pub(crate) fn memory() -> Option<Library> {
        let first = MemoryBook::default();
        let open = move || {
            let book = first.of_another_process();
            Hand { book: Some(Arc::new(book.clone())), die: Some(Box::new(|| book.die())) }
        };
        Some(Library { open: Box::new(open) })
    }

    /// A file.
    pub(crate) fn sqlite() -> Option<Library> {
        let directory = tempfile::tempdir().unwrap();
        let open = move || {
            let path = directory.path().join("journal.db");
            let book = SqliteBook::at(path, NO_LIMITS, |words| panic!("{words}"));
            Hand { book: Some(Arc::new(book)), die: None }
        };
        Some(Library { open: Box::new(open) })
    }

    /// A server, if there is one.
    #[cfg(feature = "postgres")]
    pub(crate) fn postgres() -> Option<Library> {
        let address = haft_testkit::Postgres::shared()?.database();
        let open = move || {
            let book = haft_store::PostgresBook::at(&address, haft_store::LEASE, NO_LIMITS).unwrap();
            Hand { book: Some(Arc::new(book)), die: None }
        };
        Some(Library { open: Box::new(open) })
    }
}

/// The book as one process has it.
pub(crate) struct Hand {
    book: Option<Arc<dyn Book>>,
    die: Option<Box<dyn FnOnce() + Send + Sync>>,
}

impl Hand {
    /// The process is gone, with what it had begun.
    pub(crate) async fn die(mut self) {
        if let Some(book) = self.book.take() {
            book.flush().await.unwrap();
        }
        if let Some(die) = self.die.take() {
            die();
        }
        // A thread may still be on its way out.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

impl Deref for Hand {
    type Target = dyn Book;
    fn deref(&self) -> &(dyn Book + 'static) {
        self.book.as_deref().expect("alive")
    }
}

/// Runs a behaviour on a book of some kind, if there is one of that kind here.
pub(crate) fn check(library: Option<Library>, behaviour: impl AsyncFn(&Library)) {
    let Some(library) = library else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(behaviour(&library));
}

/// The key of a call with an input of this number.
pub(crate) fn key(session: &str, call: &str, input: u8) -> CallKey {
    CallKey { session: session.into(), call: call.into(), digest: Digest([input; 16]), nth: 0 }
}

/// Times that rise.
pub(crate) fn tick() -> Instant {
    static LAST: Mutex<i64> = Mutex::new(1_000_000);
    let mut last = LAST.lock().unwrap();
    *last += 10;
    Instant(*last)
}

/// A call that writes a file and must not be made twice.
pub(crate) fn claim(key: &CallKey) -> Claim {
    Claim {
        key: key.clone(),
        turn: 1,
        at: tick(),
        tool: "Write".to_owned(),
        description: "writes a.txt".to_owned(),
        verdict: "allow".to_owned(),
        class: "write".to_owned(),
        repeatable: false,
        was_dropped: false,
        sealed: false,
        paths: vec![PathRow { path: "/w/a.txt".to_owned(), writes: true }],
        input: json!({ "file_path": "/w/a.txt" }),
        decision: json!([{ "rule": "Edit" }]),
        approval: None,
    }
}

/// The same, and twice is once.
pub(crate) fn repeatable(key: &CallKey) -> Claim {
    Claim { repeatable: true, class: "read_only".to_owned(), ..claim(key) }
}

/// The end of it.
pub(crate) fn finished(key: &CallKey, result: &str) -> Entry {
    Entry::Finished(Box::new(Outcome {
        key: key.clone(),
        turn: 1,
        at: tick(),
        tool: "Write".to_owned(),
        ran: true,
        duration_us: 42,
        fault: None,
        result: result.to_owned(),
    }))
}

/// The beginning of a turn.
pub(crate) fn turn(session: &str, turn: u32) -> Entry {
    Entry::Turn(Turn {
        session: session.into(),
        turn,
        at: tick(),
        workspace: "/w".to_owned(),
        mode: "default".to_owned(),
        caller: json!({ "user": "me" }),
    })
}

/// All calls.
pub(crate) fn all() -> CallFilter {
    CallFilter { most: 1000, ..CallFilter::default() }
}
