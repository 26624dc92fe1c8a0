//! Hooks: who is asked when, whose word counts, and what becomes of a call that they change.

use std::{io, time::Duration};

use haft_engine::{
    EngineBuilder, Session,
    policy::{Answer, Asker, CallFacts, Question, Said, Verdict},
    result::ToolResult,
    session::{Ending, Journal, Start, Starting},
    turn::{Event, Hook, Now, Occasion},
};
use haft_testkit::{Probe, Workspace, sized, sleeping};
use haft_tool::{BoxFuture, Fault, FaultKind, Refusal, Reply, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kit::{allowing, begin, call, kind};

type Say = Box<dyn Fn(()) -> Vec<Said> + Send + Sync>;
type SayBefore = Box<dyn Fn(CallFacts<'_>) -> Vec<Said> + Send + Sync>;

/// A hook made of closures, which notes what it is asked.
#[derive(Default)]
struct Scripted {
    probe: Probe,
    before: Option<SayBefore>,
    asked: Option<Say>,
    after: Option<Say>,
    slow: Duration,
}

impl Hook for Scripted {
    fn before<'a>(&'a self, call: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        self.probe.note(format!("before {}", call.call));
        let said = self.before.as_ref().map_or_else(Vec::new, |say| say(call));
        Box::pin(async move {
            if !self.slow.is_zero() {
                tokio::time::sleep(self.slow).await;
            }
            said
        })
    }
    fn asked<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Vec<Said>> {
        self.probe.note(format!("asked {}", question.call.call));
        let said = self.asked.as_ref().map_or_else(Vec::new, |say| say(()));
        Box::pin(async { said })
    }
    fn after<'a>(&'a self, call: CallFacts<'a>, _: &'a ToolResult) -> BoxFuture<'a, Vec<Said>> {
        self.probe.note(format!("after {}", call.call));
        let said = self.after.as_ref().map_or_else(Vec::new, |say| say(()));
        Box::pin(async { said })
    }
    fn refused<'a>(&'a self, call: CallFacts<'a>, fault: &'a Fault) -> BoxFuture<'a, Vec<Said>> {
        self.probe.note(format!("refused {} {:?}", call.call, fault.refusal()));
        Box::pin(async { Vec::new() })
    }
    fn occasion<'a>(&'a self, _: Now<'a>, occasion: Occasion<'a>) -> BoxFuture<'a, Vec<Said>> {
        self.probe.note(occasion.name());
        Box::pin(async { vec![Said { context: Some("hello".into()), ..Said::by("greeter") }] })
    }
}

fn says(verdict: Verdict) -> Scripted {
    Scripted {
        before: Some(Box::new(move |_| vec![Said::verdict("h", verdict, "so")])),
        ..Scripted::default()
    }
}

fn changes(to: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static) -> Scripted {
    let before = move |call: CallFacts<'_>| {
        to(call.input).map(|input| Said { input: Some(input), ..Said::by("changer") }).into_iter().collect()
    };
    Scripted { before: Some(Box::new(before)), ..Scripted::default() }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn odd() -> haft_tool::SharedTool {
    tool("Odd").call(|_: Nothing, _| async { Ok(Reply::text("ran")) })
}

fn refusal(result: &ToolResult) -> Option<Refusal> {
    result.fault.and_then(|fault| fault.refusal)
}

struct Person(Answer);

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            tokio::task::yield_now().await;
            self.0.clone()
        })
    }
}

/// What becomes of a read inside the workspace, which is free, and of a write, which is asked.
async fn verdicts(rules: &[&str], hook: Verdict) -> [Option<Refusal>; 2] {
    let workspace = Workspace::new("");
    let engine = allowing(&workspace, rules).tool(sleeping(&Probe::default())).hook(says(hook));
    let session = begin(engine, &workspace);
    let read = session.call(call("1", "Sleep", json!({ "ms": 0, "reads": "a" }))).await;
    let write = session.call(call("2", "Sleep", json!({ "ms": 0, "writes": "a" }))).await;
    [refusal(&read), refusal(&write)]
}

#[tokio::test]
async fn a_hook_allows_what_is_open_asks_about_what_is_free_and_denies_everything() {
    let (nobody, hook) = (Some(Refusal::NobodyThere), Some(Refusal::Hook));
    assert_eq!(verdicts(&[], Verdict::Allow).await, [None, None]);
    assert_eq!(verdicts(&[], Verdict::Ask).await, [nobody, nobody]);
    assert_eq!(verdicts(&["Sleep"], Verdict::Ask).await, [nobody, nobody]);
    assert_eq!(verdicts(&["Sleep"], Verdict::Deny).await, [hook, hook]);
}

