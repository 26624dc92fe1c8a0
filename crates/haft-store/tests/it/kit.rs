//! Rows and books to test with.

use std::{path::Path, sync::Arc, time::Duration};

use haft_engine::session::{CallKey, Digest};
use haft_store::{Book, Claim, Entry, Instant, MemoryBook, Outcome, PathRow, Retention, SqliteBook, Turn};
use serde_json::{Value, json};

/// Nothing is forgotten.
pub(crate) const NO_LIMITS: Retention =
    Retention { age: None, max_bytes: None, every: Duration::from_secs(3600) };

pub(crate) fn sqlite(directory: &Path) -> SqliteBook {
    SqliteBook::at(directory.join("journal.db"), NO_LIMITS, |words| panic!("{words}"))
}

/// Two processes that share a book.
pub(crate) struct Pair {
    pub(crate) one: Arc<dyn Book>,
    pub(crate) other: Arc<dyn Book>,
    _directory: Option<tempfile::TempDir>,
}

/// A pair for each kind of book.
pub(crate) fn every_book() -> Vec<Pair> {
    let memory = MemoryBook::default();
    let directory = tempfile::tempdir().unwrap();
    let (one, other) = (sqlite(directory.path()), sqlite(directory.path()));
    let mut pairs = vec![
        Pair { other: Arc::new(memory.of_another_process()), one: Arc::new(memory), _directory: None },
        Pair { one: Arc::new(one), other: Arc::new(other), _directory: Some(directory) },
    ];
    pairs.extend(postgres());
    pairs
}

/// Where there is a server.
#[cfg(feature = "postgres")]
fn postgres() -> Option<Pair> {
    let address = haft_testkit::Postgres::shared()?.database();
    let open = || Arc::new(haft_store::PostgresBook::at(&address, haft_store::LEASE, NO_LIMITS).unwrap());
    Some(Pair { one: open(), other: open(), _directory: None })
}

#[cfg(not(feature = "postgres"))]
fn postgres() -> Option<Pair> {
    None
}

pub(crate) fn key(session: &str, call: &str) -> CallKey {
    CallKey { session: session.into(), call: call.into(), digest: Digest([7; 16]), nth: 0 }
}

pub(crate) fn claim(key: &CallKey) -> Claim {
    Claim {
        key: key.clone(),
        turn: 1,
        at: Instant(1_000),
        tool: "Write".to_owned(),
        description: "Write a".to_owned(),
        verdict: "allow".to_owned(),
        class: "write".to_owned(),
        repeatable: false,
        was_dropped: false,
        sealed: false,
        paths: vec![PathRow { path: "/w/a".to_owned(), writes: true }],
        input: json!({ "file_path": "/w/a" }),
        decision: json!({ "verdict": "allow" }),
        approval: None,
    }
}

pub(crate) fn outcome(key: &CallKey, result: &str) -> Entry {
    Entry::Finished(Box::new(Outcome {
        key: key.clone(),
        turn: 1,
        at: Instant(2_000),
        tool: "Write".to_owned(),
        ran: true,
        duration_us: 5,
        fault: None,
        result: result.to_owned(),
    }))
}

pub(crate) fn turn(session: &str, turn: u32) -> Entry {
    Entry::Turn(Turn {
        session: session.into(),
        turn,
        at: Instant(500),
        workspace: "/w".to_owned(),
        mode: "default".to_owned(),
        caller: Value::Null,
    })
}
