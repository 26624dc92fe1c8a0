//! What calls do is taken back byte for byte, all at once and one by one, and made again.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use haft_store::{Entry, Instant, Turn, images::Target};
use serde_json::{Value, json};

use super::room::Room;

/// A workspace that a command makes, and what is done in it.
#[track_caller]
fn check(begin: &str, calls: &[(&str, Value)]) {
    let room = Room::new("s");
    room.bash(begin);
    let room = room.again("work");
    let before = room.tree();
    for (tool, input) in calls {
        room.does(tool, input.clone());
    }
    let after = room.tree();
    assert_ne!(before, after, "something is done");
    let session = Target::Named("work".to_owned());
    room.undo(&session).unwrap();
    assert_eq!(room.tree(), before, "taken back at once");
    assert!(room.plan(&session).is_err(), "it is taken back once");
    room.undo(&Target::LatestUndo).unwrap();
    assert_eq!(room.tree(), after, "made again");
    let begun = |plan: &haft_store::images::Plan| plan.calls.iter().any(|key| key.session.as_str() == "s");
    while let Ok(plan) = room.plan(&Target::Latest).map(|plan| (!begun(&plan)).then_some(plan)) {
        let Some(plan) = plan else { break };
        assert_eq!(plan.refused().count(), 0, "{plan:?}");
        room.images.carry_out(&plan, None, "person").unwrap();
    }
    assert_eq!(room.tree(), before, "taken back one by one");
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command }))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({ "file_path": path, "content": content }))
}

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": path }))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

#[test]
fn what_the_file_tools_write_is_taken_back() {
    check("echo old > a", &[write("new", "text\n")]);
    check("echo old > a", &[write("deep/er/new", "text\n"), write("deep/other", "")]);
    check("echo old > a; chmod 640 a", &[read("a"), edit("a", "old", "new")]);
    check("printf 'one\\r\\ntwo\\r\\n' > a", &[read("a"), edit("a", "two", "2")]);
    check("echo old > a; : > empty", &[read("a"), write("a", ""), read("empty"), write("empty", "x")]);
    let patch = "*** Begin Patch\n*** Update File: a\n@@\n-old\n+new\n*** Add File: b/c\n+made\n*** Delete File: gone\n*** End Patch";
    check(
        "echo old > a; echo x > gone",
        &[read("a"), read("gone"), ("ApplyPatch", json!({ "patch": patch }))],
    );
}

#[test]
fn what_commands_do_is_taken_back() {
    for (begin, command) in [
        ("echo old > a", "echo new > a"),
        ("echo old > a", "echo made > b; mkdir -p c/d; echo deep > c/d/e; mkdir empty"),
        ("mkdir -p d/e; echo x > d/e/f; echo y > g", "rm -r d g"),
        ("mkdir -p d/e; echo x > d/e/f", "mv d moved; mv moved/e/f moved/g"),
        ("echo x > a; mkdir d", "chmod 755 a; chmod 700 d"),
        ("head -c 5000 /dev/urandom > a", "head -c 5000 /dev/urandom > a"),
        ("head -c 3000000 /dev/zero > big", "echo more >> big"),
        (": > a; echo x > b", "echo y > a; : > b"),
        ("echo x > a; ln -s a link; ln -s nowhere dangling", "ln -sf b link; rm dangling; ln -s a new"),
        ("echo x > a; ln -s a link", "rm link; echo file > link; rm a; ln -s link a"),
        ("mkdir d; echo x > d/f; echo y > f", "rm -r d; echo file > d; rm f; mkdir t; echo z > t/g; mv t f"),
        ("mkdir d; echo x > d/f", "rm -r d; ln -s elsewhere d"),
        ("echo x > a", "mkdir ro; echo y > ro/f; chmod 555 ro"),
        ("mkdir ro; echo x > ro/f; chmod 555 ro", "chmod 755 ro; echo y > ro/f; echo z > ro/g; chmod 500 ro"),
        ("echo x > a", "git init -q . && git add a && git -c user.name=n -c user.email=e commit -qm one"),
        ("echo x > 'a b'", "mv 'a b' $'odd\\nname'; echo y > 'ünï'"),
    ] {
        check(begin, &[bash(command)]);
    }
}

