//! What every book promises: one list of behaviours, tried on each kind.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join_all;
use haft_engine::session::{CallKey, CallState};
use haft_store::{
    AnyRow, Book, CallFilter, CallNo, CallRow, Claim, Claimed, Durability, Entry, EventFilter, EventKind,
    EventRow, Instant, Limits, Outcome, PathRow,
};
use serde_json::json;

use crate::library::{Library, all, check, claim, finished, key, repeatable, tick, turn};

macro_rules! every_book {
    ($($behaviour:ident,)*) => {
        mod memory {
            $(#[test] fn $behaviour() { super::check(super::Library::memory(), super::$behaviour) })*
        }
        mod sqlite {
            $(#[test] fn $behaviour() { super::check(super::Library::sqlite(), super::$behaviour) })*
        }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[test] fn $behaviour() { super::check(super::Library::postgres(), super::$behaviour) })*
        }
    };
}

every_book! {
    a_call_is_one_row_from_its_start_to_its_result,
    of_two_who_claim_a_call_one_gets_it,
    a_finished_call_is_answered_and_stays_as_it_is,
    a_call_whose_owner_is_gone_was_cut_off,
    a_call_that_was_cut_off_is_taken_over_only_if_twice_is_once,
    what_its_own_process_dropped_was_cut_off,
    a_refused_call_may_run_later,
    one_that_never_ran_says_nothing_of_an_earlier_run,
    the_same_id_with_another_input_is_another_call,
    what_was_begun_quietly_is_finished_quietly,
    calls_are_found_by_what_they_are,
    calls_are_found_by_their_paths,
    calls_are_paged_and_followed,
    events_are_found_in_the_order_in_which_they_happened,
    all_that_is_kept_is_read_page_by_page_and_each_row_once,
    a_reader_of_all_finds_what_its_filter_asks_for,
    a_session_in_which_only_something_was_said_is_one,
    what_is_written_meanwhile_does_not_keep_a_reader_of_all,
    what_is_past_of_a_session_is_found,
    sessions_are_counted_and_the_latest_comes_first,
    documents_are_replaced_only_by_who_has_seen_the_last,
    what_is_old_is_forgotten_and_what_runs_stays,
    a_session_that_has_just_begun_stays_whatever_is_forgotten,
    what_a_call_turned_out_to_change_is_found_by_its_path,
    every_text_comes_back_as_it_was,
    many_who_claim_at_once_get_each_call_once,
    what_is_queued_is_there_for_the_next_who_asks,
}

async fn write(book: &dyn haft_store::Book, entries: Vec<Entry>) {
    book.append(entries, Durability::Process).await.unwrap();
}

async fn only_call(book: &dyn haft_store::Book) -> CallRow {
    let mut rows = book.calls(all()).await.unwrap();
    assert_eq!(rows.len(), 1, "{rows:?}");
    rows.remove(0)
}

async fn a_call_is_one_row_from_its_start_to_its_result(library: &Library) {
    let (book, key) = (library.open(), key("s", "c1", 1));
    write(&*book, vec![turn("s", 1)]).await;
    let claim = claim(&key);
    assert_eq!(book.claim(claim.clone()).await.unwrap(), Claimed::Yours);
    let row = only_call(&*book).await;
    assert_eq!((row.state, row.result_known()), (CallState::Open, false));
    assert_eq!(book.result(&key).await.unwrap(), None);
    write(&*book, vec![finished(&key, "the result")]).await;
    let row = only_call(&*book).await;
    let expected = CallRow {
        no: row.no,
        session: "s".into(),
        call: "c1".into(),
        key: key.clone(),
        turn: 1,
        tool: claim.tool,
        description: claim.description,
        verdict: Some("allow".to_owned()),
        class: Some("write".to_owned()),
        state: CallState::Finished,
        fault: None,
        at: claim.at,
        duration_us: Some(42),
        repeatable: false,
        owner: row.owner.clone(),
        paths: claim.paths,
    };
    assert_eq!(row, expected);
    assert_eq!(book.result(&key).await.unwrap().as_deref(), Some("the result"));
}

trait Known {
    fn result_known(&self) -> bool;
}

impl Known for CallRow {
    fn result_known(&self) -> bool {
        self.duration_us.is_some()
    }
}

