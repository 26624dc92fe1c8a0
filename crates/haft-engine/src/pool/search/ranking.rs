//! How much does a word say about a tool?
//!
//! BM25F: how often a word stands in each field, weighted and set against the field's length, is added up to one
//! frequency per tool, which counts less and less the higher it is; and a word that few tools have counts more.

use std::{collections::BTreeMap, rc::Rc};

use super::{Document, words::Stems};
use crate::pool::arguments::arguments;

/// Every number of the ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The server's name.
    pub server: Field,
    /// The tool's name and aliases.
    pub name: Field,
    /// The words that the author gave for searching.
    pub hint: Field,
    /// The prompt.
    pub description: Field,
    /// The names of arguments.
    pub arguments: Field,
    /// The descriptions of arguments, and the texts that they may be.
    pub argument_texts: Field,
    /// How soon a word that stands there more often stops counting more.
    pub saturation: f32,
    /// What is left of a word in a description if most tools of the same server say it.
    pub boilerplate: f32,
    /// From which share of a server's tools a word is boilerplate…
    pub boilerplate_share: f32,
    /// …if it has at least so many tools.
    pub boilerplate_tools: usize,
    /// Added if the query is one word that is a part of the tool's name.
    pub part_of_name: f32,
    /// Added if the query is the tool's name.
    pub exact_name: f32,
}

/// What a place counts where a word can stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// How much.
    pub weight: f32,
    /// How much less in longer texts: 0 not at all, 1 in proportion.
    pub length: f32,
}

impl Default for Weights {
    fn default() -> Weights {
        let field = |weight, length| Field { weight, length };
        Weights {
            server: field(2.0, 0.3),
            name: field(4.0, 0.6),
            hint: field(2.0, 0.4),
            description: field(1.0, 0.4),
            arguments: field(0.5, 0.75),
            argument_texts: field(0.8, 0.75),
            saturation: 0.9,
            boilerplate: 0.3,
            boilerplate_share: 0.6,
            boilerplate_tools: 4,
            part_of_name: 5.0,
            exact_name: 50.0,
        }
    }
}

impl Weights {
    fn fields(&self) -> [Field; FIELDS] {
        [self.server, self.name, self.hint, self.description, self.arguments, self.argument_texts]
    }
}

const FIELDS: usize = 6;
const DESCRIPTION: usize = 3;

pub(super) struct Ranking {
    stems: Stems,
    /// For each stem the tools that have it and what it says about them.
    postings: Vec<Vec<(u32, f32)>>,
    tools: usize,
}

impl Ranking {
    pub(super) fn new(documents: &[Document<'_>], weights: &Weights) -> Ranking {
        let mut stems = Stems::new();
        let texts: Vec<Texts> = documents.iter().map(|document| Texts::read(document, &mut stems)).collect();
        let damped = boilerplate(documents, &texts, weights);
        let mut postings = vec![Vec::new(); stems.len()];
        let means = mean_lengths(&texts);
        for (tool, texts) in (0u32..).zip(&texts) {
            let damped = &damped[tool as usize];
            for (stem, frequency) in texts.frequencies(&means, damped, weights) {
                postings[stem as usize].push((tool, frequency));
            }
        }
        for posting in &mut postings {
            let rarity = rarity(documents.len(), posting.len());
            posting
                .iter_mut()
                .for_each(|(_, score)| *score = rarity * *score / (weights.saturation + *score));
        }
        Ranking { stems, postings, tools: documents.len() }
    }

    /// A score for each tool.
    pub(super) fn scores(&self, query: &str) -> Vec<f32> {
        let mut scores = vec![0.0; self.tools];
        for (stem, times) in counted(self.stems.known(query)) {
            let factor = 1.0 + times.ln();
            for &(tool, score) in &self.postings[stem as usize] {
                scores[tool as usize] += factor * score;
            }
        }
        scores
    }
}

fn rarity(all: usize, having: usize) -> f32 {
    let (all, having) = (all as f32, having as f32);
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

/// The stems of a tool, by field, each with the number of times.
struct Texts {
    fields: [Vec<(u32, f32)>; FIELDS],
    lengths: [usize; FIELDS],
}

impl Texts {
    fn read(document: &Document<'_>, stems: &mut Stems) -> Texts {
        let mut found: [Vec<u32>; FIELDS] = Default::default();
        let [server, name, hint, description, names, texts] = &mut found;
        stems.learn(document.server.unwrap_or_default(), server);
        stems.learn(document.tool, name);
        document.aliases.iter().for_each(|alias| stems.learn(alias, name));
        stems.learn(document.hint, hint);
        stems.learn(document.prompt, description);
        for argument in arguments(document.schema) {
            stems.learn(argument.name, names);
            let said = argument.description.into_iter().chain(argument.choices);
            said.for_each(|text| stems.learn(text, texts));
        }
        let lengths = std::array::from_fn(|field| found[field].len());
        Texts { fields: found.map(counted), lengths }
    }

    /// For each stem how often it is there, all fields weighted and added up.
    fn frequencies(&self, means: &[f32; FIELDS], damped: &[u32], weights: &Weights) -> Vec<(u32, f32)> {
        let mut all = Vec::new();
        for (at, field) in weights.fields().into_iter().enumerate() {
            let longer = self.lengths[at] as f32 / means[at].max(f32::MIN_POSITIVE);
            let factor = field.weight / (1.0 - field.length + field.length * longer);
            for &(stem, times) in &self.fields[at] {
                let is_damped = at == DESCRIPTION && damped.binary_search(&stem).is_ok();
                let times = if is_damped { times * weights.boilerplate } else { times };
                all.push((stem, times * factor));
            }
        }
        all.sort_by_key(|(stem, _)| *stem); // stable: added up in the order of the fields
        all.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1 += later.1;
            }
            is_same
        });
        all
    }
}

/// Each stem once, with the number of times, sorted.
fn counted(mut stems: Vec<u32>) -> Vec<(u32, f32)> {
    stems.sort_unstable();
    stems.chunk_by(|one, other| one == other).map(|chunk| (chunk[0], chunk.len() as f32)).collect()
}

fn mean_lengths(texts: &[Texts]) -> [f32; FIELDS] {
    let sum = |field: usize| texts.iter().map(|texts| texts.lengths[field]).sum::<usize>();
    std::array::from_fn(|field| sum(field) as f32 / texts.len().max(1) as f32)
}

/// For each tool the stems that most tools of its server have in their descriptions ("this tool belongs to …").
fn boilerplate(documents: &[Document<'_>], texts: &[Texts], weights: &Weights) -> Vec<Rc<[u32]>> {
    let mut servers = BTreeMap::<_, Vec<usize>>::new();
    for (tool, document) in documents.iter().enumerate() {
        servers.entry(document.server).or_default().push(tool);
    }
    let mut damped = vec![Rc::from([]); documents.len()];
    for (server, tools) in servers {
        // Tools without a server have nothing in common.
        if server.is_none() || tools.len() < weights.boilerplate_tools {
            continue;
        }
        let all =
            tools.iter().flat_map(|&tool| texts[tool].fields[DESCRIPTION].iter().map(|(stem, _)| *stem));
        let most = weights.boilerplate_share * tools.len() as f32;
        let common = counted(all.collect()).into_iter().filter(|(_, times)| *times >= most);
        let common: Rc<[u32]> = common.map(|(stem, _)| stem).collect();
        tools.iter().for_each(|&tool| damped[tool] = common.clone());
    }
    damped
}