#[test]
fn a_commit_is_taken_back_but_for_the_objects_of_git() {
    let room = Room::new("s");
    room.bash(
        "git init -q . && echo x > a && git add a && git -c user.name=n -c user.email=e commit -qm one",
    );
    let room = room.again("work");
    let without_objects = |room: &Room| {
        let mut tree = room.tree();
        tree.retain(|path, _| !path.starts_with(".git/objects/"));
        tree
    };
    let before = without_objects(&room);
    room.bash("echo y > a && git -c user.name=n -c user.email=e commit -qam two && git branch other");
    assert_ne!(without_objects(&room), before);
    room.undo(&Target::Latest).unwrap();
    assert_eq!(without_objects(&room), before);
    room.bash("git status --porcelain > /dev/null && test \"$(git log --format=%s)\" = one");
}

#[test]
fn tools_and_commands_after_each_other_are_taken_back() {
    check(
        "echo one > a; mkdir d; echo two > d/b",
        &[
            read("a"),
            edit("a", "one", "1"),
            bash("echo more >> a; mv d/b d/c"),
            read("a"),
            edit("a", "more", "less"),
            write("d/b", "again"),
            bash("rm -r d; cp a z"),
            bash("true"),
        ],
    );
}

#[test]
fn what_a_task_does_after_its_call_is_taken_back_with_it() {
    let room = Room::new("s");
    room.bash("echo x > a");
    let room = room.again("work");
    let before = room.tree();
    room.does(
        "Bash",
        json!({ "command": "echo now > now; sleep 0.3; echo later > later", "background": true }),
    );
    room.write("mine", "not the task's");
    std::thread::sleep(std::time::Duration::from_millis(800));
    room.bash("echo third > third");
    room.end();
    let plan = room.plan(&Target::Named("work/call_1".to_owned())).unwrap();
    let files: Vec<_> = plan.ready().map(|file| file.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(files, ["later", "now"]);
    room.undo(&Target::Named("work".to_owned())).unwrap();
    assert_eq!(room.tree(), before);
}

#[test]
fn a_call_that_was_cut_off_is_taken_back_by_who_comes_next() {
    let room = Room::new("s");
    room.bash("echo x > a");
    let before = room.tree();
    // A watch that is dropped is what a killed process leaves.
    let doer = haft_engine::session::Doer {
        key: room.images.plan(&Target::Latest, &room.root, &[]).unwrap().calls.remove(0),
        turn: 1,
        workspace: room.root.clone(),
    };
    let watch =
        haft_engine::session::Images::watch(&room.images, &doer, std::slice::from_ref(&room.root)).unwrap();
    fs::write(room.root.join("a"), "half done").unwrap();
    fs::write(room.root.join("b"), "left").unwrap();
    drop(watch);
    let room = room.again("next");
    let evidence = room.images.evidence(&doer.key).unwrap();
    let found: Vec<_> =
        evidence.iter().map(|one| format!("{:?} {:?}", one.path.file_name().unwrap(), one.found)).collect();
    assert_eq!(found, ["\"a\" New", "\"b\" New"]);
    let plan = room.plan(&Target::Latest).unwrap();
    assert!(plan.files.iter().all(|file| file.late), "{plan:?}");
    room.undo(&Target::Latest).unwrap();
    assert!(room.tree().is_empty());
    room.undo(&Target::LatestUndo).unwrap();
    assert_ne!(room.tree(), before, "it is there again as it was left");
}

#[test]
fn calls_that_make_one_directory_at_once_are_taken_back_together() {
    let room = Room::new("s");
    room.bash("echo x > a");
    let room = room.again("work");
    let before = room.tree();
    let calls = (0..8).map(|n| {
        let input = json!({ "file_path": format!("made/deep/{n}"), "content": "text" });
        haft_engine::Call::new(format!("w{n}"), "Write", input)
    });
    assert!(room.turn(calls.collect()).iter().all(|result| !result.is_error()));
    room.undo(&Target::Named("work".to_owned())).unwrap();
    assert_eq!(room.tree(), before);
}

#[test]
fn a_change_is_kept_and_taken_back_however_many_sessions_came_after_it() {
    let room = Room::new("s");
    room.write("a", "one");
    room.write("a", "two");
    let others: Vec<_> = (0..6000).map(|n| crate::library::turn(&format!("other-{n}"), 1)).collect();
    let others = others.into_iter().map(|entry| match entry {
        Entry::Turn(turn) => Entry::Turn(Turn { at: Instant::now(), ..turn }),
        other => other,
    });
    room.append(others.collect());
    // What nobody wants is not young any more.
    room.images.prune(SystemTime::now() + Duration::from_secs(7200)).unwrap();
    room.undo(&Target::Latest).unwrap();
    assert_eq!(fs::read_to_string(room.root.join("a")).unwrap(), "one");
}
