//! Which words does a text have?
//!
//! Identifiers are split as people read them (`createIssue2` is create, issue, 2), letters lose case and accents, words
//! are brought to their stem, and those that every text has are left out. In scripts without spaces every character is a
//! word of its own, which serves them well enough.

use std::{
    collections::{HashMap, HashSet},
    hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState},
    sync::LazyLock,
};

use rust_stemmers::{Algorithm, Stemmer};

/// Nobody searches for a longer word; texts of strangers may be one.
const LONGEST: usize = 40;
/// Nobody reads on to find out what a tool does; texts of strangers may go on.
const LONGEST_TEXT: usize = 20_000;

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
    let mut rest = text[..text.floor_char_boundary(LONGEST_TEXT)].chars();
    while let Some(ch) = rest.next() {
        let kind = Kind::of(ch);
        let begins = match (last, kind) {
            (Kind::Upper, Kind::Lower) => false,
            (Kind::Upper, Kind::Upper) => begins_a_word(rest.as_str()),
            (last, kind) => last != kind || kind == Kind::Alone,
        };
        if begins && !word.is_empty() {
            each(&word);
            word.clear();
        }
        if kind != Kind::Other && word.len() < LONGEST {
            word.push(fold(ch));
        }
        last = kind;
    }
    if !word.is_empty() {
        each(&word);
    }
}

/// Whether a capital after others belongs to what follows, as in `HTTPServer`, and not in `URLs`.
fn begins_a_word(rest: &str) -> bool {
    let mut rest = rest.chars();
    let (next, after) = (rest.next(), rest.next());
    let is_lower = |ch: Option<char>| ch.is_some_and(|ch| Kind::of(ch) == Kind::Lower);
    is_lower(next) && (next != Some('s') || is_lower(after))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Lower,
    Upper,
    Digit,
    /// A letter of a script that has no spaces.
    Alone,
    Other,
}

impl Kind {
    fn of(ch: char) -> Kind {
        match ch {
            'a'..='z' => Kind::Lower,
            'A'..='Z' => Kind::Upper,
            '0'..='9' => Kind::Digit,
            _ if ch.is_ascii() || !ch.is_alphanumeric() => Kind::Other,
            '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Kind::Alone,
            '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'.. => Kind::Alone,
            _ if ch.is_uppercase() => Kind::Upper,
            _ if ch.is_numeric() => Kind::Digit,
            _ => Kind::Lower,
        }
    }
}

/// In lower case, without the accents of Latin letters.
fn fold(ch: char) -> char {
    if ch.is_ascii() {
        return ch.to_ascii_lowercase();
    }
    match ch.to_lowercase().next().unwrap_or(ch) {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ì'..='ï' | 'ĩ' | 'ī' | 'į' | 'ı' => 'i',
        'ł' => 'l',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ś' | 'ş' | 'š' | 'ß' => 's',
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

/// Letters and digits, in lower case: what is compared where a name is meant.
pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|ch| ch.is_alphanumeric()).map(fold).collect()
}

/// What a stem is known by in every index of this process.
///
/// It is hashed with a key of the process's own, so that nobody can write a description that collides with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct StemKey(u64);

impl StemKey {
    pub(super) fn of(stem: &str) -> StemKey {
        static KEYED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        StemKey(KEYED.hash_one(stem))
    }
}

/// A map from stems. A key is a keyed hash already, and hashing it again would only cost time.
pub(super) type ByStem<T> = HashMap<StemKey, T, BuildHasherDefault<AsItIs>>;

#[derive(Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        // Keys write one number, below; what else there might be must only not be lost.
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// The stem of each word that says something.
pub(super) struct Stemming {
    stemmer: Stemmer,
    silent: HashSet<&'static str>,
}

impl Stemming {
    pub(super) fn new() -> Stemming {
        let silent = SAY_NOTHING.iter().copied().collect();
        Stemming { stemmer: Stemmer::create(Algorithm::English), silent }
    }

    pub(super) fn is_silent(&self, word: &str) -> bool {
        self.silent.contains(word)
    }

    /// `None` for a word that says nothing.
    pub(super) fn stem<'a>(&self, word: &'a str) -> Option<std::borrow::Cow<'a, str>> {
        (!self.is_silent(word)).then(|| self.stemmer.stem(word))
    }

    pub(super) fn key(&self, word: &str) -> Option<StemKey> {
        Some(StemKey::of(&self.stem(word)?))
    }
}

/// A number for each stem.
pub(in crate::pool) struct Stems {
    stemming: Stemming,
    texts: Vec<Box<str>>,
    stems: HashMap<Box<str>, u32>,
    /// Words seen before: most words of a large pool are.
    words: HashMap<String, Option<u32>>,
}

impl Stems {
    pub(in crate::pool) fn new() -> Stems {
        Stems { stemming: Stemming::new(), texts: Vec::new(), stems: HashMap::new(), words: HashMap::new() }
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
        let stem = self.stemming.stem(word).and_then(|stem| {
            let next = u32::try_from(self.texts.len()).ok()?;
            let stem = stem.into_owned().into_boxed_str();
            Some(*self.stems.entry(stem).or_insert_with_key(|stem| {
                self.texts.push(stem.clone());
                next
            }))
        });
        self.words.insert(word.to_owned(), stem);
        stem
    }

    pub(super) fn text(&self, stem: u32) -> &str {
        &self.texts[stem as usize]
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
        check("IDs, URLs, listURLs", "ids urls list urls");
        check("“quoted” 🦀", "quoted");
    }

    #[test]
    fn words_of_other_languages_are_words_and_scripts_without_spaces_are_characters() {
        check("für Köln", "fur koln");
        check("погода в Москве", "погода в москве");
        check("天气 für Tōkyō", "天 气 fur tokyo");
        check("ÉtéÀParis", "ete a paris");
    }

    #[test]
    fn forms_of_a_word_are_one_stem_and_empty_words_none() {
        let mut stems = Stems::new();
        let mut found = Vec::new();
        stems.learn("Searching the searches, searched by nobody", &mut found);
        assert_eq!(found, [0, 0, 0, 1]);
        assert_eq!(stems.text(0), "search");
    }

    proptest! {
        #[test]
        fn any_text_has_words(text in any::<String>(), ascii in "[a-z0-9']{0,50}") {
            let mut stems = Stems::new();
            stems.learn(&text, &mut Vec::new());
            stems.learn(&ascii, &mut Vec::new());
            letters(&text);
        }
    }
}
