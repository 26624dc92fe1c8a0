use std::sync::{Arc, Mutex};

use haft_engine::{
    Call, Session, SessionOptions,
    policy::{Answer, Asker, Choices, Choosing, Chosen, Mode, Origin, Question, Rules},
    result::ToolResult,
};
use haft_testkit::Workspace;
use haft_tool::{BoxFuture, FaultKind};
use serde_json::{Value, json};

/// Says this to every plan, and yes to every call.
#[derive(Clone)]
struct Person {
    choosing: Choosing,
    shown: Arc<Mutex<Vec<String>>>,
}

impl Person {
    fn saying(labels: &[&str], words: Option<&str>) -> Person {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let chosen = Chosen { labels, words: words.map(str::to_owned) };
        Person { choosing: Choosing::Chosen(vec![chosen]), shown: Arc::default() }
    }
}

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Once })
    }
    fn choose<'a>(&'a self, choices: Choices<'a>) -> BoxFuture<'a, Choosing> {
        self.shown.lock().unwrap().push(choices.text.unwrap_or_default().to_owned());
        Box::pin(async { self.choosing.clone() })
    }
}

struct Planning {
    workspace: Workspace,
    session: Session,
    count: Mutex<usize>,
}

impl Planning {
    fn with(person: Option<Person>, mode: Mode) -> Planning {
        let workspace = Workspace::new("-- a.txt\n    one");
        let rules = Rules::allowing(["*", "Edit(**)", "Bash(touch:*)"], Origin::Session);
        let engine =
            haft_testkit::engine(&workspace).kernels(crate::kernels()).tools(crate::builtin()).rules(rules);
        let engine = match person {
            Some(person) => engine.asker(person),
            None => engine,
        };
        let options = SessionOptions { mode, ..SessionOptions::at(workspace.root()) };
        let session = engine.build().unwrap().session(options).unwrap();
        Planning { workspace, session, count: Mutex::default() }
    }

    async fn call(&self, tool: &str, input: Value) -> ToolResult {
        let id = {
            let mut count = self.count.lock().unwrap();
            *count += 1;
            format!("c{count}")
        };
        self.session.call(Call::new(id, tool, input)).await
    }

    async fn may_write(&self) -> bool {
        let written = self.call("Write", json!({ "file_path": "b.txt", "content": "x" })).await;
        let touched = self.call("Bash", json!({ "command": "touch c.txt" })).await;
        let there = self.workspace.root().join("b.txt").exists();
        assert_eq!(!written.is_error(), there);
        if !there {
            assert!(
                touched.is_error() && !self.workspace.root().join("c.txt").exists(),
                "{}",
                touched.text()
            );
        }
        there
    }
}

#[tokio::test]
async fn while_a_plan_is_made_nothing_is_changed_whatever_the_rules_say() {
    for mode in [Mode::Default, Mode::AcceptEdits, Mode::Bypass, Mode::Auto, Mode::DontAsk] {
        let planning = Planning::with(Some(Person::saying(&["Approve"], None)), mode);
        planning.call("EnterPlanMode", json!({})).await;
        assert_eq!((planning.session.mode(), planning.session.own_mode()), (Mode::Plan, mode));
        assert!(!planning.may_write().await, "{mode}");
        assert!(!planning.call("Read", json!({ "file_path": "a.txt" })).await.is_error());
    }
}

