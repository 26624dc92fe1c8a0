//! One tool as it is offered to a model. Dialects write it in their own JSON.

use haft_tool::Schema;

/// What a model is told of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Offer<'a> {
    /// The name to call it by: unique, at most 64 of `A–Z a–z 0–9 _ -`.
    pub name: &'a str,
    /// What people call it.
    pub title: &'a str,
    /// What it does and when to use it.
    pub prompt: &'a str,
    /// The shape of its input.
    pub schema: &'a Schema,
    /// The shape of its structured output, if it promises one.
    pub output: Option<&'a Schema>,
    /// Whether only the name is shown until it is searched for.
    pub deferred: bool,
}
