//! Which calls: a filter as a statement that takes no longer in a large book than in a small one.
//!
//! What the tables hold is not known when a statement is planned, and a wrong guess looks at every call. So it is said here
//! where to begin: at an index whose rows come in the order of their numbers, within the spans that a time leaves, or at the
//! places that were touched.

use haft_engine::session::CallState;
use rusqlite::{Result, ToSql, params_from_iter};

use super::{places::Places, read::Eye, write::code};
use crate::{
    book::CallFilter,
    record::{CallNo, CallRow},
};

/// Of so many touched places each call is looked up. Of more, calls are looked at from the latest that can fit.
const FEW: i64 = 20_000;

const COLUMNS: &str = "calls.no, sessions.name, calls.call, calls.digest, calls.nth, calls.turn, calls.tool,
    calls.description, calls.verdict, calls.class, calls.state, calls.fault, calls.at, calls.duration_us,
    calls.repeatable, calls.owner";

impl Eye<'_> {
    /// Calls that fit, in the order that the filter asks for.
    pub(super) fn calls(&self, filter: &CallFilter) -> Result<Vec<CallRow>> {
        self.calls_by(filter, FEW)
    }

    fn calls_by(&self, filter: &CallFilter, few: i64) -> Result<Vec<CallRow>> {
        let Some(wanted) = &filter.path else { return self.fetch(filter, &Query::of(filter)) };
        let places = Places::of(wanted).sorted_out(self.db, few)?;
        if places.count(self.db, few)? <= few {
            return self.fetch(filter, &Query::among(&places, filter));
        }
        let mut query = Query::of(filter);
        query.touching(&places);
        if filter.after.is_none() {
            query.and("calls.no <= ?", places.latest(self.db)?);
        }
        self.fetch(filter, &query)
    }

    fn fetch(&self, filter: &CallFilter, query: &Query) -> Result<Vec<CallRow>> {
        let mut statement = self.db.prepare_cached(&query.sql(filter.after.is_some()))?;
        let mut rows = statement.query(params_from_iter(&query.values))?;
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
}

/// Conditions, what is filled in for their question marks, and where to begin.
struct Query {
    /// The index that leads to the calls.
    begin: &'static str,
    /// Whether the spans come first.
    in_spans: bool,
    conditions: Vec<String>,
    values: Vec<Box<dyn ToSql>>,
}

impl Query {
    /// Found from the calls.
    fn of(filter: &CallFilter) -> Query {
        let in_spans = filter.since.is_some() || filter.until.is_some();
        Query::new(beginning(filter), in_spans, filter)
    }

    /// Found from the places that were touched, and from nothing else.
    fn among(places: &Places, filter: &CallFilter) -> Query {
        let mut query = Query::new(BY_NUMBER, false, filter);
        query.conditions.push(format!("calls.no IN ({})", places.numbers()));
        query.values.extend(places.values());
        query
    }

    fn new(begin: &'static str, in_spans: bool, filter: &CallFilter) -> Query {
        let mut query = Query { begin, in_spans, conditions: Vec::new(), values: Vec::new() };
        if let Some(session) = &filter.session {
            query
                .and("calls.session = (SELECT id FROM sessions WHERE name = ?)", session.as_str().to_owned());
        }
        if let Some(turn) = filter.turn {
            query.and("calls.turn = ?", turn);
        }
        if let Some(call) = &filter.call {
            query.and("calls.call = ?", call.clone());
        }
        if let Some(tool) = &filter.tool {
            query.and("calls.tool = ?", tool.clone());
        }
        if let Some(verdict) = &filter.verdict {
            query.and("calls.verdict = ?", verdict.clone());
        }
        query.of_state(filter);
        query.of_time(filter);
        for (condition, bound) in [("calls.no > ?", filter.after), ("calls.no < ?", filter.before)] {
            if let Some(CallNo(bound)) = bound {
                query.and(condition, bound);
            }
        }
        query
    }

    /// That a row is in an index of few is said in the words of the index: it is not concluded.
    fn of_state(&mut self, filter: &CallFilter) {
        match filter.state {
            // One that is open in the table may have been cut off.
            Some(CallState::CutOff) => self.conditions.push("calls.state IN (0, 3)".to_owned()),
            Some(state) => self.and("calls.state = ?", code(state)),
            None => {}
        }
        match self.begin {
            BY_STATE => self.conditions.push("calls.state <> 1".to_owned()),
            BY_VERDICT => self.conditions.push("calls.verdict <> 'allow'".to_owned()),
            _ => {}
        }
    }

    fn of_time(&mut self, filter: &CallFilter) {
        let bounds = [
            ("calls.at >= ?", "spans.latest >= ?", filter.since),
            ("calls.at < ?", "spans.earliest < ?", filter.until),
        ];
        for (of_call, of_span, bound) in bounds {
            if let Some(bound) = bound {
                self.and(of_call, bound.0);
                if self.in_spans {
                    self.and(of_span, bound.0);
                }
            }
        }
    }

    fn and(&mut self, condition: &str, value: impl ToSql + 'static) {
        self.conditions.push(condition.to_owned());
        self.values.push(Box::new(value));
    }

    /// Each call is asked for its places.
    fn touching(&mut self, places: &Places) {
        let sql = format!("EXISTS (SELECT 1 FROM touched WHERE touched.no = calls.no AND {})", places.each());
        self.conditions.push(sql);
        self.values.extend(places.values());
    }

