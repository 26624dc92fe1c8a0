//! The schemas that servers send: drafts, references, compositions.

use serde_json::{Value, json};

use crate::compile;

const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";

/// Checks which values a schema accepts, and which it refuses.
#[track_caller]
fn check(schema: Value, valid: &[Value], invalid: &[Value]) {
    let checker = compile(&schema);
    for value in valid {
        assert!(checker.is_valid(value), "{value} is refused");
    }
    for value in invalid {
        assert!(!checker.is_valid(value), "{value} is accepted");
        let message =
            checker.check(value.clone()).err().map(|violations| violations.message("T", &checker, 0));
        assert!(message.is_none_or(|message| message.contains("got")), "no text for {value}");
    }
}

#[test]
fn references_are_followed_in_every_draft() {
    let point = json!({ "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] });
    let valid = [json!({ "p": { "x": 1 } })];
    let invalid = [json!({ "p": { "x": "a" } }), json!({ "p": {} }), json!({ "p": { "x": 1, "y": 2 } })];
    let properties = |at: &str| json!({ "p": { "$ref": at } });
    check(json!({ "properties": properties("#/$defs/p"), "$defs": { "p": point } }), &valid, &invalid);
    check(
        json!({ "$schema": DRAFT_7, "properties": properties("#/definitions/p"), "definitions": { "p": point } }),
        &valid,
        &invalid,
    );
    check(
        json!({ "$schema": DRAFT_2019, "properties": properties("#/$defs/p"), "$defs": { "p": point } }),
        &valid,
        &invalid,
    );
}

#[test]
fn a_named_anchor_and_an_escaped_pointer_are_found() {
    check(
        json!({ "$ref": "#here", "$defs": { "a": { "$anchor": "here", "type": "integer" } } }),
        &[json!(1)],
        &[json!("a")],
    );
    check(
        json!({ "$ref": "#/$defs/a~1b%20c", "$defs": { "a/b c": { "type": "integer" } } }),
        &[json!(1)],
        &[json!("a")],
    );
}

#[test]
fn siblings_of_a_reference_count_since_2019() {
    let schema = |draft: &str| json!({ "$schema": draft, "$ref": "#/definitions/a", "maximum": 5, "definitions": { "a": { "type": "integer" } } });
    check(schema(DRAFT_7), &[json!(9)], &[json!("a")]);
    check(schema(DRAFT_2019), &[json!(3)], &[json!(9)]);
}

#[test]
fn a_recursive_schema_is_followed_as_deep_as_the_value() {
    let tree =
        json!({ "type": "object", "properties": { "next": { "$ref": "#" }, "n": { "type": "integer" } } });
    check(
        tree,
        &[json!({ "next": { "next": { "n": 1 } } })],
        &[json!({ "next": { "next": { "n": "x" } } }), json!({ "next": { "m": 1 } })],
    );
}

#[test]
fn any_of_needs_one_one_of_exactly_one_all_of_every() {
    let parts = json!([{ "type": "integer" }, { "type": "number", "minimum": 2 }]);
    check(json!({ "anyOf": parts }), &[json!(1), json!(2.5), json!(3)], &[json!(1.5), json!("a")]);
    check(json!({ "oneOf": parts }), &[json!(1), json!(2.5)], &[json!(3), json!(1.5)]);
    check(json!({ "allOf": parts }), &[json!(3)], &[json!(1), json!(2.5)]);
}

#[test]
fn parts_of_one_object_do_not_close_each_other() {
    let part = |key: &str| json!({ "type": "object", "properties": { key: { "type": "integer" } }, "required": [key] });
    check(json!({ "allOf": [part("a"), part("b")] }), &[json!({ "a": 1, "b": 2 })], &[json!({ "a": 1 })]);
    check(
        json!({ "$ref": "#/$defs/a", "properties": { "b": {} }, "$defs": { "a": part("a") } }),
        &[json!({ "a": 1, "b": 2 })],
        &[json!({ "b": 2 })],
    );
}

#[test]
fn conditions_choose() {
    let schema = json!({ "type": "object", "properties": { "kind": {}, "n": {} },
        "if": { "properties": { "kind": { "const": "count" } }, "required": ["kind"] },
        "then": { "required": ["n"] }, "else": { "properties": { "n": { "type": "string" } } } });
    check(
        schema,
        &[json!({ "kind": "count", "n": 1 }), json!({ "n": "a" })],
        &[json!({ "kind": "count" }), json!({ "n": 1 })],
    );
}

#[test]
fn one_key_may_need_another() {
    let valid = [json!({}), json!({ "b": 1 }), json!({ "a": 1, "b": 1 })];
    check(json!({ "dependentRequired": { "a": ["b"] } }), &valid, &[json!({ "a": 1 })]);
    check(json!({ "$schema": DRAFT_7, "dependencies": { "a": ["b"] } }), &valid, &[json!({ "a": 1 })]);
    check(json!({ "dependentSchemas": { "a": { "required": ["b"] } } }), &valid, &[json!({ "a": 1 })]);
}

#[test]
fn constants_compare_by_value() {
    check(json!({ "const": 1 }), &[json!(1), json!(1.0)], &[json!(2), json!(true)]);
    check(json!({ "const": { "a": [1] } }), &[json!({ "a": [1] })], &[json!({ "a": [1, 2] })]);
    check(
        json!({ "enum": ["a", null, 3] }),
        &[json!("a"), Value::Null, json!(3)],
        &[json!("b"), json!(false)],
    );
}

#[test]
fn positions_have_schemas_in_both_spellings() {
    let valid = [json!([1, "a"]), json!([1])];
    let invalid = [json!(["a"]), json!([1, "a", true])];
    let positions = json!([{ "type": "integer" }, { "type": "string" }]);
    check(json!({ "prefixItems": positions, "items": false }), &valid, &invalid);
    check(json!({ "$schema": DRAFT_7, "items": positions, "additionalItems": false }), &valid, &invalid);
}

#[test]
fn formats_are_checked_where_the_draft_says_so() {
    check(json!({ "$schema": DRAFT_7, "format": "date" }), &[json!("2025-01-31")], &[json!("tomorrow")]);
    check(json!({ "format": "date" }), &[json!("2025-01-31"), json!("tomorrow")], &[]);
    check(json!({ "format": "uint32", "type": "integer" }), &[json!(1)], &[json!("a")]);
}

#[test]
fn other_keys_follow_the_author() {
    check(
        json!({ "properties": { "a": {} }, "additionalProperties": { "type": "integer" } }),
        &[json!({ "b": 1 })],
        &[json!({ "b": "x" })],
    );
    check(
        json!({ "properties": { "a": {} }, "patternProperties": { "^x-": {} } }),
        &[json!({ "x-b": 1 })],
        &[],
    );
    check(
        json!({ "allOf": [{ "properties": { "a": {} } }], "properties": { "b": {} }, "unevaluatedProperties": false }),
        &[json!({ "a": 1, "b": 1 })],
        &[json!({ "c": 1 })],
    );
}

#[test]
fn whole_floats_are_integers_and_booleans_are_not() {
    check(json!({ "type": "integer" }), &[json!(1), json!(1.0)], &[json!(1.5), json!(true), json!("1")]);
}

#[test]
fn lengths_count_characters() {
    check(json!({ "type": "string", "maxLength": 2 }), &[json!("😀é")], &[json!("abc")]);
}

#[test]
fn a_boolean_is_a_schema() {
    check(json!(true), &[json!(1), json!({})], &[]);
    check(json!(false), &[], &[json!(1), json!({})]);
}

#[test]
fn a_union_of_tagged_objects_keeps_its_branches_apart() {
    let branch = |kind: &str, key: &str| json!({ "type": "object", "properties": { "kind": { "const": kind }, key: { "type": "integer" } }, "required": ["kind", key] });
    check(
        json!({ "oneOf": [branch("a", "x"), branch("b", "y")] }),
        &[json!({ "kind": "a", "x": 1 }), json!({ "kind": "b", "y": 1 })],
        &[json!({ "kind": "a", "y": 1 }), json!({ "kind": "c", "x": 1 })],
    );
}