fn with_rules(workspace: &Workspace, deny: &[&str], ask: &[&str]) -> EngineBuilder {
    use haft_engine::policy::{Origin, Rules, Written};
    let list = |rules: &[&str]| Written::all(rules.iter().copied(), Origin::Session);
    haft_testkit::engine(workspace).rules(Rules { allow: Vec::new(), ask: list(ask), deny: list(deny) })
}

#[tokio::test]
async fn a_denied_call_reaches_no_hook_that_could_speak_for_it() {
    let workspace = Workspace::new("");
    let hook = says(Verdict::Allow);
    let probe = hook.probe.clone();
    let engine = with_rules(&workspace, &["Edit(a)"], &[]).tool(sleeping(&Probe::default())).hook(hook);
    let result = begin(engine, &workspace).call(call("1", "Sleep", json!({ "ms": 0, "writes": "a" }))).await;
    assert_eq!(refusal(&result), Some(Refusal::Rule));
    assert_eq!(probe.notes(), ["refused 1 Some(Rule)"]);
}

#[tokio::test]
async fn what_a_rule_asks_and_what_is_protected_no_hook_allows() {
    let workspace = Workspace::new("-- .git/config\nx\n");
    for path in ["a", ".git/config"] {
        let hook = Scripted {
            asked: Some(Box::new(|()| vec![Said::verdict("h", Verdict::Allow, "so")])),
            ..says(Verdict::Allow)
        };
        let engine = with_rules(&workspace, &[], &["Edit(a)"]).tool(sleeping(&Probe::default())).hook(hook);
        let result =
            begin(engine, &workspace).call(call("1", "Sleep", json!({ "ms": 0, "writes": path }))).await;
        assert_eq!(refusal(&result), Some(Refusal::NobodyThere), "{path}");
    }
}

#[tokio::test]
async fn the_strictest_of_several_hooks_wins_and_all_are_in_the_story() {
    let workspace = Workspace::new("");
    let engine = haft_testkit::engine(&workspace).tool(sized());
    let engine = engine.hook(says(Verdict::Allow)).hook(says(Verdict::Deny)).hook(says(Verdict::Ask));
    let result = begin(engine, &workspace).call(call("1", "Sized", json!({ "bytes": 1 }))).await;
    assert_eq!(refusal(&result), Some(Refusal::Hook));
    assert_eq!(result.text().lines().next(), Some("Refused: the hook `h` refuses it: so."));
    let verdicts: Vec<_> = result.meta.hooks.iter().map(|said| (said.at.as_str(), said.verdict)).collect();
    let at = "PreToolUse";
    assert_eq!(verdicts, [(at, Some(Verdict::Allow)), (at, Some(Verdict::Deny)), (at, Some(Verdict::Ask))]);
}

#[tokio::test]
async fn a_changed_input_runs_and_the_result_says_who_changed_it() {
    let workspace = Workspace::new("");
    let hook = changes(|input| (input["bytes"] == 3).then(|| json!({ "bytes": 5 })));
    let probe = hook.probe.clone();
    let engine = haft_testkit::engine(&workspace).tool(sized()).hook(hook);
    let result = begin(engine, &workspace).call(call("1", "Sized", json!({ "bytes": 3 }))).await;
    assert_eq!(result.text(), ".....");
    let told = json!([{ "by": "changer", "at": "PreToolUse", "changed_input": true }]);
    assert_eq!(serde_json::to_value(&result.meta).unwrap()["hooks"], told);
    assert_eq!(probe.notes(), ["before 1", "after 1"], "hooks are not asked again");
}

#[tokio::test]
async fn a_changed_input_is_checked_and_judged_again() {
    let workspace = Workspace::new("");
    let cases = [
        (json!({ "ms": "soon" }), Some(FaultKind::InvalidInput), None),
        (json!({ "ms": 0, "writes": "secret" }), Some(FaultKind::Denied), Some(Refusal::Rule)),
        (json!({ "ms": 0, "writes": "other" }), Some(FaultKind::Denied), Some(Refusal::NobodyThere)),
        (json!({ "ms": 0, "reads": "other" }), None, None),
    ];
    for (input, expected, by) in cases {
        let sleep = Probe::default();
        let (from, to) = (json!({ "ms": 1 }), input.clone());
        let hook = changes(move |input| (*input == from).then(|| to.clone()));
        let engine = with_rules(&workspace, &["Edit(secret)"], &[]).tool(sleeping(&sleep)).hook(hook);
        let result = begin(engine, &workspace).call(call("1", "Sleep", json!({ "ms": 1 }))).await;
        assert_eq!((kind(&result), refusal(&result)), (expected, by), "{input}: {}", result.text());
        assert_eq!(sleep.notes().is_empty(), expected.is_some());
    }
}

