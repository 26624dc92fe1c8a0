//! `haft undo`, as it is typed.

use serde_json::json;

use crate::kit::{Place, Ran};

fn place() -> Place {
    let place = Place::new("-- project/a.txt\none\ntwo\nthree\n-- project/.git/HEAD\nref: refs/heads/main\n");
    write(&place, "work", "1", "a.txt", "one\n2\nthree\n");
    place
}

/// A turn in which a file is read and written.
fn write(place: &Place, session: &str, id: &str, path: &str, content: &str) {
    turn(
        place,
        session,
        &[
            ("r", "Read", json!({ "file_path": path })),
            (id, "Write", json!({ "file_path": path, "content": content })),
        ],
    );
}

fn turn(place: &Place, session: &str, calls: &[(&str, &str, serde_json::Value)]) {
    let block = |(id, name, input): &(&str, &str, serde_json::Value)| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let message = json!({ "role": "assistant", "content": calls.iter().map(block).collect::<Vec<_>>() });
    let words = ["turn", "--session", session, "--allow", "Edit(**)", "--allow", "Bash"];
    let ran = place.haft_with(&words, &message.to_string());
    assert!(ran.code < 2, "{ran:?}");
}

fn undo(place: &Place, words: &[&str]) -> Ran {
    place.haft(&[&["undo"], words].concat())
}

#[test]
fn a_preview_shows_the_change_and_does_nothing() {
    let place = place();
    let ran = undo(&place, &["--preview"]).expect(0, "");
    assert_eq!(ran.out, "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-2\n+two\n three\n");
    assert_eq!(place.files.text("project/a.txt"), "one\n2\nthree\n");
}

#[test]
fn the_log_shows_what_a_call_changed() {
    let place = place();
    turn(&place, "work", &[("shell", "Bash", json!({ "command": "echo x > new; sed -i s/one/1/ a.txt" }))]);
    let show = |id: &str| place.haft(&["log", "show", id]).expect(0, "").out;
    let written = "\ndiff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let of_shell = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n 2\n three\n";
    assert!(show("2").contains(written), "{}", show("2"));
    let shown = show("shell");
    assert!(
        shown.contains(of_shell) && shown.contains("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"),
        "{shown}"
    );
    let told = place.haft(&["log", "show", "2", "--json"]).expect(0, "").json();
    assert!(told["diff"].as_str().unwrap().contains("-two\n+2\n"), "{told}");
    assert!(!show("r").contains("\ndiff\n"), "it changed nothing");
}

#[test]
fn nothing_is_taken_back_before_somebody_says_yes() {
    let place = place();
    undo(&place, &[]).expect(3, "nobody is there to be asked; say --yes");
    assert_eq!(place.files.text("project/a.txt"), "one\n2\nthree\n");
}

#[test]
fn a_call_is_taken_back_and_made_again() {
    let place = place();
    let ran = undo(&place, &["--yes"]).expect(0, "");
    assert!(ran.out.ends_with("taken back: 1 file\n"), "{ran:?}");
    assert_eq!(place.files.text("project/a.txt"), "one\ntwo\nthree\n");
    undo(&place, &["--yes"]).expect(1, "no call has changed anything in this workspace that stands");
    let ran = undo(&place, &["--redo", "--yes"]).expect(0, "");
    assert!(ran.out.ends_with("made again: 1 file\n"), "{ran:?}");
    assert_eq!(place.files.text("project/a.txt"), "one\n2\nthree\n");
    undo(&place, &["--redo", "--yes"]).expect(1, "nothing was taken back in this workspace");
    let log = place.haft(&["log", "--session", "work", "--tool", "undo", "--json"]).expect(0, "");
    assert_eq!(log.lines().len(), 1, "{log:?}");
}

#[test]
fn what_a_command_did_is_taken_back_with_the_turn() {
    let place = place();
    turn(&place, "work", &[("2", "Bash", json!({ "command": "mkdir d; echo x > d/new; rm a.txt" }))]);
    let ran = undo(&place, &["work:2", "--yes", "--json"]).expect(0, "");
    let told = ran.json();
    let files: Vec<&str> =
        told["files"].as_array().unwrap().iter().map(|file| file["to"]["is"].as_str().unwrap()).collect();
    assert_eq!((files, told["done"].as_bool()), (vec!["file", "absent", "absent"], Some(true)));
    assert_eq!(place.files.text("project/a.txt"), "one\n2\nthree\n");
    assert!(!place.path("project/d").exists());
}

