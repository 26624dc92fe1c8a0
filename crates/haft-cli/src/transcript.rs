//! What was said in a session, kept beside its calls: in the journal's book, wherever that is.
//!
//! A line is an event of the session. It is queued before any call that starts after it, and what is queued earlier is
//! written earlier; a book that other machines use, which takes claims by another way, is waited for.

use std::{collections::VecDeque, io, path::Path, sync::Arc};

use haft_agent::{Line, Past, Transcript};
use haft_model::{Assistant, Message};
use haft_store::{
    Book, Durability, Entry, EventFilter, EventKind, EventRow, Instant, restore, restore_blocks, store,
    store_blocks,
};
use haft_tool::{Block, BoxFuture, CallId, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{draw::plain_line, exit::usage, store::Store};

/// The lines of one session.
pub(crate) struct BookTranscript {
    book: Arc<dyn Book>,
    session: SessionId,
    /// Where it is said: the book itself knows only where calls were made.
    workspace: String,
    durability: Durability,
}

impl BookTranscript {
    pub(crate) fn new(store: &Store, session: SessionId, workspace: &Path) -> BookTranscript {
        let workspace = workspace.display().to_string();
        let durability = if store.is_far() { Durability::Process } else { Durability::Queued };
        BookTranscript { book: store.book.clone(), session, workspace, durability }
    }
}

impl Transcript for BookTranscript {
    fn keep<'a>(&'a self, line: Line<'a>) -> BoxFuture<'a, io::Result<()>> {
        let mut body = written(line);
        if body.get("user").is_some() {
            body["workspace"] = json!(self.workspace);
        }
        Box::pin(async move {
            let event = EventRow {
                session: self.session.clone(),
                key: None,
                turn: 0,
                at: Instant::now(),
                kind: EventKind::SAID,
                body,
            };
            Ok(self.book.append(vec![Entry::Event(event)], self.durability).await?)
        })
    }
}

/// What was said in a session so far; `None` if nothing was.
pub(crate) async fn recall(store: &Store, session: &SessionId) -> anyhow::Result<Option<Past>> {
    let kinds = vec![EventKind::SAID];
    let filter = EventFilter { session: Some(session.clone()), kinds, ..EventFilter::default() };
    let lines = store.book.events(filter).await?;
    if lines.is_empty() {
        return Ok(None);
    }
    let mut past = Past::default();
    for line in lines {
        read(&line.body, &mut past)
            .ok_or_else(|| usage(format!("what was said in the session {session} cannot be read")))?;
    }
    past.messages = mended(past.messages);
    Ok(Some(past))
}

/// A conversation that APIs take, whoever wrote into it at the same time: each answer with calls is followed by their results.
/// Of one that has none, although something was said after it, nobody knows what came; it is left out.
fn mended(messages: Vec<Message>) -> Vec<Message> {
    let mut left: VecDeque<Message> = messages.into();
    let mut mended = Vec::with_capacity(left.len());
    while let Some(message) = left.pop_front() {
        match &message {
            Message::Assistant(said) if said.calls().next().is_some() => {
                match left.iter().position(|later| answers(later, said)) {
                    Some(at) => mended.extend([Some(message), left.remove(at)].into_iter().flatten()),
                    None if left.is_empty() => mended.push(message),
                    None => {}
                }
            }
            // Results of nothing that was asked for.
            Message::Results(_) => {}
            _ => mended.push(message),
        }
    }
    mended
}

/// Whether these are the results of those calls.
fn answers(later: &Message, said: &Assistant) -> bool {
    let Message::Results(results) = later else { return false };
    results.iter().map(|result| &result.call).eq(said.calls().map(|call| &call.id))
}

/// How a conversation began.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Beginning {
    /// The first words of whoever began it, on one line.
    pub(crate) words: String,
    /// Where that was, if it was kept.
    pub(crate) workspace: Option<String>,
}

/// How the conversation of a session began; `None` if nothing was said in it.
pub(crate) async fn beginning(store: &Store, session: &SessionId) -> anyhow::Result<Option<Beginning>> {
    // The first line is what somebody wanted, unless the conversation was made shorter in the first place.
    let (session, kinds) = (Some(session.clone()), vec![EventKind::SAID]);
    let filter = EventFilter { session, kinds, most: Some(1), ..EventFilter::default() };
    Ok(store.book.events(filter).await?.first().map(|line| began(&line.body)))
}

fn began(body: &Value) -> Beginning {
    let blocks = body.get("user").and_then(restore_blocks).unwrap_or_default();
    let words = blocks.iter().find_map(Block::as_text).unwrap_or_default();
    let words = words.split_whitespace().take(MOST_WORDS).collect::<Vec<_>>().join(" ");
    let workspace = body.get("workspace").and_then(Value::as_str).map(str::to_owned);
    Beginning { words: plain_line(words), workspace }
}

/// So many are enough to know a conversation by.
const MOST_WORDS: usize = 40;

fn written(line: Line<'_>) -> Value {
    match line {
        Line::Said { message, calls, hidden } => {
            let mut body = said(message);
            if !calls.is_empty() {
                body["calls"] = json!(calls);
            }
            if !hidden.is_empty() {
                body["hidden"] = json!(hidden);
            }
            body
        }
        Line::Rewritten(messages) => {
            json!({ "rewritten": messages.iter().map(said).collect::<Vec<Value>>() })
        }
    }
}

