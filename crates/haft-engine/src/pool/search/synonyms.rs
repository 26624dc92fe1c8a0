//! Which words are used for one another?
//!
//! The groups are data, in `synonyms.txt` beside this file. They are general: nobody has to describe a tool twice because
//! some say picture and others image.

use std::{collections::HashMap, sync::LazyLock};

use super::{
    postings::Postings,
    words::{ByStem, StemKey, Stemming},
};

/// For each stem those that can stand in its place.
pub(super) struct Synonyms {
    known: HashMap<u32, Vec<u32>>,
    /// For those that no tool has.
    unknown: ByStem<Vec<u32>>,
}

impl Synonyms {
    pub(super) fn new(postings: &Postings) -> Synonyms {
        let (mut known, mut unknown) = (HashMap::<_, Vec<u32>>::new(), ByStem::<Vec<u32>>::default());
        for group in GROUPS.iter() {
            let in_group: Vec<u32> = group.iter().filter_map(|key| postings.number(*key)).collect();
            for &key in group {
                let own = postings.number(key);
                let others = match own {
                    Some(stem) => known.entry(stem).or_default(),
                    None => unknown.entry(key).or_default(),
                };
                others.extend(in_group.iter().copied().filter(|other| Some(*other) != own));
                others.sort_unstable();
                others.dedup();
            }
        }
        Synonyms { known, unknown }
    }

    pub(super) fn of(&self, stem: u32) -> &[u32] {
        self.known.get(&stem).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_unknown(&self, stem: StemKey) -> &[u32] {
        self.unknown.get(&stem).map_or(&[], Vec::as_slice)
    }
}

static GROUPS: LazyLock<Vec<Vec<StemKey>>> = LazyLock::new(|| {
    let stemming = Stemming::new();
    groups().map(|group| group.split_whitespace().filter_map(|word| stemming.key(word)).collect()).collect()
});

fn groups() -> impl Iterator<Item = &'static str> {
    include_str!("synonyms.txt").lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_two_words_that_say_something() {
        for (line, group) in groups().zip(GROUPS.iter()) {
            let mut different = group.clone();
            different.sort_unstable();
            different.dedup();
            assert!(different.len() > 1, "{line}: fewer than two stems, or silent words only");
        }
    }
}
