//! What a workspace brings does nothing before it is trusted, and nothing after it has changed.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::kit::Place;

const READ: [&str; 3] = ["call", "Read", r#"{"file_path":"a.txt"}"#];
const DENYING: &str = "-- project/haft.toml\npermissions.deny = [\"Read(a.txt)\"]\n-- project/a.txt\nx\n";

fn write(place: &Place, path: &str, text: &str) {
    let path = place.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Where trust is kept: one file.
fn record(place: &Place) -> std::path::PathBuf {
    fs::read_dir(place.path("state/haft/trust")).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn nothing_of_a_workspace_counts_before_it_is_trusted_and_every_command_says_so() {
    let place = Place::new(DENYING);
    for arguments in [&READ[..], &["tools"], &["explain", READ[1], READ[2]]] {
        place.haft(arguments).expect(
            0,
            "haft: the workspace's own settings do not count: not trusted yet (haft.toml); see `haft trust`",
        );
    }
    place.haft(&[&READ[..], &["-q"]].concat()).expect(0, "");
    place.haft(&["trust", "--yes"]).expect(0, "");
    let ran = place.haft(&READ).expect(3, "");
    assert!(ran.out.contains("project/haft.toml:1"), "{ran:?}");
}

#[test]
fn broken_settings_of_an_untrusted_workspace_harm_nobody_and_cannot_be_trusted() {
    let place = Place::new("-- project/haft.toml\nthis is broken\n-- project/a.txt\nx\n");
    place.haft(&READ).expect(0, "not trusted yet");
    place.haft(&["trust", "--yes"]).expect(2, "haft.toml:1: ");
    place.haft(&[&READ[..], &["--trust"]].concat()).expect(2, "haft.toml:1: ");
    write(&place, "project/haft.toml", "permissions.deny = [\"Read(\"]\n");
    place.haft(&["trust", "--yes"]).expect(2, "haft.toml:1: deny rule `Read(`");
}

#[test]
fn it_shows_everything_that_would_count_and_what_never_does() {
    let place = Place::new(
        r#"-- project/haft.toml
mode = "plan"
[permissions]
deny = [{ rule = "Read(**/.env)", reason = "keys" }]
[sandbox]
write = ["/"]
[[hooks.PreToolUse]]
matcher = "Bash"
hooks = [{ type = "command", command = "./check.sh --all | tee log" }]
-- project/.mcp.json
{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "a server"], "env": { "TOKEN": "s3cret-value" } },
  "docs": { "type": "http", "url": "https://docs.example/mcp" } } }
-- project/.haft/skills/deploy/SKILL.md
Deploys.
"#,
    );
    let ran = place.haft(&["trust"]).expect(3, "nobody is there to be asked; say --yes");
    for expected in [
        "  deny    Read(**/.env) (haft.toml:3): keys\n",
        "  sets    mode = \"plan\"\n",
        "  hook    PreToolUse Bash: ./check.sh --all | tee log\n",
        "  server  files: npx -y \"a server\" (env TOKEN)\n",
        "  server  docs: https://docs.example/mcp\n",
        "  file    .haft/skills/deploy/SKILL.md (9 bytes)\n",
        "haft.toml:5: `sandbox.write` does not count here: a workspace does not widen what processes may touch\n",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {}", ran.out);
    }
    assert!(!ran.out.contains("s3cret-value"), "{}", ran.out);
    let told = place.haft(&["trust", "--yes", "--json"]).expect(0, "").json();
    assert_eq!(
        (&told["state"], &told["counts"]["servers"][0]["env"][0]),
        (&"trusted".into(), &"TOKEN".into())
    );
    assert_eq!(told["counts"]["ignored"].as_array().unwrap().len(), 1);
    place.haft(&[&READ[..], &["-v"]].concat()).expect(1, "`sandbox.write` does not count here");
}

