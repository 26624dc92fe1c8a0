//! The shape of a tool's input, made from its type.
//!
//! The same schema is shown to the model and checked against. It is generated once, on first use: a tool that nobody
//! calls or lists costs nothing.

use std::{path::Path, sync::OnceLock};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

use crate::{AbsolutePath, PathBase};

/// A JSON Schema (2020-12 unless it says otherwise) and where in it paths are.
#[derive(Debug, Clone)]
pub struct Schema {
    value: Value,
    description: Option<String>,
    text: OnceLock<String>,
    paths: Vec<PathField>,
}

/// Where in an input a path is, and what stands there if the model leaves it out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathField {
    steps: Vec<Step>,
    default: Option<String>,
}

/// One step from an input value towards a path in it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Each,
}

impl Schema {
    /// The schema of a type. Its doc comment becomes the [`description`](Schema::description), not part of the schema.
    pub fn of<T: JsonSchema>() -> Schema {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        });
        let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
        simplify(&mut value);
        Schema::from_value(value)
    }

    /// A schema that somebody else wrote, of any draft. It is kept as it is: a `null` in it may mean something there.
    pub fn from_value(mut value: Value) -> Schema {
        let mut description = None;
        if let Value::Object(root) = &mut value {
            root.shift_remove("title");
            description = root.shift_remove("description").and_then(|text| text.as_str().map(str::to_owned));
            // Every API wants an object at the root, also for tools without arguments.
            if root.is_empty() {
                root.insert("type".to_owned(), "object".into());
            }
            if root.get("type").is_some_and(|kind| kind == "object") && !root.contains_key("properties") {
                root.insert("properties".to_owned(), Map::new().into());
            }
        }
        let mut paths = Vec::new();
        take_paths(&mut value, &mut Vec::new(), &mut paths);
        Schema { value, description, text: OnceLock::new(), paths }
    }

    /// The schema itself.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The doc comment of the type that it was made from.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The schema as compact JSON, always the same bytes.
    pub fn text(&self) -> &str {
        self.text.get_or_init(|| self.value.to_string())
    }

    /// Makes every path in an input absolute, also those that are only meant by default. Whether the input fits the
    /// schema is not asked here.
    pub fn make_paths_absolute(&self, input: &mut Value, base: &PathBase) {
        for field in &self.paths {
            if let (Some(default), Some((Step::Key(key), parents))) =
                (&field.default, field.steps.split_last())
            {
                at_each(input, parents, &mut |parent| set_default(parent, key, default));
            }
            at_each(input, &field.steps, &mut |found| absolute(found, base));
        }
    }
}

fn set_default(parent: &mut Value, key: &str, default: &str) {
    if let Value::Object(map) = parent
        && !map.contains_key(key)
    {
        map.insert(key.to_owned(), default.into());
    }
}

fn absolute(found: &mut Value, base: &PathBase) {
    let Value::String(text) = found else { return };
    let path = base.absolute(Path::new(text.as_str()));
    // Text from JSON and a base that is not UTF-8: leave the input as it is; its effects will then be relative, and
    // a relative effect is refused.
    if let Ok(path) = path.into_os_string().into_string() {
        *text = path;
    }
}

fn at_each(value: &mut Value, steps: &[Step], act: &mut dyn FnMut(&mut Value)) {
    match (steps.split_first(), value) {
        (None, value) => act(value),
        (Some((Step::Key(key), rest)), Value::Object(map)) => {
            if let Some(value) = map.get_mut(key) {
                at_each(value, rest, act);
            }
        }
        (Some((Step::Each, rest)), Value::Array(items)) => {
            items.iter_mut().for_each(|item| at_each(item, rest, act));
        }
        _ => {}
    }
}

