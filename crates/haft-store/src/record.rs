//! What a row holds: owned, and the same for every backend.
//!
//! A call is one row with its paths beside it; everything else about it is an event, a kind and a JSON body. Whoever keeps
//! something new about calls adds a kind, not a column.

use std::{fmt, time::SystemTime};

use haft_engine::session::{CallKey, CallState};
use haft_tool::{CallId, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The place of a call in its book: later ones are larger, whatever the clock says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallNo(pub i64);

/// Milliseconds since 1970, as the clock of the machine had it. For people; order is in [`CallNo`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(pub i64);

impl Instant {
    /// What the clock says.
    pub fn now() -> Instant {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Instant(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Its day as `2026-11-16`, at Greenwich.
    pub fn day(self) -> String {
        // Years that begin in March end with the leap day, so that every month begins at a fixed day of its year.
        let days = self.0.div_euclid(86_400_000) + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
        format!("{:04}-{month:02}-{day:02}", era * 400 + year + carry)
    }
}

/// Something to write down.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// A turn begins, and with the first one its session.
    Turn(Turn),
    /// A call that needs nobody's leave begins: it changes nothing, or the journal is kept although it fails.
    Started(Box<Claim>),
    /// A call was refused.
    Refused(Box<Claim>),
    /// A call has its result.
    Finished(Box<Outcome>),
    /// What a call turned out to have changed: found by looking, and in no effect that was foreseen.
    Touched {
        /// Which call.
        key: CallKey,
        /// What.
        paths: Vec<PathRow>,
    },
    /// Anything else.
    Event(EventRow),
    /// A turn has ended: every call of it has its result.
    TurnEnded {
        /// Of which session.
        session: SessionId,
        /// Which, counted from 1.
        turn: u32,
        /// When.
        at: Instant,
    },
}

impl Entry {
    /// Whether it is the end of a call.
    pub(crate) fn ends_a_call(&self) -> bool {
        matches!(self, Entry::Finished(_))
    }
}

/// A turn of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Of which session.
    pub session: SessionId,
    /// Which, counted from 1.
    pub turn: u32,
    /// When.
    pub at: Instant,
    /// The session's workspace.
    pub workspace: String,
    /// The mode.
    pub mode: String,
    /// Who is behind it, as JSON.
    pub caller: Value,
}

/// A call that is about to start, or may not.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Which.
    pub key: CallKey,
    /// In which turn.
    pub turn: u32,
    /// When.
    pub at: Instant,
    /// The tool's name in the pool.
    pub tool: String,
    /// One line for a person.
    pub description: String,
    /// What the policy said: `allow`, `ask`, `deny`.
    pub verdict: String,
    /// `read_only`, `write`, `destructive`.
    pub class: String,
    /// Whether it may be run again after it was cut off.
    pub repeatable: bool,
    /// Whether it began in this process and was dropped: it is cut off, although its owner lives.
    pub was_dropped: bool,
    /// Whether what it changes is written down in the same book, for good, before it is changed. Then the claim need only
    /// outlive the process: what comes later takes it along.
    pub sealed: bool,
    /// What it is going to touch.
    pub paths: Vec<PathRow>,
    /// Its input, without secrets. A huge one is left out, and says so.
    pub input: Value,
    /// Why it may or may not: the decision's trace.
    pub decision: Value,
    /// Who was asked besides the rules, and what they said.
    pub approval: Option<Value>,
}

/// A path that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRow {
    /// The real path, as it is shown.
    pub path: String,
    /// Whether it is changed.
    pub writes: bool,
}

/// A call that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Which.
    pub key: CallKey,
    /// In which turn.
    pub turn: u32,
    /// When.
    pub at: Instant,
    /// The tool, as the model wrote it: a call that never started has no row yet.
    pub tool: String,
    /// Whether it was started.
    pub ran: bool,
    /// How long it ran.
    pub duration_us: u64,
    /// The kind of its fault, if it has one.
    pub fault: Option<String>,
    /// The whole of it, for whoever sends the call again: [`store`](crate::store).
    pub result: String,
}

