//! Asking a person at a terminal.

use std::fs;

use serde_json::{Value, json};

use crate::{kit::Place, pty::Person};

const PROMPT: &str = "or `n` and a reason: ";

fn place() -> Place {
    Place::new("-- project/.git/HEAD\nref: refs/heads/main\n-- project/old.txt\nold\n")
}

fn write(path: &str) -> String {
    json!({ "file_path": path, "content": "one\ntwo\n" }).to_string()
}

/// A message with these calls, in a file.
fn message(place: &Place, calls: &[(&str, Value)]) -> String {
    let block = |(index, (tool, input)): (usize, &(&str, Value))| json!({ "type": "tool_use", "id": format!("c{index}"), "name": tool, "input": input });
    let blocks: Vec<Value> = calls.iter().enumerate().map(block).collect();
    let path = place.path("message.json");
    fs::write(&path, json!({ "role": "assistant", "content": blocks }).to_string()).unwrap();
    path.display().to_string()
}

#[test]
fn the_person_sees_what_why_and_the_change_and_says_yes() {
    let place = place();
    let mut person = Person::at(&place, &["call", "Write", &write("new.txt")], "");
    let shown = person.sees(PROMPT).replace(&place.files.root().display().to_string(), "/R");
    for words in [
        "Write: Write /R/project/new.txt (2 lines)",
        "does    reads /R/project/new.txt, writes /R/project/new.txt",
        "why     ask: writes /R/project/new.txt, and no rule allows it",
        "always  allows Edit(//R/project/new.txt) in every workspace; written to /R/config/haft/haft.toml",
        "  │ +one\r\n  │ +two",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    person.types("what?\n");
    person.sees(PROMPT);
    person.types("y\n");
    let ran = person.ends();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(place.files.text("project/new.txt"), "one\ntwo\n");
    assert!(!place.path("config/haft/haft.toml").exists());
}

#[test]
fn an_ask_rule_is_shown_with_its_place_and_nothing_is_offered_for_always() {
    let place = place();
    let mut person = Person::at(&place, &["call", "Write", &write("new.txt"), "--ask", "Edit(*.txt)"], "");
    let shown = person.sees(PROMPT);
    assert!(shown.contains("rule    Edit(*.txt) (command line, layer global)"), "{shown}");
    assert!(!shown.contains("lways"), "{shown}");
    person.types("always\n");
    person.sees(PROMPT);
    person.types("n\n");
    assert_eq!(person.ends().code, 3);
}

#[test]
fn no_is_told_to_the_model_with_its_reason() {
    let place = place();
    let mut person = Person::at(&place, &["call", "Write", &write("new.txt")], "");
    person.sees(PROMPT);
    person.types("n put it into docs/\n");
    let ran = person.ends();
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.out.starts_with("The user refused this call and said: put it into docs/\nDo not try"),
        "{ran:?}"
    );
    assert_eq!(ran.out.trim_end().lines().count(), 2, "{ran:?}");
    assert!(!place.path("project/new.txt").exists());
}

#[test]
fn a_yes_for_the_session_is_asked_once() {
    let place = place();
    let write = json!({ "file_path": "new.txt", "content": "one\n" });
    let message = message(&place, &[("Write", write.clone()), ("Write", write)]);
    let mut person = Person::at(&place, &["turn", &message], "");
    person.sees(PROMPT);
    person.types("s\n");
    let ran = person.ends();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.err.matches(PROMPT).count(), 1, "{ran:?}");
    assert!(ran.out.contains("created") && ran.out.contains("left as it was"), "{ran:?}");
}

#[test]
fn always_writes_the_narrowest_rule_and_the_next_run_is_not_asked() {
    let place = place();
    fs::create_dir_all(place.path("config/haft")).unwrap();
    let settings = "# mine\n[permissions]\nallow = [\n    \"Read(//opt/docs/**)\", # manuals\n]\n";
    fs::write(place.path("config/haft/haft.toml"), settings).unwrap();
    let mut person = Person::at(&place, &["call", "Write", &write("new.txt")], "");
    person.sees(PROMPT);
    person.types("a\n");
    person.sees("Allowed from now on: Edit(");
    assert_eq!(person.ends().code, 0);
    let text = fs::read_to_string(place.path("config/haft/haft.toml")).unwrap();
    assert_eq!(
        text.replace(&place.files.root().display().to_string(), "/R"),
        "# mine\n[permissions]\nallow = [\n    \"Read(//opt/docs/**)\", # manuals\n    \"Edit(//R/project/new.txt)\",\n]\n"
    );
    let again = place.haft(&["explain", "Write", &write("new.txt"), "--json"]).json();
    assert_eq!(again["verdict"], "allow");
    let other = place.haft(&["explain", "Write", &write("other.txt"), "--json"]).json();
    assert_eq!(other["verdict"], "ask");
}

