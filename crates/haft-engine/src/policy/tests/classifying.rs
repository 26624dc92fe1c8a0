//! Who judges in the person's place, and when nobody may.

use std::sync::Mutex;

use futures::FutureExt;
use haft_tool::{BoxFuture, SessionFacts};

use super::*;

fn auto(tool: &'static str, effects: Effects) -> Case {
    case(tool, effects).mode(Mode::Auto)
}

/// What the deterministic one says of a call.
#[track_caller]
fn judged(case: &Case, expected: Verdict) {
    let classifier = ByEffects::new().confined(true).home(Some("/home/u".into()));
    let record = Record::default();
    let request = case.request();
    let matter = Matter { request: &request, said: None, record: &record };
    let judgement = classifier.judge(matter).now_or_never().expect("it needs nothing");
    assert_eq!(judgement.verdict, expected, "{case:?}: {}", judgement.words);
}

fn bash(line: &str) -> Case {
    auto("Bash", runs(line))
}

#[test]
fn changes_that_can_be_taken_back_pass_inside_the_workspace() {
    judged(&auto("Edit", reads("/w/app/a.rs").and_writes("/w/app/a.rs")), ALLOW);
    judged(&auto("Write", writes("/w/app/new/b.rs")), ALLOW);
    judged(&auto("Write", writes("/w/other/b.rs")), ASK);
    judged(&auto("Write", linked(writes("/w/app/l"), "/etc/x")), ASK);
    judged(&auto("Write", writes("/w/app/.env")), ASK);
    judged(&auto("Write", writes("/w/app/deploy.key")), ASK);
    judged(&auto("Post", writes("/w/app/a").and_host("a.org", Access::Read)), ASK);
}

#[test]
fn known_builds_and_tests_pass_if_they_are_confined() {
    for line in [
        "cargo test",
        "cargo test --lib foo",
        "make",
        "make test",
        "npm test",
        "python -m pytest -q",
        "go test ./x",
    ] {
        judged(&bash(line), ALLOW);
    }
    for line in [
        "make deploy",
        "make test deploy",
        "cargo run",
        "cargo publish",
        "cargo",
        "cargo install x",
        "npm run start",
        "git push",
        "curl x",
        "cargo test --manifest-path ../x",
        "cargo build --target-dir=/tmp/x",
        "pytest /etc",
        "python x.py",
        "cargotest",
    ] {
        judged(&bash(line), ASK);
    }
    let open = ByEffects::new();
    let (case, record) = (bash("cargo test"), Record::default());
    let request = case.request();
    let judgement =
        open.judge(Matter { request: &request, said: None, record: &record }).now_or_never().unwrap();
    assert_eq!(judgement, Judgement::ask("by effects", "`cargo test` would not be confined"));
}

#[test]
fn all_parts_of_a_command_line_must_pass() {
    judged(&auto("Bash", runs("cargo test").and(runs("ls"))), ALLOW);
    judged(&auto("Bash", runs("cargo test").and(runs("git push"))), ASK);
    // A redirection may lose what was there.
    judged(&auto("Bash", runs("ls").and_writes("/w/app/a.rs")), ASK);
}

#[test]
fn reads_outside_pass_where_nothing_is_secret() {
    judged(&auto("Read", reads("/usr/include/stdio.h")), ALLOW);
    judged(&auto("Read", reads("/home/u/.cargo/registry/src/x/lib.rs")), ALLOW);
    for path in [
        "/home/u/.cargo/credentials.toml",
        "/home/u/.ssh/id_rsa",
        "/etc/shadow",
        "/home/u/notes",
        "/usr/share/x/.env",
        "/",
    ] {
        judged(&auto("Read", reads(path)), ASK);
    }
}

/// Says what it is told to, one after the other, and notes how often it was asked.
struct Scripted(Mutex<Vec<Verdict>>);

impl Classifier for Scripted {
    fn judge<'a>(&'a self, _: Matter<'a>) -> BoxFuture<'a, Judgement> {
        let verdict = self.0.lock().unwrap().pop().unwrap_or(ASK);
        Box::pin(async move { Judgement { verdict, words: "so it is".to_owned(), by: "a script".into() } })
    }
}

