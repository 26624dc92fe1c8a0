//! A tool's schema as APIs take it.
//!
//! Schemas come from anywhere: Rust types, MCP servers, old drafts. APIs refuse a whole request for one that they do
//! not like. So a schema is rewritten in three steps, each pure: references are put in place, the keywords become
//! those of JSON Schema 2020-12, and the root becomes an object. What an API takes even less of is in its own file.
//!
//! The engine checks every input against the original. What is lost here is help for the model, never a check; where
//! it matters, the tool's description says it in words.

mod keyword; //  which keywords there are and what they hold
mod inline; //   references put in place
mod tidy; //     old and broken keywords made right
mod pattern; //  regular expressions that every API can read
mod root; //     an object at the root
mod grammar; //  what servers of local models can make a grammar of

use haft_engine::pool::Offer;
use serde_json::{Map, Value};

pub(crate) use keyword::{Holds, each_schema};
pub(crate) use root::{list_required, merge};

/// A tool's schema and words as an API can show them.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) schema: Map<String, Value>,
    /// What the schema cannot say here, for the description.
    pub(crate) notes: Vec<String>,
    prompt: String,
}

impl Shown {
    /// The schema of an offer with references in place, in the words of 2020-12, and with an object at the root.
    pub(crate) fn of(offer: &Offer<'_>) -> Shown {
        let mut notes = Vec::new();
        let inlined = inline::inline(offer.schema.value(), &mut notes);
        let schema = root::object(tidy::tidy(&inlined), &mut notes);
        Shown { schema, notes, prompt: offer.prompt.trim().to_owned() }
    }

    /// The same for APIs that servers of local models are compatible with.
    pub(crate) fn for_grammars(offer: &Offer<'_>) -> Shown {
        let shown = Shown::of(offer);
        Shown { schema: grammar::plain(&shown.schema), ..shown }
    }

    /// Writes the description, if there is anything to say.
    pub(crate) fn describe(&self, tool: &mut Map<String, Value>) {
        let words: Vec<&str> =
            [self.prompt.as_str()].into_iter().chain(self.notes.iter().map(String::as_str)).collect();
        let description = words.join("\n\n").trim().to_owned();
        if !description.is_empty() {
            tool.insert("description".to_owned(), description.into());
        }
    }
}

/// Says what a schema's keywords cannot, at the end of its description: "The name. (pattern: ^a)".
pub(crate) fn say(schema: &mut Map<String, Value>, facts: &[String]) {
    if facts.is_empty() {
        return;
    }
    let before = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let description = format!("{before} ({})", facts.join("; ")).trim().to_owned();
    schema.insert("description".to_owned(), description.into());
}

