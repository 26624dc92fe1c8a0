//! The six modes, from outside.

use serde_json::json;

use crate::kit::Place;

fn place() -> Place {
    Place::new("-- project/.git/HEAD\nref: refs/heads/main\n-- project/a.txt\na\n-- outside.txt\nx\n")
}

fn bash(command: &str) -> String {
    json!({ "command": command }).to_string()
}

#[test]
fn plan_mode_binds_the_shell_too() {
    let place = place();
    for command in [
        "echo x > b.txt",
        "echo x >> a.txt",
        "touch b.txt",
        "git commit -m x",
        "rm a.txt",
        "sed -i s/a/b/ a.txt",
        "cat a.txt | tee b.txt",
        "ls; touch b.txt",
        "$(echo touch) b.txt",
        "python3 -c 'open(\"b.txt\", \"w\")'",
        "touch b.txt &",
    ] {
        let ran = place.haft(&["call", "Bash", &bash(command), "--mode", "plan", "--allow", "Bash"]);
        assert_eq!(ran.code, 3, "{command}: {ran:?}");
        assert!(
            ran.out.starts_with("Refused by plan mode, which permits only what changes nothing: "),
            "{ran:?}"
        );
        assert!(ran.out.contains("\nRead, search and plan; "), "{ran:?}");
    }
    assert_eq!(place.files.text("project/a.txt"), "a\n");
    assert!(!place.path("project/b.txt").exists());
}

#[test]
fn in_plan_mode_a_background_command_is_refused_and_a_look_is_not() {
    let place = place();
    let background = json!({ "command": "touch b.txt", "background": true }).to_string();
    place.haft(&["call", "Bash", &background, "--mode", "plan"]).expect(3, "");
    let ran = place.haft(&["call", "Bash", &bash("cat a.txt | sort"), "--mode", "plan"]);
    assert_eq!((ran.code, ran.out.trim_end()), (0, "a"), "{ran:?}");
}

#[test]
fn accept_edits_frees_edits_inside_the_workspace_and_nothing_else() {
    let place = place();
    let write = |path: &str| json!({ "file_path": path, "content": "x" }).to_string();
    let mode = ["--mode", "accept-edits"];
    place.haft(&["call", "Write", &write("b.txt"), mode[0], mode[1]]).expect(0, "");
    place.haft(&["call", "Write", &write("../b.txt"), mode[0], mode[1]]).expect(3, "");
    place.haft(&["call", "Write", &write(".git/hooks/pre-commit"), mode[0], mode[1]]).expect(3, "");
    place.haft(&["call", "Bash", &bash("make"), mode[0], mode[1]]).expect(3, "");
}

#[test]
fn where_nobody_is_there_that_is_a_denial_that_says_so() {
    let ran = place().haft(&["call", "Bash", &bash("make")]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (
            3,
            "Nobody is there to be asked, and this must be asked: runs make, and no rule allows it.\n\
             Go on without it, or tell the user that `--allow 'Bash(make)'` would permit it.\n"
        )
    );
}

#[test]
fn dont_ask_refuses_what_would_be_asked() {
    let ran = place().haft(&["call", "Bash", &bash("make"), "--mode", "dont-ask"]);
    assert_eq!(ran.code, 3);
    assert!(ran.out.starts_with("Refused because dont-ask mode asks nobody"), "{ran:?}");
}

#[test]
fn auto_lets_through_what_is_plainly_harmless_and_asks_about_the_rest() {
    let place = place();
    let write = |path: &str| json!({ "file_path": path, "content": "x" }).to_string();
    place.haft(&["call", "Write", &write("b.txt"), "--mode", "auto"]).expect(0, "");
    place.haft(&["call", "Write", &write(".env"), "--mode", "auto"]).expect(3, "");
    place.haft(&["call", "Write", &write("../b.txt"), "--mode", "auto"]).expect(3, "");
    place.haft(&["call", "Bash", &bash("rm a.txt"), "--mode", "auto"]).expect(3, "");
    place.haft(&["call", "Bash", &bash("mkdir new"), "--mode", "auto"]).expect(0, "");
    let ask = place.haft(&["call", "Write", &write("c.txt"), "--mode", "auto", "--ask", "Edit"]);
    assert_eq!(ask.code, 3, "{ask:?}");
}

#[test]
fn bypass_rests_on_a_sandbox_or_on_a_second_word_and_says_on_which() {
    let place = place();
    let works = place.haft(&["doctor", "--json"]).json()["sandbox"]["namespaces"] == true;
    let call = ["call", "Bash", &bash("cat ../outside.txt"), "--mode", "bypass"];
    let ran = place.haft(&[&call[..], &["-v"]].concat());
    if works {
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.err.contains("mode bypass: ") && ran.err.contains("commands are confined ("), "{ran:?}");
    } else {
        assert!(ran.code == 2 && ran.err.contains("--unsandboxed"), "{ran:?}");
    }
    let ran = place.haft(&[&call[..], &["-v", "--unsandboxed"]].concat());
    assert!(ran.code == 0 && ran.err.contains("commands are not confined (--unsandboxed)"), "{ran:?}");
}

#[test]
fn bypass_does_not_rest_on_a_sandbox_that_is_switched_off() {
    let place = Place::new("-- project/off.toml\n[sandbox]\nenabled = false\n");
    place.haft(&["call", "List", "--mode", "bypass", "--config", "off.toml"]).expect(2, "--unsandboxed");
    place.haft(&["call", "List", "--mode", "bypass", "--config", "off.toml", "--unsandboxed"]).expect(0, "");
}
