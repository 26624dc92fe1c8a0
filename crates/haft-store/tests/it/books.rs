//! What every book promises. A backend adds a pair to `every_book`.

use std::sync::Arc;

use haft_engine::session::CallState;
use haft_store::{
    Book, CallFilter, CallNo, Claim, Claimed, Durability, Entry, EventFilter, EventKind, EventRow, Instant,
    Limits, MemoryBook, PathRow,
};
use serde_json::json;

use crate::kit::{claim, every_book, key, outcome, sqlite, turn};

async fn append(book: &Arc<dyn Book>, entries: Vec<Entry>) {
    book.append(entries, Durability::Process).await.unwrap();
}

async fn states(book: &Arc<dyn Book>, session: &str) -> Vec<CallState> {
    book.past(&session.into(), 100).await.unwrap().iter().map(|call| call.state).collect()
}

#[tokio::test]
async fn of_two_who_claim_a_call_one_gets_it_and_the_other_its_result() {
    for pair in every_book() {
        let key = key("s", "1");
        assert_eq!(pair.one.claim(claim(&key)).await.unwrap(), Claimed::Yours);
        assert!(matches!(pair.other.claim(claim(&key)).await.unwrap(), Claimed::Busy(_)));
        append(&pair.one, vec![outcome(&key, "done")]).await;
        for book in [&pair.one, &pair.other] {
            assert_eq!(book.claim(claim(&key)).await.unwrap(), Claimed::Finished("done".into()));
            assert_eq!(book.result(&key).await.unwrap().as_deref(), Some("done"));
        }
    }
}

#[tokio::test]
async fn a_finished_call_stays_finished() {
    for pair in every_book() {
        let key = key("s", "1");
        pair.one.claim(claim(&key)).await.unwrap();
        let again = [outcome(&key, "first"), outcome(&key, "second"), Entry::Refused(Box::new(claim(&key)))];
        append(&pair.one, again.into()).await;
        assert_eq!(pair.one.result(&key).await.unwrap().as_deref(), Some("first"));
        assert_eq!(states(&pair.one, "s").await, [CallState::Finished]);
    }
}

#[tokio::test]
async fn a_call_that_was_refused_may_be_made_later() {
    for pair in every_book() {
        let key = key("s", "1");
        append(&pair.one, vec![Entry::Refused(Box::new(claim(&key)))]).await;
        assert_eq!(states(&pair.one, "s").await, [CallState::Refused]);
        assert_eq!(pair.other.claim(claim(&key)).await.unwrap(), Claimed::Yours);
        assert_eq!(states(&pair.one, "s").await, [CallState::Open]);
    }
}

#[tokio::test]
async fn a_call_whose_owner_is_gone_was_cut_off_and_only_what_is_repeatable_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let memory = MemoryBook::default();
    for (repeatable, expected) in [(false, Claimed::CutOff), (true, Claimed::Yours)] {
        let key = key("s", if repeatable { "again" } else { "once" });
        let dead = memory.of_another_process();
        dead.claim(Claim { repeatable, ..claim(&key) }).await.unwrap();
        dead.die();
        assert_eq!(memory.claim(Claim { repeatable, ..claim(&key) }).await.unwrap(), expected);

        let dead = sqlite(directory.path());
        dead.claim(Claim { repeatable, ..claim(&key) }).await.unwrap();
        drop(dead);
        let alive = sqlite(directory.path());
        let claimed = loop {
            // The thread of the other ends when it has noticed.
            match alive.claim(Claim { repeatable, ..claim(&key) }).await.unwrap() {
                Claimed::Busy(_) => tokio::task::yield_now().await,
                claimed => break claimed,
            }
        };
        assert_eq!(claimed, expected);
    }
}

#[tokio::test]
async fn a_call_that_was_dropped_is_not_waited_for() {
    for pair in every_book() {
        let key = key("s", "1");
        pair.one.claim(claim(&key)).await.unwrap();
        let dropped = || Claim { was_dropped: true, ..claim(&key) };
        assert!(matches!(pair.other.claim(dropped()).await.unwrap(), Claimed::Busy(_)), "it is another's");
        assert_eq!(pair.one.claim(dropped()).await.unwrap(), Claimed::CutOff);
    }
}

