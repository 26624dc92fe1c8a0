//! What a model reads when a call may not run: the kind and the reason, then what it may do instead.

use std::path::Path;

use haft_engine::{
    EngineBuilder, SessionOptions,
    policy::{
        Answer, Asker, Bases, CallFacts, Classifier, Judgement, Matter, Mode, Origin, Policy, Question,
        Request, Rules, Said, Verdict, Written,
    },
    turn::Hook,
};
use haft_testkit::Workspace;
use haft_tool::{BoxFuture, Caller, Effects, Fault, Refusal, Reply, Spec, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::kit::call;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

struct Person;

impl Asker for Person {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::No(Some("first look\nat the tests".to_owned())) })
    }
}

struct Stern;

impl Classifier for Stern {
    fn judge<'a>(&'a self, _: Matter<'a>) -> BoxFuture<'a, Judgement> {
        Box::pin(async { Judgement::deny("house rules", "nobody asked\nfor that") })
    }
}

struct Guard;

impl Hook for Guard {
    fn before<'a>(&'a self, _: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        Box::pin(async { vec![Said::verdict("office", Verdict::Deny, "not on Fridays\nsays the office")] })
    }
}

/// A tool that does this, as far as it says, and answers so.
fn doing(effects: Effects, answer: fn() -> Result<Reply, Fault>) -> haft_tool::SharedTool {
    tool("Bash")
        .effects(move |_: &Nothing| effects.clone())
        .call(move |_: Nothing, _| async move { answer() })
}

fn ran() -> Result<Reply, Fault> {
    Ok(Reply::text("ran"))
}

fn deny_with_a_reason() -> Rules {
    let reason = Some("releases are cut by hand;\nask the release team".to_owned());
    let rule = Written { reason, ..Written::new("Edit(//elsewhere/**)", Origin::Flag) };
    Rules { deny: vec![rule], ..Rules::default() }
}

/// What becomes of one call on such an engine: its kind as JSON has it, and what the model reads.
async fn told(workspace: &Workspace, engine: EngineBuilder, mode: Mode) -> String {
    let engine = engine.build().unwrap();
    let session = engine.session(SessionOptions { mode, ..SessionOptions::at(workspace.root()) }).unwrap();
    let result = session.call(call("1", "Bash", json!({}))).await;
    let refusal = result.fault.and_then(|fault| fault.refusal).expect("a refusal");
    shown(&(refusal, result.text().replace(&workspace.root().display().to_string(), "/w")))
}

fn shown((refusal, text): &(Refusal, String)) -> String {
    assert_eq!(text.split('\n').filter(|line| !line.is_empty()).count(), 2, "{refusal:?}: {text}");
    let kind = serde_json::to_value(refusal).unwrap();
    format!("{}\n  {}", kind.as_str().unwrap(), text.replace('\n', "\n  "))
}

/// The pool does not show such a tool to others; who calls it all the same is told this.
fn for_owners(workspace: &Workspace) -> (Refusal, String) {
    let bases = Bases { workspace: workspace.root().to_owned(), home: None };
    let request = Request {
        tool: "Bash",
        aliases: &[],
        spec: &Spec::new("Bash").roles(&["owner"]),
        effects: &Effects::none(),
        mode: Mode::Default,
        workspace: workspace.root(),
        code_places: &[],
        caller: &Caller::default(),
        read_only: false,
        external: false,
    };
    let fault = Policy::compile(Rules::default(), &bases).unwrap().decide(&request).fault(&request);
    (fault.refusal().unwrap(), fault.message().to_owned())
}

