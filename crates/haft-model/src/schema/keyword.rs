//! Which keywords JSON Schema 2020-12 has and what they hold.
//!
//! A walk through a schema must know this: what stands under `properties` are names, under `enum` values, and neither
//! is a keyword though it may look like one.

use serde_json::{Map, Value};

/// What stands under a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// A schema.
    Schema,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
    /// The names of types.
    Types,
    /// Names of properties.
    Names,
    /// Names of properties by name.
    NamesByName,
    /// Values of any kind.
    Values,
    /// A value of any kind.
    Value,
    /// A text.
    Text,
    /// A number.
    Number,
    /// A number of things.
    Count,
    /// Yes or no.
    Flag,
}

impl Holds {
    /// What a keyword holds. `None` for what a model has no use for: identifiers, comments, extensions.
    pub(crate) fn of(keyword: &str) -> Option<Holds> {
        Some(match keyword {
            "additionalProperties"
            | "items"
            | "contains"
            | "propertyNames"
            | "not"
            | "if"
            | "then"
            | "else"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Holds::Schema,
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => Holds::List,
            "properties" | "patternProperties" | "dependentSchemas" => Holds::Named,
            "type" => Holds::Types,
            "required" => Holds::Names,
            "dependentRequired" => Holds::NamesByName,
            "enum" | "examples" => Holds::Values,
            "const" | "default" => Holds::Value,
            "title" | "description" | "format" | "pattern" | "contentEncoding" | "contentMediaType" => {
                Holds::Text
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Holds::Number,
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
            | "minContains" | "maxContains" => Holds::Count,
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Holds::Flag,
            _ => return None,
        })
    }
}

/// The value of a keyword with each schema in it replaced.
pub(crate) fn each_schema<'s>(
    keyword: &str,
    value: &'s Value,
    replace: &mut dyn FnMut(&'s Value) -> Value,
) -> Value {
    match (Holds::of(keyword), value) {
        // Draft 7 and before write a tuple so.
        (Some(Holds::Schema | Holds::List), Value::Array(items)) => items.iter().map(replace).collect(),
        (Some(Holds::Named), Value::Object(named)) => {
            let replaced: Map<String, Value> =
                named.iter().map(|(name, schema)| (name.clone(), replace(schema))).collect();
            replaced.into()
        }
        (Some(Holds::Schema), value) => replace(value),
        _ => value.clone(),
    }
}