#[tokio::test]
async fn a_plan_takes_nothing_from_the_list_of_tools_and_a_session_in_plan_mode_has_less() {
    let names = |planning: &Planning| -> Vec<String> {
        planning.session.pool().offers().map(|offer| offer.name.to_owned()).collect()
    };
    let planning = Planning::with(Some(Person::saying(&["Approve"], None)), Mode::Default);
    let before = names(&planning);
    assert!(
        before.contains(&"Write".to_owned()) && !before.contains(&"ExitPlanMode".to_owned()),
        "{before:?}"
    );
    planning.call("EnterPlanMode", json!({})).await;
    let during = names(&planning);
    assert_eq!(
        (&during[..before.len()], &during[before.len()..]),
        (&*before, &["ExitPlanMode".to_owned()][..])
    );
    let refused = planning.call("Write", json!({ "file_path": "b.txt", "content": "x" })).await;
    assert!(refused.text().starts_with("Refused by plan mode"), "{}", refused.text());
    planning.call("ExitPlanMode", json!({ "plan": "- all" })).await;
    assert_eq!(names(&planning), during);
    let planning = Planning::with(None, Mode::Plan);
    let begun_so = names(&planning);
    assert!(!begun_so.contains(&"Write".to_owned()), "{begun_so:?}");
    let unknown = planning.call("Write", json!({ "file_path": "b.txt", "content": "x" })).await;
    assert!(
        unknown.text().starts_with("`Write` is not offered here: plan mode offers"),
        "{}",
        unknown.text()
    );
}

#[tokio::test]
async fn calls_after_it_in_the_same_turn_are_judged_by_it() {
    let planning = Planning::with(None, Mode::AcceptEdits);
    let write = |id: &str| Call::new(id, "Write", json!({ "file_path": "b.txt", "content": "x" }));
    let enter = Call::new("e", "EnterPlanMode", json!({}));
    let results = planning.session.turn(vec![enter, write("w")]).await;
    assert!(results[1].is_error() && !planning.workspace.root().join("b.txt").exists());
}

#[tokio::test]
async fn an_approved_plan_brings_back_the_mode_of_before() {
    let person = Person::saying(&["Approve"], Some("but test it"));
    let planning = Planning::with(Some(person.clone()), Mode::AcceptEdits);
    planning.call("enter_plan_mode", json!({})).await;
    let result = planning.call("ExitPlanMode", json!({ "plan": "1. write b.txt" })).await;
    insta::assert_snapshot!(result.text(), @"The user approved the plan. They said: but test it Planning has ended (mode accept-edits); carry it out. VerifyPlan tells later which steps were done.");
    assert_eq!(*person.shown.lock().unwrap(), ["1. write b.txt"]);
    assert_eq!(planning.session.mode(), Mode::AcceptEdits);
    assert!(planning.session.plan().is_some_and(|plan| plan.is_approved));
    assert!(planning.may_write().await);
}

#[tokio::test]
async fn anything_but_a_clear_yes_is_none() {
    let nobody = None;
    let put_away = Some(Person { choosing: Choosing::Declined, shown: Arc::default() });
    for person in [
        nobody,
        put_away,
        Some(Person::saying(&["Keep planning"], Some("what of the tests?"))),
        Some(Person::saying(&["Reject"], None)),
        Some(Person::saying(&[], Some("yes"))),
        Some(Person::saying(&["approve"], None)),
    ] {
        let planning = Planning::with(person, Mode::Bypass);
        planning.call("EnterPlanMode", json!({})).await;
        let result = planning.call("exit_plan_mode", json!({ "plan": "- all" })).await;
        assert_eq!(result.fault.map(|fault| fault.kind), Some(FaultKind::Denied), "{}", result.text());
        assert!(!planning.may_write().await, "{}", result.text());
        assert_eq!(
            planning.session.plan().map(|plan| (plan.text, plan.is_approved)),
            Some(("- all".to_owned(), false))
        );
    }
}

#[tokio::test]
async fn planning_lasts_as_long_as_the_session() {
    let planning = Planning::with(None, Mode::Bypass);
    planning.call("EnterPlanMode", json!({})).await;
    let memory = planning.session.memory();
    let options =
        SessionOptions { memory, mode: Mode::Bypass, ..SessionOptions::at(planning.workspace.root()) };
    let again = planning.session.engine().session(options).unwrap();
    assert_eq!(again.mode(), Mode::Plan);
    again.set_mode(Mode::AcceptEdits);
    assert_eq!(again.mode(), Mode::AcceptEdits, "the person's word ends it");
}