#[tokio::test]
async fn every_refusal_is_two_lines_who_and_why_and_what_instead() {
    let workspace = Workspace::new("");
    let here = || haft_testkit::engine(&workspace);
    let writes = || Effects::writes("/elsewhere/a");
    let hook = workspace.root().join(".git/hooks/pre-commit");
    let sandbox = || {
        Err(Fault::denied(Refusal::Sandbox, "there is no sandbox for this: no namespaces; nothing was run"))
    };
    let held = || {
        Err(Fault::denied(
            Refusal::Quarantine,
            "The definition of this tool has changed since it was approved.",
        ))
    };
    let reaching = tool("Bash").effects(|_: &Nothing| Effects::none()).call(|_: Nothing, cx| async move {
        let files = cx.files();
        cx.blocking(move || files.open(Path::new("/etc/hostname"))).await.map(|_| Reply::text("read"))
    });
    let cases = [
        told(&workspace, here().rules(deny_with_a_reason()).tool(doing(writes(), ran)), Mode::Default).await,
        told(&workspace, here().tool(doing(writes(), ran)), Mode::Plan).await,
        told(&workspace, here().tool(doing(writes(), ran)), Mode::DontAsk).await,
        told(&workspace, here().hook(Guard).tool(doing(Effects::none(), ran)), Mode::Default).await,
        told(&workspace, here().classifier(Stern).tool(doing(writes(), ran)), Mode::Auto).await,
        told(&workspace, here().asker(Person).tool(doing(writes(), ran)), Mode::Default).await,
        told(&workspace, here().tool(doing(writes(), ran)), Mode::Default).await,
        told(&workspace, here().tool(doing(Effects::none(), sandbox)), Mode::Default).await,
        told(&workspace, here().tool(reaching), Mode::Default).await,
        told(&workspace, here().tool(doing(Effects::fetches("127.0.0.1"), ran)), Mode::Default).await,
        told(&workspace, here().tool(doing(Effects::writes(hook), ran)), Mode::DontAsk).await,
        told(&workspace, here().tool(doing(Effects::none(), held)), Mode::Default).await,
        shown(&for_owners(&workspace)),
    ];
    insta::assert_snapshot!(cases.join("\n"), @r#"
    rule
      Denied by a rule: deny rule `Edit(//elsewhere/**)` (command line) covers it: writes /elsewhere/a. The rule says: releases are cut by hand; ask the release team
      Do not try to reach the same in another way: go on without it, or tell the user what you need and why.
    mode
      Refused by plan mode, which permits only what changes nothing: writes /elsewhere/a.
      Read, search and plan; the change can be made once plan mode has ended.
    mode
      Refused because dont-ask mode asks nobody, and this would be asked: writes /elsewhere/a, and no rule allows it.
      Go on without it, or tell the user that `--allow 'Edit(//elsewhere/a)'` would permit it.
    hook
      Refused: the hook `office` refuses it: not on Fridays says the office.
      Do what it says, or go on without this call; do not try to reach the same in another way.
    classifier
      Refused by the classifier of auto mode (house rules): nobody asked for that
      Take a more careful way to what the user asked for, or tell the user what you need and why.
    person
      The user refused this call and said: first look at the tests
      Do not try the same again, nor reach it in another way: do what the user said, or ask what to do instead.
    nobody_there
      Nobody is there to be asked, and this must be asked: writes /elsewhere/a, and no rule allows it.
      Go on without it, or tell the user that `--allow 'Edit(//elsewhere/a)'` would permit it.
    sandbox
      there is no sandbox for this: no namespaces; nothing was run
      Go on without it, or tell the user what you need to run and that the sandbox is in the way.
    boundary
      /etc/hostname is not what this call was permitted to touch.
      Name what you need in the call itself, so that it can be permitted, or go on without it.
    boundary
      Refused: fetches from 127.0.0.1, an address of a machine or a private network; only a rule that names this very host permits that.
      Do not try to reach the same in another way: go on without it, or tell the user what you need and why.
    protected
      Refused because dont-ask mode asks nobody, and this would be asked: writes /w/.git/hooks/pre-commit, where version control keeps hooks and settings that run programs; only a rule that names it permits that.
      Go on without it, or tell the user what you need and why.
    quarantine
      The definition of this tool has changed since it was approved.
      Use another tool, or tell the user that this one waits for their approval.
    role
      Not permitted to this caller: it is for the roles owner, of which the caller has none.
      Do not try to reach the same in another way: go on without it, or tell the user what you need and why.
    "#);
}
