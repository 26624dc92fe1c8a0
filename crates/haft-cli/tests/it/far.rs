//! Many processes, one session: no call is made twice, nothing is lost, and everybody gets every result.
//!
//! The calls append a line each to a file, which is then compared with what was said. `HAFT_FAR=10x200` makes it ten processes
//! with two hundred calls (`cargo xtask far`).

use std::{
    collections::BTreeMap,
    fs,
    process::{Child, Command},
    time::Duration,
};

use haft_testkit::{Objects, Postgres};
use serde_json::{Value, json};

use crate::{
    kit::{Place, Ran},
    pty::Person,
};

const PROMPT: &str = "or `n` and a reason: ";

/// How many processes, and how many calls.
fn size() -> (usize, usize) {
    let given = std::env::var("HAFT_FAR").ok();
    let parsed = given.as_deref().and_then(|given| {
        let (processes, calls) = given.split_once('x')?;
        Some((processes.parse().ok()?, calls.parse().ok()?))
    });
    parsed.unwrap_or((10, 12))
}

/// Each call adds its own line to a file, if it is made.
fn message(calls: usize) -> Value {
    let call = |n: usize| {
        json!({ "type": "tool_use", "id": format!("call_{n}"), "name": "Bash",
                "input": { "command": format!("echo {n} >> made; echo did {n}") } })
    };
    json!({ "role": "assistant", "content": (0..calls).map(call).collect::<Vec<_>>() })
}

const OPTIONS: [&str; 8] =
    ["turn", "message.json", "--session", "shared", "--allow", "Bash", "--mode", "accept-edits"];

fn turn(place: &Place, environment: &[(&str, String)]) -> Child {
    let mut command = place.command(&OPTIONS);
    command.envs(environment.iter().map(|(name, value)| (*name, value))).spawn().unwrap()
}

/// What the process got for each call.
fn results(ran: &Ran) -> BTreeMap<String, String> {
    let answer = ran.json();
    let results = answer["content"].as_array().unwrap_or_else(|| panic!("{ran:?}"));
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    results.iter().map(|one| (one["tool_use_id"].as_str().unwrap().to_owned(), text(one))).collect()
}

fn made(place: &Place) -> Vec<usize> {
    let text = fs::read_to_string(place.path("project/made")).unwrap_or_default();
    let mut made: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    made.sort_unstable();
    made
}

fn hammer(environment: &[(&str, String)]) {
    let (processes, calls) = size();
    let place = Place::new("");
    place.files.write("project/message.json", message(calls).to_string().as_bytes());
    let all: Vec<Child> = (0..processes).map(|_| turn(&place, environment)).collect();
    for child in all {
        let ran = Ran::of(&child.wait_with_output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
        let expected: BTreeMap<_, _> =
            (0..calls).map(|n| (format!("call_{n}"), format!("did {n}\n"))).collect();
        let got = results(&ran);
        assert_eq!(got.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
        for (id, text) in &expected {
            assert!(got[id].contains(text.trim()), "{id}: {}", got[id]);
        }
    }
    assert_eq!(made(&place), (0..calls).collect::<Vec<_>>(), "each call is made once");
    let log = log(&place, environment);
    let finished = log.iter().filter(|call| call["state"] == "finished").count();
    assert_eq!((log.len(), finished), (calls, calls), "{log:?}");
}

fn log(place: &Place, environment: &[(&str, String)]) -> Vec<Value> {
    let mut command: Command = place.command(&["log", "--json", "--session", "shared", "--limit", "10000"]);
    let output = command.envs(environment.iter().map(|(name, value)| (*name, value))).output().unwrap();
    Ran::of(&output).lines()
}

#[test]
fn processes_that_share_a_server_make_each_call_once() {
    let Some(server) = Postgres::shared() else { return };
    hammer(&[("HAFT_STORE_URL", server.database())]);
}

#[test]
fn processes_that_share_a_file_make_each_call_once() {
    hammer(&[]);
}

/// Settings with a short lease.
fn place_with_lease(seconds: u32) -> Place {
    let place = Place::new("");
    let settings = format!("[store]\njournal = \"postgres\"\nlease_s = {seconds}\n");
    place.files.write("config/haft/haft.toml", settings.as_bytes());
    place
}

fn one_call(command: &str) -> Value {
    json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "call_0", "name": "Bash", "input": { "command": command } }] })
}

#[test]
fn a_call_of_a_process_that_was_killed_is_known_to_be_cut_off_when_its_lease_has_run_out() {
    let Some(server) = Postgres::shared() else { return };
    let environment = [("HAFT_STORE_URL", server.database())];
    let place = place_with_lease(2);
    let message = one_call("echo 0 >> made; sleep 60");
    place.files.write("project/message.json", message.to_string().as_bytes());
    let mut killed = turn(&place, &environment);
    until(|| made(&place) == [0]);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The next one waits for the lease, is told, and makes nothing.
    let ran = Ran::of(&turn(&place, &environment).wait_with_output().unwrap());
    let got = &results(&ran)["call_0"];
    assert!(got.contains("was interrupted when this call was first made"), "{got}");
    assert_eq!(made(&place), [0]);
}

