//! What the model reads.

use haft_schema::{Checker, Violations};
use serde_json::{Value, json};

use crate::compile;

fn read_tool() -> Checker {
    compile(&json!({
        "type": "object",
        "properties": {
            "file_path": { "type": "string", "description": "The file." },
            "limit": { "type": "integer", "minimum": 1 },
            "mode": { "enum": ["text", "bytes"] },
        },
        "required": ["file_path"],
    }))
}

fn edit_tool() -> Checker {
    compile(&json!({
        "type": "object",
        "properties": { "path": { "type": "string" }, "edits": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/Edit" } } },
        "required": ["path", "edits"],
        "$defs": { "Edit": {
            "type": "object",
            "properties": { "line": { "type": "integer" }, "text": { "type": "string" } },
            "required": ["line", "text"],
        } },
    }))
}

#[track_caller]
fn violations(checker: &Checker, input: Value) -> Violations {
    checker.check(input).expect_err("the input is not valid")
}

#[track_caller]
fn first(checker: &Checker, input: Value) -> String {
    violations(checker, input).message("Tool", checker, 0)
}

#[test]
fn the_first_text_names_everything_that_is_wrong() {
    let input = json!({ "file_pth": "a.rs", "limit": "many", "mode": "byte", "color": 1 });
    insta::assert_snapshot!(first(&read_tool(), input), @r#"
    Tool: the input is not valid. Nothing was run.
    - `limit`: expected an integer ≥ 1, got the string "many"
    - `mode`: expected one of "text", "bytes", got the string "byte"; did you mean "bytes"?
    - `file_pth`: no such key, got the string "a.rs"; did you mean `file_path`?
    - `color`: no such key, got the integer 1; accepted keys: `file_path`, `limit`, `mode`
    - `file_path`: expected a string (required), got nothing
    The smallest valid input: {"file_path":"…"}
    "#);
}

#[test]
fn the_same_failure_again_gets_a_sharper_text() {
    let checker = read_tool();
    let found = violations(&checker, json!({ "path": "a.rs", "limit": 0 }));
    insta::assert_snapshot!(found.message("Read", &checker, 1), @r#"
    Read: the same input failed again (2 times now). Do not repeat it; change this:
    - `limit` must be an integer ≥ 1
    - remove `path`: did you mean `file_path`?
    - `file_path` must be a string (required)
    The keys, and no others:
    - `file_path` (required): a string
    - `limit` (optional): an integer ≥ 1
    - `mode` (optional): one of "text", "bytes"
    Copy this and change the values: {"file_path":"…"}
    "#);
    assert!(found.message("Read", &checker, 2).contains("3 times"));
}

#[test]
fn a_nested_failure_is_told_with_its_path_and_its_keys() {
    let checker = edit_tool();
    let input = json!({ "path": "a", "edits": [{ "line": 1, "text": "b" }, { "lineNumber": 2, "text": 5 }] });
    insta::assert_snapshot!(first(&checker, input.clone()), @r#"
    Tool: the input is not valid. Nothing was run.
    - `edits[1].line`: expected an integer (required), got nothing
    - `edits[1].text`: expected a string, got the integer 5; write it as "5"
    - `edits[1].lineNumber`: no such key, got the integer 2; did you mean `line`?
    The smallest valid input: {"path":"…","edits":[{"line":0,"text":"…"}]}
    "#);
    insta::assert_snapshot!(violations(&checker, input).message("Edit", &checker, 1), @r#"
    Edit: the same input failed again (2 times now). Do not repeat it; change this:
    - `edits[1].line` must be an integer (required)
    - `edits[1].text` must be a string
    - remove `edits[1].lineNumber`: did you mean `line`?
    The keys, and no others:
    - `path` (required): a string
    - `edits` (required): an array (1 or more items) of objects with `line`, `text`
    The keys of `edits[1]`, and no others:
    - `line` (required): an integer
    - `text` (required): a string
    Copy this and change the values: {"path":"…","edits":[{"line":0,"text":"…"}]}
    "#);
}

#[test]
fn a_value_of_the_wrong_type_gets_a_hint() {
    let checker = compile(&json!({ "type": "object", "properties": {
        "name": { "type": "string" }, "tags": { "type": "array", "items": { "type": "string" } }, "on": { "type": "boolean" } } }));
    insta::assert_snapshot!(first(&checker, json!({ "name": 5, "tags": "a", "on": "yes" })), @r#"
    Tool: the input is not valid. Nothing was run.
    - `name`: expected a string, got the integer 5; write it as "5"
    - `tags`: expected an array of strings, got the string "a"; put it in an array: ["a"]
    - `on`: expected true or false, got the string "yes"
    The smallest valid input: {}
    "#);
    insta::assert_snapshot!(first(&checker, json!({ "tags": "[\"a\"" })), @r#"
    Tool: the input is not valid. Nothing was run.
    - `tags`: expected an array of strings, got the string "[\"a\""; write it as JSON, not inside a string
    The smallest valid input: {}
    "#);
    insta::assert_snapshot!(first(&checker, json!([1, 2])), @r#"
    Tool: the input is not valid. Nothing was run.
    - the input: expected an object, got the array [1,2]
    The smallest valid input: {}
    "#);
}

#[test]
fn of_alternatives_the_likeliest_is_explained() {
    let checker = compile(
        &json!({ "type": "object", "required": ["target"], "properties": { "target": { "anyOf": [
        { "type": "object", "properties": { "kind": { "const": "file" }, "path": { "type": "string" } }, "required": ["kind", "path"] },
        { "type": "object", "properties": { "kind": { "const": "url" }, "url": { "type": "string" } }, "required": ["kind", "url"] },
        { "type": "null" },
    ] } } }),
    );
    insta::assert_snapshot!(first(&checker, json!({ "target": { "kind": "url", "url": 7 } })), @r#"
    Tool: the input is not valid. Nothing was run.
    - `target.url`: expected a string, got the integer 7; write it as "7"
    The smallest valid input: {"target":{"kind":"file","path":"…"}}
    "#);
    insta::assert_snapshot!(first(&checker, json!({ "target": 7 })), @r#"
    Tool: the input is not valid. Nothing was run.
    - `target`: expected an object with `kind`, `path` or an object with `kind`, `url` or null, got the integer 7
    The smallest valid input: {"target":{"kind":"file","path":"…"}}
    "#);
}

#[test]
fn a_tool_without_arguments_says_so() {
    let checker = compile(&json!({ "type": "object", "properties": {} }));
    insta::assert_snapshot!(first(&checker, json!({ "reason": "because" })), @r#"
    Tool: the input is not valid. Nothing was run.
    - `reason`: no such key, got the string "because"; no keys are accepted
    The smallest valid input: {}
    "#);
}

#[test]
fn a_key_that_is_given_already_is_not_suggested() {
    let found = violations(&read_tool(), json!({ "file_path": "a", "filePath": "b" }));
    assert_eq!(found.list[0].hint.as_deref(), Some("accepted keys: `file_path`, `limit`, `mode`"));
}

#[test]
fn a_branch_that_only_requires_finds_the_schema_around_it() {
    let checker = compile(
        &json!({ "type": "object", "properties": { "id": { "type": "integer" }, "name": { "type": "string" } },
        "anyOf": [{ "required": ["id"] }, { "required": ["name"] }] }),
    );
    insta::assert_snapshot!(first(&checker, json!({})), @r#"
    Tool: the input is not valid. Nothing was run.
    - `id`: expected an integer (required), got nothing
    The smallest valid input: {"id":0}
    "#);
}

#[test]
fn the_rarer_keywords_are_worded() {
    let check = |keyword: Value, input: Value| violations(&compile(&keyword), input).list[0].to_string();
    insta::assert_snapshot!(check(json!({ "not": { "type": "string" } }), json!("a")), @r#"the input: expected anything but a string, got the string "a""#);
    insta::assert_snapshot!(check(json!({ "contains": { "type": "integer" } }), json!(["a"])), @r#"the input: expected an array with an item that is an integer, got the array ["a"]"#);
    insta::assert_snapshot!(check(json!({ "propertyNames": { "pattern": "^[a-z]+$" } }), json!({ "A": 1 })), @r#"the input: expected keys that are a string that matches `^[a-z]+$`, got the object {"A":1}"#);
    insta::assert_snapshot!(check(json!({ "prefixItems": [true], "items": false }), json!([1, 2])), @"`[1]`: expected nothing at all, got the integer 2");
    insta::assert_snapshot!(check(json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }), json!(1)), @"the input: expected only one of these, not several at once: an integer or a number, got the integer 1");
    insta::assert_snapshot!(check(json!({ "type": "array", "uniqueItems": true }), json!([1, 1])), @"the input: expected an array without repetition, got the array [1,1]");
    insta::assert_snapshot!(check(json!({ "dependentRequired": { "a": ["b"] } }), json!({ "a": 1 })), @"`b`: expected a value (required), got nothing");
    insta::assert_snapshot!(check(json!({ "properties": { "a": false } }), json!({ "a": 1 })), @"`a`: expected nothing at all, got the integer 1");
    insta::assert_snapshot!(check(json!(false), json!(1)), @"the input: expected nothing at all, got the integer 1");
}

#[test]
fn a_failure_has_an_identity() {
    let checker = read_tool();
    let identity = |input: Value| violations(&checker, input).identity();
    assert_eq!(identity(json!({ "limit": 0 })), identity(json!({ "limit": 0 })));
    assert_ne!(identity(json!({ "limit": 0 })), identity(json!({ "limit": -1 })));
    assert_ne!(identity(json!({})), identity(json!({ "limit": 0 })));
}
