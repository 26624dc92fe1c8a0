//! Calls that come again, through the engine.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{
    Call, Engine, Session, SessionOptions,
    policy::{Answer, Asker, Mode, Origin, Question, RuleKeeper, Rules, Written},
    result::ToolResult,
    session::{CallKey, CallState, Evidence, Found},
    turn::Event,
};
use haft_redact::Redactor;
use haft_store::{
    Book, CallFilter, EventFilter, EventKind, Inspector, Journal, MemoryBook, OnFailure,
    results::{ResultLimits, Results},
};
use haft_testkit::{Probe, Workspace};
use haft_tool::{BoxFuture, Caller, Change, Cx, Effects, FaultKind, Reply, SessionFacts, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::sqlite;

#[derive(Deserialize, JsonSchema)]
struct Do {
    what: String,
}

/// Does something that must not be done twice.
fn once(probe: &Probe) -> SharedTool {
    let probe = probe.clone();
    tool("Once").effects(|input: &Do| Effects::writes(format!("/w/{}", input.what))).call(
        move |input: Do, cx: Cx| {
            probe.note(input.what.clone());
            let probe = probe.clone();
            async move {
                if input.what == "slow" {
                    let slowly = tokio::time::sleep(Duration::from_millis(200));
                    cx.token().run_until_cancelled(slowly).await;
                    probe.note("slow done");
                }
                Ok(Reply::text(format!("did {}", input.what))
                    .change(Change::State("last".into(), json!(input.what))))
            }
        },
    )
}

/// Does something that may be done as often as one likes.
fn often(probe: &Probe) -> SharedTool {
    let probe = probe.clone();
    tool("Often").effects(|_: &Do| Effects::none()).call(move |input: Do, _| {
        probe.note(input.what);
        async { Ok(Reply::text("looked")) }
    })
}

/// A process: an engine over a book.
fn process(workspace: &Workspace, book: &Arc<dyn Book>, probe: &Probe) -> Session {
    process_with(workspace, Journal::new(book.clone(), |_| {}), probe)
}

fn process_with(workspace: &Workspace, journal: Journal, probe: &Probe) -> Session {
    let engine = haft_testkit::engine(workspace).tool(once(probe)).tool(often(probe)).journal(journal);
    let options =
        SessionOptions { mode: Mode::Bypass, id: Some("s".into()), ..SessionOptions::at(workspace.root()) };
    engine.build().unwrap().session(options).unwrap()
}

fn call(id: &str, tool: &str, what: &str) -> Call {
    Call::new(id, tool, json!({ "what": what }))
}

fn is_recalled(result: &ToolResult) -> bool {
    result.meta.notes.get("recalled") == Some(&json!(true))
}

/// A book of each kind, as two processes have it.
fn books() -> Vec<[Arc<dyn Book>; 2]> {
    let memory = MemoryBook::default();
    let directory = Box::leak(Box::new(tempfile::tempdir().unwrap()));
    let other = memory.of_another_process();
    vec![
        [Arc::new(memory), Arc::new(other)],
        [Arc::new(sqlite(directory.path())), Arc::new(sqlite(directory.path()))],
    ]
}

#[tokio::test]
async fn a_call_that_finished_is_answered_and_not_made_again_here_and_in_the_next_process() {
    for [one, other] in books() {
        let (workspace, probe) = (Workspace::new(""), Probe::default());
        let session = process(&workspace, &one, &probe);
        let first = session.turn(vec![call("1", "Once", "a"), call("2", "Often", "b")]).await;
        assert!(!is_recalled(&first[0]) && !is_recalled(&first[1]));
        one.flush().await.unwrap();
        for (session, is_next) in [(session, false), (process(&workspace, &other, &probe), true)] {
            let again = session.turn(vec![call("1", "Once", "a"), call("2", "Often", "b")]).await;
            assert!(is_recalled(&again[0]));
            assert_eq!(is_recalled(&again[1]), is_next, "a session that lives looks at what is there now");
            assert!(again[0].messages.iter().any(|words| words.contains("made before")), "{again:?}");
            assert_eq!((again[0].text(), again[1].text()), ("did a".to_owned(), "looked".to_owned()));
            assert_eq!(
                session.state("last"),
                Some(json!("a")),
                "what it changed in the session is changed again"
            );
        }
        let mut done = probe.notes();
        done.sort();
        assert_eq!(done, ["a", "b", "b"]);
    }
}

/// Sessions of one id, over one book: of two workspaces and of several callers, in one process and in two.
#[tokio::test]
async fn an_answer_never_crosses_workspace_or_caller() {
    for [one, other] in books() {
        let (workspaces, probe) = ([Workspace::new(""), Workspace::new("")], Probe::default());
        let caller = |user: Option<&str>, role: &str| Caller {
            user: user.map(str::to_owned),
            roles: vec![role.to_owned()],
            channel: None,
        };
        let callers =
            [caller(Some("ann"), "a"), caller(Some("bob"), "a"), caller(None, "a"), caller(None, "b")];
        let all =
            || workspaces.iter().flat_map(|workspace| callers.iter().map(move |caller| (workspace, caller)));
        for (book, comes_again) in [(&one, false), (&other, true)] {
            let journal = || Journal::new(book.clone(), |_| {});
            let engine = Engine::builder().tool(once(&probe)).tool(often(&probe)).journal(journal()).build();
            let engine = engine.unwrap();
            for (workspace, caller) in all() {
                let session = || {
                    let (id, caller) = (Some("s".into()), caller.clone());
                    let options = SessionOptions {
                        id,
                        caller,
                        mode: Mode::Bypass,
                        ..SessionOptions::at(workspace.root())
                    };
                    engine.session(options).unwrap()
                };
                let calls = || vec![call("1", "Once", "a"), call("2", "Often", "b")];
                let first = session().turn(calls()).await;
                assert!(first.iter().all(|result| is_recalled(result) == comes_again), "{caller:?}");
                let again = session().turn(calls()).await;
                assert!(is_recalled(&again[0]), "their own is answered: {caller:?}");
            }
            book.flush().await.unwrap();
        }
        let done = probe.notes().iter().filter(|note| *note == "a").count();
        assert_eq!(done, 8, "each of eight made it once");
    }
}

#[tokio::test]
async fn the_same_id_with_another_input_is_another_call() {
    for [one, _] in books() {
        let (workspace, probe) = (Workspace::new(""), Probe::default());
        let session = process(&workspace, &one, &probe);
        for what in ["a", "b", "a"] {
            let result = session.call(call("call_1", "Once", what)).await;
            assert_eq!((result.text(), is_recalled(&result)), (format!("did {what}"), false));
        }
        assert_eq!(probe.notes(), ["a", "b", "a"], "ids that are counted anew mean nothing");
    }
}

#[tokio::test]
async fn a_call_that_was_refused_is_judged_again() {
    for [one, _] in books() {
        let (workspace, probe) = (Workspace::new(""), Probe::default());
        let session = process(&workspace, &one, &probe);
        session.set_mode(Mode::DontAsk);
        let refused = session.call(call("1", "Once", "a")).await;
        assert_eq!(refused.fault.map(|fault| fault.kind), Some(FaultKind::Denied));
        session.set_mode(Mode::Bypass);
        assert_eq!(session.call(call("1", "Once", "a")).await.text(), "did a");
    }
}

struct Looked(Mutex<Vec<CallKey>>);

impl Inspector for Looked {
    fn inspect<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, io::Result<Vec<Evidence>>> {
        self.0.lock().unwrap().push(key.clone());
        Box::pin(async { Ok(vec![Evidence { path: "/w/slow".into(), found: Found::Unchanged }]) })
    }
}

/// Runs a call until it is in the middle, and drops it there.
async fn cut_off(session: &Session, call: Call, probe: &Probe) {
    let turn = session.turn(vec![call]);
    tokio::select! {
        _ = turn => panic!("it should take longer"),
        () = async {
            while probe.notes().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        } => {}
    }
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_made_again_and_the_model_is_told_what_can_be_seen() {
    for [one, _] in books() {
        let (workspace, probe) = (Workspace::new(""), Probe::default());
        let looked = Arc::new(Looked(Mutex::default()));
        let session =
            process_with(&workspace, Journal::new(one.clone(), |_| {}).inspector(looked.clone()), &probe);
        cut_off(&session, call("1", "Once", "slow"), &probe).await;
        for recalled in [false, true] {
            let result = session.call(call("1", "Once", "slow")).await;
            assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Interrupted));
            assert!(result.text().contains("effect is unknown"), "{}", result.text());
            assert!(result.text().contains("/w/slow is as it was before"), "{}", result.text());
            assert_eq!(is_recalled(&result), recalled, "it is the result from now on");
        }
        assert_eq!(probe.notes(), ["slow"]);
        assert_eq!(looked.0.lock().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_turn_that_was_cut_off_and_sent_again_has_ended() {
    let (workspace, probe, directory) = (Workspace::new(""), Probe::default(), tempfile::tempdir().unwrap());
    let turn = || vec![call("1", "Often", "look"), call("2", "Once", "slow")];
    let book: Arc<dyn Book> = Arc::new(sqlite(directory.path()));
    let finished = || CallFilter { state: Some(CallState::Finished), most: 9, ..CallFilter::default() };
    let session = process(&workspace, &book, &probe);
    tokio::select! {
        _ = session.turn(turn()) => panic!("it should take longer"),
        () = async {
            while probe.notes().len() < 2 || book.calls(finished()).await.unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        } => {}
    }
    drop((session, book));
    for (sent, recalled) in [("again", false), ("once more", true)] {
        let book: Arc<dyn Book> = Arc::new(sqlite(directory.path()));
        let results = process(&workspace, &book, &probe).turn(turn()).await;
        assert_eq!(results[0].text(), "looked");
        assert!(results[1].text().contains("effect is unknown"), "{}", results[1].text());
        assert!(results.iter().all(|result| is_recalled(result) == recalled), "{sent}");
        book.flush().await.unwrap();
    }
    let looks = probe.notes().iter().filter(|note| *note == "look").count();
    assert_eq!(looks, 2, "what it shows is seen again once, and answered from then on");
}

#[tokio::test]
async fn what_another_process_runs_is_waited_for_and_its_result_taken() {
    for [one, other] in books() {
        let (workspace, probe) = (Workspace::new(""), Probe::default());
        let (here, there) = (process(&workspace, &one, &probe), process(&workspace, &other, &probe));
        let (first, second) =
            tokio::join!(here.call(call("1", "Once", "slow")), there.call(call("1", "Once", "slow")));
        assert_eq!((first.text(), second.text()), ("did slow".to_owned(), "did slow".to_owned()));
        assert!(is_recalled(&first) != is_recalled(&second));
        assert_eq!(probe.notes(), ["slow", "slow done"]);
    }
}

#[track_caller]
fn holds_none(directory: &Path, secret: &str) {
    for file in ["journal.db", "journal.db-wal"] {
        let bytes = std::fs::read(directory.join(file)).unwrap();
        let holds = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!holds, "{file} holds the secret");
    }
}

#[tokio::test]
async fn no_secret_is_in_the_file() {
    const SECRET: &str = "correct-horse-battery";
    let (workspace, probe, directory) = (Workspace::new(""), Probe::default(), tempfile::tempdir().unwrap());
    let book = sqlite(directory.path());
    let redactor = Arc::new(Redactor::builder().secret(SECRET).build());
    let engine = haft_testkit::engine(&workspace)
        .tool(once(&probe))
        .redactor(redactor)
        .journal(Journal::new(Arc::new(book.clone()), |_| {}));
    let options = SessionOptions { mode: Mode::Bypass, ..SessionOptions::at(workspace.root()) };
    let session = engine.build().unwrap().session(options).unwrap();
    for mode in [Mode::Bypass, Mode::DontAsk] {
        session.set_mode(mode);
        session.call(call("1", "Once", SECRET)).await;
        session.call(call("2", "Once", &format!("x/{SECRET}"))).await;
        session.call(call("3", "None", SECRET)).await;
    }
    book.flush().await.unwrap();
    assert_eq!(probe.notes().len(), 2);
    holds_none(directory.path(), SECRET);
    let paths = CallFilter { path: Some("/w/*redacted*".to_owned()), most: 9, ..CallFilter::default() };
    assert_eq!(book.calls(paths).await.unwrap().len(), 2);
}

/// Says *always* to everything.
struct Yes;

impl Asker for Yes {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Always })
    }
}

