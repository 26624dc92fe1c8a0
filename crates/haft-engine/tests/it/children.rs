//! Sessions of sub-agents: what they have of their parents, and that it is never more.

use std::sync::{Arc, Mutex};

use haft_engine::{
    Engine, Session, SessionOptions,
    policy::{Answer, Asker, Layer, Mode, Origin, Question, Rules, Verdict, Written},
    pool::Filter,
    session::ChildOptions,
    turn::{Hook, Now, Occasion},
};
use haft_testkit::Workspace;
use haft_tool::{AbsolutePath, BoxFuture, CallId, Effects, FaultKind, Reply, SharedTool, tool};
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::{begin, call, kind};

#[derive(Deserialize, JsonSchema)]
struct At {
    path: AbsolutePath,
}

fn acting(name: &'static str, effects: fn(&At) -> Effects) -> SharedTool {
    tool(name)
        .prompt("Does what its name says. It never fails.")
        .effects(effects)
        .call(|_, _| async { Ok(Reply::text("done")) })
}

fn tools() -> [SharedTool; 4] {
    [
        acting("Read", |at| Effects::reads(&at.path)),
        acting("Edit", |at| Effects::writes(&at.path)),
        acting("Send", |_| Effects::sends("b.a.org")),
        acting("Odd", |_| Effects::unknown()),
    ]
}

fn reviewer() -> ChildOptions {
    ChildOptions {
        id: "session-1".into(),
        agent: "reviewer".to_owned(),
        model: None,
        toolset: None,
        loaded: Vec::new(),
        read_only: false,
    }
}

async fn child(parent: &Session, options: ChildOptions) -> Session {
    parent.child(&CallId::from("call_1"), options).await.unwrap()
}

const RULES: &[&str] = &[
    "Read",
    "Edit",
    "Odd",
    "Read(src/**)",
    "Edit(src/**)",
    "Edit(//**)",
    "Read(//etc/**)",
    "Send(domain:*)",
];
const PATHS: &[&str] = &["src/a.rs", "b.rs", "/etc/hosts", ".git/config"];

prop_compose! {
    fn rule()(text in prop::sample::select(RULES), layer in 0..6_u8, firm in any::<bool>()) -> Written {
        let layer = match layer {
            0 => Layer::Model("large".to_owned()),
            1 => Layer::Model("small".to_owned()),
            2 => Layer::Agent("reviewer".to_owned()),
            3 => Layer::Agent("other".to_owned()),
            4 => Layer::Sandbox,
            _ => Layer::Global,
        };
        Written { firm, ..Written::new(text, Origin::Flag).in_layer(layer) }
    }
}

prop_compose! {
    fn rules()(
        allow in prop::collection::vec(rule(), 0..4),
        ask in prop::collection::vec(rule(), 0..3),
        deny in prop::collection::vec(rule(), 0..2),
    ) -> Rules {
        Rules { allow, ask, deny }
    }
}