#[test]
fn a_server_that_comes_back_is_waited_for() {
    let Some(server) = Postgres::own() else { return };
    let environment = [("HAFT_STORE_URL", server.database())];
    let place = Place::new("");
    place.files.write("project/message.json", message(30).to_string().as_bytes());
    let child = turn(&place, &environment);
    until(|| made(&place).len() >= 3);
    server.halt();
    std::thread::sleep(Duration::from_millis(300));
    server.resume();
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!((ran.code, results(&ran).len()), (0, 30), "{ran:?}");
    assert_eq!(made(&place), (0..30).collect::<Vec<_>>());
    let finished = log(&place, &environment).iter().filter(|call| call["state"] == "finished").count();
    assert_eq!(finished, 30);
}

#[test]
fn a_server_that_is_away_is_said_and_never_waited_for_without_end() {
    let place = Place::new("");
    place.files.write("project/message.json", one_call("echo 0 >> made").to_string().as_bytes());
    let away = [("HAFT_STORE_URL", "postgres://nobody:s3cret@127.0.0.1:1/haft".to_owned())];
    let ran = Ran::of(&turn(&place, &away).wait_with_output().unwrap());
    assert!(ran.err.contains("PostgreSQL (haft at 127.0.0.1) does not answer: "), "{ran:?}");
    assert!(!ran.err.contains("s3cret"), "{ran:?}");
    assert_eq!(made(&place), [0], "journal.on_failure is warn");
    place.files.write("config/haft/haft.toml", b"journal.on_failure = \"refuse\"");
    let ran = Ran::of(&turn(&place, &away).wait_with_output().unwrap());
    assert!(results(&ran)["call_0"].contains("could not be recorded in the journal"), "{ran:?}");
    assert_eq!(made(&place), [0]);
}

#[test]
fn doctor_says_where_calls_are_recorded_and_whether_it_answers() {
    let Some(server) = Postgres::shared() else { return };
    let place = Place::new("");
    let doctor = |address: &str| {
        let mut command = place.command(&["doctor", "--json"]);
        let output = command.env("HAFT_STORE_URL", address).output().unwrap();
        Ran::of(&output).json()["journal"].clone()
    };
    let told = doctor(&server.database());
    assert_eq!(told["works"], true, "{told}");
    assert!(told["where"].as_str().unwrap().starts_with("PostgreSQL (test"), "{told}");
    let told = doctor("postgres://me:s3cret@127.0.0.1:1/haft");
    assert_eq!(told["works"], false);
    assert!(!told.to_string().contains("s3cret"), "{told}");
}

#[track_caller]
fn until(holds: impl Fn() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never held");
}

#[test]
fn a_line_is_sealed_and_the_servers_certificate_is_checked() {
    let Some((_server, address, certificate)) = Postgres::sealed() else { return };
    let place = Place::new("");
    let doctor = |address: &str, authorities: Option<&std::path::Path>| {
        let mut command = place.command(&["doctor", "--json"]);
        command.env("HAFT_STORE_URL", address).envs(authorities.map(|path| ("SSL_CERT_FILE", path)));
        Ran::of(&command.output().unwrap()).json()["journal"].clone()
    };
    let sealed = format!("{address}?sslmode=require");
    let told = doctor(&sealed, Some(&certificate));
    assert_eq!(told["works"], true, "{told}");
    let told = doctor(&sealed, None);
    assert_eq!(told["works"], false, "{told}");
    assert!(told["problem"].as_str().unwrap().contains("certificate"), "{told}");
    // By another name it is another server.
    let told = doctor(&sealed.replace("localhost", "127.0.0.1"), Some(&certificate));
    assert_eq!(told["works"], false, "{told}");
}

#[test]
fn what_a_session_has_read_on_one_machine_it_may_change_on_another() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let place = Place::new("-- project/a.txt\none\n");
    let call = |state: &str, tool: &str, input: Value| {
        let input = input.to_string();
        let words = ["call", tool, &input, "--session", "shared", "--mode", "accept-edits"];
        let mut command = place.command(&words);
        let command = command.env("HAFT_STORE_URL", &address).env("XDG_STATE_HOME", place.path(state));
        Ran::of(&command.output().unwrap())
    };
    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" });
    let ran = call("here", "Edit", edit.clone());
    assert_eq!(ran.code, 1, "nobody has read it: {ran:?}");
    call("here", "Read", json!({ "file_path": "a.txt" })).expect(0, "");
    call("there", "Edit", edit).expect(0, "");
    assert_eq!(place.files.text("project/a.txt"), "two\n");
}

/// A machine that records on this server.
fn machine(files: &str, address: &str) -> Place {
    let place = Place::new(files);
    let settings = format!("[store]\njournal = {address:?}\n");
    place.files.write("config/haft/haft.toml", settings.as_bytes());
    place
}

