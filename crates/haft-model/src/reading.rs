//! Reading a message: where we are in it and what was expected there.
//!
//! A message comes from a model, an API or a proxy in front of it, so every step can fail. An error names the place
//! as one would write it in code (`choices[0].message.tool_calls[1].id`).

use std::{collections::HashSet, error::Error, fmt};

use haft_engine::turn::{Arguments, Call};
use serde_json::{Map, Value};

use crate::Dialect;

/// A message that is not what its dialect says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialectError {
    dialect: Dialect,
    place: String,
    expected: String,
    found: String,
}

impl DialectError {
    /// The dialect that the message was read as.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Where in the message: `content[1].id`. Empty for the message itself.
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DialectError { dialect, place, expected, found } = self;
        let place = if place.is_empty() { "the message" } else { place };
        write!(f, "{place}: expected {expected}, found {found} (read as {dialect})")
    }
}

impl Error for DialectError {}

/// A value in a message and the way to it.
#[derive(Debug, Clone)]
pub(crate) struct At<'m> {
    dialect: Dialect,
    path: String,
    value: &'m Value,
}

impl<'m> At<'m> {
    /// The message itself.
    pub(crate) fn root(dialect: Dialect, value: &'m Value) -> At<'m> {
        At { dialect, path: String::new(), value }
    }

    /// What is under a key. `null` is the same as nothing: many programs write the one for the other.
    pub(crate) fn key(&self, key: &str) -> Option<At<'m>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        let dot = if self.path.is_empty() { "" } else { "." };
        Some(At { dialect: self.dialect, path: format!("{}{dot}{key}", self.path), value })
    }

    /// What is under a key that must be there.
    pub(crate) fn need(&self, key: &str) -> Result<At<'m>, DialectError> {
        self.key(key).ok_or_else(|| self.expected(format!("an object with `{key}`")))
    }

    /// The items of a list.
    pub(crate) fn list(&self) -> Result<Vec<At<'m>>, DialectError> {
        let items = self.value.as_array().ok_or_else(|| self.expected("a list"))?;
        let at =
            |(index, value)| At { dialect: self.dialect, path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(at).collect())
    }

    /// The first item of a list that must have one.
    pub(crate) fn first(&self) -> Result<At<'m>, DialectError> {
        self.list()?.into_iter().next().ok_or_else(|| self.expected("a list with an item"))
    }

    /// The text.
    pub(crate) fn text(&self) -> Result<&'m str, DialectError> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    /// What kind of thing it says it is.
    pub(crate) fn kind(&self) -> Option<&'m str> {
        self.value.get("type")?.as_str()
    }

    pub(crate) fn value(&self) -> &'m Value {
        self.value
    }

    pub(crate) fn is_list(&self) -> bool {
        self.value.is_array()
    }

    pub(crate) fn is_object(&self) -> bool {
        self.value.is_object()
    }

    pub(crate) fn is_text(&self) -> bool {
        self.value.is_string()
    }

    /// The error that says what should have been here.
    pub(crate) fn expected(&self, expected: impl Into<String>) -> DialectError {
        self.error(expected, describe(self.value))
    }

    fn error(&self, expected: impl Into<String>, found: String) -> DialectError {
        DialectError { dialect: self.dialect, place: self.path.clone(), expected: expected.into(), found }
    }
}

/// What something is, short enough for an error: never a whole message.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) if text.chars().count() > 40 => "a long text".to_owned(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().take(6).map(|key| format!("`{key}`")).collect();
            format!("an object with {}", keys.join(", "))
        }
    }
}

/// The calls of one message. No two have the same id: a result could not say which one it answers.
#[derive(Debug, Default)]
pub(crate) struct Calls<'m> {
    ids: HashSet<&'m str>,
    calls: Vec<Call>,
}

impl<'m> Calls<'m> {
    /// Adds a call, read from the places where its dialect has id, name and arguments.
    pub(crate) fn read(
        &mut self,
        id: &At<'m>,
        name: &At<'m>,
        arguments: Option<At<'m>>,
    ) -> Result<(), DialectError> {
        let id = self.claim(id)?;
        self.push(id, name, arguments)
    }

    /// Takes an id that must be there and new.
    pub(crate) fn claim(&mut self, id: &At<'m>) -> Result<&'m str, DialectError> {
        match id.text()? {
            "" => Err(id.expected("an id")),
            text if self.ids.insert(text) => Ok(text),
            text => Err(id.error("an id that no earlier call has", format!("`{text}` again"))),
        }
    }

    /// Adds a call under an id that is known to be new.
    pub(crate) fn push(
        &mut self,
        id: &str,
        name: &At<'m>,
        arguments: Option<At<'m>>,
    ) -> Result<(), DialectError> {
        self.calls.push(Call::new(id, name.text()?, self::arguments(arguments)));
        Ok(())
    }

    pub(crate) fn finish(self) -> Vec<Call> {
        self.calls
    }
}

/// Arguments of a wrong type are no error here: the schema check tells the model, and the turn goes on.
fn arguments(at: Option<At<'_>>) -> Arguments {
    match at.map(|at| at.value) {
        None => Arguments::Value(Map::new().into()),
        Some(Value::String(text)) => Arguments::Text(text.clone()),
        Some(value) => Arguments::Value(value.clone()),
    }
}