/// How strict each is; what is hidden is as strict as what is denied.
async fn strictness(session: &Session, tool: &str, path: &str) -> u8 {
    let explained = session.explain(call("1", tool, json!({ "path": path }))).await.unwrap();
    match explained.decision.verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the rules, the mode and the kind of agent, and whatever becomes of the parent meanwhile.
    #[test]
    fn nothing_is_permitted_to_a_sub_agent_that_is_not_permitted_to_its_parent(
        of_engine in rules(),
        of_session in rules(),
        later in rules(),
        begins_in in prop::sample::select(&Mode::ALL),
        goes_on_in in prop::sample::select(&Mode::ALL),
        read_only in any::<bool>(),
        model in prop::sample::select(&[None, Some("small")]),
        own_mode in prop::sample::select(&Mode::ALL),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let workspace = Workspace::new("");
            let engine = haft_testkit::engine(&workspace).tools(tools()).rules(of_engine).build().unwrap();
            let options = SessionOptions {
                rules: of_session,
                mode: begins_in,
                model: Some("large".to_owned()),
                ..SessionOptions::at(workspace.root())
            };
            let parent = engine.session(options).unwrap();
            let options = ChildOptions { read_only, model: model.map(str::to_owned), ..reviewer() };
            let child_of = child(&parent, options.clone()).await;
            let grandchild = child(&child_of, ChildOptions { id: "session-1-1".into(), ..options }).await;
            for step in 0..3 {
                for tool in ["Read", "Edit", "Send", "Odd"] {
                    for path in PATHS {
                        let [above, below, far] = [&parent, &child_of, &grandchild];
                        let above = strictness(above, tool, path).await;
                        let below = strictness(below, tool, path).await;
                        prop_assert!(below >= above, "{tool} {path} at {step}: {below} below, {above} above");
                        prop_assert!(strictness(far, tool, path).await >= below, "{tool} {path} at {step}");
                    }
                }
                match step {
                    // Somebody changes the parent, then somebody tries to change the child.
                    0 => { parent.set_mode(goes_on_in); parent.add_rules(later.clone()).unwrap(); }
                    _ => { child_of.set_mode(own_mode); child_of.add_rules(later.clone()).unwrap(); }
                }
            }
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn rules_for_an_agent_tighten_its_session_and_loosen_nothing() {
    let workspace = Workspace::new("");
    let of = |text: &str| Written::new(text, Origin::Flag).in_layer(Layer::Agent("reviewer".to_owned()));
    let rules = Rules { allow: vec![of("Edit(//etc/**)")], ask: Vec::new(), deny: vec![of("Read(secret)")] };
    let parent = begin(haft_testkit::engine(&workspace).tools(tools()).rules(rules), &workspace);
    let child = child(&parent, reviewer()).await;
    assert_eq!(
        [strictness(&parent, "Read", "secret").await, strictness(&child, "Read", "secret").await],
        [0, 2]
    );
    assert_eq!(strictness(&child, "Edit", "/etc/x").await, 1);
}

#[tokio::test]
async fn a_mode_that_is_changed_above_holds_below_at_once() {
    let workspace = Workspace::new("");
    let parent = begin(haft_testkit::engine(&workspace).tools(tools()), &workspace);
    parent.set_mode(Mode::AcceptEdits);
    let child = child(&parent, reviewer()).await;
    let edit = |id: &str| call(id, "Edit", json!({ "path": "a" }));
    assert!(!child.call(edit("1")).await.is_error());
    parent.set_mode(Mode::Plan);
    let refused = child.call(edit("2")).await;
    assert!(refused.is_error() && refused.text().contains("plan mode"), "{}", refused.text());
    parent.set_mode(Mode::AcceptEdits);
    drop(parent);
    assert_eq!(child.mode(), Mode::Plan, "whose parent is gone only reads");
}

#[derive(Clone, Default)]
struct Person(Arc<Mutex<Vec<String>>>);

impl Asker for Person {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        self.0.lock().unwrap().push(question.description.to_owned());
        Box::pin(async { Answer::Session })
    }
}

#[tokio::test]
async fn the_person_is_told_who_asks_and_grants_for_both() {
    let (workspace, person) = (Workspace::new(""), Person::default());
    let parent = begin(haft_testkit::engine(&workspace).tools(tools()).asker(person.clone()), &workspace);
    let child = child(&parent, reviewer()).await;
    for (session, id) in [(&child, "1"), (&child, "2"), (&parent, "3")] {
        assert!(!session.call(call(id, "Edit", json!({ "path": "a" }))).await.is_error());
    }
    assert_eq!(*person.0.lock().unwrap(), ["sub-agent reviewer: Edit"]);
}

#[tokio::test]
async fn it_has_only_tools_that_its_parent_has() {
    let workspace = Workspace::new("");
    let engine: Engine = haft_testkit::engine(&workspace).tools(tools()).build().unwrap();
    let options =
        SessionOptions { toolset: Some("Read,Edit".to_owned()), ..SessionOptions::at(workspace.root()) };
    let parent = engine.session(options).unwrap();
    let options = ChildOptions { toolset: Some(Filter::of(["Read", "Send"])), ..reviewer() };
    let child = child(&parent, options).await;
    let names: Vec<String> = child.pool().offers().map(|offer| offer.name.to_owned()).collect();
    assert_eq!(names, ["Read"]);
    let refused = child.call(call("1", "Send", json!({ "path": "a" }))).await;
    assert_eq!(kind(&refused), Some(FaultKind::UnknownTool));
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Hook for Heard {
    fn occasion<'a>(
        &'a self,
        _: Now<'a>,
        occasion: Occasion<'a>,
    ) -> BoxFuture<'a, Vec<haft_engine::policy::Said>> {
        self.0.lock().unwrap().push(format!("{occasion:?}"));
        Box::pin(async { Vec::new() })
    }
}

#[tokio::test]
async fn what_a_sub_agent_is_told_are_not_a_persons_words() {
    let (workspace, heard) = (Workspace::new(""), Heard::default());
    let parent = begin(haft_testkit::engine(&workspace).tools(tools()).hook(heard.clone()), &workspace);
    let child = child(&parent, reviewer()).await;
    child.occasion(Occasion::UserPrompt { prompt: "do it" }).await;
    child.stops("done", false).await;
    assert_eq!(
        *heard.0.lock().unwrap(),
        ["SubagentStop { id: \"session-1\", kind: \"reviewer\", again: false }"]
    );
}