/// A call, as it is found again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRow {
    /// Its place in the book.
    pub no: CallNo,
    /// In which session.
    pub session: SessionId,
    /// The id that the model gave it.
    pub call: CallId,
    /// The rest of what it is known by.
    #[serde(skip)]
    pub key: CallKey,
    /// In which turn.
    pub turn: u32,
    /// The tool.
    pub tool: String,
    /// One line for a person.
    pub description: String,
    /// What the policy said, if it was asked.
    pub verdict: Option<String>,
    /// `read_only`, `write`, `destructive`, if that was known.
    pub class: Option<String>,
    /// How far it came.
    pub state: CallState,
    /// The kind of its fault, if it has one.
    pub fault: Option<String>,
    /// When it began, or was refused.
    pub at: Instant,
    /// How long it ran, by a clock that does not jump.
    pub duration_us: Option<u64>,
    /// Whether it may be run again after it was cut off.
    pub repeatable: bool,
    /// Who runs it, or ran it.
    pub owner: Option<String>,
    /// What it touches.
    pub paths: Vec<PathRow>,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventKind(pub std::borrow::Cow<'static, str>);

impl EventKind {
    /// A call's input.
    pub const INPUT: EventKind = EventKind::of("input");
    /// A decision's trace.
    pub const DECISION: EventKind = EventKind::of("decision");
    /// Another attempt.
    pub const RETRY: EventKind = EventKind::of("retry");
    /// A result that was too large.
    pub const SPILL: EventKind = EventKind::of("spill");
    /// Somebody was asked.
    pub const APPROVAL: EventKind = EventKind::of("approval");
    /// A running call asked for more than it declared.
    pub const PERMISSION: EventKind = EventKind::of("permission");
    /// Its processes ran outside of the sandbox.
    pub const UNSANDBOXED: EventKind = EventKind::of("unsandboxed");
    /// A hook spoke.
    pub const HOOK: EventKind = EventKind::of("hook");
    /// It was answered from the book.
    pub const RECALLED: EventKind = EventKind::of("recalled");
    /// It could not be recorded when it happened.
    pub const UNRECORDED: EventKind = EventKind::of("unrecorded");
    /// Its session is that of a sub-agent.
    pub const DELEGATED: EventKind = EventKind::of("delegated");
    /// What a path held before and after.
    pub const IMAGE: EventKind = EventKind::of("image");
    /// Something was said in the session's conversation.
    pub const SAID: EventKind = EventKind::of("said");
    /// Something of what it changed was taken back.
    pub const UNDONE: EventKind = EventKind::of("undone");
    /// That was made again.
    pub const REDONE: EventKind = EventKind::of("redone");

    const fn of(name: &'static str) -> EventKind {
        EventKind(std::borrow::Cow::Borrowed(name))
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventRow {
    /// In which session.
    pub session: SessionId,
    /// To which call; `None`: to the session.
    #[serde(skip)]
    pub key: Option<CallKey>,
    /// In which turn.
    pub turn: u32,
    /// When.
    pub at: Instant,
    /// What.
    pub kind: EventKind,
    /// More of it.
    pub body: Value,
}

/// A turn, as it is found again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnRow {
    /// Of which session.
    pub session: SessionId,
    /// Which, counted from 1.
    pub turn: u32,
    /// When it began.
    pub at: Instant,
    /// When every call of it had its result. `None`: it goes on, or was cut off.
    pub ended: Option<Instant>,
}

/// A call with all that is kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct WholeCall {
    /// The call.
    pub call: CallRow,
    /// What happened to it, in that order.
    pub events: Vec<EventRow>,
    /// What came of it, as [`store`](crate::store) writes it.
    pub result: Option<String>,
}

/// Whatever a book keeps.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyRow {
    /// A session.
    Session(SessionRow),
    /// A turn of one.
    Turn(TurnRow),
    /// Something that happened to a session, and to no call of it that is kept.
    Event(EventRow),
    /// A call.
    Call(Box<WholeCall>),
}

/// A session, as it is found again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionRow {
    /// Which.
    pub session: SessionId,
    /// When it began.
    pub began: Instant,
    /// When something last happened in it.
    pub last: Instant,
    /// Its workspace.
    pub workspace: String,
    /// Who was behind its last turn, as JSON: `user`, `roles`, `channel`. Null where nobody said.
    pub caller: Value,
    /// In which mode its last turn was.
    pub mode: String,
    /// How many turns it had.
    pub turns: u32,
    /// How many calls.
    pub calls: u64,
    /// How many of them were refused.
    pub refused: u64,
    /// How many paths were changed, each counted once.
    pub changed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (ms, expected) in [
            (-1, "1969-12-31"),
            (0, "1970-01-01"),
            (951_782_400_000, "2000-02-29"),
            (1_772_236_800_000, "2026-02-28"),
            (4_102_444_800_000, "2100-01-01"),
        ] {
            assert_eq!(Instant(ms).day(), expected);
        }
    }
}
