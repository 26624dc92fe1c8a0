//! Which tools have a word?
//!
//! The parts put together: for each stem the tools that have it, in one flat list, and how rare it is. Nothing is read
//! here, so it is quick enough to be done anew whenever a part changes.

use std::{ops::Range, sync::Arc};

use super::{
    Weights,
    part::Part,
    words::{ByStem, StemKey},
};

/// A part, and where its tools stand in the index.
pub(in crate::pool) struct Placed {
    pub(in crate::pool) part: Arc<Part>,
    /// For each tool of the part its place; `None` if it is not wanted.
    pub(in crate::pool) places: Vec<Option<u32>>,
}

/// The words of all tools. A stem's number here is its own.
pub(super) struct Postings {
    numbers: ByStem<u32>,
    /// Where the tools of each stem begin in `tools`; one more than there are stems.
    starts: Vec<u32>,
    tools: Vec<(u32, f32)>,
    rarity: Vec<f32>,
    /// Part and number in it, by which a stem's text is found.
    origins: Vec<(u32, u32)>,
    /// Where the words of each tool's name are in `name_words`.
    names: Vec<Range<u32>>,
    name_words: Vec<u32>,
}

impl Postings {
    pub(super) fn new(parts: &[Placed], count: usize, weights: &Weights) -> Postings {
        let mut all = Counting::new(weights);
        let numbers: Vec<Vec<u32>> = (0..).zip(parts).map(|(at, part)| all.add(at, part)).collect();
        let mut starts = vec![0];
        starts.extend(all.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }));
        let rarity = all.spread.iter().map(|spread| rarity(all.all, *spread)).collect();
        let total = starts.last().copied().unwrap_or_default() as usize;
        let mut postings = Postings {
            numbers: all.numbers,
            tools: vec![(0, 0.0); total],
            rarity,
            origins: all.origins,
            names: vec![0..0; count],
            name_words: Vec::with_capacity(4 * count),
            starts: starts.clone(),
        };
        for (part, numbers) in parts.iter().zip(&numbers) {
            postings.fill(part, numbers, &mut starts);
        }
        postings
    }

    /// `next` is where the next tool of each stem goes.
    fn fill(&mut self, Placed { part, places }: &Placed, numbers: &[u32], next: &mut [u32]) {
        for said in &part.said {
            let Some(place) = places[said.tool as usize] else { continue };
            let next = &mut next[numbers[said.stem as usize] as usize];
            self.tools[*next as usize] = (place, said.says);
            *next += 1;
        }
        for (known, place) in part.tools.iter().zip(places) {
            if let Some(place) = *place {
                let start = self.name_words.len() as u32;
                self.name_words.extend(known.words.iter().map(|word| numbers[*word as usize]));
                self.names[place as usize] = start..self.name_words.len() as u32;
            }
        }
    }

    pub(super) fn number(&self, stem: StemKey) -> Option<u32> {
        let number = *self.numbers.get(&stem)?;
        // All tools that had it may be unwanted.
        (!self.range(number).is_empty()).then_some(number)
    }

    /// The tools that have a stem, and what it says about each.
    pub(super) fn tools(&self, stem: u32) -> &[(u32, f32)] {
        &self.tools[self.range(stem)]
    }

    pub(super) fn rarity(&self, stem: u32) -> f32 {
        self.rarity[stem as usize]
    }

    pub(super) fn name(&self, tool: u32) -> &[u32] {
        let Range { start, end } = self.names[tool as usize];
        &self.name_words[start as usize..end as usize]
    }

    /// How many tools there are.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// How many stems there are.
    pub(super) fn len(&self) -> usize {
        self.origins.len()
    }

    pub(super) fn text<'a>(&self, stem: u32, parts: &'a [Placed]) -> &'a str {
        let (part, stem) = self.origins[stem as usize];
        &parts[part as usize].part.stems[stem as usize].1
    }

    fn range(&self, stem: u32) -> Range<usize> {
        let stem = stem as usize;
        self.starts[stem] as usize..self.starts[stem + 1] as usize
    }
}

/// The first pass: how many tools have each stem.
struct Counting {
    numbers: ByStem<u32>,
    origins: Vec<(u32, u32)>,
    counts: Vec<u32>,
    /// The same, where those of one server count less and less.
    spread: Vec<f32>,
    all: f32,
    /// What so many tools of one server count.
    together: Vec<f32>,
}

impl Counting {
    fn new(weights: &Weights) -> Counting {
        let together = (0..100).map(|count: u8| f32::from(count).powf(weights.spread)).collect();
        Counting {
            numbers: ByStem::default(),
            origins: Vec::new(),
            counts: Vec::new(),
            spread: Vec::new(),
            all: 0.0,
            together,
        }
    }

    /// Counts a part; gives the numbers of its stems.
    fn add(&mut self, at: u32, Placed { part, places }: &Placed) -> Vec<u32> {
        let numbers: Vec<u32> =
            (0..).zip(&part.stems).map(|(own, (key, _))| self.number(*key, (at, own))).collect();
        // More tools of one server than the table has count as its last.
        let most = self.together.len() - 1;
        let together = std::mem::take(&mut self.together);
        let spread = |count: u32| match part.server {
            Some(_) => together[most.min(count as usize)],
            None => count as f32,
        };
        let is_kept = |tool: u32| places[tool as usize].is_some();
        for chunk in part.said.chunk_by(|one, other| one.stem == other.stem) {
            let count = chunk.iter().filter(|said| is_kept(said.tool)).count() as u32;
            if count > 0 {
                let number = numbers[chunk[0].stem as usize] as usize;
                self.counts[number] += count;
                self.spread[number] += spread(count);
            }
        }
        match places.iter().flatten().count() as u32 {
            0 => {}
            count => self.all += spread(count),
        }
        self.together = together;
        numbers
    }

    fn number(&mut self, key: StemKey, origin: (u32, u32)) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.origins.push(origin);
            self.counts.push(0);
            self.spread.push(0.0);
            self.origins.len() as u32 - 1
        })
    }
}

fn rarity(all: f32, having: f32) -> f32 {
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}
