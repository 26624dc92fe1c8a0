//! What is repaired, and what is not.

use serde_json::{Value, json};

use crate::compile;

/// Checks one property `x` (optional): what becomes of it, and which coercions are recorded.
#[track_caller]
fn check(x: Value, input: Value, expected: Value, coercions: &[&str]) {
    check_root(
        json!({ "type": "object", "properties": { "x": x } }),
        json!({ "x": input }),
        expected,
        coercions,
    );
}

#[track_caller]
fn check_root(schema: Value, input: Value, expected: Value, coercions: &[&str]) {
    let checked = compile(&schema).check(input).unwrap_or_else(|violations| panic!("{violations}"));
    assert_eq!(checked.value, expected);
    let recorded: Vec<String> =
        checked.coercions.iter().map(|made| format!("{}: {} -> {}", made.path, made.from, made.to)).collect();
    assert_eq!(recorded, coercions);
}

#[track_caller]
fn check_refused(x: Value, input: Value) {
    let checker = compile(&json!({ "type": "object", "properties": { "x": x }, "required": ["x"] }));
    let found = checker.check(json!({ "x": input.clone() }));
    assert!(found.is_err(), "{input} became {found:?}");
}

#[test]
fn numeric_strings_become_numbers() {
    let integer = || json!({ "type": "integer" });
    check(integer(), json!("3"), json!({ "x": 3 }), &["x: string -> integer"]);
    check(integer(), json!(" -7 "), json!({ "x": -7 }), &["x: string -> integer"]);
    check(integer(), json!("5.0"), json!({ "x": 5 }), &["x: string -> integer"]);
    check(json!({ "type": "number" }), json!("2.5"), json!({ "x": 2.5 }), &["x: string -> number"]);
    check(json!({ "type": "number" }), json!("3"), json!({ "x": 3 }), &["x: string -> integer"]);
    check(json!({ "type": ["integer", "null"] }), json!("3"), json!({ "x": 3 }), &["x: string -> integer"]);
}

#[test]
fn what_is_not_exactly_a_json_number_is_none() {
    for text in
        ["00713", "1e400", "0x10", "NaN", "Infinity", "+1", "1_000", "1,5", "", "3px", "1 2", ".5", "5."]
    {
        check_refused(json!({ "type": "number" }), json!(text));
        check_refused(json!({ "type": "integer" }), json!(text));
    }
    check_refused(json!({ "type": "integer" }), json!("2.5"));
    check_refused(json!({ "type": "integer" }), json!("123456789012345678901234567890"));
}

#[test]
fn a_string_field_keeps_its_string() {
    for text in ["00713", "3", "true", "null", "[1]", "{}"] {
        check(json!({ "type": "string" }), json!(text), json!({ "x": text }), &[]);
        check(json!({ "type": ["integer", "string"] }), json!(text), json!({ "x": text }), &[]);
        check(
            json!({ "anyOf": [{ "type": "array" }, { "type": "string" }] }),
            json!(text),
            json!({ "x": text }),
            &[],
        );
        check(json!(true), json!(text), json!({ "x": text }), &[]);
    }
}

#[test]
fn numbers_and_booleans_do_not_become_strings() {
    check_refused(json!({ "type": "string" }), json!(5));
    check_refused(json!({ "type": "string" }), json!(true));
    check_refused(json!({ "type": "boolean" }), json!(1));
    check_refused(json!({ "type": "integer" }), json!(true));
}

#[test]
fn boolean_strings_become_booleans() {
    for text in ["true", "True", " true "] {
        check(json!({ "type": "boolean" }), json!(text), json!({ "x": true }), &["x: string -> boolean"]);
    }
    check(json!({ "type": "boolean" }), json!("False"), json!({ "x": false }), &["x: string -> boolean"]);
    for text in ["yes", "1", "TRUE", "on"] {
        check_refused(json!({ "type": "boolean" }), json!(text));
    }
}

