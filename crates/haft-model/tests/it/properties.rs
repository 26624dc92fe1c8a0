//! What holds for any JSON, however strange.

use std::collections::HashSet;

use haft_engine::{pool::Offer, result::ToolResult};
use haft_model::Dialect;
use haft_tool::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::table;

/// JSON made of the words that the dialects and JSON Schema use, so that it often comes near to something real.
fn any_json(words: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let word = prop::sample::select(words);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        let key = prop_oneof![4 => word.clone().prop_map(str::to_owned), 1 => any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|entries| Value::from(entries.into_iter().collect::<Map<String, Value>>())),
        ]
    })
}

const MESSAGE: &[&str] = &[
    "choices",
    "message",
    "tool_calls",
    "function",
    "arguments",
    "id",
    "name",
    "type",
    "content",
    "tool_use",
    "input",
    "output",
    "function_call",
    "call_id",
    "candidates",
    "parts",
    "functionCall",
    "args",
    "role",
    "text",
    "call_0",
    "custom_tool_call",
];

const SCHEMA: &[&str] = &[
    "type",
    "object",
    "array",
    "string",
    "null",
    "properties",
    "items",
    "required",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$defs",
    "#/$defs/type",
    "#",
    "#/properties/type",
    "enum",
    "const",
    "additionalProperties",
    "prefixItems",
    "additionalItems",
    "minimum",
    "exclusiveMinimum",
    "not",
    "description",
    "default",
    "format",
    "pattern",
];

/// An object whose keywords mostly hold what they should.
fn any_schema() -> impl Strategy<Value = Value> {
    any_json(SCHEMA)
        .prop_map(|value| json!({ "properties": value, "anyOf": [value, {}], "$defs": { "type": value } }))
}

proptest! {
    #[test]
    fn reading_any_json_never_panics(message in any_json(MESSAGE)) {
        let _ = Dialect::detect(&message);
        for dialect in Dialect::ALL {
            if let Ok(calls) = dialect.calls(&message) {
                let ids: HashSet<&str> = calls.iter().map(|call| call.id.as_str()).collect();
                prop_assert_eq!(ids.len(), calls.len());
            }
        }
    }

    #[test]
    fn any_schema_becomes_an_object_without_references(schema in any_schema()) {
        let schema = Schema::from_value(schema);
        let offer = Offer { name: "T", title: "T", prompt: "", schema: &schema, output: None, deferred: false };
        for dialect in Dialect::ALL {
            let tools = dialect.tools([offer]);
            prop_assert_eq!(tools.to_string(), dialect.tools([offer]).to_string());
            let shown = match dialect {
                Dialect::Anthropic => &tools[0]["input_schema"],
                Dialect::OpenAi => &tools[0]["function"]["parameters"],
                Dialect::Responses => &tools[0]["parameters"],
                Dialect::Gemini => match tools[0]["functionDeclarations"][0].get("parametersJsonSchema") {
                    Some(shown) => shown,
                    None => continue,
                },
            };
            prop_assert_eq!(&shown["type"], "object");
            prop_assert!(shown["properties"].is_object());
            for keyword in ["anyOf", "oneOf", "allOf", "$ref", "$defs"] {
                prop_assert!(shown.get(keyword).is_none(), "{} at the root", keyword);
            }
        }
    }

    #[test]
    fn every_call_gets_its_result(ids in prop::collection::hash_set("[a-zA-Z0-9_-]{1,20}", 1..8)) {
        let calls: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "Read")).collect();
        let template = table::results().remove(0).1;
        for dialect in Dialect::ALL {
            let messages = table::assistant(dialect, &calls);
            let message = if dialect == Dialect::Responses { Value::from(messages) } else { messages[0].clone() };
            prop_assert_eq!(Dialect::detect(&message), Some(dialect));
            let read = dialect.calls(&message).expect("calls");
            let results: Vec<ToolResult> = read
                .iter()
                .map(|call| ToolResult { call: call.id.clone(), tool: call.name.clone(), ..template.clone() })
                .collect();
            let message = dialect.results(&results);
            let expected: Vec<&str> = calls.iter().map(|(id, _)| *id).collect();
            prop_assert_eq!(answered(dialect, &message), expected);
        }
    }
}

/// The ids that the results name, in order.
fn answered(dialect: Dialect, results: &Value) -> Vec<&str> {
    let (list, key) = match dialect {
        Dialect::Anthropic => (&results["content"], "/tool_use_id"),
        Dialect::OpenAi => (results, "/tool_call_id"),
        Dialect::Responses => (results, "/call_id"),
        Dialect::Gemini => (&results["parts"], "/functionResponse/id"),
    };
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item.pointer(key).and_then(Value::as_str).unwrap_or("nothing")).collect()
}
