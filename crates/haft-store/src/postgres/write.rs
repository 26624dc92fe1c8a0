//! Entries as statements.
//!
//! Every statement is such that twice is once: a call is known by its key, an event by its mark. In a transaction the rows
//! of calls come before those of sessions, and sessions in their order, so that two processes never wait for each other.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::{Client, Transaction};
use futures::future::join_all;
use haft_engine::session::CallKey;
use sha2::{Digest as _, Sha256};
use tokio_postgres::{Error, Row, types::ToSql};
use uuid::Uuid;

use super::{queue::Batch, room::Lease, text::kept};
use crate::{
    book::Durability,
    record::{Claim, Entry, EventKind, EventRow, Outcome, PathRow, Turn},
};

/// How states are written. Cut off is none of them: it is open, and nobody there.
pub(super) const OPEN: i16 = 0;
pub(super) const FINISHED: i16 = 1;
pub(super) const REFUSED: i16 = 2;

/// So many statements are on their way at once.
const IN_FLIGHT: usize = 24;

/// Writes batches in one transaction.
pub(super) async fn entries(client: &mut Client, batches: &[Batch], lease: &Lease) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    if batches.iter().all(|batch| batch.durability == Durability::Queued) {
        // Nobody was told that it is written. What somebody was told outlasts the server, too: it may end sooner than we do.
        transaction.batch_execute("SET LOCAL synchronous_commit TO off").await?;
    }
    for sql in [BEGIN, FINISH, EVENT, TOUCH] {
        // Known before they are used: one that had to be prepared first would be overtaken by the next.
        transaction.prepare_cached(sql).await?;
    }
    let all: Vec<&(Uuid, Entry)> = batches.iter().flat_map(|batch| &batch.entries).collect();
    for some in all.chunks(IN_FLIGHT) {
        // Each is sent when it is first polled, in this order, and none waits for the answer to the one before it.
        let each = some.iter().map(|(mark, entry)| write(&transaction, *mark, entry, lease));
        join_all(each).await.into_iter().collect::<Result<Vec<()>, Error>>()?;
    }
    sessions(&transaction, &all).await?;
    transaction.commit().await
}

async fn write(on: &Transaction<'_>, mark: Uuid, entry: &Entry, lease: &Lease) -> Result<(), Error> {
    match entry {
        // With the sessions, at the end.
        Entry::Turn(_) | Entry::TurnEnded { .. } => Ok(()),
        Entry::Started(claim) => begin(on, mark, claim, OPEN, lease).await.map(drop),
        Entry::Refused(claim) => begin(on, mark, claim, REFUSED, lease).await.map(drop),
        Entry::Finished(outcome) => finish(on, outcome).await,
        Entry::Touched { key, paths } => touched(on, key, paths).await,
        Entry::Event(row) => event(on, mark, row).await,
    }
}

/// The row of a call, if there is none that must stay. Gives it if it was written.
pub(super) async fn begin(
    on: &Transaction<'_>,
    mark: Uuid,
    claim: &Claim,
    state: i16,
    lease: &Lease,
) -> Result<Option<Row>, Error> {
    let Claim { key, turn, at, paths, .. } = claim;
    let digest = key.digest.0.as_slice();
    let (hash, session, call) = (hash(key), kept(key.session.as_str()), kept(key.call.as_str()));
    let (tool, description) = (kept(&claim.tool), kept(&claim.description));
    let (verdict, class) = (kept(&claim.verdict), kept(&claim.class));
    let (nth, turn) = (i64::from(key.nth), i64::from(*turn));
    let names: Vec<_> = paths.iter().map(|path| kept(&path.path)).collect();
    let writes: Vec<bool> = paths.iter().map(|path| path.writes).collect();
    let (marks, kinds, bodies) = events_of(mark, claim);
    // What changes nothing may be done again; a refusal says nothing of an earlier run.
    let takes_over = claim.repeatable && state == OPEN;
    let values: [&(dyn ToSql + Sync); 24] = [
        &hash,
        &session,
        &call,
        &digest,
        &nth,
        &turn,
        &tool,
        &description,
        &verdict,
        &class,
        &state,
        &at.0,
        &claim.repeatable,
        &lease.owner,
        &lease.id,
        &mark,
        &names,
        &writes,
        &marks,
        &kinds,
        &bodies,
        &takes_over,
        &(at.0 - LATELY_MS),
        &claim.was_dropped,
    ];
    let sql = on.prepare_cached(BEGIN).await?;
    on.query_opt(&sql, &values).await
}

