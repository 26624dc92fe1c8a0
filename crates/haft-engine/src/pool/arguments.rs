//! What does a schema say of each argument?

use serde_json::Value;

/// Deeper arguments are details that neither a search nor a lint should weigh.
const DEPTH: usize = 3;
/// Schemas come from strangers, and a few references can stand for millions of arguments.
const MOST: usize = 2_000;

/// An argument, as its schema describes it.
pub(super) struct Argument<'a> {
    /// Its name, after those of the objects that it is in: `filter.since`.
    pub(super) path: String,
    /// Its name.
    pub(super) name: &'a str,
    pub(super) description: Option<&'a str>,
    /// The texts that it may be.
    pub(super) choices: Vec<&'a str>,
}

/// The arguments of a schema, each before those inside it.
pub(super) fn arguments(schema: &Value) -> Vec<Argument<'_>> {
    let mut walk = Walk { root: schema, found: Vec::new() };
    walk.inside(schema, "", DEPTH);
    walk.found
}

struct Walk<'a> {
    root: &'a Value,
    found: Vec<Argument<'a>>,
}

impl<'a> Walk<'a> {
    fn inside(&mut self, schema: &'a Value, path: &str, depth: usize) {
        if depth == 0 {
            return;
        }
        if let Some(target) = self.target(schema) {
            self.inside(target, path, depth - 1);
        }
        for branch in branches(schema) {
            self.inside(branch, path, depth);
        }
        if let Some(items) = schema.get("items") {
            self.inside(items, path, depth);
        }
        for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if self.found.len() == MOST {
                return;
            }
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let (description, choices) = (self.description(schema), choices(schema));
            self.found.push(Argument { path: path.clone(), name, description, choices });
            self.inside(schema, &path, depth - 1);
        }
    }

    fn description(&self, schema: &'a Value) -> Option<&'a str> {
        let own = |schema: &'a Value| schema.get("description").and_then(Value::as_str);
        own(schema).or_else(|| own(self.target(schema)?))
    }

    /// What a reference within the schema stands for.
    fn target(&self, schema: &'a Value) -> Option<&'a Value> {
        let reference = schema.get("$ref")?.as_str()?;
        self.root.pointer(reference.strip_prefix('#')?)
    }
}

fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    let unions = ["anyOf", "oneOf", "allOf"].into_iter();
    unions.filter_map(|union| schema.get(union)?.as_array()).flatten()
}

fn choices(schema: &Value) -> Vec<&str> {
    let one = |schema| -> Vec<&Value> {
        let listed = Value::get(schema, "enum").and_then(Value::as_array).into_iter().flatten();
        listed.chain(Value::get(schema, "const")).collect()
    };
    let items = schema.get("items").into_iter().flat_map(one);
    let inside = branches(schema).flat_map(one);
    one(schema).into_iter().chain(inside).chain(items).filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: &str) {
        let text = |argument: &Argument<'_>| {
            let Argument { path, description, choices, .. } = argument;
            format!("{path}: {} {}", description.unwrap_or("-"), choices.join("|")).trim_end().to_owned()
        };
        let found: Vec<_> = arguments(&schema).iter().map(text).collect();
        assert_eq!(found.join("\n"), expected);
    }

    #[test]
    fn arguments_are_found_wherever_a_schema_hides_them() {
        check(json!(true), "");
        check(
            json!({
                "properties": {
                    "mode": { "enum": ["fast", "safe", 3], "description": "How." },
                    "tags": { "type": "array", "items": { "enum": ["x", "y"] } },
                    "where": { "$ref": "#/$defs/place" },
                    "many": { "items": { "anyOf": [{ "properties": { "id": { "const": "one" } } }] } },
                },
                "$defs": { "place": { "description": "Where.", "properties": { "city": { "description": "A city." } } } },
            }),
            "mode: How. fast|safe\ntags: - x|y\nwhere: Where.\nwhere.city: A city.\nmany: -\nmany.id: - one",
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let many: serde_json::Map<_, _> = (0..500).map(|n| (n.to_string(), json!({ "$ref": "#" }))).collect();
        assert!(arguments(&json!({ "properties": many })).len() <= MOST);
        check(json!({ "$ref": "#" }), "");
    }
}
