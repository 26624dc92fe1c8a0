//! Running calls that ask for more than they declared, and calls that leave the sandbox.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use haft_engine::{
    EngineBuilder, Settings,
    policy::{Answer, Asker, Mode, Origin, Question, Rules, Said, Verdict, Written},
    result::ToolResult,
    session::{Ending, Journal, Note, Noted, Start, Starting},
    turn::{Event, Hook},
};
use haft_testkit::{Probe, Workspace};
use haft_tool::{BoxFuture, Cx, Effects, Fault, PermissionRequest, Refusal, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{begin, call};

/// Starts no process, but asks like a tool that does, and says what it was granted.
struct Asks;

#[derive(Deserialize, JsonSchema)]
struct AsksInput {
    /// What it writes in addition.
    #[serde(default)]
    more: Option<String>,
    /// Whether it is to run again.
    #[serde(default)]
    again: bool,
    /// Whether it asks at all.
    #[serde(default)]
    quiet: bool,
}

impl Tool for Asks {
    type Input = AsksInput;
    const SPEC: Spec = Spec::new("Asks").processes().timeout(Duration::from_secs(5));

    fn effects(&self, _: &AsksInput) -> Effects {
        Effects::none().and_command(vec!["docker".to_owned(), "ps".to_owned()], haft_tool::Class::Write)
    }

    async fn call(&self, input: AsksInput, cx: &Cx) -> Result<Reply, Fault> {
        let effects = input.more.map_or_else(Effects::none, Effects::writes);
        let description = "create x, which editors run".to_owned();
        let request = PermissionRequest { effects, description, preview: None, unsandboxed: input.again };
        let said = match input.quiet {
            true => "quiet".to_owned(),
            false => format!("{:?}", cx.request_permission(request).await?),
        };
        let grant = cx.grant().await?;
        let outside = grant.write.iter().any(|place| place.starts_with("/elsewhere"))
            || grant.make.iter().any(|place| place.starts_with("/elsewhere"));
        Ok(Reply::text(format!("{said}, confined {}, elsewhere {outside}", grant.confined)))
    }
}

/// Allows calls once, and says something else about what they want in addition.
#[derive(Clone)]
struct Person {
    first: Answer,
    then: Answer,
    after: Duration,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Person {
    fn saying(then: Answer) -> Person {
        Person { first: Answer::Once, then, after: Duration::ZERO, asked: Arc::default() }
    }

    fn asked(&self, index: usize) -> Value {
        self.asked.lock().unwrap()[index].clone()
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        let question = serde_json::to_value(question).unwrap();
        let is_first = question["stage"] == "before_call";
        self.asked.lock().unwrap().push(question);
        Box::pin(async move {
            if is_first {
                return self.first.clone();
            }
            tokio::time::sleep(self.after).await;
            self.then.clone()
        })
    }
}

fn engine(workspace: &Workspace, person: &Person) -> EngineBuilder {
    haft_testkit::engine(workspace).tool(Asks).asker(person.clone())
}

fn allowing(rules: &[&str]) -> Rules {
    Rules::allowing(rules.iter().copied(), Origin::Session)
}

fn refusal(result: &ToolResult) -> Option<Refusal> {
    result.fault.and_then(|fault| fault.refusal)
}

fn more() -> Value {
    json!({ "more": "/elsewhere/x" })
}

fn again() -> Value {
    json!({ "again": true })
}

#[tokio::test]
async fn a_yes_gives_a_running_call_what_it_asked_for() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Once));
    let session = begin(engine(&workspace, &person), &workspace);
    let result = session.call(call("1", "Asks", more())).await;
    assert_eq!(result.text(), "Requested, confined true, elsewhere true");
    let asked = person.asked(1);
    assert_eq!(asked["stage"], "during_call");
    assert_eq!(asked["description"], "create x, which editors run");
    assert_eq!(asked["reason"], "ask: writes /elsewhere/x, and no rule allows it");
    let offered: Vec<&Value> = asked["answers"].as_array().unwrap().iter().map(|it| &it["answer"]).collect();
    assert_eq!(offered, ["once", "session", "no"]);
    session.call(call("2", "Asks", more())).await;
    assert_eq!(person.count(), 4, "a yes is for one call");
}

#[tokio::test]
async fn an_answer_for_the_session_covers_the_same_request_later() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Session));
    let session = begin(engine(&workspace, &person), &workspace);
    session.call(call("1", "Asks", more())).await;
    let result = session.call(call("2", "Asks", more())).await;
    assert_eq!(result.text(), "Requested, confined true, elsewhere true");
    assert_eq!(person.count(), 3);
}

#[tokio::test]
async fn a_no_refuses_the_request_and_says_why() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::No(Some("not now".to_owned()))));
    let session = begin(engine(&workspace, &person), &workspace);
    let result = session.call(call("1", "Asks", more())).await;
    assert_eq!(refusal(&result), Some(Refusal::Person));
    let first = result.text();
    assert!(first.contains("refused this: create x, which editors run and said: not now"), "{first}");
}