#[tokio::test]
async fn a_yes_with_another_input_is_a_yes_to_that_input_only_as_far_as_a_hook_can_say_it() {
    let workspace = Workspace::new("");
    for (path, expected) in [("a", None), ("secret", Some(Refusal::Rule))] {
        let to = json!({ "ms": 0, "writes": path });
        let before = move |_: CallFacts<'_>| {
            vec![Said { input: Some(to.clone()), ..Said::verdict("h", Verdict::Allow, "so") }]
        };
        let hook = Scripted { before: Some(Box::new(before)), ..Scripted::default() };
        let engine =
            with_rules(&workspace, &["Edit(secret)"], &[]).tool(sleeping(&Probe::default())).hook(hook);
        let result = begin(engine, &workspace).call(call("1", "Sleep", json!({ "ms": 0 }))).await;
        assert_eq!(refusal(&result), expected, "{}", result.text());
    }
}

/// Call 1 becomes a write of `b` while call 2, which writes `b`, runs already.
#[tokio::test(start_paused = true)]
async fn a_changed_call_does_not_race_what_it_touches_now() {
    let workspace = Workspace::new("");
    let sleep = Probe::default();
    let hook = Scripted {
        slow: Duration::from_millis(1),
        ..changes(|input| {
            input["writes"].as_str()?.ends_with("/a").then(|| json!({ "ms": 5, "writes": "b" }))
        })
    };
    let session = begin(allowing(&workspace, &["Sleep"]).tool(sleeping(&sleep)).hook(hook), &workspace);
    let calls = vec![
        call("1", "Sleep", json!({ "ms": 5, "writes": "a" })),
        call("2", "Sleep", json!({ "ms": 5, "writes": "b" })),
        call("3", "Sleep", json!({ "ms": 5, "writes": "b" })),
    ];
    let results = session.turn(calls).await;
    assert!(results.iter().all(|result| !result.is_error()));
    // Call 2 had been started, so it goes first; call 3 had not, and waits as the model's order wants it.
    let notes = sleep.notes();
    let pairs: Vec<&[String]> = notes.chunks(2).collect();
    assert!(pairs.iter().all(|pair| pair[0][1..] == pair[1][1..]), "two wrote at once: {notes:?}");
    assert_eq!(notes.len(), 6);
}

#[tokio::test]
async fn hooks_may_answer_in_the_place_of_the_person() {
    for (verdict, person, expected) in [
        (Some(Verdict::Allow), Answer::No(None), None),
        (Some(Verdict::Deny), Answer::Once, Some(Refusal::Hook)),
        (Some(Verdict::Ask), Answer::Once, None),
        (None, Answer::No(None), Some(Refusal::Person)),
    ] {
        let workspace = Workspace::new("");
        let said = move |()| verdict.map(|verdict| Said::verdict("h", verdict, "so")).into_iter().collect();
        let hook = Scripted { asked: Some(Box::new(said)), ..Scripted::default() };
        let engine = haft_testkit::engine(&workspace).tool(odd()).hook(hook).asker(Person(person));
        let result = begin(engine, &workspace).call(call("1", "Odd", json!({}))).await;
        assert_eq!(refusal(&result), expected, "{verdict:?}: {}", result.text());
    }
}

#[tokio::test]
async fn hooks_hear_that_a_person_is_asked_and_that_a_call_was_refused() {
    let workspace = Workspace::new("");
    let hook = Scripted::default();
    let probe = hook.probe.clone();
    let engine = haft_testkit::engine(&workspace).tool(odd()).hook(hook).asker(Person(Answer::No(None)));
    begin(engine, &workspace).call(call("1", "Odd", json!({}))).await;
    assert_eq!(probe.notes(), ["before 1", "asked 1", "Notification", "refused 1 Some(Person)"]);
}

#[tokio::test]
async fn a_hook_in_the_place_of_the_person_may_change_the_input_once() {
    let workspace = Workspace::new("");
    let asked = |()| {
        let input = Some(json!({ "ms": 0, "writes": "b" }));
        vec![Said { input, ..Said::verdict("h", Verdict::Allow, "so") }]
    };
    let (hook, sleep) = (Scripted { asked: Some(Box::new(asked)), ..Scripted::default() }, Probe::default());
    let probe = hook.probe.clone();
    let engine = haft_testkit::engine(&workspace).tool(sleeping(&sleep)).hook(hook);
    let result = begin(engine, &workspace).call(call("1", "Sleep", json!({ "ms": 0, "writes": "a" }))).await;
    assert_eq!(refusal(&result), None, "{}", result.text());
    assert_eq!(probe.notes(), ["before 1", "asked 1", "after 1"]);
}

