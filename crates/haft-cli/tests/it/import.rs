//! `haft trust --import`.

use crate::kit::Place;

const SETTINGS: &str = r#"-- project/.claude/settings.json
{ "permissions": { "allow": ["Bash(npm run test:*)", "Bash(a * b)"], "deny": ["Read(.env)"] },
  "hooks": { "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "./check.sh" }] }] },
  "env": { "A": "b" } }
-- project/.env
KEY=1
"#;

#[test]
fn what_is_printed_says_the_same_and_what_is_not_said_is_told() {
    let place = Place::new(SETTINGS);
    let ran = place.haft(&["trust", "--import"]).expect(0, "allow rule `Bash(a * b)` cannot be said here");
    assert!(ran.err.contains("`env` has no counterpart here"), "{ran:?}");
    assert!(ran.out.contains("deny = [\n  \"Read(**/.env)\",\n]"), "{ran:?}");
    assert!(!place.path("project/haft.toml").exists());
}

#[test]
fn what_is_written_holds_once_it_is_trusted() {
    let place = Place::new(SETTINGS);
    let read = ["call", "Read", r#"{"file_path":".env"}"#];
    place.haft(&["trust", "--import", "--write"]).expect(0, "`env` has no counterpart here");
    place.haft(&read).expect(0, "not trusted yet");
    place.haft(&["trust", "--yes"]).expect(0, "");
    place.haft(&read).expect(3, "");
    place.haft(&["trust", "--import", "--write"]).expect(2, "haft.toml: File exists");
}

#[test]
fn a_deny_that_cannot_be_said_is_never_lost_in_silence() {
    let place =
        Place::new("-- project/.claude/settings.json\n{\"permissions\":{\"deny\":[\"Bash(curl* | sh)\"]}}\n");
    place.haft(&["trust", "--import"]).expect(1, "deny rule `Bash(curl* | sh)` cannot be said here");
    place.haft(&["trust", "--import", "--write"]).expect(2, "nothing is written");
    assert!(!place.path("project/haft.toml").exists());
}

#[test]
fn files_that_are_none_are_exit_2() {
    Place::new("").haft(&["trust", "--import"]).expect(2, "there is no .claude/settings.json");
    let place = Place::new("-- project/.claude/settings.json\n{\"permissions\":{\"deny\":\"Bash\"}}\n");
    place.haft(&["trust", "--import"]).expect(2, "settings.json: `permissions.deny` is a list of texts");
}
