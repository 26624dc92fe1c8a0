//! Which words does a text have?
//!
//! Identifiers are split as people read them (`createIssue2` is create, issue, 2), words are brought to their stem, and
//! those that every text has are left out. A character outside ASCII is a word of its own, which serves scripts without
//! spaces well enough.

use std::collections::HashMap;

use rust_stemmers::{Algorithm, Stemmer};

/// Nobody searches for a longer word; texts of strangers may be one.
const LONGEST: usize = 40;

/// Words that say nothing about what a tool does.
#[rustfmt::skip]
const SAY_NOTHING: [&str; 92] = [
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "does", "each", "for", "from", "had", "has", "have", "having", "he", "her", "here", "his", "how", "i",
    "if", "in", "into", "is", "it", "its", "just", "like", "may", "me", "might", "more", "most", "my", "need", "needs",
    "no", "not", "of", "on", "or", "our", "out", "please", "she", "should", "so", "some", "such", "than", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "tool", "tools", "up", "us", "use",
    "used", "using", "very", "want", "was", "we", "were", "which", "will", "with", "you", "your",
];

/// Calls `each` with every word of a text, split and in lower case, not yet stemmed.
pub(super) fn split(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut last = Kind::Other;
    let mut chars = text.chars().peekable();
    while let Some(ch) = chars.next() {
        let kind = Kind::of(ch);
        let begins = match (last, kind) {
            (Kind::Upper, Kind::Lower) => false,
            // The last capital of `HTTPServer` belongs to what follows.
            (Kind::Upper, Kind::Upper) => chars.peek().is_some_and(|next| next.is_ascii_lowercase()),
            (last, kind) => last != kind,
        };
        if (begins || kind == Kind::Foreign) && !word.is_empty() {
            each(&word);
            word.clear();
        }
        if kind != Kind::Other && word.len() < LONGEST {
            word.push(ch.to_ascii_lowercase());
        }
        last = kind;
    }
    if !word.is_empty() {
        each(&word);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    /// A letter outside ASCII.
    Foreign,
    Other,
}

impl Kind {
    fn of(ch: char) -> Kind {
        match ch {
            'a'..='z' => Kind::Lower,
            'A'..='Z' => Kind::Upper,
            '0'..='9' => Kind::Digit,
            _ if !ch.is_ascii() && ch.is_alphanumeric() => Kind::Foreign,
            _ => Kind::Other,
        }
    }
}

/// A number for each stem.
pub(in crate::pool) struct Stems {
    stemmer: Stemmer,
    stems: HashMap<String, u32>,
    /// Words seen before: most words of a large pool are.
    words: HashMap<String, Option<u32>>,
}

impl Stems {
    pub(in crate::pool) fn new() -> Stems {
        let words = SAY_NOTHING.iter().map(|word| ((*word).to_owned(), None)).collect();
        Stems { stemmer: Stemmer::create(Algorithm::English), stems: HashMap::new(), words }
    }

    /// The stems of a text in its order, new ones too.
    pub(in crate::pool) fn learn(&mut self, text: &str, found: &mut Vec<u32>) {
        split(text, |word| {
            let stem = match self.words.get(word) {
                Some(known) => *known,
                None => self.learn_word(word),
            };
            found.extend(stem);
        });
    }

    fn learn_word(&mut self, word: &str) -> Option<u32> {
        let next = u32::try_from(self.stems.len()).ok()?;
        let stem = *self.stems.entry(self.stemmer.stem(word).into_owned()).or_insert(next);
        self.words.insert(word.to_owned(), Some(stem));
        Some(stem)
    }

    /// The stems of a text that were learned before.
    pub(in crate::pool) fn known(&self, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        split(text, |word| match self.words.get(word) {
            Some(known) => found.extend(*known),
            None => found.extend(self.stems.get(&*self.stemmer.stem(word))),
        });
        found
    }

    pub(in crate::pool) fn len(&self) -> usize {
        self.stems.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let mut words = Vec::new();
        split(text, |word| words.push(word.to_owned()));
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn identifiers_are_split_as_people_read_them() {
        check("create_issue", "create issue");
        check("getHTTPServer2Status", "get http server 2 status");
        check("a.b-c/d", "a b c d");
        check("IDs, URLs", "i ds ur ls");
        check("天气 für Köln", "天 气 f ü r k ö ln");
        check("“quoted” 🦀", "quoted");
    }

    #[test]
    fn forms_of_a_word_are_one_stem_and_empty_words_none() {
        let mut stems = Stems::new();
        let mut found = Vec::new();
        stems.learn("Searching the searches", &mut found);
        assert_eq!(found, [0, 0]);
        assert_eq!(stems.known("searched by nobody"), [0]);
    }

    proptest! {
        #[test]
        fn any_text_has_words(text in any::<String>(), ascii in "[a-z0-9']{0,50}") {
            let mut stems = Stems::new();
            stems.learn(&text, &mut Vec::new());
            stems.learn(&ascii, &mut Vec::new());
            stems.known(&ascii);
        }
    }
}
