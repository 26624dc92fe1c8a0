//! Of two who claim one call, one gets it.
//!
//! One statement decides: it writes the row, or takes the place of one that may be taken, and the server lets only one do so.
//! Whoever did not get it looks why.

use std::rc::Rc;

use deadpool_postgres::Client;
use tokio_postgres::Error;
use uuid::Uuid;

use super::{
    room::{Lease, Room},
    text::shown,
    write::{self, FINISHED, OPEN},
};
use crate::{
    book::{BookError, Claimed},
    record::Claim,
};

/// A row that is seen and gone the next moment is rare; one that does it so often is none.
const LOOKS: usize = 8;

pub(super) async fn claim(room: Rc<Room>, claim: Claim) -> Result<Claimed, BookError> {
    // What was said before comes before.
    room.queue().settle().await?;
    let link = room.link().await?;
    room.renew().await?;
    // By this mark an attempt knows its own row, after a line broke and nobody knew what the server had done.
    let mark = Uuid::now_v7();
    for _ in 0..LOOKS {
        let looked = link.ask(async |client| decide(client, mark, &claim, &room.lease).await).await?;
        if let Some(claimed) = looked {
            return Ok(claimed);
        }
    }
    Err(BookError::Locked(link.shown().to_owned()))
}

/// What becomes of the claim; `None` if the row changed while it was looked at.
async fn decide(
    client: &mut Client,
    mark: Uuid,
    claim: &Claim,
    lease: &Lease,
) -> Result<Option<Claimed>, Error> {
    let transaction = client.transaction().await?;
    let row = write::begin(&transaction, mark, claim, OPEN, lease).await?;
    transaction.commit().await?;
    match row {
        Some(_) => Ok(Some(Claimed::Yours)),
        None => look(client, mark, claim, lease).await,
    }
}

async fn look(client: &Client, mark: Uuid, claim: &Claim, lease: &Lease) -> Result<Option<Claimed>, Error> {
    let hash = write::hash(&claim.key);
    let sql = client.prepare_cached(LOOK).await?;
    let Some(row) = client.query_opt(&sql, &[&hash, &lease.id, &claim.was_dropped]).await? else {
        return Ok(None);
    };
    let (state, is_alive): (i16, bool) = (row.get("state"), row.get("alive"));
    let owner = row.get::<_, Option<String>>("owner").map(shown).unwrap_or_default();
    Ok(match state {
        FINISHED => {
            Some(Claimed::Finished(shown(row.get::<_, Option<String>>("result").unwrap_or_default())))
        }
        OPEN if row.get::<_, Option<Uuid>>("claim") == Some(mark) => Some(Claimed::Yours),
        OPEN if is_alive => Some(Claimed::Busy(owner)),
        OPEN => {
            let sql = client.prepare_cached(TAKE).await?;
            let taken =
                client.execute(&sql, &[&hash, &lease.id, &lease.owner, &mark, &claim.was_dropped]).await?;
            (taken > 0).then_some(Claimed::CutOff)
        }
        _ => None,
    })
}

const LOOK: &str = "
    SELECT c.state, c.owner, c.claim, c.result,
        coalesce(l.until > clock_timestamp(), false) AND NOT ($3 AND l.lease = $2) AS alive
    FROM haft_calls c LEFT JOIN haft_leases l USING (lease) WHERE c.key = $1";

/// Cut off, and not to be made again: it is somebody's all the same, so that one alone says what became of it.
const TAKE: &str = "
    UPDATE haft_calls c SET lease = $2, owner = $3, claim = $4
    WHERE c.key = $1 AND c.state = 0 AND NOT EXISTS (
        SELECT FROM haft_leases l
        WHERE l.lease = c.lease AND l.until > clock_timestamp() AND NOT ($5 AND l.lease = $2))";
