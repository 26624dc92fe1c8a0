//! What is forgotten: what is old, and the oldest of what is too much. Calls that run stay.

use std::rc::Rc;

use tokio_postgres::Row;

use super::{documents, link::Link, room::Room};
use crate::{
    book::{BookError, Limits, Pruned},
    record::Instant,
};

/// So many calls go at once: a statement that took minutes would keep others waiting, and might never be answered.
const AT_ONCE: i64 = 2000;

/// Where the last time stands.
const LAST: (&str, &str) = ("haft", "pruned");
const DAY_MS: i64 = 86_400_000;
/// So long nobody was here, or a clock is wrong.
const PAUSE_MS: i64 = 30 * DAY_MS;

/// The same, if nobody did it in the last day. Whoever changes the document does it; what is cut off is done the next day.
pub(super) async fn daily(room: Rc<Room>, limits: Limits) {
    let (space, key) = (LAST.0.to_owned(), LAST.1.to_owned());
    let Ok(found) = documents::get(room.clone(), space.clone(), key.clone()).await else { return };
    let (version, last) = found.map_or((0, 0), |found| (found.version, found.body.as_i64().unwrap_or(0)));
    let now = Instant::now().0;
    // A clock that went back must not keep it from being done for years.
    if (0..DAY_MS).contains(&(now - last)) {
        return;
    }
    // To a clock that jumped ahead everything is old: after a long pause, age counts from the next day on.
    let limits = if last > 0 && now - last > PAUSE_MS { Limits { before: None, ..limits } } else { limits };
    let ours = documents::put(room.clone(), space, key, version, Some(now.into())).await;
    if matches!(ours, Ok(Some(_))) {
        // Nobody waits for it; what went wrong is met by the next who does.
        let _ = prune(room, limits).await;
    }
}

pub(super) async fn prune(room: Rc<Room>, limits: Limits) -> Result<Pruned, BookError> {
    room.queue().settle().await?;
    let link = room.link().await?;
    let mut pruned = Pruned::default();
    if let Some(before) = limits.before {
        older(link, before.0, &mut pruned).await?;
    }
    if let Some(most) = limits.max_bytes {
        larger(link, most, &mut pruned).await?;
    }
    Ok(pruned)
}

async fn older(link: &Link, before: i64, pruned: &mut Pruned) -> Result<(), BookError> {
    loop {
        let gone = link.ask(async |client| client.execute(OLD_CALLS, &[&before, &AT_ONCE]).await).await?;
        pruned.calls += gone;
        if gone == 0 {
            break;
        }
    }
    while link.ask(async |client| client.execute(OLD_EVENTS, &[&before, &AT_ONCE]).await).await? > 0 {}
    link.ask(async |client| client.execute(OLD_TURNS, &[&before]).await).await?;
    pruned.sessions += link.ask(async |client| client.execute(OLD_SESSIONS, &[&before]).await).await?;
    link.ask(async |client| client.execute(OLD_DOCUMENTS, &[&before]).await).await?;
    Ok(())
}

/// Whole sessions, the one first in which nothing happened for longest, until the rest is small enough.
async fn larger(link: &Link, most: u64, pruned: &mut Pruned) -> Result<(), BookError> {
    let rows = link.ask(async |client| client.query(SIZES, &[]).await).await?;
    let bytes = |row: &Row| u64::try_from(row.get::<_, i64>("bytes")).unwrap_or(0);
    let mut whole: u64 = rows.iter().map(bytes).sum();
    // One that has nothing yet makes no room: it has just begun.
    for row in rows.iter().filter(|row| !row.get::<_, bool>("runs") && bytes(row) > 0) {
        if whole <= most {
            return Ok(());
        }
        let session: String = row.get("session");
        loop {
            let gone =
                link.ask(async |client| client.execute(ITS_CALLS, &[&session, &AT_ONCE]).await).await?;
            pruned.calls += gone;
            if gone == 0 {
                break;
            }
        }
        link.ask(async |client| {
            client.execute("DELETE FROM haft_events WHERE session = $1", &[&session]).await
        })
        .await?;
        link.ask(async |client| {
            client.execute("DELETE FROM haft_turns WHERE session = $1", &[&session]).await
        })
        .await?;
        let sql = "DELETE FROM haft_sessions WHERE session = $1";
        pruned.sessions += link.ask(async |client| client.execute(sql, &[&session]).await).await?;
        whole -= bytes(row);
    }
    Ok(())
}

const OLD_CALLS: &str = "
    DELETE FROM haft_calls WHERE no IN (
        SELECT c.no FROM haft_calls c LEFT JOIN haft_leases l USING (lease)
        WHERE c.at < $1 AND NOT (c.state = 0 AND coalesce(l.until > clock_timestamp(), false)) LIMIT $2)";

const OLD_EVENTS: &str = "
    DELETE FROM haft_events WHERE no IN (
        SELECT e.no FROM haft_events e
        WHERE e.at < $1 AND NOT EXISTS (SELECT FROM haft_calls c WHERE c.key = e.key) LIMIT $2)";

const OLD_TURNS: &str = "
    DELETE FROM haft_turns t
    WHERE t.at < $1 AND NOT EXISTS (SELECT FROM haft_calls c WHERE c.session = t.session AND c.turn = t.turn)";

const OLD_SESSIONS: &str = "
    DELETE FROM haft_sessions s
    WHERE s.last < $1 AND NOT EXISTS (SELECT FROM haft_calls c WHERE c.session = s.session)";

/// What sessions remember goes with them.
const OLD_DOCUMENTS: &str = "
    DELETE FROM haft_documents d
    WHERE d.space = 'session' AND d.changed < $1
        AND NOT EXISTS (SELECT FROM haft_sessions s WHERE s.session = d.key)";

/// As they are stored; the few hundred bytes of a row besides its texts are counted as such.
const SIZES: &str = "
    SELECT s.session, (coalesce(c.bytes, 0) + coalesce(e.bytes, 0))::bigint AS bytes, coalesce(c.runs, false) AS runs
    FROM haft_sessions s
    LEFT JOIN (
        SELECT session, sum(300 + coalesce(pg_column_size(result), 0) + pg_column_size(description)) AS bytes,
            bool_or(state = 0 AND lease IN (SELECT lease FROM haft_leases WHERE until > clock_timestamp())) AS runs
        FROM haft_calls GROUP BY session) c USING (session)
    LEFT JOIN (
        SELECT session, sum(150 + pg_column_size(body)) AS bytes FROM haft_events GROUP BY session) e USING (session)
    ORDER BY s.last";

const ITS_CALLS: &str =
    "DELETE FROM haft_calls WHERE no IN (SELECT no FROM haft_calls WHERE session = $1 LIMIT $2)";
