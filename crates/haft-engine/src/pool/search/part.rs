//! What do the tools of one source say?
//!
//! A part is read once for each version of its source and never looks at others: a change of one server re-reads that
//! server. What a word says about a tool (BM25F) is how often it stands in each field, weighted and set against the
//! field's length, added up, and counting less and less the higher it is. How rare a word is depends on all parts, and
//! comes in when they are put together.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use super::{
    Document, Weights,
    reading::{self, Readings},
    weights::{DESCRIPTION, FIELDS, NAME},
    words::{StemKey, Stems, letters},
};
use crate::pool::arguments::arguments;

/// The tools of one source, read.
pub(in crate::pool) struct Part {
    pub(super) tools: Vec<Known>,
    /// The server's name, in letters alone. Tools without one have nothing in common.
    pub(super) server: Option<String>,
    pub(super) stems: Vec<(StemKey, Box<str>)>,
    /// Sorted by stem.
    pub(super) said: Vec<Said>,
    /// The letters of all names, a space after each.
    letters: String,
    /// Where each tool's letters end.
    ends: Vec<usize>,
    /// All that one may call each tool, hashed and sorted.
    names: Vec<(u64, u32)>,
}

/// A tool.
pub(super) struct Known {
    pub(super) name: Box<str>,
    /// The words of its name, each once.
    pub(super) words: ToolWords,
}

/// The words of a tool's name, by their stems.
pub(super) type ToolWords = Box<[u32]>;

/// That a tool has a word.
#[derive(Clone, Copy)]
pub(super) struct Said {
    pub(super) stem: u32,
    pub(super) tool: u32,
    /// What the word says about it, from 0 to 1.
    pub(super) says: f32,
}

impl Part {
    /// Recalls tools that were read before, or reads them and keeps that.
    pub(in crate::pool) fn recall(
        documents: &[Document<'_>],
        stems: &mut Stems,
        weights: &Weights,
        readings: &dyn Readings,
    ) -> Part {
        let kept = readings.recall().and_then(|bytes| reading::understood(&bytes, documents, weights));
        kept.unwrap_or_else(|| {
            let part = Part::read(documents, stems, weights);
            readings.keep(&reading::written(&part, documents, weights));
            part
        })
    }

    /// Reads tools, all of the same server or all of none.
    pub(in crate::pool) fn read(documents: &[Document<'_>], stems: &mut Stems, weights: &Weights) -> Part {
        let texts: Vec<Texts> = documents.iter().map(|document| Texts::read(document, stems)).collect();
        let is_server = documents.first().is_some_and(|document| document.server.is_some());
        let damped = if is_server { boilerplate(&texts, weights) } else { Vec::new() };
        let mut own = Numbers::default();
        let mut said = Vec::new();
        for (tool, texts) in (0..).zip(&texts) {
            for (stem, frequency) in texts.frequencies(&damped, weights) {
                let says = frequency / (weights.saturation + frequency);
                said.push(Said { stem: own.number(stem), tool, says });
            }
        }
        said.sort_by_key(|said| said.stem); // stable
        let words = texts
            .iter()
            .map(|texts| texts.fields[NAME].iter().map(|(stem, _)| own.number(*stem)).collect())
            .collect();
        let stems = own.stems.iter().map(|&stem| stems.text(stem).into()).collect();
        Part::of(documents, words, stems, said)
    }

    /// The part of these tools, of which this was read: the words of each name, all stems, and what they say.
    pub(super) fn of(
        documents: &[Document<'_>],
        words: Vec<ToolWords>,
        stems: Vec<Box<str>>,
        said: Vec<Said>,
    ) -> Part {
        let known =
            |(document, words): (&Document<'_>, ToolWords)| Known { name: document.name.into(), words };
        let mut part = Part {
            tools: documents.iter().zip(words).map(known).collect(),
            server: documents.first().and_then(|document| document.server).map(letters),
            stems: stems.into_iter().map(|stem| (StemKey::of(&stem), stem)).collect(),
            said,
            letters: String::new(),
            ends: Vec::new(),
            names: Vec::new(),
        };
        documents.iter().for_each(|document| part.learn_names(document));
        part.names.sort_unstable();
        part
    }

    fn learn_names(&mut self, document: &Document<'_>) {
        let tool = self.ends.len() as u32;
        self.names.extend(document.names().map(|name| (hashed(name), tool)));
        self.letters.push_str(&letters(document.name));
        self.letters.push(' ');
        self.ends.push(self.letters.len());
    }

    /// The tools that are called so, whatever the case.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = u32> {
        let wanted = hashed(name);
        let from = self.names.partition_point(|(hash, _)| *hash < wanted);
        let mut last = None;
        let named = self.names[from..].iter().take_while(move |(hash, _)| *hash == wanted);
        // Two names of one tool can be alike.
        named.map(|(_, tool)| *tool).filter(move |tool| last.replace(*tool) != Some(*tool))
    }

    /// The tools with these letters in their names.
    pub(super) fn with_letters<'a>(&'a self, wanted: &'a str) -> impl Iterator<Item = u32> + 'a {
        let mut next = 0;
        self.letters.match_indices(wanted).filter_map(move |(at, _)| {
            let tool = self.ends.partition_point(|end| *end <= at);
            (tool >= next).then(|| {
                next = tool + 1;
                tool as u32
            })
        })
    }
}

fn hashed(name: &str) -> u64 {
    static KEYED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEYED.hash_one(name.to_lowercase())
}

/// Numbers of a part's own, in the place of those that all parts share while they are read.
#[derive(Default)]
struct Numbers {
    numbers: HashMap<u32, u32>,
    stems: Vec<u32>,
}

impl Numbers {
    fn number(&mut self, stem: u32) -> u32 {
        *self.numbers.entry(stem).or_insert_with(|| {
            self.stems.push(stem);
            self.stems.len() as u32 - 1
        })
    }
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
    fn frequencies(&self, damped: &[u32], weights: &Weights) -> Vec<(u32, f32)> {
        let mut all = Vec::new();
        for (at, field) in weights.fields().into_iter().enumerate() {
            let factor = field.factor(self.lengths[at]);
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

/// The stems that most tools of a server have in their descriptions ("this tool belongs to …"), sorted.
fn boilerplate(texts: &[Texts], weights: &Weights) -> Vec<u32> {
    if texts.len() < weights.boilerplate_tools {
        return Vec::new();
    }
    let all = texts.iter().flat_map(|texts| texts.fields[DESCRIPTION].iter().map(|(stem, _)| *stem));
    let most = weights.boilerplate_share * texts.len() as f32;
    counted(all.collect()).into_iter().filter(|(_, times)| *times >= most).map(|(stem, _)| stem).collect()
}
