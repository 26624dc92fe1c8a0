//! A model's raw arguments against a JSON Schema: a checked value, or a text from which the model can correct itself.
//!
//! This is a crate of its own because it keeps the `jsonschema` crate away from the others: it is slow to build and
//! breaks often. Nothing of it appears in the API here, and only the module `validator` imports it.
//!
//! Arguments walk through the modules in this order. What the schema accepts is never changed; what it refuses is
//! repaired only where the schema leaves no doubt, and every repair is recorded.
//!
//! ```
//! use haft_schema::{Checker, parse};
//! use serde_json::json;
//!
//! let checker = Checker::compile(&json!({
//!     "type": "object",
//!     "properties": { "path": { "type": "string" }, "limit": { "type": "integer" } },
//!     "required": ["path"],
//! }))?;
//!
//! let checked = checker.check(parse(r#"{ "path": "a", "limit": "3" }"#)?)?;
//! assert_eq!(checked.value, json!({ "path": "a", "limit": 3 }));
//! assert_eq!(checked.coercions[0].path, "limit");
//!
//! let violations = checker.check(json!({ "pth": "a" })).expect_err("`pth` is no key");
//! assert!(violations.message("Read", &checker, 0).contains("did you mean `path`?"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not here: where schemas come from, which tool is meant, what a fault is, any I/O (a remote `$ref` is an error).

mod parse; //      is it JSON at all? if not, where did it break?
mod checker; //    the compiled schema, and what can be asked of it
mod strict; //     which objects refuse unknown keys?
mod effort; //     how much work may one check be?
mod document; //   finding one's way in a schema: pointers, references, places
mod validator; //  what is wrong with the value? the only module that knows the validator crate
mod coerce; //     what can be repaired without guessing?
mod violation; //  what is left, named so that it can be corrected
mod message; //    the text for the model, first and sharper
mod words; //      schemas and values in plain words
mod nearest; //    which name was meant?
mod example; //    the smallest input that is valid
mod pattern; //    the shortest text that a simple pattern matches

pub use checker::{Checked, Checker, SchemaError};
pub use coerce::Coercion;
pub use nearest::{Letters, nearest};
pub use parse::{SyntaxError, parse};
pub use violation::{Violation, Violations};
