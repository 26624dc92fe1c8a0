//! What is written, statement by statement. All of it runs inside a transaction of the writer's.

use haft_engine::session::{CallKey, CallState};
use rusqlite::{Connection, OptionalExtension, Result, params};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{owner::Owners, places::split};
use crate::{
    book::Claimed,
    record::{Claim, Entry, EventKind, EventRow, Instant, Outcome, PathRow, Turn},
};

/// The writer's hand: a connection in a transaction, and in whose name it writes.
pub(super) struct Pen<'a> {
    pub(super) db: &'a Connection,
    pub(super) owner: &'a str,
    pub(super) owners: &'a Owners,
}

/// How a state is kept.
pub(super) fn code(state: CallState) -> i64 {
    match state {
        CallState::Open => 0,
        CallState::Finished => 1,
        CallState::Refused => 2,
        CallState::CutOff => 3,
    }
}

/// And back. What is not known was cut off: nobody can say how far it came.
pub(super) fn state(code: i64) -> CallState {
    match code {
        0 => CallState::Open,
        1 => CallState::Finished,
        2 => CallState::Refused,
        _ => CallState::CutOff,
    }
}

/// Texts that are kept once: how each is found, and how it is added.
const DIRECTORY: [&str; 2] =
    ["SELECT id FROM directories WHERE path = ?1", "INSERT INTO directories (path) VALUES (?1)"];
const NAME: [&str; 2] = ["SELECT id FROM names WHERE name = ?1", "INSERT INTO names (name) VALUES (?1)"];

/// A call by what it is known by.
pub(super) const FIND: &str = "SELECT no, state, owner FROM calls INDEXED BY calls_key
    WHERE call = ?1 AND session = ?2 AND digest = ?3 AND nth = ?4";

/// A row that is there.
struct There {
    no: i64,
    state: CallState,
    owner: Option<String>,
}

