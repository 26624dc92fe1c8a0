//! Several users of one engine: each has an id, a person who is asked, results and tools of their own.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use haft_engine::{
    Call, Engine, Session, SessionOptions,
    policy::{Answer, Asker, Choices, Choosing, Inquiry, Origin, Question, RuleKeeper, Rules, Written},
    pool::{Source, StaticSource},
    result::{FileStore, ToolResult},
};
use haft_testkit::{Workspace, sized};
use haft_tool::{BoxFuture, Caller, Effects, FaultKind, Reply, SessionFacts, SharedTool, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Path1 {
    path: PathBuf,
}

/// Reads a file by the one door.
fn look() -> SharedTool {
    tool("Look").effects(|input: &Path1| Effects::reads(&input.path)).call(|input: Path1, cx| async move {
        let mut text = String::new();
        io::Read::read_to_string(&mut cx.files().open(&input.path)?, &mut text)
            .map_err(|err| haft_tool::Fault::io("read", &input.path, err))?;
        Ok(Reply::text(text))
    })
}

fn send() -> SharedTool {
    tool("Send")
        .effects(|_: &Path1| Effects::sends("example.com"))
        .call(|_: Path1, _| async { Ok(Reply::text("sent")) })
}

#[derive(Clone)]
struct Person {
    answer: Answer,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Person {
    fn who_says(answer: Answer) -> Person {
        Person { answer, asked: Arc::default() }
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.asked.lock().unwrap().push(serde_json::to_value(question).unwrap());
        Box::pin(std::future::ready(self.answer.clone()))
    }
    fn choose<'a>(&'a self, choices: Choices<'a>) -> BoxFuture<'a, Choosing> {
        let session = choices.session.map(|session| session.id.as_str().to_owned());
        self.asked.lock().unwrap().push(json!(session));
        Box::pin(std::future::ready(Choosing::Declined))
    }
    fn inquire<'a>(&'a self, _: Inquiry<'a>) -> BoxFuture<'a, haft_engine::policy::Given> {
        Box::pin(std::future::ready(haft_engine::policy::Given::Declined))
    }
}

/// Keeps whose rules it was given.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Vec<String>>>);

impl RuleKeeper for Keeper {
    fn keep<'a>(
        &'a self,
        session: &'a SessionFacts,
        rules: &'a [String],
    ) -> BoxFuture<'a, io::Result<Vec<Written>>> {
        let user = session.caller.user.clone().unwrap_or_default();
        self.0.lock().unwrap().push(format!("{user}: {}", rules.join(" ")));
        let written = rules.iter().map(|rule| Written::new(rule.clone(), Origin::Session)).collect();
        Box::pin(std::future::ready(Ok(written)))
    }
}

fn caller(user: &str) -> Caller {
    Caller { user: Some(user.to_owned()), ..Caller::default() }
}

fn call(tool: &str, path: &Path) -> Call {
    Call::new("call_1", tool, json!({ "path": path }))
}

fn kind(result: &ToolResult) -> Option<FaultKind> {
    result.fault.as_ref().map(|fault| fault.kind)
}

#[test]
fn sessions_that_nobody_named_have_ids_of_their_own() {
    let (workspace, engine) = (Workspace::new(""), Engine::builder().build().unwrap());
    let options = SessionOptions::at(workspace.root());
    let ids: Vec<String> =
        (0..3).map(|_| engine.session(options.clone()).unwrap().id().as_str().to_owned()).collect();
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
}

