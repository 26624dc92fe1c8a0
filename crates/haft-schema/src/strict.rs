//! Which objects refuse unknown keys?
//!
//! Schemas mostly say nothing of unknown keys, and JSON Schema then accepts them: a misspelt optional argument would
//! silently do nothing. So an object that lists its `properties` is closed, unless the schema says otherwise.
//!
//! Closing must not refuse everything, nor accept what the schema itself refuses. Where several schemas speak about
//! the same object (`allOf`, alternatives, conditions, a reference with siblings) each sees only a part of the keys,
//! and `not` turns refusing into accepting; such places, and all they lead to, stay as they are. The one composition
//! that is looked through is "this object, or something that is no object", as `Option<T>` becomes.

use std::collections::HashSet;

use serde_json::Value;

use crate::document::{entries, escaped, list, reference};

/// Keywords whose presence means that the author has thought about other keys, or that others have a say.
const SPEAKS_OF_OTHER_KEYS: [&str; 13] = [
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "$ref",
    "not",
];

/// References whose target depends on how one got there, or that need a base address.
const UNTRACEABLE: [&str; 3] = ["$dynamicRef", "$recursiveRef", "$dynamicAnchor"];

/// The schema with every object closed that can be.
pub(crate) fn closed(schema: &Value) -> Value {
    let mut walk = Walk { root: schema, open: HashSet::new(), alone: HashSet::new(), traceable: true };
    walk.visit(String::new(), schema, false);
    let mut closed = schema.clone();
    if !walk.traceable {
        return closed;
    }
    for pointer in walk.alone.difference(&walk.open) {
        if let Some(node) = closed.pointer_mut(pointer).filter(|node| is_closable(pointer, node)) {
            node["additionalProperties"] = Value::Bool(false);
        }
    }
    closed
}

/// A walk over every place that the schema describes, through references. A definition may be met twice, once where
/// it could be closed and once where it must stay open: then it stays open.
struct Walk<'a> {
    root: &'a Value,
    open: HashSet<String>,
    /// Nodes met where no other schema speaks about the same value.
    alone: HashSet<String>,
    /// Whether every reference could be followed. If not, nothing is known about what it leads to.
    traceable: bool,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, pointer: String, node: &'a Value, open: bool) {
        let seen = if open { &mut self.open } else { &mut self.alone };
        if !node.is_object() || !seen.insert(pointer.clone()) {
            return;
        }
        if !pointer.is_empty() && node.get("$id").is_some()
            || UNTRACEABLE.iter().any(|key| node.get(key).is_some())
        {
            self.traceable = false;
        }
        let composed = is_composed(node);
        self.visit_inner(&pointer, node, open || composed);
        self.visit_same_place(&pointer, node, open || composed);
        self.visit_reference(node, open || composed);
    }

    /// What describes the values inside: each is a place of its own.
    fn visit_inner(&mut self, pointer: &str, node: &'a Value, open: bool) {
        for keyword in ["properties", "patternProperties"] {
            for (name, child) in entries(node, keyword) {
                self.visit(format!("{pointer}/{keyword}/{}", escaped(name)), child, open);
            }
        }
        for keyword in ["items", "prefixItems"] {
            self.visit_list(pointer, node, keyword, open);
        }
        for keyword in
            ["items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties"]
        {
            self.visit_keyword(pointer, node, keyword, open);
        }
        self.visit_keyword(pointer, node, "contains", true);
    }

    /// What describes the same value once more.
    fn visit_same_place(&mut self, pointer: &str, node: &'a Value, open: bool) {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            self.visit_list(pointer, node, keyword, open);
        }
        for keyword in ["not", "if", "then", "else"] {
            self.visit_keyword(pointer, node, keyword, true);
        }
        for keyword in ["dependentSchemas", "dependencies"] {
            for (name, child) in entries(node, keyword) {
                self.visit(format!("{pointer}/{keyword}/{}", escaped(name)), child, true);
            }
        }
    }

    fn visit_reference(&mut self, node: &'a Value, open: bool) {
        if node.get("$ref").is_none() {
            return;
        }
        match reference(node).and_then(|pointer| Some((pointer, self.root.pointer(pointer)?))) {
            Some((pointer, target)) => self.visit(pointer.to_owned(), target, open),
            None => self.traceable = false,
        }
    }

    fn visit_list(&mut self, pointer: &str, node: &'a Value, keyword: &str, open: bool) {
        for (index, child) in list(node, keyword).iter().enumerate() {
            self.visit(format!("{pointer}/{keyword}/{index}"), child, open);
        }
    }

    fn visit_keyword(&mut self, pointer: &str, node: &'a Value, keyword: &str, open: bool) {
        if let Some(child) = node.get(keyword) {
            self.visit(format!("{pointer}/{keyword}"), child, open);
        }
    }
}