#[tokio::test]
async fn rules_decide_about_a_request_before_the_person() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Once));
    let allowed = engine(&workspace, &person).rules(allowing(&["Edit(//elsewhere/**)"]));
    let result = begin(allowed, &workspace).call(call("1", "Asks", more())).await;
    assert_eq!(result.text(), "Requested, confined true, elsewhere true");
    let denied = engine(&workspace, &person).rules(Rules::denying(["Edit(//elsewhere/**)"], Origin::Session));
    let result = begin(denied, &workspace).call(call("1", "Asks", more())).await;
    assert_eq!(refusal(&result), Some(Refusal::Rule));
    assert_eq!(person.count(), 2, "only the calls themselves");
}

#[tokio::test]
async fn where_nobody_can_be_asked_a_refusal_names_the_rule() {
    let workspace = Workspace::new("");
    let engine = haft_testkit::engine(&workspace).tool(Asks).rules(allowing(&["Bash(docker ps)"]));
    let result = begin(engine, &workspace).call(call("1", "Asks", more())).await;
    assert_eq!(refusal(&result), Some(Refusal::NobodyThere));
    assert!(result.text().contains("--allow 'Edit(//elsewhere/x)'"), "{}", result.text());
    assert!(result.text().starts_with("Needs approval, but this session is non-interactive"));
}

#[tokio::test(start_paused = true)]
async fn a_question_of_a_running_call_stops_its_time_limit() {
    let workspace = Workspace::new("");
    let person = Person { after: Duration::from_secs(600), ..Person::saying(Answer::Once) };
    let session = begin(engine(&workspace, &person), &workspace);
    let result = session.call(call("1", "Asks", more())).await;
    assert_eq!(result.text(), "Requested, confined true, elsewhere true");
    assert!(result.meta.duration_us < 1_000_000, "{} µs", result.meta.duration_us);
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_call_takes_its_question_back() {
    let workspace = Workspace::new("");
    let person = Person { after: Duration::from_secs(600), ..Person::saying(Answer::Once) };
    let session = begin(engine(&workspace, &person), &workspace);
    let running = session.clone();
    let turn = tokio::spawn(async move { running.call(call("1", "Asks", more())).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    session.interrupt();
    let result = turn.await.unwrap();
    assert!(result.is_error() && person.count() == 2, "{}", result.text());
}

/// Refuses what it is asked about in the place of the person, or allows it.
struct Decides(Verdict);

impl Hook for Decides {
    fn asked<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Vec<Said>> {
        let is_call = serde_json::to_value(question).unwrap()["stage"] == "before_call";
        let verdict = Some(if is_call { Verdict::Allow } else { self.0 });
        let said = Said { by: "guard".to_owned(), verdict, reason: Some("so".to_owned()), ..Said::default() };
        Box::pin(async { vec![said] })
    }
}

#[tokio::test]
async fn a_hook_refuses_a_request_and_never_permits_it() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Once));
    let session = begin(engine(&workspace, &person).hook(Decides(Verdict::Deny)), &workspace);
    let result = session.call(call("1", "Asks", more())).await;
    assert_eq!((refusal(&result), person.count()), (Some(Refusal::Hook), 0));
    let session = begin(engine(&workspace, &person).hook(Decides(Verdict::Allow)), &workspace);
    session.call(call("1", "Asks", more())).await;
    assert_eq!(person.count(), 1, "the person was asked about the request");
}

/// Notes what it is told.
struct Notes(Probe);