#[test]
fn what_a_person_always_wants_holds_on_every_machine() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let (here, there) = (machine("", &address), machine("", &address));
    let input = json!({ "command": "touch made" }).to_string();
    let verdict = || there.haft(&["explain", "Bash", &input, "--json"]).expect(0, "").json();
    assert_eq!(verdict()["verdict"], "ask");
    let mut person = Person::at(&here, &["call", "Bash", &input], "");
    let shown = person.sees(PROMPT);
    assert!(shown.contains("in every workspace; written to PostgreSQL (test"), "{shown}");
    person.types("a\n");
    assert_eq!(person.ends().code, 0);
    let told = verdict();
    assert_eq!(
        (&told["verdict"], &told["trace"]["rule"]["origin"]),
        (&json!("allow"), &json!("the shared store")),
        "{told}"
    );
    let settings = here.files.text("config/haft/haft.toml");
    assert!(!settings.contains("touch"), "it is kept in one place: {settings}");
}

#[test]
fn what_a_person_granted_a_session_holds_where_the_session_goes_on() {
    let Some(server) = Postgres::shared() else { return };
    let place = machine("", &server.database());
    let words = ["call", "Bash", r#"{"command":"echo x >> made"}"#, "--session", "shared"];
    let call = |session: &str| {
        let mut command = place.command(&[&words[..4], &[session]].concat());
        Ran::of(&command.env("XDG_STATE_HOME", place.path("there")).output().unwrap())
    };
    assert_eq!(call("shared").code, 3, "nobody is there to be asked");
    let mut person = Person::at(&place, &words, "");
    person.sees(PROMPT);
    person.types("s\n");
    assert_eq!(person.ends().code, 0);
    call("shared").expect(0, "");
    assert_eq!(call("another").code, 3, "it was granted to one session");
    assert_eq!(place.files.text("project/made"), "x\nx\n");
}

#[test]
fn what_one_machine_pins_or_accepts_the_others_know() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let saying = |words: &str| json!({ "name": "mcp__notes__add", "title": "add", "description": words, "input": {}, "output": null, "annotations": {} });
    let pins = json!({ "form": 1, "tools": { "notes": { "add": {
        "since": 1_700_000_000, "accepted": saying("Adds."), "offered": saying("Adds!") } } } });
    let here = machine(&format!("-- state/haft/pins.json\n{pins}\n"), &address);
    let there = machine("", &address);
    let state = |place: &Place| {
        let told = place.haft(&["pin", "--json"]).expect(0, "").json();
        told[0]["state"].as_str().map(str::to_owned)
    };
    assert_eq!(state(&there), None);
    assert_eq!(state(&here).as_deref(), Some("quarantined"));
    assert_eq!(state(&there).as_deref(), Some("quarantined"), "the first that are there become everybody's");
    there.haft(&["pin", "--accept", "mcp__notes__add"]).expect(0, "");
    assert_eq!(state(&here).as_deref(), Some("pinned"));
    there.haft(&["pin", "--remove", "mcp__notes__add"]).expect(0, "");
    assert_eq!(state(&here), None);
}

#[test]
fn pins_hold_when_the_server_is_away() {
    let pins = json!({ "form": 1, "tools": { "notes": { "add": { "since": 1_700_000_000, "accepted": {
        "name": "mcp__notes__add", "title": "", "description": "", "input": {}, "output": null, "annotations": {} } } } } });
    let away = "postgres://nobody@127.0.0.1:1/haft";
    let place = machine(&format!("-- state/haft/pins.json\n{pins}\n"), away);
    let ran = place.haft(&["pin", "--json"]).expect(0, "pins are those that were last seen here");
    assert_eq!(ran.json()[0]["state"], "pinned");
    let ran = place.haft(&["pin", "--remove", "mcp__notes__add"]);
    assert!(ran.code != 0 && ran.err.contains("does not answer"), "{ran:?}");
}

#[test]
fn a_large_result_that_another_machine_kept_is_read_by_its_path() {
    let Some(server) = Objects::shared() else { return };
    server.bucket("haft-far");
    let place = Place::new("");
    let settings =
        b"store.blobs = \"s3://haft-far/test\"\nlimits.result_bytes = 500\nlimits.preview_bytes = 100\n";
    place.files.write("config/haft/haft.toml", settings);
    let call = |tool: &str, input: Value| {
        let input = input.to_string();
        let mut command = place.command(&["call", tool, &input, "--session", "shared", "--allow", "Bash"]);
        Ran::of(&command.envs(server.environment()).output().unwrap()).expect(0, "")
    };
    call("Bash", json!({ "command": "seq 1 2000" }));
    let kept = place.path("state/haft/results/shared");
    let path = fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read_to_string(&path).unwrap().ends_with("\n2000"));
    // As on a machine that has never seen it.
    fs::remove_dir_all(&kept).unwrap();
    let shown = call("Read", json!({ "file_path": path, "offset": 1999, "limit": 2 }));
    assert!(shown.out.contains("2000"), "{shown:?}");
}
