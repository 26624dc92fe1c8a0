//! Schemas and values in plain words, short enough for a line.
//!
//! A phrase fits after "expected" or "got": "an integer ≥ 1", "the string \"abc\"". Everything is bounded, for values
//! come from a model and schemas from a stranger.

use std::io::{self, Write};

use serde_json::Value;

use crate::document::{Alternatives, Document, list};

/// A value in a message.
const VALUE_CHARS: usize = 60;

/// A schema in a message.
const PHRASE_CHARS: usize = 240;

/// Options of an `enum` that are listed.
const MAX_OPTIONS: usize = 12;

/// Alternatives that are listed, and keys of an object.
const MAX_LISTED: usize = 6;

/// How far into a schema a phrase looks: an array of objects, but not what is in them.
const MAX_DEPTH: usize = 3;

/// `edits[2].line`, from the JSON pointer `/edits/2/line`. The value tells keys from indices.
pub(crate) fn path(pointer: &str, root: &Value) -> String {
    let mut path = String::new();
    let mut here = Some(root);
    for segment in pointer.split('/').skip(1) {
        let key = unescaped(segment);
        match here {
            Some(Value::Array(items)) => {
                path.push_str(&format!("[{key}]"));
                here = key.parse().ok().and_then(|index: usize| items.get(index));
            }
            _ => {
                push_key(&mut path, &key);
                here = here.and_then(|value| value.get(&key));
            }
        }
    }
    path
}

/// The path of a member.
pub(crate) fn member(path: &str, key: &str) -> String {
    let mut member = path.to_owned();
    push_key(&mut member, key);
    member
}

/// The pointer of a member.
pub(crate) fn joined(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", crate::document::escaped(key))
}

pub(crate) fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

fn push_key(path: &mut String, key: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&cut(key, VALUE_CHARS));
}

/// The JSON Schema type of a value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What was got: the type and the beginning of the value.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        _ => format!("the {} {}", type_name(value), json(value)),
    }
}

/// The JSON of a value, cut where it gets long. A long value is not written out first.
pub(crate) fn json(value: &Value) -> String {
    if let Value::String(text) = value {
        return Value::from(cut(text, VALUE_CHARS)).to_string();
    }
    let mut start = Start(Vec::new());
    let _ = serde_json::to_writer(&mut start, value); // an error means that it was long enough
    cut(&String::from_utf8_lossy(&start.0), VALUE_CHARS)
}

/// Takes the beginning of what is written, then refuses more.
struct Start(Vec<u8>);

impl Write for Start {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() > VALUE_CHARS * 4 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(VALUE_CHARS * 4 + 4);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text, or its beginning and `…`.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What the schema expects, as a phrase.
pub(crate) fn schema(document: &Document, node: &Value) -> String {
    let phrase = Phrases { document }.node(node, MAX_DEPTH);
    cut(&phrase, PHRASE_CHARS)
}

/// Names in backticks, with commas.
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> String {
    let mut listed = Vec::new();
    let mut more = 0;
    for name in names {
        if listed.len() < most {
            listed.push(format!("`{}`", cut(name, VALUE_CHARS)));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        listed.push(format!("{more} more"));
    }
    listed.join(", ")
}

struct Phrases<'a> {
    document: &'a Document,
}

/// All that holds at a place in any case; a keyword is looked up in each.
struct Place<'a>(Vec<&'a Value>);

impl<'a> Place<'a> {
    fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.0.iter().find_map(|part| part.get(keyword))
    }

    fn text(&self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str()
    }

    fn number(&self, keyword: &str) -> Option<String> {
        self.get(keyword).filter(|limit| limit.is_number()).map(Value::to_string)
    }

    fn types(&self) -> Vec<&'a str> {
        match self.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => self.implied_type().into_iter().collect(),
        }
    }

    /// A schema that only speaks about numbers wants a number, though by the letter it accepts anything else.
    fn implied_type(&self) -> Option<&'static str> {
        const HINTS: [(&str, &str); 9] = [
            ("properties", "object"),
            ("required", "object"),
            ("items", "array"),
            ("minItems", "array"),
            ("minimum", "number"),
            ("maximum", "number"),
            ("minLength", "string"),
            ("maxLength", "string"),
            ("pattern", "string"),
        ];
        HINTS.iter().find(|(keyword, _)| self.get(keyword).is_some()).map(|(_, name)| *name)
    }
}