impl RuleKeeper for Yes {
    fn keep<'a>(
        &'a self,
        _: &'a SessionFacts,
        rules: &'a [String],
    ) -> BoxFuture<'a, io::Result<Vec<Written>>> {
        let written = Written::all(rules, Origin::Session);
        Box::pin(async { Ok(written) })
    }
}

#[tokio::test]
async fn no_secret_of_a_rule_is_in_the_file_and_what_a_person_had_written_is() {
    const SECRET: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let (workspace, probe, directory) = (Workspace::new(""), Probe::default(), tempfile::tempdir().unwrap());
    let book = sqlite(directory.path());
    let deny = Written {
        reason: Some(format!("{SECRET} is live")),
        ..Written::new(format!("Edit(//w/no/{SECRET})"), Origin::Session)
    };
    let engine = haft_testkit::engine(&workspace)
        .tool(once(&probe))
        .redactor(Arc::new(Redactor::builder().build()))
        .rules(Rules { deny: vec![deny], ..Rules::default() })
        .asker(Yes)
        .rule_keeper(Yes)
        .journal(Journal::new(Arc::new(book.clone()), |_| {}));
    let session = engine.build().unwrap().session(SessionOptions::at(workspace.root())).unwrap();
    // Asked and kept, allowed by what was kept, and denied.
    session.call(call("1", "Once", SECRET)).await;
    session.call(call("2", "Once", SECRET)).await;
    session.call(call("3", "Once", &format!("no/{SECRET}"))).await;
    book.flush().await.unwrap();
    assert_eq!(probe.notes().len(), 2);
    holds_none(directory.path(), SECRET);
    let rule = "Edit(//w/[redacted: github token])";
    let asked = EventFilter { kinds: vec![EventKind::APPROVAL], ..EventFilter::default() };
    let asked: Vec<Value> = book.events(asked).await.unwrap().into_iter().map(|event| event.body).collect();
    assert_eq!(asked, [json!({ "by": "person", "said": "always", "rules": [rule] })]);
    let mut decisions = Vec::new();
    for call in book.calls(CallFilter { most: 9, ..CallFilter::default() }).await.unwrap().into_iter().rev() {
        let kinds = vec![EventKind::DECISION];
        let decided = EventFilter { key: Some(call.key), kinds, ..EventFilter::default() };
        decisions.extend(book.events(decided).await.unwrap().into_iter().map(|event| event.body));
    }
    let texts: Vec<&Value> = decisions.iter().map(|decision| &decision["rule"]["text"]).collect();
    assert_eq!(texts, [&Value::Null, &json!(rule), &json!("Edit(//w/no/[redacted: github token])")]);
    assert_eq!(decisions[2]["rule"]["reason"], "[redacted: github token] is live");
}