async fn of_two_who_claim_a_call_one_gets_it(library: &Library) {
    let (one, other, key) = (library.open(), library.open(), key("s", "c", 1));
    assert_eq!(one.claim(claim(&key)).await.unwrap(), Claimed::Yours);
    for book in [&one, &other] {
        let claimed = book.claim(claim(&key)).await.unwrap();
        assert!(matches!(&claimed, Claimed::Busy(owner) if !owner.is_empty()), "{claimed:?}");
    }
    write(&*one, vec![finished(&key, "r")]).await;
    assert_eq!(other.claim(claim(&key)).await.unwrap(), Claimed::Finished("r".to_owned()));
}

async fn a_finished_call_is_answered_and_stays_as_it_is(library: &Library) {
    let (book, key) = (library.open(), key("s", "c", 1));
    book.claim(claim(&key)).await.unwrap();
    write(&*book, vec![finished(&key, "first")]).await;
    let later = vec![
        finished(&key, "second"),
        Entry::Started(Box::new(repeatable(&key))),
        Entry::Refused(Box::new(claim(&key))),
    ];
    write(&*book, later).await;
    assert_eq!(only_call(&*book).await.state, CallState::Finished);
    assert_eq!(book.claim(repeatable(&key)).await.unwrap(), Claimed::Finished("first".to_owned()));
}

async fn a_call_whose_owner_is_gone_was_cut_off(library: &Library) {
    let (one, other, key) = (library.open(), library.open(), key("s", "c", 1));
    one.claim(claim(&key)).await.unwrap();
    assert_eq!(only_call(&*other).await.state, CallState::Open);
    one.die().await;
    assert_eq!(only_call(&*other).await.state, CallState::CutOff);
    assert_eq!(other.past(&"s".into(), 10).await.unwrap()[0].state, CallState::CutOff);
    let found = |state| CallFilter { state: Some(state), ..all() };
    assert_eq!(other.calls(found(CallState::CutOff)).await.unwrap().len(), 1);
    assert_eq!(other.calls(found(CallState::Open)).await.unwrap().len(), 0);
}

async fn a_call_that_was_cut_off_is_taken_over_only_if_twice_is_once(library: &Library) {
    let (gone, next, third) = (library.open(), library.open(), library.open());
    let (once, twice) = (key("s", "once", 1), key("s", "twice", 2));
    gone.claim(claim(&once)).await.unwrap();
    gone.claim(repeatable(&twice)).await.unwrap();
    gone.die().await;
    assert_eq!(next.claim(claim(&once)).await.unwrap(), Claimed::CutOff);
    assert_eq!(next.claim(repeatable(&twice)).await.unwrap(), Claimed::Yours);
    // Of two who find it cut off, one says so.
    for key in [&once, &twice] {
        assert!(matches!(third.claim(repeatable(key)).await.unwrap(), Claimed::Busy(_)));
    }
    write(&*next, vec![finished(&once, "effect unknown")]).await;
    assert_eq!(third.claim(claim(&once)).await.unwrap(), Claimed::Finished("effect unknown".to_owned()));
}

async fn what_its_own_process_dropped_was_cut_off(library: &Library) {
    let (book, other, key) = (library.open(), library.open(), key("s", "c", 1));
    let dropped = |claim: Claim| Claim { was_dropped: true, ..claim };
    book.claim(claim(&key)).await.unwrap();
    assert!(matches!(other.claim(dropped(claim(&key))).await.unwrap(), Claimed::Busy(_)), "it is another's");
    assert_eq!(book.claim(dropped(claim(&key))).await.unwrap(), Claimed::CutOff);
    let again = self::key("s", "again", 2);
    book.claim(repeatable(&again)).await.unwrap();
    assert_eq!(book.claim(dropped(repeatable(&again))).await.unwrap(), Claimed::Yours);
}

async fn a_refused_call_may_run_later(library: &Library) {
    let (book, key) = (library.open(), key("s", "c", 1));
    let refused = Claim { verdict: "deny".to_owned(), ..claim(&key) };
    write(&*book, vec![Entry::Refused(Box::new(refused)), ended(&key, "no")]).await;
    let row = only_call(&*book).await;
    assert_eq!((row.state, row.verdict.as_deref()), (CallState::Refused, Some("deny")));
    assert_eq!(book.result(&key).await.unwrap().as_deref(), Some("no"), "what the model was told is kept");
    assert_eq!(book.claim(claim(&key)).await.unwrap(), Claimed::Yours);
    assert_eq!(book.result(&key).await.unwrap(), None);
    let row = only_call(&*book).await;
    assert_eq!((row.state, row.verdict.as_deref()), (CallState::Open, Some("allow")));
}

