//! What the model asked for, before anybody has looked at it.

use haft_tool::CallId;
use serde_json::Value;

/// One request of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id that the model, or its API, gave it. The result carries it back.
    pub id: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments.
    pub input: Arguments,
}

/// Arguments as they arrived: some APIs give JSON, others a text that should be JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// JSON text, perhaps broken or cut off.
    Text(String),
    /// A value that somebody has parsed already.
    Value(Value),
}

impl Call {
    /// A call.
    pub fn new(id: impl Into<CallId>, name: impl Into<String>, input: impl Into<Arguments>) -> Call {
        Call { id: id.into(), name: name.into(), input: input.into() }
    }
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Arguments {
        Arguments::Value(value)
    }
}

impl From<String> for Arguments {
    fn from(text: String) -> Arguments {
        Arguments::Text(text)
    }
}

impl From<&str> for Arguments {
    fn from(text: &str) -> Arguments {
        Arguments::Text(text.to_owned())
    }
}
