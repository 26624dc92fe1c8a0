//! Asking, from an embedder's side: what a question holds, what becomes of answers, what a mode changes.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{
    Engine, EngineBuilder, Session, SessionOptions,
    policy::{Answer, Asker, Mode, Origin, Question, RuleKeeper, Written},
    result::ToolResult,
    session::{Ending, Journal, Start, Starting},
};
use haft_redact::Redactor;
use haft_testkit::{Probe, Workspace, sleeping};
use haft_tool::{BoxFuture, Cx, Effects, Fault, FaultKind, Refusal, Reply, SessionFacts, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{begin, call, kind};

/// Says the same every time, and keeps what it was asked and told.
#[derive(Clone)]
struct Person {
    answer: Answer,
    asked: Arc<Mutex<Vec<Value>>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Person {
    fn saying(answer: Answer) -> Person {
        Person { answer, asked: Arc::default(), told: Arc::default() }
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.asked.lock().unwrap().push(serde_json::to_value(question).unwrap());
        Box::pin(async { self.answer.clone() })
    }
    fn tell(&self, words: &str) {
        self.told.lock().unwrap().push(words.to_owned());
    }
}

/// Keeps rules in memory, or cannot.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<String>>>, bool);

impl RuleKeeper for Shelf {
    fn keep<'a>(
        &'a self,
        _: &'a SessionFacts,
        rules: &'a [String],
    ) -> BoxFuture<'a, io::Result<Vec<Written>>> {
        self.0.lock().unwrap().extend(rules.iter().cloned());
        let kept = Written::all(rules, Origin::File { path: "/shelf".into(), line: 7 });
        Box::pin(async { if self.1 { Err(io::Error::other("the shelf is full")) } else { Ok(kept) } })
    }
}

/// A tool with a preview of its own kind.
struct Drawn;

#[derive(Deserialize, JsonSchema)]
struct DrawnInput {
    how: String,
}

impl Tool for Drawn {
    type Input = DrawnInput;
    const SPEC: Spec = Spec::new("Drawn");

    fn effects(&self, _: &DrawnInput) -> Effects {
        Effects::writes("/elsewhere/x")
    }

    async fn preview(&self, input: &DrawnInput, _: &Cx) -> Option<View> {
        match input.how.as_str() {
            "well" => Some(View::text("a drawing")),
            "never" => std::future::pending().await,
            "breaks" => panic!("secret words"),
            _ => None,
        }
    }

    async fn call(&self, _: DrawnInput, _: &Cx) -> Result<Reply, Fault> {
        Ok(Reply::text("ran"))
    }
}

fn engine(workspace: &Workspace, person: &Person) -> EngineBuilder {
    haft_testkit::engine(workspace).tool(Drawn).tool(sleeping(&Probe::default())).asker(person.clone())
}

async fn write(session: &Session, path: &str) -> ToolResult {
    session.call(call("1", "Sleep", json!({ "ms": 0, "writes": path }))).await
}

fn refusal(result: &ToolResult) -> Option<Refusal> {
    result.fault.and_then(|fault| fault.refusal)
}

#[tokio::test]
async fn a_question_can_cross_a_process() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Once));
    let session = begin(engine(&workspace, &person).rule_keeper(Shelf::default()), &workspace);
    session.call(call("c7", "Drawn", json!({ "how": "well" }))).await;
    let asked = person.asked.lock().unwrap()[0].clone();
    assert_eq!(asked["call"], "c7");
    assert_eq!((&asked["tool"], &asked["mode"]), (&json!("Drawn"), &json!("default")));
    assert_eq!(asked["preview"], json!({ "text": "a drawing" }));
    assert_eq!(asked["always"], json!(["Edit(//elsewhere/x)"]));
    assert_eq!(asked["reason"], "ask: writes /elsewhere/x, and no rule allows it");
    assert_eq!(asked["effects"]["paths"][0]["access"], "write");
    assert_eq!(asked["input"], json!({ "how": "well" }));
    assert!(asked["trace"]["layers"].is_array());
}

#[tokio::test(start_paused = true)]
async fn a_preview_that_breaks_or_never_comes_is_only_missing() {
    for (how, expected) in [
        ("breaks", Value::Null),
        ("not", Value::Null),
        ("never", json!({ "text": "(there is no preview: it took too long)" })),
    ] {
        let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Once));
        let session = begin(engine(&workspace, &person), &workspace);
        let result = session.call(call("1", "Drawn", json!({ "how": how }))).await;
        assert_eq!(result.text(), "ran");
        assert_eq!(person.asked.lock().unwrap()[0]["preview"], expected, "{how}");
    }
}

#[tokio::test]
async fn always_keeps_the_rules_and_they_hold_at_once() {
    let (workspace, person, shelf) = (Workspace::new(""), Person::saying(Answer::Always), Shelf::default());
    let session = begin(engine(&workspace, &person).rule_keeper(shelf.clone()), &workspace);
    assert_eq!(refusal(&write(&session, "/elsewhere/a").await), None);
    assert_eq!(refusal(&write(&session, "/elsewhere/a").await), None);
    assert_eq!(person.count(), 1);
    assert_eq!(*shelf.0.lock().unwrap(), ["Edit(//elsewhere/a)"]);
    assert_eq!(*person.told.lock().unwrap(), ["Allowed from now on: Edit(//elsewhere/a) (/shelf:7)"]);
    write(&session, "/elsewhere/b").await;
    assert_eq!(person.count(), 2);
}