impl Phrases<'_> {
    fn node(&self, node: &Value, depth: usize) -> String {
        let place = Place(self.document.parts(node, Alternatives::None));
        if place.0.iter().any(|part| **part == Value::Bool(false)) {
            return "nothing at all".to_owned();
        }
        if let Some(constant) = place.get("const") {
            return format!("exactly {}", json(constant));
        }
        if let Some(options) = place.get("enum").and_then(Value::as_array) {
            return format!("one of {}", listed_options(options));
        }
        if let Some(alternatives) = self.alternatives(&place, depth) {
            return alternatives;
        }
        let phrases: Vec<String> = place.types().iter().map(|name| self.typed(name, &place, depth)).collect();
        if phrases.is_empty() { "a value".to_owned() } else { phrases.join(" or ") }
    }

    /// "a string or null". An object with alternatives is described as the object it is.
    fn alternatives(&self, place: &Place<'_>, depth: usize) -> Option<String> {
        let union = ["anyOf", "oneOf"].iter().find_map(|keyword| place.get(keyword)?.as_array())?;
        if !place.types().is_empty() || depth == 0 {
            return None;
        }
        let mut phrases: Vec<String> = Vec::new();
        for branch in union.iter().take(MAX_LISTED) {
            let phrase = self.node(branch, depth - 1);
            if !phrases.contains(&phrase) {
                phrases.push(phrase);
            }
        }
        if union.len() > MAX_LISTED {
            phrases.push("something else".to_owned());
        }
        Some(phrases.join(" or "))
    }

    fn typed(&self, name: &str, place: &Place<'_>, depth: usize) -> String {
        match name {
            "string" => format!("a string{}", string_limits(place)),
            "integer" => format!("an integer{}", number_limits(place)),
            "number" => format!("a number{}", number_limits(place)),
            "boolean" => "true or false".to_owned(),
            "array" => self.array(place, depth),
            "object" => format!("an object{}", self.object_limits(place)),
            "null" => "null".to_owned(),
            other => format!("a value of type {}", cut(other, VALUE_CHARS)),
        }
    }

    fn array(&self, place: &Place<'_>, depth: usize) -> String {
        let items = place.get("items").filter(|items| items.is_object() && depth > 0);
        let of = items.map(|items| self.items(items, depth - 1)).unwrap_or_default();
        let limits = span(place.number("minItems"), place.number("maxItems"), "items");
        let unique =
            if place.get("uniqueItems") == Some(&Value::Bool(true)) { " without repetition" } else { "" };
        format!("an array{limits}{of}{unique}")
    }

    /// "of strings" where a plural says it all.
    fn items(&self, items: &Value, depth: usize) -> String {
        let phrase = self.node(items, depth);
        match phrase.as_str() {
            "a value" => String::new(),
            "true or false" => " of booleans".to_owned(),
            "a string" | "a number" | "an integer" | "an object" | "an array" => {
                format!(" of {}s", phrase.split_once(' ').map_or("", |(_, noun)| noun))
            }
            _ => match phrase.strip_prefix("an object with ") {
                Some(keys) => format!(" of objects with {keys}"),
                None => format!(" with each item {phrase}"),
            },
        }
    }

    fn object_limits(&self, place: &Place<'_>) -> String {
        let required = place.0.iter().flat_map(|part| list(part, "required")).filter_map(Value::as_str);
        let keys = names(required, MAX_LISTED);
        let limits = span(place.number("minProperties"), place.number("maxProperties"), "keys");
        if keys.is_empty() { limits } else { format!("{limits} with {keys}") }
    }
}

fn listed_options(options: &[Value]) -> String {
    let mut listed: Vec<String> = options.iter().take(MAX_OPTIONS).map(json).collect();
    if options.len() > MAX_OPTIONS {
        listed.push(format!("{} more", options.len() - MAX_OPTIONS));
    }
    listed.join(", ")
}

