//! What was found, and what stands in its place.

use std::collections::BTreeMap;

/// What every replacement begins with.
pub(crate) const MARK: &str = "[redacted: ";

/// The kinds that are not in the table of tokens.
pub(crate) const KNOWN: &str = "known secret";
pub(crate) const PASSWORD: &str = "password";
pub(crate) const SECRET: &str = "secret";
pub(crate) const AUTHORIZATION: &str = "authorization";
pub(crate) const COOKIE: &str = "cookie";
pub(crate) const SIGNATURE: &str = "signature";
pub(crate) const PRIVATE_KEY: &str = "private key";

/// A secret in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: &'static str,
    /// Of two that overlap, the surer one gives its name.
    pub(crate) sure: bool,
}

impl Span {
    /// Whether this and a later one of the same kind are one.
    pub(crate) fn goes_on_in(&self, later: &Span) -> bool {
        let is_over = later.start < self.end || later.start == self.end && self.kind == KNOWN;
        self.kind == later.kind && self.start <= later.start && is_over
    }
}

/// How often secrets of which kind were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found(BTreeMap<&'static str, usize>);

impl Found {
    /// How many secrets.
    pub fn count(&self) -> usize {
        self.0.values().sum()
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds, in the order of the alphabet.
    pub fn kinds(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.0.keys().copied()
    }

    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: &Found) {
        for (kind, count) in &other.0 {
            *self.0.entry(kind).or_default() += count;
        }
    }

    pub(crate) fn note(&mut self, kind: &'static str) {
        *self.0.entry(kind).or_default() += 1;
    }
}

/// Writes what stands in the place of a secret.
pub(crate) fn write_mark(out: &mut Vec<u8>, kind: &str) {
    out.extend_from_slice(MARK.as_bytes());
    out.extend_from_slice(kind.as_bytes());
    out.push(b']');
}

/// Whether a value holds, or is a part of, what stands in the place of a secret.
pub(crate) fn is_marked(value: &[u8]) -> bool {
    memchr::memmem::find(value, MARK.as_bytes()).is_some()
}