/// Notes on whose word calls run.
struct Words(Probe);

impl Journal for Words {
    fn started<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<Start>> {
        self.0.note(format!("{:?}", start.word));
        Box::pin(async { Ok(Start::Go) })
    }
    fn refused<'a>(&'a self, _: Starting<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
    fn finished<'a>(&'a self, _: Ending<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn the_journal_is_told_which_rules_were_written_with_a_yes() {
    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let (workspace, person, probe) = (Workspace::new(""), Person::saying(Answer::Always), Probe::default());
    let engine = engine(&workspace, &person)
        .rule_keeper(Shelf::default())
        .redactor(Arc::new(Redactor::builder().build()))
        .journal(Words(probe.clone()));
    let session = begin(engine, &workspace);
    for path in ["/elsewhere/a", "/elsewhere/a", &format!("/elsewhere/{TOKEN}")] {
        write(&session, path).await;
    }
    assert_eq!(
        probe.notes(),
        [
            r#"Always(["Edit(//elsewhere/a)"])"#,
            "Yes(Policy)",
            r#"Always(["Edit(//elsewhere/[redacted: github token])"])"#,
        ]
    );
    // The person is told what was written, as it was.
    assert!(person.told.lock().unwrap()[1].contains(TOKEN));
}

#[tokio::test]
async fn always_that_cannot_be_kept_holds_for_the_session() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Always));
    for engine in
        [engine(&workspace, &person).rule_keeper(Shelf(Arc::default(), true)), engine(&workspace, &person)]
    {
        person.asked.lock().unwrap().clear();
        let session = begin(engine, &workspace);
        assert_eq!(refusal(&write(&session, "/elsewhere/a").await), None);
        assert_eq!(refusal(&write(&session, "/elsewhere/a").await), None);
        assert_eq!(person.count(), 1);
    }
    let told = person.told.lock().unwrap().join("\n");
    assert!(told.contains("(the shelf is full)") && told.contains("no rule for this"), "{told}");
}

/// Never answers; notes that it was asked, and that the question was taken back.
#[derive(Clone, Default)]
struct Silent(Arc<Mutex<Vec<&'static str>>>);

struct Withdrawn(Silent);

impl Drop for Withdrawn {
    fn drop(&mut self) {
        self.0.0.lock().unwrap().push("withdrawn");
    }
}

impl Asker for Silent {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push("asked");
        let open = Withdrawn(self.clone());
        Box::pin(async move {
            let _open = open;
            std::future::pending().await
        })
    }
}

/// Answers after a while.
struct Slow(Duration);

impl Asker for Slow {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            tokio::time::sleep(self.0).await;
            Answer::Once
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_person_takes_is_not_the_calls() {
    let (workspace, slow) = (Workspace::new(""), Slow(Duration::from_secs(60)));
    let engine = haft_testkit::engine(&workspace).tool(sleeping(&Probe::default())).asker(slow);
    let session = begin(engine, &workspace);
    let result = session.call(call("1", "Sleep", json!({ "ms": 200, "writes": "a" }))).await;
    assert!(!result.is_error(), "{}", result.text());
    let ran = result.meta.duration_us;
    assert!((200_000..1_000_000).contains(&ran), "{ran} µs");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_takes_its_question_back() {
    let (workspace, silent) = (Workspace::new(""), Silent::default());
    let engine = haft_testkit::engine(&workspace).tool(sleeping(&Probe::default())).asker(silent.clone());
    let session = begin(engine, &workspace);
    let interrupt = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        session.interrupt();
    };
    let (result, ()) = tokio::join!(write(&session, "/elsewhere/a"), interrupt);
    assert_eq!(kind(&result), Some(FaultKind::Cancelled));
    assert_eq!(*silent.0.lock().unwrap(), ["asked", "withdrawn"]);
}

#[tokio::test]
async fn an_embedder_changes_the_mode_of_a_session() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::No(None)));
    let session = begin(engine(&workspace, &person), &workspace);
    let inside = workspace.root().join("a").display().to_string();
    for (mode, expected) in [
        (Mode::Default, Some(Refusal::Person)),
        (Mode::AcceptEdits, None),
        (Mode::DontAsk, Some(Refusal::Mode)),
        (Mode::Bypass, None),
        (Mode::Auto, Some(Refusal::Person)),
        (Mode::Default, Some(Refusal::Person)),
    ] {
        session.set_mode(mode);
        assert_eq!(session.mode(), mode);
        assert_eq!(refusal(&write(&session, &inside).await), expected, "{mode}");
    }
    session.set_mode(Mode::Plan);
    assert_eq!(kind(&write(&session, &inside).await), Some(FaultKind::UnknownTool));
}

#[tokio::test]
async fn in_plan_mode_a_tool_that_is_shown_may_only_look() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let workspace = Workspace::new("");
    let shell = haft_tool::tool("Bash").effects(|_: &Nothing| Effects::writes("/elsewhere/x"));
    let shell = shell.call(|_: Nothing, _| async { Ok(Reply::text("ran")) });
    let engine: Engine = haft_testkit::engine(&workspace).tool(shell).build().unwrap();
    let options = SessionOptions { mode: Mode::Plan, ..SessionOptions::at(workspace.root()) };
    let result = engine.session(options).unwrap().call(call("1", "Bash", json!({}))).await;
    assert_eq!(refusal(&result), Some(Refusal::Mode), "{}", result.text());
}
