//! Old and broken keywords made right: after this a schema is valid JSON Schema 2020-12.

use serde_json::{Map, Value, json};

use super::{
    keyword::{Holds, each_schema},
    pattern::is_portable,
    say,
};

/// The schema with the keywords that 2020-12 has, each with a value that it may have. The rest is left out.
pub(super) fn tidy(schema: &Value) -> Value {
    let Value::Object(map) = schema else {
        // `true` takes everything and `false` nothing. Written so, APIs understand it in every place.
        return if schema == &Value::Bool(false) { json!({ "not": {} }) } else { json!({}) };
    };
    let mut tidied = Map::new();
    for (keyword, value) in &modern(map) {
        if let Some(value) = keep(keyword, value) {
            tidied.insert(keyword.clone(), value);
        }
    }
    if let Some(Value::String(pattern)) = map.get("pattern").filter(|_| !tidied.contains_key("pattern")) {
        say(&mut tidied, &[format!("pattern: {pattern}")]);
    }
    // OpenAI refuses an array that does not say of what.
    if has_type(&tidied, "array") && !tidied.contains_key("items") {
        tidied.insert("items".to_owned(), json!({}));
    }
    tidied.into()
}

/// The keywords of older drafts in today's spelling.
fn modern(map: &Map<String, Value>) -> Map<String, Value> {
    let mut map = map.clone();
    if map.get("items").is_some_and(Value::is_array) {
        let after = map.shift_remove("additionalItems");
        map = rename(map, "items", "prefixItems");
        if let Some(after) = after {
            map.insert("items".to_owned(), after);
        }
    }
    for (flag, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if map.get(flag) == Some(&Value::Bool(true)) {
            map.shift_remove(flag);
            map = rename(map, bound, flag);
        }
    }
    map
}

/// Under another key, in the same place.
fn rename(map: Map<String, Value>, from: &str, to: &str) -> Map<String, Value> {
    map.into_iter().map(|(key, value)| (if key == from { to.to_owned() } else { key }, value)).collect()
}

fn keep(keyword: &str, value: &Value) -> Option<Value> {
    let holds = Holds::of(keyword)?;
    match (holds, value) {
        (Holds::Types, _) => types(value),
        (Holds::Names, Value::Array(names)) => some_names(names),
        (Holds::NamesByName, Value::Object(named)) => {
            let named =
                named.iter().filter_map(|(name, names)| Some((name.clone(), some_names(names.as_array()?)?)));
            Some(named.collect::<Map<String, Value>>().into())
        }
        (Holds::Named, Value::Object(named)) if keyword == "patternProperties" => {
            let readable = named.iter().filter(|(pattern, _)| is_portable(pattern));
            let readable = readable.map(|(pattern, schema)| (pattern.clone(), tidy(schema)));
            Some(readable.collect::<Map<String, Value>>().into())
        }
        (Holds::Text, Value::String(pattern)) if keyword == "pattern" => {
            is_portable(pattern).then(|| value.clone())
        }
        (Holds::Schema, Value::Bool(_)) if is_often_flag(keyword) => Some(value.clone()),
        (Holds::Schema, Value::Object(_) | Value::Bool(_)) | (Holds::Named, Value::Object(_)) => {
            Some(each_schema(keyword, value, &mut tidy))
        }
        (Holds::List, Value::Array(list)) if !list.is_empty() => Some(each_schema(keyword, value, &mut tidy)),
        (Holds::Values, Value::Array(values)) => (!values.is_empty()).then(|| value.clone()),
        (Holds::Number, Value::Number(number)) => {
            let fits = keyword != "multipleOf" || number.as_f64().is_some_and(|number| number > 0.0);
            fits.then(|| value.clone())
        }
        (Holds::Count, Value::Number(number)) => number.as_u64().map(Value::from),
        (Holds::Value, _) | (Holds::Text, Value::String(_)) | (Holds::Flag, Value::Bool(_)) => {
            Some(value.clone())
        }
        _ => None,
    }
}

/// Where `true` and `false` are the usual way to write it.
fn is_often_flag(keyword: &str) -> bool {
    matches!(keyword, "additionalProperties" | "unevaluatedProperties" | "unevaluatedItems" | "items")
}

/// One type or several, without those that JSON does not have.
fn types(value: &Value) -> Option<Value> {
    const KNOWN: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
    let is_known = |kind: &Value| kind.as_str().is_some_and(|kind| KNOWN.contains(&kind));
    let Value::Array(kinds) = value else { return is_known(value).then(|| value.clone()) };
    let kinds = distinct(kinds.iter().filter(|kind| is_known(kind)));
    match kinds.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        _ => Some(kinds.into()),
    }
}

fn some_names(names: &[Value]) -> Option<Value> {
    let names = distinct(names.iter().filter(|name| name.is_string()));
    (!names.is_empty()).then(|| names.into())
}

fn distinct<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for value in values {
        if !distinct.contains(value) {
            distinct.push(value.clone());
        }
    }
    distinct
}

fn has_type(map: &Map<String, Value>, kind: &str) -> bool {
    match map.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|found| found == kind),
        Some(found) => found == kind,
        None => false,
    }
}