/// What is told of a call when it begins, each with a mark of its own.
fn events_of(mark: Uuid, claim: &Claim) -> (Vec<Uuid>, Vec<String>, Vec<String>) {
    let (mut marks, mut kinds, mut bodies) = (Vec::new(), Vec::new(), Vec::new());
    let told = [
        (EventKind::INPUT, Some(&claim.input)),
        (EventKind::DECISION, Some(&claim.decision)),
        (EventKind::APPROVAL, claim.approval.as_ref()),
    ];
    for (next, (kind, body)) in (0..).zip(told) {
        if let Some(body) = body {
            marks.push(Uuid::from_u128(mark.as_u128().wrapping_add(next)));
            kinds.push(kind.to_string());
            bodies.push(body.to_string());
        }
    }
    (marks, kinds, bodies)
}

async fn finish(on: &Transaction<'_>, outcome: &Outcome) -> Result<(), Error> {
    let Outcome { key, turn, at, tool, ran, duration_us, fault, result } = outcome;
    let digest = key.digest.0.as_slice();
    let (hash, session, call) = (hash(key), kept(key.session.as_str()), kept(key.call.as_str()));
    let state = if *ran { FINISHED } else { REFUSED };
    let duration = ran.then(|| i64::try_from(*duration_us).unwrap_or(i64::MAX));
    let fault = fault.as_deref().map(kept);
    let sql = on.prepare_cached(FINISH).await?;
    let values: [&(dyn ToSql + Sync); 12] = [
        &hash,
        &session,
        &call,
        &digest,
        &i64::from(key.nth),
        &i64::from(*turn),
        &kept(tool),
        &state,
        &fault,
        &at.0,
        &duration,
        &kept(result),
    ];
    on.execute(&sql, &values).await.map(drop)
}

async fn touched(on: &Transaction<'_>, key: &CallKey, paths: &[PathRow]) -> Result<(), Error> {
    let names: Vec<_> = paths.iter().map(|path| kept(&path.path)).collect();
    let writes: Vec<bool> = paths.iter().map(|path| path.writes).collect();
    let sql = on.prepare_cached(TOUCH).await?;
    on.execute(&sql, &[&hash(key), &names, &writes]).await.map(drop)
}

async fn event(on: &Transaction<'_>, mark: Uuid, row: &EventRow) -> Result<(), Error> {
    let EventRow { session, key, turn, at, kind, body } = row;
    let key = key.as_ref();
    let (call, digest) = (key.map(|key| kept(key.call.as_str())), key.map(|key| key.digest.0.as_slice()));
    let sql = on.prepare_cached(EVENT).await?;
    let values: [&(dyn ToSql + Sync); 10] = [
        &mark,
        &kept(session.as_str()),
        &key.map(hash),
        &call,
        &digest,
        &key.map(|key| i64::from(key.nth)),
        &i64::from(*turn),
        &at.0,
        &kept(&kind.0),
        &body.to_string(),
    ];
    on.execute(&sql, &values).await.map(drop)
}

