//! What a backend must do.
//!
//! A [`Book`] knows rows and nothing of engines, so that every backend keeps the same promises and is tested by the same
//! tests (`tests/it`). What must hold:
//!
//! - entries are written in the order in which they were given, and all of a batch or nothing;
//! - of two who claim one key, one gets it: the other is told what became of it, or who has it;
//! - a call whose owner is gone is found as [`CallState::CutOff`], without anybody telling so;
//! - a finished call stays finished, whoever says what about it later.

use std::{io, path::PathBuf, time::Duration};

use haft_engine::session::{CallKey, CallState, PastCall};
use haft_tool::{BoxFuture, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::{AnyRow, CallNo, CallRow, Claim, Entry, EventKind, EventRow, Instant, SessionRow};

/// Keeps rows.
pub trait Book: Send + Sync {
    /// Writes entries, in this order. Returns when they are as durable as asked for; [`Durability::Queued`] waits only
    /// while too much is queued already.
    fn append(&self, entries: Vec<Entry>, durability: Durability) -> BoxFuture<'_, Result<(), BookError>>;

    /// Claims a call for this process, durably: for the end of power, or for the end of the process if it is
    /// [`sealed`](Claim::sealed). Whoever gets [`Claimed::Yours`] is the only one.
    fn claim(&self, claim: Claim) -> BoxFuture<'_, Result<Claimed, BookError>>;

    /// The latest calls of a session, the latest last, at most so many.
    fn past<'a>(
        &'a self,
        session: &'a SessionId,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<PastCall>, BookError>>;

    /// The stored result of a call that has finished, or that was refused: what the model was told.
    fn result<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, Result<Option<String>, BookError>>;

    /// Calls that fit, the latest first.
    fn calls(&self, filter: CallFilter) -> BoxFuture<'_, Result<Vec<CallRow>, BookError>>;

    /// Events that fit, in the order in which they happened.
    fn events(&self, filter: EventFilter) -> BoxFuture<'_, Result<Vec<EventRow>, BookError>>;

    /// Sessions, the one in which something happened last first, at most so many.
    fn sessions(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionRow>, BookError>>;

    /// All that is kept, for whoever reads all of it, a page at a time: sessions, then turns, then events that belong to no call,
    /// then calls with all of theirs, the earliest of each first. So a row comes after those that it speaks of. `from` is where
    /// the page before ended, `None` for the first. What is written after the first page was read need not be found.
    ///
    /// Session and times of the filter hold for all of it; one that asks for more asks for calls, and finds nothing else.
    /// `most` is for a page (one at least), which is shorter where rows are large, and may be empty before the last.
    fn page(&self, filter: CallFilter, from: Option<Bookmark>) -> BoxFuture<'_, Result<Page, BookError>>;

    /// A document: read-state, approvals, pins, tasks. `space` says whose, `key` which.
    fn document<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
    ) -> BoxFuture<'a, Result<Option<Document>, BookError>>;

    /// Puts a document in the place of the one that has `version` (0: of none), durably. Gives the new version, or `None`
    /// if somebody was faster. `body` `None` takes it away.
    fn put<'a>(
        &'a self,
        space: &'a str,
        key: &'a str,
        version: u64,
        body: Option<Value>,
    ) -> BoxFuture<'a, Result<Option<u64>, BookError>>;

    /// Forgets what is older or more than it may be. Calls that run stay.
    fn prune(&self, limits: Limits) -> BoxFuture<'_, Result<Pruned, BookError>>;

    /// Returns when all that was appended before would outlive the process.
    fn flush(&self) -> BoxFuture<'_, Result<(), BookError>> {
        self.append(Vec::new(), Durability::Process)
    }
}

/// What must survive for an entry to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing yet: it is written soon.
    Queued,
    /// The end of this process, however it comes, and of the server that keeps it, where there is one.
    Process,
    /// The end of power.
    Power,
}

/// What became of a claim.
#[derive(Debug, Clone, PartialEq)]
pub enum Claimed {
    /// It is this process's. Also where it was cut off before and may be repeated, and where it was only refused.
    Yours,
    /// It has finished; this is the stored result.
    Finished(String),
    /// It was cut off and must not be repeated. It is this process's now, to say so.
    CutOff,
    /// Somebody else has it.
    Busy(String),
}

