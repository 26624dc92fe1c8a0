//! What is found again.

use std::{fmt::Write, rc::Rc};

use deadpool_postgres::Client;
use haft_engine::session::{CallKey, CallState, Digest, PastCall};
use haft_tool::{CallId, SessionId};
use serde_json::Value;
use tokio_postgres::{Error, Row, types::ToSql};

use super::{
    room::Room,
    text::{kept, shown},
    write::{FINISHED, OPEN, REFUSED, hash},
};
use crate::{
    book::{BookError, CallFilter, EventFilter, is_pattern},
    record::{CallNo, CallRow, EventKind, EventRow, Instant, PathRow, SessionRow},
};

/// A condition's values, in their order.
#[derive(Default)]
pub(super) struct Query {
    pub(super) sql: String,
    values: Vec<Box<dyn ToSql + Sync>>,
}

impl Query {
    pub(super) fn new(sql: &str) -> Query {
        Query { sql: sql.to_owned(), values: Vec::new() }
    }

    /// Adds a value, and gives the name that it has in the statement.
    pub(super) fn value(&mut self, value: impl ToSql + Sync + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    /// Adds a condition with one value, `$`.
    pub(super) fn and(&mut self, condition: &str, value: Option<impl ToSql + Sync + 'static>) {
        if let Some(value) = value {
            let name = self.value(value);
            // Writing to a text does not fail.
            let _ = write!(self.sql, " AND {}", condition.replace('$', &name));
        }
    }

    pub(super) async fn rows(&self, client: &Client) -> Result<Vec<Row>, Error> {
        let values: Vec<&(dyn ToSql + Sync)> = self.values.iter().map(|value| &**value as _).collect();
        client.query(&self.sql, &values).await
    }
}

/// What a row that is open, with nobody there, is found as.
const STATE: &str =
    "CASE WHEN c.state = 0 AND NOT coalesce(l.until > clock_timestamp(), false) THEN 3 ELSE c.state END";

fn state(number: i32) -> CallState {
    match i16::try_from(number) {
        Ok(OPEN) => CallState::Open,
        Ok(FINISHED) => CallState::Finished,
        Ok(REFUSED) => CallState::Refused,
        _ => CallState::CutOff,
    }
}

fn number(state: CallState) -> i32 {
    match state {
        CallState::Open => OPEN.into(),
        CallState::Finished => FINISHED.into(),
        CallState::Refused => REFUSED.into(),
        CallState::CutOff => 3,
    }
}

pub(super) async fn past(
    room: Rc<Room>,
    session: SessionId,
    most: usize,
) -> Result<Vec<PastCall>, BookError> {
    let mut query = Query::new(&format!(
        "SELECT c.session, c.call, c.digest, c.nth, c.turn, {STATE} AS state,
             EXISTS (SELECT FROM haft_turns t WHERE t.session = c.session AND t.turn = c.turn AND t.ended IS NOT NULL)
                 AS turn_ended,
             (c.class IS NOT DISTINCT FROM 'read_only' AND c.repeatable) AS read_only
         FROM haft_calls c LEFT JOIN haft_leases l USING (lease) WHERE true"
    ));
    query.and("c.session = $", Some(kept(session.as_str()).into_owned()));
    let most = query.value(limit(most));
    let _ = write!(query.sql, " ORDER BY c.no DESC LIMIT {most}");
    let rows = room.link().await?.ask(async |client| query.rows(client).await).await?;
    let past = |row: &Row| PastCall {
        key: key(row),
        turn: small(row.get("turn")),
        state: state(row.get("state")),
        turn_ended: row.get("turn_ended"),
        read_only: row.get("read_only"),
    };
    Ok(rows.iter().rev().map(past).collect())
}

pub(super) async fn result(room: Rc<Room>, key: CallKey) -> Result<Option<String>, BookError> {
    let sql = "SELECT result FROM haft_calls WHERE key = $1";
    let key = hash(&key);
    let row = room.link().await?.ask(async |client| client.query_opt(sql, &[&key]).await).await?;
    Ok(row.and_then(|row| row.get::<_, Option<String>>(0)).map(shown))
}

pub(super) async fn calls(room: Rc<Room>, filter: CallFilter) -> Result<Vec<CallRow>, BookError> {
    let query = calls_query(&filter, "");
    let rows = room.link().await?.ask(async |client| query.rows(client).await).await?;
    Ok(rows.iter().map(call).collect())
}

/// Which calls comes first, by an index; only of those the rest is read, and `more`: a result may be large.
pub(super) fn calls_query(filter: &CallFilter, more: &str) -> Query {
    let mut query = Query::new(&format!(
        "SELECT c.no, c.session, c.call, c.digest, c.nth, c.turn, c.tool, c.description, c.verdict, c.class, c.fault, c.at,
             c.duration_us, c.repeatable, c.owner{more}, {STATE} AS state_now,
             ARRAY(SELECT path FROM haft_paths p WHERE p.no = c.no ORDER BY place) AS paths,
             ARRAY(SELECT writes FROM haft_paths p WHERE p.no = c.no ORDER BY place) AS writes
         FROM haft_calls c LEFT JOIN haft_leases l USING (lease) WHERE c.no IN (
             SELECT c.no FROM haft_calls c LEFT JOIN haft_leases l USING (lease) WHERE true"
    ));
    let text = |text: &String| kept(text).into_owned();
    query.and("c.session = $", filter.session.as_ref().map(|session| kept(session.as_str()).into_owned()));
    query.and("c.turn = $", filter.turn.map(i64::from));
    query.and("left(c.call, 200) = left($, 200) AND c.call = $", filter.call.as_ref().map(text));
    query.and("left(c.tool, 200) = left($, 200) AND c.tool = $", filter.tool.as_ref().map(text));
    query.and("c.verdict = $", filter.verdict.as_ref().map(text));
    if let Some(wanted) = filter.state {
        // The first half is in an index.
        let stored = if wanted == CallState::CutOff { CallState::Open } else { wanted };
        query.and("c.state = $::integer", Some(number(stored)));
        query.and(&format!("{STATE} = $::integer"), Some(number(wanted)));
    }
    if let Some(path) = &filter.path {
        and_path(&mut query, path);
    }
    query.and("c.at >= $", filter.since.map(|at| at.0));
    query.and("c.at < $", filter.until.map(|at| at.0));
    query.and("c.no > $", filter.after.map(|no| no.0));
    query.and("c.no < $", filter.before.map(|no| no.0));
    let most = query.value(limit(filter.most));
    let (order, by) = match filter {
        CallFilter { after: Some(_), .. } => ("ASC", "c.no ASC"),
        // By numbers, all that came after a time would be looked at to find what was before it.
        CallFilter { since: Some(_), .. } | CallFilter { until: Some(_), .. } => {
            ("DESC", "c.at DESC, c.no DESC")
        }
        _ => ("DESC", "c.no DESC"),
    };
    let _ = write!(query.sql, " ORDER BY {by} LIMIT {most}) ORDER BY c.no {order}");
    query
}

/// The index has the beginnings of paths: from what is certain of the wanted one to all that begins with it.
fn and_path(query: &mut Query, wanted: &str) {
    let (certain, condition, value) = if is_pattern(wanted) {
        let certain = wanted.split(['*', '?']).next().unwrap_or_default();
        (certain, "p.path LIKE ", like(wanted))
    } else {
        let wanted = wanted.trim_end_matches('/');
        (wanted, "p.path = ", kept(wanted).into_owned())
    };
    let from: String = kept(certain).chars().take(500).collect();
    let below = format!("{value}/");
    let value = query.value(value);
    let range = match from.as_str() {
        "" => String::new(),
        _ => {
            let to = query.value(format!("{from}\u{10ffff}"));
            let from = query.value(from);
            format!(
                "left(p.path, 500) COLLATE \"C\" >= {from} AND left(p.path, 500) COLLATE \"C\" < {to} AND "
            )
        }
    };
    let below = match is_pattern(wanted) {
        true => String::new(),
        false => format!(" OR starts_with(p.path, {})", query.value(below)),
    };
    let _ = write!(
        query.sql,
        " AND c.no IN (SELECT p.no FROM haft_paths p WHERE {range}({condition}{value}{below}))"
    );
}

/// The pattern in the words of SQL.
fn like(pattern: &str) -> String {
    let mut like = String::new();
    for one in kept(pattern).chars() {
        match one {
            '*' => like.push('%'),
            '?' => like.push('_'),
            '%' | '_' | '\\' => like.extend(['\\', one]),
            _ => like.push(one),
        }
    }
    like
}

pub(super) async fn events(room: Rc<Room>, filter: EventFilter) -> Result<Vec<EventRow>, BookError> {
    let mut query =
        Query::new("SELECT session, call, digest, nth, turn, at, kind, body FROM haft_events WHERE true");
    query.and("session = $", filter.session.as_ref().map(|session| kept(session.as_str()).into_owned()));
    query.and("turn = $", filter.turn.map(i64::from));
    query.and("key = $", filter.key.as_ref().map(hash));
    let kinds: Vec<String> = filter.kinds.iter().map(|kind| kept(&kind.0).into_owned()).collect();
    query.and("kind = ANY ($)", Some(kinds).filter(|kinds| !kinds.is_empty()));
    query.sql.push_str(" ORDER BY no");
    if let Some(most) = filter.most {
        query.sql.push_str(&format!(" LIMIT {}", limit(most)));
    }
    let rows = room.link().await?.ask(async |client| query.rows(client).await).await?;
    Ok(rows.iter().map(event).collect())
}

pub(super) async fn sessions(room: Rc<Room>, most: usize) -> Result<Vec<SessionRow>, BookError> {
    let most = limit(most);
    let sql = counted("SELECT * FROM haft_sessions ORDER BY last DESC LIMIT $1", "lately DESC");
    let rows = room.link().await?.ask(async |client| client.query(&sql, &[&most]).await).await?;
    Ok(rows.iter().map(session).collect())
}

pub(super) fn session(row: &Row) -> SessionRow {
    SessionRow {
        session: SessionId::from(shown(row.get("session"))),
        began: Instant(row.get("began")),
        last: Instant(row.get("lately")),
        workspace: shown(row.get("workspace")),
        caller: serde_json::from_str(row.get("caller")).unwrap_or_default(),
        mode: shown(row.get("mode")),
        turns: small(row.get("turns")),
        calls: count(row.get("calls")),
        refused: count(row.get("refused")),
        changed: count(row.get("changed")),
    }
}

/// Sessions, of which `some` says which, with what is counted of each.
pub(super) fn counted(some: &str, order: &str) -> String {
    format!(
        "SELECT s.*, greatest(s.last, c.last) AS lately, c.calls, c.refused,
             (SELECT count(DISTINCT p.path) FROM haft_paths p JOIN haft_calls w USING (no)
              WHERE w.session = s.session AND p.writes) AS changed
         FROM ({some}) s
         CROSS JOIN LATERAL (
             SELECT count(*) AS calls, count(*) FILTER (WHERE state = 2) AS refused, max(at) AS last
             FROM haft_calls WHERE session = s.session) c
         ORDER BY {order}"
    )
}

pub(super) fn call(row: &Row) -> CallRow {
    let key = key(row);
    let text = |name: &str| row.get::<_, Option<String>>(name).map(shown);
    let paths: Vec<String> = row.get("paths");
    let writes: Vec<bool> = row.get("writes");
    CallRow {
        no: CallNo(row.get("no")),
        session: key.session.clone(),
        call: key.call.clone(),
        key,
        turn: small(row.get("turn")),
        tool: shown(row.get("tool")),
        description: shown(row.get("description")),
        verdict: text("verdict"),
        class: text("class"),
        state: state(row.get("state_now")),
        fault: text("fault"),
        at: Instant(row.get("at")),
        duration_us: row.get::<_, Option<i64>>("duration_us").map(count),
        repeatable: row.get("repeatable"),
        owner: text("owner"),
        paths: paths
            .into_iter()
            .zip(writes)
            .map(|(path, writes)| PathRow { path: shown(path), writes })
            .collect(),
    }
}

pub(super) fn event(row: &Row) -> EventRow {
    let body: String = row.get("body");
    EventRow {
        session: SessionId::from(shown(row.get("session"))),
        key: row.get::<_, Option<String>>("call").map(|_| key(row)),
        turn: small(row.get("turn")),
        at: Instant(row.get("at")),
        kind: EventKind(shown(row.get("kind")).into()),
        // Written as JSON; what somebody else has put there is shown as it is.
        body: serde_json::from_str(&body).unwrap_or(Value::String(body)),
    }
}

fn key(row: &Row) -> CallKey {
    let mut digest = [0; 16];
    let stored: Vec<u8> = row.get("digest");
    digest.iter_mut().zip(stored).for_each(|(byte, stored)| *byte = stored);
    CallKey {
        session: SessionId::from(shown(row.get("session"))),
        call: CallId::from(shown(row.get("call"))),
        digest: Digest(digest),
        nth: small(row.get("nth")),
    }
}

pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
