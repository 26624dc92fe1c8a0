//! `haft call Bash`: commands from the command line.

use std::{fs, os::unix::fs::PermissionsExt, process::Command, time::Duration};

use crate::kit::{Place, Ran};

fn runs(argument: &str) -> bool {
    let lines = fs::read_dir("/proc").unwrap().flatten().map(|entry| fs::read(entry.path().join("cmdline")));
    lines.flatten().any(|line| line == format!("sleep\0{argument}\0").as_bytes())
}

#[test]
fn a_command_runs_where_it_is_allowed() {
    let place = Place::new("-- a.txt\nx\n");
    let touch = r#"{"command":"touch made; echo from bash; exit 3"}"#;
    place.haft(&["call", "Bash", touch, "-q"]).expect(3, "");
    assert!(!place.path("project/made").exists());
    let ran = place.haft(&["call", "Bash", touch, "--allow", "Bash"]).expect(1, "");
    assert_eq!(ran.out, "from bash\n[exit code 3]\n");
}

#[test]
fn a_command_that_only_looks_needs_no_permission_and_could_not_do_more() {
    let place = Place::new("-- project/a.txt\nx\n");
    let ran =
        place.haft(&["call", "Bash", r#"{"command":"cat a.txt | wc -l && pwd >/dev/null"}"#]).expect(0, "");
    assert_eq!(ran.out, "1\n");
    // Nobody knows what `sh` does with a script that comes in, and nobody is there to be asked.
    place.haft(&["call", "Bash", r#"{"command":"cat a.txt | sh"}"#, "-q"]).expect(3, "");
}

#[test]
fn a_program_of_the_workspace_is_not_taken_for_one_of_the_system() {
    let place = Place::new("-- project/a.txt\nx\n-- project/bin/cat\n#!/bin/sh\necho fake\n");
    let own = place.path("project/bin");
    fs::set_permissions(own.join("cat"), fs::Permissions::from_mode(0o755)).unwrap();
    let cat = r#"{"command":"cat a.txt"}"#;
    for first in [own.to_str().unwrap(), "bin"] {
        let path = format!("{first}:/usr/local/bin:/usr/bin:/bin");
        let run =
            |arguments: &[&str]| Ran::of(&place.command(arguments).env("PATH", &path).output().unwrap());
        run(&["call", "Bash", cat]).expect(3, "");
        run(&["call", "Bash", r#"{"command":"env cat a.txt"}"#]).expect(3, "");
        let looks = r#"{"command":"head -1 a.txt; echo $PATH"}"#;
        assert_eq!(run(&["call", "Bash", looks]).expect(0, "").out, "x\n/usr/local/bin:/usr/bin:/bin\n");
        assert_eq!(run(&["call", "Bash", cat, "--allow", "Bash(cat:*)"]).expect(0, "").out, "fake\n");
    }
}

#[test]
fn nothing_is_left_behind_when_haft_goes() {
    let place = Place::new("-- a.txt\nx\n");
    let server = r#"{"command":"bash -c 'sleep 86421.5 & wait'","background":true}"#;
    let ran = place.haft(&["call", "Bash", server, "--allow", "Bash"]).expect(0, "");
    assert!(ran.out.contains("task-1"));
    std::thread::sleep(Duration::from_millis(50));
    assert!(!runs("86421.5"));
}

#[test]
fn a_sandbox_that_is_required_cannot_be_waved_away() {
    let place = Place::new("-- project/strict.toml\nsandbox.required = true\n");
    let arguments = ["call", "Bash", r#"{"command":"true"}"#, "--config", "strict.toml", "--unsandboxed"];
    place.haft(&arguments).expect(2, "sandbox.required");
}

#[test]
fn a_command_hears_signals_also_where_haft_was_started_without() {
    let place = Place::new("-- a.txt\nx\n");
    let told = place.command(&["call", "Bash", r#"{"command":"trap -p"}"#, "--allow", "Bash"]);
    // As `nohup` and `&` do.
    let script = r#"trap '' HUP INT QUIT; exec "$0" "$@""#;
    #[expect(clippy::disallowed_methods, reason = "what starts haft is what is tested")]
    let mut deaf = Command::new("/bin/bash");
    deaf.args(["-c", script]).arg(told.get_program()).args(told.get_args()).env_clear();
    deaf.envs(told.get_envs().filter_map(|(name, value)| Some((name, value?))));
    deaf.current_dir(place.path("project"));
    let ran = Ran::of(&deaf.output().unwrap()).expect(0, "");
    assert!(!ran.out.contains("SIGINT"), "{ran:?}");
}
