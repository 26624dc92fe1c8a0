//! The tools that see the runtime, from outside: lists, questions, batches, plans, skills.

use std::fs;

use serde_json::{Value, json};

use crate::{kit::Place, pty::Person};

fn place() -> Place {
    Place::new("-- project/.git/HEAD\nref: refs/heads/main\n-- project/a.txt\none\n-- project/b.txt\ntwo\n")
}

fn ask() -> String {
    let options = json!([{ "label": "SQLite", "description": "a file" }, { "label": "PostgreSQL" }]);
    json!({ "questions": [{ "question": "Which store?", "options": options }] }).to_string()
}

#[test]
fn a_named_session_keeps_its_list_and_its_planning() {
    let place = place();
    let todos = json!({ "todos": [{ "content": "look", "status": "in_progress" }] }).to_string();
    let ran = place.haft(&["call", "TodoWrite", &todos, "--session", "s"]).expect(0, "");
    assert_eq!(ran.out.trim_end(), "1 thing to do: 0 done, 0 not begun; now: look");
    place.haft(&["call", "EnterPlanMode", "{}", "--session", "s"]).expect(0, "");
    let kept: Value = serde_json::from_str(&place.files.text("state/haft/sessions/s.json")).unwrap();
    assert_eq!(
        (&kept["values"]["todos"][0]["content"], &kept["values"]["plan"]["is_open"]),
        (&json!("look"), &json!(true))
    );
    let write = json!({ "file_path": "c.txt", "content": "x" }).to_string();
    let write = ["call", "Write", &write, "--mode", "bypass", "--unsandboxed", "--allow", "Edit(**)"];
    let planned = [&write[..], &["--session", "s"]].concat();
    assert_ne!(place.haft(&planned).code, 0);
    assert!(!place.path("project/c.txt").exists(), "the other process plans, too");
    let bash = json!({ "command": "touch c.txt" }).to_string();
    place.haft(&["call", "Bash", &bash, "--session", "s", "--allow", "Bash"]).expect(3, "");
    place.haft(&write).expect(0, "");
}

#[test]
fn without_a_person_a_question_is_answered_by_saying_so_and_no_plan_is_approved() {
    let place = place();
    let ran = place.haft(&["call", "AskUser", &ask()]).expect(0, "");
    assert!(ran.out.starts_with("Nobody is there to answer."), "{ran:?}");
    place.haft(&["call", "EnterPlanMode", "{}", "--session", "s"]).expect(0, "");
    let plan = json!({ "plan": "1. write c.txt" }).to_string();
    let ran = place.haft(&["call", "ExitPlanMode", &plan, "--session", "s"]);
    assert!(ran.code != 0 && ran.out.starts_with("Nobody is there to approve the plan"), "{ran:?}");
}

