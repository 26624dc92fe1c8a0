//! The smallest input that is valid.
//!
//! Made from the schema: only what is required, its own constants, options, defaults and examples first. A schema can
//! ask for more than is understood here (`not`, `if`, a hard pattern), so that whatever is made is validated before it
//! is shown: a wrong example would be worse than none.

use serde_json::{Map, Number, Value};

use crate::{
    document::{Alternatives, Document, list},
    pattern, words,
};

/// Ways through `anyOf` and `oneOf` that are tried.
const MAX_CHOICES: usize = 8;

/// Nodes that one attempt may visit; a recursive schema can ask for endlessly many.
const MAX_NODES: usize = 500;

const MAX_DEPTH: usize = 24;
const MAX_ITEMS: u64 = 32;
const MAX_TEXT: u64 = 500;

/// The first input of those that can be made which is valid.
pub(crate) fn smallest(document: &Document, is_valid: impl Fn(&Value) -> bool) -> Option<Value> {
    let root = document.root();
    let made = (0..MAX_CHOICES).filter_map(|choice| Maker { document, choice, nodes: 0 }.make(root, 0, 0));
    let given = root.get("default").into_iter().chain(list(root, "examples")).cloned();
    made.chain(given).find(|value| is_valid(value))
}

struct Maker<'a> {
    document: &'a Document,
    /// Which alternative is taken wherever there are some.
    choice: usize,
    nodes: usize,
}

impl<'a> Maker<'a> {
    /// The smallest value for a node. `nth` counts items of an array, which may have to differ.
    fn make(&mut self, node: &'a Value, depth: usize, nth: u64) -> Option<Value> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || depth > MAX_DEPTH || node == &Value::Bool(false) {
            return None;
        }
        let place = Place(self.document.parts(node, Alternatives::Nth(self.choice)));
        if let Some(given) = place.given(nth) {
            return Some(given.clone());
        }
        match place.type_name() {
            "object" => self.object(node, &place, depth),
            "array" => self.array(&place, depth),
            "string" => text(&place, nth),
            "integer" => number(&place, true, nth),
            "number" => number(&place, false, nth),
            "boolean" => Some(Value::Bool(nth % 2 == 1)),
            _ => Some(Value::Null),
        }
    }

    fn object(&mut self, node: &'a Value, place: &Place<'a>, depth: usize) -> Option<Value> {
        let mut members = Map::new();
        let mut names = self.document.required(node, Alternatives::Nth(self.choice));
        while let Some(name) = names.first().copied() {
            let schema = place.0.iter().find_map(|part| part.get("properties")?.get(name));
            let schema = schema.or_else(|| place.get("additionalProperties")).unwrap_or(&Value::Bool(true));
            members.insert(name.to_owned(), self.make(schema, depth + 1, 0)?);
            names.extend(place.needed_with(name));
            names.retain(|name| !members.contains_key(*name));
        }
        Some(Value::Object(members))
    }

    fn array(&mut self, place: &Place<'a>, depth: usize) -> Option<Value> {
        let contained = place.get("contains").map(|_| place.count("minContains").unwrap_or(1)).unwrap_or(0);
        let count = place.count("minItems").unwrap_or(0).max(contained);
        if count > MAX_ITEMS {
            return None;
        }
        (0..count).map(|nth| self.make(place.item(nth, contained), depth + 1, nth)).collect()
    }
}

/// All that holds at a place on the way that was chosen.
struct Place<'a>(Vec<&'a Value>);

