//! `haft run` with sub-agents: definitions from files, what the journal knows of them, and a crash in the middle.

use std::time::Duration;

use haft_testkit::{Recorded, Script, Turn};
use serde_json::{Value, json};

use crate::{
    kit::Place,
    run::{Model, wait_until},
};

const REVIEWER: &str = "---\nname: reviewer\ndescription: Reviews.\ntools: Read\n---\nBe thorough.\n";

fn place() -> Place {
    Place::new("-- project/a.txt\none\n-- project/.git/HEAD\nx\n")
}

/// What the first message of the person says: whose conversation a request is of.
fn whose(request: &Recorded) -> String {
    let first = &request.body["messages"][0]["content"];
    first.as_str().or_else(|| first[0]["text"].as_str()).unwrap_or_default().to_owned()
}

fn delegate(agent: &str) -> Value {
    json!({ "prompt": "REVIEW", "agent": agent, "description": "review it" })
}

/// The parent delegates to this agent and is done; a sub-agent reads a file and answers.
fn delegating(agent: &'static str) -> Script {
    Script::new(move |request| {
        let is_first = request.body["messages"].as_array().is_some_and(|messages| messages.len() == 1);
        match (whose(request).as_str(), is_first) {
            ("REVIEW", true) => Turn::new().call("Read", json!({ "file_path": "a.txt" })),
            ("REVIEW", false) => Turn::new().text("It says one."),
            (_, true) => Turn::new().call("Delegate", delegate(agent)),
            (_, false) => Turn::new().text("Done."),
        }
    })
}

fn of_sub_agent(model: &Model) -> Vec<Recorded> {
    model.requests().into_iter().filter(|request| whose(request) == "REVIEW").collect()
}

#[test]
fn agents_are_defined_by_the_user_and_by_a_trusted_workspace() {
    for (path, flags) in [
        ("config/haft/agents/reviewer.md", &[][..]),
        ("project/.haft/agents/reviewer.md", &["--trust"]),
        ("project/.claude/agents/reviewer.md", &["--trust"]),
    ] {
        let place = place();
        place.files.write(path, REVIEWER.as_bytes());
        let model = Model::new(delegating("reviewer"));
        let ran = model.run(&place, &[&["Go"], flags].concat());
        assert_eq!((ran.code, ran.out.as_str()), (0, "Done.\n"), "{path}: {ran:?}");
        let requests = of_sub_agent(&model);
        let system = requests[0].body["system"].to_string();
        assert!(
            system.contains("Be thorough.") && system.contains("You are a sub-agent"),
            "{path}: {system}"
        );
        assert!(requests[1].text.contains("one"), "{path}");
    }
}

#[test]
fn what_a_run_used_and_cost_includes_its_sub_agents() {
    let place = place();
    place.files.write("config/haft/haft.toml", b"model.price.output = 1000000\n");
    let model = Model::new(delegating("explore"));
    let said = model.run(&place, &["Go", "--output", "json", "-q"]).expect(0, "").json();
    assert_eq!((&said["turns"], model.requests().len()), (&json!(2), 4));
    assert_eq!((&said["usage"]["output"], &said["cost"]), (&json!(80), &json!(80.0)));
}

#[test]
fn a_sub_agent_may_write_so_many_tokens() {
    let place = place();
    place.files.write("config/haft/haft.toml", b"delegate.run_tokens = 20\n");
    let model = Model::new(delegating("explore"));
    model.run(&place, &["Go", "-q"]).expect(0, "");
    assert_eq!(of_sub_agent(&model).len(), 1);
    let told = model.requests().pop().unwrap().text;
    assert!(told.contains("its model has written as much as it may"), "{told}");
}

#[test]
fn what_an_untrusted_workspace_defines_is_not_there() {
    let place = place();
    place.files.write("project/.haft/agents/reviewer.md", REVIEWER.as_bytes());
    let model = Model::new(delegating("reviewer"));
    let ran = model.run(&place, &["Go"]);
    assert!(ran.err.contains("not trusted yet"), "{ran:?}");
    assert!(of_sub_agent(&model).is_empty());
    let told = model.requests().pop().unwrap().text;
    assert!(told.contains("there is no agent `reviewer`; there are explore, general"), "{told}");
}

