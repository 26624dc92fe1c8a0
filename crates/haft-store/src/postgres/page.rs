//! All of it, a page at a time: for whoever takes the whole book along.

use std::{collections::HashMap, fmt::Write, rc::Rc};

use haft_engine::session::CallKey;
use haft_tool::SessionId;
use tokio_postgres::Row;

use super::{
    read::{Query, call, calls_query, counted, event, limit, session, small},
    room::Room,
    text::{kept, shown},
    write::{LATELY_MS, hash},
};
use crate::{
    book::{BookError, Bookmark, CallFilter, Page, Part},
    record::{AnyRow, CallNo, EventRow, Instant, TurnRow, WholeCall},
};

/// So many events are looked at in one statement for those of no call: a statement that found nothing in a large table would be
/// taken for one that is not answered.
const LOOKED_AT: i64 = 20_000;
/// So many calls come at once: each brings its result.
const MOST_CALLS: usize = 100;

pub(super) async fn page(
    room: Rc<Room>,
    filter: CallFilter,
    from: Option<Bookmark>,
) -> Result<Page, BookError> {
    let filter = CallFilter { most: filter.most.max(1), ..filter };
    let from = match from {
        Some(from) => from,
        None => Bookmark::first(&filter, last(&room).await?),
    };
    match from.part {
        Part::Sessions => sessions(&room, &filter, &from).await,
        Part::Turns => turns(&room, &filter, &from).await,
        Part::Events => events(&room, &filter, &from).await,
        Part::Calls => calls(&room, &filter, &from).await,
    }
}

async fn found(room: &Rc<Room>, query: &Query) -> Result<Vec<Row>, BookError> {
    Ok(room.link().await?.ask(async |client| query.rows(client).await).await?)
}

/// The last event and the last call.
async fn last(room: &Rc<Room>) -> Result<[i64; 2], BookError> {
    let sql = "SELECT coalesce((SELECT max(no) FROM haft_events), 0), coalesce((SELECT max(no) FROM haft_calls), 0)";
    let rows = found(room, &Query::new(sql)).await?;
    Ok(rows.first().map_or([0; 2], |row| [row.get(0), row.get(1)]))
}

async fn sessions(room: &Rc<Room>, filter: &CallFilter, from: &Bookmark) -> Result<Page, BookError> {
    let mut query = Query::new("SELECT * FROM haft_sessions WHERE true");
    query.and("session > $", Some(from.name.clone()));
    query.and("session = $", of_session(filter));
    // Its word may be a little older than its last call.
    query.and("last >= $", filter.since.map(|at| at.0.saturating_sub(LATELY_MS)));
    query.and("began < $", filter.until.map(|at| at.0));
    let most = query.value(limit(filter.most));
    let _ = write!(query.sql, " ORDER BY session LIMIT {most}");
    query.sql = counted(&query.sql, "session");
    let rows = found(room, &query).await?;
    let behind = rows.last().map(|row| from.behind(row.get("session"), [0; 2]));
    let mut page = part(filter, from, rows.iter().map(|row| AnyRow::Session(session(row))).collect(), behind);
    let lasted = |row: &AnyRow| !matches!(row, AnyRow::Session(row) if filter.since.is_some_and(|since| row.last < since));
    page.rows.retain(lasted);
    Ok(page)
}

async fn turns(room: &Rc<Room>, filter: &CallFilter, from: &Bookmark) -> Result<Page, BookError> {
    let mut query = Query::new("SELECT session, turn, at, ended FROM haft_turns WHERE true");
    let (name, number) = (query.value(from.name.clone()), query.value(from.numbers[1]));
    let _ = write!(query.sql, " AND (session, turn) > ({name}, {number})");
    query.and("session = $", of_session(filter));
    within(&mut query, filter);
    let most = query.value(limit(filter.most));
    let _ = write!(query.sql, " ORDER BY session, turn LIMIT {most}");
    let rows = found(room, &query).await?;
    let turn = |row: &Row| {
        AnyRow::Turn(TurnRow {
            session: SessionId::from(shown(row.get("session"))),
            turn: small(row.get("turn")),
            at: Instant(row.get("at")),
            ended: row.get::<_, Option<i64>>("ended").map(Instant),
        })
    };
    let behind = rows.last().map(|row| from.behind(row.get("session"), [0, row.get("turn")]));
    Ok(part(filter, from, rows.iter().map(turn).collect(), behind))
}

