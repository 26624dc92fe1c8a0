//! What is wrong with a value? The only module that knows the validator crate.
//!
//! Its errors are turned into our own `Problem`s at once, so that a new release of the crate breaks one file. Two
//! decisions are made here. Nothing is fetched: a remote reference fails. And patterns run on the linear engine;
//! only a schema that needs look-around gets the backtracking one, with a limit, for schemas come from strangers.

use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, Keyword, PatternOptions, ValidationError};
use serde_json::Value;

use crate::effort;

/// Steps of the backtracking engine per match: some milliseconds.
const BACKTRACK_LIMIT: usize = 100_000;

/// Bytes of one compiled pattern.
const PATTERN_SIZE_LIMIT: usize = 4 << 20;

pub(crate) struct Validator(jsonschema::Validator);

/// One thing that is wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    /// JSON pointer to the value.
    pub(crate) at: String,
    /// JSON pointer to the keyword of the schema that refuses it, behind all references.
    pub(crate) keyword: String,
    pub(crate) kind: Kind,
}

/// What can be done about a problem depends on its kind; those that can only be told are `Other`.
#[derive(Debug)]
pub(crate) enum Kind {
    Type(Vec<&'static str>),
    Const(Arc<Value>),
    Enum(Arc<Value>),
    Missing(String),
    Unknown(Vec<String>),
    /// No alternative accepts the value; what each has against it.
    NoAlternative(Vec<Vec<Problem>>),
    SeveralAlternatives,
    /// The name of a key is not accepted.
    KeyName,
    /// The value is not valid, but it would take too long to find out why.
    Costly,
    Other,
}

impl Validator {
    pub(crate) fn new(schema: &Value) -> Result<Validator, String> {
        let linear = PatternOptions::regex().size_limit(PATTERN_SIZE_LIMIT);
        let backtracking =
            PatternOptions::fancy_regex().size_limit(PATTERN_SIZE_LIMIT).backtrack_limit(BACKTRACK_LIMIT);
        let metered = effort::metered(schema);
        let schema = metered.as_ref().unwrap_or(schema);
        let options = || {
            let options = jsonschema::options().offline().with_draft(draft(schema));
            options.with_keyword(effort::STEP, |_, _, _| Ok(Box::new(Step)))
        };
        options()
            .with_pattern_options(linear)
            .build(schema)
            .or_else(|_| options().with_pattern_options(backtracking).build(schema))
            .map(Validator)
            .map_err(|err| format!("{err} (at `#{}`)", err.instance_path().as_str()))
    }

    pub(crate) fn is_valid(&self, value: &Value) -> bool {
        self.0.is_valid(value)
    }

    pub(crate) fn problems(&self, value: &Value) -> Vec<Problem> {
        let costly = || vec![Problem { at: String::new(), keyword: String::new(), kind: Kind::Costly }];
        effort::bounded(|| self.0.iter_errors(value).map(|err| problem(&err)).collect())
            .unwrap_or_else(costly)
    }
}

/// Accepts everything, and counts while errors are collected.
struct Step;

impl<'i> Keyword<'i> for Step {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        effort::step();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        true
    }
}

/// An unknown `$schema` is read as the current draft: it would have to be fetched to know better.
fn draft(schema: &Value) -> Draft {
    match Draft::default().detect(schema) {
        Draft::Unknown => Draft::default(),
        draft => draft,
    }
}

fn problem(err: &ValidationError<'_>) -> Problem {
    Problem {
        at: err.instance_path().as_str().to_owned(),
        keyword: err.schema_path().as_str().to_owned(),
        kind: kind(err.kind()),
    }
}

fn kind(kind: &ValidationErrorKind) -> Kind {
    match kind {
        ValidationErrorKind::Type { kind } => Kind::Type(types(kind)),
        ValidationErrorKind::Constant { expected_value } => Kind::Const(Arc::clone(expected_value)),
        ValidationErrorKind::Enum { options } => Kind::Enum(Arc::clone(options)),
        ValidationErrorKind::Required { property } => {
            Kind::Missing(property.as_str().unwrap_or_default().to_owned())
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => Kind::Unknown(unexpected.clone()),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            Kind::NoAlternative(context.iter().map(|errors| errors.iter().map(problem).collect()).collect())
        }
        ValidationErrorKind::OneOfMultipleValid { .. } => Kind::SeveralAlternatives,
        ValidationErrorKind::PropertyNames { .. } => Kind::KeyName,
        _ => Kind::Other,
    }
}

fn types(kind: &TypeKind) -> Vec<&'static str> {
    match kind {
        TypeKind::Single(name) => vec![name.as_str()],
        TypeKind::Multiple(names) => names.iter().map(|name| name.as_str()).collect(),
    }
}
