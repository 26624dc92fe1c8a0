//! What is found again, query by query.

use haft_engine::session::{CallKey, CallState, Digest, PastCall};
use haft_tool::SessionId;
use rusqlite::{Connection, OptionalExtension, Result, Row, ToSql, params, params_from_iter};

use super::{owner::Owners, write::state};
use crate::{
    book::{Document, EventFilter},
    record::{CallNo, CallRow, EventKind, EventRow, Instant, PathRow, SessionRow},
};

/// Somebody who reads.
pub(super) struct Eye<'a> {
    pub(super) db: &'a Connection,
    pub(super) owners: &'a Owners,
}

impl Eye<'_> {
    pub(super) fn past(&self, session: &SessionId, most: usize) -> Result<Vec<PastCall>> {
        let sql = "SELECT calls.call, calls.digest, calls.nth, calls.turn, turns.ended IS NOT NULL, calls.state, calls.owner,
                calls.class IS 'read_only' AND calls.repeatable
            FROM calls LEFT JOIN turns ON turns.session = calls.session AND turns.turn = calls.turn
            WHERE calls.session = (SELECT id FROM sessions WHERE name = ?1) ORDER BY calls.no DESC LIMIT ?2";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map(params![session.as_str(), limit(most)], |row| {
            let call: String = row.get(0)?;
            let key = CallKey {
                session: session.clone(),
                call: call.into(),
                digest: digest(row, 1)?,
                nth: row.get(2)?,
            };
            let state = self.really(state(row.get(5)?), row.get::<_, Option<String>>(6)?.as_deref());
            Ok(PastCall { key, turn: row.get(3)?, turn_ended: row.get(4)?, state, read_only: row.get(7)? })
        })?;
        let mut past = rows.collect::<Result<Vec<PastCall>>>()?;
        past.reverse();
        Ok(past)
    }

    pub(super) fn result(&self, key: &CallKey) -> Result<Option<String>> {
        let sql =
            "SELECT results.result FROM calls JOIN results ON results.no = calls.no WHERE calls.state IN (1, 2)
            AND calls.call = ?1 AND calls.session = (SELECT id FROM sessions WHERE name = ?2)
            AND calls.digest = ?3 AND calls.nth = ?4";
        let key = params![key.call.as_str(), key.session.as_str(), key.digest.0, key.nth];
        self.db.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()
    }

    pub(super) fn call(&self, row: &Row<'_>) -> Result<CallRow> {
        let (session, call): (String, String) = (row.get(1)?, row.get(2)?);
        let key = CallKey {
            session: session.as_str().into(),
            call: call.as_str().into(),
            digest: digest(row, 3)?,
            nth: row.get(4)?,
        };
        let owner: Option<String> = row.get(15)?;
        Ok(CallRow {
            no: CallNo(row.get(0)?),
            session: session.into(),
            call: call.into(),
            key,
            turn: row.get(5)?,
            tool: row.get(6)?,
            description: row.get(7)?,
            verdict: row.get(8)?,
            class: row.get(9)?,
            state: self.really(state(row.get(10)?), owner.as_deref()),
            fault: row.get(11)?,
            at: Instant(row.get(12)?),
            duration_us: row.get::<_, Option<i64>>(13)?.map(i64::unsigned_abs),
            repeatable: row.get(14)?,
            owner,
            paths: Vec::new(),
        })
    }

    fn really(&self, state: CallState, owner: Option<&str>) -> CallState {
        match state {
            CallState::Open if !owner.is_some_and(|owner| self.owners.is_alive(owner)) => CallState::CutOff,
            state => state,
        }
    }

    pub(super) fn paths(&self, no: CallNo) -> Result<Vec<PathRow>> {
        let sql = "SELECT directories.path || names.name, writes FROM touched
            JOIN directories ON directories.id = directory JOIN names ON names.id = touched.name
            WHERE no = ?1 ORDER BY 1";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows =
            statement.query_map([no.0], |row| Ok(PathRow { path: row.get(0)?, writes: row.get(1)? }))?;
        rows.collect()
    }

    pub(super) fn events(&self, filter: &EventFilter) -> Result<Vec<EventRow>> {
        let mut conditions = Where::default();
        if let Some(session) = filter.session.as_ref().or(filter.key.as_ref().map(|key| &key.session)) {
            conditions.and(
                "events.session = (SELECT id FROM sessions WHERE name = ?)",
                session.as_str().to_owned(),
            );
        }
        if let Some(key) = &filter.key {
            let Some(no) = self.number(key)? else { return Ok(Vec::new()) };
            conditions.and("events.no = ?", no);
        }
        if let Some(turn) = filter.turn {
            conditions.and("events.turn = ?", turn);
        }
        if let [kind] = &filter.kinds[..] {
            conditions.and("events.kind = ?", kind.to_string());
        }
        let sql = format!(
            "SELECT sessions.name, calls.call, calls.digest, calls.nth, events.turn, events.at, events.kind, events.body
            FROM {} LEFT JOIN calls ON calls.no = events.no {} ORDER BY events.id",
            from(filter),
            conditions.sql()
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&conditions.values), event)?;
        let mut found: Vec<EventRow> = self.decisions(filter)?;
        let wanted = |event: &EventRow| filter.kinds.is_empty() || filter.kinds.contains(&event.kind);
        let most = filter.most.unwrap_or(usize::MAX);
        for row in rows {
            if found.len() >= most {
                break;
            }
            found.extend(Some(row?).filter(wanted));
        }
        found.truncate(most);
        Ok(found)
    }

    fn decisions(&self, filter: &EventFilter) -> Result<Vec<EventRow>> {
        let wants = filter.kinds.is_empty() || filter.kinds.contains(&EventKind::DECISION);
        let Some(key) = filter.key.as_ref().filter(|_| wants) else { return Ok(Vec::new()) };
        let Some(no) = self.number(key)? else { return Ok(Vec::new()) };
        self.decision(no)
    }

    /// The decision is kept with the call, because it is the same for many.
    pub(super) fn decision(&self, no: i64) -> Result<Vec<EventRow>> {
        let sql = "SELECT sessions.name, calls.call, calls.digest, calls.nth, calls.turn, calls.at, 'decision', bodies.body
            FROM calls JOIN sessions ON sessions.id = calls.session JOIN bodies ON bodies.id = calls.decision
            WHERE calls.no = ?1";
        self.db.prepare_cached(sql)?.query_map([no], event)?.collect()
    }

    fn number(&self, key: &CallKey) -> Result<Option<i64>> {
        let sql = "SELECT no FROM calls WHERE call = ?1 AND digest = ?3 AND nth = ?4
            AND session = (SELECT id FROM sessions WHERE name = ?2)";
        let key = params![key.call.as_str(), key.session.as_str(), key.digest.0, key.nth];
        self.db.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()
    }

    pub(super) fn sessions(&self, most: usize) -> Result<Vec<SessionRow>> {
        let sql = format!("{SESSIONS} ORDER BY last DESC, id DESC LIMIT ?1");
        self.db.prepare_cached(&sql)?.query_map([limit(most)], session)?.collect()
    }

    pub(super) fn document(&self, space: &str, key: &str) -> Result<Option<Document>> {
        let sql = "SELECT version, body FROM documents WHERE space = ?1 AND key = ?2";
        let found = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        let found = self.db.prepare_cached(sql)?.query_row([space, key], found).optional()?;
        Ok(found.map(|(version, body)| Document {
            version: version.unsigned_abs(),
            body: serde_json::from_str(&body).unwrap_or_default(),
        }))
    }
}

