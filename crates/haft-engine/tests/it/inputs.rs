//! What becomes of wrong names and arguments.

use haft_engine::{Call, Session};
use haft_testkit::{Workspace, sized};
use haft_tool::{Effects, FaultKind, Reply, tool};
use serde_json::{Value, json};

use crate::kit::{begin, call, kind};

fn session(workspace: &Workspace) -> Session {
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "when": { "$ref": "#/definitions/day" }, "zip": { "type": "string" } },
        "required": ["when"],
        "definitions": { "day": { "anyOf": [{ "type": "integer" }, { "enum": ["today"] }] } },
    });
    let raw = tool("Raw")
        .prompt("A tool with somebody else's schema.")
        .schema(schema)
        .effects(|_: &Value| Effects::none())
        .call(|input: Value, _| async move { Ok(Reply::text(input.to_string())) });
    begin(haft_testkit::engine(workspace).tool(raw).tool(sized()), workspace)
}

#[track_caller]
fn check(call: Call, expected: Result<&str, FaultKind>) -> String {
    let workspace = Workspace::new("");
    let session = session(&workspace);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let result = runtime.block_on(session.call(call));
    let text = result.text();
    match expected {
        Ok(expected) => assert_eq!(text, expected),
        Err(expected) => assert_eq!(kind(&result), Some(expected), "{text}"),
    }
    text
}

#[test]
fn an_invented_name_gets_the_nearest_ones() {
    let text = check(call("1", "sised", json!({ "bytes": 1 })), Err(FaultKind::UnknownTool));
    assert_eq!(text, "there is no tool `sised`; did you mean Sized?");
    let text = check(call("1", "frobnicate\u{1b}[2J", json!({})), Err(FaultKind::UnknownTool));
    assert_eq!(text, "there is no tool `frobnicate\\u{1b}[2J`; the tools are: Raw, Sized");
}

#[test]
fn broken_json_says_where_it_broke_and_is_never_guessed() {
    let text = check(Call::new("1", "Sized", r#"{"bytes": 1"#), Err(FaultKind::InvalidInput));
    assert!(text.starts_with("Sized: "), "{text}");
    check(Call::new("1", "Sized", r#"{"bytes": 1,}"#), Err(FaultKind::InvalidInput));
    check(Call::new("1", "Sized", ""), Err(FaultKind::InvalidInput));
}

#[test]
fn somebody_elses_schema_is_as_strict_as_ours() {
    check(Call::new("1", "Raw", r#"{"when": "3"}"#), Ok(r#"{"when":3}"#));
    check(
        Call::new("1", "Raw", r#"{"when": "today", "zip": "00713"}"#),
        Ok(r#"{"when":"today","zip":"00713"}"#),
    );
    let text = check(Call::new("1", "Raw", r#"{"wen": 3}"#), Err(FaultKind::InvalidInput));
    assert!(text.contains("`when`"), "{text}");
}

#[test]
fn what_was_coerced_is_told() {
    let workspace = Workspace::new("");
    let session = session(&workspace);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let result = runtime.block_on(session.call(Call::new("1", "Sized", r#"{"bytes": "3"}"#)));
    assert_eq!(result.text(), "...");
    assert_eq!(serde_json::to_value(&result.meta.coerced).unwrap()[0]["path"], "bytes");
}

#[test]
fn the_same_mistake_gets_another_answer_the_second_time() {
    let workspace = Workspace::new("");
    let session = session(&workspace);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let again = || runtime.block_on(session.call(call("1", "Sized", json!({ "bytes": "many" })))).text();
    let (first, second) = (again(), again());
    assert_ne!(first, second);
    assert!(first.contains("bytes") && second.contains("bytes"), "{first}\n{second}");
}

#[test]
fn an_endless_argument_does_not_come_back_whole() {
    let workspace = Workspace::new("");
    let stat = tool("Look")
        .effects(|input: &Where| Effects::reads(&input.path))
        .call(|_: Where, _| async { Ok(Reply::text("there")) });
    let session = begin(haft_testkit::engine(&workspace).tool(stat), &workspace);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for path in ["x".repeat(1 << 20), "x/".repeat(1 << 19), "\0".to_owned()] {
        let result = runtime.block_on(session.call(call("1", "Look", json!({ "path": path }))));
        assert!(result.text().len() < 10_000, "{} bytes", result.text().len());
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Where {
    path: haft_tool::AbsolutePath,
}