/// A page that is not full was the last of its part.
fn part(filter: &CallFilter, from: &Bookmark, rows: Vec<AnyRow>, behind: Option<Bookmark>) -> Page {
    let next = if rows.len() < filter.most { from.next_part() } else { behind };
    Page { rows, next }
}

/// Those of no call, and those of calls that nobody could record.
async fn events(room: &Rc<Room>, filter: &CallFilter, from: &Bookmark) -> Result<Page, BookError> {
    let ([after, _], [last, _]) = (from.numbers, from.last);
    let end = after.saturating_add(LOOKED_AT).min(last);
    let mut query = Query::new(
        "SELECT no, session, call, digest, nth, turn, at, kind, body FROM haft_events e
         WHERE (key IS NULL OR NOT EXISTS (SELECT FROM haft_calls c WHERE c.key = e.key))",
    );
    query.and("no > $", Some(after));
    query.and("no <= $", Some(end));
    query.and("session = $", of_session(filter));
    within(&mut query, filter);
    let most = query.value(limit(filter.most));
    let _ = write!(query.sql, " ORDER BY no LIMIT {most}");
    let rows = found(room, &query).await?;
    let next = match rows.last() {
        Some(row) if rows.len() >= filter.most => Some(from.behind("", [row.get("no"), 0])),
        _ if end < last => Some(from.behind("", [end, 0])),
        _ => from.next_part(),
    };
    Ok(Page { rows: rows.iter().map(|row| AnyRow::Event(event(row))).collect(), next })
}

async fn calls(room: &Rc<Room>, filter: &CallFilter, from: &Bookmark) -> Result<Page, BookError> {
    let (after, before) = (Some(CallNo(from.numbers[0])), Some(CallNo(from.last[1].saturating_add(1))));
    let most = filter.most.min(MOST_CALLS);
    let query = calls_query(&CallFilter { after, before, most, ..filter.clone() }, ", c.result");
    let rows = found(room, &query).await?;
    let mut events = events_of(room, &rows).await?;
    let whole = |row: &Row| {
        let call = call(row);
        let result = row.get::<_, Option<String>>("result").map(shown);
        let events = events.remove(&call.key).unwrap_or_default();
        AnyRow::Call(Box::new(WholeCall { call, events, result }))
    };
    let next = rows.last().filter(|_| rows.len() >= most);
    let next = next.map(|row| from.behind("", [row.get("no"), 0]));
    Ok(Page { rows: rows.iter().map(whole).collect(), next })
}

async fn events_of(room: &Rc<Room>, calls: &[Row]) -> Result<HashMap<CallKey, Vec<EventRow>>, BookError> {
    let mut query =
        Query::new("SELECT session, call, digest, nth, turn, at, kind, body FROM haft_events WHERE true");
    let keys: Vec<Vec<u8>> = calls.iter().map(|row| hash(&call(row).key)).collect();
    query.and("key = ANY ($)", Some(keys));
    query.sql.push_str(" ORDER BY no");
    let mut events: HashMap<CallKey, Vec<EventRow>> = HashMap::new();
    for event in found(room, &query).await?.iter().map(event) {
        if let Some(key) = event.key.clone() {
            events.entry(key).or_default().push(event);
        }
    }
    Ok(events)
}

fn of_session(filter: &CallFilter) -> Option<String> {
    filter.session.as_ref().map(|session| kept(session.as_str()).into_owned())
}

fn within(query: &mut Query, filter: &CallFilter) {
    query.and("at >= $", filter.since.map(|at| at.0));
    query.and("at < $", filter.until.map(|at| at.0));
}
