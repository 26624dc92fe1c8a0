//! Secrets in results, faults, progress and what is kept of them.

use std::{fs, io, sync::Arc};

use haft_engine::{
    Session,
    policy::{CallFacts, Mode, Origin, Rules, Said, Verdict, Written},
    session::{Ending, Journal, Start, Starting},
    turn::{Event, Hook},
};
use haft_redact::Redactor;
use haft_testkit::{Probe, Workspace};
use haft_tool::{
    Access, BoxFuture, Certainty, Class, CommandEffect, Cx, Effects, Fault, Progress, Reply, SharedTool,
    Task, TaskNews, TaskState, tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{begin, call};

const SECRET: &str = "blue-horse-42-lamp";

#[derive(Deserialize, JsonSchema)]
struct Leak {
    /// How.
    how: String,
}

fn leak() -> SharedTool {
    tool("Leak").effects(|_: &Leak| Effects::none()).call(|input: Leak, cx: Cx| async move {
        match input.how.as_str() {
            "fault" => return Err(Fault::failed(format!("cannot log in with {SECRET}"))),
            "large" => return Ok(Reply::text(format!("{SECRET}\n").repeat(20_000))),
            "progress" => cx.progress(Progress::line(format!("trying {SECRET}"))),
            _ => {}
        }
        let mut reply = Reply::text(format!("it is {SECRET}\nDB_PASSWORD=k7Trombo9")).note("key", SECRET);
        reply.data = Some(json!({ "password": "trombone", "list": [SECRET] }));
        Ok(reply)
    })
}

fn session(workspace: &Workspace, off_for: &[&str]) -> Session {
    let off_for: Vec<String> = off_for.iter().map(|name| (*name).to_owned()).collect();
    let redactor = Arc::new(Redactor::builder().secret(SECRET).build());
    let engine = haft_testkit::engine(workspace)
        .tool(leak())
        .redactor(redactor)
        .settings(|settings| settings.unredacted = off_for);
    begin(engine, workspace)
}

#[tokio::test]
async fn a_result_holds_no_secret_and_says_that_some_are_hidden() {
    let workspace = Workspace::new("");
    let result = session(&workspace, &[]).call(call("1", "Leak", json!({ "how": "" }))).await;
    assert_eq!(
        result.text(),
        "it is [redacted: known secret]\nDB_PASSWORD=[redacted: password]\n\
         [2 secrets are hidden above (known secret, password); what was read stays as it is]"
    );
    assert_eq!(
        result.data,
        Some(json!({ "password": "[redacted: password]", "list": ["[redacted: known secret]"] }))
    );
    assert_eq!(result.meta.notes["key"], "[redacted: known secret]");
    assert_eq!(result.meta.notes["redacted"], json!(["known secret", "password"]));
}

#[tokio::test]
async fn a_fault_holds_none_either() {
    let workspace = Workspace::new("");
    let result = session(&workspace, &[]).call(call("1", "Leak", json!({ "how": "fault" }))).await;
    assert!(result.is_error() && result.text().starts_with("cannot log in with [redacted: known secret]\n"));
}

#[tokio::test]
async fn a_call_that_is_not_understood_does_not_repeat_a_secret() {
    let workspace = Workspace::new("");
    let result = session(&workspace, &[]).call(call("1", SECRET, json!({}))).await;
    assert!(result.is_error() && !result.text().contains(SECRET), "{}", result.text());
}

#[tokio::test]
async fn the_file_of_a_large_result_holds_none() {
    let workspace = Workspace::new("");
    let result = session(&workspace, &[]).call(call("1", "Leak", json!({ "how": "large" }))).await;
    let path =
        result.meta.truncated.as_ref().and_then(|truncated| truncated.path.clone()).expect("it was kept");
    let kept = fs::read_to_string(path).unwrap();
    assert!(!kept.contains("horse") && kept.contains("[redacted: known secret]"));
    assert!(!result.text().contains("horse"));
}

#[tokio::test]
async fn whoever_watches_sees_none() {
    let workspace = Workspace::new("");
    let mut turn = session(&workspace, &[]).live_turn();
    turn.push(call("1", "Leak", json!({ "how": "progress" }))).unwrap();
    turn.close();
    let (mut labels, mut seen) = (Vec::new(), String::new());
    while let Some(event) = turn.next().await {
        if let Event::Progress { progress, .. } = &event {
            labels.push(progress.label.clone());
        }
        if let Event::Finished(result) = &event {
            seen += &format!("{result:?}");
        }
    }
    assert_eq!(labels, ["trying [redacted: known secret]"]);
    assert!(!seen.contains("horse") && seen.contains("[redacted: known secret]"));
}

#[tokio::test]
async fn a_tool_that_is_left_out_keeps_its_secrets() {
    let workspace = Workspace::new("");
    let result = session(&workspace, &["Leak"]).call(call("1", "Leak", json!({ "how": "" }))).await;
    assert!(result.text().contains(SECRET) && !result.meta.notes.contains_key("redacted"));
}

#[tokio::test]
async fn without_a_redactor_nothing_is_hidden() {
    let workspace = Workspace::new("");
    let session = begin(haft_testkit::engine(&workspace).tool(leak()), &workspace);
    assert!(session.redactor().is_none());
    assert!(session.call(call("1", "Leak", json!({ "how": "" }))).await.text().contains(SECRET));
}

struct Book(Probe);

fn told(what: &str, call: CallFacts<'_>) -> String {
    let CallFacts { input, effects, decision, .. } = call;
    format!("{what} {input} {} {}", json!(effects), decision.trace.part().unwrap_or("-"))
}

fn told_whole(what: &str, start: Starting<'_>) -> String {
    let trace = &start.facts.decision.trace;
    format!("{} {:?} {} {}", told(what, start.facts), start.word, json!(trace), trace.explain())
}

impl Journal for Book {
    fn started<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<Start>> {
        self.0.note(told("started", start.facts));
        Box::pin(async { Ok(Start::Go) })
    }
    fn refused<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<()>> {
        self.0.note(told("refused", start.facts));
        Box::pin(async { Ok(()) })
    }
    fn finished<'a>(&'a self, _: Ending<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn the_journal_and_the_events_get_an_input_without_secrets_and_the_tool_gets_it_whole() {
    let workspace = Workspace::new("");
    let (probe, seen) = (Probe::default(), Probe::default());
    let heard = seen.clone();
    let listen = tool("Listen").effects(|_: &Leak| Effects::none()).call(move |input: Leak, _: Cx| {
        heard.note(input.how);
        async { Ok(Reply::text("heard")) }
    });
    let redactor = Arc::new(Redactor::builder().secret(SECRET).build());
    let engine =
        haft_testkit::engine(&workspace).tool(listen).redactor(redactor).journal(Book(probe.clone()));
    let mut turn = begin(engine, &workspace).live_turn();
    turn.push(call("1", "Listen", json!({ "how": format!("with {SECRET}") }))).unwrap();
    turn.close();
    while let Some(event) = turn.next().await {
        assert!(!format!("{event:?}").contains(SECRET), "{event:?}");
    }
    let told = r#"started {"how":"with [redacted: known secret]"} {"irreversible":false,"unknown":false} -"#;
    assert_eq!(probe.notes(), [told]);
    assert_eq!(seen.notes(), [format!("with {SECRET}")]);
}

/// Everything that says what a call does holds the words of its input.
fn talkative() -> SharedTool {
    let effects = |input: &Leak| {
        let words = ["run".to_owned(), "--password".to_owned(), "k7Trombo9".to_owned(), input.how.clone()];
        let mut effects = Effects::writes(format!("/w/{}", input.how)).and_host(&input.how, Access::Write);
        effects.push_command(CommandEffect {
            argv: words.to_vec(),
            class: Class::Destructive,
            certainty: Certainty::Exact,
        });
        effects.push_doubt(format!("what {} is", input.how));
        effects.and_state(input.how.clone(), Access::Write)
    };
    tool("Talk").effects(effects).call(|_: Leak, _: Cx| async { Ok(Reply::text("said")) })
}

#[tokio::test]
async fn effects_and_reasons_that_are_told_hold_no_secret_permitted_or_not() {
    for allowed in [true, false] {
        let workspace = Workspace::new("");
        let probe = Probe::default();
        let redactor = Arc::new(Redactor::builder().secret(SECRET).build());
        let engine = haft_testkit::engine(&workspace)
            .tool(talkative())
            .redactor(redactor)
            .journal(Book(probe.clone()));
        let session = begin(engine, &workspace);
        let mode = if allowed { Mode::Bypass } else { Mode::DontAsk };
        session.set_mode(mode);
        let mut turn = session.live_turn();
        turn.push(call("1", "Talk", json!({ "how": SECRET }))).unwrap();
        turn.close();
        while let Some(event) = turn.next().await {
            let told = format!("{event:?}");
            assert!(!told.contains("horse") && !told.contains("Trombo"), "{told}");
        }
        let notes = probe.notes().join("\n");
        assert!(notes.starts_with(if allowed { "started" } else { "refused" }), "{notes}");
        assert!(!notes.contains("horse") && !notes.contains("Trombo"), "{notes}");
        assert!(notes.contains("[redacted: known secret]"), "{notes}");
    }
}

/// A journal that keeps all of a decision.
struct Whole(Probe);

impl Journal for Whole {
    fn started<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<Start>> {
        self.0.note(told_whole("started", start));
        Box::pin(async { Ok(Start::Go) })
    }
    fn refused<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<()>> {
        self.0.note(told_whole("refused", start));
        Box::pin(async { Ok(()) })
    }
    fn finished<'a>(&'a self, _: Ending<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Ok(()) })
    }
}

