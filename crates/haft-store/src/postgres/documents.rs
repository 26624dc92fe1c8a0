//! Documents: each replaced only by whoever has seen the one before it.

use std::rc::Rc;

use serde_json::Value;
use tokio_postgres::Error;
use uuid::Uuid;

use super::{
    room::Room,
    text::{kept, shown},
};
use crate::book::{BookError, Document};

pub(super) async fn get(room: Rc<Room>, space: String, key: String) -> Result<Option<Document>, BookError> {
    let sql = "SELECT version, body FROM haft_documents WHERE space = $1 AND key = $2";
    let (space, key) = (kept(&space), kept(&key));
    let link = room.link().await?;
    let Some(row) = link.ask(async |client| client.query_opt(sql, &[&space, &key]).await).await? else {
        return Ok(None);
    };
    let body = shown(row.get("body"));
    let body = serde_json::from_str(&body)
        .map_err(|err| BookError::Corrupt(format!("the document {space}/{key}"), err.to_string()))?;
    Ok(Some(Document { version: u64::try_from(row.get::<_, i64>("version")).unwrap_or(0), body }))
}

pub(super) async fn put(
    room: Rc<Room>,
    space: String,
    key: String,
    version: u64,
    body: Option<Value>,
) -> Result<Option<u64>, BookError> {
    let (space, key) = (kept(&space), kept(&key));
    let before = i64::try_from(version).unwrap_or(i64::MAX);
    let body = body.map(|body| body.to_string());
    // By this mark an attempt knows its own work, after a line broke and nobody knew what the server had done.
    let writer = Uuid::now_v7();
    let link = room.link().await?;
    let changed = link
        .ask(async |client| -> Result<bool, Error> {
            let changed = match (&body, before) {
                (Some(body), 0) => client.execute(FIRST, &[&space, &key, &writer, body]).await?,
                (Some(body), _) => client.execute(NEXT, &[&space, &key, &before, &writer, body]).await?,
                (None, 0) => return Ok(client.query_opt(THERE, &[&space, &key]).await?.is_none()),
                (None, _) => client.execute(LAST, &[&space, &key, &before]).await?,
            };
            Ok(changed > 0 || client.query_opt(MINE, &[&space, &key, &writer]).await?.is_some())
        })
        .await?;
    Ok(changed.then_some(version + 1))
}

const FIRST: &str = "
    INSERT INTO haft_documents (space, key, version, writer, changed, body)
    VALUES ($1, $2, 1, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $4)
    ON CONFLICT DO NOTHING";

const NEXT: &str = "
    UPDATE haft_documents
    SET version = version + 1, writer = $4, changed = (extract(epoch FROM clock_timestamp()) * 1000)::bigint, body = $5
    WHERE space = $1 AND key = $2 AND version = $3";

const LAST: &str = "DELETE FROM haft_documents WHERE space = $1 AND key = $2 AND version = $3";

const THERE: &str = "SELECT FROM haft_documents WHERE space = $1 AND key = $2";

const MINE: &str = "SELECT FROM haft_documents WHERE space = $1 AND key = $2 AND writer = $3";