fn said(message: &Message) -> Value {
    match message {
        Message::User(blocks) => json!({ "user": store_blocks(blocks) }),
        Message::Assistant(message) => json!({ "assistant": message }),
        Message::Results(results) => {
            json!({ "results": results.iter().map(|result| store(result, &[])).collect::<Vec<String>>() })
        }
    }
}

/// Goes on with a conversation by a line.
fn read(body: &Value, past: &mut Past) -> Option<()> {
    if let Some(messages) = body.get("rewritten") {
        past.messages = messages.as_array()?.iter().map(message).collect::<Option<_>>()?;
    } else {
        past.messages.push(message(body)?);
    }
    past.open = ids(body, "calls")?;
    past.hidden = ids(body, "hidden")?;
    past.calls.extend(past.open.iter().cloned());
    Some(())
}

fn message(body: &Value) -> Option<Message> {
    if let Some(blocks) = body.get("user") {
        return Some(Message::User(restore_blocks(blocks)?));
    }
    if let Some(said) = body.get("assistant") {
        return Some(Message::Assistant(Assistant::deserialize(said).ok()?));
    }
    let results = body.get("results")?.as_array()?.iter();
    let results = results.map(|result| restore(result.as_str()?).map(|finished| finished.result));
    Some(Message::Results(results.collect::<Option<_>>()?))
}

fn ids(body: &Value, field: &str) -> Option<Vec<CallId>> {
    match body.get(field) {
        None => Some(Vec::new()),
        Some(ids) => Vec::deserialize(ids).ok(),
    }
}

#[cfg(test)]
mod tests {
    use haft_engine::{
        Call,
        result::{Meta, ToolResult},
    };
    use haft_model::{Part, Said};
    use haft_tool::Block;

    use super::*;

    #[test]
    fn a_conversation_is_the_same_after_it_was_kept() {
        let user = Message::User(vec![
            Block::Text("Look.".to_owned()),
            Block::Image { media_type: "image/png".to_owned(), data: vec![0, 255] },
        ]);
        let call = Call::new("toolu_1", "Read", json!({ "file_path": "a" }));
        let assistant = Message::Assistant(Assistant { parts: vec![Part::new(Said::Call(call))] });
        let results = Message::Results(vec![ToolResult {
            blocks: vec![Block::Text("one".to_owned())],
            messages: vec!["a word".to_owned()],
            ..result("toolu_1")
        }]);
        let ours = [CallId::from("toolu_1~4")];
        let mut past = Past::default();
        for (message, calls, hidden) in [(&user, &[][..], &[][..]), (&assistant, &ours, &ours)] {
            read(&written(Line::Said { message, calls, hidden }), &mut past).unwrap();
        }
        assert_eq!(past.messages, [user.clone(), assistant.clone()]);
        assert_eq!((&past.open[..], &past.hidden[..], &past.calls[..]), (&ours[..], &ours[..], &ours[..]));
        read(&written(Line::Said { message: &results, calls: &[], hidden: &[] }), &mut past).unwrap();
        assert_eq!(past.messages, [user.clone(), assistant.clone(), results.clone()]);
        assert_eq!((past.open.len(), past.hidden.len(), past.calls.len()), (0, 0, 1));
        let rest = [user, results];
        read(&written(Line::Rewritten(&rest)), &mut past).unwrap();
        assert_eq!(past.messages, rest);
    }

    fn asks(id: &str) -> Message {
        let call = Call::new(id, "Read", json!({}));
        Message::Assistant(Assistant { parts: vec![Part::new(Said::Call(call))] })
    }

    fn tells(id: &str) -> Message {
        Message::Results(vec![result(id)])
    }

    fn result(id: &str) -> ToolResult {
        ToolResult {
            call: id.into(),
            tool: "Read".to_owned(),
            blocks: Vec::new(),
            fault: None,
            data: None,
            observation: None,
            actions: Vec::new(),
            messages: Vec::new(),
            view: None,
            meta: Meta::default(),
        }
    }

    #[test]
    fn what_two_wrote_at_once_is_read_as_a_conversation() {
        let two = vec![Message::user("A"), Message::user("B"), asks("1"), asks("2"), tells("1"), tells("2")];
        let one = vec![Message::user("A"), Message::user("B"), asks("1"), tells("1"), asks("2"), tells("2")];
        assert_eq!(mended(two), one);
        assert_eq!(mended(one.clone()), one);
        // Of the last one it is found out what came of it; of others it is not, and results belong to calls.
        let open = vec![asks("1"), Message::user("A"), tells("3"), asks("2")];
        assert_eq!(mended(open), [Message::user("A"), asks("2")]);
    }

    #[test]
    fn what_is_no_line_is_not_taken_for_one() {
        for body in [json!({}), json!({ "user": 3 }), json!({ "assistant": {} }), json!({ "results": [3] })] {
            assert_eq!(read(&body, &mut Past::default()), None, "{body}");
        }
    }
}
