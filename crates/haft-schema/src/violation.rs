//! What is left, named so that it can be corrected.
//!
//! A validator says which keyword failed; a model needs to know what to write. So each problem becomes a line with the
//! place, what is expected there, what was got, and a hint where one is likely to be right. Of alternatives that all
//! fail, only the one that was probably meant is explained.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

use crate::{
    document::Document,
    nearest::nearest,
    validator::{Kind, Problem},
    words,
};

/// More would not be read.
const MAX_LISTED: usize = 20;

/// Keys that are named where none is near.
const MAX_KEYS: usize = 20;

/// What is expected where a key is unknown.
pub(crate) const NO_SUCH_KEY: &str = "no such key";

/// Everything that is wrong with an input. `message` makes the text for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations {
    /// The first twenty.
    pub list: Vec<Violation>,
    /// How many more there are.
    pub more: usize,
    /// Where the first violation inside a nested object is: its path, and the pointer of its schema.
    pub(crate) nested: Option<(String, String)>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Violation {
    /// Where, as in `edits[2].line`; empty for the input itself.
    pub path: String,
    /// What the schema wants there: "an integer ≥ 1".
    pub expected: String,
    /// What is there: "the string \"abc\"", or "nothing".
    pub got: String,
    /// What to do about it, if there is something likely.
    pub hint: Option<String>,
}

impl Violations {
    pub(crate) fn explain(problems: &[Problem], document: &Document, root: &Value) -> Violations {
        let found = Violations { list: Vec::new(), more: 0, nested: None };
        let mut explanation = Explanation { document, root, found };
        explanation.all(problems);
        explanation.found
    }

    /// Identity of this failure, by which a repetition is recognised. It is the same for the same build only.
    pub fn identity(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.more.hash(&mut hasher);
        for violation in &self.list {
            (&violation.path, &violation.expected, &violation.got).hash(&mut hasher);
        }
        hasher.finish()
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, violation) in self.list.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}- {violation}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\n- and {more} more"),
        }
    }
}

impl std::error::Error for Violations {}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => write!(f, "the input")?,
            path => write!(f, "`{path}`")?,
        }
        match self.expected.as_str() {
            NO_SUCH_KEY => write!(f, ": no such key, got {}", self.got)?,
            expected => write!(f, ": expected {expected}, got {}", self.got)?,
        }
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// The violations while they are collected.
struct Explanation<'a> {
    document: &'a Document,
    root: &'a Value,
    found: Violations,
}

impl Explanation<'_> {
    fn all(&mut self, problems: &[Problem]) {
        for problem in problems {
            self.one(problem);
        }
    }

    fn one(&mut self, problem: &Problem) {
        match &problem.kind {
            Kind::Missing(name) => self.missing(problem, name),
            Kind::Unknown(names) => names.iter().for_each(|name| self.unknown(problem, name)),
            Kind::NoAlternative(branches) => match likeliest(branches, &problem.at) {
                Some(branch) => self.all(branch),
                None => self.wrong(problem),
            },
            _ => self.wrong(problem),
        }
    }

    fn wrong(&mut self, problem: &Problem) {
        if self.is_full() {
            return;
        }
        let got = self.value_at(problem);
        let violation = Violation {
            path: self.path(problem),
            expected: expected(problem, self.document),
            got: got.map_or("nothing".to_owned(), words::value),
            hint: got.and_then(|got| hint(problem, got, self.document)),
        };
        self.push(violation, problem);
    }

    fn missing(&mut self, problem: &Problem, name: &str) {
        if self.is_full() {
            return;
        }
        let wanted = self.document.property_near(&problem.keyword, name);
        let phrase = wanted.map_or("a value".to_owned(), |node| words::schema(self.document, node));
        let violation = Violation {
            path: words::member(&self.path(problem), name),
            expected: format!("{phrase} (required)"),
            got: "nothing".to_owned(),
            hint: None,
        };
        self.push(violation, problem);
    }

    fn unknown(&mut self, problem: &Problem, name: &str) {
        if self.is_full() {
            return;
        }
        let object = self.value_at(problem);
        let got = object.and_then(|object| object.get(name)).map_or("nothing".to_owned(), words::value);
        let violation = Violation {
            path: words::member(&self.path(problem), name),
            expected: NO_SUCH_KEY.to_owned(),
            got,
            hint: self
                .document
                .owner(&problem.keyword)
                .map(|node| key_hint(name, object, node, self.document)),
        };
        self.push(violation, problem);
    }

    /// What is not listed is counted, and not worked out.
    fn is_full(&mut self) -> bool {
        let full = self.found.list.len() == MAX_LISTED;
        self.found.more += usize::from(full);
        full
    }

    fn push(&mut self, violation: Violation, problem: &Problem) {
        if self.found.list.contains(&violation) {
            return; // two keywords may say the same
        }
        self.found.list.push(violation);
        let is_about_keys = matches!(problem.kind, Kind::Missing(_) | Kind::Unknown(_));
        if is_about_keys && !problem.at.is_empty() && self.found.nested.is_none() {
            let owner = problem.keyword.rsplit_once('/').map_or("", |(owner, _)| owner);
            self.found.nested = Some((self.path(problem), owner.to_owned()));
        }
    }

    fn path(&self, problem: &Problem) -> String {
        words::path(&problem.at, self.root)
    }

    fn value_at(&self, problem: &Problem) -> Option<&Value> {
        self.root.pointer(&problem.at)
    }
}

