//! The front door.

use std::{borrow::Cow, collections::BTreeSet, fmt, sync::OnceLock};

use crate::{
    block::Worker,
    found::{Found, MARK, PRIVATE_KEY},
    known::{self, Known},
    marks,
    names::is_secret_name,
    pem,
    scan::Machine,
    stream::{LONG, Pieces, short_lines, text},
    value,
};

/// Takes secrets out of text. Nothing is compiled before the first text comes.
pub struct Redactor {
    values: Vec<String>,
    known: OnceLock<(Vec<Known>, Machine)>,
}

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// Borrowed if there was nothing to take out.
    pub text: Cow<'a, str>,
    /// What was taken out.
    pub found: Found,
}

impl Redactor {
    /// A redactor in the making. Without more it finds secrets by their form.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A text without its secrets. Doing it again changes nothing.
    pub fn redact<'a>(&self, whole: &'a str) -> Redacted<'a> {
        let bytes = whole.as_bytes();
        if bytes.len() - short_lines(bytes) >= LONG || pem::begins(bytes).is_some() {
            return self.in_pieces(whole);
        }
        let mut found = Found::default();
        let clean = self.worker().whole(bytes, &mut found);
        Redacted { text: clean.map_or(Cow::Borrowed(whole), |clean| Cow::Owned(text(clean))), found }
    }

    /// One line out of many, as it is shown while they come. It may lie inside a private key whose beginning is not in
    /// sight: a line that is nothing but one long random word is hidden.
    pub fn redact_glimpse<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let word = line.trim();
        let is_word = word.len() >= GLIMPSE
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte));
        match is_word && value::is_random(word.as_bytes()) {
            true => Cow::Owned(format!("{MARK}{PRIVATE_KEY}]")),
            false => self.redact(line).text,
        }
    }

    /// A text with long lines or private keys goes the way of a stream, so that both give the same.
    fn in_pieces<'a>(&self, whole: &'a str) -> Redacted<'a> {
        let (worker, mut pieces, mut out) =
            (self.worker(), Pieces::default(), Vec::with_capacity(whole.len()));
        pieces.push(&worker, whole.as_bytes(), &mut out);
        pieces.finish(&worker, &mut out);
        Redacted { text: Cow::Owned(text(out)), found: pieces.found }
    }

    pub(crate) fn worker(&self) -> Worker<'_> {
        if self.values.is_empty() {
            return Worker { machine: Machine::shared(), known: &[] };
        }
        let (known, machine) = self.known.get_or_init(|| {
            let known = known::all(&self.values);
            let machine = Machine::new(&known);
            (known, machine)
        });
        Worker { machine, known }
    }
}

/// Says how many values it knows, not which.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("values", &self.values.len()).finish_non_exhaustive()
    }
}

/// A redactor in the making.
#[derive(Default)]
pub struct Builder {
    variables: Vec<(String, String)>,
    names: BTreeSet<String>,
    values: BTreeSet<String>,
}

/// From this length on a lone word may be a line of a private key.
const GLIMPSE: usize = 40;

/// What was said to be secret is hidden if it has at least so many bytes.
const SHORTEST: usize = 4;

impl Builder {
    /// Hides the values of those variables whose names look like a secret's ([`is_secret_name`]), unless a value is
    /// short, a word, a number, a path or an address: hiding these would spoil every text.
    pub fn variables(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Builder {
        self.variables.extend(variables);
        self
    }

    /// More names of variables that hold secrets.
    pub fn names(mut self, names: impl IntoIterator<Item = String>) -> Builder {
        self.names.extend(names);
        self
    }

    /// Hides a value. One of less than four bytes is not hidden: it would be found in every text.
    pub fn secret(mut self, value: impl Into<String>) -> Builder {
        self.values.insert(value.into());
        self
    }

    /// The redactor.
    pub fn build(self) -> Redactor {
        let Builder { variables, names, mut values } = self;
        for (name, value) in variables {
            let is_secret = names.contains(&name) || is_secret_name(&name);
            if is_secret && value::is_distinctive(value.trim()) {
                values.insert(value);
            }
        }
        let is_worth = |value: &String| value.trim().len() >= SHORTEST && !is_part_of_a_mark(value.trim());
        Redactor { values: values.into_iter().filter(is_worth).collect(), known: OnceLock::new() }
    }
}

/// A value that stands in what is written in place of a secret would be replaced for ever.
fn is_part_of_a_mark(value: &str) -> bool {
    MARK.contains(value) || marks::names().any(|kind| kind.contains(value))
}