impl<'a> Place<'a> {
    fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.0.iter().find_map(|part| part.get(keyword))
    }

    fn count(&self, keyword: &str) -> Option<u64> {
        self.0.iter().filter_map(|part| part.get(keyword)?.as_u64()).max()
    }

    fn float(&self, keyword: &str) -> Option<f64> {
        self.get(keyword)?.as_f64()
    }

    /// What the schema itself gives. An object is rather made: its examples show what is optional, too.
    fn given(&self, nth: u64) -> Option<&'a Value> {
        let options = self.get("enum").and_then(Value::as_array);
        let fixed = self.get("const").or_else(|| options?.get(nth as usize));
        fixed.or_else(|| {
            let examples = self.get("examples").and_then(Value::as_array).into_iter().flatten();
            let mut given = self.get("default").into_iter().chain(examples);
            given.find(|value| nth == 0 && !value.is_object() && self.accepts(words::type_name(value)))
        })
    }

    fn accepts(&self, name: &str) -> bool {
        match self.get("type") {
            Some(Value::String(wanted)) => wanted == name || (wanted == "number" && name == "integer"),
            Some(Value::Array(wanted)) => wanted.iter().any(|wanted| wanted == name),
            _ => true,
        }
    }

    /// The type to make: the first that is named, else what the other keywords are about.
    fn type_name(&self) -> &'a str {
        let hints =
            [("properties", "object"), ("required", "object"), ("items", "array"), ("minimum", "number")];
        match self.get("type") {
            Some(Value::String(name)) => name,
            Some(Value::Array(names)) => names.first().and_then(Value::as_str).unwrap_or("string"),
            _ => hints
                .iter()
                .find(|(keyword, _)| self.get(keyword).is_some())
                .map_or("string", |(_, name)| name),
        }
    }

    /// Keys that must be there because `name` is.
    fn needed_with(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let needed = self.get("dependentRequired").map_or(&[][..], |needed| list(needed, name));
        needed.iter().filter_map(Value::as_str)
    }

    fn item(&self, nth: u64, contained: u64) -> &'a Value {
        const ANY: &Value = &Value::Bool(true);
        let positional = ["prefixItems", "items"].iter().find_map(|keyword| self.get(keyword)?.as_array());
        if let Some(item) = positional.and_then(|items| items.get(nth as usize)) {
            return item;
        }
        let contains = self.get("contains").filter(|_| nth < contained);
        contains.or_else(|| self.get("items").filter(|items| !items.is_array())).unwrap_or(ANY)
    }
}

/// A placeholder of the right length, or something of the format or the pattern.
fn text(place: &Place<'_>, nth: u64) -> Option<Value> {
    if let Some(pattern) = place.get("pattern").and_then(Value::as_str) {
        return pattern::shortest_match(pattern, place.count("minLength").unwrap_or(0) as usize)
            .map(Value::from);
    }
    if let Some(sample) = place.get("format").and_then(Value::as_str).and_then(sample_of_format) {
        return Some(sample.into());
    }
    let least = place.count("minLength").unwrap_or(1).max(nth + 1);
    let length = place.get("maxLength").and_then(Value::as_u64).map_or(least, |most| least.min(most));
    (length <= MAX_TEXT).then(|| "…".repeat(length as usize).into())
}

fn sample_of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2025-01-31",
        "date-time" => "2025-01-31T12:00:00Z",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" | "idn-email" => "name@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" | "url" => "https://example.com/",
        "uri-reference" | "iri-reference" | "uri-template" => "/path",
        "uuid" => "123e4567-e89b-42d3-a456-426614174000",
        "json-pointer" => "/a",
        "relative-json-pointer" => "0",
        "regex" => "a",
        _ => return None,
    })
}

/// The number nearest to zero that the limits allow.
fn number(place: &Place<'_>, whole: bool, nth: u64) -> Option<Value> {
    let step = place.float("multipleOf").unwrap_or(if whole { 1.0 } else { 0.0 });
    let nudge = if step > 0.0 { step } else { 0.5 };
    // Draft 4 wrote the exclusive limits as booleans; the nudge is then missing and validation says so.
    let least = place.float("minimum").or(place.float("exclusiveMinimum").map(|limit| limit + nudge));
    let most = place.float("maximum").or(place.float("exclusiveMaximum").map(|limit| limit - nudge));
    let nearest = match (least, most) {
        (Some(least), _) if least > 0.0 => round(least, step, f64::ceil),
        (_, Some(most)) if most < 0.0 => round(most, step, f64::floor),
        _ => 0.0,
    };
    let value = nearest + nudge * nth as f64;
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
}

fn round(value: f64, step: f64, to: impl Fn(f64) -> f64) -> f64 {
    if step > 0.0 { to(value / step) * step } else { value }
}