#[test]
fn what_does_not_show_is_written_out() {
    let place = Place::new("");
    write(&place, "project/haft.toml", "permissions.allow = [\"Bash(ls:*)\"] # \u{202e}\nmode = \"plan\"\n");
    write(
        &place,
        "project/.mcp.json",
        "{\"mcpServers\":{\"x\":{\"command\":\"a\u{200b}b\\nserver  fake\"}}}",
    );
    let ran = place.haft(&["trust"]).expect(3, "nobody is there");
    assert!(ran.out.contains(r#"  server  x: "a\u{200b}b\nserver  fake""#), "{}", ran.out);
    write(&place, "project/.mcp.json", "{\"mcpServers\":{\"x\":{\"url\":\"https://a\u{202e}b\"}}}");
    let ran = place.haft(&["trust"]).expect(3, "nobody is there");
    assert!(ran.out.contains(r"  server  x: https://a\u{202e}b"), "{}", ran.out);
}

#[test]
fn mistakes_of_a_stranger_cannot_move_the_cursor() {
    let place = Place::new("");
    write(&place, "project/haft.toml", "\"\\u001b[2J\\nhaft: all is well\" = 1\n");
    let ran = place.haft(&["trust"]).expect(2, "there is no setting");
    assert!(!ran.err.contains('\u{1b}') && ran.err.lines().count() == 1, "{ran:?}");
}

#[test]
fn a_changed_a_new_or_a_vanished_file_ends_trust_and_the_difference_is_shown() {
    let place = Place::new(DENYING);
    place.haft(&["trust", "--yes"]).expect(0, "");
    let status = |code, expected: &str| {
        let ran = place.haft(&["trust", "--status"]);
        assert!(ran.code == code && ran.out.contains(expected), "{expected}: {ran:?}");
    };
    status(0, "trusted since ");

    write(&place, "project/haft.toml", "permissions.deny = []\n");
    status(1, "haft.toml changed");
    place.haft(&READ).expect(0, "changed since it was trusted (haft.toml changed)");
    let shown = place.haft(&["trust"]).expect(3, "nobody is there").out;
    let diff = "--- a/haft.toml\n+++ b/haft.toml\n@@ -1 +1 @@\n-permissions.deny = [\"Read(a.txt)\"]\n+permissions.deny = []\n";
    assert!(shown.contains(diff), "{shown}");

    write(&place, "project/haft.toml", "permissions.deny = [\"Read(a.txt)\"]\n");
    status(0, "trusted since ");
    write(&place, "project/.haft/agents/new.md", "x\n");
    status(1, ".haft/agents/new.md new");
    place.haft(&["trust", "--yes"]).expect(0, "");
    fs::remove_file(place.path("project/.haft/agents/new.md")).unwrap();
    status(1, ".haft/agents/new.md gone");
}

#[test]
fn trust_is_for_one_place_and_can_be_taken_back() {
    let place = Place::new(&format!(
        "{DENYING}-- other/haft.toml\npermissions.deny = [\"Read(a.txt)\"]\n-- other/a.txt\nx\n"
    ));
    place.haft(&["trust", "--yes"]).expect(0, "");
    let other = place.path("other");
    place.haft(&[&READ[..], &["--cwd", other.to_str().unwrap()]].concat()).expect(0, "not trusted yet");
    let listed = place.haft(&["trust", "--list", "--json"]).expect(0, "").json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["state"]), (1, &"trusted".into()));
    place.haft(&["trust", "--revoke"]).expect(0, "");
    place.haft(&READ).expect(0, "not trusted yet");
    assert_eq!(place.haft(&["trust", "--list", "--json"]).json(), serde_json::json!([]));
}

#[test]
fn a_run_can_be_told_to_trust_and_keeps_nothing_of_it() {
    let place = Place::new(DENYING);
    place.haft(&[&READ[..], &["--trust"]].concat()).expect(3, "");
    place.haft(&READ).expect(0, "not trusted yet");
    let mut command = place.command(&READ);
    let ran = crate::kit::Ran::of(&command.env("HAFT_TRUST", "1").output().unwrap());
    ran.expect(0, "not trusted yet");
}

#[test]
fn a_store_that_cannot_be_believed_trusts_nothing() {
    let place = Place::new(DENYING);
    place.haft(&["trust", "--yes"]).expect(0, "");
    let file = record(&place);
    let good = fs::read_to_string(&file).unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for broken in
        ["{".to_owned(), good.replace("Read(a.txt)", "Read(b.txt)"), good.replace("\"form\":1", "\"form\":2")]
    {
        fs::write(&file, broken).unwrap();
        place.haft(&READ).expect(0, "cannot be believed");
    }
    fs::write(&file, &good).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    place.haft(&READ).expect(0, "others could have written it");
    place.haft(&["trust", "--yes"]).expect(0, "others could have written it");
    place.haft(&READ).expect(3, "");
}