#[test]
fn stringified_arrays_and_objects_are_unwrapped() {
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    check(strings, json!(r#"["a", "b"]"#), json!({ "x": ["a", "b"] }), &["x: string -> array"]);
    let point = json!({ "type": "object", "properties": { "y": { "type": "integer" } } });
    check(point.clone(), json!(r#"{"y": 1}"#), json!({ "x": { "y": 1 } }), &["x: string -> object"]);
    check(
        point,
        json!(r#"{"y": "1"}"#),
        json!({ "x": { "y": 1 } }),
        &["x: string -> object", "x.y: string -> integer"],
    );
    check_refused(json!({ "type": "array" }), json!("[1, 2"));
    check_refused(json!({ "type": "array" }), json!("{}"));
}

#[test]
fn the_input_itself_may_be_encoded_twice() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    check_root(schema.clone(), json!("{\"a\":1}"), json!({ "a": 1 }), &[": string -> object"]);
    check_root(schema, Value::Null, json!({}), &[": null -> object"]);
}

#[test]
fn null_for_an_optional_key_means_absent() {
    check(json!({ "type": "integer" }), Value::Null, json!({}), &["x: null -> absent"]);
    check(json!({ "enum": ["a", "b"] }), Value::Null, json!({}), &["x: null -> absent"]);
    check(
        json!({ "anyOf": [{ "type": "integer" }, { "type": "string" }] }),
        Value::Null,
        json!({}),
        &["x: null -> absent"],
    );
    check(json!({ "type": ["integer", "null"] }), Value::Null, json!({ "x": null }), &[]);
    check_refused(json!({ "type": "integer" }), Value::Null);
    check_refused(json!({ "type": "array", "items": { "type": "integer" } }), json!([null]));
}

#[test]
fn the_order_of_the_other_keys_stays() {
    let schema =
        json!({ "type": "object", "properties": { "a": {}, "b": { "type": "integer" }, "c": {}, "d": {} } });
    let checked =
        compile(&schema).check(json!({ "d": 1, "b": null, "c": 2, "a": 3 })).expect("valid without `b`");
    assert_eq!(checked.value.to_string(), r#"{"d":1,"c":2,"a":3}"#);
}

#[test]
fn a_required_null_is_put_back_where_it_was() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] });
    let violations = compile(&schema).check(json!({ "a": null })).expect_err("`a` is required");
    assert_eq!(violations.to_string(), "- `a`: expected an integer, got null");
}

#[test]
fn an_alternative_is_taken_if_all_of_it_can_be_repaired() {
    let optional = json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }] });
    check(optional, json!("3"), json!({ "x": 3 }), &["x: string -> integer"]);
    let bounded =
        json!({ "anyOf": [{ "type": "integer", "maximum": 1 }, { "type": "number", "minimum": 2 }] });
    check(bounded, json!("2.5"), json!({ "x": 2.5 }), &["x: string -> number"]);
    let tagged = json!({ "oneOf": [
        { "type": "object", "properties": { "kind": { "const": "line" }, "n": { "type": "integer" } }, "required": ["kind", "n"] },
        { "type": "object", "properties": { "kind": { "const": "text" }, "n": { "type": "boolean" } }, "required": ["kind", "n"] },
    ] });
    check(
        tagged,
        json!({ "kind": "text", "n": "true" }),
        json!({ "x": { "kind": "text", "n": true } }),
        &["x.n: string -> boolean"],
    );
    check_refused(json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }), json!("3"));
}

#[test]
fn an_option_that_is_no_string_is_found_in_one() {
    check(json!({ "enum": [1, 2] }), json!("2"), json!({ "x": 2 }), &["x: string -> integer"]);
    check(json!({ "const": true }), json!("true"), json!({ "x": true }), &["x: string -> boolean"]);
    check_refused(json!({ "enum": [1, 2] }), json!("3"));
}

#[test]
fn deep_places_are_repaired_all_at_once() {
    let schema = json!({ "type": "object", "properties": { "edits": { "type": "array", "items": {
        "type": "object", "properties": { "line": { "type": "integer" } } } } } });
    check_root(
        schema,
        json!({ "edits": [{ "line": "1" }, { "line": 2 }, { "line": "3" }] }),
        json!({ "edits": [{ "line": 1 }, { "line": 2 }, { "line": 3 }] }),
        &["edits[0].line: string -> integer", "edits[2].line: string -> integer"],
    );
}

#[test]
fn what_is_left_is_told_about_the_repaired_value() {
    let schema = json!({ "type": "object", "properties": {
        "limit": { "type": "integer", "minimum": 1 }, "all": { "type": "boolean" } } });
    let violations =
        compile(&schema).check(json!({ "limit": "0", "all": "true" })).expect_err("0 is too small");
    assert_eq!(violations.to_string(), "- `limit`: expected an integer ≥ 1, got the integer 0");
}

#[test]
fn a_key_that_looks_like_an_index_is_a_key() {
    let schema = json!({ "type": "object", "properties": { "0": { "type": "integer" }, "a/b~c": { "type": "integer" } } });
    check_root(
        schema,
        json!({ "0": "1", "a/b~c": null }),
        json!({ "0": 1 }),
        &["0: string -> integer", "a/b~c: null -> absent"],
    );
}