#[tokio::test]
async fn what_never_ran_says_nothing_of_an_earlier_run() {
    for pair in every_book() {
        let key = key("s", "1");
        pair.one.claim(claim(&key)).await.unwrap();
        let Entry::Finished(mut never) = outcome(&key, "unknown tool") else { unreachable!() };
        never.ran = false;
        append(&pair.one, vec![Entry::Finished(never)]).await;
        assert_eq!(states(&pair.one, "s").await, [CallState::Open]);
    }
}

/// Calls of several kinds, numbered from 1.
async fn fill(book: &Arc<dyn Book>) {
    let calls = [
        ("s", "Read", "allow", "/w/a", 1_000),
        ("s", "Write", "allow", "/w/sub/b.rs", 2_000),
        ("s", "Bash", "ask", "/w", 3_000),
        ("t", "Read", "deny", "/etc/passwd", 2_500),
        ("t", "Read", "allow", "/w/ab", 4_000),
    ];
    let mut entries = vec![turn("s", 1), turn("t", 1)];
    for (at, (session, tool, verdict, path, when)) in calls.into_iter().enumerate() {
        let key = key(session, &format!("c{at}"));
        let call = Claim {
            tool: tool.to_owned(),
            verdict: verdict.to_owned(),
            paths: vec![PathRow { path: path.to_owned(), writes: tool == "Write" }],
            at: Instant(when),
            ..claim(&key)
        };
        entries.push(match verdict {
            "deny" => Entry::Refused(Box::new(call)),
            _ => Entry::Started(Box::new(call)),
        });
        if tool == "Write" {
            entries.push(outcome(&key, "{}"));
        }
    }
    append(book, entries).await;
}

#[tokio::test]
async fn calls_are_found_by_all_that_is_known_of_them() {
    let most = 10;
    let all = || CallFilter { most, ..CallFilter::default() };
    let text = |text: &str| Some(text.to_owned());
    let table: Vec<(CallFilter, Vec<i64>)> = vec![
        (all(), vec![5, 4, 3, 2, 1]),
        (CallFilter { most: 2, ..all() }, vec![5, 4]),
        (CallFilter { session: Some("s".into()), ..all() }, vec![3, 2, 1]),
        (CallFilter { session: Some("nobody's".into()), ..all() }, vec![]),
        (CallFilter { tool: text("Read"), ..all() }, vec![5, 4, 1]),
        (CallFilter { verdict: text("deny"), ..all() }, vec![4]),
        (CallFilter { state: Some(CallState::Open), ..all() }, vec![5, 3, 1]),
        (CallFilter { state: Some(CallState::Finished), ..all() }, vec![2]),
        (CallFilter { state: Some(CallState::CutOff), ..all() }, vec![]),
        (CallFilter { call: text("c3"), ..all() }, vec![4]),
        (CallFilter { path: text("/w"), ..all() }, vec![5, 3, 2, 1]),
        (CallFilter { path: text("/w/a"), ..all() }, vec![1]),
        (CallFilter { path: text("*.rs"), ..all() }, vec![2]),
        (CallFilter { path: text("/w/?"), ..all() }, vec![1]),
        (CallFilter { path: text("/w/[a]"), ..all() }, vec![]),
        (CallFilter { since: Some(Instant(2_500)), ..all() }, vec![5, 4, 3]),
        (CallFilter { until: Some(Instant(2_500)), ..all() }, vec![2, 1]),
        (CallFilter { after: Some(CallNo(3)), ..all() }, vec![4, 5]),
        (CallFilter { before: Some(CallNo(3)), ..all() }, vec![2, 1]),
        (CallFilter { tool: text("Read"), path: text("/w"), session: Some("t".into()), ..all() }, vec![5]),
    ];
    for pair in every_book() {
        fill(&pair.one).await;
        for (filter, expected) in &table {
            let found = pair.other.calls(filter.clone()).await.unwrap();
            let numbers: Vec<i64> = found.iter().map(|call| call.no.0).collect();
            assert_eq!(numbers, *expected, "{filter:?}");
        }
    }
}