#[test]
fn two_that_trust_at_once_leave_one_whole_word() {
    let place = Place::new(DENYING);
    let running: Vec<_> = (0..6).map(|_| place.command(&["trust", "--yes"]).spawn().unwrap()).collect();
    for child in running {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(fs::read_dir(place.path("state/haft/trust")).unwrap().count(), 1);
    place.haft(&READ).expect(3, "");
}

#[test]
fn a_workspace_with_a_link_cannot_be_trusted() {
    let place = Place::new("-- elsewhere.toml\nmode = \"plan\"\n-- project/a.txt\nx\n");
    std::os::unix::fs::symlink(place.path("elsewhere.toml"), place.path("project/haft.toml")).unwrap();
    place.haft(&READ).expect(0, "haft.toml is a link");
    place.haft(&["trust", "--yes"]).expect(2, "cannot be trusted: haft.toml is a link");
    place.haft(&[&READ[..], &["--trust"]].concat()).expect(2, "haft.toml is a link");
}

#[test]
fn tools_cannot_write_what_trust_is_about() {
    let place = Place::new("-- project/.git/HEAD\nx\n");
    for path in
        ["haft.toml", ".haft/haft.toml", ".haft/skills/x/SKILL.md", ".mcp.json", ".claude/settings.json"]
    {
        let input = serde_json::json!({ "file_path": path, "content": "x" }).to_string();
        let ran = place.haft(&["call", "Write", &input, "--mode", "accept-edits", "--allow", "Edit"]);
        assert!(ran.code == 3 && !place.path("project").join(path).exists(), "{path}: {ran:?}");
    }
}

#[test]
fn a_trusted_workspace_can_only_tighten() {
    let place = Place::new(
        "-- config/haft/haft.toml\nmode = \"dont-ask\"\n-- outside.txt\nx\n-- project/haft.toml\nmode = \"bypass\"\nsandbox.enabled = false\n-- project/a.txt\nx\n",
    );
    place.haft(&["trust", "--yes"]).expect(0, "");
    place.haft(&[&READ[..], &["-v"]].concat()).expect(0, "mode dont-ask");
    let input = serde_json::json!({ "file_path": place.path("outside.txt") }).to_string();
    place.haft(&["call", "Read", &input]).expect(3, "");
}

#[test]
fn where_there_is_nothing_to_trust_nothing_is_said() {
    let place = Place::new("-- project/a.txt\nx\n");
    place.haft(&READ).expect(0, "");
    assert_eq!(
        place.haft(&["trust"]).expect(0, "").out,
        "it brings no settings, servers, agents or skills\n"
    );
    assert_eq!(place.haft(&["trust", "--status", "--json"]).expect(0, "").json()["state"], "nothing");
}

#[test]
fn the_doctor_says_what_servers_lack() {
    let place = Place::new(
        "-- project/.mcp.json\n{\"mcpServers\":{\"a\":{\"command\":\"${TOOL:-x}\"},\"b\":{\"url\":\"https://x/${MISSING}\"}}}\n",
    );
    let servers = || place.haft(&["doctor"]).out;
    assert!(
        servers().contains("server   a: does not count: the workspace is not trusted\n"),
        "{}",
        servers()
    );
    let told = place.haft(&["doctor", "--trust"]).out;
    assert!(told.contains("trust    untrusted; counts this time, because of --trust\n"), "{told}");
    assert!(told.contains("server   a: rests") && !told.contains("does not count"), "{told}");
    let told = |flag: &[&str]| place.haft(&[&["doctor", "--json"], flag].concat()).json()["counts"].clone();
    assert_eq!((told(&[]), told(&["--trust"])), (false.into(), true.into()));
    place.haft(&["trust", "--yes"]).expect(0, "");
    assert!(
        servers().contains("server   a: rests; never asked what it has\n")
            && servers().contains("server   b: MISSING is not set")
    );
    write(&place, "project/.mcp.json", "{");
    assert!(
        servers().contains("server   ") && servers().contains(".mcp.json: EOF while parsing"),
        "{}",
        servers()
    );
}
