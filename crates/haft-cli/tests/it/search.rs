//! `haft search`.

use serde_json::{Value, json};

use crate::kit::Place;

const TOOLS: &str = r#"{"name":"mcp__tracker__create_issue","description":"Opens an issue.\nMore.","input_schema":{"type":"object"}}
{"name":"mcp__weather__forecast","description":"Tomorrow's weather."}

{"name":"say","description":"Says a word aloud.","input_schema":{},"server":"voice"}
"#;

fn place(queries: &str) -> Place {
    let place = Place::new("");
    std::fs::write(place.path("project/tools.jsonl"), TOOLS).unwrap();
    std::fs::write(place.path("project/queries.jsonl"), queries).unwrap();
    place
}

#[test]
fn the_tools_of_a_session_are_found_by_what_they_do() {
    let place = Place::new("");
    let table = place.haft(&["search", "list the files of a directory", "-k", "3"]).expect(0, "").out;
    assert!(table.starts_with("NAME"), "{table}");
    assert!(table.lines().count() <= 4 && table.contains("\nList "), "{table}");
    let found = place.haft(&["search", "select:Grep", "--json"]).expect(0, "").json();
    assert_eq!(found["tools"][0]["name"], "Grep");
    assert!(found["tools"][0]["score"].as_f64().unwrap() > 0.0, "{found}");
    assert!(place.haft(&["search", "zzzzzzzz"]).expect(0, "").out.starts_with("No tool fits"));
    let named = place.haft(&["search", "select:Grpe"]).expect(0, "").out;
    assert!(named.contains("there is no tool `Grpe`, did you mean Grep?"), "{named}");
    assert_eq!(place.haft(&["search", "zzzzzzzz", "--json"]).expect(0, "").json(), json!({ "tools": [] }));
}

#[test]
fn a_denied_tool_is_not_found() {
    let found =
        Place::new("").haft(&["search", "select:Grep", "--json", "--deny", "Grep"]).expect(0, "").json();
    assert_eq!(found["tools"], json!([]));
}

#[test]
fn a_catalogue_is_searched_line_by_line() {
    let place = place("{\"id\":1,\"query\":\"weather tomorrow\"}\n{\"id\":\"b\",\"query\":\"zzzzzzz\"}\n");
    let ran = place.haft(&["search", "--batch", "queries.jsonl", "--catalog", "tools.jsonl"]).expect(0, "");
    let answers: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        answers,
        [json!({ "id": 1, "ranked": ["mcp__weather__forecast"] }), json!({ "id": "b", "ranked": [] })]
    );
    let found = place.haft(&["search", "+voice", "--catalog", "tools.jsonl", "--json"]).expect(0, "").json();
    assert_eq!((&found["tools"][0]["name"], &found["tools"][0]["server"]), (&json!("say"), &json!("voice")));
}

#[test]
fn a_bad_line_is_named() {
    let place = place("{\"id\":1,\"query\":\"weather\"}\n\n{\"id\":2}\n");
    place
        .haft(&["search", "--batch", "queries.jsonl", "--catalog", "tools.jsonl"])
        .expect(2, "queries.jsonl:3: missing field `query`");
    place
        .haft(&["search", "x", "--catalog", "queries.jsonl"])
        .expect(2, "queries.jsonl:1: missing field `name`");
    place.haft(&["search", "x", "--catalog", "nothing.jsonl"]).expect(2, "--catalog nothing.jsonl: ");
    place.haft(&["search"]).expect(2, "<QUERY>");
}

#[test]
fn what_is_always_loaded_is_shown_and_the_rest_listed() {
    let place =
        Place::new("-- config/haft/haft.toml\ntools.defer_above = 0\ntools.always_load = [\"Gre*\"]\n");
    let tools = place.haft(&["tools", "--dialect", "anthropic"]).expect(0, "").json();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Grep", "ToolSearch"]);
    let prompt = tools[1]["description"].as_str().unwrap();
    assert!(
        prompt.contains("Tools that can be found, by name:\n") && prompt.contains("\nStat\n"),
        "{prompt}"
    );
}

#[test]
fn an_api_that_keeps_deferred_tools_gets_all_and_is_referred_to_them() {
    let place = Place::new("-- config/haft/haft.toml\ntools.defer_above = 0\n");
    let tools = place.haft(&["tools", "--dialect", "anthropic", "--references"]).expect(0, "").json();
    let stat = tools.as_array().unwrap().iter().find(|tool| tool["name"] == "Stat").unwrap();
    assert_eq!(stat["defer_loading"], true);
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "ToolSearch", "input": { "query": "select:Stat" } }]);
    std::fs::write(place.path("project/message.json"), call.to_string()).unwrap();
    let said = place.haft(&["turn", "message.json", "--references"]).expect(0, "").json();
    assert_eq!(said["content"][0]["content"], json!([{ "type": "tool_reference", "tool_name": "Stat" }]));
    let said = place.haft(&["turn", "message.json"]).expect(0, "").json();
    assert_eq!(said["content"][0]["content"][0]["type"], "text");
}