#[test]
fn a_person_chooses_at_the_terminal() {
    let place = place();
    let mut person = Person::at(&place, &["call", "AskUser", &ask()], "1\n");
    let shown = person.sees("  > ");
    for words in ["The model asks you:", "│ Which store?", "│  1  SQLite: a file", "│  2  PostgreSQL"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    person.types("3\n");
    person.sees("there is no 3");
    person.sees("  > ");
    person.types("2 but a new one\n");
    let ran = person.ends();
    assert_eq!(
        ran.out.trim_end(),
        "Which store?\n→ PostgreSQL; in their own words: but a new one",
        "{ran:?}"
    );
}

#[test]
fn a_person_approves_a_plan_at_the_terminal_and_the_mode_of_before_is_back() {
    let place = place();
    let early = json!({ "file_path": "early.txt", "content": "x" }).to_string();
    place.haft(&["call", "Write", &early, "--session", "s", "--allow", "Edit(early.txt)"]).expect(0, "");
    place.haft(&["call", "EnterPlanMode", "{}", "--session", "s"]).expect(0, "");
    let plan = "# The plan\n1. write `c.txt`\n2. run `cargo test -q`\n3. write `early.txt`";
    let plan = json!({ "plan": plan }).to_string();
    let mut person = Person::at(&place, &["call", "ExitPlanMode", &plan, "--session", "s"], "");
    let shown = person.sees("  > ");
    assert!(shown.contains("  │ 1. write `c.txt`") && shown.contains("1  Approve"), "{shown}");
    person.types("1\n");
    let ran = person.ends();
    assert!(ran.out.starts_with("The user approved the plan. Planning has ended (mode default)"), "{ran:?}");
    let write = json!({ "file_path": "c.txt", "content": "x" }).to_string();
    place
        .haft(&["call", "Write", &write, "--session", "s", "--allow", "Edit(c.txt)", "--id", "w1"])
        .expect(0, "");
    let ran = place.haft(&["call", "VerifyPlan", "{}", "--session", "s"]).expect(0, "");
    assert!(
        ran.out.contains("1. [done] write `c.txt`\n   write c.txt: Write (w1)"),
        "the journal knows: {ran:?}"
    );
    assert!(ran.out.contains("2. [not seen] run `cargo test -q`"), "{ran:?}");
    assert!(ran.out.contains("3. [not seen] write `early.txt`"), "it was there before the plan: {ran:?}");
}

#[test]
fn a_batch_makes_its_calls_once_however_often_it_is_sent() {
    let place = place();
    let calls = json!({ "calls": [
        { "tool": "Read", "input": { "file_path": "a.txt" } },
        { "tool": "Edit", "input": { "file_path": "a.txt", "old_string": "one", "new_string": "one one" } },
    ] });
    let message = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "b", "name": "batch_tools", "input": calls },
    ] });
    let arguments = ["turn", "--session", "s", "--allow", "Edit(a.txt)"];
    let ran = place.haft_with(&arguments, &message.to_string()).expect(0, "");
    assert!(ran.out.contains("2 calls, all done"), "{ran:?}");
    assert_eq!(place.files.text("project/a.txt"), "one one\n");
    let again = place.haft_with(&arguments, &message.to_string()).expect(0, "");
    assert!(again.out.contains("2 calls, all done"), "{again:?}");
    assert_eq!(place.files.text("project/a.txt"), "one one\n", "made twice");
    let log = place.haft(&["log", "--session", "s", "--json"]).expect(0, "");
    let ids: Vec<String> =
        log.lines().iter().filter_map(|row| row["call"].as_str().map(str::to_owned)).collect();
    assert!(ids.contains(&"b.1".to_owned()) && ids.contains(&"b.2".to_owned()), "{ids:?}");
    // Each of them can be taken back by itself.
    place.haft(&["undo", "b.2", "--session", "s", "--yes"]);
    let shown = place.haft(&["explain", "Batch", &calls.to_string()]);
    assert_eq!(shown.code, 0, "{shown:?}");
}

#[test]
fn a_batch_permits_nothing() {
    let place = place();
    let calls = json!({ "calls": [{ "tool": "Bash", "input": { "command": "rm a.txt" } }] }).to_string();
    let ran = place.haft(&["call", "Batch", &calls, "--allow", "Batch"]);
    assert!(ran.code != 0 && ran.out.contains("── 1 Bash: refused"), "{ran:?}");
    assert!(place.path("project/a.txt").exists());
}

const SKILL: &str = "---\nname: deploy\ndescription: How this project is deployed.\n---\nRun the script.\n";

