//! Where in a text do which of several hundred short patterns begin?
//!
//! Nearly everywhere none does, and that is what must be quick. The four bytes at each place (in small letters) are
//! hashed to two bits of a table that fits into the fastest memory; no place waits for the one before it, as in an
//! automaton. Only where both bits are set the four bytes themselves are looked up, and then the patterns that begin so
//! are compared.

use std::collections::BTreeMap;

/// So many bytes are looked at together.
pub(crate) const GRAM: usize = 4;
/// The table of bits has this many words: 16 KB.
const WORDS: usize = 2048;

/// Which patterns begin with which four bytes.
pub(crate) struct Grams {
    bits: Box<[u64; WORDS]>,
    /// A table of four bytes and what begins with them; one without is empty. At most half full.
    slots: Vec<Slot>,
    /// The patterns of all slots, one slot's after the other's.
    patterns: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    gram: u32,
    first: u32,
    end: u32,
}

impl Grams {
    /// From four bytes each, and the number of the pattern.
    pub(crate) fn new(all: impl IntoIterator<Item = ([u8; GRAM], u32)>) -> Grams {
        let mut by_gram: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (bytes, pattern) in all {
            let patterns = by_gram.entry(folded(bytes)).or_default();
            if patterns.last() != Some(&pattern) {
                patterns.push(pattern);
            }
        }
        let slots = vec![Slot::default(); (by_gram.len() * 4).next_power_of_two()];
        let mut grams = Grams { bits: Box::new([0; WORDS]), slots, patterns: Vec::new() };
        by_gram.into_iter().for_each(|(gram, patterns)| grams.add(gram, &patterns));
        grams
    }

    fn add(&mut self, gram: u32, patterns: &[u32]) {
        let (word, bits) = hashed(gram);
        self.bits[word] |= bits;
        let place = self.place(gram);
        let first = self.patterns.len() as u32;
        self.patterns.extend_from_slice(patterns);
        self.slots[place] = Slot { gram, first, end: self.patterns.len() as u32 };
    }

    /// Calls back for each place and pattern that could begin there, in order.
    pub(crate) fn each(&self, text: &[u8], mut found: impl FnMut(usize, u32)) {
        let mut at = 0;
        while let Some(next) = self.next(text, at) {
            self.patterns_at(text, next).iter().for_each(|pattern| found(next, *pattern));
            at = next + 1;
        }
    }

    /// The next place whose bits are set. Four places are looked at together: most have nothing.
    fn next(&self, text: &[u8], mut from: usize) -> Option<usize> {
        while let Some(eight) = text.get(from..)?.first_chunk() {
            let eight = u64::from_le_bytes(*eight) | 0x2020_2020_2020_2020;
            let seen = |place: u32| self.seen((eight >> (8 * place)) as u32);
            if (seen(0) | seen(1) | seen(2) | seen(3)) & 1 == 1 {
                return (0..4).find(|place| seen(*place) & 1 == 1).map(|place| from + place as usize);
            }
            from += 4;
        }
        let mut rest = text[from..].windows(GRAM);
        rest.position(|four| self.seen(folded([four[0], four[1], four[2], four[3]])) & 1 == 1)
            .map(|at| from + at)
    }

    /// In the lowest bit: whether both bits of these four bytes are set. Written so that it is few instructions, as this
    /// is where the time goes.
    #[inline(always)]
    fn seen(&self, gram: u32) -> u64 {
        let hash = hash(gram);
        let word = self.bits[(hash >> 53) as usize];
        word.wrapping_shr((hash >> 47) as u32) & word.wrapping_shr((hash >> 41) as u32)
    }

    fn patterns_at(&self, text: &[u8], at: usize) -> &[u32] {
        let Some(four) = text[at..].first_chunk::<GRAM>() else { return &[] };
        let slot = self.slots[self.place(folded(*four))];
        &self.patterns[slot.first as usize..slot.end as usize]
    }

    /// The slot of four bytes, or the empty one where they would be.
    fn place(&self, gram: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = (hash(gram) >> 24) as usize & mask;
        while self.slots[place].gram != gram && self.slots[place].gram != 0 {
            place = (place + 1) & mask;
        }
        place
    }
}

/// In small letters. Other bytes fall together, too, which costs a comparison here and there.
#[inline(always)]
fn folded(bytes: [u8; GRAM]) -> u32 {
    u32::from_le_bytes(bytes) | 0x2020_2020
}

/// A word of the table, and two bits in it.
fn hashed(gram: u32) -> (usize, u64) {
    let hash = hash(gram);
    ((hash >> 53) as usize, 1 << (hash >> 47 & 63) | 1 << (hash >> 41 & 63))
}

#[inline(always)]
fn hash(gram: u32) -> u64 {
    u64::from(gram).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_found_where_it_begins_in_order() {
        let grams = Grams::new([(*b"pass", 0), (*b"assw", 1), (*b"pass", 2)]);
        let mut found = Vec::new();
        grams.each(b"a PASSWORD, pass", |at, pattern| found.push((at, pattern)));
        assert_eq!(found, [(2, 0), (2, 2), (3, 1), (12, 0), (12, 2)]);
    }

    #[test]
    fn nothing_is_found_in_nothing() {
        let grams = Grams::new([(*b"pass", 0)]);
        for text in ["", "p", "pas", "past it"] {
            grams.each(text.as_bytes(), |at, _| panic!("{text} at {at}"));
        }
    }
}