/// The end of one that never ran.
fn ended(key: &CallKey, result: &str) -> Entry {
    match finished(key, result) {
        Entry::Finished(outcome) => {
            Entry::Finished(Box::new(Outcome { ran: false, fault: Some("denied".to_owned()), ..*outcome }))
        }
        other => other,
    }
}

async fn one_that_never_ran_says_nothing_of_an_earlier_run(library: &Library) {
    let (book, key) = (library.open(), key("s", "c", 1));
    book.claim(claim(&key)).await.unwrap();
    write(&*book, vec![ended(&key, "cancelled before it began")]).await;
    assert_eq!(only_call(&*book).await.state, CallState::Open);
    let unknown = self::key("s", "unknown", 3);
    write(&*book, vec![ended(&unknown, "there is no such tool")]).await;
    let row = &book.calls(CallFilter { call: Some("unknown".to_owned()), ..all() }).await.unwrap()[0];
    assert_eq!(
        (row.state, row.fault.as_deref(), row.duration_us),
        (CallState::Refused, Some("denied"), None)
    );
}

async fn the_same_id_with_another_input_is_another_call(library: &Library) {
    let book = library.open();
    let first = key("s", "call_1", 1);
    let others = [
        key("s", "call_1", 2),
        key("t", "call_1", 1),
        key("s", "call_2", 1),
        CallKey { nth: 1, ..first.clone() },
    ];
    book.claim(claim(&first)).await.unwrap();
    for other in &others {
        assert_eq!(book.claim(claim(other)).await.unwrap(), Claimed::Yours, "{other:?}");
    }
    write(&*book, vec![finished(&first, "of the first")]).await;
    assert_eq!(book.result(&others[0]).await.unwrap(), None);
}

async fn what_was_begun_quietly_is_finished_quietly(library: &Library) {
    let (book, key) = (library.open(), key("s", "c", 1));
    let begun = Entry::Started(Box::new(repeatable(&key)));
    book.append(vec![begun], Durability::Queued).await.unwrap();
    book.append(vec![finished(&key, "r")], Durability::Queued).await.unwrap();
    book.flush().await.unwrap();
    assert_eq!(only_call(&*library.open()).await.state, CallState::Finished);
}

/// Four calls that differ in everything.
async fn four(book: &dyn haft_store::Book) {
    write(book, vec![turn("s", 1), turn("t", 1)]).await;
    let each = [
        ("s", "a", "Write", "/w/src/a.rs"),
        ("s", "b", "Read", "/w/src/b%.rs"),
        ("t", "c", "Bash", "/w/src_c"),
    ];
    for (session, call, tool, path) in each {
        let key = key(session, call, 1);
        let paths = vec![PathRow { path: path.to_owned(), writes: tool != "Read" }];
        book.claim(Claim { tool: tool.to_owned(), paths, ..claim(&key) }).await.unwrap();
        write(book, vec![finished(&key, "r")]).await;
    }
    let denied = Claim { verdict: "deny".to_owned(), turn: 2, paths: Vec::new(), ..claim(&key("t", "d", 1)) };
    write(book, vec![turn("t", 2), Entry::Refused(Box::new(denied))]).await;
}

async fn found(book: &dyn haft_store::Book, filter: CallFilter) -> String {
    let rows = book.calls(filter).await.unwrap();
    rows.iter().map(|row| row.call.as_str()).collect::<Vec<_>>().join(" ")
}

