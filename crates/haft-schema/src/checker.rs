//! The compiled schema, and what can be asked of it.

use std::{fmt, sync::OnceLock};

use serde_json::Value;

use crate::{
    coerce::{self, Coercion},
    document::Document,
    effort, example, strict,
    validator::Validator,
    violation::Violations,
    words,
};

/// Deeper schemas are refused: compiling and validating recurse, and a stack is finite.
const MAX_DEPTH: usize = 128;

/// A schema, compiled once and shared by all calls of a tool.
pub struct Checker {
    validator: Validator,
    document: Document,
    example: OnceLock<Option<Value>>,
}

/// A value that the schema accepts, and what was changed to get there.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The input, with the coercions made.
    pub value: Value,
    /// What was changed, in the order it was found; empty if the input was valid as it came.
    pub coercions: Vec<Coercion>,
}

/// A schema that cannot be used. Its `Display` is for the author of the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError(String);

/// Refuses what would take for ever.
fn bounded(schema: &Value) -> Result<(), SchemaError> {
    if !is_shallow(schema, MAX_DEPTH) {
        return Err(SchemaError(format!("the schema is nested deeper than {MAX_DEPTH} levels")));
    }
    if !effort::is_bounded(schema) {
        return Err(SchemaError("its definitions are endless when they are written out".to_owned()));
    }
    Ok(())
}

impl Checker {
    /// Compiles a schema strictly: an object that lists its `properties`, and says nothing about others, refuses them.
    ///
    /// The draft is the one that `$schema` names, else 2020-12. `format` is checked where the draft says so (up to
    /// draft 7). A `$ref` to another document is an error, for nothing is ever fetched.
    pub fn compile(schema: &Value) -> Result<Checker, SchemaError> {
        bounded(schema)?;
        Checker::compile_as_it_is(strict::closed(schema))
    }

    /// Compiles exactly what the schema says, unknown keys included: for what others have made, and are not to be taught.
    pub fn compile_openly(schema: &Value) -> Result<Checker, SchemaError> {
        bounded(schema)?;
        Checker::compile_as_it_is(schema.clone())
    }

    fn compile_as_it_is(schema: Value) -> Result<Checker, SchemaError> {
        let validator = Validator::new(&schema).map_err(|err| SchemaError(words::cut(&err, 500)))?;
        Ok(Checker { validator, document: Document::new(schema), example: OnceLock::new() })
    }

    /// Checks a call's input. What is valid comes back as it is; what is not is coerced where the schema leaves no
    /// doubt, and otherwise explained.
    pub fn check(&self, input: Value) -> Result<Checked, Violations> {
        if self.validator.is_valid(&input) {
            return Ok(Checked { value: input, coercions: Vec::new() });
        }
        let coerced = coerce::coerce(&self.validator, input);
        if coerced.problems.is_empty() {
            return Ok(Checked { value: coerced.value, coercions: coerced.coercions });
        }
        Err(Violations::explain(&coerced.problems, &self.document, &coerced.value))
    }

    /// Whether the value is valid as it is, without any coercion.
    pub fn is_valid(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// The smallest input that is valid: only what is required, taken from the schema's own constants, defaults and
    /// examples where it has some. `None` if none could be made; what is given has been validated.
    pub fn example(&self) -> Option<Value> {
        let made = || example::smallest(&self.document, |value| self.is_valid(value));
        self.example.get_or_init(made).clone()
    }

    pub(crate) fn document(&self) -> &Document {
        &self.document
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checker").field("schema", self.document.root()).finish_non_exhaustive()
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the schema cannot be used: {}", self.0)
    }
}

impl std::error::Error for SchemaError {}

/// Whether nothing in the value is nested deeper than `depth`.
pub(crate) fn is_shallow(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_shallow(item, depth - 1)),
        Value::Object(members) => depth > 0 && members.values().all(|member| is_shallow(member, depth - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use super::*;

    /// The official JSON-Schema-Test-Suite is not kept here. `HAFT_JSON_SCHEMA_SUITE` is the folder of its drafts.
    #[test]
    fn the_official_suite_holds_where_it_is_at_hand() {
        let Some(suite) = env::var_os("HAFT_JSON_SCHEMA_SUITE") else {
            println!("skipped: HAFT_JSON_SCHEMA_SUITE does not name the folder of the suite");
            return;
        };
        let mut failures = Vec::new();
        for (draft, address) in [
            ("draft7", "http://json-schema.org/draft-07/schema#"),
            ("draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
            ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
        ] {
            let mut count = 0;
            for file in fs::read_dir(Path::new(&suite).join(draft)).expect("the suite is there") {
                let path = file.expect("readable").path();
                if path.extension().is_some_and(|extension| extension == "json") {
                    count += run(&path, address, &mut failures);
                }
            }
            println!("{draft}: {count} tests, {} failures so far", failures.len());
        }
        assert!(failures.is_empty(), "{}\n{} in all", failures.join("\n"), failures.len());
    }

    /// Runs one file, but for groups that need another document.
    fn run(path: &Path, address: &str, failures: &mut Vec<String>) -> usize {
        let text = fs::read_to_string(path).expect("readable");
        let groups: Vec<Value> = serde_json::from_str(&text).expect("the suite is JSON");
        let mut count = 0;
        for group in groups.iter().filter(|group| !group.to_string().contains("localhost:1234")) {
            let mut schema = group["schema"].clone();
            if let Some(members) = schema.as_object_mut() {
                members.entry("$schema").or_insert_with(|| address.into());
            }
            let strict = Checker::compile(&schema);
            let checker = Checker::compile_as_it_is(schema);
            for test in group["tests"].as_array().expect("a group has tests") {
                count += 1;
                let found = checker
                    .as_ref()
                    .map(|checker| checker.is_valid(&test["data"]))
                    .map_err(SchemaError::clone);
                if found.as_ref().ok() != test["valid"].as_bool().as_ref() {
                    failures.push(format!("{path:?} {}: {found:?}", test["description"]));
                }
                if let Ok(strict) = &strict {
                    let accepts_more = strict.is_valid(&test["data"]) && found == Ok(false);
                    assert!(!accepts_more, "{path:?} {}: strictness accepts more", test["description"]);
                    let _ = strict.check(test["data"].clone()).map_err(|found| found.message("T", strict, 1));
                }
            }
        }
        count
    }
}