#[tokio::test]
async fn a_hook_may_stop_the_turn_before_or_after_a_call() {
    for before in [true, false] {
        let workspace = Workspace::new("");
        let stop = || vec![Said { stop: Some("enough".into()), ..Said::by("brake") }];
        let hook = Scripted {
            before: before.then(|| Box::new(move |_: CallFacts<'_>| stop()) as _),
            after: (!before).then(|| Box::new(move |()| stop()) as _),
            ..Scripted::default()
        };
        let engine = allowing(&workspace, &["Odd"]).tool(odd()).hook(hook);
        let calls = ["1", "2", "3"].map(|id| call(id, "Odd", json!({})));
        let results = begin(engine, &workspace).turn(calls.into()).await;
        assert_eq!(results.len(), 3);
        assert_eq!(results[0].stops_turn(), Some("enough"));
        assert_eq!(refusal(&results[0]), before.then_some(Refusal::Hook));
        for later in &results[1..] {
            assert_eq!(kind(later), Some(FaultKind::Cancelled));
            assert!(later.text().contains("`brake` stopped the turn"), "{}", later.text());
        }
    }
}

#[tokio::test]
async fn calls_that_arrive_after_a_hook_stopped_the_turn_get_their_result_too() {
    let workspace = Workspace::new("");
    let stop = |()| vec![Said { stop: Some("enough".into()), ..Said::by("brake") }];
    let hook = Scripted { after: Some(Box::new(stop)), ..Scripted::default() };
    let session = begin(haft_testkit::engine(&workspace).tool(sized()).hook(hook), &workspace);
    let mut turn = session.live_turn();
    turn.push(call("1", "Sized", json!({ "bytes": 1 }))).unwrap();
    while !matches!(turn.next().await, Some(Event::Finished(_))) {}
    turn.push(call("2", "Sized", json!({ "bytes": 1 }))).unwrap();
    let results = turn.results().await;
    assert_eq!(results.iter().map(kind).collect::<Vec<_>>(), [None, Some(FaultKind::Cancelled)]);
}

#[tokio::test]
async fn after_a_call_hooks_object_add_words_and_replace_the_text() {
    let workspace = Workspace::new("");
    let after = |()| {
        let said = Said { context: Some("formatted".into()), output: Some("new".into()), ..Said::by("h") };
        vec![said, Said::verdict("lint", Verdict::Deny, "two errors")]
    };
    let hook = Scripted { after: Some(Box::new(after)), ..Scripted::default() };
    let engine = haft_testkit::engine(&workspace).tool(sized()).hook(hook);
    let result = begin(engine, &workspace).call(call("1", "Sized", json!({ "bytes": 3 }))).await;
    assert_eq!((result.text().as_str(), result.is_error()), ("new", false));
    let objection = "The hook `lint` objects to this call, which has run: two errors";
    assert_eq!(result.messages, ["formatted", objection]);
}

#[tokio::test]
async fn an_interrupted_call_does_not_wait_for_its_hooks() {
    let workspace = Workspace::new("");
    let hook = Scripted { slow: Duration::from_secs(3600), ..Scripted::default() };
    let session = begin(haft_testkit::engine(&workspace).tool(sized()).hook(hook), &workspace);
    let running = session.clone();
    let turn = tokio::spawn(async move { running.call(call("1", "Sized", json!({ "bytes": 3 }))).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    session.interrupt();
    assert_eq!(kind(&turn.await.unwrap()), Some(FaultKind::Cancelled));
}

struct Book(Probe);

impl Journal for Book {
    fn started<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<Start>> {
        let decision = start.facts.decision;
        self.0.note(format!("{:?} {}", decision.trace.hooks().len(), decision.reason()));
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
async fn the_journal_reads_who_said_what_in_the_decision() {
    let (workspace, probe) = (Workspace::new(""), Probe::default());
    let engine = haft_testkit::engine(&workspace).tool(odd()).journal(Book(probe.clone()));
    begin(engine.hook(says(Verdict::Allow)), &workspace).call(call("1", "Odd", json!({}))).await;
    assert_eq!(probe.notes(), ["1 allow: the hook `h` allows it: so"]);
}

#[tokio::test]
async fn a_session_tells_its_occasions_and_hands_back_what_is_said() {
    let workspace = Workspace::new("");
    let hook = Scripted::default();
    let probe = hook.probe.clone();
    let session: Session = begin(haft_testkit::engine(&workspace).hook(hook), &workspace);
    let said = session.starts("startup").await;
    assert_eq!((said[0].at.as_str(), said[0].context.as_deref()), ("SessionStart", Some("hello")));
    session.stops("done", false).await;
    session.ends("other").await;
    assert_eq!(probe.notes(), ["SessionStart", "Stop", "SessionEnd"]);
    let quiet = begin(haft_testkit::engine(&workspace), &workspace);
    assert!(quiet.starts("startup").await.is_empty());
}
