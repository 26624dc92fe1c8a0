//! How well does each tool fit a query?
//!
//! What the words say of a tool, added up, is the base; then come the sentence of the query that fits best (one need of
//! several must not be drowned by the others), how much of the tool's name is asked for, and what the best tool of the
//! same server lends it: who needs one tool of a server probably needs its neighbours.

use super::{
    Weights,
    postings::Postings,
    query::{Query, Wanted},
    synonyms::Synonyms,
};

/// What scoring looks at.
pub(super) struct Scoring<'a> {
    pub(super) postings: &'a Postings,
    pub(super) synonyms: &'a Synonyms,
    /// For each tool the number of its server. A tool without one has a number of its own.
    pub(super) servers: &'a [u32],
    pub(super) weights: &'a Weights,
}

impl Scoring<'_> {
    /// A score for each tool; 0 for those that have nothing of what is asked for.
    pub(super) fn scores(&self, query: &Query) -> Vec<f32> {
        let mut scores = self.base(&query.words);
        if scale(&mut scores, 1.0) {
            self.add_best_sentence(query, &mut scores);
            self.add_name_cover(query, &mut scores);
            self.lend_to_siblings(&mut scores);
        }
        scores
    }

    /// The words added up; each says what it or a synonym says, whichever is more.
    fn base(&self, words: &[Wanted]) -> Vec<f32> {
        let mut scores = vec![0.0; self.servers.len()];
        let mut said = Said::new(self.servers.len());
        let mut is_wanted = vec![false; self.postings.len()];
        words.iter().for_each(|word| is_wanted[word.stem as usize] = true);
        for &Wanted { stem, weight } in words {
            let synonyms = self.synonyms.of(stem);
            let rarity = self.postings.rarity(stem);
            if synonyms.is_empty() {
                self.add(stem, weight * rarity, &mut scores);
                continue;
            }
            said.raise(self.postings.tools(stem), rarity);
            for &other in synonyms.iter().filter(|other| !is_wanted[**other as usize]) {
                let rarity = self.postings.rarity(other).min(rarity);
                said.raise(self.postings.tools(other), self.weights.synonym * rarity);
            }
            said.drain(|tool, says| scores[tool as usize] += weight * says);
        }
        scores
    }

    fn add(&self, stem: u32, factor: f32, scores: &mut [f32]) {
        for &(tool, says) in self.postings.tools(stem) {
            scores[tool as usize] += factor * says;
        }
    }

    fn add_best_sentence(&self, query: &Query, scores: &mut [f32]) {
        if query.sentences.is_empty() {
            return;
        }
        let mut best = vec![0.0_f32; scores.len()];
        let mut said = Said::new(scores.len());
        for sentence in &query.sentences {
            for &Wanted { stem, weight } in sentence {
                said.add(self.postings.tools(stem), weight * self.postings.rarity(stem));
            }
            said.drain(|tool, says| best[tool as usize] = best[tool as usize].max(says));
        }
        scale(&mut best, self.weights.sentence);
        scores.iter_mut().zip(best).for_each(|(score, best)| *score += best);
    }

    fn add_name_cover(&self, query: &Query, scores: &mut [f32]) {
        let mut is_wanted = vec![false; self.postings.len()];
        query.words.iter().for_each(|word| is_wanted[word.stem as usize] = true);
        for (tool, score) in (0..).zip(scores).filter(|(_, score)| **score > 0.0) {
            let (mut all, mut covered) = (0.0, 0.0);
            for &word in self.postings.name(tool) {
                let rarity = self.postings.rarity(word);
                all += rarity;
                covered += if is_wanted[word as usize] { rarity } else { 0.0 };
            }
            if covered > 0.0 {
                *score += self.weights.name_cover * covered / all;
            }
        }
    }

    fn lend_to_siblings(&self, scores: &mut [f32]) {
        let count = self.servers.iter().max().map_or(0, |last| *last as usize + 1);
        let mut best = vec![0.0_f32; count];
        for (&server, &score) in self.servers.iter().zip(&*scores) {
            let best = &mut best[server as usize];
            *best = best.max(score);
        }
        for (&server, score) in self.servers.iter().zip(scores).filter(|(_, score)| **score > 0.0) {
            *score += self.weights.sibling * best[server as usize];
        }
    }
}

/// Divides by the largest and multiplies by `most`. `false` if there is nothing but zeros.
fn scale(scores: &mut [f32], most: f32) -> bool {
    let largest = scores.iter().copied().fold(0.0, f32::max);
    if largest > 0.0 {
        scores.iter_mut().for_each(|score| *score *= most / largest);
    }
    largest > 0.0
}

/// Figures for the tools that a word or a sentence speaks of, and only for them.
struct Said {
    says: Vec<f32>,
    touched: Vec<u32>,
}

impl Said {
    fn new(tools: usize) -> Said {
        Said { says: vec![0.0; tools], touched: Vec::new() }
    }

    fn raise(&mut self, tools: &[(u32, f32)], factor: f32) {
        self.each(tools, |mine, says| mine.max(factor * says));
    }

    fn add(&mut self, tools: &[(u32, f32)], factor: f32) {
        self.each(tools, |mine, says| mine + factor * says);
    }

    fn each(&mut self, tools: &[(u32, f32)], change: impl Fn(f32, f32) -> f32) {
        for &(tool, says) in tools {
            let mine = &mut self.says[tool as usize];
            if *mine == 0.0 {
                self.touched.push(tool);
            }
            *mine = change(*mine, says);
        }
    }

    /// Gives what there is, and forgets it.
    fn drain(&mut self, mut each: impl FnMut(u32, f32)) {
        for tool in self.touched.drain(..) {
            each(tool, std::mem::take(&mut self.says[tool as usize]));
        }
    }
}