/// What journal and events are told of a call of a rule with a secret in it.
async fn told_of_rules(rules: Rules) -> String {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let redactor = Arc::new(Redactor::builder().secret(SECRET).build());
    let engine = haft_testkit::engine(&workspace)
        .tool(talkative())
        .redactor(redactor)
        .journal(Whole(probe.clone()))
        .rules(rules);
    let session = begin(engine, &workspace);
    session.set_mode(Mode::DontAsk);
    let mut turn = session.live_turn();
    turn.push(call("1", "Talk", json!({ "how": SECRET }))).unwrap();
    turn.close();
    let mut all = String::new();
    while let Some(event) = turn.next().await {
        all += &format!("{event:?}");
        if let Event::Started { decision, .. } | Event::Refused { decision, .. } = &event {
            all += &json!(decision.trace).to_string();
        }
        if let Event::Finished(result) = &event {
            all += &result.text();
        }
    }
    all + &probe.notes().join("\n")
}

#[tokio::test]
async fn a_rule_that_holds_a_secret_is_told_without_it() {
    let written = |text: String| Written {
        reason: Some(format!("not with {SECRET}")),
        ..Written::new(text, Origin::Session)
    };
    let command = format!("Bash(run --password k7Trombo9 {SECRET})");
    let escaped = format!("Edit(//w/{})", SECRET.replace('-', "\\-"));
    for text in [command, escaped] {
        for denied in [true, false] {
            let rule = vec![written(text.clone())];
            let rules = match denied {
                true => Rules { deny: rule, ..Rules::default() },
                false => Rules { ask: rule, ..Rules::default() },
            };
            let told = told_of_rules(rules).await;
            for secret in ["horse", "Trombo"] {
                assert!(!told.contains(secret), "{secret}: {told}");
            }
            let (name, reason) = (&text[..5], "not with [redacted: known secret]");
            assert!(told.contains(name) && told.contains(reason), "{told}");
        }
    }
}

