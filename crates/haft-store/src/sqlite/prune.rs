//! Forgetting: what is too old, and what is too much.
//!
//! A little at a time, so that nobody who wants to write waits long, and so that a process which ends in the middle has
//! forgotten something.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, Result, TransactionBehavior, params};

use super::owner::Owners;
use crate::{
    book::{Limits, Pruned},
    record::Instant,
};

/// So many calls are forgotten at a time.
const CHUNK: i64 = 500;
const DAY_MS: i64 = 86_400_000;
/// So long nobody was here, or the clock is wrong.
const PAUSE_MS: i64 = 30 * DAY_MS;
/// Where the last time stands.
const LAST: (&str, &str) = ("haft", "pruned");

/// The same, if it was not done in the last day. Says whether there is nothing left to do today.
pub(super) fn daily(
    db: &mut Connection,
    owners: &Owners,
    limits: Limits,
    go_on: &dyn Fn() -> bool,
) -> Result<bool> {
    let sql = "SELECT body FROM documents WHERE space = ?1 AND key = ?2";
    let last: Option<String> = db.query_row(sql, [LAST.0, LAST.1], |row| row.get(0)).optional()?;
    let now = Instant::now().0;
    let last = last.and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    // A clock that went back must not keep it from being done for years.
    if (0..DAY_MS).contains(&(now - last)) {
        return Ok(true);
    }
    // To a clock that jumped ahead everything is old: after a long pause, age counts from the next day on.
    let limits = if last > 0 && now - last > PAUSE_MS { Limits { before: None, ..limits } } else { limits };
    prune(db, owners, limits, go_on)?;
    if !go_on() {
        return Ok(false);
    }
    owners.sweep();
    // What was once counted of a book with few calls has SQLite look through all of them when they are many. Where to begin is
    // said in each query, and needs no counting.
    db.execute_batch("DROP TABLE IF EXISTS sqlite_stat1; DROP TABLE IF EXISTS sqlite_stat4;")?;
    let sql = "INSERT OR REPLACE INTO documents (space, key, version, body) VALUES (?1, ?2, 1, ?3)";
    db.execute(sql, params![LAST.0, LAST.1, now.to_string()])?;
    Ok(true)
}

/// Forgets until nothing is too old or too much, or `go_on` says that there is something better to do.
pub(super) fn prune(
    db: &mut Connection,
    owners: &Owners,
    limits: Limits,
    go_on: &dyn Fn() -> bool,
) -> Result<Pruned> {
    let mut pruned = Pruned::default();
    loop {
        let what = match (limits.before, limits.max_bytes) {
            (_, Some(most)) if size(db)? > most => What::Oldest,
            (Some(before), _) => What::Before(before.0),
            (None, _) => break,
        };
        let some = forget(db, owners, what)?;
        pruned.calls += some.calls;
        pruned.sessions += some.sessions;
        if some.calls == 0 || !go_on() {
            break;
        }
    }
    if pruned.calls > 0 {
        db.execute_batch(
            "DELETE FROM bodies WHERE id NOT IN (SELECT decision FROM calls WHERE decision IS NOT NULL);
             DELETE FROM directories WHERE NOT EXISTS (SELECT 1 FROM touched WHERE directory = directories.id);
             DELETE FROM names WHERE NOT EXISTS (SELECT 1 FROM touched WHERE touched.name = names.id);
             DELETE FROM spans WHERE block < (SELECT min(no) FROM calls) >> 10;
             PRAGMA incremental_vacuum;",
        )?;
    }
    Ok(pruned)
}

/// How much is in use. What was freed is used again.
fn size(db: &Connection) -> Result<u64> {
    let figure = |name: &str| db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let pages = figure("page_count")?.saturating_sub(figure("freelist_count")?);
    Ok(pages.saturating_mul(figure("page_size")?).unsigned_abs())
}

/// What is forgotten.
#[derive(Clone, Copy)]
enum What {
    /// What is older than this.
    Before(i64),
    /// The oldest, however young it is.
    Oldest,
}

/// Forgets the oldest calls of what is meant, and the sessions of which nothing is left. Calls that run stay.
fn forget(db: &mut Connection, owners: &Owners, what: What) -> Result<Pruned> {
    let before = if let What::Before(before) = what { before } else { i64::MAX };
    let forgetting = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let sql = "SELECT no, session, state, owner FROM spans CROSS JOIN calls ON no BETWEEN block << 10 AND (block << 10) + 1023
        WHERE earliest < ?1 AND at < ?1 ORDER BY block, no LIMIT ?2";
    let oldest: Vec<(i64, i64, i64, Option<String>)> = forgetting
        .prepare_cached(sql)?
        .query_map(params![before, CHUNK], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_>>()?;
    let runs =
        |state: i64, owner: Option<&str>| state == 0 && owner.is_some_and(|owner| owners.is_alive(owner));
    let (mut pruned, mut emptied) = (Pruned::default(), BTreeSet::new());
    for (no, session, ..) in oldest.iter().filter(|(_, _, state, owner)| !runs(*state, owner.as_deref())) {
        for sql in [
            "DELETE FROM touched WHERE no = ?1",
            "DELETE FROM events WHERE no = ?1",
            "DELETE FROM results WHERE no = ?1",
            "DELETE FROM calls WHERE no = ?1",
        ] {
            forgetting.prepare_cached(sql)?.execute([no])?;
        }
        pruned.calls += 1;
        emptied.insert(*session);
    }
    if let What::Before(before) = what {
        let mut old = forgetting.prepare_cached("SELECT id FROM sessions WHERE last < ?1")?;
        emptied = old.query_map([before], |row| row.get(0))?.collect::<Result<_>>()?;
    }
    pruned.sessions = forget_empty(&forgetting, &emptied)?;
    forgetting.commit()?;
    Ok(pruned)
}

/// Those of these sessions that have no calls, and what only they had. Never any session without calls: one that has just begun
/// has none yet.
fn forget_empty(db: &Connection, sessions: &BTreeSet<i64>) -> Result<u64> {
    let mut forgotten = 0;
    for id in sessions {
        let sql =
            "DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM calls WHERE session = ?1)";
        if db.prepare_cached(sql)?.execute([id])? > 0 {
            for sql in ["DELETE FROM turns WHERE session = ?1", "DELETE FROM events WHERE session = ?1"] {
                db.prepare_cached(sql)?.execute([id])?;
            }
            forgotten += 1;
        }
    }
    Ok(forgotten)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::{schema::open_to_write, write::FIND};

    #[test]
    fn a_call_is_found_by_its_key_whatever_was_once_counted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let mut db = open_to_write(&path, &|_: &str| ()).unwrap();
        let call =
            "INSERT INTO calls (session, call, digest, nth, turn, tool, description, state, at, repeatable)
            VALUES (1, 'a', zeroblob(16), 0, 1, 'Read', '', 1, 0, 1)";
        db.execute_batch(&format!("{call}; ANALYZE;")).unwrap();
        let plan = |db: &Connection| -> String {
            let sql = format!("EXPLAIN QUERY PLAN {FIND}");
            db.query_row(&sql, params!["a", 1, [0u8; 16], 0], |row| row.get(3)).unwrap()
        };
        assert!(plan(&db).contains("calls_key (call=? AND session=?"), "{}", plan(&db));
        let limits = Limits { before: None, max_bytes: None };
        assert!(daily(&mut db, &Owners::of(&path), limits, &|| true).unwrap());
        let counted = "SELECT count(*) FROM sqlite_master WHERE name LIKE 'sqlite_stat%'";
        assert_eq!(db.query_row(counted, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    }
}
