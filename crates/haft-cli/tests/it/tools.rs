//! `haft tools`, `haft completions`, help.

use serde_json::{Value, json};

use crate::kit::Place;

#[track_caller]
fn names(listing: &Value) -> Vec<&str> {
    listing["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn the_table_fits_the_terminal() {
    let place = Place::new("");
    let wide = place.haft(&["tools"]).expect(0, "").out;
    let words = |line: &str| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = wide.lines().map(words).collect();
    assert_eq!(lines[0], "NAME SOURCE TOOLSET STATE");
    assert!(lines.contains(&"List builtin readonly shown".to_owned()), "{wide}");
    let mut narrow = place.command(&["tools"]);
    let narrow = crate::kit::Ran::of(&narrow.env("COLUMNS", "60").output().unwrap()).expect(0, "").out;
    assert!(narrow.lines().all(|line| line.chars().count() <= 60) && narrow.contains('…'), "{narrow}");
}

#[test]
fn all_says_what_is_absent_and_why() {
    let ran = Place::new("").haft(&["tools", "--all", "--deny", "Stat"]).expect(0, "");
    assert!(ran.out.contains("(also FileRead, fs_read, read_file, cat, "), "{ran:?}");
    assert!(ran.out.contains("hidden: denied by deny rule `Stat` (command line)"), "{ran:?}");
}

#[test]
fn json_has_a_fingerprint_that_is_the_same_each_time() {
    let place = Place::new("");
    let listing = place.haft(&["tools", "--json"]).expect(0, "").json();
    let shown = names(&listing);
    assert!(shown.is_sorted() && shown.contains(&"Read"), "{shown:?}");
    assert_eq!(listing["fingerprint"], place.haft(&["tools", "--json"]).json()["fingerprint"]);
    let fewer = place.haft(&["tools", "--json", "--toolset", "readonly,!Stat"]).expect(0, "").json();
    let fewer_names = names(&fewer);
    assert!(
        fewer_names.contains(&"Read") && fewer_names.iter().all(|name| shown.contains(name)),
        "{fewer_names:?}"
    );
    assert!(!fewer_names.contains(&"Stat") && !fewer_names.contains(&"Write"), "{fewer_names:?}");
    assert_ne!(fewer["fingerprint"], listing["fingerprint"]);
    place.haft(&["tools", "--toolset", "nothing"]).expect(2, "`nothing` is neither a tool nor a toolset");
}

#[test]
fn each_dialect_has_its_own_shape() {
    let place = Place::new("");
    let tools = |dialect: &str| {
        place.haft(&["tools", "--dialect", dialect, "--toolset", "List,Read"]).expect(0, "").json()
    };
    assert_eq!(tools("anthropic")[1]["input_schema"]["required"], json!(["file_path"]));
    assert_eq!(tools("openai")[1]["function"]["name"], "Read");
    assert_eq!(tools("responses")[1]["strict"], false);
    assert_eq!(tools("gemini")[0]["functionDeclarations"][1]["name"], "Read");
    assert_eq!(tools("mcp")[1]["inputSchema"]["type"], "object");
}

#[test]
fn deferred_tools_are_listed_when_all_are() {
    let place = Place::new("-- config/haft/haft.toml\ntools.defer_above = 0\n");
    assert_eq!(names(&place.haft(&["tools", "--json"]).json()), ["ToolSearch"]);
    let all = place.haft(&["tools", "--json", "--all"]).json();
    let names = names(&all);
    assert!(names[0] == "ToolSearch" && names[1..].is_sorted(), "{names:?}");
    assert_eq!(all["tools"][1]["state"], "deferred");
    place.haft(&["tools", "-v"]).expect(0, &format!("{} tools are deferred", names.len() - 1));
}

#[test]
fn a_named_session_remembers_what_was_loaded_and_read() {
    let place = Place::new("-- config/haft/haft.toml\ntools.defer_above = 0\n");
    std::fs::write(place.path("project/notes"), "old").unwrap();
    let write = [
        "call",
        "Write",
        r#"{"file_path":"notes","content":"new"}"#,
        "--allow",
        "Edit(**)",
        "--session",
        "s1",
    ];
    let refused = place.haft(&write).expect(1, "");
    assert!(refused.out.contains("has not been read in this session"), "{refused:?}");
    place.haft(&["call", "Read", r#"{"file_path":"notes"}"#, "--session", "s1"]).expect(0, "");
    place.haft(&write).expect(0, "");
    assert_eq!(std::fs::read_to_string(place.path("project/notes")).unwrap(), "new");

    place.haft(&["call", "ToolSearch", r#"{"query":"select:Stat"}"#, "--session", "s1"]).expect(0, "");
    assert_eq!(names(&place.haft(&["tools", "--json", "--session", "s1"]).json()), ["ToolSearch", "Stat"]);
    assert_eq!(names(&place.haft(&["tools", "--json", "--session", "s2"]).json()), ["ToolSearch"]);
}

#[test]
fn completions_and_version_read_no_settings() {
    let place = Place::new("-- config/haft/haft.toml\nbroken\n");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(place.haft(&["completions", shell]).expect(0, "").out.contains("haft"), "{shell}");
    }
    assert!(place.haft(&["--version"]).expect(0, "").out.starts_with("haft 0."));
    place.haft(&["tools"]).expect(2, "haft.toml:1: ");
}

#[test]
fn every_command_has_an_example() {
    let place = Place::new("");
    for command in ["demo", "call", "turn", "run", "tools", "explain", "redact", "completions"] {
        let help = place.haft(&[command, "--help"]).expect(0, "").out;
        assert!(help.contains("Example") && help.contains(&format!("haft {command}")), "{help}");
    }
    place.haft(&[]).expect(2, "`haft --help` lists the commands");
    place.haft(&["tolls"]).expect(2, "'tools'");
}
