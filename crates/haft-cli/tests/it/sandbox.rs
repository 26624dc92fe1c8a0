//! `haft sandbox` and `haft doctor`.

use std::{
    fs,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::kit::Place;

#[test]
fn the_commands_own_code_is_the_answer() {
    let place = Place::new("");
    assert_eq!(place.haft(&["sandbox", "--", "sh", "-c", "echo out; exit 7"]).expect(7, "").out, "out\n");
    place.haft(&["sandbox", "--", "sh", "-c", "kill -9 $$"]).expect(137, "");
}

#[test]
fn only_what_was_given_is_changed() {
    let place = Place::new(
        "-- project/a.txt
         old
         -- project/sub/b.txt
         old",
    );
    let script = "echo new > sub/b.txt; echo new > a.txt";
    let ran = place.haft(&["sandbox", "--write", "sub", "--", "sh", "-c", script]);
    assert!(ran.err.contains("Read-only file system"), "{}", ran.err);
    assert_eq!(fs::read_to_string(place.path("project/sub/b.txt")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(place.path("project/a.txt")).unwrap().trim(), "old");
}

#[test]
fn what_cannot_be_confined_as_asked_is_not_run() {
    let place = Place::new("");
    for (arguments, why) in [
        (&["sandbox", "--write", "none", "--", "touch", "x"][..], "cannot open for writing"),
        (&["sandbox", "--network", "off", "docs.rs", "--", "touch", "x"], "not several of them"),
        (&["sandbox", "--network", "https://docs.rs", "--", "touch", "x"], "is no host"),
        (&["sandbox", "--", "no-such-program"], "could not be started"),
        (&["sandbox"], "<CMD>"),
    ] {
        place.haft(arguments).expect(2, why);
    }
}

#[test]
fn the_doctor_says_which_level_there_is() {
    let place = Place::new("");
    assert!(place.haft(&["doctor"]).out.starts_with("sandbox  "));
    assert!(place.haft(&["doctor", "--json"]).out.starts_with("{\"sandbox\":{\"works\":"));
}

#[test]
fn the_doctor_says_which_bash_runs_commands_and_which_model_would_be_asked() {
    let place = Place::new("");
    let told = place.haft(&["doctor"]).out;
    assert!(told.contains("\nshell    /"), "{told}");
    assert!(
        told.contains("\nmodel    no model is configured; there are three ways to name one: · a key"),
        "{told}"
    );
    fs::write(place.path("m.toml"), "[model]\nname = \"m\"\nbase_url = \"http://127.0.0.1:1\"\n").unwrap();
    let told = place.haft(&["doctor", "--json", "--config", "../m.toml"]).json();
    assert_eq!(told["model"], json!({ "configured": true, "name": "m", "dialect": "openai" }));
}

/// The processes whose command line has this word.
fn processes_with(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let parts = |line: Vec<u8>| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes());
    lines.filter(|line| parts(line.clone())).count()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what} does not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn when_the_runtime_is_killed_nothing_it_started_goes_on_and_nothing_is_left_behind() {
    let place = Place::new("");
    // A number that nobody else sleeps for.
    let seconds = format!("9{}", std::process::id());
    let script = format!("(setsid sh -c 'trap \"\" TERM HUP; sleep {seconds}; :' &); sleep {seconds}; :");
    let mut command = place.command(&["sandbox", "--write", ".", "--", "sh", "-c", &script]);
    let mut runtime = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_until("the start", || processes_with(&seconds) == 2);
    runtime.kill().unwrap();
    runtime.wait().unwrap();
    wait_until("the end", || processes_with(&seconds) == 0);
    let left = || fs::read_dir(place.path("project")).unwrap().count();
    wait_until("tidying", || left() == 0);
}
