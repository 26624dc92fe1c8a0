//! Who is asked, and what becomes of the answer.

use std::sync::atomic::{AtomicUsize, Ordering};

use haft_tool::{BoxFuture, SessionFacts};
use serde_json::Value;

use super::*;

/// Answers always the same, and counts.
struct Says(Answer, AtomicUsize);

impl Asker for Says {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { self.0.clone() })
    }
}

fn says(answer: Answer) -> Says {
    Says(answer, AtomicUsize::new(0))
}

/// What the pipeline does: settles what can be, and asks about the rest.
async fn permit(
    policy: &Policy,
    grants: &Grants,
    asker: &dyn Asker,
    input: &Value,
    case: &Case,
    cancel: &CancellationToken,
) -> Result<Permit, Box<Refused>> {
    let request = case.request();
    let decision = match settle(policy, grants, input, &request) {
        Settled::Permitted(permit) => return Ok(permit),
        Settled::Refused(refused) => return Err(refused),
        Settled::Open(decision) => decision,
    };
    let session = SessionFacts {
        id: "s".into(),
        workspace: "/w/app".into(),
        cwd: "/w/app".into(),
        home: None,
        caller: Caller::default(),
    };
    let call = CallFacts {
        session: &session,
        mode: request.mode,
        call: &"c".into(),
        tool: request.tool,
        aliases: request.aliases,
        input,
        effects: request.effects,
        decision: &decision,
    };
    let record = Record::default();
    let asking = Asking {
        policy,
        grants,
        classifier: None,
        record: &record,
        said: None,
        asker,
        preview: &|| Box::pin(async { None }),
        keeper: None,
        add: &|_| Ok(()),
    };
    super::super::ask(Question::new(call, "edits a file"), &request, &asking, cancel).await
}

async fn ask(asker: &dyn Asker, grants: &Grants, case: &Case) -> Result<Warrant, Box<Refused>> {
    let (rules, input, cancel) = (policy("deny Bash"), json!({ "n": 1 }), CancellationToken::new());
    permit(&rules, grants, asker, &input, case, &cancel).await.map(|permit| permit.warrant())
}

#[tokio::test]
async fn nobody_is_asked_where_the_policy_decides() {
    let asker = says(Answer::Once);
    let grants = Grants::default();
    assert_eq!(ask(&asker, &grants, &case("Add", Effects::none())).await.unwrap(), Warrant::Policy);
    let refused = ask(&asker, &grants, &case("Bash", Effects::none())).await.unwrap_err();
    assert_eq!(refused.fault.refusal(), Some(Refusal::Rule));
    assert_eq!(asker.1.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_grant_for_the_session_covers_the_same_and_nothing_else() {
    let (yes, grants) = (says(Answer::Session), Grants::default());
    let edit = |path| case("Edit", writes(path));
    assert_eq!(ask(&yes, &grants, &edit("/w/app/a")).await.unwrap(), Warrant::Session);
    assert_eq!(ask(&Nobody, &grants, &edit("/w/app/a")).await.unwrap(), Warrant::Granted);
    let refused = ask(&Nobody, &grants, &edit("/w/app/b")).await.unwrap_err();
    assert_eq!(refused.fault.refusal(), Some(Refusal::NobodyThere));
    let refused =
        ask(&Nobody, &grants, &case("Edit", linked(writes("/w/app/a"), "/etc/x"))).await.unwrap_err();
    assert_eq!(refused.fault.refusal(), Some(Refusal::NobodyThere));
}

#[tokio::test]
async fn where_the_effects_say_nothing_a_grant_is_for_the_input() {
    let grants = Grants::default();
    let unknown = case("Any", Effects::unknown());
    assert_eq!(ask(&says(Answer::Session), &grants, &unknown).await.unwrap(), Warrant::Session);
    assert_eq!(ask(&Nobody, &grants, &unknown).await.unwrap(), Warrant::Granted);
    let (other, cancel) = (json!({ "n": 2 }), CancellationToken::new());
    assert!(permit(&policy(""), &grants, &Nobody, &other, &unknown, &cancel).await.is_err());
}

#[tokio::test]
async fn a_persons_no_is_told_with_its_reason() {
    let no = says(Answer::No(Some("use the other file".to_owned())));
    let refused = ask(&no, &Grants::default(), &case("Edit", writes("/w/app/a"))).await.unwrap_err();
    assert_eq!(refused.fault.refusal(), Some(Refusal::Person));
    assert!(refused.fault.message().starts_with("The user refused this call and said: use the other file\n"));
    assert_eq!(refused.decision.verdict, ASK);
}

#[tokio::test]
async fn a_cancelled_question_is_a_cancelled_call() {
    struct Silent;
    impl Asker for Silent {
        fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
            Box::pin(std::future::pending())
        }
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    let edit = case("Edit", writes("/w/app/a"));
    let input = json!({});
    for asker in [&Silent as &dyn Asker, &says(Answer::Once)] {
        let refused =
            permit(&policy(""), &Grants::default(), asker, &input, &edit, &cancel).await.unwrap_err();
        assert_eq!(refused.fault.kind(), FaultKind::Cancelled);
    }
}
