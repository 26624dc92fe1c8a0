//! Hostile schemas and huge values: no panic, no hang, no endless text.

use std::time::{Duration, Instant};

use haft_schema::Checker;
use serde_json::{Value, json};

use crate::compile;

#[track_caller]
fn check_refused(schema: Value, why: &str) {
    let err = Checker::compile(&schema).expect_err("the schema is not usable").to_string();
    assert!(err.contains(why) && err.len() < 1000, "{err}");
}

#[track_caller]
fn check_message(schema: Value, input: Value) {
    let started = Instant::now();
    let checker = compile(&schema);
    let violations = checker.check(input).expect_err("not valid");
    for attempt in [0, 1] {
        let message = violations.message("Tool", &checker, attempt);
        assert!(message.len() < 5_000, "{} bytes", message.len());
    }
    assert!(violations.list.len() <= 20);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn checkers_can_be_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Checker>();
}

#[test]
fn a_schema_that_cannot_be_used_says_why() {
    check_refused(json!({ "type": "nonsense" }), "nonsense");
    check_refused(json!({ "$ref": "https://example.com/other.json" }), "example.com");
    check_refused(json!({ "$ref": "#/$defs/nowhere" }), "nowhere");
    check_refused(json!({ "pattern": "(" }), "(");
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({ "items": deep });
    }
    check_refused(deep, "deeper");
}

#[test]
fn an_unknown_draft_is_read_as_the_current_one() {
    let checker = compile(&json!({ "$schema": "https://example.com/mine", "type": "integer" }));
    assert!(checker.is_valid(&json!(1)) && !checker.is_valid(&json!("a")));
}

#[test]
fn look_around_works_and_a_bomb_does_not_hang() {
    let checker = compile(&json!({ "type": "string", "pattern": "^(?!x)" }));
    assert!(checker.is_valid(&json!("a")) && !checker.is_valid(&json!("x")));
    let bomb = "a".repeat(10_000) + "!";
    check_message(json!({ "type": "string", "pattern": "^(a+)+$" }), json!(bomb));
    check_message(json!({ "type": "string", "pattern": "^(?=(a+)+$)x" }), json!(bomb));
}

#[test]
fn many_violations_are_counted_and_not_listed() {
    let schema = json!({ "type": "array", "items": { "type": "integer" } });
    check_message(schema.clone(), json!(vec!["x"; 10_000]));
    let checker = compile(&schema);
    let violations = checker.check(json!(vec!["x"; 10_000])).expect_err("not integers");
    assert_eq!((violations.list.len(), violations.more), (20, 9_980));
    assert!(violations.message("Tool", &checker, 0).contains("and 9980 more"));
    let keys: Value =
        (0..10_000).map(|n| (format!("key{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    check_message(json!({ "type": "object", "properties": { "a": true } }), keys);
}

#[test]
fn many_coercions_are_made_in_one_go() {
    let checker = compile(
        &json!({ "type": "array", "items": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } }),
    );
    let started = Instant::now();
    let checked = checker.check(json!(vec!["7"; 10_000])).expect("all are numbers");
    assert_eq!(checked.coercions.len(), 10_000);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn huge_names_and_values_are_cut() {
    let long = "k".repeat(100_000);
    check_message(
        json!({ "type": "object", "properties": { &long: { "type": "integer" } }, "required": [&long] }),
        json!({}),
    );
    check_message(json!({ "type": "object", "properties": {} }), json!({ &long: &long }));
    check_message(
        json!({ "enum": (0..10_000).map(|n| format!("{n}{long}")).take(50).collect::<Vec<_>>() }),
        json!(&long),
    );
    let keys: serde_json::Map<_, _> = (0..1_000)
        .map(|n| (format!("a_rather_long_key_{n}"), json!({ "type": "string", "pattern": "x".repeat(50) })))
        .collect();
    check_message(json!({ "type": "object", "properties": keys }), json!({ "b": 1 }));
}

#[test]
fn deep_values_do_not_overflow_the_stack() {
    let schema = json!({ "anyOf": [{ "type": "integer" }, { "type": "array", "items": { "$ref": "#" } }] });
    let text = format!("{}\"x\"{}", "[".repeat(120), "]".repeat(120));
    check_message(schema, haft_schema::parse(&text).expect("120 levels are allowed"));
}

#[test]
fn json_in_strings_cannot_nest_without_end() {
    let schema = json!({ "type": "array", "items": { "$ref": "#" } });
    let mut text = "[]".to_owned();
    for _ in 0..4 {
        text = format!("{}{}{}", "[".repeat(40), Value::from(text), "]".repeat(40));
    }
    assert!(compile(&schema).check(haft_schema::parse(&text).expect("an array")).is_err());
}

#[test]
fn a_reference_to_itself_ends() {
    let checker = Checker::compile(&json!({ "$ref": "#" }));
    if let Ok(checker) = checker {
        let _ = checker.check(json!({ "a": 1 }));
        let _ = checker.example();
    }
}

#[test]
fn doubling_definitions_do_not_explode() {
    let mut defs = serde_json::Map::new();
    for n in 0..40 {
        let next = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        defs.insert(format!("d{n}"), json!({ "allOf": [next, next] }));
    }
    defs.insert("d40".to_owned(), json!({ "type": "integer" }));
    check_refused(json!({ "$ref": "#/$defs/d0", "$defs": defs }), "endless");
}

#[test]
fn doubling_recursion_does_not_explode() {
    let branch = |key: &str| json!({ "properties": { "a": { "$ref": "#" } }, "required": [key] });
    let mut input = json!({});
    for _ in 0..100 {
        input = json!({ "a": input });
    }
    check_message(json!({ "anyOf": [branch("x"), branch("y")] }), input);
}
