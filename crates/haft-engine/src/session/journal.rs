//! What lasts of a call.
//!
//! The trait only: written before a side effect starts and after it has ended, so that after a crash one can tell which
//! calls were cut off, and so that a call which comes again is answered and not made again. Journals are kept elsewhere.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use haft_tool::{BoxFuture, CallId, Change, Effects, Refusal, SessionId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::deeds::Deed;
use crate::{
    policy::{CallFacts, Decision, Warrant},
    result::ToolResult,
    turn::{Arguments, Call},
};

/// Keeps what happened. Nothing that it is given holds a secret, as far as the engine's redactor knows them.
///
/// Only [`started`](Journal::started) of a call with side effects has to wait for a disk; all else may be queued, as long as
/// what was queued earlier is written earlier.
pub trait Journal: Send + Sync {
    /// Whether it can be asked what came of calls. One that only writes is told of every call as of a new one.
    fn recalls(&self) -> bool {
        false
    }

    /// The latest calls of a session that began before, the latest last. Asked once, when a session runs its first turn,
    /// and never for one that is [new](crate::SessionOptions::is_new).
    fn past<'a>(&'a self, _session: &'a SessionId) -> BoxFuture<'a, io::Result<Vec<PastCall>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What became of a call that has finished. `None` if that is not known any more.
    fn result<'a>(&'a self, _key: &'a CallKey) -> BoxFuture<'a, io::Result<Option<Box<Finished>>>> {
        Box::pin(async { Ok(None) })
    }

    /// What the file system shows of a call that was cut off: for each path that it was about to change.
    fn evidence<'a>(&'a self, _key: &'a CallKey) -> BoxFuture<'a, io::Result<Vec<Evidence>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What calls of a session have done, in the order in which they came: those of earlier processes, too. Calls that
    /// only looked are left out. Asked when somebody wants to compare it with a plan.
    fn deeds<'a>(&'a self, _session: &'a SessionId) -> BoxFuture<'a, io::Result<Vec<Deed>>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// A permitted call is about to start: claims it. It does not start if this fails. If the call has side effects, this
    /// returns when what it says would outlive the machine.
    fn started<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<Start>>;

    /// A call was refused. Nothing happened, so nothing depends on whether this works.
    fn refused<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<()>>;

    /// A call has its result, whether it ran or not. If it had side effects, this returns when what it says would outlive
    /// the process.
    fn finished<'a>(&'a self, end: Ending<'a>) -> BoxFuture<'a, io::Result<()>>;

    /// Something happened on the way. Nothing depends on whether this works.
    fn noted<'a>(&'a self, _note: Noted<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// Which call: what the model named it, and what it asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallKey {
    /// In which session.
    pub session: SessionId,
    /// The id that the model, or its API, gave it.
    pub call: CallId,
    /// Tool and input, and for whom in which workspace. The same id with another input is another call: some models count their
    /// calls anew in each turn. Nor is a call of another caller, or in another workspace, ever the same.
    pub digest: Digest,
    /// How many calls of that id and input came before it in sessions whose ids mean nothing.
    pub nth: u32,
}

/// A fingerprint of tool and input, as the model wrote them. In a [`CallKey`], also of the caller and the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Digest(pub [u8; 16]);

impl Digest {
    /// The fingerprint of a call.
    pub fn of(call: &Call) -> Digest {
        let mut hash = Sha256::new();
        hash.update((call.name.len() as u64).to_le_bytes());
        hash.update(call.name.as_bytes());
        match &call.input {
            Arguments::Text(text) => hash.update(text.as_bytes()),
            // A value that is no JSON cannot be: what a writer to memory could refuse is not there.
            Arguments::Value(value) => drop(serde_json::to_writer(Into(&mut hash), value)),
        }
        let mut short = [0; 16];
        short.copy_from_slice(&hash.finalize()[..16]);
        Digest(short)
    }
}

struct Into<'a>(&'a mut Sha256);

impl io::Write for Into<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How far a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It runs, as far as is known.
    Open,
    /// It has its result.
    Finished,
    /// It never ran.
    Refused,
    /// Whoever ran it is gone, and did not say how it ended.
    CutOff,
}

/// A call from before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    /// Which.
    pub key: CallKey,
    /// In which turn of its session, counted from 1.
    pub turn: u32,
    /// Whether that turn came to its end, with a result for every call.
    pub turn_ended: bool,
    /// How far it came.
    pub state: CallState,
    /// Whether it changed nothing, and may be made again to see what it showed.
    pub read_only: bool,
}

/// What can be seen of a path that a call was about to change when it was cut off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The path.
    pub path: PathBuf,
    /// What is there now.
    pub found: Found,
}

