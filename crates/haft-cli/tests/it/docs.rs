//! What the documents show is what the binary says.
//!
//! A `toml` block is the user's settings from there on; in a `console` block, a line after `$ ` is typed in the project,
//! and what follows is what comes out. `HAFT_UPDATE_DOCS=1` writes what came out into the document instead.

use std::{env, fmt::Write as _, fs, path::Path};

use crate::kit::{Place, Ran};

const PROJECT: &str = "
    project/src/main.rs: fn main() {}
    project/.env: TOKEN=abc
    project/notes.md: some notes
";

#[test]
fn the_examples_of_the_policy_document_are_true() {
    check("docs/policy.md");
}

#[track_caller]
fn check(document: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document);
    let text = fs::read_to_string(&path).unwrap();
    let place = Place::new(PROJECT);
    fs::create_dir_all(place.path("config/haft")).unwrap();
    fs::create_dir_all(place.path("project/.git")).unwrap();
    let (told, commands) = played(&place, &text);
    assert!(commands >= 6, "only {commands} commands in {document}: the blocks are not found");
    if env::var_os("HAFT_UPDATE_DOCS").is_some() {
        fs::write(&path, told).unwrap();
    } else {
        assert_eq!(told, text, "{document} is not true any more; HAFT_UPDATE_DOCS=1 mends it");
    }
}

/// The document with what came out this time, and how many commands it has.
fn played(place: &Place, text: &str) -> (String, usize) {
    let (mut told, mut commands, mut block) = (String::new(), 0, None::<(&str, String)>);
    for line in text.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(kind)) => block = Some((kind, String::new())),
            (Some((kind, body)), Some(_)) => {
                match *kind {
                    "console" => continue_with(place, body, &mut told, &mut commands),
                    "toml" => fs::write(place.path("config/haft/haft.toml"), &*body).unwrap(),
                    _ => {}
                }
                block = None;
            }
            (Some((kind, body)), None) => {
                writeln!(body, "{line}").unwrap();
                if *kind == "console" {
                    continue; // Written by whoever plays it.
                }
            }
            (None, None) => {}
        }
        writeln!(told, "{line}").unwrap();
    }
    (told, commands)
}

fn continue_with(place: &Place, body: &str, told: &mut String, commands: &mut usize) {
    for line in body.lines().filter_map(|line| line.strip_prefix("$ ")) {
        *commands += 1;
        let Ran { out, err, .. } = typed(place, line);
        let root = place.files.root().to_str().unwrap();
        writeln!(told, "$ {line}\n{}", (out + &err).replace(root, "").trim_end()).unwrap();
    }
}

/// A line as a person types it.
#[expect(clippy::disallowed_methods, reason = "the binary is what is tested")]
fn typed(place: &Place, line: &str) -> Ran {
    let beside = Path::new(env!("CARGO_BIN_EXE_haft")).parent().unwrap();
    let mut shell = std::process::Command::new("bash");
    shell.args(["-c", line]).current_dir(place.path("project")).env_clear();
    shell.env("PATH", format!("{}:/usr/bin:/bin", beside.display()));
    shell.env("HOME", place.path("home")).env("XDG_STATE_HOME", place.path("state")).env("CI", "1");
    shell.env("XDG_CONFIG_HOME", place.path("config")).stdin(std::process::Stdio::null());
    Ran::of(&shell.output().unwrap())
}