async fn calls_are_found_by_what_they_are(library: &Library) {
    let book = library.open();
    four(&*book).await;
    let text = |text: &str| Some(text.to_owned());
    let at: BTreeMap<String, Instant> =
        book.calls(all()).await.unwrap().iter().map(|row| (row.call.to_string(), row.at)).collect();
    for (filter, expected) in [
        (all(), "d c b a"),
        (CallFilter { session: Some("s".into()), ..all() }, "b a"),
        (CallFilter { session: Some("t".into()), turn: Some(2), ..all() }, "d"),
        (CallFilter { call: text("b"), ..all() }, "b"),
        (CallFilter { tool: text("Write"), ..all() }, "d a"),
        (CallFilter { tool: text("write"), ..all() }, ""),
        (CallFilter { verdict: text("deny"), ..all() }, "d"),
        (CallFilter { verdict: text("allow"), ..all() }, "c b a"),
        (CallFilter { state: Some(CallState::Refused), ..all() }, "d"),
        (CallFilter { state: Some(CallState::Finished), session: Some("s".into()), ..all() }, "b a"),
        (CallFilter { since: Some(at["b"]), ..all() }, "d c b"),
        (CallFilter { until: Some(at["b"]), ..all() }, "a"),
        (CallFilter { most: 2, ..all() }, "d c"),
    ] {
        assert_eq!(found(&*book, filter.clone()).await, expected, "{filter:?}");
    }
}

async fn calls_are_found_by_their_paths(library: &Library) {
    let book = library.open();
    four(&*book).await;
    for (path, expected) in [
        ("/w/src/a.rs", "a"),
        ("/w/src", "b a"),
        ("/w/src/", "b a"),
        ("/w", "c b a"),
        ("/w/sr", ""),
        ("/w/src*", "c b a"),
        ("*.rs", "b a"),
        ("/w/src/?.rs", "a"),
        ("*b%*", "b"),
        ("*%", ""),
        ("/w/src_c", "c"),
        ("/w/src?c", "c"),
        ("*\\*", ""),
    ] {
        let filter = CallFilter { path: Some(path.to_owned()), ..all() };
        assert_eq!(found(&*book, filter).await, expected, "{path}");
    }
}

async fn calls_are_paged_and_followed(library: &Library) {
    let book = library.open();
    four(&*book).await;
    let no: Vec<CallNo> = book.calls(all()).await.unwrap().iter().map(|row| row.no).collect();
    assert!(no.is_sorted_by(|later, earlier| later > earlier));
    assert_eq!(found(&*book, CallFilter { before: Some(no[1]), ..all() }).await, "b a");
    assert_eq!(found(&*book, CallFilter { before: Some(no[1]), most: 1, ..all() }).await, "b");
    assert_eq!(found(&*book, CallFilter { after: Some(no[2]), ..all() }).await, "c d");
    assert_eq!(found(&*book, CallFilter { after: Some(no[3]), most: 1, ..all() }).await, "b");
}

async fn events_are_found_in_the_order_in_which_they_happened(library: &Library) {
    let (book, key) = (library.open(), key("s", "c", 1));
    let approved = Claim { approval: Some(json!({ "by": "person" })), ..claim(&key) };
    book.claim(approved).await.unwrap();
    let event = |kind: EventKind, key: Option<&CallKey>, body| {
        Entry::Event(EventRow { session: "s".into(), key: key.cloned(), turn: 1, at: tick(), kind, body })
    };
    let entries = vec![
        event(EventKind::RETRY, Some(&key), json!({ "attempt": 1 })),
        event(EventKind::RETRY, Some(&key), json!({ "attempt": 2 })),
        event(EventKind::UNRECORDED, None, json!({ "why": "x" })),
    ];
    write(&*book, entries).await;
    let of_call = EventFilter { key: Some(key.clone()), ..EventFilter::default() };
    let events = book.events(of_call.clone()).await.unwrap();
    let kinds: BTreeSet<String> = events.iter().map(|event| event.kind.to_string()).collect();
    assert_eq!(kinds, ["approval", "decision", "input", "retry"].map(str::to_owned).into());
    assert!(events.iter().all(|event| event.key.as_ref() == Some(&key)));
    let retries = EventFilter { kinds: vec![EventKind::RETRY], ..of_call };
    let attempts: Vec<_> =
        book.events(retries).await.unwrap().iter().map(|event| event.body["attempt"].clone()).collect();
    assert_eq!(attempts, [json!(1), json!(2)]);
    let of_session = EventFilter {
        session: Some("s".into()),
        kinds: vec![EventKind::UNRECORDED],
        ..EventFilter::default()
    };
    assert_eq!(book.events(of_session).await.unwrap().len(), 1);
}