/// The sessions in which a turn began or something was said, with the latest word of each, and the turns.
async fn sessions(on: &Transaction<'_>, all: &[&(Uuid, Entry)]) -> Result<(), Error> {
    let mut turns: BTreeMap<(&str, i64), (i64, Option<i64>)> = BTreeMap::new();
    for (_, entry) in all {
        match entry {
            Entry::Turn(Turn { session, turn, at, .. }) => {
                turns.entry((session.as_str(), i64::from(*turn))).or_insert((at.0, None));
            }
            Entry::TurnEnded { session, turn, at } => {
                turns.entry((session.as_str(), i64::from(*turn))).or_insert((at.0, None)).1 = Some(at.0);
            }
            _ => {}
        }
    }
    let mut latest: BTreeMap<&str, (&Turn, i64)> = BTreeMap::new();
    for (_, entry) in all {
        if let Entry::Turn(turn) = entry {
            let began = latest.get(turn.session.as_str()).map_or(turn.at.0, |(_, began)| *began);
            latest.insert(turn.session.as_str(), (turn, began));
        }
    }
    let said = said(all);
    let named: BTreeSet<&str> = latest.keys().chain(said.keys()).copied().collect();
    for session in named {
        match (latest.get(session), said.get(session)) {
            (Some((turn, began)), _) => began_a_turn(on, turn, *began).await?,
            (None, Some((first, last))) => {
                let sql = on.prepare_cached(SAID).await?;
                on.execute(&sql, &[&kept(session), first, last, &(last - LATELY_MS)]).await?;
            }
            (None, None) => {}
        }
    }
    for ((session, turn), (at, ended)) in turns {
        let sql = on.prepare_cached(ONE_TURN).await?;
        on.execute(&sql, &[&kept(session), &turn, &at, &ended]).await?;
    }
    Ok(())
}

async fn began_a_turn(on: &Transaction<'_>, turn: &Turn, began: i64) -> Result<(), Error> {
    let sql = on.prepare_cached(TURN).await?;
    let values: [&(dyn ToSql + Sync); 7] = [
        &kept(turn.session.as_str()),
        &began,
        &turn.at.0,
        &kept(&turn.workspace),
        &kept(&turn.mode),
        &turn.caller.to_string(),
        &i64::from(turn.turn),
    ];
    on.execute(&sql, &values).await.map(drop)
}

/// The sessions in which something happened that belongs to no call: when, first and last.
fn said<'a>(all: &[&'a (Uuid, Entry)]) -> BTreeMap<&'a str, (i64, i64)> {
    let mut said: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for (_, entry) in all {
        if let Entry::Event(EventRow { session, key: None, at, .. }) = entry {
            let (first, last) = said.entry(session.as_str()).or_insert((at.0, at.0));
            (*first, *last) = ((*first).min(at.0), (*last).max(at.0));
        }
    }
    said
}

/// By what a call is known: short, whatever its ids are.
pub(super) fn hash(key: &CallKey) -> Vec<u8> {
    let mut hash = Sha256::new();
    for part in [key.session.as_str().as_bytes(), key.call.as_str().as_bytes(), &key.digest.0] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(key.nth.to_le_bytes());
    hash.finalize().to_vec()
}

/// How old the word of a session may be when it was last used. Written each time, it would make its calls wait for each other.
pub(super) const LATELY_MS: i64 = 1000;