/// A person who counts, and says the same every time.
struct Person(Answer, Mutex<usize>);

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        *self.1.lock().unwrap() += 1;
        Box::pin(async { self.0.clone() })
    }
}

async fn ask(
    rules: &str,
    case: &Case,
    classifier: &dyn Classifier,
    person: &Person,
    record: &Record,
) -> Result<Warrant, Box<Refused>> {
    let (policy, grants, input) = (policy(rules), Grants::default(), json!({}));
    let request = case.request();
    let decision = policy.decide(&request);
    let session = SessionFacts {
        id: "s".into(),
        workspace: WORKSPACE.into(),
        cwd: WORKSPACE.into(),
        home: None,
        caller: Caller::default(),
    };
    let call = CallFacts {
        session: &session,
        mode: request.mode,
        call: &"c".into(),
        tool: request.tool,
        aliases: request.aliases,
        input: &input,
        effects: request.effects,
        decision: &decision,
    };
    let asking = Asking {
        policy: &policy,
        grants: &grants,
        classifier: Some(classifier),
        record,
        said: None,
        asker: person,
        preview: &|| Box::pin(async { None }),
        keeper: None,
        add: &|_| Ok(()),
    };
    let permit =
        super::super::ask(Question::new(call, "does it"), &request, &asking, &CancellationToken::new()).await;
    permit.map(|permit| permit.warrant())
}

fn person() -> Person {
    Person(Answer::Once, Mutex::new(0))
}

#[tokio::test]
async fn in_auto_mode_a_classifier_answers_before_the_person() {
    let (person, record) = (person(), Record::default());
    let script = Scripted(Mutex::new(vec![ASK, DENY, ALLOW]));
    let edit = auto("Edit", writes("/w/app/a"));
    assert_eq!(ask("", &edit, &script, &person, &record).await.unwrap(), Warrant::Classifier);
    let refused = ask("", &edit, &script, &person, &record).await.unwrap_err();
    assert_eq!(refused.fault.refusal(), Some(Refusal::Classifier));
    assert_eq!(*person.1.lock().unwrap(), 0);
    assert_eq!(ask("", &edit, &script, &person, &record).await.unwrap(), Warrant::Once);
    assert_eq!(*person.1.lock().unwrap(), 1);
}

#[tokio::test]
async fn no_classifier_is_asked_what_is_a_persons_to_say() {
    for (rules, case) in [
        ("", case("Edit", writes("/w/app/a"))),
        ("ask Edit", auto("Edit", writes("/w/app/a"))),
        ("", auto("Edit", writes("/w/app/.git/config"))),
        ("", auto("Any", Effects::unknown())),
        ("deny Read(x); allow Bash", auto("Bash", Effects::unknown())),
        ("", auto("mcp__a__b", writes("/w/app/a")).external()),
        ("", auto("Bash", runs("rm x"))),
        ("", auto("ApplyPatch", writes("/w/app/a").irreversible())),
    ] {
        let (person, script) = (person(), Scripted(Mutex::new(vec![ALLOW])));
        assert_eq!(
            ask(rules, &case, &script, &person, &Record::default()).await.unwrap(),
            Warrant::Once,
            "{case:?}"
        );
        assert_eq!(script.0.lock().unwrap().len(), 1, "{case:?}");
    }
}

#[tokio::test]
async fn after_three_denials_in_a_row_the_person_is_asked() {
    let (person, record, script) = (person(), Record::default(), Scripted(Mutex::new(vec![DENY; 100])));
    let edit = auto("Edit", writes("/w/app/a"));
    let mut asked = Vec::new();
    for _ in 0..40 {
        asked.push(ask("", &edit, &script, &person, &record).await.is_ok());
    }
    assert_eq!(asked[..8], [false, false, false, true, false, false, false, true]);
    // Twenty in all, and it is not asked any more.
    assert_eq!(asked.iter().filter(|asked| !**asked).count(), 20);
    assert!(asked[30..].iter().all(|asked| *asked));
}