#[test]
fn always_holds_at_once_and_a_command_gets_all_of_its_words() {
    let place = place();
    let touch = |line: &str| json!({ "command": line });
    let message = message(
        &place,
        &[("Bash", touch("touch a 'b c'")), ("Bash", touch("touch a 'b c'")), ("Bash", touch("touch a"))],
    );
    let mut person = Person::at(&place, &["turn", &message], "");
    let shown = person.sees(PROMPT);
    assert!(shown.contains("│     touch a 'b c'"), "{shown}");
    person.types("always\n");
    // The second is covered; the third has other words.
    let shown = person.sees(PROMPT);
    assert!(shown.contains("Run touch a\r\n"), "{shown}");
    person.types("n\n");
    assert_eq!(person.ends().code, 0);
    let text = fs::read_to_string(place.path("config/haft/haft.toml")).unwrap();
    assert_eq!(text, "[permissions]\nallow = [\"Bash(touch a 'b c')\"]\n");
}

#[test]
fn settings_that_cannot_be_written_leave_the_answer_for_the_session() {
    let place = place();
    let write = json!({ "file_path": "new.txt", "content": "one\n" });
    let message = message(&place, &[("Write", write.clone()), ("Write", write)]);
    let mut person = Person::at(&place, &["turn", &message], "");
    person.sees(PROMPT);
    fs::create_dir_all(place.path("config/haft/haft.toml")).unwrap();
    person.types("a\n");
    person.sees("The rule could not be written (");
    let ran = person.ends();
    assert_eq!((ran.code, ran.err.matches(PROMPT).count()), (0, 1), "{ran:?}");
}

#[test]
fn questions_come_one_at_a_time_and_say_how_many_wait() {
    let place = place();
    let write = |path: &str| json!({ "file_path": path, "content": "x\n" });
    let message = message(
        &place,
        &[("Write", write("one.txt")), ("Write", write("two.txt")), ("Write", write("three.txt"))],
    );
    let mut person = Person::at(&place, &["turn", &message], "");
    // They come as they are ready to be asked, which need not be the model's order.
    let mut left = vec!["one.txt", "two.txt", "three.txt"];
    for prompt in ["(2 more waiting) Allow it?", "(1 more waiting) Allow it?", "Allow it?"] {
        let shown = person.sees(prompt);
        assert!(!shown.contains("waiting"), "{shown}");
        let asked =
            left.iter().position(|name| shown.contains(name)).expect("a file that was not asked about yet");
        person.types(if left.remove(asked) == "two.txt" { "n no\n" } else { "y\n" });
    }
    assert_eq!(person.ends().code, 0);
    let exists = |name: &str| place.path("project").join(name).exists();
    assert_eq!([exists("one.txt"), exists("two.txt"), exists("three.txt")], [true, false, true]);
}

#[test]
fn ctrl_c_withdraws_every_question_and_nothing_runs() {
    let place = place();
    let write = |path: &str| json!({ "file_path": path, "content": "x\n" });
    let message = message(&place, &[("Write", write("one.txt")), ("Write", write("two.txt"))]);
    let mut person = Person::at(&place, &["turn", &message], "");
    person.sees("(1 more waiting) Allow it?");
    person.types("y\x03");
    person.sees("(withdrawn: no answer is needed any more)");
    let ran = person.ends();
    assert_eq!(ran.code, 130, "{ran:?}");
    assert!(ran.out.contains("Cancelled while a person was asked"), "{ran:?}");
    assert!(!place.path("project/one.txt").exists() && !place.path("project/two.txt").exists());
}

#[test]
fn what_is_typed_before_the_question_is_no_answer_to_it() {
    let place = place();
    let mut person = Person::at(&place, &["call", "Write", &write("new.txt")], "y\ny\n");
    person.sees(PROMPT);
    person.types("n\n");
    let ran = person.ends();
    assert_eq!((ran.code, ran.err.matches(PROMPT).count()), (3, 1), "{ran:?}");
}

#[test]
fn the_end_of_all_lines_is_nobody_there() {
    let place = place();
    let mut person = Person::at(&place, &["call", "Write", &write("new.txt")], "");
    person.sees(PROMPT);
    person.types("\x04");
    let ran = person.ends();
    assert!(ran.code == 3 && ran.out.starts_with("Nobody is there to be asked"), "{ran:?}");
}