#[tokio::test]
async fn a_session_that_began_in_plan_mode_stays_in_it() {
    let planning = Planning::with(Some(Person::saying(&["Approve"], None)), Mode::Plan);
    let result = planning.call("ExitPlanMode", json!({ "plan": "- all" })).await;
    assert!(result.text().contains("which no plan ends"), "{}", result.text());
    assert!(!planning.may_write().await);
}

#[tokio::test]
async fn where_no_plan_is_made_there_is_none_to_approve() {
    let planning = Planning::with(Some(Person::saying(&["Approve"], None)), Mode::Default);
    let result = planning.call("ExitPlanMode", json!({ "plan": "- all" })).await;
    assert!(result.text().starts_with("no plan is being made"), "{}", result.text());
    let empty = planning.call("ExitPlanMode", json!({ "plan": " " })).await;
    assert!(empty.text().starts_with("`plan` is empty"), "{}", empty.text());
}

#[tokio::test]
async fn the_person_sees_the_steps_that_they_approve() {
    let person = Person::saying(&["Approve"], None);
    let planning = Planning::with(Some(person.clone()), Mode::Default);
    planning.call("EnterPlanMode", json!({})).await;
    let steps = json!([
        { "step": "clean up", "writes": ["src", "/etc/x"], "runs": ["rm -rf build", "make"] },
        { "step": "be kind" },
    ]);
    let input = json!({ "plan": "p", "steps": steps });
    let turn = planning.session.live_turn();
    turn.push(Call::new("x", "ExitPlanMode", input)).unwrap();
    let view = turn.results().await.remove(0).view.expect("somebody watches");
    let wanted = "p\n\nSteps:\n1. clean up\n   writes src; writes /etc/x; runs `rm -rf build`; runs `make`\n2. be kind";
    assert_eq!(*person.shown.lock().unwrap(), [wanted]);
    assert_eq!(crate::desk::draw(&view), format!("The plan is approved\n{wanted}"));
}

