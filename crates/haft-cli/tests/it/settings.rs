//! Settings, options, and where the workspace is.

use serde_json::json;

use crate::kit::Place;

const READ: [&str; 3] = ["call", "Read", r#"{"file_path":"a.txt"}"#];

#[test]
fn a_rule_of_a_file_is_named_with_its_line() {
    let place = Place::new(
        "-- config/haft/haft.toml\n[permissions]\ndeny = [\n  \"Read(a.txt)\",\n]\n-- project/a.txt\nx\n",
    );
    let ran = place.haft(&READ).expect(3, "");
    assert!(ran.out.contains("config/haft/haft.toml:3"), "{ran:?}");
}

#[test]
fn the_file_of_the_command_line_comes_on_top() {
    let place = Place::new(
        "-- config/haft/haft.toml\nmode = \"dont-ask\"\n-- project/more.toml\nmode = \"plan\"\n-- project/a.txt\nx\n",
    );
    let mode = |arguments: &[&str]| place.haft(&[&READ, arguments].concat()).err;
    assert!(mode(&["-v"]).contains("mode dont-ask"));
    assert!(mode(&["-v", "--config", "more.toml"]).contains("mode plan"));
    assert!(mode(&["-v", "--config", "more.toml", "--mode", "auto"]).contains("mode auto"));
    place
        .haft(&[&READ[..], &["--config", "none.toml"]].concat())
        .expect(2, "none.toml: the settings cannot be read");
}

#[test]
fn the_workspaces_own_settings_are_not_read() {
    let place = Place::new("-- project/haft.toml\nthis is broken\n-- project/a.txt\nx\n");
    place.haft(&READ).expect(0, "");
    place.haft(&[&READ[..], &["-v"]].concat()).expect(0, "haft.toml is not read: it is not trusted yet");
}

#[test]
fn mistakes_in_settings_and_rules_are_exit_2() {
    let place = Place::new(
        "-- project/bad.toml\n[permissions]\ndenny = []\n-- project/set.toml\ntools.toolsets.x = [\"Raed\"]\n",
    );
    place
        .haft(&["tools", "--config", "bad.toml"])
        .expect(2, "bad.toml:2: there is no setting `denny` in [permissions]; did you mean `deny`?");
    place
        .haft(&["tools", "--config", "set.toml"])
        .expect(2, "toolset `x`: `Raed` is neither a tool nor a toolset");
    let ran = place.haft(&["tools", "--deny", "Read("]).expect(2, "command line: deny rule `Read(`");
    assert_eq!(ran.out, "");
    place.haft(&["tools", "--cwd", "nowhere"]).expect(2, "--cwd nowhere: No such file");
    place.haft(&["tools", "--session", "../x"]).expect(2, "letters, digits");
    place.haft(&["tools", "-q", "-v"]).expect(2, "cannot be used with");
}

#[test]
fn bypass_without_a_sandbox_needs_a_second_word() {
    let place =
        Place::new("-- outside.txt\nx\n-- project/mode.toml\nmode = \"bypass\"\nsandbox.enabled = false\n");
    let input = json!({ "file_path": place.path("outside.txt") }).to_string();
    place.haft(&["call", "Read", &input, "--config", "mode.toml"]).expect(2, "--unsandboxed");
    place.haft(&["call", "Read", &input, "--mode", "bypass", "--unsandboxed"]).expect(0, "");
}

#[test]
fn the_workspace_is_the_marked_parent() {
    let place = Place::new("-- project/.git/HEAD\nx\n-- project/a.txt\nx\n-- project/deep/b.txt\ny\n");
    let deep = place.path("project/deep");
    let deep = deep.to_str().unwrap();
    assert_eq!(
        place.haft(&["call", "Read", r#"{"file_path":"b.txt"}"#, "--cwd", deep]).expect(0, "").out,
        "     1\ty\n"
    );
    place.haft(&["call", "Read", r#"{"file_path":"../a.txt"}"#, "--cwd", deep]).expect(0, "");
    place.haft(&["call", "Read", r#"{"file_path":"../../home"}"#, "--cwd", deep]).expect(3, "");
}

#[test]
fn without_a_home_there_is_no_place_for_results() {
    let place = Place::new("-- project/a.txt\nx\n");
    let mut command = place.command(&READ);
    let output = command
        .env_remove("HOME")
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    crate::kit::Ran::of(&output).expect(2, "set HOME or XDG_STATE_HOME");
}