impl Pen<'_> {
    pub(super) fn write(&self, entry: &Entry) -> Result<()> {
        match entry {
            Entry::Turn(turn) => self.turn(turn),
            Entry::TurnEnded { session, turn, at } => self.turn_ended(session.as_str(), *turn, *at),
            Entry::Started(claim) => self.begin_unless_known(claim, CallState::Open),
            Entry::Refused(claim) => self.begin_unless_known(claim, CallState::Refused),
            Entry::Finished(outcome) => self.finish(outcome),
            Entry::Touched { key, paths } => self.touched(key, paths),
            Entry::Event(event) => self.event(event),
        }
    }

    /// Who gets it is decided here, in a transaction that nobody else is in.
    pub(super) fn claim(&self, claim: &Claim) -> Result<Claimed> {
        let session = self.session(claim.key.session.as_str(), claim.at)?;
        let Some(there) = self.find(session, &claim.key)? else {
            self.begin(session, claim, CallState::Open, None)?;
            return Ok(Claimed::Yours);
        };
        match self.really(&there, claim.was_dropped) {
            CallState::Finished => Ok(Claimed::Finished(self.result(there.no)?.unwrap_or_default())),
            CallState::Open => Ok(Claimed::Busy(there.owner.unwrap_or_default())),
            CallState::CutOff if !claim.repeatable => {
                // Ours now: of two who find it cut off, one says so.
                let sql = "UPDATE calls SET owner = ?2, state = 0 WHERE no = ?1";
                self.db.prepare_cached(sql)?.execute(params![there.no, self.owner])?;
                Ok(Claimed::CutOff)
            }
            CallState::CutOff | CallState::Refused => {
                self.begin(session, claim, CallState::Open, Some(there.no))?;
                Ok(Claimed::Yours)
            }
        }
    }

    /// An open call whose owner is gone was cut off.
    fn really(&self, there: &There, was_dropped: bool) -> CallState {
        let owner = there.owner.as_deref().unwrap_or_default();
        let is_gone = if owner == self.owner { was_dropped } else { !self.owners.is_alive(owner) };
        if there.state == CallState::Open && is_gone { CallState::CutOff } else { there.state }
    }

    fn begin_unless_known(&self, claim: &Claim, state: CallState) -> Result<()> {
        let session = self.session(claim.key.session.as_str(), claim.at)?;
        let there = self.find(session, &claim.key)?;
        let may_begin = |there: &There| match self.really(there, claim.was_dropped) {
            CallState::Refused => true,
            // What changes nothing may be done again; a refusal says nothing of an earlier run.
            CallState::CutOff => claim.repeatable && state == CallState::Open,
            CallState::Open | CallState::Finished => false,
        };
        match there {
            Some(there) if !may_begin(&there) => Ok(()),
            there => self.begin(session, claim, state, there.map(|there| there.no)),
        }
    }

    fn begin(&self, session: i64, claim: &Claim, state: CallState, again: Option<i64>) -> Result<()> {
        let decision = self.body(&claim.decision)?;
        let sql = "INSERT INTO calls (no, session, call, digest, nth, turn, tool, description, verdict, class, state, at,
                repeatable, owner, decision)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
            ON CONFLICT (no) DO UPDATE SET turn = ?6, tool = ?7, description = ?8, verdict = ?9, class = ?10, state = ?11,
                at = ?12, repeatable = ?13, owner = ?14, decision = ?15, fault = NULL, duration_us = NULL";
        self.db.prepare_cached(sql)?.execute(params![
            again,
            session,
            claim.key.call.as_str(),
            claim.key.digest.0,
            claim.key.nth,
            claim.turn,
            claim.tool,
            claim.description,
            claim.verdict,
            claim.class,
            code(state),
            claim.at.0,
            claim.repeatable,
            self.owner,
            decision,
        ])?;
        let no = again.unwrap_or_else(|| self.db.last_insert_rowid());
        self.began(no, claim.at)?;
        claim.paths.iter().try_for_each(|path| self.path(no, path))?;
        let input = (EventKind::INPUT, Some(&claim.input));
        for (kind, body) in [input, (EventKind::APPROVAL, claim.approval.as_ref())] {
            if let Some(body) = body {
                self.happened((session, Some(no)), claim.turn, claim.at, &kind, body)?;
            }
        }
        Ok(())
    }

    fn path(&self, no: i64, path: &PathRow) -> Result<()> {
        let (directory, name) = split(&path.path);
        let directory = self.kept_once(DIRECTORY, directory)?;
        let name = self.kept_once(NAME, name)?;
        let sql = "INSERT INTO touched (no, directory, name, writes) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (no, directory, name) DO UPDATE SET writes = max(writes, ?4)";
        self.db.prepare_cached(sql)?.execute(params![no, directory, name, path.writes]).map(drop)
    }

    /// The number of a text, which is kept once however often it comes.
    fn kept_once(&self, [find, insert]: [&str; 2], text: &str) -> Result<i64> {
        match self.db.prepare_cached(find)?.query_row([text], |row| row.get(0)).optional()? {
            Some(id) => Ok(id),
            None => self.db.prepare_cached(insert)?.insert([text]),
        }
    }

    /// A call began then: its span holds that time.
    fn began(&self, no: i64, at: Instant) -> Result<()> {
        let sql = "INSERT INTO spans (block, earliest, latest) VALUES (?1 >> 10, ?2, ?2)
            ON CONFLICT (block) DO UPDATE SET earliest = min(earliest, ?2), latest = max(latest, ?2)
            WHERE ?2 NOT BETWEEN earliest AND latest";
        self.db.prepare_cached(sql)?.execute(params![no, at.0]).map(drop)
    }

    /// A finished call stays as it is; one that never ran says nothing of an earlier run that was cut off.
    fn finish(&self, outcome: &Outcome) -> Result<()> {
        let session = self.session(outcome.key.session.as_str(), outcome.at)?;
        let no = match self.find(session, &outcome.key)? {
            Some(there) => match there.state {
                CallState::Finished => return Ok(()),
                CallState::Open | CallState::CutOff if !outcome.ran => return Ok(()),
                _ => there.no,
            },
            None => self.begin_ended(session, outcome)?,
        };
        let state = if outcome.ran { CallState::Finished } else { CallState::Refused };
        let sql = "UPDATE calls SET state = ?2, fault = ?3, duration_us = ?4 WHERE no = ?1";
        let took = outcome.ran.then(|| i64::try_from(outcome.duration_us).unwrap_or(i64::MAX));
        self.db.prepare_cached(sql)?.execute(params![no, code(state), outcome.fault, took])?;
        let sql = "INSERT OR REPLACE INTO results (no, result) VALUES (?1, ?2)";
        self.db.prepare_cached(sql)?.execute(params![no, outcome.result]).map(drop)
    }

    /// A call that never came so far that anybody judged it.
    fn begin_ended(&self, session: i64, outcome: &Outcome) -> Result<i64> {
        let sql =
            "INSERT INTO calls (session, call, digest, nth, turn, tool, description, state, at, repeatable)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, 1)";
        let key = &outcome.key;
        self.db.prepare_cached(sql)?.execute(params![
            session,
            key.call.as_str(),
            key.digest.0,
            key.nth,
            outcome.turn,
            outcome.tool,
            code(CallState::Refused),
            outcome.at.0
        ])?;
        let no = self.db.last_insert_rowid();
        self.began(no, outcome.at)?;
        Ok(no)
    }

    fn touched(&self, key: &CallKey, paths: &[PathRow]) -> Result<()> {
        let mut find = self.db.prepare_cached("SELECT id FROM sessions WHERE name = ?1")?;
        let session: Option<i64> = find.query_row([key.session.as_str()], |row| row.get(0)).optional()?;
        let there = session.map(|session| self.find(session, key)).transpose()?.flatten();
        // One that nobody began could not be recorded: nothing is found by it.
        there.map_or(Ok(()), |there| paths.iter().try_for_each(|path| self.path(there.no, path)))
    }

    fn event(&self, event: &EventRow) -> Result<()> {
        let session = self.session(event.session.as_str(), event.at)?;
        let there = event.key.as_ref().map(|key| self.find(session, key)).transpose()?.flatten();
        self.happened((session, there.map(|there| there.no)), event.turn, event.at, &event.kind, &event.body)
    }

    fn happened(
        &self,
        (session, no): (i64, Option<i64>),
        turn: u32,
        at: Instant,
        kind: &EventKind,
        body: &Value,
    ) -> Result<()> {
        let sql = "INSERT INTO events (session, no, turn, at, kind, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let body = body.to_string();
        self.db.prepare_cached(sql)?.execute(params![session, no, turn, at.0, kind.0, body]).map(drop)
    }

    fn turn(&self, turn: &Turn) -> Result<()> {
        let session = self.session(turn.session.as_str(), turn.at)?;
        let sql = "UPDATE sessions SET workspace = ?2, turns = max(turns, ?3), mode = ?4, caller = ?5 WHERE id = ?1";
        let caller = turn.caller.to_string();
        self.db.prepare_cached(sql)?.execute(params![
            session,
            turn.workspace,
            turn.turn,
            turn.mode,
            caller
        ])?;
        let sql = "INSERT OR IGNORE INTO turns (session, turn, at) VALUES (?1, ?2, ?3)";
        self.db.prepare_cached(sql)?.execute(params![session, turn.turn, turn.at.0]).map(drop)
    }

    fn turn_ended(&self, session: &str, turn: u32, at: Instant) -> Result<()> {
        let session = self.session(session, at)?;
        let sql = "UPDATE turns SET ended = ?3 WHERE session = ?1 AND turn = ?2";
        self.db.prepare_cached(sql)?.execute(params![session, turn, at.0]).map(drop)
    }

    /// The number of a session, which is made if it is not there.
    fn session(&self, name: &str, at: Instant) -> Result<i64> {
        let sql = "INSERT INTO sessions (name, began, last) VALUES (?1, ?2, ?2)
            ON CONFLICT (name) DO UPDATE SET last = max(last, ?2) RETURNING id";
        self.db.prepare_cached(sql)?.query_row(params![name, at.0], |row| row.get(0))
    }

    /// The number of a body, which is kept once however often it comes.
    fn body(&self, body: &Value) -> Result<i64> {
        let body = body.to_string();
        let hash = &Sha256::digest(body.as_bytes())[..16];
        let mut find = self.db.prepare_cached("SELECT id FROM bodies WHERE hash = ?1")?;
        match find.query_row([hash], |row| row.get(0)).optional()? {
            Some(id) => Ok(id),
            None => {
                let sql = "INSERT INTO bodies (hash, body) VALUES (?1, ?2)";
                self.db.prepare_cached(sql)?.execute(params![hash, body])?;
                Ok(self.db.last_insert_rowid())
            }
        }
    }

    fn find(&self, session: i64, key: &CallKey) -> Result<Option<There>> {
        let mut statement = self.db.prepare_cached(FIND)?;
        let there = |row: &rusqlite::Row<'_>| {
            Ok(There { no: row.get(0)?, state: state(row.get(1)?), owner: row.get(2)? })
        };
        statement.query_row(params![key.call.as_str(), session, key.digest.0, key.nth], there).optional()
    }

    fn result(&self, no: i64) -> Result<Option<String>> {
        let mut statement = self.db.prepare_cached("SELECT result FROM results WHERE no = ?1")?;
        statement.query_row([no], |row| row.get(0)).optional()
    }

    /// A document in the place of the one of this version. Gives the new version, or `None` if there is another.
    pub(super) fn put(
        &self,
        space: &str,
        key: &str,
        version: u64,
        body: Option<&Value>,
    ) -> Result<Option<u64>> {
        let mut find =
            self.db.prepare_cached("SELECT version FROM documents WHERE space = ?1 AND key = ?2")?;
        let found: Option<i64> = find.query_row([space, key], |row| row.get(0)).optional()?;
        let next = i64::try_from(version).unwrap_or(i64::MAX).saturating_add(1);
        if found.unwrap_or(0) != next - 1 {
            return Ok(None);
        }
        match body {
            Some(body) => {
                let sql =
                    "INSERT OR REPLACE INTO documents (space, key, version, body) VALUES (?1, ?2, ?3, ?4)";
                self.db.prepare_cached(sql)?.execute(params![space, key, next, body.to_string()])?;
            }
            None => {
                let sql = "DELETE FROM documents WHERE space = ?1 AND key = ?2";
                self.db.prepare_cached(sql)?.execute([space, key])?;
            }
        }
        Ok(Some(next.unsigned_abs()))
    }

    /// Calls whose owners have gone were cut off.
    pub(super) fn mark_cut_off(&self) -> Result<()> {
        // By the index of the few that have not finished, in its words: a process that begins must not look at every call.
        let sql = "SELECT DISTINCT owner FROM calls INDEXED BY calls_state WHERE state = 0 AND state <> 1 AND owner <> ?1";
        let mut owners = self.db.prepare(sql)?;
        let names: Vec<String> = owners.query_map([self.owner], |row| row.get(0))?.collect::<Result<_>>()?;
        for name in names.iter().filter(|name| !self.owners.is_alive(name)) {
            let sql = "UPDATE calls INDEXED BY calls_state SET state = 3 WHERE state = 0 AND state <> 1 AND owner = ?1";
            self.db.execute(sql, [name])?;
        }
        Ok(())
    }
}