/// What a row of a call must be for another to take its place: refused, or, if that is wanted, open and nobody there.
const BEGIN: &str = "
    WITH one AS (
        INSERT INTO haft_calls AS c (key, session, call, digest, nth, turn, tool, description, verdict, class, state, at,
                                     repeatable, owner, lease, claim)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
        ON CONFLICT (key) DO UPDATE SET
            turn = excluded.turn, tool = excluded.tool, description = excluded.description, verdict = excluded.verdict,
            class = excluded.class, state = excluded.state, at = excluded.at, repeatable = excluded.repeatable,
            owner = excluded.owner, lease = excluded.lease, claim = excluded.claim,
            fault = NULL, duration_us = NULL, result = NULL
        WHERE c.claim IS DISTINCT FROM $16 AND (c.state = 2 OR $22 AND c.state = 0 AND NOT EXISTS (
            SELECT FROM haft_leases l
            WHERE l.lease = c.lease AND l.until > clock_timestamp() AND NOT ($24 AND l.lease = $15)))
        RETURNING no
    ), old_paths AS (
        DELETE FROM haft_paths p USING one WHERE p.no = one.no
    ), paths AS (
        INSERT INTO haft_paths (no, place, path, writes)
        SELECT one.no, p.place, p.path, p.writes
        FROM one, unnest($17::text[], $18::boolean[]) WITH ORDINALITY AS p (path, writes, place)
    ), events AS (
        INSERT INTO haft_events (id, session, key, call, digest, nth, turn, at, kind, body)
        SELECT e.id, $2, $1, $3, $4, $5, $6, $12, e.kind, e.body
        FROM one, unnest($19::uuid[], $20::text[], $21::text[]) AS e (id, kind, body)
        ON CONFLICT (id) DO NOTHING
    ), session AS (
        UPDATE haft_sessions s SET last = $12 FROM one WHERE s.session = $2 AND s.last < $23
    )
    SELECT no FROM one";

/// One that has finished stays as it is; one that never ran says nothing of an earlier run. Nearly all have a row: a number
/// is taken only for one that has none.
const FINISH: &str = "
    WITH known AS (
        UPDATE haft_calls c SET state = $8, fault = $9, duration_us = $11, result = $12
        WHERE c.key = $1 AND (c.state = 2 OR c.state = 0 AND $8::smallint = 1)
    )
    INSERT INTO haft_calls AS c (key, session, call, digest, nth, turn, tool, description, state, fault, at, duration_us,
                                 repeatable, result)
    SELECT $1, $2, $3, $4, $5, $6, $7, $7, $8, $9, $10, $11, true, $12
    WHERE NOT EXISTS (SELECT FROM haft_calls WHERE key = $1)
    ON CONFLICT (key) DO UPDATE SET
        state = excluded.state, fault = excluded.fault, duration_us = excluded.duration_us, result = excluded.result
    WHERE c.state = 2 OR c.state = 0 AND excluded.state = 1";

/// A path that the call is known by already stays once.
const TOUCH: &str = "
    WITH found AS (
        SELECT c.no, p.path, p.writes, p.place
        FROM haft_calls c, unnest($2::text[], $3::boolean[]) WITH ORDINALITY AS p (path, writes, place)
        WHERE c.key = $1
    ), known AS (
        UPDATE haft_paths p SET writes = p.writes OR f.writes FROM found f WHERE p.no = f.no AND p.path = f.path
    )
    INSERT INTO haft_paths (no, place, path, writes)
    SELECT f.no, f.place + (SELECT count(*) FROM haft_paths p WHERE p.no = f.no), f.path, f.writes
    FROM found f
    WHERE NOT EXISTS (SELECT FROM haft_paths p WHERE p.no = f.no AND p.path = f.path)";

const EVENT: &str = "
    INSERT INTO haft_events (id, session, key, call, digest, nth, turn, at, kind, body)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (id) DO NOTHING";

const TURN: &str = "
    INSERT INTO haft_sessions AS s (session, began, last, workspace, mode, caller, turns)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (session) DO UPDATE SET
        last = greatest(s.last, excluded.last), workspace = excluded.workspace, mode = excluded.mode,
        caller = excluded.caller, turns = greatest(s.turns, excluded.turns)";

/// It may be the first that is heard of a session.
const SAID: &str = "
    INSERT INTO haft_sessions AS s (session, began, last, workspace, mode, caller, turns)
    VALUES ($1, $2, $3, '', '', 'null', 0)
    ON CONFLICT (session) DO UPDATE SET last = excluded.last WHERE s.last <= $4";

const ONE_TURN: &str = "
    INSERT INTO haft_turns AS t (session, turn, at, ended) VALUES ($1, $2, $3, $4)
    ON CONFLICT (session, turn) DO UPDATE SET ended = coalesce(excluded.ended, t.ended)";
