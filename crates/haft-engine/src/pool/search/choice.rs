//! Which tools are the answer?
//!
//! The best one first. Then a word counts a little less the more the tools before are about it, so that several needs in
//! one query each get a tool before one of them gets five.

use std::cmp::Ordering;

use super::{Weights, postings::Postings, query::Query};

/// So many of the best are weighed against each other…
const CANDIDATES: usize = 40;
/// …for the first so many places. What follows stands in the order of its score.
const WEIGHED: usize = 20;

/// A tool and its score.
pub(super) type Scored = (u32, f32);

/// The best `k` of these, best first. `prior` is asked for the few that are near it, and multiplies their scores.
pub(super) fn choose(
    mut scored: Vec<Scored>,
    k: usize,
    query: &Query,
    postings: &Postings,
    weights: &Weights,
    prior: impl Fn(u32) -> f32,
) -> Vec<Scored> {
    let kept = k.max(CANDIDATES);
    if scored.len() > kept {
        scored.select_nth_unstable_by(kept, better);
        scored.truncate(kept);
    }
    scored.iter_mut().for_each(|(tool, score)| *score *= prior(*tool));
    scored.sort_unstable_by(better);
    let rest = scored.split_off(scored.len().min(CANDIDATES));
    let mut chosen = Needs::new(&scored, query, postings).choose(scored, k.min(WEIGHED), weights);
    chosen.extend(rest);
    chosen.truncate(k);
    chosen
}

/// Of equally good ones the first of the pool.
pub(super) fn better(one: &Scored, other: &Scored) -> Ordering {
    other.1.total_cmp(&one.1).then(one.0.cmp(&other.0))
}

/// What each word of a query says of each candidate.
struct Needs {
    words: usize,
    /// From 0 to 1, word after word for each candidate.
    says: Vec<f32>,
    /// What a word counts.
    counts: Vec<f32>,
}

impl Needs {
    fn new(candidates: &[Scored], query: &Query, postings: &Postings) -> Needs {
        const NONE: u8 = u8::MAX;
        let mut places = vec![NONE; postings.count()];
        (0..NONE).zip(candidates).for_each(|(at, (tool, _))| places[*tool as usize] = at);
        let words = query.words.len();
        let mut says = vec![0.0; words * candidates.len()];
        for (at, word) in query.words.iter().enumerate() {
            for &(tool, said) in postings.tools(word.stem) {
                let place = places[tool as usize];
                if place != NONE {
                    says[usize::from(place) * words + at] = said;
                }
            }
        }
        let counts = query.words.iter().map(|word| word.weight * postings.rarity(word.stem)).collect();
        Needs { words, says, counts }
    }

    /// All candidates, the first `k` of them weighed.
    fn choose(&self, mut candidates: Vec<Scored>, k: usize, weights: &Weights) -> Vec<Scored> {
        let mut places: Vec<usize> = (0..candidates.len()).collect();
        let mut open = vec![1.0; self.words];
        for next in 0..k.min(candidates.len()) {
            let value = |at: usize| candidates[at].1 * self.unserved(places[at], &open);
            // The first of equals, which is the better one.
            let best = (next..candidates.len())
                .map(|at| (at, value(at)))
                .reduce(|best, other| if other.1 > best.1 { other } else { best });
            let Some((best, value)) = best else { break };
            self.serve(places[best], weights.served, &mut open);
            candidates[next..=best].rotate_right(1);
            places[next..=best].rotate_right(1);
            candidates[next].1 = value;
        }
        candidates
    }

    /// How much of what a candidate is good for is still asked for, from 0 to 1.
    fn unserved(&self, place: usize, open: &[f32]) -> f32 {
        let (mut all, mut left) = (0.0, 0.0);
        for ((says, counts), open) in self.of(place).iter().zip(&self.counts).zip(open) {
            all += says * counts;
            left += says * counts * open;
        }
        if all > 0.0 { left / all } else { 1.0 }
    }

    fn serve(&self, place: usize, served: f32, open: &mut [f32]) {
        for (says, open) in self.of(place).iter().zip(open) {
            *open *= 1.0 - served * says;
        }
    }

    fn of(&self, place: usize) -> &[f32] {
        &self.says[place * self.words..][..self.words]
    }
}