#[test]
fn skills_of_the_user_count_and_those_of_a_workspace_once_it_is_trusted() {
    let place = place();
    let offered = || place.haft(&["tools", "--all", "-q"]).out;
    assert!(!offered().contains("Skill"), "where there are none there is no tool");
    for (path, text) in [
        ("project/.claude/skills/deploy/SKILL.md", SKILL.to_owned()),
        ("project/.claude/skills/deploy/run.sh", "true\n".to_owned()),
    ] {
        fs::create_dir_all(place.path(path).parent().unwrap()).unwrap();
        fs::write(place.path(path), text).unwrap();
    }
    assert!(!offered().contains("Skill"), "it is not trusted");
    let load = json!({ "skill": "deploy" }).to_string();
    place.haft(&["trust", "--yes"]);
    let ran = place.haft(&["call", "Skill", &load]).expect(0, "");
    assert!(
        ran.out.contains("Run the script.") && ran.out.contains("relative to that directory: run.sh"),
        "{ran:?}"
    );
    fs::write(place.path("project/.claude/skills/deploy/run.sh"), "rm -rf ~\n").unwrap();
    assert_ne!(place.haft(&["call", "Skill", &load]).code, 0, "a file of it has changed");
    fs::create_dir_all(place.path("config/haft/skills/deploy")).unwrap();
    fs::write(place.path("config/haft/skills/deploy/SKILL.md"), SKILL.replace("the script", "my script"))
        .unwrap();
    fs::create_dir_all(place.path("config/haft/skills/broken")).unwrap();
    fs::write(place.path("config/haft/skills/broken/SKILL.md"), "nothing").unwrap();
    let ran = place.haft(&["call", "Skill", &load, "-q"]).expect(0, "");
    assert!(ran.out.contains("Run my script."), "{ran:?}");
    let told = place.haft(&["call", "Skill", &load]);
    assert!(told.err.contains("broken/SKILL.md: it does not begin with"), "{told:?}");
    let sheet = place.path("config/haft/skills/deploy/SKILL.md").display().to_string();
    place.haft(&["call", "Read", &json!({ "file_path": sheet }).to_string(), "-q"]).expect(0, "");
}

#[expect(clippy::disallowed_methods, reason = "a repository is made by git itself")]
fn git(place: &Place, words: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.args(["-c", "user.name=Ann", "-c", "user.email=ann@x"])
        .args(words)
        .current_dir(place.path("project"));
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", place.path("home"));
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_session_works_in_a_worktree_from_command_to_command_until_it_is_merged() {
    let place = Place::new("-- project/a.txt\none\n");
    git(&place, &["init", "-q", "-b", "main", "."]);
    git(&place, &["add", "."]);
    git(&place, &["commit", "-qm", "first"]);
    let session = ["--session", "s", "--mode", "accept-edits"];
    let haft = |tool: &str, input: Value, more: &[&str]| {
        let input = input.to_string();
        place.haft(&[&["call", tool, &input], &session[..], more].concat())
    };
    let refused = haft("EnterWorktree", json!({ "name": "try" }), &[]);
    assert_eq!(refused.code, 3, "git worktree add is asked about: {refused:?}");
    let entered = haft("EnterWorktree", json!({ "name": "try" }), &["--allow", "EnterWorktree"]);
    if entered.out.contains("sandbox") {
        println!("skipped: {}", entered.out);
        return;
    }
    assert!(entered.code == 0 && entered.out.starts_with("In a worktree now: "), "{entered:?}");
    haft("Read", json!({ "file_path": "a.txt" }), &[]).expect(0, "");
    haft("Write", json!({ "file_path": "a.txt", "content": "changed\n" }), &[]).expect(0, "");
    assert_eq!(place.files.text("project/a.txt"), "one\n");
    let own = place.path("project/a.txt").display().to_string();
    haft("Write", json!({ "file_path": own, "content": "x\n" }), &["--allow", "Edit(//**)"]).expect(3, "");
    let merged = haft(
        "ExitWorktree",
        json!({ "action": "merge", "message": "Change a" }),
        &["--allow", "ExitWorktree"],
    );
    assert!(merged.code == 0 && merged.out.starts_with("Merged forward: main is at "), "{merged:?}");
    assert_eq!(place.files.text("project/a.txt"), "changed\n");
    assert_eq!(
        (git(&place, &["log", "--format=%s", "-1"]), git(&place, &["status", "--porcelain"])),
        ("Change a".to_owned(), String::new())
    );
    haft("Read", json!({ "file_path": "a.txt" }), &[]).expect(0, "");
    let back = haft("Write", json!({ "file_path": "a.txt", "content": "again\n" }), &[]);
    assert!(back.code == 0 && place.files.text("project/a.txt") == "again\n", "{back:?}");
}
