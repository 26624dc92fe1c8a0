//! How much work may one check be?
//!
//! Schemas come from strangers, and a few lines of one can ask for endless work. Two things are needed to prevent it.
//! Definitions that double each other (`a` = `b` and `b`, `b` = `c` and `c`, …) are counted when the schema is compiled.
//! And a recursive union explains every branch of every branch, twice as much for each level of the input: so the
//! schema that the validator gets has a keyword of ours in each node, which counts steps while errors are collected
//! and gives up at a limit. Asking only whether a value is valid remembers its answers, and needs no counting.

use std::{
    cell::Cell,
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
};

use serde_json::{Map, Value};

use crate::document::{entries, list, reference};

/// The keyword that counts.
pub(crate) const STEP: &str = "haft:step";

/// Steps that collecting errors may take: a fraction of a second.
const MAX_STEPS: u32 = 50_000;

/// Nodes that may hold at one place, with all references written out.
const MAX_EXPANSION: u64 = 10_000;

thread_local! {
    static STEPS_LEFT: Cell<u32> = const { Cell::new(0) };
}

/// What unwinds the validator when the steps are used up.
struct Exhausted;

/// Runs the work; `None` if it took too many steps. The validator cannot be told to stop, so it is left by unwinding
/// (without a panic message: nothing is wrong). It holds no state beyond the one run.
pub(crate) fn bounded<T>(work: impl FnOnce() -> T) -> Option<T> {
    STEPS_LEFT.set(MAX_STEPS);
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Exhausted>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Counts one step of the work that is `bounded` around it.
pub(crate) fn step() {
    match STEPS_LEFT.get().checked_sub(1) {
        Some(left) => STEPS_LEFT.set(left),
        None => resume_unwind(Box::new(Exhausted)),
    }
}

/// A copy of the schema that counts; `None` if there is no reference in it, and so nothing to fear.
pub(crate) fn metered(schema: &Value) -> Option<Value> {
    if !has_reference(schema) {
        return None;
    }
    let mut metered = schema.clone();
    meter(&mut metered);
    Some(metered)
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_reference),
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| key.ends_with("ef") && key.starts_with('$') || has_reference(value)),
        _ => false,
    }
}

/// Puts the keyword into every schema. What is unknown may be referred to, and counts as a schema; annotations too.
fn meter(node: &mut Value) {
    let Value::Object(members) = node else { return };
    for (keyword, child) in members.iter_mut() {
        match (keyword.as_str(), child) {
            ("const" | "enum", _) => {}
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(map),
            ) => {
                map.values_mut().for_each(meter);
            }
            (_, Value::Array(items)) => items.iter_mut().for_each(meter),
            (_, child) => meter(child),
        }
    }
    members.insert(STEP.to_owned(), Value::Bool(true));
}

/// Whether no place of the schema is described by more nodes than can be looked at.
pub(crate) fn is_bounded(schema: &Value) -> bool {
    let mut expansion = Expansion { root: schema, anchors: HashMap::new(), known: HashMap::new() };
    expansion.find_anchors(schema);
    expansion.all_bounded(schema)
}

struct Expansion<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// By the address of a node. A node that is being counted is known as 0: a circle adds nothing.
    known: HashMap<*const Value, u64>,
}

impl<'a> Expansion<'a> {
    fn find_anchors(&mut self, value: &'a Value) {
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = value.get(keyword).and_then(Value::as_str) {
                self.anchors.insert(name, value);
            }
        }
        children(value).for_each(|child| self.find_anchors(child));
    }

    fn all_bounded(&mut self, value: &'a Value) -> bool {
        self.count(value) <= MAX_EXPANSION && children(value).all(|child| self.all_bounded(child))
    }

    /// How many nodes hold at the place of this one.
    fn count(&mut self, node: &'a Value) -> u64 {
        let address = ptr::from_ref(node);
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        self.known.insert(address, 0);
        let mut count = 1_u64;
        for part in same_place(node).chain(self.target(node)) {
            count = count.saturating_add(self.count(part));
        }
        self.known.insert(address, count);
        count
    }

    fn target(&self, node: &'a Value) -> Option<&'a Value> {
        let by_pointer = reference(node).and_then(|pointer| self.root.pointer(pointer));
        by_pointer.or_else(|| {
            let target = node.get("$ref").or_else(|| node.get("$dynamicRef"))?.as_str()?;
            self.anchors.get(target.rsplit('#').next()?).copied()
        })
    }
}

fn same_place(node: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|keyword| list(node, keyword));
    let nodes = ["not", "if", "then", "else"].into_iter().filter_map(|keyword| node.get(keyword));
    let maps = ["dependentSchemas", "dependencies"].into_iter().flat_map(|keyword| entries(node, keyword));
    lists.chain(nodes).chain(maps.map(|(_, node)| node))
}

fn children(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().into_iter().flatten();
    items.chain(value.as_object().into_iter().flat_map(Map::values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_keyword_goes_into_schemas_and_not_into_data() {
        let schema =
            json!({ "properties": { "anyOf": { "$ref": "#" } }, "const": { "a": {} }, "anyOf": [{}, true] });
        let expected = json!({
            "properties": { "anyOf": { "$ref": "#", STEP: true } }, "const": { "a": {} }, "anyOf": [{ STEP: true }, true], STEP: true,
        });
        assert_eq!(metered(&schema), Some(expected));
        assert_eq!(
            metered(&json!({ "type": "object", "properties": { "pref": { "type": "string" } } })),
            None
        );
    }

    #[test]
    fn work_ends_when_the_steps_are_used_up() {
        assert_eq!(bounded(|| (0..100).for_each(|_| step())), Some(()));
        assert_eq!(
            bounded(|| loop {
                step()
            }),
            None::<()>
        );
    }

    #[test]
    fn definitions_that_double_each_other_are_counted() {
        let doubling = |levels: usize| {
            let level = |n: usize| json!({ "anyOf": [{ "$ref": format!("#/$defs/{}", n + 1) }, { "$ref": format!("#/$defs/{}", n + 1) }] });
            json!({ "$defs": (0..levels).map(|n| (n.to_string(), level(n))).collect::<Map<_, _>>() })
        };
        assert!(is_bounded(&doubling(8)));
        assert!(!is_bounded(&doubling(40)));
        assert!(is_bounded(&json!({ "$ref": "#", "allOf": [{ "$ref": "#" }] })));
    }
}