/// Takes the markers of path fields out of a schema and remembers where they were.
fn take_paths(schema: &mut Value, here: &mut Vec<Step>, found: &mut Vec<PathField>) {
    let Value::Object(map) = schema else { return };
    if map.get("format").is_some_and(|format| format == AbsolutePath::FORMAT) {
        map.shift_remove("format");
        let default = map.get("default").and_then(Value::as_str).map(str::to_owned);
        found.push(PathField { steps: here.clone(), default });
    }
    for union in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(branches)) = map.get_mut(union) {
            branches.iter_mut().for_each(|branch| take_paths(branch, here, found));
        }
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for (key, schema) in properties {
            here.push(Step::Key(key.clone()));
            take_paths(schema, here, found);
            here.pop();
        }
    }
    if let Some(items) = map.get_mut("items") {
        here.push(Step::Each);
        take_paths(items, here, found);
        here.pop();
    }
}

/// Takes out what serves Rust and not a model: number formats that no JSON API knows, and `null` as one more type of
/// every optional field. A model that sends `null` for an absent field is understood anyway.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(map) => {
            drop_rust_format(map);
            drop_null(map);
            map.values_mut().for_each(simplify);
        }
        _ => {}
    }
}

fn drop_rust_format(map: &mut Map<String, Value>) {
    let is_number = |format: &str| {
        let width = format.strip_prefix("uint").or_else(|| format.strip_prefix("int"));
        matches!(format, "float" | "double")
            || width.is_some_and(|width| width.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if map.get("format").and_then(Value::as_str).is_some_and(is_number) {
        map.shift_remove("format");
    }
}

fn drop_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if map.get("default").is_some_and(Value::is_null) {
        map.shift_remove("default");
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        if branches.len() == 1 {
            let only = branches.pop();
            map.shift_remove("anyOf");
            if let Some(Value::Object(only)) = only {
                // The field's own words win over those of its type.
                for (key, value) in only {
                    map.entry(key).or_insert(value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Does a thing.
    ///
    /// Use it often.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Input {
        /// Where.
        path: AbsolutePath,
        /// Elsewhere.
        also: Option<Vec<AbsolutePath>>,
        /// How many.
        limit: Option<u32>,
        inner: Option<Inner>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        at: AbsolutePath,
        share: f64,
    }

    #[test]
    fn the_model_sees_plain_types_and_the_comments() {
        let schema = Schema::of::<Input>();
        assert_eq!(schema.description(), Some("Does a thing.\n\nUse it often."));
        insta::assert_snapshot!(serde_json::to_string_pretty(schema.value()).unwrap());
    }

    #[test]
    fn paths_become_absolute_wherever_they_are() {
        let schema = Schema::of::<Input>();
        let base = PathBase { cwd: "/w".into(), home: Some("/home/u".into()), workspace: None };
        let mut input = json!({ "path": "~/a", "also": ["b", "/c"], "inner": { "at": "d" }, "limit": 3 });
        schema.make_paths_absolute(&mut input, &base);
        assert_eq!(
            input,
            json!({ "path": "/home/u/a", "also": ["/w/b", "/c"], "inner": { "at": "/w/d" }, "limit": 3 })
        );
    }

    #[test]
    fn a_path_that_is_left_out_is_the_default_one() {
        let schema = Schema::from_value(json!({ "properties": {
            "path": { "type": "string", "format": AbsolutePath::FORMAT, "default": "." },
        }}));
        let mut input = json!({});
        schema.make_paths_absolute(&mut input, &PathBase { cwd: "/w".into(), home: None, workspace: None });
        assert_eq!(input, json!({ "path": "/w" }));
    }

    #[test]
    fn input_of_another_shape_is_left_alone() {
        let schema = Schema::of::<Input>();
        let base = PathBase { cwd: "/w".into(), home: None, workspace: None };
        let mut input = json!({ "path": 3, "also": "x", "inner": [] });
        let before = input.clone();
        schema.make_paths_absolute(&mut input, &base);
        assert_eq!(input, before);
    }

    #[test]
    fn a_tool_without_arguments_has_an_object_schema() {
        assert_eq!(Schema::from_value(json!({})).text(), r#"{"type":"object","properties":{}}"#);
        assert_eq!(Schema::of::<()>().value().get("type").and_then(Value::as_str), Some("null"));
    }
}
