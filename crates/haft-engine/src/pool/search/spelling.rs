//! Which known word was meant by an unknown one?
//!
//! One slip is forgiven: a letter too many, too few, wrong, or two swapped. Two words that differ by one slip become
//! alike when the right letter is taken out of each, so the known words are listed under all that taking out a letter
//! makes of them, and finding one costs a few look-ups, however many there are.

use super::{postings::Placed, postings::Postings, words::StemKey};

/// Shorter words are too much like each other.
const SHORTEST: usize = 4;
/// Longer words are seldom typed.
const LONGEST: usize = 24;

/// The known words, as they look with a letter taken out.
pub(super) struct Spelling(Vec<(StemKey, u32)>);

impl Spelling {
    pub(super) fn new(postings: &Postings, parts: &[Placed]) -> Spelling {
        let mut known = Vec::new();
        for stem in (0..postings.len() as u32).filter(|stem| !postings.tools(*stem).is_empty()) {
            let text = postings.text(stem, parts);
            if is_word(text, SHORTEST) {
                each_shorter(text, |shorter| known.push((StemKey::of(shorter), stem)));
            }
        }
        known.sort_unstable();
        Spelling(known)
    }

    /// The known stem that is one slip away from that of a word; of several the most common.
    pub(super) fn nearest(
        &self,
        word: &str,
        stem: &str,
        postings: &Postings,
        parts: &[Placed],
    ) -> Option<u32> {
        // The letter that is missing may be missing in the stem, too.
        if word.len() < SHORTEST || !is_word(stem, SHORTEST - 1) {
            return None;
        }
        let mut near = Vec::new();
        each_shorter(stem, |shorter| near.extend(self.under(StemKey::of(shorter))));
        near.retain(|other| is_one_slip(stem, postings.text(*other, parts)));
        near.into_iter().max_by_key(|other| (postings.tools(*other).len(), std::cmp::Reverse(*other)))
    }

    fn under(&self, key: StemKey) -> impl Iterator<Item = u32> {
        let from = self.0.partition_point(|(other, _)| *other < key);
        self.0[from..].iter().take_while(move |(other, _)| *other == key).map(|(_, stem)| *stem)
    }
}

/// Whether slips in it can be told from other words.
fn is_word(text: &str, shortest: usize) -> bool {
    (shortest..=LONGEST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The word itself, and with each of its letters taken out. It is ASCII.
fn each_shorter(word: &str, mut each: impl FnMut(&str)) {
    each(word);
    let mut shorter = String::with_capacity(word.len());
    for at in 0..word.len() {
        shorter.clear();
        shorter.push_str(&word[..at]);
        shorter.push_str(&word[at + 1..]);
        each(&shorter);
    }
}

/// Whether one letter more, less or other makes the one word the other, or two letters that are swapped.
fn is_one_slip(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[same..], &other[same..]);
    match (one, other) {
        ([_, rest @ ..], other) if rest == other => true,
        (one, [_, rest @ ..]) if one == rest => true,
        ([_, one @ ..], [_, other @ ..]) if one == other => true,
        ([a, b, one @ ..], [c, d, other @ ..]) => (a, b) == (d, c) && one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_is_one_slip() {
        for (one, other) in [("isu", "issu"), ("isssu", "issu"), ("iszu", "issu"), ("sisu", "issu")] {
            assert!(is_one_slip(one, other) && is_one_slip(other, one), "{one} {other}");
        }
        for (one, other) in [("is", "issu"), ("sius", "issu"), ("issu", "issu"), ("abcd", "issu")] {
            assert!(!is_one_slip(one, other), "{one} {other}");
        }
    }

    #[test]
    fn what_is_no_plain_word_is_left_alone() {
        assert!(is_word("issu", 3) && !is_word("is", 3) && !is_word("天气天气", 3) && !is_word("a1b2c3", 3));
        assert!(!is_word(&"x".repeat(1000), 3));
    }
}