/// An object of free form is often written with empty `properties`; only the arguments themselves are then closed.
fn is_closable(pointer: &str, node: &Value) -> bool {
    let lists_keys = entries(node, "properties").next().is_some();
    let is_root = pointer.is_empty() && node.get("properties").is_some();
    (lists_keys || is_root) && SPEAKS_OF_OTHER_KEYS.iter().all(|keyword| node.get(keyword).is_none())
}

/// Whether several schemas speak about the keys of one object here.
fn is_composed(node: &Value) -> bool {
    let several = ["allOf", "if", "dependentSchemas", "dependencies", "not"];
    if several.iter().any(|keyword| node.get(keyword).is_some()) {
        return true;
    }
    let unions = [list(node, "anyOf"), list(node, "oneOf")];
    let alternatives = unions.iter().flat_map(|union| union.iter());
    let speakers = alternatives.filter(|branch| may_be_object(branch)).count();
    let own = usize::from(node.get("properties").is_some()) + usize::from(node.get("$ref").is_some());
    own + speakers > 1
}

fn may_be_object(branch: &Value) -> bool {
    match branch.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => !is_literal(branch),
    }
}

/// A `const` or `enum` without objects in it.
fn is_literal(branch: &Value) -> bool {
    let constant = branch.get("const").is_some_and(|value| !value.is_object());
    let options = list(branch, "enum");
    constant || !options.is_empty() && !options.iter().any(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Checks which nodes are closed, by their pointers.
    #[track_caller]
    fn check(schema: Value, expected: &[&str]) {
        let mut found = Vec::new();
        find_closed("", &closed(&schema), &mut found);
        found.sort();
        assert_eq!(found, expected);
    }

    fn find_closed(pointer: &str, node: &Value, found: &mut Vec<String>) {
        let Value::Object(members) = node else { return };
        if node.get("additionalProperties") == Some(&Value::Bool(false)) {
            found.push(pointer.to_owned());
        }
        for (key, member) in members {
            find_closed(&format!("{pointer}/{key}"), member, found);
            for (index, item) in member.as_array().into_iter().flatten().enumerate() {
                find_closed(&format!("{pointer}/{key}/{index}"), item, found);
            }
        }
    }

    #[test]
    fn objects_that_list_their_keys_are_closed_at_every_depth() {
        check(json!({ "type": "object", "properties": {} }), &[""]);
        check(json!({ "type": "object" }), &[]);
        check(
            json!({ "properties": { "a": { "items": { "properties": { "b": true } } }, "free": { "properties": {} } } }),
            &["", "/properties/a/items"],
        );
    }

    #[test]
    fn an_author_who_speaks_of_other_keys_is_heard() {
        check(json!({ "properties": { "a": true }, "additionalProperties": true }), &[]);
        check(json!({ "properties": { "a": true }, "patternProperties": { "^x-": true } }), &[]);
        check(json!({ "properties": { "a": true }, "unevaluatedProperties": { "type": "string" } }), &[]);
    }

    #[test]
    fn a_definition_is_closed_where_it_stands_alone() {
        let point = json!({ "properties": { "x": true } });
        check(
            json!({ "properties": { "p": { "$ref": "#/$defs/P", "description": "a point" } }, "$defs": { "P": point } }),
            &["", "/$defs/P"],
        );
        check(
            json!({ "properties": { "p": { "$ref": "#/$defs/P" }, "q": { "allOf": [{ "$ref": "#/$defs/P" }] } }, "$defs": { "P": point } }),
            &[""],
        );
    }

    #[test]
    fn an_optional_object_is_closed() {
        check(
            json!({ "properties": { "p": { "anyOf": [{ "$ref": "#/$defs/P" }, { "type": "null" }] } }, "$defs": { "P": { "properties": { "x": true } } } }),
            &["", "/$defs/P"],
        );
    }

    #[test]
    fn alternatives_of_objects_stay_open() {
        let branch = |key: &str| json!({ "properties": { key: true }, "required": [key] });
        check(json!({ "oneOf": [branch("a"), branch("b")] }), &[]);
        check(json!({ "properties": { "c": true }, "anyOf": [branch("a"), { "type": "null" }] }), &[]);
        check(json!({ "properties": { "c": true }, "not": branch("a") }), &[]);
    }

    #[test]
    fn a_reference_that_cannot_be_followed_leaves_all_open() {
        check(json!({ "properties": { "p": { "$ref": "#anchor" } } }), &[]);
        check(json!({ "properties": { "p": { "$id": "http://x/p", "properties": { "y": true } } } }), &[]);
    }

    #[test]
    fn a_recursive_definition_ends() {
        check(json!({ "properties": { "next": { "$ref": "#" }, "value": true } }), &[""]);
    }
}