    fn sql(&self, earliest_first: bool) -> String {
        let order = if earliest_first { "ASC" } else { "DESC" };
        let (spans, order) = match self.in_spans {
            true => (SPANS, format!("spans.block {order}, calls.no {order}")),
            false => ("", format!("calls.no {order}")),
        };
        let within = if self.in_spans { WITHIN } else { "true" };
        let conditions: String =
            self.conditions.iter().map(|condition| format!(" AND {condition}")).collect();
        format!(
            "SELECT {COLUMNS} FROM {spans} calls {} CROSS JOIN sessions
            WHERE {within}{conditions} AND sessions.id = calls.session ORDER BY {order}",
            self.begin
        )
    }
}

/// CROSS: in this order.
const SPANS: &str = "spans CROSS JOIN";
const WITHIN: &str = "calls.no BETWEEN spans.block << 10 AND (spans.block << 10) + 1023";

const BY_NUMBER: &str = "NOT INDEXED";
const BY_STATE: &str = "INDEXED BY calls_state";
const BY_VERDICT: &str = "INDEXED BY calls_verdict";

/// Where the fewest calls are, most likely. The rest of the filter is looked at in the same index.
fn beginning(filter: &CallFilter) -> &'static str {
    match filter {
        CallFilter { call: Some(_), .. } => "INDEXED BY calls_key",
        CallFilter { state: Some(state), .. } if *state != CallState::Finished => BY_STATE,
        CallFilter { session: Some(_), .. } => "INDEXED BY calls_session",
        CallFilter { tool: Some(_), .. } => "INDEXED BY calls_tool",
        CallFilter { verdict: Some(verdict), .. } if verdict != "allow" => BY_VERDICT,
        _ => BY_NUMBER,
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params};

    use super::*;
    use crate::{
        book::path_fits,
        record::Instant,
        sqlite::{owner::Owners, schema},
    };

    /// A book of the first form in which each call touched one path, as the present form.
    fn book(at: &std::path::Path, paths: &[String]) -> Connection {
        let old = Connection::open(at).unwrap();
        old.execute_batch(include_str!("schema_1.sql")).unwrap();
        old.execute_batch(
            "PRAGMA user_version = 1; INSERT INTO sessions (name, began, last) VALUES ('s', 0, 0)",
        )
        .unwrap();
        old.execute_batch("BEGIN").unwrap();
        for (no, path) in (1..).zip(paths) {
            let call = "INSERT INTO calls (no, session, call, digest, nth, turn, tool, description, verdict, state, at, repeatable)
                VALUES (?1, 1, ?1, zeroblob(16), 0, 1, ?2, '', 'allow', 1, ?3, 1)";
            // The clock goes back and forth.
            let (tool, time) = (if no % 3 == 0 { "A" } else { "B" }, (no * 7919) % 1000);
            old.execute(call, params![no, tool, time]).unwrap();
            old.execute("INSERT INTO paths VALUES (?1, ?2, 1)", params![path, no]).unwrap();
        }
        old.execute_batch("COMMIT").unwrap();
        drop(old);
        schema::open_to_read(at).unwrap().unwrap()
    }

    fn all_of(letters: &str, longest: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        for start in 0.. {
            match all.get(start).cloned() {
                Some(word) if word.len() < longest => {
                    all.extend(letters.chars().map(|letter| format!("{word}{letter}")));
                }
                _ => return all,
            }
        }
        all
    }

    #[test]
    fn what_is_found_is_what_fits_wherever_the_search_begins() {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<String> = all_of("a/", 4).iter().map(|path| format!("/{path}")).collect();
        let db = book(&directory.path().join("journal.db"), &paths);
        let eye = Eye { db: &db, owners: &Owners::of(directory.path()) };
        for pattern in all_of("a/*?", 4).into_iter().filter(|pattern| !pattern.is_empty()) {
            let filter = CallFilter { path: Some(pattern.clone()), most: 1000, ..CallFilter::default() };
            let expected: Vec<&String> =
                paths.iter().rev().filter(|path| path_fits(&pattern, path)).collect();
            for few in [0, 3, FEW] {
                let found = eye.calls_by(&filter, few).unwrap();
                let found: Vec<&String> = found.iter().map(|call| &call.paths[0].path).collect();
                assert_eq!(found, expected, "{pattern} with {few}");
            }
        }
    }

    #[test]
    fn a_time_leaves_what_began_then_whatever_the_clock_did() {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<String> = (0..5000).map(|n| format!("/w/{n}")).collect();
        let db = book(&directory.path().join("journal.db"), &paths);
        let eye = Eye { db: &db, owners: &Owners::of(directory.path()) };
        for (since, until, tool) in [(0, 1, None), (10, 20, None), (990, 5000, Some("A")), (3, 3, None)] {
            let filter = CallFilter {
                since: Some(Instant(since)),
                until: Some(Instant(until)),
                tool: tool.map(str::to_owned),
                most: 40,
                ..CallFilter::default()
            };
            let fits =
                |no: &i64| (since..until).contains(&((no * 7919) % 1000)) && (tool.is_none() || no % 3 == 0);
            let expected: Vec<i64> = (1..=5000).rev().filter(fits).take(40).collect();
            let found: Vec<i64> = eye.calls(&filter).unwrap().iter().map(|call| call.no.0).collect();
            assert_eq!(found, expected, "{since} to {until}");
        }
    }
}
