//! What the crate promises, through its public API: a value that validates, or a text that helps.

mod coercion; //     what is repaired, and what is not
mod conformance; //  the schemas that servers send: drafts, references, compositions
mod examples; //     the smallest valid input
mod limits; //       hostile schemas and huge values
mod properties; //   what holds for every value
mod texts; //        what the model reads

use haft_schema::Checker;
use serde_json::Value;

#[track_caller]
fn compile(schema: &Value) -> Checker {
    Checker::compile(schema).expect("the schema compiles")
}
