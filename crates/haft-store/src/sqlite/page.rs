//! All of it, a page at a time: for whoever takes the whole book along.
//!
//! Every part is read in the order of an index, from behind the last row of the page before, so that the last page of a million
//! calls costs what the first one does.

use haft_engine::session::CallState;
use rusqlite::{OptionalExtension, Result, Row, params_from_iter};

use super::read::{Eye, SESSIONS, Where, event, limit, session};
use crate::{
    book::{Bookmark, CallFilter, Page, Part},
    record::{AnyRow, CallNo, CallRow, EventRow, Instant, TurnRow, WholeCall},
};

/// A page of calls ends behind the one with which so much was read.
const PAGE_BYTES: usize = 8 << 20;

impl Eye<'_> {
    pub(super) fn page(&self, filter: &CallFilter, from: Option<Bookmark>) -> Result<Page> {
        let filter = &CallFilter { most: filter.most.max(1), ..filter.clone() };
        let from = match from {
            Some(from) => from,
            None => Bookmark::first(filter, self.last()?),
        };
        match from.part {
            Part::Sessions => self.sessions_page(filter, &from),
            Part::Turns => self.turns_page(filter, &from),
            Part::Events => self.events_page(filter, &from),
            Part::Calls => self.calls_page(filter, &from),
        }
    }

    /// The last event and the last call.
    fn last(&self) -> Result<[i64; 2]> {
        let sql = "SELECT ifnull((SELECT max(id) FROM events), 0), ifnull((SELECT max(no) FROM calls), 0)";
        self.db.query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?]))
    }

    fn sessions_page(&self, filter: &CallFilter, from: &Bookmark) -> Result<Page> {
        let mut conditions = Where::default();
        conditions.and("sessions.id > ?", from.numbers[0]);
        if let Some(session) = &filter.session {
            conditions.and("sessions.name = ?", session.as_str().to_owned());
        }
        if let Some(since) = filter.since {
            conditions.and("sessions.last >= ?", since.0);
        }
        if let Some(until) = filter.until {
            conditions.and("sessions.began < ?", until.0);
        }
        let sql = format!("{SESSIONS} {} ORDER BY sessions.id", conditions.sql());
        self.rows(filter, from, &sql, &conditions, |row| {
            Ok((AnyRow::Session(session(row)?), [row.get("id")?, 0]))
        })
    }

    fn turns_page(&self, filter: &CallFilter, from: &Bookmark) -> Result<Page> {
        let mut conditions = Where::default();
        let [session, turn] = from.numbers;
        conditions.and("(turns.session, turns.turn) > (?, ?)", session);
        conditions.values.push(Box::new(turn));
        if let Some(session) = &filter.session {
            let id = "turns.session = (SELECT id FROM sessions WHERE name = ?)";
            conditions.and(id, session.as_str().to_owned());
        }
        within(&mut conditions, filter, ["turns.at >= ?", "turns.at < ?"]);
        let sql = format!(
            "SELECT sessions.name, turns.turn, turns.at, turns.ended, turns.session
            FROM turns CROSS JOIN sessions ON sessions.id = turns.session {} ORDER BY turns.session, turns.turn",
            conditions.sql()
        );
        self.rows(filter, from, &sql, &conditions, |row| {
            let turn = TurnRow {
                session: row.get::<_, String>(0)?.into(),
                turn: row.get(1)?,
                at: Instant(row.get(2)?),
                ended: row.get::<_, Option<i64>>(3)?.map(Instant),
            };
            Ok((AnyRow::Turn(turn), [row.get(4)?, row.get(1)?]))
        })
    }

    /// Those of no call. They are together in the index, in their order.
    fn events_page(&self, filter: &CallFilter, from: &Bookmark) -> Result<Page> {
        let mut conditions = Where::default();
        conditions.and("events.no IS NULL AND events.id > ?", from.numbers[0]);
        conditions.and("events.id <= ?", from.last[0]);
        if let Some(session) = &filter.session {
            let id = "events.session = (SELECT id FROM sessions WHERE name = ?)";
            conditions.and(id, session.as_str().to_owned());
        }
        within(&mut conditions, filter, ["events.at >= ?", "events.at < ?"]);
        let sql = format!(
            "SELECT sessions.name, NULL, NULL, NULL, events.turn, events.at, events.kind, events.body, events.id
            FROM events INDEXED BY events_no CROSS JOIN sessions ON sessions.id = events.session {} ORDER BY events.id",
            conditions.sql()
        );
        self.rows(filter, from, &sql, &conditions, |row| Ok((AnyRow::Event(event(row)?), [row.get(8)?, 0])))
    }

    /// A page of a part whose rows are small.
    fn rows(
        &self,
        filter: &CallFilter,
        from: &Bookmark,
        sql: &str,
        conditions: &Where,
        read: impl Fn(&Row<'_>) -> Result<(AnyRow, [i64; 2])>,
    ) -> Result<Page> {
        let mut statement = self.db.prepare_cached(&format!("{sql} LIMIT {}", limit(filter.most)))?;
        let found = statement.query_map(params_from_iter(&conditions.values), |row| read(row))?;
        let (mut rows, mut behind) = (Vec::new(), from.numbers);
        for row in found {
            let (row, numbers) = row?;
            rows.push(row);
            behind = numbers;
        }
        let next = if rows.len() < filter.most { from.next_part() } else { Some(from.behind("", behind)) };
        Ok(Page { rows, next })
    }

    fn calls_page(&self, filter: &CallFilter, from: &Bookmark) -> Result<Page> {
        let [read, _] = from.numbers;
        let (after, before) = (Some(CallNo(read)), Some(CallNo(from.last[1].saturating_add(1))));
        let calls = self.calls(&CallFilter { after, before, ..filter.clone() })?;
        let (found, mut rows, mut behind, mut bytes) = (calls.len(), Vec::new(), read, 0);
        for call in calls {
            behind = call.no.0;
            rows.push(AnyRow::Call(Box::new(self.whole(call, &mut bytes)?)));
            if bytes > PAGE_BYTES {
                break;
            }
        }
        let is_last = found < filter.most && rows.len() == found;
        Ok(Page { rows, next: (!is_last).then(|| from.behind("", [behind, 0])) })
    }

    /// A call with all of it. What was read for it is added to `bytes`.
    fn whole(&self, call: CallRow, bytes: &mut usize) -> Result<WholeCall> {
        let no = call.no.0;
        let mut events = self.decision(no)?;
        let sql = "SELECT ?2, ?3, ?4, ?5, turn, at, kind, body FROM events WHERE no = ?1 ORDER BY id";
        let key = (no, call.session.as_str(), call.call.as_str(), call.key.digest.0, call.key.nth);
        let mut statement = self.db.prepare_cached(sql)?;
        let read = |row: &Row<'_>| {
            *bytes += row.get_ref(7)?.as_bytes().map_or(0, <[u8]>::len);
            event(row)
        };
        events.extend(statement.query_map(key, read)?.collect::<Result<Vec<EventRow>>>()?);
        let result = self.told(&call)?;
        *bytes += result.as_ref().map_or(0, String::len);
        Ok(WholeCall { call, events, result })
    }

    /// What came of a call. One that runs again after a refusal has that of the refusal until it ends.
    fn told(&self, call: &CallRow) -> Result<Option<String>> {
        if matches!(call.state, CallState::Open | CallState::CutOff) {
            return Ok(None);
        }
        let mut statement = self.db.prepare_cached("SELECT result FROM results WHERE no = ?1")?;
        statement.query_row([call.no.0], |row| row.get(0)).optional()
    }
}

fn within(conditions: &mut Where, filter: &CallFilter, [since, until]: [&'static str; 2]) {
    for (condition, bound) in [(since, filter.since), (until, filter.until)] {
        if let Some(bound) = bound {
            conditions.and(condition, bound.0);
        }
    }
}
