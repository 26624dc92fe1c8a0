//! Settings, options, and where the workspace is.

use serde_json::json;

use crate::kit::{Place, Ran};

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
fn a_figure_that_cannot_be_is_refused_in_plain_words() {
    for wrong in ["0", "-1"] {
        let place = Place::new(&format!("-- config/haft/haft.toml\n[journal]\nmax_mb = {wrong}\n"));
        let words =
            format!("haft.toml:2: invalid value: integer `{wrong}`, expected a whole number from 1 on");
        place.haft(&["log"]).expect(2, &words);
    }
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

/// Runs it under these managed settings, which only a debug build lets a test name.
fn managed(place: &Place, arguments: &[&str]) -> Ran {
    let mut command = place.command(arguments);
    Ran::of(&command.env("HAFT_MANAGED_SETTINGS", place.path("managed.toml")).output().unwrap())
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build reads /etc/haft/haft.toml and nothing else")]
fn managed_settings_cannot_be_loosened() {
    let place = Place::new(
        "-- managed.toml\nforbid_modes = [\"auto\"]\nmanaged_rules_only = true\nsandbox.enabled = true\n\
         permissions.ask = [\"Read(a.txt)\"]\n-- config/haft/haft.toml\npermissions.allow = [\"Read\"]\n\
         sandbox.enabled = false\nforbid_modes = [\"bypass\"]\n-- project/a.txt\nx\n",
    );
    managed(&place, &[&READ[..], &["--mode", "auto"]].concat()).expect(2, "forbid the mode auto");
    managed(&place, &[&READ[..], &["--mode", "bypass", "--unsandboxed"]].concat())
        .expect(2, "forbid the mode bypass");
    managed(&place, &[&READ[..], &["--unsandboxed"]].concat()).expect(2, "the settings require a sandbox");
    for flags in [&[][..], &["--allow", "Read(a.txt)"]] {
        managed(&place, &[&READ[..], flags].concat()).expect(3, "");
    }
    managed(&place, &[&READ[..], &["-v"]].concat())
        .expect(3, "haft.toml:1: allow rule `Read` does not count");
    managed(&place, &[&READ[..], &["-v", "--allow", "Read"]].concat()).expect(3, "--allow does not count");
    place.haft(&READ).expect(0, "");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build reads /etc/haft/haft.toml and nothing else")]
fn what_is_managed_to_be_asked_no_other_layer_allows() {
    let place = Place::new(
        "-- managed.toml\npermissions.ask = [\"Read(a.txt)\"]\n-- config/haft/haft.toml\n\
         models.\"*\".permissions.allow = [\"Read(a.txt)\"]\n-- project/a.txt\nx\n",
    );
    managed(&place, &[&READ[..], &["--model", "m"]].concat()).expect(3, "");
    // The same question of the user is answered by the earlier layer.
    let asking = [&READ[..], &["--model", "m", "--ask", "Read(a.txt)"]].concat();
    place.haft(&asking).expect(0, "");
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "a release build reads /etc/haft/haft.toml and nothing else")]
fn managed_settings_that_cannot_be_read_stop_everything() {
    let place = Place::new("-- managed.toml\ndenny = []\n-- project/a.txt\nx\n");
    managed(&place, &READ).expect(2, "managed.toml:1: there is no setting `denny`");
}

#[test]
fn layers_and_roles_choose_the_rules() {
    let place = Place::new(
        "-- config/haft/haft.toml\n[models.\"small-*\".permissions]\ndeny = [\"Read(a.txt)\"]\n[agents.reviewer.permissions]\n\
         deny = [\"Read(a.txt)\"]\n[groups.guest.permissions]\ndeny = [\"Read(a.txt)\"]\n[permissions]\n\
         deny = [{ rule = \"Read(a.txt)\", reason = \"not for interns\", roles = [\"intern\"], except_roles = [\"owner\"] }]\n\
         -- project/a.txt\nx\n",
    );
    let code = |arguments: &[&str]| place.haft(&[&READ, arguments].concat()).code;
    assert_eq!([code(&[]), code(&["--model", "large-1"]), code(&["--agent", "coder"])], [0; 3]);
    assert_eq!(
        [code(&["--model", "small-1"]), code(&["--agent", "reviewer"]), code(&["--role", "guest"])],
        [3; 3]
    );
    assert_eq!([code(&["--role", "intern"]), code(&["--role", "intern", "--role", "owner"])], [3, 0]);
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