impl Journal for Notes {
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
    fn noted<'a>(&'a self, noted: Noted<'a>) -> BoxFuture<'a, io::Result<()>> {
        match noted.note {
            Note::Permission { description, word, .. } => self.0.note(format!("{description}: {word:?}")),
            Note::Unsandboxed(why) => self.0.note(format!("outside: {why}")),
            _ => {}
        }
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn the_journal_and_events_have_question_and_answer() {
    let (workspace, person, probe) = (Workspace::new(""), Person::saying(Answer::Once), Probe::default());
    let session = begin(engine(&workspace, &person).journal(Notes(probe.clone())), &workspace);
    let mut turn = session.live_turn();
    turn.push(call("1", "Asks", more())).unwrap();
    turn.close();
    let mut told = Vec::new();
    while let Some(event) = turn.next().await {
        if let Event::PermissionRequested { description, warrant, effects, .. } = event {
            told.push(format!("{description}: {warrant:?}, {effects}"));
        }
    }
    assert_eq!(told, ["create x, which editors run: Some(Once), writes /elsewhere/x"]);
    assert_eq!(probe.notes(), ["Yes(Once)", "create x, which editors run: Yes(Once)"]);
}

#[tokio::test]
async fn a_person_lets_one_call_leave_the_sandbox() {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let person = Person { first: Answer::Unsandboxed, ..Person::saying(Answer::Once) };
    let session = begin(engine(&workspace, &person).journal(Notes(probe.clone())), &workspace);
    let result = session.call(call("1", "Asks", json!({ "quiet": true }))).await;
    assert!(result.text().contains("quiet, confined false"), "{}", result.text());
    assert_eq!(result.meta.notes["sandbox"], "This call ran outside the sandbox: the user allowed it.");
    assert_eq!(probe.notes(), ["Yes(Unsandboxed)", "outside: the user allowed it"]);
    let offered = person.asked(0)["answers"].clone();
    let words: Vec<String> = offered.as_array().unwrap().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(words.join("\n"), @r#"
    {"answer":"once","meaning":"this call, in the sandbox"}
    {"answer":"session","meaning":"this and the same calls in this session, in the sandbox"}
    {"answer":"unsandboxed","meaning":"this call, outside the sandbox: it can change and reach everything that you can"}
    {"answer":"no","meaning":"refuse this call"}
    "#);
    session.call(call("2", "Asks", json!({ "quiet": true }))).await;
    assert_eq!(person.count(), 2, "a yes is for one call");
}

#[tokio::test]
async fn a_call_that_failed_in_the_sandbox_runs_again_outside() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Unsandboxed));
    for mode in [Mode::Default, Mode::Bypass] {
        let session = begin(engine(&workspace, &person).rules(allowing(&["Asks"])), &workspace);
        session.set_mode(mode);
        person.asked.lock().unwrap().clear();
        let result = session.call(call("1", "Asks", again())).await;
        assert!(result.text().contains("Unsandboxed, confined false"), "{}", result.text());
        assert_eq!(person.count(), 1, "no rule and no mode answers this: {mode}");
        let asked = person.asked(0);
        assert_eq!(asked["reason"], "ask: it failed in the sandbox, and only a person lets it run again");
        let offered: Vec<&Value> =
            asked["answers"].as_array().unwrap().iter().map(|it| &it["answer"]).collect();
        assert_eq!(offered, ["unsandboxed", "no"], "nothing less would help");
    }
}

#[tokio::test]
async fn an_answer_that_was_not_offered_refuses() {
    let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Unsandboxed));
    let session = begin(engine(&workspace, &person), &workspace);
    let result = session.call(call("1", "Asks", more())).await;
    assert_eq!(refusal(&result), Some(Refusal::Person));
    assert!(result.text().contains("`unsandboxed` was not offered"), "{}", result.text());
}

#[tokio::test]
async fn settings_and_modes_keep_every_call_in_the_sandbox() {
    type Change = fn(&mut Settings);
    let changes: [(Change, &str); 3] = [
        (|settings| settings.sandbox.required = true, "sandbox.required"),
        (|settings| settings.sandbox.forbid_unsandboxed = true, "sandbox.forbid_unsandboxed"),
        (|settings| settings.sandbox.workspace_only = true, "kept to its workspace"),
    ];
    for (change, why) in changes {
        let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Unsandboxed));
        let engine = engine(&workspace, &person).settings(|settings| {
            settings.sandbox.unsandboxed = Written::all(["Bash(docker:*)"], Origin::Session);
            change(settings);
        });
        let session = begin(engine, &workspace);
        let result = session.call(call("1", "Asks", again())).await;
        assert_eq!((refusal(&result), person.count()), (Some(Refusal::Sandbox), 1), "{why}");
        assert!(result.text().contains(why), "{}", result.text());
        let quiet = session.call(call("2", "Asks", json!({ "quiet": true }))).await;
        assert!(quiet.text().contains("confined true"), "{}", quiet.text());
        let offered = person.asked(1)["answers"].to_string();
        assert!(!offered.contains("unsandboxed"), "{offered}");
    }
}

#[tokio::test]
async fn a_users_rule_lets_a_command_leave_the_sandbox_and_allows_nothing() {
    for (rule, confined) in
        [("Bash(docker:*)", false), ("Bash(docker ps)", false), ("Bash(docker build:*)", true)]
    {
        let (workspace, person) = (Workspace::new(""), Person::saying(Answer::Once));
        let outside = Written::all([rule], Origin::Session);
        let engine = engine(&workspace, &person).settings(|settings| settings.sandbox.unsandboxed = outside);
        let session = begin(engine, &workspace);
        let result = session.call(call("1", "Asks", json!({ "quiet": true }))).await;
        assert!(result.text().contains(&format!("confined {confined}")), "{rule}: {}", result.text());
        assert_eq!(person.count(), 1, "the call is asked as without the rule");
        let meaning = person.asked(0)["answers"][0]["meaning"].clone();
        let place = if confined { "in the sandbox" } else { "outside the sandbox" };
        assert!(meaning.as_str().unwrap().contains(place), "{meaning}");
    }
}
