//! An object at the root: no API takes anything else for the input of a tool.

use serde_json::{Map, Value, json};

/// The schema as one plain object. What is lost is told in a note.
pub(super) fn object(schema: Value, notes: &mut Vec<String>) -> Map<String, Value> {
    let mut root = flat(schema, notes);
    let mut lost = !takes_object(&root) && root.get("type") != Some(&json!("null"));
    root.shift_remove("type");
    for keyword in ["not", "if", "then", "else", "enum", "const"] {
        lost |= root.shift_remove(keyword).is_some();
    }
    if lost {
        notes.push("Further conditions on its arguments are checked when it is called.".to_owned());
    }
    list_required(&mut root);
    let mut object = Map::new();
    object.insert("type".to_owned(), "object".into());
    object.insert("properties".to_owned(), root.shift_remove("properties").unwrap_or_else(|| json!({})));
    object.extend(root);
    object
}

/// The schema with its parts and alternatives merged into it.
fn flat(schema: Value, notes: &mut Vec<String>) -> Map<String, Value> {
    let Value::Object(mut map) = schema else { return Map::new() };
    for part in take_list(&mut map, "allOf") {
        let part = flat(part, notes);
        merge(&mut map, part);
    }
    for keyword in ["anyOf", "oneOf"] {
        let forms: Vec<Map<String, Value>> = take_list(&mut map, keyword)
            .into_iter()
            .map(|form| flat(form, notes))
            .filter(takes_object)
            .collect();
        if let Some(note) = describe(&forms) {
            notes.push(note);
        }
        merge(&mut map, either(forms));
    }
    map
}

fn take_list(map: &mut Map<String, Value>, keyword: &str) -> Vec<Value> {
    match map.shift_remove(keyword) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// Adds what a part says. What is there already stays: a schema's own words win over those of its parts.
pub(crate) fn merge(base: &mut Map<String, Value>, part: Map<String, Value>) {
    for (keyword, value) in part {
        match (keyword.as_str(), base.get_mut(&keyword), value) {
            ("properties", Some(Value::Object(properties)), Value::Object(more)) => {
                add_properties(properties, more)
            }
            ("required", Some(Value::Array(required)), Value::Array(more)) => {
                let more: Vec<Value> = more.into_iter().filter(|name| !required.contains(name)).collect();
                required.extend(more);
            }
            (_, Some(_), _) => {}
            (_, None, value) => drop(base.insert(keyword, value)),
        }
    }
}

fn add_properties(properties: &mut Map<String, Value>, more: Map<String, Value>) {
    for (name, schema) in more {
        match (properties.get_mut(&name), schema) {
            (Some(Value::Object(known)), Value::Object(schema)) => merge(known, schema),
            (Some(_), _) => {}
            (None, schema) => drop(properties.insert(name, schema)),
        }
    }
}

/// One object that takes what any of the forms takes.
fn either(forms: Vec<Map<String, Value>>) -> Map<String, Value> {
    let mut either = Map::new();
    let properties = all_properties(&forms);
    if !properties.is_empty() {
        either.insert("properties".to_owned(), properties.into());
    }
    let required = required_by_all(&forms);
    if !required.is_empty() {
        either.insert("required".to_owned(), required.into());
    }
    let closed = |form: &Map<String, Value>| form.get("additionalProperties") == Some(&Value::Bool(false));
    if !forms.is_empty() && forms.iter().all(closed) {
        either.insert("additionalProperties".to_owned(), false.into());
    }
    either
}

fn all_properties(forms: &[Map<String, Value>]) -> Map<String, Value> {
    let mut found: Map<String, Value> = Map::new();
    for (name, schema) in forms.iter().filter_map(|form| form.get("properties")?.as_object()).flatten() {
        let schemas = found.entry(name.clone()).or_insert_with(|| json!([]));
        if let Value::Array(schemas) = schemas
            && !schemas.contains(schema)
        {
            schemas.push(schema.clone());
        }
    }
    found.into_iter().map(|(name, schemas)| (name, any_of(schemas))).collect()
}

fn any_of(schemas: Value) -> Value {
    let Value::Array(mut schemas) = schemas else { return schemas };
    if schemas.len() == 1 {
        return schemas.swap_remove(0);
    }
    match schemas.iter().map(constant).collect::<Option<Vec<&Value>>>() {
        Some(constants) => tag(&schemas, &constants),
        None => json!({ "anyOf": schemas }),
    }
}

/// The tag of a tagged union: one of several values, of one type if they all say so.
fn tag(schemas: &[Value], constants: &[&Value]) -> Value {
    let kind = schemas[0].get("type");
    let mut tag = Map::new();
    if let Some(kind) = kind.filter(|_| schemas.iter().all(|schema| schema.get("type") == kind)) {
        tag.insert("type".to_owned(), kind.clone());
    }
    tag.insert("enum".to_owned(), json!(constants));
    tag.into()
}

/// The only value that a schema takes, if it is so written.
fn constant(schema: &Value) -> Option<&Value> {
    schema.get("const").or_else(|| match schema.get("enum")?.as_array()?.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

fn required_by_all(forms: &[Map<String, Value>]) -> Vec<Value> {
    let Some((first, others)) = forms.split_first() else { return Vec::new() };
    let by_all = |name: &&Value| others.iter().all(|form| required(form).contains(name));
    required(first).iter().filter(by_all).cloned().collect()
}

fn required(form: &Map<String, Value>) -> &[Value] {
    form.get("required").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn takes_object(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => true,
    }
}

/// "{ shape: "circle", radius, fill? }" for each form.
fn describe(forms: &[Map<String, Value>]) -> Option<String> {
    if forms.len() < 2 {
        return None;
    }
    let forms: Vec<String> = forms.iter().map(describe_form).collect();
    Some(format!("Its arguments take one of these forms: {}.", forms.join("; ")))
}

fn describe_form(form: &Map<String, Value>) -> String {
    let no_properties = Map::new();
    let properties = form.get("properties").and_then(Value::as_object).unwrap_or(&no_properties);
    let unlisted =
        required(form).iter().filter_map(Value::as_str).filter(|name| !properties.contains_key(*name));
    let listed = properties.iter().map(|(name, schema)| match constant(schema) {
        Some(constant) => format!("{name}: {constant}"),
        None if required(form).iter().any(|required| required == name) => name.clone(),
        None => format!("{name}?"),
    });
    let arguments: Vec<String> = listed.chain(unlisted.map(str::to_owned)).collect();
    format!("{{ {} }}", arguments.join(", "))
}

/// Names that are required but not described get an entry that takes anything: some APIs refuse them otherwise.
pub(crate) fn list_required(object: &mut Map<String, Value>) {
    let names: Vec<String> = required(object).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if names.is_empty() {
        return;
    }
    if let Value::Object(properties) = object.entry("properties").or_insert_with(|| json!({})) {
        for name in names {
            properties.entry(name).or_insert_with(|| json!({}));
        }
    }
}