#[test]
fn a_long_change_is_cut_and_shown_whole_on_request() {
    let place = place();
    let content: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let input = json!({ "file_path": "new.txt", "content": content }).to_string();
    let mut person = Person::at(&place, &["call", "Write", &input], "");
    let shown = person.sees(PROMPT);
    assert!(shown.contains("more lines: `v` shows all)") && !shown.contains("+line 99"), "{shown}");
    person.types("v\n");
    assert!(person.sees(PROMPT).contains("+line 99"));
    person.types("n\n");
    assert_eq!(person.ends().code, 3);
}

/// A directory outside of the workspace, and not below /tmp, where a command has entries of its own.
fn outside() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A command that makes a file there which its words do not name.
fn hidden_write(outside: &tempfile::TempDir) -> String {
    let parent = outside.path().canonicalize().unwrap().display().to_string();
    let (one, other) = parent.split_at(parent.len() / 2);
    let command = format!("python3 -c \"open('{one}' + '{other}/made', 'w').write('x')\"");
    json!({ "command": command }).to_string()
}

#[test]
fn a_person_lets_one_command_leave_the_sandbox() {
    let (place, outside) = (place(), outside());
    let mut person = Person::at(&place, &["call", "Bash", &hidden_write(&outside)], "");
    let shown = person.sees(PROMPT);
    for words in [
        "  [y] this call, in the sandbox\r\n",
        "  [s] this and the same calls in this session, in the sandbox\r\n",
        "  [u] this call, outside the sandbox: it can change and reach everything that you can\r\n",
        "  [n] refuse this call\r\n",
        "Allow it? [y] [s] [a] [u] [n]",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    person.types("u\n");
    let ran = person.ends();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(fs::read_to_string(outside.path().join("made")).unwrap(), "x");
}

#[test]
fn a_command_that_the_sandbox_broke_runs_again_when_the_person_says_so() {
    let (place, outside) = (place(), outside());
    let mut person = Person::at(&place, &["call", "Bash", &hidden_write(&outside)], "");
    person.sees(PROMPT);
    person.types("y\n");
    let shown = person.sees(PROMPT);
    for words in [
        "The command failed, and the sandbox refused to change ",
        "  [y] run it again with that allowed, in the sandbox\r\n",
        "  [u] run it again outside the sandbox: it can change and reach everything that you can\r\n",
        "  [n] leave it as it is\r\n",
        "it failed (exit code 1); what it did until then stays done",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!outside.path().join("made").exists());
    person.types("y\n");
    let ran = person.ends();
    assert!(
        ran.code == 0 && ran.out.contains("[second run, from the beginning, with that allowed]"),
        "{ran:?}"
    );
    assert!(outside.path().join("made").exists());
}

#[test]
fn a_users_rule_runs_a_command_outside_the_sandbox_and_a_question_says_so() {
    let (place, outside) = (place(), outside());
    fs::create_dir_all(place.path("config/haft")).unwrap();
    fs::write(place.path("config/haft/haft.toml"), "[sandbox]\nunsandboxed = [\"Bash(python3:*)\"]\n")
        .unwrap();
    let explained = place.haft(&["explain", "Bash", &hidden_write(&outside)]).out;
    assert!(explained.contains("it runs outside the sandbox (rule Bash(python3:*) (/"), "{explained}");
    let mut person = Person::at(&place, &["call", "Bash", &hidden_write(&outside)], "");
    let shown = person.sees(PROMPT);
    assert!(shown.contains("where   outside the sandbox, by rule Bash(python3:*) (/"), "{shown}");
    assert!(shown.contains("[y] this call, outside the sandbox\r\n") && !shown.contains("[u]"), "{shown}");
    person.types("y\n");
    assert_eq!(person.ends().code, 0);
    assert!(outside.path().join("made").exists());
    let with_more = hidden_write(&outside).replace("write('x')\\\"", "write('x')\\\"; git status");
    let explained = place.haft(&["explain", "Bash", &with_more]).out;
    assert!(!explained.contains("outside the sandbox"), "each command needs a rule: {explained}");
}

#[test]
fn settings_forbid_to_leave_the_sandbox() {
    let (place, outside) = (place(), outside());
    fs::create_dir_all(place.path("config/haft")).unwrap();
    let settings = "[sandbox]\nforbid_unsandboxed = true\nunsandboxed = [\"Bash(python3:*)\"]\n";
    fs::write(place.path("config/haft/haft.toml"), settings).unwrap();
    let mut person = Person::at(&place, &["call", "Bash", &hidden_write(&outside)], "");
    let shown = person.sees(PROMPT);
    assert!(shown.contains("[y] this call, in the sandbox") && !shown.contains("[u]"), "{shown}");
    person.types("u\n");
    person.sees(PROMPT);
    person.types("n\n");
    assert_eq!(person.ends().code, 3);
}
