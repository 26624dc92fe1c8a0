//! What Read hides of a file, no tool tells in other words, and none writes back what stands for it.

use haft_engine::Call;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::desk::Desk;

/// Everything that comes of a call: for the model, for a program, for a person before and after.
fn told(desk: &Desk, tool: &str, input: &Value) -> String {
    let result = desk.runtime.block_on(async {
        let turn = desk.session.live_turn();
        turn.push(Call::new("1", tool, input.clone())).unwrap();
        turn.results().await.remove(0)
    });
    format!("{result:?}\n{}", result.text())
}

#[track_caller]
fn check_silent(told: &str, secret: &str) {
    let characters: Vec<char> = secret.chars().collect();
    for part in characters.windows(6) {
        let part: String = part.iter().collect();
        assert!(!told.contains(&part), "{part:?} of {secret:?} is told:\n{told}");
    }
}

const ENV: &str = "-- app.env\nNAME=x\nDB_PASSWORD=Sup3rS3cret!\nPORT=1\n";

#[test]
fn an_edit_that_does_not_fit_tells_nothing_of_what_is_hidden() {
    let desk = Desk::hiding(ENV);
    desk.call("Read", json!({ "file_path": "app.env" }));
    let edit = |old: &str| json!({ "file_path": "app.env", "old_string": old, "new_string": "x" });
    insta::assert_snapshot!(desk.call("Edit", edit("DB_PASSWORD=nope")), @r#"
    app.env: the old text does not occur in the file; nearest are the lines 2 to 2 (- the old text, + the file):
    -DB_PASSWORD=nope
    +DB_PASSWORD=[redacted: password]
    they first differ at column 13: "[redacted: password]", not "nope"
    "#);
    for old in [
        "DB_PASSWORD=nope",
        "DB_PASSWORD=Sup3rnope",
        "DB_PASSWORD=Sup3rS3cret?",
        "NAME=x\nDB_PASSWORD=\nPORT=1",
    ] {
        check_silent(&told(&desk, "Edit", &edit(old)), "Sup3rS3cret!");
    }
}

#[test]
fn whether_a_part_of_a_hidden_value_is_right_is_not_told() {
    let desk = Desk::hiding(ENV);
    desk.call("Read", json!({ "file_path": "app.env" }));
    let edit = |old: &str| {
        let said = desk.call("Edit", json!({ "file_path": "app.env", "old_string": old, "new_string": "x" }));
        said.replace(old, "OLD").split(", not ").next().unwrap().to_owned()
    };
    assert_eq!(edit("DB_PASSWORD=S"), edit("DB_PASSWORD=T"));
    assert_eq!(edit("DB_PASSWORD=Sup3r"), edit("DB_PASSWORD=Sup4r"));
    assert_eq!(desk.workspace.text("app.env"), "NAME=x\nDB_PASSWORD=Sup3rS3cret!\nPORT=1\n");
    assert!(edit("NAME=x\nDB_PASSWORD=").starts_with("edited app.env"));
    assert_eq!(desk.workspace.text("app.env"), "xSup3rS3cret!\nPORT=1\n");
}

#[test]
fn a_patch_that_does_not_fit_tells_nothing_either() {
    let desk = Desk::hiding(ENV);
    desk.call("Read", json!({ "file_path": "app.env" }));
    let patch = "*** Begin Patch\n*** Update File: app.env\n@@\n NAME=x\n-DB_PASSWORD=nope\n+DB_PASSWORD=y\n*** End Patch\n";
    let said = told(&desk, "ApplyPatch", &json!({ "patch": patch }));
    check_silent(&said, "Sup3rS3cret!");
    assert!(said.contains("[redacted: password]"), "{said}");
}

#[test]
fn a_file_that_changed_is_compared_without_its_secrets() {
    let desk = Desk::hiding(ENV);
    desk.call("Read", json!({ "file_path": "app.env" }));
    desk.workspace.write("app.env", b"NAME=y\nDB_PASSWORD=An0therS3cret\nPORT=1\n");
    let write = json!({ "file_path": "app.env", "content": "NAME=x\nPORT=1\n" });
    check_silent(&told(&desk, "Write", &write), "An0therS3cret");
}

#[test]
fn lines_of_a_file_are_hidden_as_the_whole_of_it_says() {
    let body = "MIIEpAIBAAKCAQEAx0V5mJ3kQpWz7cL2tYbN8sRfHdUeGv4nXoKiMqZaPlTjCwBr";
    let key = format!("-- key.pem\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n");
    let long = format!("-- long.json\n{{\"password\":\"{}Sup3rS3cret!\",\"x\":\"needle\"}}\n", "");
    let desk = Desk::hiding(&[key, long].concat());
    for input in
        [json!({ "file_path": "key.pem", "offset": 2, "limit": 1 }), json!({ "file_path": "key.pem" })]
    {
        check_silent(&told(&desk, "Read", &input), body);
    }
    check_silent(&told(&desk, "Grep", &json!({ "pattern": "MII", "output_mode": "content" })), body);
    let line = format!("{{\"a\":\"{}\",\"password\":\"Sup3rS3cret!\",\"x\":\"needle\"}}\n", "y".repeat(900));
    desk.workspace.write("cut.json", line.as_bytes());
    check_silent(
        &told(&desk, "Grep", &json!({ "pattern": "S3cret", "output_mode": "content" })),
        "Sup3rS3cret!",
    );
}

#[test]
fn what_stands_for_a_secret_is_not_written() {
    let desk = Desk::hiding(ENV);
    let shown = desk.call("Read", json!({ "file_path": "app.env" }));
    assert!(shown.contains("DB_PASSWORD=[redacted: password]"), "{shown}");
    let content = "NAME=y\nDB_PASSWORD=[redacted: password]\nPORT=1\n";
    insta::assert_snapshot!(desk.call("Write", json!({ "file_path": "app.env", "content": content })), @"
    `content` holds `[redacted: password]`, which only stands for a value that you are not shown; written, it would replace that value. Nothing was changed.
    To keep the value, change the lines around it (Edit with passages without the mark) or copy the file with a command; to set a new one, write the new one
    ");
    let line = "DB_PASSWORD=[redacted: password]";
    let edit = json!({ "file_path": "app.env", "old_string": "NAME=x", "new_string": line });
    assert!(desk.call("Edit", edit).contains("only stands for a value"));
    let edit = json!({ "file_path": "app.env", "old_string": line, "new_string": "DB_PASSWORD=new" });
    assert!(desk.call("Edit", edit).contains("only stands for a value"));
    let patch = format!("*** Begin Patch\n*** Add File: copy.env\n+{line}\n*** End Patch\n");
    assert!(desk.call("ApplyPatch", json!({ "patch": patch })).contains("only stands for a value"));
    assert_eq!(desk.workspace.text("app.env"), "NAME=x\nDB_PASSWORD=Sup3rS3cret!\nPORT=1\n");
    assert!(!desk.workspace.root().join("copy.env").exists());
}

#[test]
fn a_text_that_holds_such_marks_itself_can_be_edited() {
    let desk = Desk::hiding("-- guide.md\nIn its place stands `[redacted: password]`.\n");
    desk.call("Read", json!({ "file_path": "guide.md" }));
    let edit =
        |old: &str, new: &str| json!({ "file_path": "guide.md", "old_string": old, "new_string": new });
    let (old, new) = ("place stands `[redacted: password]`", "place is `[redacted: password]`");
    assert_eq!(desk.call("Edit", edit(old, new)), "edited guide.md at line 1");
    assert!(
        desk.call("Edit", edit("In", "[redacted: password] [redacted: password]")).contains("only stands")
    );
}

/// A file in which a value is hidden by what stands around it.
fn file_of(form: usize, secret: &str) -> String {
    match form {
        0 => format!("NAME=x\nDB_PASSWORD={secret}\nPORT=1\n"),
        1 => format!("name: x\npassword: >-\n  {secret}\nport: 1\n"),
        2 => format!("{{\"name\":\"x\",\"password\":\"{secret}\",\"port\":1}}\n"),
        3 => format!("{}url = postgres://app:{secret}@db/app {}\n", "# \n".repeat(30), "-".repeat(3_000)),
        _ => format!("let x = 1;\nlet api_key = \"{secret}\"; // PORT=1\n"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_tool_tells_six_characters_of_a_value_that_read_hides(
        secret in "[A-Za-z0-9]{4}[0-9][A-Z][a-z0-9]{8,24}",
        form in 0usize..5,
        guess in 0usize..20,
        line in 1u64..4,
    ) {
        let text = file_of(form, &secret);
        let desk = Desk::hiding("");
        desk.workspace.write("app.conf", text.as_bytes());
        let whole = told(&desk, "Read", &json!({ "file_path": "app.conf" }));
        prop_assume!(whole.contains("[redacted: "));
        let known: String = secret.chars().take(guess.min(secret.len() - 1).min(5)).collect();
        let near = text.replace(&secret, &format!("{known}nope"));
        let shown = near.lines().take(2).collect::<Vec<_>>().join("\n");
        let patch = format!("--- a/app.conf\n+++ b/app.conf\n@@ -1,2 +1,2 @@\n{}\n+x\n", shown.lines().map(|line| format!("-{line}")).collect::<Vec<_>>().join("\n"));
        let pattern: String = secret.chars().take(5).collect();
        let calls = [
            ("Read", json!({ "file_path": "app.conf", "offset": line, "limit": 1 })),
            ("Edit", json!({ "file_path": "app.conf", "old_string": near, "new_string": "x" })),
            ("Edit", json!({ "file_path": "app.conf", "old_string": shown, "new_string": "x" })),
            ("ApplyPatch", json!({ "patch": patch })),
            ("Grep", json!({ "pattern": pattern, "output_mode": "content" })),
            ("Grep", json!({ "pattern": "PORT|port|url", "output_mode": "content", "-C": 2 })),
            ("Edit", json!({ "file_path": "app.conf", "old_string": "1", "new_string": "2", "replace_all": true })),
            ("Write", json!({ "file_path": "app.conf", "content": "name = y\n" })),
        ];
        for (tool, input) in calls {
            // What hides the value may go with an edit.
            desk.workspace.write("app.conf", text.as_bytes());
            desk.call("Read", json!({ "file_path": "app.conf" }));
            check_silent(&told(&desk, tool, &input), &secret);
        }
        desk.workspace.write("app.conf", text.replace('x', "z").as_bytes());
        check_silent(&told(&desk, "Write", &json!({ "file_path": "app.conf", "content": "name = z\n" })), &secret);
    }
}
