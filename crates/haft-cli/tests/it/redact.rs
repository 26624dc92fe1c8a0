//! `haft redact`, and what the binary hides by itself.

use std::io::{BufRead, BufReader, Write};

use serde_json::json;

use crate::kit::Place;

const TOKEN: &str = "blue-horse-42-lamp";

#[test]
fn text_goes_through_without_its_secrets() {
    let place = Place::new("");
    let ran = place.haft_with(&["redact"], "a\nDB_PASSWORD=k7Trombo9\nno end").expect(0, "");
    assert_eq!(ran.out, "a\nDB_PASSWORD=[redacted: password]\nno end");
}

#[test]
fn a_line_comes_out_before_the_next_goes_in() {
    let place = Place::new("");
    let mut child = place.command(&["redact"]).env("APP_TOKEN", TOKEN).spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (line, expected) in
        [("one\n", "one\n"), ("it is blue-horse-42-lamp\n", "it is [redacted: known secret]\n")]
    {
        stdin.write_all(line.as_bytes()).unwrap();
        let mut came = String::new();
        stdout.read_line(&mut came).unwrap();
        assert_eq!(came, expected);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_batch_is_answered_line_by_line() {
    let place = Place::new("");
    let input = "{\"id\":\"a\",\"text\":\"token=k7Trombo9k7\"}\n{\"id\":2,\"text\":\"plain\"}\n";
    let expected = [
        json!({ "id": "a", "text": "token=[redacted: secret]", "found": ["secret"] }),
        json!({ "id": 2, "text": "plain", "found": [] }),
    ];
    assert_eq!(place.haft_with(&["redact", "--batch"], input).expect(0, "").lines(), expected);
    std::fs::write(place.path("project/texts.jsonl"), input).unwrap();
    assert_eq!(place.haft(&["redact", "--batch", "texts.jsonl"]).expect(0, "").lines(), expected);
    place.haft_with(&["redact", "--batch"], "{\"id\":1}\n").expect(2, "line 1: missing field `text`");
    place.haft(&["redact", "--batch", "none.jsonl"]).expect(2, "none.jsonl");
}

const FILE: &str = "-- project/app.env\nDB_HOST=db\nDB_PASSWORD=k7Trombo9\n";

#[test]
fn read_hides_a_secret_and_says_so_and_an_edit_keeps_it() {
    let place = Place::new(FILE);
    let script = json!([
        { "type": "tool_use", "id": "1", "name": "Read", "input": { "file_path": "app.env" } },
        { "type": "tool_use", "id": "2", "name": "Edit",
          "input": { "file_path": "app.env", "old_string": "DB_HOST=db", "new_string": "DB_HOST=db2" } },
    ]);
    let message = json!({ "role": "assistant", "content": script }).to_string();
    let ran = place.haft_with(&["turn", "--allow", "Edit"], &message).expect(0, "");
    assert!(
        ran.out.contains("DB_PASSWORD=[redacted: password]") && !ran.out.contains("k7Trombo9"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("1 secret is hidden above (password)"), "{}", ran.out);
    let file = std::fs::read_to_string(place.path("project/app.env")).unwrap();
    assert_eq!(file, "DB_HOST=db2\nDB_PASSWORD=k7Trombo9\n");
}

#[test]
fn settings_turn_it_off_for_all_or_for_one_tool() {
    let place = Place::new(FILE);
    let read = ["call", "Read", r#"{"file_path":"app.env"}"#, "--config", "s.toml"];
    for (settings, is_hidden) in [
        ("", true),
        ("[secrets]\nredact = false", false),
        ("[secrets]\noff_for = [\"Read\"]", false),
        ("[secrets]\noff_for = [\"Bash\"]", true),
    ] {
        std::fs::write(place.path("project/s.toml"), settings).unwrap();
        assert_eq!(!place.haft(&read).expect(0, "").out.contains("k7Trombo9"), is_hidden, "{settings}");
    }
    std::fs::write(place.path("project/s.toml"), "[secrets]\nredacted = true").unwrap();
    place.haft(&read).expect(2, "did you mean `redact`?");
}

#[test]
fn variables_can_be_named() {
    let place =
        Place::new("-- project/s.toml\nsecrets.names = [\"HORSE\"]\nsecrets.values_from = [\"LAMP\"]\n");
    let mut command = place.command(&["redact", "--config", "s.toml"]);
    let mut child = command.env("HORSE", TOKEN).env("LAMP", "green").spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"blue-horse-42-lamp green red\n").unwrap();
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(out, "[redacted: known secret] [redacted: known secret] red\n");
}

#[test]
fn the_file_of_a_long_output_of_bash_holds_no_secret() {
    let place = Place::new("");
    let bash = r#"{"command":"for i in $(seq 6000); do echo \"$i DB_PASSWORD=k7Trombo9 and so on\"; done"}"#;
    let ran = place.haft(&["call", "Bash", bash, "--allow", "Bash"]).expect(0, "");
    let after =
        ran.out.split("the whole is in ").nth(1).unwrap_or_else(|| panic!("nothing was kept: {}", ran.out));
    let path = after.split([' ', ';', '\n']).next().unwrap();
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(!kept.contains("k7Trombo9") && kept.contains("6000 DB_PASSWORD=[redacted: password] and so on"));
    assert!(!ran.out.contains("k7Trombo9"));
}