#[tokio::test]
async fn a_journal_that_cannot_be_written_refuses_or_warns_as_it_was_told() {
    for (on_failure, runs) in [(OnFailure::Refuse, false), (OnFailure::Warn, true)] {
        let (workspace, probe) = (Workspace::new("-- file\nx\n"), Probe::default());
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = told.clone();
        // A file stands where a directory would have to.
        let path = workspace.root().join("file/journal.db");
        let book = haft_store::SqliteBook::at(path, crate::kit::NO_LIMITS, |_| {});
        let journal = Journal::new(Arc::new(book), move |words| tell.lock().unwrap().push(words.to_owned()))
            .on_failure(on_failure);
        let session = process_with(&workspace, journal, &probe);
        let result = session.call(call("1", "Once", "a")).await;
        assert_eq!(result.fault.is_none(), runs, "{}", result.text());
        assert_eq!(probe.notes().len(), usize::from(runs));
        assert!(!told.lock().unwrap().is_empty(), "somebody is told");
        assert!(result.meta.notes.contains_key("journal"), "{:?}", result.meta.notes);
    }
}

#[tokio::test]
async fn a_call_that_runs_unrecorded_says_so_while_it_runs_and_in_its_result() {
    let (workspace, probe) = (Workspace::new("-- file\nx\n"), Probe::default());
    let path = workspace.root().join("file/journal.db");
    let book = haft_store::SqliteBook::at(path, crate::kit::NO_LIMITS, |_| {});
    let session = process_with(&workspace, Journal::new(Arc::new(book), |_| {}), &probe);
    let mut turn = session.live_turn();
    turn.push(call("1", "Once", "a")).unwrap();
    turn.close();
    let mut told = None;
    while let Some(event) = turn.next().await {
        if let Event::Unrecorded { call, why } = event {
            told = Some((call.to_string(), why));
        }
    }
    let (id, why) = told.unwrap();
    assert_eq!(id, "1");
    let results = turn.results().await;
    let note = results[0].meta.notes["journal"].as_str().unwrap_or_default();
    assert_eq!(note, format!("this call was not recorded: {why}"));
}