/// What is at a path, compared with what was there before the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// What was there before.
    Unchanged,
    /// Something else.
    Changed,
    /// Something, where nothing was.
    New,
    /// Nothing, where something was.
    Gone,
    /// It cannot be said.
    Unknown,
}

/// A call that may run, or may not.
#[derive(Debug, Clone, Copy)]
pub struct Starting<'a> {
    /// Which.
    pub key: &'a CallKey,
    /// In which turn of its session, counted from 1.
    pub turn: u32,
    /// What it is going to do, and what was decided.
    pub facts: CallFacts<'a>,
    /// One line for a person.
    pub description: &'a str,
    /// Whether twice is the same as once: it is read-only, or its tool says so. Such a call may be run again after it was cut off.
    pub repeatable: bool,
    /// Whether it began in this process and was dropped: nobody runs it here.
    pub was_dropped: bool,
    /// Whether the engine's [`Images`](super::Images) are told of all that it changes, and write it down for good, before
    /// anything is changed.
    pub sealed: bool,
    /// On whose word it runs, or does not.
    pub word: Word<'a>,
}

/// On whose word a call runs, or does not.
#[derive(Debug, Clone, Copy)]
pub enum Word<'a> {
    /// It runs on this one's.
    Yes(Warrant),
    /// It runs on a person's, who had these rules written.
    Always(&'a [String]),
    /// It does not run; this one said no, if it was a refusal.
    No(Option<Refusal>),
}

/// What the journal says to a call that is about to start.
#[derive(Debug)]
pub enum Start {
    /// It is yours.
    Go,
    /// It is yours, although it could not be recorded: this is why, and somebody decided that this is no reason.
    Unrecorded(String),
    /// It has run already.
    Answered(Box<Finished>),
    /// It began before and was cut off, and twice is not once.
    CutOff,
    /// It runs now: there.
    Busy(String),
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// What the model got.
    pub result: ToolResult,
    /// What it changed in its session.
    pub changes: Vec<Change>,
}

/// A call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    /// Which.
    pub key: &'a CallKey,
    /// In which turn of its session, counted from 1.
    pub turn: u32,
    /// Whether it was started. One that was not has no row yet, unless it was refused.
    pub ran: bool,
    /// Whether it may have changed something outside of its session.
    pub side_effects: bool,
    /// What the model gets.
    pub result: &'a ToolResult,
    /// What it changes in its session.
    pub changes: &'a [Change],
}

/// Something that happened, and to whom.
#[derive(Debug, Clone, Copy)]
pub struct Noted<'a> {
    /// In which session.
    pub session: &'a SessionId,
    /// To which call; `None`: to the session.
    pub call: Option<&'a CallKey>,
    /// In which turn, counted from 1.
    pub turn: u32,
    /// What.
    pub note: Note<'a>,
}

/// What may happen on the way.
#[derive(Debug, Clone, Copy)]
pub enum Note<'a> {
    /// A turn begins. The first is the beginning of its session, or of a part of it.
    Turn {
        /// The session's workspace.
        workspace: &'a Path,
        /// In which mode.
        mode: crate::policy::Mode,
        /// Who is behind it.
        caller: &'a haft_tool::Caller,
    },
    /// A turn has ended with so many results.
    TurnEnded {
        /// So many.
        calls: usize,
    },
    /// A call failed in passing and is tried again.
    Retry {
        /// Which attempt comes next, counted from 1.
        attempt: u32,
        /// After how long.
        delay: Duration,
        /// What went wrong.
        reason: &'a str,
    },
    /// The session is that of a sub-agent.
    Delegated {
        /// The session that began it.
        parent: &'a SessionId,
        /// The call there.
        call: &'a CallId,
        /// What kind of agent it is.
        agent: &'a str,
    },
    /// It asked for more than it declared while it ran.
    Permission {
        /// What it asked for, in one line.
        description: &'a str,
        /// What it would do in addition.
        effects: &'a Effects,
        /// What the rules say of that.
        decision: &'a Decision,
        /// On whose word it may, or may not.
        word: Word<'a>,
    },
    /// Its result was cut after it had been recorded, so that all of its turn fit.
    Shortened(&'a crate::result::Truncation),
    /// Its processes ran outside of the sandbox; this is why.
    Unsandboxed(&'a str),
    /// It was answered from the journal.
    Recalled,
    /// It could not be recorded when it happened; this is why.
    Unrecorded(&'a str),
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_knows_tool_and_input_and_not_the_id() {
        let digest = |id: &str, name: &str, input| Digest::of(&Call::new(id, name, input));
        let one = digest("1", "Read", json!({ "file_path": "a" }));
        assert_eq!(one, digest("2", "Read", json!({ "file_path": "a" })));
        assert_ne!(one, digest("1", "Read", json!({ "file_path": "b" })));
        assert_ne!(one, digest("1", "Reap", json!({ "file_path": "a" })));
    }
}