#[test]
fn a_file_that_a_command_may_make_outside_of_the_workspace_is_made_alone_and_taken_back() {
    let place = place();
    std::fs::create_dir(place.path("other")).unwrap();
    std::fs::write(place.path("other/beside"), "as it was\n").unwrap();
    let new = place.path("other/new");
    let rule = format!("Edit(/{})", new.display());
    let bash = |command: &str| {
        let input = json!({ "command": command }).to_string();
        place.haft(&["call", "Bash", &input, "--session", "out", "--allow", "Bash", "--allow", &rule])
    };
    let names = || {
        let entries = std::fs::read_dir(place.path("other")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    bash(&format!("false && echo x > {}; true", new.display())).expect(0, "");
    assert_eq!(names(), ["beside"], "nothing is left of what was not written");
    // What nobody understands declares nothing, and so is given nothing.
    let unseen =
        "eval \"$(printf 'echo z > %s' ../other/beside)\"; eval \"$(printf 'echo z > %s' ../other/third)\"";
    bash(&format!("echo x > {}; {unseen}", new.display())).expect(1, "");
    assert_eq!(names(), ["beside", "new"]);
    assert_eq!(place.files.text("other/beside"), "as it was\n");
    assert_eq!(place.files.text("other/new"), "x\n");
    undo(&place, &["--session", "out", "--yes"]).expect(0, "");
    assert_eq!(names(), ["beside"]);
    let ran = bash(&format!("mkdir {}", new.display())).expect(1, "");
    let told = format!("ask for permission to write {}", place.path("other").display());
    assert!(ran.out.contains(&told), "{ran:?}");
    assert_eq!(names(), ["beside"]);
}

#[test]
fn what_somebody_changed_since_is_refused_unless_it_is_taken() {
    let place = place();
    write(&place, "work", "2", "b.txt", "made\n");
    place.files.write("project/a.txt", b"mine\n");
    let ran = undo(&place, &["work", "--yes"]).expect(1, "");
    assert!(ran.out.contains("cannot be taken back: a.txt: it has changed since"), "{ran:?}");
    assert!(!place.path("project/b.txt").exists());
    assert_eq!(place.files.text("project/a.txt"), "mine\n");
    undo(&place, &["work", "--yes", "--take", "a.txt"]).expect(0, "");
    assert_eq!(place.files.text("project/a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_name_that_is_none_is_bad_usage() {
    undo(&place(), &["nothing", "--yes"]).expect(2, "there is no call, turn or session `nothing`");
    let place = Place::new("-- project/a\nx\n");
    undo(&place, &["--yes"]).expect(1, "no call has changed anything");
}

#[test]
fn the_number_of_the_log_is_a_name_too() {
    let place = place();
    let rows = place.haft(&["log", "--tool", "Write", "--json"]).expect(0, "").lines();
    let number = rows[0]["no"].to_string();
    undo(&place, &[&number, "--yes"]).expect(0, "");
    assert_eq!(place.files.text("project/a.txt"), "one\ntwo\nthree\n");
}

#[test]
fn what_was_taken_back_already_is_said_and_no_other_call_is_guessed() {
    let place = place();
    let number = place.haft(&["log", "--tool", "Write", "--json"]).lines()[0]["no"].to_string();
    // Its id is the number of another one.
    write(&place, "work", &number, "b.txt", "1");
    undo(&place, &[&number, "--yes"]).expect(0, "");
    assert_eq!(place.files.text("project/a.txt"), "one\ntwo\nthree\n");
    undo(&place, &[&number, "--yes"]).expect(2, &format!("`{number}` was already taken back by undo-"));
    assert!(place.path("project/b.txt").exists(), "another call that happens to have this id");
}

#[test]
fn only_what_was_taken_back_is_called_undone_and_what_was_made_again_redone() {
    let place = place();
    write(&place, "other", "toolu_1", "c.txt", "1");
    write(&place, "other", "toolu_2", "b.txt", "1");
    std::fs::write(place.path("project/b.txt"), "somebody else's").unwrap();
    let kinds = |call: &str| {
        let shown = place.haft(&["log", "show", call, "--json"]).json();
        let kinds = shown["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["kind"].as_str().unwrap().to_owned());
        kinds.filter(|kind| kind.ends_with("done")).collect::<Vec<_>>()
    };
    assert_eq!(undo(&place, &["other", "--yes"]).code, 1);
    assert_eq!((kinds("toolu_1"), kinds("toolu_2")), (vec!["undone".to_owned()], Vec::new()));
    assert_eq!(undo(&place, &["--redo", "--yes"]).code, 0);
    assert_eq!(kinds("toolu_1"), ["undone", "redone"]);
    let log = place.haft(&["log", "--json"]).lines();
    let took = log.iter().find(|call| call["tool"] == "undo").unwrap()["call"].as_str().unwrap().to_owned();
    let shown = place.haft(&["log", "show", &took]).out;
    assert!(
        shown.contains(r#"approval   {"by":"--yes","said":"yes"}"#) && !shown.contains("decision"),
        "{shown}"
    );
}
