//! `haft log export`: all that is kept, a line each, in an order in which it can be read back.
//!
//! A page is read, written and forgotten: a journal may be larger than the memory.

use haft_store::{AnyRow, Book, CallFilter, EventRow, WholeCall};
use serde_json::{Map, Value, json};

use super::{Log, PAGE, Which, whole};
use crate::{exit::Exit, out::Out};

impl Log<'_> {
    pub(super) async fn export(&self, which: &Which) -> anyhow::Result<Exit> {
        let filter = CallFilter { most: PAGE, ..self.filter(which)? };
        let mut out = Out::stdout();
        write(self.book(), &filter, which.limit.unwrap_or(usize::MAX), &mut out).await?;
        out.flush()?;
        Ok(Exit::Done)
    }
}

async fn write(book: &dyn Book, filter: &CallFilter, limit: usize, out: &mut Out) -> anyhow::Result<()> {
    let (mut left, mut from) = (limit, None);
    while left > 0 && !out.is_closed() {
        let most = filter.most.min(left);
        let page = book.page(CallFilter { most, ..filter.clone() }, from).await?;
        for row in &page.rows {
            out.json(&line(row))?;
        }
        left -= page.rows.len().min(left);
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    Ok(())
}

/// What it is, in `kind`, and all of it.
fn line(row: &AnyRow) -> Value {
    match row {
        AnyRow::Session(session) => of_kind("session", json!(session)),
        AnyRow::Turn(turn) => of_kind("turn", json!(turn)),
        AnyRow::Event(event) => of_kind("event", happened(event)),
        AnyRow::Call(call) => {
            let WholeCall { call, events, result } = &**call;
            of_kind("call", whole(call, events, result.as_deref()))
        }
    }
}

/// In a line of its own, `kind` says what the line is.
fn happened(event: &EventRow) -> Value {
    let EventRow { session, key, turn, at, kind, body } = event;
    let mut line = json!({ "session": session, "turn": turn, "at": at, "event": kind, "body": body });
    if let Some(key) = key {
        line["call"] = json!(key.call);
    }
    line
}

/// The kind comes first: for whoever reads lines with their eyes.
fn of_kind(kind: &str, fields: Value) -> Value {
    let mut line = Map::from_iter([("kind".to_owned(), kind.into())]);
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    line.into()
}
