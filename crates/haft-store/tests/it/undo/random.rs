//! Whatever calls do one after the other, taking the session back restores the tree, and making it again brings it back.

use haft_store::images::Target;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::room::Room;

const PATHS: [&str; 6] = ["a", "b", "d/c", "d/e/f", "g", "new/deep/h"];

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&PATHS[..])
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[a-c]{1,3}\n", "([a-c]{1,3}\r\n){1,4}", Just("x".repeat(5_000))]
}

/// What is called. Some of it cannot be done as things are; then nothing is.
fn call() -> impl Strategy<Value = (&'static str, Value)> {
    let bash = |command: String| ("Bash", json!({ "command": command }));
    prop_oneof![
        3 => (path(), text())
            .prop_map(|(path, text)| ("Write", json!({ "file_path": path, "content": text }))),
        2 => (path(), "[a-c]", "[a-z]{0,2}").prop_map(|(path, old, new)| {
            ("Edit", json!({ "file_path": path, "old_string": old, "new_string": new, "replace_all": true }))
        }),
        1 => (path(), path(), "[a-c]{1,3}").prop_map(|(add, delete, text)| {
            let patch = format!(
                "*** Begin Patch\n*** Add File: {add}\n+{text}\n*** Delete File: {delete}\n*** End Patch"
            );
            ("ApplyPatch", json!({ "patch": patch }))
        }),
        2 => (path(), text()).prop_map(move |(path, text)| {
            bash(format!("mkdir -p \"$(dirname {path})\"; printf '%s' '{text}' >> {path}"))
        }),
        1 => path().prop_map(move |path| bash(format!("rm -rf {path}"))),
        1 => path().prop_map(move |path| bash(format!("rm -rf \"$(dirname {path})\"/* 2>/dev/null; true"))),
        1 => (path(), path()).prop_map(move |(from, to)| bash(format!("mv -f {from} {to}"))),
        1 => (path(), path()).prop_map(move |(from, to)| bash(format!("ln -sfn {from} {to}"))),
        1 => (path(), prop::sample::select(&["600", "755", "444"][..]))
            .prop_map(move |(path, mode)| bash(format!("chmod {mode} {path}"))),
        1 => path().prop_map(move |path| bash(format!("rm -rf {path}; mkdir -p {path}/sub; echo x > {path}/sub/y"))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn all_that_a_session_did_is_taken_back_and_made_again(calls in prop::collection::vec(call(), 1..10)) {
        let room = Room::new("begin");
        room.bash("mkdir -p d/e; echo abc > a; printf 'a\\r\\nb\\r\\n' > d/c; ln -s a g; : > d/e/f; chmod 600 d/e/f");
        let room = room.again("work");
        let before = room.tree();
        for (tool, input) in &calls {
            if let Some(path) = input["file_path"].as_str() {
                room.call("Read", json!({ "file_path": path }));
            }
            room.call(tool, input.clone());
        }
        let after = room.tree();
        if room.undo(&Target::Named("work".to_owned())).is_ok() {
            prop_assert_eq!(room.tree(), before.clone(), "taken back");
            room.undo(&Target::LatestUndo).unwrap();
            prop_assert_eq!(room.tree(), after, "made again");
            room.undo(&Target::Named("work".to_owned())).unwrap();
        }
        prop_assert_eq!(room.tree(), before);
    }
}
