//! What holds for every value, whatever the schema is.

use haft_schema::{Checker, parse};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3i64..4).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(2.0)].prop_map(Value::from),
        prop_oneof![
            Just("3"),
            Just("00713"),
            Just("true"),
            Just("null"),
            Just("[1]"),
            Just("{\"a\":\"1\"}"),
            Just("x")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec((any_key(), inner), 0..3)
                .prop_map(|members| Value::Object(Map::from_iter(members))),
        ]
    })
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("0"), Just("x/y")].prop_map(str::to_owned)
}

fn any_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any_type().prop_map(|name| json!({ "type": name })),
        (any_type(), any_type()).prop_map(|(a, b)| json!({ "anyOf": [{ "type": a }, { "type": b }] })),
        Just(json!({ "type": "integer", "minimum": 1 })),
        Just(json!({ "enum": [1, "x", null] })),
        Just(json!({ "const": true })),
        Just(json!(true)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({ "oneOf": parts })),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({ "anyOf": parts })),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({ "allOf": parts })),
            inner.clone().prop_map(|part| json!({ "not": part })),
            (prop::collection::vec((any_key(), inner), 1..3), prop::option::of(any_key())).prop_map(|(properties, required)| {
                json!({ "type": "object", "properties": Map::from_iter(properties), "required": Vec::from_iter(required) })
            }),
        ]
    })
}

fn any_type() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("null"),
        Just("boolean"),
        Just("integer"),
        Just("number"),
        Just("string"),
        Just("array"),
        Just("object")
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_valid_value_is_never_changed(schema in any_schema(), value in any_value()) {
        let checker = Checker::compile(&schema).expect("the schema compiles");
        if checker.is_valid(&value) {
            let checked = checker.check(value.clone()).expect("it is valid");
            prop_assert_eq!(checked.value, value);
            prop_assert!(checked.coercions.is_empty());
        }
    }

    #[test]
    fn the_result_validates_or_there_is_a_text(schema in any_schema(), value in any_value()) {
        let checker = Checker::compile(&schema).expect("the schema compiles");
        let was_valid = checker.is_valid(&value);
        match checker.check(value) {
            Ok(checked) => {
                prop_assert!(checker.is_valid(&checked.value));
                prop_assert_eq!(checked.coercions.is_empty(), was_valid);
            }
            Err(violations) => {
                prop_assert!(!violations.list.is_empty());
                for attempt in 0..3 {
                    prop_assert!(violations.message("T", &checker, attempt).len() < 5_000);
                }
            }
        }
    }

    #[test]
    fn strictness_only_refuses_more(schema in any_schema(), value in any_value()) {
        // `$dynamicAnchor` cannot be traced, so a schema that has one is left as it is.
        let open = json!({ "$dynamicAnchor": "open", "allOf": [schema.clone()] });
        let strict = Checker::compile(&schema).expect("the schema compiles");
        let open = Checker::compile(&open).expect("the schema compiles");
        prop_assert!(open.is_valid(&value) || !strict.is_valid(&value));
    }

    #[test]
    fn an_example_is_valid(schema in any_schema()) {
        let checker = Checker::compile(&schema).expect("the schema compiles");
        if let Some(example) = checker.example() {
            prop_assert!(checker.is_valid(&example));
        }
    }

    #[test]
    fn what_is_parsed_from_json_is_that_json(value in any_value()) {
        prop_assert_eq!(parse(&value.to_string()).expect("this is JSON"), value);
    }
}
