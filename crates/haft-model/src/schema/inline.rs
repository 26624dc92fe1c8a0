//! References put in place.
//!
//! Only references into the same schema are followed. What refers to itself is cut where it begins again, and a
//! schema that would grow beyond all measure is cut where it does.

use serde_json::{Map, Value};

use super::keyword::each_schema;

/// How many schemas a schema may hold once its references are in place.
const MOST_SCHEMAS: usize = 1_000;

/// How deep they may nest.
const DEEPEST: usize = 32;

/// The schema without references. A note says so if something had to be cut.
pub(super) fn inline(root: &Value, notes: &mut Vec<String>) -> Value {
    let mut inliner = Inliner { root, open: Vec::new(), left: MOST_SCHEMAS, depth: 0, cut: false };
    let inlined = inliner.schema(root);
    if inliner.cut {
        notes.push("Parts of its input that nest further are not listed in full.".to_owned());
    }
    inlined
}

struct Inliner<'s> {
    root: &'s Value,
    /// The references that lead to where we are.
    open: Vec<&'s str>,
    left: usize,
    depth: usize,
    cut: bool,
}

impl<'s> Inliner<'s> {
    fn schema(&mut self, schema: &'s Value) -> Value {
        let Value::Object(map) = schema else { return schema.clone() };
        if self.left == 0 || self.depth == DEEPEST {
            return self.stub(map).into();
        }
        self.left -= 1;
        self.depth += 1;
        let inlined = self.object(map);
        self.depth -= 1;
        inlined
    }

    fn object(&mut self, map: &'s Map<String, Value>) -> Value {
        let mut inlined = match map.get("$ref") {
            Some(Value::String(reference)) => self.target(reference),
            _ => Map::new(),
        };
        for (keyword, value) in map {
            if !matches!(keyword.as_str(), "$ref" | "$defs" | "definitions") {
                let value = match keyword.as_str() {
                    // Of a tuple in an old draft: what may follow it.
                    "additionalItems" => self.schema(value),
                    keyword => each_schema(keyword, value, &mut |schema| self.schema(schema)),
                };
                inlined.insert(keyword.clone(), value);
            }
        }
        inlined.into()
    }

    fn target(&mut self, reference: &'s str) -> Map<String, Value> {
        let Some((target, map)) = find(self.root, reference) else {
            self.cut = true;
            return Map::new();
        };
        if self.open.contains(&reference) {
            return self.stub(map);
        }
        self.open.push(reference);
        let inlined = self.schema(target);
        self.open.pop();
        match inlined {
            Value::Object(map) => map,
            _ => Map::new(),
        }
    }

    /// What can be said of a schema without looking into it.
    fn stub(&mut self, map: &Map<String, Value>) -> Map<String, Value> {
        self.cut = true;
        let said = ["type", "title", "description"].into_iter();
        said.filter_map(|keyword| Some((keyword.to_owned(), map.get(keyword)?.clone()))).collect()
    }
}

/// What a reference points to, if it is an object in the same schema.
fn find<'s>(root: &'s Value, reference: &str) -> Option<(&'s Value, &'s Map<String, Value>)> {
    let pointer = decode(reference.strip_prefix('#')?)?;
    let target = root.pointer(&pointer)?;
    Some((target, target.as_object()?))
}

/// A pointer in a URI may have `%20` for a space.
fn decode(pointer: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}