#[tokio::test]
async fn what_the_budget_of_a_turn_cuts_is_recorded_with_its_handle() {
    let workspace = Workspace::new("");
    let book: Arc<dyn Book> = Arc::new(MemoryBook::default());
    let results = Results::at(workspace.root().join("results"), ResultLimits::default());
    let engine = haft_testkit::engine(&workspace)
        .tool(haft_testkit::sized())
        .settings(|settings| settings.budget.per_turn = 20_000)
        .results(results.clone())
        .journal(Journal::new(book.clone(), |_| {}))
        .build()
        .unwrap();
    let options = SessionOptions { id: Some("s".into()), ..SessionOptions::at(workspace.root()) };
    let session = engine.session(options).unwrap();
    let sized = |id: &str, bytes: usize| Call::new(id, "Sized", json!({ "bytes": bytes }));
    let told = session.turn(vec![sized("small", 100), sized("large", 30_000)]).await;
    let handle = told[1].meta.truncated.clone().unwrap().handle.unwrap();
    assert_eq!(handle, "result:s/large");
    assert_eq!(results.path(&handle.parse().unwrap()), told[1].meta.truncated.clone().unwrap().path.unwrap());
    let spills = EventFilter { kinds: vec![EventKind::SPILL], ..EventFilter::default() };
    let spills = book.events(spills).await.unwrap();
    assert_eq!(spills.len(), 1, "{spills:?}");
    assert_eq!(spills[0].key.as_ref().unwrap().call.as_str(), "large");
    assert_eq!((&spills[0].body["handle"], &spills[0].body["bytes"]), (&json!(handle), &json!(30_000)));
}
