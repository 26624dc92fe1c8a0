//! A database on a server that was there before: an older form, a later one, and a process that lives for days.

use std::time::Duration;

use haft_store::{Book, BookError, CallFilter, Durability, Instant, LEASE, PostgresBook, Retention};
use tokio_postgres::{Client, NoTls};

use crate::kit::{NO_LIMITS, claim, key, outcome};

/// A database of its own and a line to it, if there is a server.
async fn database() -> Option<(String, Client)> {
    let address = haft_testkit::Postgres::shared()?.database();
    let (client, line) = tokio_postgres::connect(&address, NoTls).await.unwrap();
    tokio::spawn(line);
    Some((address, client))
}

async fn form(client: &Client) -> i32 {
    client.query_one("SELECT form FROM haft_form", &[]).await.unwrap().get(0)
}

const FORM: &str = "CREATE TABLE haft_form (one_row boolean PRIMARY KEY DEFAULT true, form integer NOT NULL);
    INSERT INTO haft_form (form) VALUES ";

#[tokio::test]
async fn a_database_of_the_first_form_becomes_one_of_the_present_with_all_that_is_in_it() {
    let Some((address, client)) = database().await else { return };
    client.batch_execute(include_str!("../../src/postgres/001.sql")).await.unwrap();
    client.batch_execute(&format!("{FORM} (1)")).await.unwrap();
    client.batch_execute(OLD_CALL).await.unwrap();
    let book = PostgresBook::at(&address, LEASE, NO_LIMITS).unwrap();
    book.claim(claim(&key("s", "new"))).await.unwrap();
    assert_eq!(form(&client).await, 2);
    let at = |path: &str| CallFilter { path: Some(path.to_owned()), most: 9, ..CallFilter::default() };
    let old = book.calls(at("/w/old.txt")).await.unwrap();
    assert_eq!((old.len(), old[0].call.as_str(), old[0].duration_us), (1, "old", Some(7)));
    assert_eq!(book.calls(at("*d.txt")).await.unwrap().len(), 1, "patterns are what the second form is for");
}

const OLD_CALL: &str = "
    INSERT INTO haft_calls (key, session, call, digest, nth, turn, tool, description, state, at, duration_us, repeatable)
    VALUES ('\\x01', 's', 'old', '\\x07070707070707070707070707070707', 0, 1, 'Write', 'writes', 1, 1000, 7, false);
    INSERT INTO haft_paths (no, place, path, writes) SELECT no, 1, '/w/old.txt', true FROM haft_calls;";

#[tokio::test]
async fn a_database_of_a_later_form_is_refused_with_a_word_and_left_alone() {
    let Some((address, client)) = database().await else { return };
    client.batch_execute(&format!("{FORM} (99)")).await.unwrap();
    let book = PostgresBook::at(&address, LEASE, NO_LIMITS).unwrap();
    let err = book.claim(claim(&key("s", "1"))).await.unwrap_err();
    assert!(matches!(err, BookError::Newer { found: 99, known: 2, .. }), "{err}");
    assert!(matches!(book.sessions(1).await, Err(BookError::Newer { .. })));
    let tables = "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'haft\\_%'";
    let tables: i64 = client.query_one(tables, &[]).await.unwrap().get(0);
    assert_eq!((form(&client).await, tables), (99, 1), "nothing was made");
}

#[tokio::test]
async fn a_process_that_lives_for_days_forgets_each_day() {
    const DAY: i64 = 86_400_000;
    let Some((address, client)) = database().await else { return };
    let every = Duration::from_millis(20);
    let retention = Retention { age: Some(Duration::from_secs(90 * 86_400)), every, ..NO_LIMITS };
    let book = PostgresBook::at(&address, LEASE, retention).unwrap();
    book.sessions(1).await.unwrap();
    let count = async |sql: &str| client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0);
    let until = async |sql: &str, expected| {
        for _ in 0..2000 {
            if count(sql).await == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{sql}: {}", count(sql).await);
    };
    until("SELECT count(*) FROM haft_documents WHERE key = 'pruned'", 1).await;
    let (old, now) = (key("s", "old"), Instant::now());
    let at = Instant(now.0 - 100 * DAY);
    book.claim(haft_store::Claim { at, ..claim(&old) }).await.unwrap();
    book.append(vec![outcome(&old, "{}")], Durability::Process).await.unwrap();
    assert_eq!(count("SELECT count(*) FROM haft_calls").await, 1, "it was done today");
    let yesterday = format!("UPDATE haft_documents SET body = '{}' WHERE key = 'pruned'", now.0 - 2 * DAY);
    client.batch_execute(&yesterday).await.unwrap();
    until("SELECT count(*) FROM haft_calls", 0).await;
}
