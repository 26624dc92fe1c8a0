//! `haft explain`.

use serde_json::{Value, json};

use crate::kit::Place;

#[test]
fn a_decision_is_explained_without_a_call() {
    let place = Place::new("");
    let ran = place.haft(&["explain", "Read", r#"{"file_path":"/etc/shadow"}"#]).expect(0, "");
    for words in
        ["Read: Read /etc/shadow", "effects    reads /etc/shadow", "ask: reads", "class      read_only"]
    {
        assert!(ran.out.contains(words), "{ran:?}");
    }
    let told = place.haft(&["explain", "Read", r#"{"file_path":"x"}"#, "--json"]).expect(0, "").json();
    assert_eq!((&told["verdict"], &told["class"]), (&json!("allow"), &json!("read_only")));
    assert_eq!(told["input"]["file_path"], json!(place.path("project/x")));
    assert_eq!(told["trace"]["steps"][0]["stage"], "deny rules");
}

#[test]
fn what_cannot_run_is_denied() {
    let place = Place::new("");
    for (arguments, words) in [
        (&["explain", "Nope"][..], "deny: there is no tool `Nope`"),
        (&["explain", "Read", "{"], "deny: Read:"),
        (&["explain", "Read", "{}"], "expected a string (required)"),
        (
            &["explain", "Read", r#"{"file_path":"x"}"#, "--deny", "Read"],
            "deny: deny rule `Read` (command line) covers the tool",
        ),
    ] {
        assert!(place.haft(arguments).expect(0, "").out.contains(words), "{arguments:?}");
    }
    place.haft(&["explain"]).expect(2, "<TOOL>");
    place.haft(&["explain", "--batch", "none.jsonl"]).expect(2, "--batch none.jsonl: No such file");
}

#[track_caller]
fn batch(place: &Place, lines: &[String]) -> Vec<Value> {
    let answers = place.haft_with(&["explain", "--batch", "-"], &lines.join("\n")).expect(0, "").lines();
    assert_eq!(answers.len(), lines.len());
    answers
}

#[test]
fn a_batch_answers_every_line_in_order() {
    let place = Place::new("");
    let read = |id: Value, path: &str, more: Value| {
        let mut line =
            json!({ "id": id, "tool": "Read", "input": { "file_path": path }, "cwd": "/nowhere/project" });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let lines = [
        read(json!(1), "a.txt", json!({})),
        "{broken".to_owned(),
        read(json!("x"), "/etc/shadow", json!({})),
        read(json!(3), "a.txt", json!({ "rules": { "deny": ["Read(**/*.txt)"] } })),
        read(json!(4), "a.txt", json!({ "rules": { "deny": ["Read"] } })),
        read(json!(5), "~/x", json!({ "home": "/nowhere/home", "mode": "dont-ask" })),
        read(json!(6), "a.txt", json!({ "mode": "yolo" })),
        read(json!(7), "a.txt", json!({ "rules": { "deny": ["Read("] } })),
        r#"{"id":8,"tool":"Nope","input":{}}"#.to_owned(),
        String::new(),
        r#"{"id":10,"tool":"Stat","input":{"path":7}}"#.to_owned(),
        r#"{"id":11,"tool":"Stat","input":{"path":7}}"#.to_owned(),
        "[]".to_owned(),
        r#"{"id":13,"tool":"Bash","input":{"command":"echo \ud800"}}"#.to_owned(),
        r#"{"id":"\udfff","tool":"Bash","input":{"command":"ls"}}"#.to_owned(),
        read(json!(15), "a.txt", json!({})),
    ];
    let answers = batch(&place, &lines);
    let verdicts: Vec<&str> = answers.iter().map(|answer| answer["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts[..6], ["allow", "deny", "ask", "deny", "deny", "deny"]);
    assert_eq!(verdicts[15], "allow");
    assert!(verdicts[6..15].iter().all(|verdict| *verdict == "deny"));
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(json!(ids), json!([1, null, "x", 3, 4, 5, 6, 7, 8, null, 10, 11, null, 13, "\u{fffd}", 15]));
    for (at, words) in [
        (1, "line 2 is not JSON"),
        (13, "line 14 is not JSON"),
        (14, "hex escape"),
        (6, "unknown variant `yolo`"),
        (7, "deny rule `Read(`"),
        (9, "not JSON"),
    ] {
        assert!(answers[at]["error"].as_str().unwrap().contains(words), "{}", answers[at]);
    }
    assert_eq!(answers[4]["class"], "read_only");
    assert!(answers[4]["reason"].as_str().unwrap().contains("deny rule `Read`"), "{}", answers[4]);
    assert_eq!(answers[3]["trace"]["rule"]["text"], "Read(**/*.txt)");
    // No line knows of another.
    assert_eq!(answers[10]["reason"], answers[11]["reason"]);
    for answer in &answers {
        assert!(
            ["id", "verdict", "class", "reason", "trace"].iter().all(|key| answer.get(key).is_some()),
            "{answer}"
        );
    }
}

#[test]
fn a_line_says_who_calls_and_is_not_answered_without_what_it_says() {
    let place = Place::new(
        "-- config/haft/haft.toml
[permissions]
deny = [{ rule = \"Stat\", roles = [\"guest\"] }]
[agents.reviewer.permissions]
deny = [\"Read\"]
",
    );
    let ask = |tool: &str, more: Value| {
        let key = if tool == "Stat" { "path" } else { "file_path" };
        let mut line = json!({ "id": 1, "tool": tool, "input": { key: "a.txt" } });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let notes = json!({ "group": "g", "kind": "verdict", "context": {}, "expect": "allow", "accept": [], "why": "w" });
    let lines = [
        ask("Read", json!({})),
        ask("Read", json!({ "agent": "reviewer" })),
        ask("Stat", json!({ "role": "guest" })),
        ask("Stat", json!({ "roles": ["owner", "guest"] })),
        ask("Stat", json!({ "model": "some-model" })),
        ask("Read", notes),
        ask("Read", json!({ "permission_mode": "plan" })),
        ask("Read", json!({ "deny": ["Read"] })),
        ask("Read", json!({ "tags": ["x"] })),
    ];
    let ran =
        place.haft_with(&["explain", "--batch", "-"], &lines.join("\n")).expect(0, "`tags` is not known");
    let answers = ran.lines();
    let verdicts: Vec<&str> = answers.iter().map(|answer| answer["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["allow", "deny", "deny", "deny", "allow", "allow", "deny", "deny", "allow"]);
    for at in [6, 7] {
        assert!(
            answers[at]["error"].as_str().unwrap().contains("in a question; there are id, tool"),
            "{}",
            answers[at]
        );
    }
    assert_eq!((&answers[0]["tool"], &answers[0]["effects"]["unknown"]), (&json!("Read"), &json!(false)));
}

#[test]
fn in_mode_auto_it_says_what_the_classifier_would() {
    let place = Place::new("");
    let write = r#"{"file_path":"a.txt","content":"x"}"#;
    let text =
        |input: &str, mode: &str| place.haft(&["explain", "Write", input, "--mode", mode]).expect(0, "").out;
    assert!(
        text(write, "auto").contains("classifier       allow, says the one by effects"),
        "{}",
        text(write, "auto")
    );
    let outside = r#"{"file_path":"/elsewhere/a.txt","content":"x"}"#;
    assert!(text(outside, "auto").contains("classifier       ask, says the one by effects: /elsewhere"));
    let protected = r#"{"file_path":".git/config","content":"x"}"#;
    assert!(text(protected, "auto").contains("it is not asked about this"), "{}", text(protected, "auto"));
    assert!(!text(write, "default").contains("classifier"));
    let told = place.haft(&["explain", "Write", write, "--mode", "auto", "--json"]).expect(0, "").json();
    assert_eq!((&told["verdict"], &told["classifier"]["verdict"]), (&json!("ask"), &json!("allow")));
}

#[test]
fn a_large_batch_is_answered() {
    let place = Place::new("");
    let line =
        |n: usize| json!({ "id": n, "tool": "Read", "input": { "file_path": format!("f{n}") } }).to_string();
    let answers = batch(&place, &(0..3000).map(line).collect::<Vec<_>>());
    assert!(answers.iter().enumerate().all(|(n, answer)| answer["id"] == n && answer["verdict"] == "allow"));
}
