//! The tables, and how an older form becomes the present one.
//!
//! Each step is done once, in one transaction, under a lock that all processes know: ten that start at once do it once. A
//! step that was released is never changed; what is new is a new step.

use deadpool_postgres::Client;
use tokio_postgres::Error;

/// The steps, from nothing to the present.
const STEPS: &[&str] = &[include_str!("001.sql"), include_str!("002.sql")];

/// Any number that others are unlikely to use: "haft" in ASCII.
const LOCK: i64 = 0x6861_6674;

/// What was found.
pub(super) enum Form {
    /// The present one, now at the latest.
    Present,
    /// A later haft was here.
    Later(i32),
}

/// Brings the database to the present form.
pub(super) async fn prepare(client: &mut Client) -> Result<Form, Error> {
    // Most starts find everything as it should be, and take no lock.
    match form(client).await? {
        Some(form) if form == present() => return Ok(Form::Present),
        Some(form) if form > present() => return Ok(Form::Later(form)),
        _ => {}
    }
    let transaction = client.transaction().await?;
    // It goes with the transaction, whatever becomes of us.
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    transaction
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS haft_form (one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row), form integer NOT NULL)",
        )
        .await?;
    let row = transaction.query_opt("SELECT form FROM haft_form", &[]).await?;
    let done = row.map_or(0, |row| row.get::<_, i32>(0));
    if done > present() {
        return Ok(Form::Later(done));
    }
    for step in STEPS.iter().skip(usize::try_from(done).unwrap_or(0)) {
        transaction.batch_execute(step).await?;
    }
    let write = "INSERT INTO haft_form (form) VALUES ($1) ON CONFLICT (one_row) DO UPDATE SET form = $1";
    transaction.execute(write, &[&present()]).await?;
    transaction.commit().await?;
    Ok(Form::Present)
}

/// The number of the present form.
pub(super) fn present() -> i32 {
    i32::try_from(STEPS.len()).unwrap_or(i32::MAX)
}

/// Which form the database has; `None` if haft was never here.
async fn form(client: &Client) -> Result<Option<i32>, Error> {
    let there = client.query_one("SELECT to_regclass('haft_form') IS NOT NULL", &[]).await?;
    if !there.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client.query_opt("SELECT form FROM haft_form", &[]).await?;
    Ok(row.map(|row| row.get(0)))
}