fn string_limits(place: &Place<'_>) -> String {
    let mut limits = span(place.number("minLength"), place.number("maxLength"), "characters");
    if let Some(pattern) = place.text("pattern") {
        limits.push_str(&format!(" that matches `{}`", cut(pattern, VALUE_CHARS)));
    }
    if let Some(format) = place.text("format") {
        limits.push_str(&format!(" in the format `{}`", cut(format, VALUE_CHARS)));
    }
    limits
}

fn number_limits(place: &Place<'_>) -> String {
    let signs = [("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<")];
    let limits =
        signs.iter().filter_map(|(keyword, sign)| Some(format!("{sign} {}", place.number(keyword)?)));
    let mut phrase = limits.collect::<Vec<_>>().join(" and ");
    if !phrase.is_empty() {
        phrase.insert(0, ' ');
    }
    if let Some(step) = place.number("multipleOf") {
        phrase.push_str(&format!(", a multiple of {step}"));
    }
    phrase
}

fn span(least: Option<String>, most: Option<String>, what: &str) -> String {
    match (least, most) {
        (None, None) => String::new(),
        (Some(least), None) => format!(" ({least} or more {what})"),
        (None, Some(most)) => format!(" (at most {most} {what})"),
        (Some(least), Some(most)) if least == most => format!(" (exactly {least} {what})"),
        (Some(least), Some(most)) => format!(" ({least} to {most} {what})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(node: Value, expected: &str) {
        let document = Document::new(node);
        assert_eq!(schema(&document, document.root()), expected);
    }

    #[test]
    fn scalars_have_their_limits() {
        check(json!({ "type": "integer", "minimum": 1 }), "an integer ≥ 1");
        check(json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 9.5 }), "a number > 0 and ≤ 9.5");
        check(json!({ "type": "integer", "multipleOf": 5 }), "an integer, a multiple of 5");
        check(json!({ "type": "string", "minLength": 1 }), "a string (1 or more characters)");
        check(json!({ "type": "string", "format": "date" }), "a string in the format `date`");
        check(json!({ "type": "boolean" }), "true or false");
        check(json!({ "enum": ["a", "b", 3] }), "one of \"a\", \"b\", 3");
        check(json!({ "const": "x" }), "exactly \"x\"");
        check(json!({ "minimum": 1 }), "a number ≥ 1");
        check(json!(true), "a value");
        check(json!(false), "nothing at all");
    }

    #[test]
    fn alternatives_are_joined() {
        check(json!({ "type": ["string", "null"] }), "a string or null");
        check(
            json!({ "anyOf": [{ "type": "integer" }, { "type": "integer" }, { "type": "null" }] }),
            "an integer or null",
        );
    }

    #[test]
    fn arrays_and_objects_say_what_is_in_them() {
        check(
            json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
            "an array (1 or more items) of strings",
        );
        check(
            json!({ "type": "array", "items": { "enum": ["a", "b"] } }),
            "an array with each item one of \"a\", \"b\"",
        );
        let point = json!({ "type": "object", "required": ["x", "y"] });
        check(point.clone(), "an object with `x`, `y`");
        check(
            json!({ "type": "array", "items": { "$ref": "#/$defs/P" }, "$defs": { "P": point } }),
            "an array of objects with `x`, `y`",
        );
    }

    #[test]
    fn a_recursive_schema_ends() {
        let document = Document::new(
            json!({ "anyOf": [{ "$ref": "#" }, { "type": "array", "items": { "$ref": "#" } }] }),
        );
        assert!(schema(&document, document.root()).starts_with("a value or an array"));
    }

    #[test]
    fn long_values_are_cut_at_a_character() {
        let long = value(&json!("é".repeat(1_000_000)));
        assert_eq!(long, format!("the string \"{}…\"", "é".repeat(60)));
        let nested = value(&json!({ "key": vec!["é"; 100_000] }));
        assert!(
            nested.starts_with("the object {\"key\":[\"é\",\"é\"") && nested.chars().count() < 80,
            "{nested}"
        );
    }

    #[test]
    fn a_path_is_written_as_in_a_program() {
        let root = json!({ "edits": [{ "a/b": 1 }], "0": 1 });
        assert_eq!(path("/edits/0/a~1b", &root), "edits[0].a/b");
        assert_eq!(path("/0", &root), "0");
        assert_eq!(path("", &root), "");
    }
}