#[tokio::test]
async fn each_step_is_compared_with_what_calls_did() {
    let planning = Planning::with(Some(Person::saying(&["Approve"], None)), Mode::Default);
    planning.call("EnterPlanMode", json!({})).await;
    let steps = json!([
        { "step": "write b", "writes": ["b.txt"] },
        { "step": "write both", "writes": ["b.txt", "d.txt"] },
        { "step": "never", "writes": ["e.txt"] },
        { "step": "edit what is not there", "writes": ["a.txt"] },
        { "step": "Change `b.txt`" },
        { "step": "be kind" },
    ]);
    planning.call("ExitPlanMode", json!({ "plan": "the plan", "steps": steps })).await;
    planning.call("Write", json!({ "file_path": "b.txt", "content": "x" })).await;
    planning.call("Edit", json!({ "file_path": "a.txt", "old_string": "nowhere", "new_string": "x" })).await;
    let result = planning.call("VerifyPlan", json!({})).await;
    insta::assert_snapshot!(result.text(), @"
    6 steps: 2 done, 1 failed, 3 not seen or only partly

    1. [done] write b
       write b.txt: Write (c3)
    2. [partly] write both
       write b.txt: Write (c3)
       write d.txt: no call shows it
    3. [not seen] never
       write e.txt: no call shows it
    4. [failed] edit what is not there
       write a.txt: tried by Edit (c4) and did not work
    5. [done] Change `b.txt`
       write b.txt: Write (c3)
    6. [not seen] be kind
       nothing in it says what would prove it
    ");
    assert_eq!(result.data.unwrap()["steps"][3]["standing"], "failed");
}

#[tokio::test]
async fn a_command_proves_a_step_by_how_it_ended() {
    let planning = Planning::with(Some(Person::saying(&["Approve"], None)), Mode::Default);
    planning.call("EnterPlanMode", json!({})).await;
    let plan = "1. Look: `ls -a .`\n2. Fail: `ls nowhere`\n3. Never: `cargo test -q`";
    planning.call("ExitPlanMode", json!({ "plan": plan })).await;
    let ran = planning.call("Bash", json!({ "command": "cd . && ls -a . 2>&1" })).await;
    if ran.is_error() {
        println!("skipped: commands do not run here: {}", ran.text());
        return;
    }
    planning.call("Bash", json!({ "command": "ls nowhere" })).await;
    let result = planning.call("VerifyPlan", json!({})).await;
    insta::assert_snapshot!(result.text(), @"
    3 steps: 1 done, 1 failed, 1 not seen or only partly

    1. [done] Look: `ls -a .`
       run `ls -a .`: Bash (c3)
    2. [failed] Fail: `ls nowhere`
       run `ls nowhere`: tried by Bash (c4) and did not work, exit code 2
    3. [not seen] Never: `cargo test -q`
       run `cargo test -q`: no call shows it
    ");
}

#[tokio::test]
async fn a_command_that_may_have_been_skipped_proves_nothing() {
    let planning = Planning::with(Some(Person::saying(&["Approve"], None)), Mode::Default);
    planning.call("EnterPlanMode", json!({})).await;
    let steps = json!([
        { "step": "test", "runs": ["cargo test"] },
        { "step": "search", "runs": ["grep zzz a.txt"] },
        { "step": "look", "runs": ["test -f nope"] },
        { "step": "make", "runs": ["make"] },
        { "step": "touch", "writes": ["t.txt"] },
        { "step": "wait", "runs": ["sleep 0"] },
    ]);
    planning.call("ExitPlanMode", json!({ "plan": "the plan", "steps": steps })).await;
    let ran = planning.call("Bash", json!({ "command": "false && cargo test; true" })).await;
    if ran.is_error() {
        println!("skipped: commands do not run here: {}", ran.text());
        return;
    }
    for line in [
        "grep zzz a.txt | cat",
        "if false; then test -f nope; fi",
        "make || true",
        "if false; then touch t.txt; fi",
    ] {
        planning.call("Bash", json!({ "command": line })).await;
    }
    planning.call("Bash", json!({ "command": "sleep 0", "background": true })).await;
    let result = planning.call("VerifyPlan", json!({})).await;
    insta::assert_snapshot!(result.text(), @"
    6 steps: 0 done, 0 failed, 6 not seen or only partly

    1. [not seen] test
       run `cargo test`: cannot be told; it was part of `false && cargo test; true` by Bash (c3)
    2. [not seen] search
       run `grep zzz a.txt`: cannot be told; it was part of `grep zzz a.txt | cat` by Bash (c4)
    3. [not seen] look
       run `test -f nope`: cannot be told; it was part of `if false; then test -f nope; fi` by Bash (c5)
    4. [not seen] make
       run `make`: cannot be told; it was part of `make || true` by Bash (c6)
    5. [not seen] touch
       write t.txt: cannot be told; it was part of `if false; then touch t.txt; fi` by Bash (c7)
    6. [not seen] wait
       run `sleep 0`: cannot be told; Bash (c8) left it running
    ");
}

#[tokio::test]
async fn what_was_done_before_the_plan_proves_nothing() {
    let planning = Planning::with(Some(Person::saying(&["Approve"], None)), Mode::Default);
    planning.call("Write", json!({ "file_path": "b.txt", "content": "x" })).await;
    planning.call("EnterPlanMode", json!({})).await;
    planning.call("ExitPlanMode", json!({ "plan": "1. Write `b.txt`\n2. Write `c.txt`" })).await;
    planning.call("Write", json!({ "file_path": "c.txt", "content": "x" })).await;
    let result = planning.call("VerifyPlan", json!({})).await;
    insta::assert_snapshot!(result.text(), @"
    2 steps: 1 done, 0 failed, 1 not seen or only partly

    1. [not seen] Write `b.txt`
       write b.txt: no call shows it
    2. [done] Write `c.txt`
       write c.txt: Write (c4)
    ");
}

#[tokio::test]
async fn without_a_plan_there_is_nothing_to_compare() {
    let planning = Planning::with(None, Mode::Default);
    let result = planning.call("VerifyPlan", json!({})).await;
    assert!(
        result.is_error() && result.text().starts_with("there is no plan in this session"),
        "{}",
        result.text()
    );
}