/// The alternative that was probably meant: it accepts the type and the distinguishing constants, and has the least
/// against the value. `None` if every one wants another type: then all of them are worth naming.
fn likeliest<'a>(branches: &'a [Vec<Problem>], at: &str) -> Option<&'a [Problem]> {
    let possible = branches.iter().filter(|branch| !branch.iter().any(|problem| rules_out(problem, at)));
    let rank = |branch: &&Vec<Problem>| {
        let foreign = branch.iter().filter(|problem| is_literal(problem)).count();
        (foreign, branch.len())
    };
    possible.min_by_key(rank).map(Vec::as_slice)
}

/// Whether the branch is about something else than the value at this place.
fn rules_out(problem: &Problem, at: &str) -> bool {
    problem.at == at
        && (matches!(problem.kind, Kind::Type(_)) || is_literal(problem) || is_empty_union(problem, at))
}

/// `anyOf` in `anyOf`, of which no branch fits either.
fn is_empty_union(problem: &Problem, at: &str) -> bool {
    matches!(&problem.kind, Kind::NoAlternative(branches) if likeliest(branches, at).is_none())
}

fn is_literal(problem: &Problem) -> bool {
    matches!(problem.kind, Kind::Const(_) | Kind::Enum(_))
}

/// What the keyword that failed, or the schema around it, wants.
fn expected(problem: &Problem, document: &Document) -> String {
    if document.at(&problem.keyword) == Some(&Value::Bool(false)) {
        return "nothing at all".to_owned();
    }
    if matches!(problem.kind, Kind::Costly) {
        return format!("{} that is nested less deeply", words::schema(document, document.root()));
    }
    let keyword = problem.keyword.rsplit('/').next().unwrap_or_default();
    let inner =
        || document.at(&problem.keyword).map_or("a value".to_owned(), |node| words::schema(document, node));
    match (keyword, document.owner(&problem.keyword)) {
        (_, None) => bare(&problem.kind, keyword),
        ("not", _) => format!("anything but {}", inner()),
        ("contains", _) => format!("an array with an item that is {}", inner()),
        ("additionalItems" | "unevaluatedItems", _) => "fewer items".to_owned(),
        ("oneOf", Some(node)) if matches!(problem.kind, Kind::SeveralAlternatives) => {
            format!("only one of these, not several at once: {}", words::schema(document, node))
        }
        (_, Some(node)) if matches!(problem.kind, Kind::KeyName) => {
            format!("keys that are {}", words::schema(document, node))
        }
        (_, Some(node)) => words::schema(document, node),
    }
}

/// For a schema that cannot be looked into, as behind an `$id`.
fn bare(kind: &Kind, keyword: &str) -> String {
    match kind {
        Kind::Type(names) => format!("a value of type {}", names.join(" or ")),
        Kind::Const(constant) => format!("exactly {}", words::json(constant)),
        Kind::Enum(options) => format!("one of {}", words::json(options)),
        _ => format!("a value that satisfies `{}`", words::cut(keyword, 60)),
    }
}

fn hint(problem: &Problem, got: &Value, document: &Document) -> Option<String> {
    match &problem.kind {
        Kind::Type(wanted) => type_hint(wanted, got),
        Kind::Enum(options) => {
            let options = options.as_array()?.iter().filter_map(Value::as_str);
            Some(format!("did you mean {}?", words::json(&nearest(got.as_str()?, options)?.into())))
        }
        Kind::NoAlternative(_) => {
            let wanted = words::schema(document, document.owner(&problem.keyword)?);
            wanted.starts_with("a string").then(|| type_hint(&["string"], got))?
        }
        _ => None,
    }
}

fn type_hint(wanted: &[&str], got: &Value) -> Option<String> {
    let wants = |name| wanted.contains(&name);
    match got {
        Value::Number(_) | Value::Bool(_) if wants("string") => Some(format!("write it as \"{got}\"")),
        Value::String(text)
            if (wants("object") || wants("array")) && text.trim_start().starts_with(['{', '[']) =>
        {
            Some("write it as JSON, not inside a string".to_owned())
        }
        Value::Array(_) => None,
        _ if wants("array") => Some(format!("put it in an array: [{}]", words::json(got))),
        _ => None,
    }
}

/// Keys that are already given were not meant by another name.
fn key_hint(name: &str, object: Option<&Value>, node: &Value, document: &Document) -> String {
    let keys = document.keys(node);
    let is_given = |key: &str| object.is_some_and(|object| object.get(key).is_some());
    let absent = keys.iter().map(|(key, _)| *key).filter(|key| !is_given(key));
    if let Some(near) = nearest(name, absent) {
        return format!("did you mean `{}`?", words::cut(near, 60));
    }
    match keys.len() {
        0 => "no keys are accepted".to_owned(),
        _ => format!("accepted keys: {}", words::names(keys.iter().map(|(key, _)| *key), MAX_KEYS)),
    }
}
