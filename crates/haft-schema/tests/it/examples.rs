//! The smallest valid input.

use serde_json::{Value, json};

use crate::compile;

/// Checks the example for a schema of one required key `x`.
#[track_caller]
fn check(x: Value, expected: Value) {
    let checker =
        compile(&json!({ "type": "object", "properties": { "x": x, "other": {} }, "required": ["x"] }));
    assert_eq!(checker.example(), Some(json!({ "x": expected })));
}

#[test]
fn only_what_is_required_is_there() {
    let checker = compile(&json!({ "type": "object", "properties": { "a": { "type": "string" } } }));
    assert_eq!(checker.example(), Some(json!({})));
}

#[test]
fn the_schema_s_own_values_come_first() {
    check(json!({ "const": 7 }), json!(7));
    check(json!({ "enum": ["b", "a"] }), json!("b"));
    check(json!({ "type": "string", "default": "src" }), json!("src"));
    check(json!({ "type": "string", "default": null, "examples": ["lib"] }), json!("lib"));
}

#[test]
fn limits_are_honoured() {
    check(json!({ "type": "integer" }), json!(0));
    check(json!({ "type": "integer", "minimum": 3, "multipleOf": 5 }), json!(5));
    check(json!({ "type": "integer", "maximum": -3 }), json!(-3));
    check(json!({ "type": "integer", "exclusiveMinimum": 0 }), json!(1));
    check(json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 0.9 }), json!(0.5));
    check(json!({ "type": "string" }), json!("…"));
    check(json!({ "type": "string", "minLength": 3 }), json!("………"));
    check(json!({ "type": "string", "pattern": "^[A-Z]{2}-\\d+$" }), json!("AA-0"));
    check(json!({ "type": "string", "format": "date" }), json!("2025-01-31"));
    check(
        json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2, "uniqueItems": true }),
        json!([0, 1]),
    );
    check(json!({ "type": "array", "contains": { "const": "a" } }), json!(["a"]));
    check(
        json!({ "type": "array", "prefixItems": [{ "type": "integer" }, { "type": "boolean" }], "minItems": 2 }),
        json!([0, true]),
    );
    check(json!({ "type": ["null", "string"] }), Value::Null);
    check(json!(true), json!("…"));
}

#[test]
fn compositions_are_followed() {
    check(json!({ "anyOf": [false, { "type": "integer" }] }), json!(0));
    check(
        json!({ "allOf": [{ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] },
        { "properties": { "b": { "type": "boolean" } }, "required": ["b"] }] }),
        json!({ "a": 0, "b": false }),
    );
    check(
        json!({ "type": "object", "properties": { "a": {}, "b": { "const": 1 } }, "required": ["a"],
        "dependentRequired": { "a": ["b"] } }),
        json!({ "a": "…", "b": 1 }),
    );
}

#[test]
fn none_is_better_than_a_wrong_one() {
    let endless = json!({ "type": "object", "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" } }, "required": ["a", "b"] });
    assert_eq!(compile(&endless).example(), None);
    assert_eq!(compile(&json!(false)).example(), None);
    assert_eq!(compile(&json!({ "type": "string", "minLength": 100_000 })).example(), None);
    assert_eq!(compile(&json!({ "type": "array", "minItems": 1e9 as u64 })).example(), None);
    assert_eq!(
        compile(&json!({ "type": "string", "not": { "minLength": 1 }, "minLength": 1 })).example(),
        None
    );
}

#[test]
fn an_example_of_the_author_helps_where_none_can_be_made() {
    let hard = json!({ "type": "object", "properties": { "a": { "type": "string", "pattern": "^(?!x).{3}$" } },
        "required": ["a"], "examples": [{ "a": "abc" }] });
    assert_eq!(compile(&hard).example(), Some(json!({ "a": "abc" })));
}
