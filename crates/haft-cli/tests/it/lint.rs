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
