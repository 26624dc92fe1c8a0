//! Something that fits a tool's schema: what is required, and nothing more.

use serde_json::{Map, Value, json};

pub(crate) fn fitting(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| (name.to_owned(), example(&schema["properties"][name]));
    Value::Object(required.map(value).collect::<Map<String, Value>>())
}

fn example(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => fitting(schema),
        _ => schema["enum"][0].as_str().unwrap_or("something").into(),
    }
}
