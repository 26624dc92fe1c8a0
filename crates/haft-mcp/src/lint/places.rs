//! Where texts are in a definition: everywhere. A schema can carry an order in an enum value as well as in a description.

use serde_json::{Map, Value};

use super::{Kind, Severity, remark::Remark};

/// How deep a definition is looked into. A schema that is nested deeper is refused elsewhere.
const DEEPEST: usize = 64;
/// How many texts of one definition are looked at.
const MOST_TEXTS: usize = 4_000;

/// Where a text is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Place(String);

impl Place {
    pub(super) fn instructions() -> Place {
        Place("instructions".to_owned())
    }

    fn below(&self, key: &str) -> Place {
        Place(format!("{}/{}", self.0, key.replace('~', "~0").replace('/', "~1")))
    }
}

/// What a text is for. What is odd in prose may be usual in an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The tool's name, or that of an argument.
    Name,
    /// Sentences for the model.
    Prose,
    /// A value: default, enum, example, pattern.
    Value,
}

/// A text of a definition.
#[derive(Debug, Clone)]
pub(super) struct Text<'a> {
    pub(super) place: Place,
    pub(super) role: Role,
    pub(super) text: &'a str,
}

impl Text<'_> {
    pub(super) fn remark(&self, kind: Kind, severity: Severity, words: impl AsRef<str>) -> Remark {
        Remark::new(self.place.0.clone(), kind, severity, words.as_ref())
    }

    /// Whether this is the name of the tool itself.
    pub(super) fn is_tool_name(&self) -> bool {
        self.place.0 == "/name"
    }
}

/// The beginning of a text, cut between characters.
pub(super) fn start(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// All texts of a definition, in its order.
pub(super) fn texts(tool: &Map<String, Value>) -> Vec<Text<'_>> {
    let mut texts = Vec::new();
    for (key, value) in tool {
        let role = if key == "name" { Role::Name } else { Role::Prose };
        gather(value, Place(String::new()).below(key), role, DEEPEST, &mut texts);
    }
    texts
}

fn gather<'a>(value: &'a Value, place: Place, role: Role, depth: usize, texts: &mut Vec<Text<'a>>) {
    if depth == 0 || texts.len() >= MOST_TEXTS {
        return;
    }
    match value {
        Value::String(text) => texts.push(Text { place, role, text }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                gather(item, place.below(&index.to_string()), role, depth - 1, texts);
            }
        }
        Value::Object(fields) => object(fields, &place, role, depth, texts),
        _ => {}
    }
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    place: &Place,
    role: Role,
    depth: usize,
    texts: &mut Vec<Text<'a>>,
) {
    // The keys of `properties` are names of arguments; no other key is shown to a model as if it meant something.
    let are_names = place.0.ends_with("/properties");
    for (key, value) in fields {
        let below = place.below(key);
        if are_names && texts.len() < MOST_TEXTS {
            texts.push(Text { place: below.clone(), role: Role::Name, text: key });
        }
        if !is_picture(place, key) {
            let role = if are_names { Role::Prose } else { role_of(key, role) };
            gather(value, below, role, depth - 1, texts);
        }
    }
}

/// What a key of a schema says about the texts below it.
fn role_of(key: &str, outer: Role) -> Role {
    match key {
        "default" | "enum" | "const" | "examples" | "example" | "pattern" | "format" | "$ref" | "$schema"
        | "$id" | "contentEncoding" | "contentMediaType" | "required" => Role::Value,
        "description" | "title" | "$comment" => Role::Prose,
        _ => outer,
    }
}

/// Icons are long and encoded, and no model sees them.
fn is_picture(place: &Place, key: &str) -> bool {
    key == "src" && place.0.starts_with("/icons/")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_found_wherever_they_are() {
        let tool = json!({
            "name": "n",
            "description": "d",
            "annotations": { "title": "t" },
            "icons": [{ "src": "data:xyz", "mimeType": "image/png" }],
            "inputSchema": { "properties": { "a/b": { "description": "x", "enum": ["one"], "default": "two" } } },
        });
        let found: Vec<String> = texts(tool.as_object().unwrap())
            .into_iter()
            .map(|text| format!("{} {:?} {}", text.place.0, text.role, text.text))
            .collect();
        assert_eq!(
            found,
            [
                "/name Name n",
                "/description Prose d",
                "/annotations/title Prose t",
                "/icons/0/mimeType Prose image/png",
                "/inputSchema/properties/a~1b Name a/b",
                "/inputSchema/properties/a~1b/description Prose x",
                "/inputSchema/properties/a~1b/enum/0 Value one",
                "/inputSchema/properties/a~1b/default Value two",
            ]
        );
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((start("aä", 2), start("aä", 3), start("", 9)), ("a", "aä", ""));
    }
}