/// Something that happened to a session, or to a call of it.
fn happened(session: &str, key: Option<&CallKey>, kind: EventKind, at: i64) -> Entry {
    let (session, key, body) = (session.into(), key.cloned(), json!({ "at": at }));
    Entry::Event(EventRow { session, key, turn: 1, at: Instant(at), kind, body })
}

/// Two sessions, three turns, three calls, and what happened besides, at times from 1,000 to 8,000.
async fn fill(book: &dyn Book) {
    let [one, two, open] = [("s", "one", 1), ("s", "two", 2), ("t", "open", 3)]
        .map(|(session, call, input)| key(session, call, input));
    let turn = |session: &str, number, at| match turn(session, number) {
        Entry::Turn(turn) => Entry::Turn(haft_store::Turn { at: Instant(at), ..turn }),
        other => other,
    };
    let approval = Some(json!({ "by": "person", "said": "once" }));
    let begun = |key: &CallKey, at| Claim { at: Instant(at), ..claim(key) };
    let ended = |key: &CallKey, at| match finished(key, "the result") {
        Entry::Finished(outcome) => Entry::Finished(Box::new(Outcome { at: Instant(at), ..*outcome })),
        other => other,
    };
    write(book, vec![turn("s", 1, 1000), happened("s", None, EventKind::SAID, 1500)]).await;
    book.claim(Claim { approval, ..begun(&one, 2000) }).await.unwrap();
    write(book, vec![happened("s", Some(&one), EventKind::RETRY, 2500), ended(&one, 3000)]).await;
    let end = Entry::TurnEnded { session: "s".into(), turn: 1, at: Instant(3500) };
    write(book, vec![end, turn("s", 2, 4000), Entry::Refused(Box::new(begun(&two, 4500)))]).await;
    let undone = happened("s", Some(&one), EventKind::UNDONE, 5000);
    write(book, vec![undone, turn("t", 1, 6000), happened("t", None, EventKind::DELEGATED, 7000)]).await;
    book.claim(begun(&open, 8000)).await.unwrap();
}

/// All that a reader finds who reads so much at a time, each row in short.
async fn told(book: &dyn Book, filter: CallFilter) -> Vec<String> {
    let (mut told, mut from) = (Vec::new(), None);
    loop {
        let page = book.page(filter.clone(), from).await.unwrap();
        assert!(page.rows.len() <= filter.most, "{}", page.rows.len());
        told.extend(page.rows.iter().map(short));
        from = page.next;
        if from.is_none() {
            return told;
        }
    }
}

fn short(row: &AnyRow) -> String {
    match row {
        AnyRow::Session(row) => format!("session {} {}: {} calls", row.session, row.began.0, row.calls),
        AnyRow::Turn(row) => {
            format!("turn {} {} {}-{:?}", row.session, row.turn, row.at.0, row.ended.map(|at| at.0))
        }
        AnyRow::Event(row) => format!("event {} {} {}", row.session, row.kind, row.body["at"]),
        AnyRow::Call(whole) => {
            let kinds = whole.events.iter().map(|event| &*event.kind.0);
            // A decision is kept with its call, or as an event of it: what is said at the start has no order.
            let (mut kinds, later): (Vec<&str>, Vec<&str>) =
                kinds.partition(|kind| ["decision", "input", "approval"].contains(kind));
            kinds.sort_unstable();
            kinds.extend(later);
            assert!(whole.events.iter().all(|event| event.key.as_ref() == Some(&whole.call.key)));
            let (call, paths) = (&whole.call, whole.call.paths.len());
            let result = whole.result.as_deref().unwrap_or("nothing");
            format!(
                "call {} {}: {:?}, {paths} path, {}: {result}",
                call.session,
                call.call,
                call.state,
                kinds.join(" ")
            )
        }
    }
}

const ALL: [&str; 10] = [
    "session s 1000: 2 calls",
    "session t 6000: 1 calls",
    "turn s 1 1000-Some(3500)",
    "turn s 2 4000-None",
    "turn t 1 6000-None",
    "event s said 1500",
    "event t delegated 7000",
    "call s one: Finished, 1 path, approval decision input retry undone: the result",
    "call s two: Refused, 1 path, decision input: nothing",
    "call t open: Open, 1 path, decision input: nothing",
];

