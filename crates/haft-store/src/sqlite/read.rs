//! What is found again, query by query.

use haft_engine::session::{CallKey, CallState, Digest, PastCall};
use haft_tool::SessionId;
use rusqlite::{Connection, OptionalExtension, Result, Row, ToSql, params, params_from_iter};

use super::{
    owner::Owners,
    write::{code, state},
};
use crate::{
    book::{CallFilter, Document, EventFilter, is_pattern},
    record::{CallNo, CallRow, EventKind, EventRow, Instant, PathRow, SessionRow},
};

/// Somebody who reads.
pub(super) struct Eye<'a> {
    pub(super) db: &'a Connection,
    pub(super) owners: &'a Owners,
}

/// Of so many paths that fit, each call is looked at; of more, the latest calls are looked at for their paths first.
const FEW: i64 = 20_000;
/// So many of the latest calls.
const LATEST: i64 = 50_000;

const CALL: &str = "calls.no, sessions.name, calls.call, calls.digest, calls.nth, calls.turn, calls.tool,
    calls.description, calls.verdict, calls.class, calls.state, calls.fault, calls.at, calls.duration_us,
    calls.repeatable, calls.owner FROM calls JOIN sessions ON sessions.id = calls.session";

impl Eye<'_> {
    pub(super) fn past(&self, session: &SessionId, most: usize) -> Result<Vec<PastCall>> {
        let sql = "SELECT calls.call, calls.digest, calls.nth, calls.turn, turns.ended IS NOT NULL, calls.state, calls.owner,
                calls.class IS 'read_only'
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
            "SELECT results.result FROM calls JOIN results ON results.no = calls.no WHERE calls.state = 1
            AND calls.call = ?1 AND calls.session = (SELECT id FROM sessions WHERE name = ?2)
            AND calls.digest = ?3 AND calls.nth = ?4";
        let key = params![key.call.as_str(), key.session.as_str(), key.digest.0, key.nth];
        self.db.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()
    }

    /// Calls that fit, in the order that the filter asks for.
    pub(super) fn calls(&self, filter: &CallFilter) -> Result<Vec<CallRow>> {
        let Some(wanted) = &filter.path else { return self.page(filter, &Where::of(filter)) };
        let path = PathRange::of(wanted);
        if self.count(&path)? > FEW {
            // So many fit that enough of them are among the latest, most likely.
            let mut latest = Where::of(filter);
            latest.and("calls.no > (SELECT max(no) FROM calls) - ?", LATEST);
            latest.touching(&path);
            let found = self.page(filter, &latest)?;
            if found.len() == filter.most && filter.after.is_none() {
                return Ok(found);
            }
        }
        let mut all = Where::of(filter);
        all.among(&path);
        self.page(filter, &all)
    }

    fn count(&self, path: &PathRange) -> Result<i64> {
        let sql =
            format!("SELECT count(*) FROM (SELECT 1 FROM paths WHERE {} LIMIT {})", PathRange::SQL, FEW + 1);
        self.db.prepare_cached(&sql)?.query_row(params_from_iter(path.values()), |row| row.get(0))
    }

    fn page(&self, filter: &CallFilter, conditions: &Where) -> Result<Vec<CallRow>> {
        let order = if filter.after.is_some() { "ASC" } else { "DESC" };
        let sql = format!("SELECT {CALL} {} ORDER BY calls.no {order}", conditions.sql());
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(&conditions.values))?;
        let mut found = Vec::new();
        // Whether an owner is still there is not in the table: what does not fit after all is left out here.
        while found.len() < filter.most
            && let Some(row) = rows.next()?
        {
            let call = self.call(row)?;
            if filter.state.is_none_or(|wanted| call.state == wanted) {
                found.push(call);
            }
        }
        for call in &mut found {
            call.paths = self.paths(call.no)?;
        }
        Ok(found)
    }

    fn call(&self, row: &Row<'_>) -> Result<CallRow> {
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

    fn paths(&self, no: CallNo) -> Result<Vec<PathRow>> {
        let mut statement =
            self.db.prepare_cached("SELECT path, writes FROM paths WHERE no = ?1 ORDER BY path")?;
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
            FROM events JOIN sessions ON sessions.id = events.session LEFT JOIN calls ON calls.no = events.no
            {} ORDER BY events.id",
            conditions.sql()
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let rows = statement.query_map(params_from_iter(&conditions.values), event)?;
        let mut found: Vec<EventRow> = self.decisions(filter)?;
        let wanted = |event: &EventRow| filter.kinds.is_empty() || filter.kinds.contains(&event.kind);
        for row in rows {
            found.extend(Some(row?).filter(wanted));
        }
        Ok(found)
    }

    /// The decision is kept with the call, because it is the same for many.
    fn decisions(&self, filter: &EventFilter) -> Result<Vec<EventRow>> {
        let wants = filter.kinds.is_empty() || filter.kinds.contains(&EventKind::DECISION);
        let Some(key) = filter.key.as_ref().filter(|_| wants) else { return Ok(Vec::new()) };
        let sql = "SELECT sessions.name, calls.call, calls.digest, calls.nth, calls.turn, calls.at, 'decision', bodies.body
            FROM calls JOIN sessions ON sessions.id = calls.session JOIN bodies ON bodies.id = calls.decision
            WHERE calls.no = ?1";
        let Some(no) = self.number(key)? else { return Ok(Vec::new()) };
        self.db.prepare_cached(sql)?.query_map([no], event)?.collect()
    }

    fn number(&self, key: &CallKey) -> Result<Option<i64>> {
        let sql = "SELECT no FROM calls WHERE call = ?1 AND digest = ?3 AND nth = ?4
            AND session = (SELECT id FROM sessions WHERE name = ?2)";
        let key = params![key.call.as_str(), key.session.as_str(), key.digest.0, key.nth];
        self.db.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()
    }

    pub(super) fn sessions(&self, most: usize) -> Result<Vec<SessionRow>> {
        let sql = "SELECT name, began, last, workspace, turns,
                (SELECT count(*) FROM calls WHERE session = sessions.id),
                (SELECT count(*) FROM calls WHERE session = sessions.id AND state = 2),
                (SELECT count(DISTINCT path) FROM calls CROSS JOIN paths ON paths.no = calls.no
                    WHERE session = sessions.id AND paths.writes AND calls.state <> 2)
            FROM sessions ORDER BY last DESC, id DESC LIMIT ?1";
        let mut statement = self.db.prepare_cached(sql)?;
        let rows = statement.query_map([limit(most)], |row| {
            let count = |index| row.get::<_, i64>(index).map(i64::unsigned_abs);
            Ok(SessionRow {
                session: row.get::<_, String>(0)?.into(),
                began: Instant(row.get(1)?),
                last: Instant(row.get(2)?),
                workspace: row.get(3)?,
                turns: row.get(4)?,
                calls: count(5)?,
                refused: count(6)?,
                changed: count(7)?,
            })
        })?;
        rows.collect()
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

fn event(row: &Row<'_>) -> Result<EventRow> {
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

fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Few calls are open or cut off: found from the index, or all others would be looked at.
const MAYBE_CUT_OFF: &str = "calls.no IN (SELECT no FROM calls INDEXED BY calls_state WHERE state IN (0, 3))";

/// Conditions and what is filled in for their question marks.
#[derive(Default)]
struct Where {
    conditions: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Where {
    fn of(filter: &CallFilter) -> Where {
        let mut all = Where::default();
        if let Some(session) = &filter.session {
            all.and("calls.session = (SELECT id FROM sessions WHERE name = ?)", session.as_str().to_owned());
        }
        if let Some(turn) = filter.turn {
            all.and("calls.turn = ?", turn);
        }
        if let Some(call) = &filter.call {
            all.and("calls.call = ?", call.clone());
        }
        // A session has few calls, a tool has many: with a sign before it, a column is not looked up in its index.
        let sign = if filter.session.is_some() { "+" } else { "" };
        if let Some(tool) = &filter.tool {
            all.and(&format!("{sign}calls.tool = ?"), tool.clone());
        }
        if let Some(verdict) = &filter.verdict {
            all.and(&format!("{sign}calls.verdict = ?"), verdict.clone());
        }
        match filter.state {
            // One that is open in the table may have been cut off.
            Some(CallState::CutOff) => all.conditions.push(MAYBE_CUT_OFF.to_owned()),
            Some(state) => all.and("calls.state = ?", code(state)),
            None => {}
        }
        if let Some(since) = filter.since {
            all.and("calls.at >= ?", since.0);
        }
        if let Some(until) = filter.until {
            all.and("calls.at < ?", until.0);
        }
        if let Some(after) = filter.after {
            all.and("calls.no > ?", after.0);
        }
        if let Some(before) = filter.before {
            all.and("calls.no < ?", before.0);
        }
        all
    }

    fn and(&mut self, condition: &str, value: impl ToSql + 'static) {
        self.conditions.push(condition.to_owned());
        self.values.push(Box::new(value));
    }

    /// Found from the calls: each is asked for its paths.
    fn touching(&mut self, path: &PathRange) {
        let sql = format!(
            "EXISTS (SELECT 1 FROM paths INDEXED BY paths_no WHERE paths.no = calls.no AND {})",
            PathRange::SQL
        );
        self.conditions.push(sql);
        self.values.extend(path.values().map(|value| Box::new(value) as Box<dyn ToSql>));
    }

    /// Found from the paths.
    fn among(&mut self, path: &PathRange) {
        self.conditions.push(format!("calls.no IN (SELECT no FROM paths WHERE {})", PathRange::SQL));
        self.values.extend(path.values().map(|value| Box::new(value) as Box<dyn ToSql>));
    }

    fn sql(&self) -> String {
        if self.conditions.is_empty() {
            String::new()
        } else {
            format!("WHERE {}", self.conditions.join(" AND "))
        }
    }
}

/// The paths that somebody means: a stretch of the index, and what of it fits.
struct PathRange {
    from: String,
    to: String,
    pattern: String,
    directory: String,
}

impl PathRange {
    /// The index finds the stretch; the pattern is looked at only inside of it.
    const SQL: &'static str = "paths.path >= ? AND paths.path < ? AND (paths.path GLOB ? OR paths.path = ?)";

    fn of(wanted: &str) -> PathRange {
        let (literal, pattern, exact) = match is_pattern(wanted) {
            true => {
                let end = wanted.find(['*', '?']).unwrap_or(wanted.len());
                (&wanted[..end], escaped(wanted), wanted)
            }
            false => {
                let path = wanted.trim_end_matches('/');
                (path, format!("{}/*", escaped(path)), path)
            }
        };
        let to = format!("{literal}\u{10FFFF}");
        PathRange { from: literal.to_owned(), to, pattern, directory: exact.to_owned() }
    }

    fn values(&self) -> impl Iterator<Item = String> {
        [&self.from, &self.to, &self.pattern, &self.directory].map(String::clone).into_iter()
    }
}

/// `[` means something to GLOB, and nothing here.
fn escaped(pattern: &str) -> String {
    pattern.replace('[', "[[]")
}