/// Which calls. Everything that is given must fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CallFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of this turn of it.
    pub turn: Option<u32>,
    /// With this id.
    pub call: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// With this verdict: `allow`, `ask`, `deny`.
    pub verdict: Option<String>,
    /// That came this far.
    pub state: Option<CallState>,
    /// That touched this: a path with all below it, or a pattern with `*` and `?`.
    pub path: Option<String>,
    /// That began at this time or later,
    pub since: Option<Instant>,
    /// or before this one.
    pub until: Option<Instant>,
    /// With a larger number than this one, the earliest first: for whoever follows.
    pub after: Option<CallNo>,
    /// With a smaller number than this one: for whoever pages.
    pub before: Option<CallNo>,
    /// At most so many: the latest by their numbers. A server may take the latest by their times where a time is given, which is
    /// something else only if clocks have jumped.
    pub most: usize,
}

impl CallFilter {
    /// Whether it asks for what only calls have.
    pub(crate) fn is_of_calls(&self) -> bool {
        self.turn.is_some()
            || self.call.is_some()
            || self.tool.is_some()
            || self.verdict.is_some()
            || self.state.is_some()
            || self.path.is_some()
    }

    /// Whether it asks for a time in which this is.
    pub(crate) fn is_then(&self, at: Instant) -> bool {
        self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|until| at < until)
    }
}

/// A part of all that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// What was found.
    pub rows: Vec<AnyRow>,
    /// Where the next page begins; `None` if this was the last.
    pub next: Option<Bookmark>,
}

/// How far somebody came who reads all that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    pub(crate) part: Part,
    /// Behind this row of the part, in the order that its book has.
    pub(crate) name: String,
    pub(crate) numbers: [i64; 2],
    /// The last event and the last call when the reader began: what comes later may speak of sessions that it has not seen.
    pub(crate) last: [i64; 2],
}

/// What is read, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Sessions,
    Turns,
    Events,
    Calls,
}

impl Bookmark {
    /// Before all that a filter asks for.
    pub(crate) fn first(filter: &CallFilter, last: [i64; 2]) -> Bookmark {
        let part = if filter.is_of_calls() { Part::Calls } else { Part::Sessions };
        Bookmark::before(part, last)
    }

    fn before(part: Part, last: [i64; 2]) -> Bookmark {
        // Before the first of anything: numbers of rows begin at 1, those of turns at 0.
        Bookmark { part, name: String::new(), numbers: [0, -1], last }
    }

    /// Behind a row of the same part.
    pub(crate) fn behind(&self, name: &str, numbers: [i64; 2]) -> Bookmark {
        Bookmark { part: self.part, name: name.to_owned(), numbers, last: self.last }
    }

    /// Before the part that comes after this one.
    pub(crate) fn next_part(&self) -> Option<Bookmark> {
        let next = match self.part {
            Part::Sessions => Part::Turns,
            Part::Turns => Part::Events,
            Part::Events => Part::Calls,
            Part::Calls => return None,
        };
        Some(Bookmark::before(next, self.last))
    }
}

/// Which events. Everything that is given must fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventFilter {
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of this turn of it.
    pub turn: Option<u32>,
    /// Of this call.
    pub key: Option<CallKey>,
    /// Of these kinds; all if there are none.
    pub kinds: Vec<EventKind>,
    /// So many at most, the first.
    pub most: Option<usize>,
}

/// A document and its version, which every change raises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Its version, from 1 on.
    pub version: u64,
    /// What it says.
    pub body: Value,
}

/// How much is kept, for as long as a book is used: an age, because a process may live for months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Nothing that is older than this.
    pub age: Option<Duration>,
    /// No more bytes than this, the oldest sessions first.
    pub max_bytes: Option<u64>,
    /// How often it is asked whether a day has passed since something was last forgotten.
    pub every: Duration,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { age: None, max_bytes: None, every: Duration::from_secs(3600) }
    }
}