async fn all_that_is_kept_is_read_page_by_page_and_each_row_once(library: &Library) {
    let (one, other) = (library.open(), library.open());
    assert_eq!(told(&*other, all()).await, [""; 0], "nothing is kept yet");
    fill(&*one).await;
    for most in [1, 2, 3, 1000] {
        let found = told(&*other, CallFilter { most, ..all() }).await;
        assert_eq!(found, ALL, "{most} at a time");
    }
}

async fn a_reader_of_all_finds_what_its_filter_asks_for(library: &Library) {
    let book = library.open();
    fill(&*book).await;
    let table: Vec<(CallFilter, Vec<usize>)> = vec![
        (CallFilter { session: Some("t".into()), ..all() }, vec![1, 4, 6, 9]),
        (CallFilter { session: Some("nobody's".into()), ..all() }, vec![]),
        (CallFilter { since: Some(Instant(5500)), ..all() }, vec![1, 4, 6, 9]),
        (CallFilter { since: Some(Instant(4400)), until: Some(Instant(5000)), ..all() }, vec![0, 8]),
        (CallFilter { since: Some(Instant(1500)), until: Some(Instant(4000)), ..all() }, vec![0, 5, 7]),
        (CallFilter { tool: Some("Write".to_owned()), ..all() }, vec![7, 8, 9]),
        (CallFilter { state: Some(CallState::Refused), ..all() }, vec![8]),
        (CallFilter { path: Some("/w/a.txt".to_owned()), until: Some(Instant(4500)), ..all() }, vec![7]),
    ];
    for (filter, expected) in table {
        let expected: Vec<&str> = expected.into_iter().map(|at| ALL[at]).collect();
        for most in [1, 1000] {
            let found = told(&*book, CallFilter { most, ..filter.clone() }).await;
            assert_eq!(found, expected, "{filter:?}");
        }
    }
}

async fn a_session_in_which_only_something_was_said_is_one(library: &Library) {
    let book = library.open();
    let said = |at| happened("s", None, EventKind::SAID, at);
    write(&*book, vec![said(1000)]).await;
    write(&*book, vec![said(9000)]).await;
    let sessions = book.sessions(10).await.unwrap();
    let [session] = &sessions[..] else { panic!("{sessions:?}") };
    assert_eq!((session.began, session.last, session.turns), (Instant(1000), Instant(9000), 0));
    let lately = CallFilter { since: Some(Instant(9000)), ..all() };
    assert_eq!(told(&*book, lately).await, ["session s 1000: 0 calls", "event s said 9000"]);
    write(&*book, vec![turn("s", 1)]).await;
    let session = &book.sessions(10).await.unwrap()[0];
    assert_eq!(
        (session.workspace.as_str(), session.turns),
        ("/w", 1),
        "what a turn says is known from then on"
    );
}

async fn what_is_written_meanwhile_does_not_keep_a_reader_of_all(library: &Library) {
    let book = library.open();
    fill(&*book).await;
    let first = book.page(CallFilter { most: 2, ..all() }, None).await.unwrap();
    assert_eq!(first.rows.len(), 2, "the sessions");
    let (mut from, mut calls) = (first.next, Vec::new());
    for round in 0..100 {
        let Some(next) = from else { break };
        // Somebody is always faster.
        let later = key("later", &format!("c{round}"), 9);
        write(&*book, vec![turn("later", 1), Entry::Started(Box::new(repeatable(&later)))]).await;
        let page = book.page(CallFilter { most: 1, ..all() }, Some(next)).await.unwrap();
        calls.extend(page.rows.into_iter().filter_map(|row| match row {
            AnyRow::Call(whole) => Some(whole.call.call.to_string()),
            _ => None,
        }));
        from = page.next;
    }
    assert_eq!(from, None, "it comes to an end");
    assert_eq!(calls[..3], ["one", "two", "open"]);
}

