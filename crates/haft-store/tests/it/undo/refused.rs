//! What is not taken back, and what is said then.

use std::fs;

use haft_store::{OnFailure, images::Target};
use serde_json::json;

use super::room::Room;

/// Each file of a plan: whether it would be taken back, or why not.
fn told(room: &Room, target: &str) -> Vec<String> {
    let plan = room.plan(&Target::Named(target.to_owned())).unwrap();
    let root = format!("{}/", room.root.display());
    let mut told: Vec<String> = plan
        .files
        .iter()
        .map(|file| format!("{}: {:?}", file.path.display(), file.standing).replace(&root, ""))
        .collect();
    told.extend(plan.left_out.iter().map(|words| words.replace(&root, "")));
    told
}

#[test]
fn a_file_that_somebody_changed_since_is_refused_and_the_others_are_taken_back() {
    let room = Room::new("s");
    room.bash("echo one > a; echo two > b");
    let room = room.again("work");
    room.bash("echo 1 > a; echo 2 > b; echo 3 > c");
    fs::write(room.root.join("b"), "somebody's work").unwrap();
    assert_eq!(
        told(&room, "work"),
        [
            "a: Ready",
            "b: Refused(\"it has changed since: there was a file of 2 bytes, mode 644 then, and is a file of 15 bytes, mode 644 now; --take takes it back all the same\")",
            "c: Ready",
        ]
    );
    room.undo(&Target::Latest).unwrap();
    assert_eq!(fs::read_to_string(room.root.join("a")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(room.root.join("b")).unwrap(), "somebody's work");
    assert!(!room.root.join("c").exists());
    let take = [room.root.join("b")];
    let plan = room.images.plan(&Target::Named("work".to_owned()), &room.root, &take).unwrap();
    room.images.carry_out(&plan, None, "person").unwrap();
    assert_eq!(fs::read_to_string(room.root.join("b")).unwrap(), "two\n");
    room.undo(&Target::LatestUndo).unwrap();
    assert_eq!(fs::read_to_string(room.root.join("b")).unwrap(), "somebody's work");
}

#[test]
fn an_earlier_call_waits_for_the_later_ones_on_the_same_file() {
    let room = Room::new("work");
    room.bash("echo one > a; echo x > b");
    room.bash("echo two > a");
    assert_eq!(
        told(&room, "work/call_1"),
        [
            "a: Refused(\"the call call_2 changed it later; take that back first: haft undo work/call_2\")",
            "b: Ready",
        ]
    );
    assert_eq!(told(&room, "work"), ["a: Ready", "b: Ready"]);
    room.undo(&Target::Latest).unwrap();
    assert_eq!(told(&room, "work/call_1"), ["a: Ready", "b: Ready"]);
}

#[test]
fn a_turn_and_calls_are_found_by_their_names() {
    let room = Room::new("work");
    room.bash("echo one > a");
    room.bash("echo two > b");
    assert_eq!(told(&room, "work:1"), ["a: Ready"]);
    assert_eq!(told(&room, "work:2"), ["b: Ready"]);
    assert_eq!(told(&room, "call_2"), ["b: Ready"]);
    assert_eq!(told(&room, "work"), ["a: Ready", "b: Ready"]);
    let nothing = room.plan(&Target::Named("work:3".to_owned())).unwrap_err();
    assert_eq!(nothing, "there is no call, turn or session `work:3` that changed something which stands");
}

#[test]
fn a_file_that_changes_between_the_plan_and_the_deed_is_left_alone() {
    let room = Room::new("work");
    room.bash("echo one > a; echo two > b");
    let plan = room.plan(&Target::Latest).unwrap();
    fs::write(room.root.join("b"), "TWO\n").unwrap();
    let err = room.images.carry_out(&plan, None, "person").unwrap_err().to_string();
    assert!(
        err.contains("changed by somebody else just now") && err.contains("nothing was put back"),
        "{err}"
    );
    assert_eq!(fs::read_to_string(room.root.join("a")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(room.root.join("b")).unwrap(), "TWO\n");
}

#[test]
fn what_was_too_large_to_keep_is_said() {
    let room = Room::with(|options| haft_store::images::UndoOptions { max_file: 100, ..options });
    fs::write(room.root.join("large"), "x".repeat(200)).unwrap();
    fs::write(room.root.join("small"), "x").unwrap();
    room.does("Read", json!({ "file_path": "large" }));
    let result = room.call("Write", json!({ "file_path": "large", "content": "y" }));
    let notes = result.meta.notes["undo"].to_string();
    assert!(notes.contains("large cannot be taken back: it is larger than `undo.max_file_mb`"), "{notes}");
    assert_eq!(
        told(&room, "call_2"),
        ["large: Refused(\"what was there was not kept: it is larger than `undo.max_file_mb`\")"]
    );
    fs::write(room.root.join("large"), "x".repeat(300)).unwrap();
    room.bash("rm small; echo z >> large");
    assert_eq!(
        told(&room, "call_3"),
        [
            "large: Refused(\"what was there was not kept: it is larger than `undo.max_file_mb`\")",
            "small: Ready",
        ]
    );
}

#[test]
fn a_root_with_too_much_in_it_is_not_watched_and_that_is_said() {
    let room = Room::with(|options| haft_store::images::UndoOptions { most_files: 5, ..options });
    room.bash("touch 1 2 3 4");
    (5..10).for_each(|name| fs::write(room.root.join(name.to_string()), "").unwrap());
    room.bash("rm 1");
    assert!(room.plan(&Target::Named("call_2".to_owned())).is_err());
}

#[test]
fn what_ignore_files_hide_or_show_is_left_alone() {
    let room = Room::new("s");
    fs::create_dir_all(room.root.join("build")).unwrap();
    fs::create_dir(room.root.join(".git")).unwrap();
    fs::write(room.root.join("build/out"), "precious").unwrap();
    fs::write(room.root.join("seen"), "seen").unwrap();
    fs::write(room.root.join(".gitignore"), "build\n").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(60));
    let room = room.again("work");
    let before = room.tree();
    room.bash("echo seen > .gitignore; echo new > new");
    room.undo(&Target::Latest).unwrap();
    assert_eq!(room.tree(), before);
}

#[test]
fn where_nothing_can_be_kept_nothing_is_changed_unless_that_was_wanted() {
    for (on_failure, is_made) in [(OnFailure::Refuse, false), (OnFailure::Warn, true)] {
        let room = Room::with(|options| haft_store::images::UndoOptions { on_failure, ..options });
        fs::write(room.root.join("a"), "old").unwrap();
        room.does("Read", json!({ "file_path": "a" }));
        // A file where the blobs would be: as good as a full disk.
        fs::create_dir_all(room.state().join("undo")).unwrap();
        fs::write(room.state().join("undo/blobs"), "").unwrap();
        let written = room.call("Write", json!({ "file_path": "a", "content": "new" }));
        assert_eq!(written.is_error(), !is_made, "{}", written.text());
        assert_eq!(fs::read_to_string(room.root.join("a")).unwrap(), if is_made { "new" } else { "old" });
        let ran = room.call("Bash", json!({ "command": "echo x > b" }));
        assert_eq!(ran.is_error(), !is_made, "{}", ran.text());
        assert_eq!(room.root.join("b").exists(), is_made);
        let told = if is_made { written.meta.notes["undo"].to_string() } else { written.text() };
        assert!(told.contains("could not be kept"), "{told}");
        assert_eq!(
            told.contains("undo.on_failure"),
            !is_made,
            "whoever is refused learns what would help: {told}"
        );
    }
}
