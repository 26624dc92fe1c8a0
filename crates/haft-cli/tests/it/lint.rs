//! `haft lint`.

use crate::kit::Place;

#[test]
fn all_mistakes_are_told_at_once() {
    let place = Place::new(
        "-- config/haft/haft.toml\ndenny = []\n-- project/haft.toml\nsandbox.write = [\"/\"]\n\
         [agents.x.permissions]\ndeny = [\"Read(\"]\n-- project/.mcp.json\n{\"mcpServers\":{\"x\":{}}}\n-- project/c.toml\nmode = 3\n",
    );
    let ran = place.haft(&["lint", "--config", "c.toml"]).expect(1, "");
    for expected in [
        "haft.toml:1: there is no setting `denny`",
        "advice: trust: the workspace's own settings do not count: not trusted yet",
        "haft.toml:1: `sandbox.write` does not count here",
        "haft.toml:3: deny rule `Read(`",
        "server `x`: it has neither a `command` nor a `url`",
        "error: settings: c.toml:1: ",
    ] {
        assert!(ran.out.contains(expected), "{expected}: {}", ran.out);
    }
}

#[test]
fn without_mistakes_there_are_no_errors() {
    let place = Place::new("-- config/haft/haft.toml\npermissions.deny = [\"Read(**/.env)\"]\n");
    let ran = place.haft(&["lint", "--json"]).expect(0, "");
    assert!(ran.json().as_array().unwrap().iter().all(|finding| finding["error"] == false), "{ran:?}");
}

#[test]
fn a_quarantined_tool_is_an_error() {
    let said = |words: &str| serde_json::json!({ "name": "mcp__s__x", "title": "x", "description": words, "input": {}, "output": null, "annotations": {} });
    let pins = serde_json::json!({ "form": 1, "tools": { "s": { "x": { "since": 1, "accepted": said("a"), "offered": said("b") } } } });
    let place = Place::new(&format!("-- state/haft/pins.json\n{pins}\n"));
    let ran = place.haft(&["lint"]).expect(1, "");
    assert!(ran.out.contains("error: pins: mcp__s__x is quarantined: its description changed"), "{ran:?}");
}

#[test]
fn each_kind_of_remark_about_a_rule_has_its_place() {
    let place = Place::new(
        "-- config/haft/haft.toml\n[permissions]\nallow = [\n  \"Bash(git:*)\",\n  \"Edit(src/a.rs)\",\n]\n\
         ask = [\"Edit(src/**)\"]\ndeny = [\n  \"Grap\",\n  \"Write(x/**)\",\n]\n",
    );
    let file = "haft.toml";
    let ran = place.haft(&["lint"]).expect(0, "");
    let said = place.haft(&["lint", "--json"]).expect(0, "").json();
    let said = said.as_array().unwrap();
    let expected = [
        ("never_matches", 8, "there is no tool `Grap`"),
        ("narrow", 9, "holds in calls of Write only"),
        ("broad", 3, "lets everything run that `git` can start"),
        ("shadowed", 4, "never decides: ask rule `Edit(src/**)`"),
    ];
    for (kind, line, words) in expected {
        let found = said.iter().find(|finding| finding["kind"] == kind).expect(kind);
        assert_eq!((&found["line"], &found["error"]), (&line.into(), &false.into()), "{found}");
        assert!(found["path"].as_str().unwrap().ends_with(file), "{found}");
        assert!(found["what"].as_str().unwrap().contains(words), "{found}");
        let told = format!("{file}:{line}: ");
        assert!(ran.out.lines().any(|one| one.contains(&told) && one.contains(words)), "{told} {}", ran.out);
    }
}

#[test]
fn a_deny_is_not_called_needless_because_of_one_for_an_agent() {
    let place = Place::new(
        "-- config/haft/haft.toml\n[permissions]\ndeny = [\"Bash(git push:*)\"]\n[agents.x.permissions]\ndeny = [\"Bash(git:*)\"]\n",
    );
    let ran = place.haft(&["lint"]).expect(0, "");
    assert!(!ran.out.contains("adds nothing"), "{}", ran.out);
}

#[test]
fn rules_of_flags_are_looked_at_too() {
    let place = Place::new("");
    let ran = place.haft(&["lint", "--json", "--deny", "read(x)", "--allow", "Bash(git"]).expect(1, "");
    let said = ran.json();
    let of = |words: &str| {
        let mut all = said.as_array().unwrap().iter();
        all.find(|finding| finding["what"].as_str().unwrap().contains(words)).expect(words).clone()
    };
    let unknown = of("there is no tool `read`; did you mean `Read`?");
    assert_eq!((&unknown["kind"], &unknown["path"]), (&"never_matches".into(), &serde_json::Value::Null));
    assert_eq!(of("the bracket is not closed")["error"], true);
}

#[test]
fn a_flag_for_a_tool_that_there_is_not_is_remarked_and_one_for_a_hidden_tool_is_not() {
    let place = Place::new("-- project/a\nx\n");
    let call = |more: &[&str]| {
        let words = [&["call", "Read", "{\"file_path\":\"a\"}"], more].concat();
        place.haft(&words).err
    };
    let said = call(&["--deny", "read(x)", "--ask", "Bsh"]);
    assert!(said.contains("haft: command line: deny rule `read(x)` never matches: there is no tool `read`; did you mean `Read`?"), "{said}");
    assert!(
        said.contains("ask rule `Bsh` never matches: there is no tool `Bsh`; did you mean `Bash`?"),
        "{said}"
    );
    assert_eq!(said.lines().filter(|line| line.contains("never matches")).count(), 2, "{said}");
    for known in ["Grep", "Read(x)", "mcp__away__x", "Delegate", "WebFetch"] {
        let said = call(&["--deny", known]);
        assert!(!said.contains("never matches"), "{known}: {said}");
    }
    assert!(!call(&["-q", "--deny", "read(x)"]).contains("never matches"));
}