async fn what_is_past_of_a_session_is_found(library: &Library) {
    let book = library.open();
    write(&*book, vec![turn("s", 1)]).await;
    for (n, call) in ["a", "b", "c"].into_iter().enumerate() {
        let key = key("s", call, 1);
        book.claim(Claim { turn: n as u32 / 2 + 1, ..claim(&key) }).await.unwrap();
    }
    let at = tick();
    let entries = vec![
        finished(&key("s", "a", 1), "r"),
        Entry::TurnEnded { session: "s".into(), turn: 1, at },
        turn("s", 2),
    ];
    write(&*book, entries).await;
    let past = book.past(&"s".into(), 2).await.unwrap();
    let told: Vec<_> =
        past.iter().map(|call| (call.key.call.as_str(), call.turn, call.state, call.turn_ended)).collect();
    assert_eq!(told, [("b", 1, CallState::Open, true), ("c", 2, CallState::Open, false)]);
    assert_eq!(book.past(&"s".into(), 9).await.unwrap().len(), 3);
    assert!(book.past(&"nobody".into(), 9).await.unwrap().is_empty());
}

async fn sessions_are_counted_and_the_latest_comes_first(library: &Library) {
    let book = library.open();
    four(&*book).await;
    let sessions = book.sessions(10).await.unwrap();
    let told: Vec<_> = sessions
        .iter()
        .map(|row| {
            (row.session.as_str(), row.turns, row.calls, row.refused, row.changed, row.workspace.as_str())
        })
        .collect();
    assert_eq!(told, [("t", 2, 2, 1, 1, "/w"), ("s", 1, 2, 0, 1, "/w")]);
    assert!(sessions.iter().all(|row| row.began < row.last));
    assert!(sessions.iter().all(|row| row.caller == serde_json::json!({ "user": "me" })));
    assert_eq!(book.sessions(1).await.unwrap().len(), 1);
}

async fn documents_are_replaced_only_by_who_has_seen_the_last(library: &Library) {
    let (one, other) = (library.open(), library.open());
    assert_eq!(one.document("pins", "all").await.unwrap(), None);
    assert_eq!(one.put("pins", "all", 7, Some(json!(0))).await.unwrap(), None, "there is no version 7");
    assert_eq!(one.put("pins", "all", 0, Some(json!({ "a": 1 }))).await.unwrap(), Some(1));
    assert_eq!(other.put("pins", "all", 0, Some(json!({ "b": 1 }))).await.unwrap(), None);
    let document = other.document("pins", "all").await.unwrap().unwrap();
    assert_eq!((document.version, document.body), (1, json!({ "a": 1 })));
    assert_eq!(other.put("pins", "all", 1, Some(json!({ "b": 1 }))).await.unwrap(), Some(2));
    assert_eq!(one.put("pins", "all", 1, None).await.unwrap(), None);
    assert!(one.put("pins", "all", 2, None).await.unwrap().is_some());
    assert_eq!(other.document("pins", "all").await.unwrap(), None);
    assert_eq!(other.put("pins", "other", 0, Some(json!(null))).await.unwrap(), Some(1));
}

async fn what_is_old_is_forgotten_and_what_runs_stays(library: &Library) {
    let book = library.open();
    four(&*book).await;
    let runs = key("u", "runs", 1);
    write(&*book, vec![turn("u", 1)]).await;
    book.claim(claim(&runs)).await.unwrap();
    let old = tick();
    write(&*book, vec![turn("v", 1)]).await;
    book.claim(claim(&key("v", "new", 1))).await.unwrap();
    let pruned = book.prune(Limits { before: Some(old), max_bytes: None }).await.unwrap();
    assert_eq!((pruned.calls, pruned.sessions), (4, 2));
    assert_eq!(found(&*book, all()).await, "new runs");
    let left: Vec<String> =
        book.sessions(9).await.unwrap().iter().map(|row| row.session.to_string()).collect();
    assert_eq!(left, ["v", "u"]);
}

async fn a_session_that_has_just_begun_stays_whatever_is_forgotten(library: &Library) {
    let book = library.open();
    four(&*book).await;
    let now = tick();
    write(&*book, vec![turn("new", 1)]).await;
    let pruned = book.prune(Limits { before: Some(now), max_bytes: None }).await.unwrap();
    assert_eq!((pruned.calls, pruned.sessions), (4, 2));
    four(&*book).await;
    write(&*book, vec![turn("newer", 1)]).await;
    book.prune(Limits { before: Some(now), max_bytes: Some(1) }).await.unwrap();
    let left = book.sessions(9).await.unwrap();
    let left: Vec<&str> = left.iter().map(|row| row.session.as_str()).collect();
    assert!(left.contains(&"new") && left.contains(&"newer"), "{left:?}");
}