impl Retention {
    /// What that means now.
    pub fn now(&self) -> Limits {
        let before = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let before = self.age.map(|age| Instant(Instant::now().0.saturating_sub(before(age))));
        Limits { before, max_bytes: self.max_bytes }
    }
}

/// How much is kept when something is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Nothing that is older than this.
    pub before: Option<Instant>,
    /// No more bytes than this, the oldest sessions first.
    pub max_bytes: Option<u64>,
}

/// What was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// So many calls.
    pub calls: u64,
    /// So many sessions, with all that was in them.
    pub sessions: u64,
}

/// Why a book could not be read or written. What to do is in the words.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BookError {
    /// There is no room left.
    #[error("{0} cannot be written: there is no room left")]
    Full(String),
    /// It may not be written.
    #[error("{0} cannot be written: {1}")]
    ReadOnly(String, String),
    /// It is not what was written.
    #[error(
        "{0} is damaged: {1}. The next call that is recorded puts it aside as {0}.corrupt-DATE and begins a new one; `sqlite3 {0} .recover` may still get something out of it"
    )]
    Corrupt(String, String),
    /// Somebody else holds it, for longer than one waits.
    #[error("{0} is held by another process; what waits is not lost, try again")]
    Locked(String),
    /// A later version wrote it.
    #[error(
        "{path} was written by a later version of haft (its format is {found}, this one knows {known}); use that version, or another state directory"
    )]
    Newer {
        /// Where it is.
        path: String,
        /// Its version.
        found: i64,
        /// The latest known.
        known: i64,
    },
    /// Anything else.
    #[error("the journal cannot be used: {0}")]
    Other(String),
}

impl From<BookError> for io::Error {
    fn from(err: BookError) -> io::Error {
        let kind = match &err {
            BookError::Full(_) => io::ErrorKind::StorageFull,
            BookError::ReadOnly(..) => io::ErrorKind::ReadOnlyFilesystem,
            BookError::Corrupt(..) => io::ErrorKind::InvalidData,
            BookError::Locked(_) => io::ErrorKind::WouldBlock,
            BookError::Newer { .. } => io::ErrorKind::Unsupported,
            BookError::Other(_) => io::ErrorKind::Other,
        };
        io::Error::new(kind, err)
    }
}

impl BookError {
    /// Something that went wrong at a path.
    pub fn at(path: &std::path::Path, err: &io::Error) -> BookError {
        let shown = path.display().to_string();
        match err.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                BookError::Full(shown)
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                BookError::ReadOnly(shown, err.to_string())
            }
            _ => BookError::Other(format!("{}: {err}", PathBuf::from(shown).display())),
        }
    }
}

/// Whether a path is meant by what somebody wrote: itself or something above it, or a pattern.
pub(crate) fn path_fits(wanted: &str, path: &str) -> bool {
    match is_pattern(wanted) {
        true => glob_fits(wanted.as_bytes(), path.as_bytes()),
        false => path
            .strip_prefix(wanted.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

/// Whether it has `*` or `?` in it.
pub(crate) fn is_pattern(wanted: &str) -> bool {
    wanted.contains(['*', '?'])
}

/// `*` is anything, `/` included; `?` is one byte. In time that grows with both lengths, whatever the pattern is.
fn glob_fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut seen, mut star) = (0, 0, None);
    while seen < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(one) if *one == b'?' || *one == text[seen] => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((behind, from)) => {
                    star = Some((behind, from + 1));
                    (at, seen) = (behind + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|one| *one == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_meant_by_itself_by_what_is_above_it_and_by_patterns() {
        for (wanted, path, fits) in [
            ("/w/a", "/w/a", true),
            ("/w", "/w/a", true),
            ("/w/", "/w/a", true),
            ("/", "/w/a", true),
            ("/w/a", "/w/ab", false),
            ("/w/*.rs", "/w/src/a.rs", true),
            ("*.rs", "/w/src/a.rs", true),
            ("/w/?", "/w/a", true),
            ("/w/?", "/w/ab", false),
            ("*a*b*c", "/a/b/c", true),
            ("*a*b*c", "/a/c/b", false),
        ] {
            assert_eq!(path_fits(wanted, path), fits, "{wanted} {path}");
        }
    }
}