#[tokio::test]
async fn sessions_are_counted() {
    for pair in every_book() {
        fill(&pair.one).await;
        let sessions = pair.other.sessions(10).await.unwrap();
        let told: Vec<_> =
            sessions.iter().map(|row| (row.session.as_str(), row.calls, row.refused, row.changed)).collect();
        assert_eq!(told, [("t", 2, 1, 0), ("s", 3, 0, 1)]);
        assert_eq!((sessions[1].workspace.as_str(), sessions[1].turns), ("/w", 1));
    }
}

#[tokio::test]
async fn events_are_those_of_their_call_in_their_order() {
    for pair in every_book() {
        let (one, other) = (key("s", "1"), key("s", "2"));
        let approval = Some(json!({ "by": "person", "said": "once" }));
        pair.one.claim(Claim { approval, ..claim(&one) }).await.unwrap();
        pair.one.claim(claim(&other)).await.unwrap();
        let event = |kind: EventKind| {
            let (session, key) = (one.session.clone(), Some(one.clone()));
            Entry::Event(EventRow { session, key, turn: 1, at: Instant(1), kind, body: json!({ "n": 1 }) })
        };
        append(&pair.one, vec![event(EventKind::RETRY), event(EventKind::IMAGE)]).await;
        let of_call = EventFilter { key: Some(one.clone()), ..EventFilter::default() };
        let found = pair.other.events(of_call.clone()).await.unwrap();
        let mut kinds: Vec<&str> = found.iter().map(|event| &*event.kind.0).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["approval", "decision", "image", "input", "retry"]);
        let images = EventFilter {
            kinds: vec![EventKind::IMAGE],
            key: None,
            session: Some("s".into()),
            turn: Some(1),
            most: None,
        };
        let found = pair.other.events(images).await.unwrap();
        assert_eq!((found.len(), found[0].key.as_ref()), (1, Some(&one)));
        let kinds = vec![EventKind::RETRY, EventKind::IMAGE];
        let first = EventFilter { kinds, session: Some("s".into()), most: Some(1), ..EventFilter::default() };
        let found = pair.other.events(first).await.unwrap();
        assert_eq!(found.iter().map(|event| &*event.kind.0).collect::<Vec<_>>(), ["retry"]);
    }
}

#[tokio::test]
async fn a_document_is_changed_by_whoever_knows_its_version() {
    for pair in every_book() {
        let (one, other) = (&pair.one, &pair.other);
        assert_eq!(one.document("pins", "a").await.unwrap(), None);
        assert_eq!(one.put("pins", "a", 0, Some(json!(1))).await.unwrap(), Some(1));
        assert_eq!(other.put("pins", "a", 0, Some(json!(2))).await.unwrap(), None, "somebody was faster");
        assert_eq!(other.put("pins", "a", 1, Some(json!(2))).await.unwrap(), Some(2));
        let found = one.document("pins", "a").await.unwrap().unwrap();
        assert_eq!((found.version, found.body), (2, json!(2)));
        assert_eq!(one.put("pins", "a", 2, None).await.unwrap(), Some(3));
        assert_eq!(other.document("pins", "a").await.unwrap(), None);
    }
}

#[tokio::test]
async fn what_is_too_old_is_forgotten_and_what_runs_stays() {
    for pair in every_book() {
        fill(&pair.one).await;
        let old = Limits { before: Some(Instant(3_500)), max_bytes: None };
        let pruned = pair.one.prune(old).await.unwrap();
        assert_eq!(pruned.calls, 2, "one that finished, one that was refused; two run");
        let left = pair.one.calls(CallFilter { most: 10, ..CallFilter::default() }).await.unwrap();
        assert_eq!(left.iter().map(|call| call.no.0).collect::<Vec<_>>(), [5, 3, 1]);
    }
}

#[tokio::test]
async fn a_turn_that_ended_is_known_to_have() {
    for pair in every_book() {
        let key = key("s", "1");
        append(&pair.one, vec![turn("s", 1), Entry::Started(Box::new(claim(&key)))]).await;
        assert!(!pair.other.past(&"s".into(), 9).await.unwrap()[0].turn_ended);
        append(&pair.one, vec![Entry::TurnEnded { session: "s".into(), turn: 1, at: Instant(9) }]).await;
        assert!(pair.other.past(&"s".into(), 9).await.unwrap()[0].turn_ended);
    }
}