#[cfg(test)]
mod tests {
    use haft_tool::Schema;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: Value, notes: &str) {
        let schema = Schema::from_value(schema);
        let offer =
            Offer { name: "T", title: "T", prompt: "", schema: &schema, output: None, deferred: false };
        let shown = Shown::of(&offer);
        assert_eq!(Value::Object(shown.schema), expected);
        assert_eq!(shown.notes.join(" "), notes);
    }

    #[test]
    fn references_are_put_in_place_and_the_fields_own_words_win() {
        check(
            json!({ "type": "object", "properties": {
                "at": { "$ref": "#/$defs/Point", "description": "where" },
                "to": { "$ref": "#/definitions/Old%20Point" },
            }, "$defs": { "Point": { "type": "integer", "description": "a point" } },
               "definitions": { "Old Point": { "type": "number" } } }),
            json!({ "type": "object", "properties": {
                "at": { "type": "integer", "description": "where" },
                "to": { "type": "number" },
            } }),
            "",
        );
    }

    #[test]
    fn recursion_is_cut_where_it_begins_again() {
        check(
            json!({ "type": "object", "properties": { "tree": { "$ref": "#/$defs/Node" } }, "$defs": {
                "Node": { "type": "object", "properties": {
                    "label": { "type": "string" },
                    "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } },
                } },
            } }),
            json!({ "type": "object", "properties": { "tree": { "type": "object", "properties": {
                "label": { "type": "string" },
                "children": { "type": "array", "items": { "type": "object" } },
            } } } }),
            "Parts of its input that nest further are not listed in full.",
        );
    }

    #[test]
    fn references_that_double_at_every_step_stay_small() {
        let mut defs = Map::new();
        for step in 0..40 {
            let next = format!("#/$defs/s{}", step + 1);
            let properties = json!({ "a": { "$ref": next }, "b": { "$ref": next } });
            defs.insert(format!("s{step}"), json!({ "type": "object", "properties": properties }));
        }
        let schema = Schema::from_value(
            json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/s0" } }, "$defs": defs }),
        );
        let offer =
            Offer { name: "T", title: "T", prompt: "", schema: &schema, output: None, deferred: false };
        let shown = Shown::of(&offer);
        assert!(Value::Object(shown.schema).to_string().len() < 200_000);
        assert_eq!(shown.notes.len(), 1);
    }

    #[test]
    fn references_to_other_places_are_never_followed() {
        check(
            json!({ "properties": { "a": { "$ref": "https://example.com/x.json" }, "$ref": { "type": "string" } } }),
            json!({ "type": "object", "properties": { "a": {}, "$ref": { "type": "string" } } }),
            "Parts of its input that nest further are not listed in full.",
        );
    }

    #[test]
    fn old_drafts_become_the_current_one() {
        check(
            json!({ "$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "type": ["object", "null"], "properties": {
                "n": { "type": "integer", "minimum": 0, "exclusiveMinimum": true, "x-order": 1 },
                "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "number" }], "additionalItems": false },
                "any": { "type": "any", "description": null, "enum": null },
                "list": { "type": "array" },
                "anything": true,
            }, "required": ["n", "n", 3] }),
            json!({ "type": "object", "properties": {
                "n": { "type": "integer", "exclusiveMinimum": 0 },
                "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }], "items": false },
                "any": {},
                "list": { "type": "array", "items": {} },
                "anything": {},
            }, "required": ["n"] }),
            "",
        );
    }

    #[test]
    fn a_pattern_that_not_every_api_can_read_is_told_in_words() {
        check(
            json!({ "type": "object", "properties": {
                "name": { "type": "string", "pattern": "^\\p{L}+$", "description": "Who." },
                "id": { "type": "string", "pattern": "^[a-z]+$" },
            }, "patternProperties": { "(?i)x": {}, "^x": {} } }),
            json!({ "type": "object", "properties": {
                "name": { "type": "string", "description": "Who. (pattern: ^\\p{L}+$)" },
                "id": { "type": "string", "pattern": "^[a-z]+$" },
            }, "patternProperties": { "^x": {} } }),
            "",
        );
    }

    #[test]
    fn alternatives_at_the_root_become_one_object_and_are_told_in_words() {
        check(
            json!({ "oneOf": [
                { "type": "object", "properties": { "shape": { "const": "circle" }, "radius": { "type": "number" } },
                  "required": ["shape", "radius"], "additionalProperties": false },
                { "type": "object", "properties": { "shape": { "const": "square" }, "side": { "type": "number" }, "round": { "type": "boolean" } },
                  "required": ["shape", "side"], "additionalProperties": false },
            ] }),
            json!({ "type": "object", "properties": {
                "shape": { "enum": ["circle", "square"] },
                "radius": { "type": "number" },
                "side": { "type": "number" },
                "round": { "type": "boolean" },
            }, "required": ["shape"], "additionalProperties": false }),
            "Its arguments take one of these forms: { shape: \"circle\", radius }; { shape: \"square\", side, round? }.",
        );
    }

    #[test]
    fn alternatives_beside_properties_only_say_what_is_required() {
        check(
            json!({ "type": "object", "properties": { "id": { "type": "integer" }, "name": { "type": "string" } },
                    "anyOf": [{ "required": ["id"] }, { "required": ["name"] }] }),
            json!({ "type": "object", "properties": { "id": { "type": "integer" }, "name": { "type": "string" } } }),
            "Its arguments take one of these forms: { id }; { name }.",
        );
    }

    #[test]
    fn parts_at_the_root_are_merged() {
        check(
            json!({ "allOf": [
                { "properties": { "a": { "type": "string" } }, "required": ["a"] },
                { "properties": { "b": { "type": "string" } }, "required": ["b", "c"] },
            ] }),
            json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" }, "c": {} },
                    "required": ["a", "b", "c"] }),
            "",
        );
    }

    #[test]
    fn conditions_at_the_root_are_left_to_the_check() {
        check(
            json!({ "type": "object", "properties": {}, "not": { "required": ["a"] } }),
            json!({ "type": "object", "properties": {} }),
            "Further conditions on its arguments are checked when it is called.",
        );
    }

    #[test]
    fn what_is_no_object_becomes_an_empty_one() {
        for schema in [json!({ "type": "null" }), json!({}), json!(true), json!(3)] {
            check(schema, json!({ "type": "object", "properties": {} }), "");
        }
        check(
            json!({ "type": "string" }),
            json!({ "type": "object", "properties": {} }),
            "Further conditions on its arguments are checked when it is called.",
        );
    }
}
