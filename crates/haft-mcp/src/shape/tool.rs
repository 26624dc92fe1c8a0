//! A tool as a server lists it.
//!
//! Schemas go out as they are: MCP takes all of JSON Schema, and clients pin what they have seen. There are no
//! annotations: what a call does depends on its input, and a hint that is wrong half the time is worse than none.

use haft_engine::pool::Offer;
use serde_json::{Map, Value, json};

/// The answer to `tools/list`, without the deferred tools. The same offers give the same bytes.
pub fn list_tools_result<'a>(offers: impl IntoIterator<Item = Offer<'a>>) -> Value {
    let listed = offers.into_iter().filter(|offer| !offer.deferred);
    json!({ "tools": listed.map(|offer| tool(&offer)).collect::<Vec<Value>>() })
}

/// One tool.
pub fn tool(offer: &Offer<'_>) -> Value {
    let mut tool = Map::new();
    tool.insert("name".to_owned(), offer.name.into());
    if !offer.title.is_empty() && offer.title != offer.name {
        tool.insert("title".to_owned(), offer.title.into());
    }
    if !offer.prompt.is_empty() {
        tool.insert("description".to_owned(), offer.prompt.into());
    }
    tool.insert("inputSchema".to_owned(), input_schema(offer.schema.value()));
    if let Some(output) = offer.output.map(|output| output.value()).filter(|output| is_object(output)) {
        tool.insert("outputSchema".to_owned(), output.clone());
    }
    tool.into()
}

/// The protocol wants `"type": "object"` at the root. A schema that leaves it open gets it; one that is something
/// else has no place in a tool, and the arguments are then whatever the call's check makes of them.
fn input_schema(schema: &Value) -> Value {
    match schema {
        Value::Object(_) if is_object(schema) => schema.clone(),
        Value::Object(map) if may_be_object(map) => {
            let mut typed = Map::new();
            typed.insert("type".to_owned(), "object".into());
            typed.extend(
                map.iter().filter(|(key, _)| *key != "type").map(|(key, value)| (key.clone(), value.clone())),
            );
            typed.into()
        }
        _ => json!({ "type": "object", "properties": {} }),
    }
}

fn is_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object")
}

fn may_be_object(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use haft_tool::Schema;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: Value) {
        let schema = Schema::from_value(schema);
        let offer =
            Offer { name: "T", title: "", prompt: "", schema: &schema, output: None, deferred: false };
        assert_eq!(tool(&offer), json!({ "name": "T", "inputSchema": expected }));
    }

    #[test]
    fn a_schema_goes_out_as_it_is_but_with_an_object_at_the_root() {
        let odd = json!({ "$schema": "x", "type": "object", "properties": { "$top": { "$ref": "#/$defs/N" } }, "$defs": { "N": {} } });
        check(odd.clone(), odd);
        check(json!({}), json!({ "type": "object", "properties": {} }));
        check(
            json!({ "anyOf": [{ "required": ["a"] }] }),
            json!({ "type": "object", "anyOf": [{ "required": ["a"] }] }),
        );
        check(
            json!({ "type": ["object", "null"], "minProperties": 1 }),
            json!({ "type": "object", "minProperties": 1 }),
        );
        check(json!({ "type": "null" }), json!({ "type": "object", "properties": {} }));
        check(json!(true), json!({ "type": "object", "properties": {} }));
    }

    #[test]
    fn tools_as_clients_see_them() {
        let input = Schema::from_value(
            json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] }),
        );
        let object = Schema::from_value(
            json!({ "type": "object", "properties": { "degrees": { "type": "number" } } }),
        );
        let list = Schema::from_value(json!({ "type": "array", "items": {} }));
        let weather = Offer {
            name: "weather",
            title: "Weather",
            prompt: "Tells the weather in a city.",
            schema: &input,
            output: Some(&object),
            deferred: false,
        };
        let cities = Offer { name: "cities", title: "cities", output: Some(&list), ..weather };
        let hidden = Offer { name: "hidden", deferred: true, ..weather };
        insta::assert_snapshot!(
            serde_json::to_string_pretty(&list_tools_result([weather, cities, hidden])).expect("JSON")
        );
    }
}