#[tokio::test]
async fn each_session_asks_its_own_person_and_keeps_rules_with_its_own_keeper() {
    let (workspace, everybody) = (Workspace::new(""), Person::who_says(Answer::No(None)));
    let engine = Engine::builder().tool(send()).asker(everybody.clone()).build().unwrap();
    let (ann, bob) = (Person::who_says(Answer::Always), Person::who_says(Answer::Once));
    let (of_ann, of_bob) = (Keeper::default(), Keeper::default());
    let begin = |user: &str, person: Option<&Person>, keeper: &Keeper| {
        let options = SessionOptions {
            caller: caller(user),
            asker: person.map(|person| Arc::new(person.clone()) as _),
            rule_keeper: Some(Arc::new(keeper.clone())),
            ..SessionOptions::at(workspace.root())
        };
        engine.session(options).unwrap()
    };
    let sessions =
        [begin("ann", Some(&ann), &of_ann), begin("bob", Some(&bob), &of_bob), begin("cay", None, &of_bob)];
    let mut results = Vec::new();
    for session in &sessions {
        results.push(session.call(call("Send", Path::new("x"))).await);
    }
    assert_eq!([0, 1, 2].map(|at| kind(&results[at])), [None, None, Some(FaultKind::Denied)]);
    for (person, session, user) in [(&ann, 0, "ann"), (&bob, 1, "bob"), (&everybody, 2, "cay")] {
        let asked = person.asked.lock().unwrap();
        assert_eq!(asked.len(), 1, "{user}");
        let (id, root) = (sessions[session].id().as_str(), sessions[session].workspace());
        assert_eq!(
            (&asked[0]["session"], &asked[0]["workspace"], &asked[0]["caller"]["user"]),
            (&json!(id), &json!(root.to_str()), &json!(user))
        );
    }
    let kept = of_ann.0.lock().unwrap().clone();
    assert!(kept.len() == 1 && kept[0].starts_with("ann: "), "{kept:?}");
    assert!(of_bob.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_source_of_one_session_is_no_other_sessions() {
    let (workspace, engine) = (Workspace::new(""), Engine::builder().tool(send()).build().unwrap());
    let source: Arc<dyn Source> = Arc::new(StaticSource::new("of-ann", [look()]).unwrap());
    let ann = SessionOptions { sources: vec![source], ..SessionOptions::at(workspace.root()) };
    let (ann, bob) =
        (engine.session(ann).unwrap(), engine.session(SessionOptions::at(workspace.root())).unwrap());
    let names =
        |session: &Session| session.pool().shown().map(|tool| tool.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        (names(&ann), names(&bob)),
        (vec!["Look".to_owned(), "Send".to_owned()], vec!["Send".to_owned()])
    );
    workspace.write("a", b"text");
    let path = workspace.root().join("a");
    assert_eq!(ann.call(call("Look", &path)).await.text(), "text");
    assert!(bob.call(call("Look", &path)).await.is_error());
}

/// With the store that is there without one, and with files that the program chose.
#[tokio::test]
async fn a_large_result_is_read_by_its_own_session_and_no_other() {
    let (workspace, directory) = (Workspace::new(""), tempfile::tempdir().unwrap());
    for is_given in [false, true] {
        let allowed = Rules::allowing(["Look", "Read", "Sized"], Origin::Flag);
        let mut builder = Engine::builder().tools([sized(), look()]).rules(allowed);
        if is_given {
            builder = builder.results(FileStore::new(directory.path().join("results")));
        }
        let engine = builder.build().unwrap();
        // The same user: what keeps them apart is the session.
        let begin = || engine.session(SessionOptions::at(workspace.root())).unwrap();
        let (one, other) = (begin(), begin());
        let result = one.call(Call::new("c", "Sized", json!({ "bytes": 300_000 }))).await;
        let kept = result.meta.truncated.unwrap().path.unwrap();
        assert!(one.call(call("Look", &kept)).await.text().len() > 1000, "{}", kept.display());
        let theirs = other.call(call("Look", &kept)).await;
        assert_eq!(kind(&theirs), Some(FaultKind::Denied), "{}", theirs.text());
        // By a link, and as a directory: it is the place that counts.
        let link = workspace.root().join(format!("link-{is_given}"));
        std::os::unix::fs::symlink(&kept, &link).unwrap();
        assert_eq!(kind(&other.call(call("Look", &link)).await), Some(FaultKind::Denied));
        assert_eq!(kind(&other.call(call("Look", kept.parent().unwrap())).await), Some(FaultKind::Denied));
        one.end().await;
        assert_eq!(kept.exists(), is_given, "what nobody chose a place for ends with its session");
    }
}

/// A person, a hook, a source and an observer that break.
struct Broken;

impl Asker for Broken {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { panic!("asker") })
    }
}

impl Source for Broken {
    fn id(&self) -> &str {
        "broken"
    }
    fn tools(&self) -> Arc<[SharedTool]> {
        panic!("source")
    }
    fn version(&self) -> u64 {
        panic!("version")
    }
}

impl haft_engine::turn::Observer for Broken {
    fn turn(&self, _: &SessionFacts) -> Option<Box<dyn haft_engine::turn::TurnObserver>> {
        panic!("observer")
    }
}

#[tokio::test]
async fn what_breaks_around_a_call_ends_that_call_and_no_other() {
    let workspace = Workspace::new("");
    let engine = Engine::builder().tools([send(), sized()]).asker(Broken).observer(Broken).source(Broken);
    let engine = engine.rules(Rules::allowing(["Sized"], Origin::Flag)).build().unwrap();
    let session = engine.session(SessionOptions::at(workspace.root())).unwrap();
    for _ in 0..2 {
        let calls = vec![call("Send", Path::new("x")), Call::new("c", "Sized", json!({ "bytes": 3 }))];
        let results = session.turn(calls).await;
        assert_eq!((kind(&results[0]), kind(&results[1])), (Some(FaultKind::Internal), None), "{results:?}");
        assert!(results[0].text().contains("it did not run"), "{}", results[0].text());
    }
    assert!(session.pool().problems().iter().any(|problem| problem.to_string().contains("it broke")));
}
