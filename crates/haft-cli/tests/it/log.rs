//! The journal, as the command line has it.

use std::{fs, os::unix::fs::PermissionsExt, process::Stdio};

use serde_json::{Value, json};

use crate::kit::{Place, Ran};

fn message(calls: &[(&str, &str, Value)]) -> String {
    let block = |(id, name, input): &(&str, &str, Value)| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    json!({ "role": "assistant", "content": calls.iter().map(block).collect::<Vec<_>>() }).to_string()
}

fn turn(place: &Place, calls: &[(&str, &str, Value)]) -> Ran {
    let options = ["turn", "--session", "work", "--allow", "Edit(**)", "--allow", "Bash"];
    place.haft_with(&options, &message(calls))
}

fn texts(ran: &Ran) -> Vec<String> {
    let blocks = ran.json()["content"].as_array().cloned().unwrap_or_default();
    let text = |block: &Value| match &block["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    blocks.iter().map(text).collect()
}

#[test]
fn a_turn_that_is_sent_twice_happens_once() {
    let place = Place::new("-- project/haft.toml\n");
    let calls = [
        ("toolu_1", "Bash", json!({ "command": "echo line >> lines.txt; echo done" })),
        ("toolu_2", "Read", json!({ "file_path": "haft.toml" })),
    ];
    let (first, second) = (turn(&place, &calls), turn(&place, &calls));
    assert_eq!(texts(&first), texts(&second), "{first:?} {second:?}");
    assert_eq!(fs::read_to_string(place.path("project/lines.txt")).unwrap(), "line\n");
    let other = [("toolu_1", "Bash", json!({ "command": "echo other >> lines.txt" }))];
    turn(&place, &other);
    assert_eq!(fs::read_to_string(place.path("project/lines.txt")).unwrap(), "line\nother\n");
}

#[test]
fn calls_of_an_api_without_ids_are_new_in_every_turn() {
    let place = Place::new("-- project/haft.toml\n");
    let call = json!({ "functionCall": { "name": "Bash", "args": { "command": "echo x >> lines.txt" } } });
    let message = json!({ "candidates": [{ "content": { "role": "model", "parts": [call] } }] }).to_string();
    for _ in 0..2 {
        let ran = place.haft_with(&["turn", "--session", "work", "--allow", "Bash"], &message);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert_eq!(fs::read_to_string(place.path("project/lines.txt")).unwrap(), "x\nx\n");
}

#[test]
fn calls_of_haft_call_are_new_unless_they_have_an_id() {
    let place = Place::new("-- project/haft.toml\n");
    let call = |more: &[&str]| {
        let words =
            ["call", "Bash", r#"{"command":"echo x >> lines.txt"}"#, "--session", "work", "--allow", "Bash"];
        place.haft(&[&words[..], more].concat())
    };
    for more in [&[][..], &[], &["--id", "1"], &["--id", "1"]] {
        assert_eq!(call(more).code, 0);
    }
    assert_eq!(fs::read_to_string(place.path("project/lines.txt")).unwrap().lines().count(), 3);
}

#[test]
fn what_happened_is_found_again() {
    let place = Place::new("-- project/haft.toml\n-- project/a.txt\nhello\n");
    let calls = [
        ("toolu_1", "Read", json!({ "file_path": "a.txt" })),
        ("toolu_2", "Write", json!({ "file_path": "b.txt", "content": "x" })),
        ("toolu_3", "Raed", json!({})),
    ];
    turn(&place, &calls);
    let refused =
        place.haft(&["call", "Write", r#"{"file_path":"/etc/x","content":""}"#, "--session", "other"]);
    assert_eq!(refused.code, 3);

    let log = |words: &[&str]| place.haft(&[&["log", "--json"], words].concat());
    // Calls of a turn run together: which is recorded first is chance.
    let ids = |words: &[&str]| -> Vec<String> {
        let rows = log(words).lines();
        let mut ids: Vec<String> =
            rows.iter().filter_map(|row| row["call"].as_str().map(str::to_owned)).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&["--session", "work"]), ["toolu_1", "toolu_2", "toolu_3"]);
    assert_eq!(ids(&["--tool", "Write", "--session", "work"]), ["toolu_2"]);
    assert_eq!(ids(&["--path", "a.txt"]), ["toolu_1"]);
    assert_eq!(ids(&["--path", "*.txt", "--session", "work"]), ["toolu_1", "toolu_2"]);
    assert_eq!(ids(&["--state", "refused", "--session", "work"]), ["toolu_3"]);
    assert_eq!(log(&["--verdict", "ask"]).lines().len(), 1);
    assert_eq!(log(&["--since", "1h"]).lines().len(), 4);
    assert_eq!(log(&["--until", "1h"]).lines().len(), 0);
    assert_eq!(log(&["--limit", "1"]).lines()[0]["session"], "other");

    let table = place.haft(&["log"]).out;
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    assert!(table.contains("not made") && table.contains("refused") && table.contains("done"), "{table}");

    let show = place.haft(&["log", "show", "toolu_2"]).out;
    for words in
        ["writes     /", "allow: allow rule `Edit(**)`", "\"content\": \"x\"", "session work, turn 1"]
    {
        assert!(show.contains(words), "{words} is not in {show}");
    }
    let missing = place.haft(&["log", "show", "nothing"]);
    assert_eq!((missing.code, missing.err.contains("there is no call `nothing`")), (2, true));

    let show = place.haft(&["log", "show", "toolu_3"]).out;
    assert!(show.contains("not made: unknown_tool") && show.contains("there is no tool `Raed`"), "{show}");

    let exported = place.haft(&["log", "export", "--session", "work"]).lines();
    let kinds: Vec<&str> = exported.iter().filter_map(|line| line["kind"].as_str()).collect();
    assert_eq!(kinds, ["session", "turn", "call", "call", "call"]);
    assert!(exported.iter().all(|line| line["session"] == "work"), "{exported:?}");
    assert!(exported[1]["at"].as_i64() <= exported[1]["ended"].as_i64(), "{}", exported[1]);
    let write = exported.iter().find(|call| call["call"] == "toolu_2").unwrap();
    assert_eq!((&write["turn"], &write["events"][0]["kind"]), (&json!(1), &json!("decision")));
    assert_eq!(write["result"]["is_error"], false);
    let unknown = exported.iter().find(|call| call["call"] == "toolu_3").unwrap();
    assert_eq!(unknown["result"]["is_error"], true);
    let counted = |words: &[&str]| place.haft(&[&["log", "export"], words].concat()).lines().len();
    assert_eq!(counted(&[]), 2 + 2 + 4, "sessions, turns, calls");
    assert_eq!(counted(&["--until", "1h"]), 0);
    assert_eq!(counted(&["--tool", "Write"]), 2, "a filter of calls finds nothing else");
    assert_eq!(counted(&["--limit", "3"]), 3);

    let sessions = place.haft(&["sessions", "--json"]).lines();
    assert_eq!(sessions.len(), 2);
    assert_eq!(
        (&sessions[1]["session"], &sessions[1]["calls"], &sessions[1]["changed"]),
        (&json!("work"), &json!(3), &json!(1))
    );
    let caller = &sessions[1]["caller"];
    assert_eq!((&caller["roles"], &caller["channel"]), (&json!(["owner"]), &json!("cli")), "{caller}");
    assert!(place.haft(&["sessions"]).out.contains("work"));
}

#[test]
fn what_a_command_wrote_too_much_of_is_a_spill() {
    let place = Place::new("-- project/haft.toml\n");
    turn(&place, &[("toolu_1", "Bash", json!({ "command": "seq 1 100000" }))]);
    let exported = place.haft(&["log", "export", "--tool", "Bash"]).lines();
    let events = exported[0]["events"].as_array().unwrap();
    let spill = events.iter().find(|event| event["kind"] == "spill").unwrap();
    let whole: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(spill["body"]["bytes"], whole.len(), "{spill}");
    let handle = spill["body"]["handle"].as_str().unwrap();
    assert_eq!(handle, "result:work/toolu_1");
    assert_eq!(place.haft(&["log", "result", handle]).out, whole);
}

#[test]
fn nothing_is_recorded_where_nobody_wants_it() {
    let place = Place::new("-- config/haft/haft.toml\njournal.enabled = false\n");
    place.haft(&["call", "List"]);
    assert!(!place.path("state/haft/journal.db").exists());
    let place = Place::new("");
    place.haft(&["call", "List", "--no-journal"]);
    place.haft(&["tools"]);
    assert!(!place.path("state/haft/journal.db").exists());
    assert_eq!(place.haft(&["log"]).out, "no calls are recorded that fit\n");
    assert_eq!(place.haft(&["sessions"]).out, "no sessions are recorded\n");
    place.haft(&["call", "List"]);
    assert_eq!(
        fs::metadata(place.path("state/haft/journal.db")).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_journal_that_cannot_be_written_is_said_and_the_settings_decide() {
    let place = Place::new("-- state/haft/journal.db/stands/in/the/way\n");
    let call = ["call", "Write", r#"{"file_path":"a.txt","content":"x"}"#, "--allow", "Edit(**)"];
    let warned = place.haft(&call);
    assert_eq!(warned.code, 0, "{warned:?}");
    assert!(warned.err.contains("Calls are made and not recorded"), "{}", warned.err);
    fs::create_dir_all(place.path("config/haft")).unwrap();
    fs::write(place.path("config/haft/haft.toml"), "journal.on_failure = \"refuse\"\n").unwrap();
    let refused = place.haft(&call);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.out.contains("it could not be recorded in the journal"), "{}", refused.out);
}

#[test]
fn what_is_made_unrecorded_is_made_without_undo_as_well() {
    let place = Place::new(
        "-- state/haft/journal.db/stands/in/the/way\n-- state/haft/undo/blobs\nso does this\n-- project/a.txt\nold\n",
    );
    let calls = [
        ("1", "Read", json!({ "file_path": "a.txt" })),
        ("2", "Edit", json!({ "file_path": "a.txt", "old_string": "old", "new_string": "new" })),
        ("3", "Bash", json!({ "command": "cp a.txt b.txt" })),
    ];
    let ran = turn(&place, &calls);
    assert_eq!(fs::read_to_string(place.path("project/b.txt")).unwrap(), "new\n", "{ran:?}");
    assert!(ran.err.contains("cannot be looked up, recalled or undone"), "{}", ran.err);
    fs::remove_dir_all(place.path("state/haft/journal.db")).unwrap();
    let ran = turn(&place, &[("4", "Bash", json!({ "command": "rm b.txt" }))]);
    assert!(place.path("project/b.txt").exists(), "{ran:?}");
    assert!(texts(&ran)[0].contains("With `undo.on_failure = \"warn\"` it is done without undo"), "{ran:?}");
}

#[test]
fn a_damaged_journal_is_put_aside_and_haft_goes_on() {
    let place = Place::new(
        "-- state/haft/journal.db\nthis is no database at all, and long enough to be taken for one\n",
    );
    fs::set_permissions(place.path("state/haft/journal.db"), fs::Permissions::from_mode(0o600)).unwrap();
    let ran = place.haft(&["call", "List"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("is damaged; it was put aside as"), "{}", ran.err);
    assert_eq!(place.haft(&["log", "--json"]).lines().len(), 1);
}

#[test]
fn a_place_that_is_missing_is_said() {
    let place = Place::new("");
    for words in [&["log"][..], &["call", "List"]] {
        let mut command = place.command(words);
        command.env_remove("HOME").env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        let ran = Ran::of(&command.stdin(Stdio::null()).output().unwrap());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("set HOME or XDG_STATE_HOME"), "{}", ran.err);
    }
}

/// Runs a script where anybody may mount something. Where nobody may, that is printed, and the test has nothing to do.
#[expect(clippy::print_stderr, reason = "whoever reads a test's output learns what was not tested")]
fn with_mounts(place: &Place, script: &str) -> Option<Ran> {
    let command = place.command(&[]);
    let environment: Vec<_> =
        command.get_envs().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect();
    #[expect(clippy::disallowed_methods, reason = "the binary is what is tested")]
    let mut unshare = std::process::Command::new("unshare");
    unshare
        .args(["-rm", "sh", "-c", script])
        .current_dir(place.path("project"))
        .env_clear()
        .envs(environment);
    unshare.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HAFT", env!("CARGO_BIN_EXE_haft"));
    let why = match unshare.output() {
        Ok(output) => {
            let ran = Ran::of(&output);
            if ran.code != 77 && !ran.err.contains("unshare") {
                return Some(ran);
            }
            ran.err
        }
        Err(err) => err.to_string(),
    };
    eprintln!("skipped: nothing can be mounted here: {}", why.trim());
    None
}

/// How many lines of JSON are in it.
fn rows(ran: &Ran) -> usize {
    ran.out.lines().filter(|line| line.starts_with('{')).count()
}

#[test]
fn a_state_directory_that_cannot_be_written_is_said_once_and_what_is_there_can_be_read() {
    let place = Place::new("-- project/.git/HEAD\n");
    place.haft(&["call", "List"]);
    let script = r#"
        mount --bind $XDG_STATE_HOME $XDG_STATE_HOME && mount -o remount,ro,bind $XDG_STATE_HOME || exit 77
        $HAFT call Write '{"file_path":"a.txt","content":"x"}' --allow 'Edit(**)'
        $HAFT log --json"#;
    let Some(ran) = with_mounts(&place, script) else { return };
    assert!(place.path("project/a.txt").exists() && ran.out.contains("created"), "{ran:?}");
    assert_eq!(ran.err.matches("Read-only file system").count(), 1, "{}", ran.err);
    assert_eq!(rows(&ran), 1, "{ran:?}");
}

/// A disk of its own, which is small.
#[test]
fn a_full_disk_is_said_and_nothing_that_was_recorded_is_lost() {
    let place = Place::new("-- project/.git/HEAD\n-- project/refuse.toml\njournal.on_failure = \"refuse\"\n");
    fs::create_dir_all(place.path("state")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=400k none $XDG_STATE_HOME || exit 77
        mkdir -m 700 $XDG_STATE_HOME/haft
        $HAFT call Write '{"file_path":"a.txt","content":"x"}' --allow 'Edit(**)' --session work >&2 || exit 1
        head -c 390k /dev/zero > $XDG_STATE_HOME/filler 2>/dev/null
        $HAFT call Write '{"file_path":"b.txt","content":"x"}' --allow 'Edit(**)' --session work --config refuse.toml
        echo "code $?"
        rm $XDG_STATE_HOME/filler
        $HAFT log --json --session work"#;
    let Some(ran) = with_mounts(&place, script) else { return };
    assert!(
        ran.out.contains("could not be recorded in the journal") && ran.out.contains("code 1"),
        "{ran:?}"
    );
    assert!(!place.path("project/b.txt").exists() && place.path("project/a.txt").exists());
    assert_eq!(rows(&ran), 1, "{ran:?}");
}

/// The settings say that calls go on: this one does, says why nobody will find it, and the next is recorded again.
#[test]
fn a_call_on_a_full_disk_is_made_and_its_result_says_that_it_is_not_recorded() {
    let settings = "journal.on_failure = \"warn\"\nundo.on_failure = \"warn\"\n";
    let place = Place::new(&format!("-- project/.git/HEAD\n-- project/warn.toml\n{settings}"));
    fs::create_dir_all(place.path("state")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=1m none $XDG_STATE_HOME || exit 77
        mkdir -m 700 $XDG_STATE_HOME/haft
        $HAFT call Write '{"file_path":"a.txt","content":"x"}' --allow 'Edit(**)' --session work >&2 || exit 1
        head -c 2m /dev/zero > $XDG_STATE_HOME/filler 2>/dev/null
        $HAFT call Write '{"file_path":"b.txt","content":"x"}' --allow 'Edit(**)' --session work --config warn.toml --json
        echo "code $?"
        rm $XDG_STATE_HOME/filler
        $HAFT call Write '{"file_path":"c.txt","content":"x"}' --allow 'Edit(**)' --session work >&2
        $HAFT log --session work --json"#;
    let Some(ran) = with_mounts(&place, script) else { return };
    assert!(ran.out.contains("code 0") && place.path("project/b.txt").exists(), "{ran:?}");
    assert!(ran.out.contains("this call was not recorded: "), "{ran:?}");
    assert!(ran.err.contains("Calls are made and not recorded"), "{ran:?}");
    let log = ran.out.split("code 0").nth(1).unwrap();
    assert!(log.contains("a.txt") && log.contains("c.txt") && !log.contains("b.txt"), "{log}");
}

#[test]
fn what_a_command_made_is_found_by_its_path_however_that_is_written() {
    let place = Place::new("-- project/.git/HEAD\n");
    turn(&place, &[("toolu_1", "Bash", json!({ "command": "echo made > b.txt" }))]);
    for path in ["b.txt", ".", "./b.txt", "../project/b.txt", "*.txt"] {
        assert_eq!(place.haft(&["log", "--json", "--path", path]).lines().len(), 1, "{path}");
    }
    assert_eq!(place.haft(&["sessions", "--json"]).lines()[0]["changed"], 1);
    assert_eq!(place.haft(&["sessions", "--json"]).lines()[0]["mode"], "default");
}

#[test]
fn a_large_result_is_found_by_its_handle_and_by_its_call() {
    let place = Place::new("-- project/.git/HEAD\n");
    turn(&place, &[("toolu_1", "Bash", json!({ "command": "seq 1 200000" }))]);
    for wanted in ["result:work/toolu_1", "1", "toolu_1"] {
        let ran = place.haft(&["log", "result", wanted]);
        assert!(ran.code == 0 && ran.out.ends_with("199999\n200000\n"), "{wanted}: {}", ran.err);
    }
    turn(&place, &[("toolu_2", "Bash", json!({ "command": "echo small" }))]);
    let small = place.haft(&["log", "result", "toolu_2"]);
    assert!(small.code == 2 && small.err.contains("was not large"), "{small:?}");
    let gone = place.haft(&["log", "result", "result:work/other"]);
    assert!(gone.code == 2 && gone.err.contains("is not kept any more"), "{gone:?}");
}

#[test]
fn what_a_session_knew_is_forgotten_with_its_calls() {
    let place = Place::new(
        "-- project/.git/HEAD\n-- state/haft/sessions/old.json\n{}\n-- state/haft/sessions/young.json\n{}\n",
    );
    let (old, young) =
        (place.path("state/haft/sessions/old.json"), place.path("state/haft/sessions/young.json"));
    let day = std::time::Duration::from_secs(86_400);
    let before = std::time::SystemTime::now() - day * 100;
    fs::File::options().write(true).open(&old).unwrap().set_modified(before).unwrap();
    place.haft(&["call", "List", "--session", "work"]);
    assert!(!old.exists() && young.exists(), "what nobody came back to for 90 days is gone");
    assert!(place.path("state/haft/sessions/work.json").exists());
}

#[test]
fn a_damaged_journal_that_is_only_read_says_what_becomes_of_it() {
    let place = Place::new(
        "-- state/haft/journal.db\nthis is no database at all, and long enough to be taken for one\n",
    );
    let ran = place.haft(&["log"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("is damaged") && ran.err.contains("puts it aside"), "{}", ran.err);
}