/// Where events are looked for. Those of one kind in all sessions are few among all: each session is asked for its own.
fn from(filter: &EventFilter) -> &'static str {
    match (&filter.session, &filter.key, &filter.kinds[..]) {
        (None, None, [_]) => {
            "sessions CROSS JOIN events INDEXED BY events_session ON events.session = sessions.id"
        }
        _ => "events JOIN sessions ON sessions.id = events.session",
    }
}

pub(super) const SESSIONS: &str = "SELECT name, began, last, workspace, turns, caller,
        (SELECT count(*) FROM calls WHERE session = sessions.id),
        (SELECT count(*) FROM calls INDEXED BY calls_state WHERE session = sessions.id AND state = 2 AND state <> 1),
        (SELECT count(DISTINCT touched.directory << 32 | touched.name) FROM calls CROSS JOIN touched ON touched.no = calls.no
            WHERE session = sessions.id AND touched.writes AND calls.state <> 2),
        mode, id
    FROM sessions";

pub(super) fn session(row: &Row<'_>) -> Result<SessionRow> {
    let count = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
    Ok(SessionRow {
        session: row.get::<_, String>(0)?.into(),
        began: Instant(row.get(1)?),
        last: Instant(row.get(2)?),
        workspace: row.get(3)?,
        turns: row.get(4)?,
        caller: serde_json::from_str(&row.get::<_, String>(5)?).unwrap_or_default(),
        calls: count(6)?,
        refused: count(7)?,
        changed: count(8)?,
        mode: row.get(9)?,
    })
}

pub(super) fn event(row: &Row<'_>) -> Result<EventRow> {
    let session: SessionId = row.get::<_, String>(0)?.into();
    let key = match row.get::<_, Option<String>>(1)? {
        Some(call) => Some(CallKey {
            session: session.clone(),
            call: call.into(),
            digest: digest(row, 2)?,
            nth: row.get(3)?,
        }),
        None => None,
    };
    let (kind, body): (String, String) = (row.get(6)?, row.get(7)?);
    Ok(EventRow {
        session,
        key,
        turn: row.get(4)?,
        at: Instant(row.get(5)?),
        kind: EventKind(kind.into()),
        body: serde_json::from_str(&body).unwrap_or_default(),
    })
}

fn digest(row: &Row<'_>, index: usize) -> Result<Digest> {
    row.get::<_, [u8; 16]>(index).map(Digest)
}

pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Conditions and what is filled in for their question marks.
#[derive(Default)]
pub(super) struct Where {
    conditions: Vec<&'static str>,
    pub(super) values: Vec<Box<dyn ToSql>>,
}

impl Where {
    pub(super) fn and(&mut self, condition: &'static str, value: impl ToSql + 'static) {
        self.conditions.push(condition);
        self.values.push(Box::new(value));
    }

    pub(super) fn sql(&self) -> String {
        if self.conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", self.conditions.join(" AND "))
        }
    }
}