async fn what_a_call_turned_out_to_change_is_found_by_its_path(library: &Library) {
    let book = library.open();
    let key = key("s", "command", 1);
    write(&*book, vec![turn("s", 1)]).await;
    let reads = PathRow { path: "/w/read".to_owned(), writes: false };
    book.claim(Claim { paths: vec![reads], ..claim(&key) }).await.unwrap();
    let written = |name: &str| PathRow { path: format!("/w/{name}"), writes: true };
    let touched = || Entry::Touched { key: key.clone(), paths: vec![written("made"), written("read")] };
    write(&*book, vec![touched(), touched(), finished(&key, "{}")]).await;
    let path = Some("/w/made".to_owned());
    assert_eq!(found(&*book, CallFilter { path, ..all() }).await, "command");
    let mut paths = only_call(&*book).await.paths;
    paths.sort_by(|one, other| one.path.cmp(&other.path));
    assert_eq!(paths, [written("made"), written("read")], "each once, and written if it is written at all");
    let session = &book.sessions(1).await.unwrap()[0];
    assert_eq!((session.changed, session.mode.as_str()), (2, "default"));
}

async fn every_text_comes_back_as_it_was(library: &Library) {
    let book = library.open();
    let long = "x/é".repeat(1500);
    for (n, odd) in ["", "a\0b", "\u{e000}0", "ünï 💥\n\t\"'\\%_", "$1 {} ?", &long].into_iter().enumerate()
    {
        let key = key("s", odd, n as u8);
        let paths = vec![PathRow { path: format!("/p/{odd}"), writes: true }];
        let text = || odd.to_owned();
        let odd_one = Claim { tool: text(), description: text(), paths, input: json!(odd), ..claim(&key) };
        assert_eq!(book.claim(odd_one.clone()).await.unwrap(), Claimed::Yours, "{odd:?}");
        write(&*book, vec![finished(&key, odd)]).await;
        let found = book.calls(CallFilter { call: Some(text()), tool: Some(text()), ..all() }).await.unwrap();
        assert_eq!(found.len(), 1, "{odd:?}");
        let row = &found[0];
        assert_eq!((&row.key, &row.description, &row.paths), (&key, &odd_one.description, &odd_one.paths));
        assert_eq!(book.claim(claim(&key)).await.unwrap(), Claimed::Finished(text()));
        let input = EventFilter { key: Some(key), kinds: vec![EventKind::INPUT], ..EventFilter::default() };
        assert_eq!(book.events(input).await.unwrap()[0].body, json!(odd));
    }
    assert_eq!(book.put("session", "a\0b", 0, Some(json!("a\0b"))).await.unwrap(), Some(1));
    assert_eq!(book.document("session", "a\0b").await.unwrap().unwrap().body, json!("a\0b"));
}

async fn many_who_claim_at_once_get_each_call_once(library: &Library) {
    let hands: Vec<_> = (0..4).map(|_| library.open()).collect();
    let claims = hands.iter().flat_map(|hand| {
        (0..25).map(async |n| {
            let key = key("s", &n.to_string(), 1);
            let claimed = hand.claim(claim(&key)).await.unwrap();
            if claimed == Claimed::Yours {
                write(&**hand, vec![finished(&key, "r")]).await;
            }
            (n, claimed == Claimed::Yours)
        })
    });
    let mut got = BTreeMap::new();
    for (n, is_ours) in join_all(claims).await {
        *got.entry(n).or_insert(0) += u32::from(is_ours);
    }
    assert_eq!(got, (0..25).map(|n| (n, 1)).collect());
    assert_eq!(
        hands[0].calls(CallFilter { state: Some(CallState::Finished), ..all() }).await.unwrap().len(),
        25
    );
}

async fn what_is_queued_is_there_for_the_next_who_asks(library: &Library) {
    let book = library.open();
    for n in 0..500u32 {
        let key = key("s", &n.to_string(), 1);
        book.append(vec![Entry::Started(Box::new(repeatable(&key)))], Durability::Queued).await.unwrap();
    }
    assert_eq!(book.calls(all()).await.unwrap().len(), 500);
}
