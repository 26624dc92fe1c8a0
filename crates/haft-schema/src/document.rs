//! Finding one's way in a schema: from a pointer to a node, from a node to all that holds at the same place.
//!
//! Only local references (`#`, `#/…`) are followed. Others are the validator's business; whoever reads a schema in
//! order to describe it can do without.

use std::ptr;

use serde_json::{Map, Value};

/// So many nodes may hold at one place; a schema with more is described incompletely rather than slowly.
const MAX_PARTS: usize = 64;

/// A schema as it was compiled.
pub(crate) struct Document {
    root: Value,
}

/// Which alternatives of `anyOf` and `oneOf` count as holding at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alternatives {
    /// What holds in any case.
    None,
    /// What may hold, conditional parts included.
    All,
    /// One way through: of each list, the alternative with this number (counted around).
    Nth(usize),
}

impl Document {
    pub(crate) fn new(root: Value) -> Document {
        Document { root }
    }

    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// The schema that a keyword stands in, by the pointer to the keyword.
    pub(crate) fn owner(&self, keyword: &str) -> Option<&Value> {
        let (owner, _) = keyword.rsplit_once('/')?;
        self.root.pointer(owner)
    }

    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        self.root.pointer(pointer)
    }

    /// The node and everything that holds at the same place: what it refers to, and its parts.
    pub(crate) fn parts<'a>(&'a self, node: &'a Value, alternatives: Alternatives) -> Vec<&'a Value> {
        let mut parts = Vec::new();
        self.gather(node, alternatives, &mut parts);
        parts
    }

    /// The schema of a property of the objects that `node` describes.
    pub(crate) fn property<'a>(&'a self, node: &'a Value, name: &str) -> Option<&'a Value> {
        self.parts(node, Alternatives::All).iter().find_map(|part| part.get("properties")?.get(name))
    }

    /// Like `property`, by the pointer to a keyword such as `required`. A branch of `anyOf` often lists only which keys
    /// are required, and leaves their schemas to the node around it.
    pub(crate) fn property_near(&self, keyword: &str, name: &str) -> Option<&Value> {
        let (mut place, _) = keyword.rsplit_once('/')?;
        loop {
            if let Some(found) = self.root.pointer(place).and_then(|node| self.property(node, name)) {
                return Some(found);
            }
            place = around(place)?;
        }
    }

    /// The keys that the objects described by `node` may have, with their schemas, in the order of the schema.
    pub(crate) fn keys<'a>(&'a self, node: &'a Value) -> Vec<(&'a str, &'a Value)> {
        let mut keys: Vec<(&str, &Value)> = Vec::new();
        for part in self.parts(node, Alternatives::All) {
            for (name, schema) in entries(part, "properties") {
                if !keys.iter().any(|(known, _)| *known == name) {
                    keys.push((name, schema));
                }
            }
        }
        keys
    }

    /// The keys that must be there in any case.
    pub(crate) fn required<'a>(&'a self, node: &'a Value, alternatives: Alternatives) -> Vec<&'a str> {
        let mut names = Vec::new();
        for part in self.parts(node, alternatives) {
            for name in list(part, "required").iter().filter_map(Value::as_str) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    fn gather<'a>(&'a self, node: &'a Value, alternatives: Alternatives, parts: &mut Vec<&'a Value>) {
        if parts.len() == MAX_PARTS || parts.iter().any(|part| ptr::eq(*part, node)) {
            return;
        }
        parts.push(node);
        if let Some(target) = reference(node).and_then(|pointer| self.root.pointer(pointer)) {
            self.gather(target, alternatives, parts);
        }
        for part in list(node, "allOf") {
            self.gather(part, alternatives, parts);
        }
        for union in [list(node, "anyOf"), list(node, "oneOf")] {
            for part in chosen(union, alternatives) {
                self.gather(part, alternatives, parts);
            }
        }
        if alternatives == Alternatives::All {
            for part in ["then", "else"].iter().filter_map(|keyword| node.get(keyword)) {
                self.gather(part, alternatives, parts);
            }
            for (_, part) in entries(node, "dependentSchemas") {
                self.gather(part, alternatives, parts);
            }
        }
    }
}

/// The pointer of a local reference. An escaped or named one is not followed.
pub(crate) fn reference(node: &Value) -> Option<&str> {
    let pointer = node.get("$ref")?.as_str()?.strip_prefix('#')?;
    let is_pointer = pointer.is_empty() || pointer.starts_with('/');
    (is_pointer && !pointer.contains('%')).then_some(pointer)
}

/// The array under a keyword, empty if there is none.
pub(crate) fn list<'a>(node: &'a Value, keyword: &str) -> &'a [Value] {
    node.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The object under a keyword, as pairs.
pub(crate) fn entries<'a>(node: &'a Value, keyword: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let object = node.get(keyword).and_then(Value::as_object);
    object.into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}

/// A segment of a pointer, as it is written there.
pub(crate) fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

fn chosen(union: &[Value], alternatives: Alternatives) -> &[Value] {
    match alternatives {
        Alternatives::None => &[],
        Alternatives::All => union,
        Alternatives::Nth(_) if union.is_empty() => &[],
        Alternatives::Nth(choice) => std::slice::from_ref(&union[choice % union.len()]),
    }
}

/// The pointer of the schema that a branch is part of, if both describe the same place.
fn around(place: &str) -> Option<&str> {
    let (parent, last) = place.rsplit_once('/')?;
    if matches!(last, "if" | "then" | "else") {
        return Some(parent);
    }
    let (node, keyword) = parent.rsplit_once('/')?;
    matches!(keyword, "allOf" | "anyOf" | "oneOf" | "dependentSchemas").then_some(node)
}
