//! What does a query ask for?
//!
//! Words with weights, by sentence. A word inside a quotation, an address or a path is data that a tool will be given
//! rather than what it does, so it counts less. A word that nobody has said may be misspelt, or two words in one; two
//! words may be known as one.

use std::{collections::HashMap, ops::Range};

use super::{
    Weights,
    postings::{Placed, Postings},
    spelling::Spelling,
    synonyms::Synonyms,
    words::{StemKey, Stemming, split},
};

/// A longer quotation is a text, and its quotes may be apostrophes.
const LONGEST_QUOTATION: usize = 120;
/// Each half of a word that is two must have so many letters.
const SHORTEST_HALF: usize = 3;

/// Two words together; longer ones are seldom written as one.
const LONGEST_PAIR: usize = 16;

/// The words that are asked for, each once.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) words: Vec<Wanted>,
    /// The words of each sentence, likewise.
    pub(super) sentences: Vec<Vec<Wanted>>,
}

/// A word that is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) stem: u32,
    pub(super) weight: f32,
}

/// What is known of words.
pub(super) struct Reader<'a> {
    pub(super) stemming: &'a Stemming,
    pub(super) postings: &'a Postings,
    pub(super) synonyms: &'a Synonyms,
    pub(super) parts: &'a [Placed],
    /// Made when the first unknown word comes.
    pub(super) spelling: &'a dyn Fn() -> &'a Spelling,
    pub(super) weights: &'a Weights,
}

impl Reader<'_> {
    pub(super) fn read(&self, text: &str) -> Query {
        let quoted = quotations(text);
        let (mut sentence, mut sentences) = (Vec::new(), Vec::new());
        let mut last: Option<String> = None;
        for (at, token) in tokens(text) {
            let is_literal = is_address(token) || quoted.iter().any(|range| range.contains(&at));
            let weight = if is_literal { self.weights.literal } else { 1.0 };
            split(token, |word| {
                self.add_word(word, weight, &mut sentence);
                self.add_pair(last.replace(word.to_owned()), word, weight, &mut sentence);
            });
            if token == "+" || token.ends_with(['.', ';', '!', '?']) {
                sentences.push(std::mem::take(&mut sentence));
            }
        }
        sentences.push(sentence);
        sentences.retain(|sentence| !sentence.is_empty());
        let words = merged(sentences.iter().flatten());
        let sentences = match sentences.len() {
            // One sentence is the query, and says nothing more.
            0 | 1 => Vec::new(),
            _ => sentences.iter().map(merged).collect(),
        };
        Query { words, sentences }
    }

    fn add_word(&self, word: &str, weight: f32, found: &mut Vec<Wanted>) {
        let Some(stem) = self.stemming.stem(word) else { return };
        let key = StemKey::of(&stem);
        let synonyms = self.synonyms.of_unknown(key);
        if let Some(stem) = self.postings.number(key) {
            found.push(Wanted { stem, weight });
        } else if !synonyms.is_empty() {
            let weight = weight * self.weights.only_synonyms;
            found.extend(synonyms.iter().map(|stem| Wanted { stem: *stem, weight }));
        } else if let Some(halves) = self.halves(word) {
            found.extend(halves.map(|stem| Wanted { stem, weight: weight * self.weights.joined }));
        } else if let Some(stem) = (self.spelling)().nearest(word, &stem, self.postings, self.parts) {
            found.push(Wanted { stem, weight: weight * self.weights.misspelt });
        }
    }

    /// Two words in a row may be known as one: `web page`.
    fn add_pair(&self, last: Option<String>, word: &str, weight: f32, found: &mut Vec<Wanted>) {
        let is_half = |word: &str| word.len() > 1 && !self.stemming.is_silent(word);
        let Some(mut pair) = last.filter(|last| is_half(last) && is_half(word)) else { return };
        if pair.len() + word.len() > LONGEST_PAIR {
            return;
        }
        pair.push_str(word);
        let weight = weight * self.weights.joined;
        found.extend(self.known(&pair).map(|stem| Wanted { stem, weight }));
    }

    fn known(&self, word: &str) -> Option<u32> {
        self.postings.number(self.stemming.key(word)?)
    }

    /// The two known words that it is made of, the rarer of which is as common as can be.
    fn halves(&self, word: &str) -> Option<[u32; 2]> {
        if !word.is_ascii() {
            return None;
        }
        let cuts = SHORTEST_HALF..(word.len() + 1).saturating_sub(SHORTEST_HALF);
        let halves = cuts.filter_map(|cut| Some([self.known(&word[..cut])?, self.known(&word[cut..])?]));
        halves.max_by_key(|halves| halves.map(|stem| self.postings.tools(stem).len()).into_iter().min())
    }
}

/// Each stem once, in the order of its first place. More often counts more, but less and less.
fn merged<'a>(words: impl IntoIterator<Item = &'a Wanted>) -> Vec<Wanted> {
    let mut places = HashMap::new();
    let mut merged: Vec<(Wanted, f32)> = Vec::new();
    for word in words {
        let place = *places.entry(word.stem).or_insert(merged.len());
        match merged.get_mut(place) {
            Some((first, times)) => {
                first.weight = first.weight.max(word.weight);
                *times += 1.0;
            }
            None => merged.push((*word, 1.0)),
        }
    }
    let weighed = |(word, times): (Wanted, f32)| Wanted { weight: word.weight * (1.0 + times.ln()), ..word };
    merged.into_iter().map(weighed).collect()
}

/// What stands between spaces, with its place.
fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(|token| (token.as_ptr().addr() - text.as_ptr().addr(), token))
}

fn is_address(token: &str) -> bool {
    token.contains("://") || token.contains('@') || token.starts_with('/') || token.starts_with("www.")
}

/// The places of short texts in quotes.
fn quotations(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut before = None;
    for (at, ch) in text.char_indices() {
        let is_inside = found.last().is_some_and(|last| at < last.end);
        let is_word_before = before.replace(ch).is_some_and(char::is_alphanumeric);
        if let Some(close) = closing(ch)
            && !is_inside
            && !is_word_before
        {
            found.extend(
                end_of(&text[at + ch.len_utf8()..], close).map(|length| at..at + ch.len_utf8() + length),
            );
        }
    }
    found
}

fn closing(quote: char) -> Option<char> {
    match quote {
        '"' | '\'' | '`' => Some(quote),
        '“' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        _ => None,
    }
}

/// Where a quotation ends, if it does soon.
fn end_of(text: &str, close: char) -> Option<usize> {
    let text = &text[..text.floor_char_boundary(LONGEST_QUOTATION)];
    let is_end = |(at, found): &(usize, &str)| {
        !text[at + found.len()..].starts_with(|next: char| next.is_alphanumeric())
    };
    text.match_indices(close).find(is_end).map(|(at, found)| at + found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> = quotations(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn quotations_are_found_and_apostrophes_are_none() {
        check("rename 'old name' to \"new\"", &["'old name'", "\"new\""]);
        check("don't touch the user's files", &[]);
        check("say “it's late” now", &["“it's late”"]);
        check("an open \"quote is none", &[]);
        check(&format!("'{}'", "long ".repeat(50)), &[]);
    }

    #[test]
    fn tokens_know_where_they_stand() {
        assert_eq!(tokens(" a  bc ").collect::<Vec<_>>(), [(1, "a"), (4, "bc")]);
    }
}