#[tokio::test]
async fn a_runner_up_and_the_rule_that_allowed_are_told_without_secrets() {
    let allow = Written::all(["Talk".to_owned(), format!("WebFetch(domain:{SECRET})")], Origin::Session);
    let ask = Written::all([format!("Bash(run --password k7Trombo9 {SECRET})")], Origin::Session);
    let told = told_of_rules(Rules { allow, ask, ..Rules::default() }).await;
    assert!(!told.contains("horse") && !told.contains("Trombo"), "{told}");
}

struct Going;

impl Task for Going {
    fn describe(&self) -> String {
        format!("serve --password k7Trombo9 {SECRET}")
    }
    fn state(&self) -> TaskState {
        TaskState::Done("exit code 0".to_owned())
    }
    fn since(&self, _: u64) -> TaskNews {
        TaskNews::default()
    }
    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
    fn stop(&self) {}
}

#[tokio::test]
async fn a_task_is_told_without_secrets() {
    let workspace = Workspace::new("");
    let leave = tool("Leave").effects(|_: &Leak| Effects::none()).call(|_: Leak, cx: Cx| async move {
        cx.tasks().add(Arc::new(Going))?;
        Ok(Reply::text("it goes on"))
    });
    let redactor = Arc::new(Redactor::builder().secret(SECRET).build());
    let engine = haft_testkit::engine(&workspace).tool(leave).redactor(redactor);
    let mut turn = begin(engine, &workspace).live_turn();
    turn.push(call("1", "Leave", json!({ "how": "" }))).unwrap();
    turn.close();
    let mut told = Vec::new();
    while let Some(event) = turn.next().await {
        if let Event::TaskStarted { description, .. } = event {
            told.push(description);
        }
    }
    assert_eq!(told, ["serve --password [redacted: password] [redacted: known secret]"]);
}

/// A hook whose name is its command line.
struct Gate;

impl Hook for Gate {
    fn before<'a>(&'a self, _: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        let command = format!("check --token {SECRET}");
        Box::pin(async { vec![Said::verdict(command, Verdict::Deny, "not now")] })
    }
}

#[tokio::test]
async fn a_hook_is_named_without_secrets() {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let redactor = Arc::new(Redactor::builder().secret(SECRET).build());
    let engine = haft_testkit::engine(&workspace)
        .tool(leak())
        .redactor(redactor)
        .hook(Gate)
        .journal(Whole(probe.clone()));
    let mut turn = begin(engine, &workspace).live_turn();
    turn.push(call("1", "Leak", json!({ "how": "" }))).unwrap();
    turn.close();
    let mut told = String::new();
    while let Some(event) = turn.next().await {
        told += &format!("{event:?}");
    }
    told += &probe.notes().join("\n");
    assert!(!told.contains("horse") && told.contains("the hook `check --token [redacted: "), "{told}");
}