#[test]
fn a_definition_that_cannot_be_used_is_told_with_file_and_line() {
    let place = place();
    place.files.write("config/haft/agents/bad.md", b"---\ndescription: x\ntools: Bash(git:*)\n---\n");
    let model = Model::new(["Hi."]);
    let ran = model.run(&place, &["Go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("agents/bad.md:3: `Bash(git:*)` is a rule for calls"), "{ran:?}");
}

#[test]
fn two_of_one_name_and_tools_that_are_not_there_are_told() {
    let place = place();
    let text = |tools: &str| format!("---\nname: r\ndescription: Use it so: now\ntools: {tools}\n---\nx\n");
    place.files.write("config/haft/agents/a.md", text("Read, Grpe, mcp__x__y, readonly").as_bytes());
    place.files.write("config/haft/agents/b.md", text("Read").as_bytes());
    let ran = Model::new(["Hi."]).run(&place, &["Go"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("agents/a.md is named `r`, too; this agent is left out"), "{ran:?}");
    assert!(ran.err.contains("agent r: there is no tool `Grpe`; did you mean Grep?"), "{ran:?}");
    assert_eq!(ran.err.matches("there is no tool").count(), 1, "{ran:?}");
}

#[test]
fn what_a_sub_agent_does_is_in_the_journal_below_its_parent() {
    let place = place();
    let model = Model::new(delegating("general"));
    model.run(&place, &["Go", "--session", "mine", "-q"]).expect(0, "");
    let calls = place.haft(&["log", "--json"]).expect(0, "").lines();
    let sessions: Vec<(&str, &str)> = calls
        .iter()
        .map(|call| (call["session"].as_str().unwrap(), call["tool"].as_str().unwrap()))
        .collect();
    let below = sessions.iter().find(|(_, tool)| *tool == "Read").unwrap().0;
    assert!(below.starts_with("mine-"), "{sessions:?}");
    assert!(sessions.contains(&("mine", "Delegate")), "{sessions:?}");
}

#[test]
fn what_a_sub_agent_changed_is_taken_back_with_what_its_parent_did() {
    for name in ["mine", "mine/toolu_1"] {
        let place = place();
        let model = Model::new(Script::new(|request| {
            let is_first = request.body["messages"].as_array().is_some_and(|messages| messages.len() == 1);
            match (whose(request).as_str(), is_first) {
                ("REVIEW", true) => {
                    Turn::new().call("Write", json!({ "file_path": "new.txt", "content": "x" }))
                }
                (_, true) => Turn::new().call("Delegate", delegate("general")),
                _ => Turn::new().text("Done."),
            }
        }));
        model.run(&place, &["Go", "--session", "mine", "--mode", "accept-edits", "-q"]).expect(0, "");
        assert!(place.path("project/new.txt").exists());
        let ran = place.haft(&["undo", name, "--yes"]);
        assert!(ran.code == 0 && !place.path("project/new.txt").exists(), "{name}: {ran:?}");
        place.haft(&["undo", "--redo", "--yes"]);
        assert!(place.path("project/new.txt").exists(), "{name}");
    }
}

#[test]
fn a_sub_agent_that_had_answered_is_not_begun_again_after_a_crash() {
    let place = place();
    let model = Model::new(Script::new(|request| match whose(request).as_str() {
        "REVIEW" => Turn::new().text("All is well."),
        _ if request.body["messages"].as_array().is_some_and(|messages| messages.len() == 1) => Turn::new()
            .call("Delegate", delegate("general"))
            .call("Bash", json!({ "command": "touch began; sleep 86424.5" })),
        _ => Turn::new().text("I see."),
    }));
    let mut child = model.spawn(&place, &["Go", "--session", "late", "--allow", "Bash"]);
    wait_until("the command", || place.path("project/began").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = model.run(&place, &["--resume", "late", "--allow", "Bash"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "I see.\n"), "{ran:?}");
    assert_eq!(of_sub_agent(&model).len(), 1);
    assert!(model.requests().pop().unwrap().text.contains("All is well."));
}

#[test]
fn a_sub_agent_that_was_cut_off_is_not_begun_a_second_time() {
    let place = place();
    let model = Model::new(Script::new(|request| match whose(request).as_str() {
        "REVIEW" => Turn::new().pause(Duration::from_secs(60)).text("late"),
        _ if request.body["messages"].as_array().is_some_and(|messages| messages.len() == 1) => {
            Turn::new().call("Delegate", delegate("general"))
        }
        _ => Turn::new().text("I see."),
    }));
    let mut child = model.spawn(&place, &["Go", "--session", "cut"]);
    wait_until("the sub-agent", || !of_sub_agent(&model).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = model.run(&place, &["--resume", "cut"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "I see.\n"), "{ran:?}");
    assert_eq!(of_sub_agent(&model).len(), 1);
    let told = model.requests().pop().unwrap().text;
    assert!(told.contains("Delegate was interrupted when this call was first made"), "{told}");
}
