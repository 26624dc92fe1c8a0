//! How is a deferred tool found?
//!
//! Without any model, in process: a query is one of
//! - `select:Read,create_issue`: these, by name, alias or the name without the server;
//! - `+github open issue`: only tools whose server or name has the word after `+`, ranked by the rest;
//! - a part of a name, or words that say what is needed: ranked.
//!
//! Each source is read once into a *part*; putting parts together is cheap, so a change of one server costs little.
//! A query's words are looked up, what they say of each tool is added up (BM25F and a few things more, see `scoring`), and
//! among the best the answer is chosen so that several needs do not crowd each other out. [`Weights`] has every number
//! that one might want to change.

mod weights; //   every number of the ranking
mod words; //     which words does a text have?
mod document; //  what is said of a tool, and where
mod part; //      what do the tools of one source say?
mod reading; //   what was read, for the next process
mod postings; //  which tools have a word?
mod synonyms; //  which words are used for one another?
mod spelling; //  which known word was meant by an unknown one?
mod query; //     what does a query ask for?
mod scoring; //   how well does each tool fit?
mod choice; //    which tools are the answer?
mod usage; //     which tools were called here before?

pub use document::Document;
pub use reading::Readings;
pub use usage::{MemoryUsage, Usage};
pub use weights::{Field, Weights};
pub(super) use {part::Part, postings::Placed, words::Stems};

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
};

use choice::{Scored, choose};
use part::Known;
use postings::Postings;
use query::{Query, Reader};
use scoring::Scoring;
use spelling::Spelling;
use synonyms::Synonyms;
use words::{Stemming, letters};

/// A query beyond this is cut: it is a model's sentence, not a document.
const LONGEST_QUERY: usize = 4_000;
/// A part of a name has so many letters, or it is a part of too many.
const SHORTEST_PART: usize = 3;
/// So many words of a query may be names of tools.
const MOST_NAMES: usize = 16;

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The tool's name.
    pub name: String,
    /// How well it fits; comparable only within one answer.
    pub score: f32,
}

/// Everything that is said of the tools of a pool, ready to be searched.
pub struct SearchIndex {
    parts: Vec<Placed>,
    /// For each tool its part, and which one it is there.
    tools: Vec<(u32, u32)>,
    /// For each tool its server's number.
    servers: Vec<u32>,
    postings: Postings,
    synonyms: Synonyms,
    spelling: OnceLock<Spelling>,
    stemming: Stemming,
    weights: Weights,
}

/// Making one.
impl SearchIndex {
    /// An index of these tools. Of equally good ones the first is the better answer.
    pub fn new<'a>(documents: impl IntoIterator<Item = Document<'a>>, weights: &Weights) -> SearchIndex {
        let mut by_server = HashMap::<Option<&str>, usize>::new();
        let mut groups: Vec<(Vec<Document<'a>>, Vec<Option<u32>>)> = Vec::new();
        for (place, document) in (0..).zip(documents) {
            let group = *by_server.entry(document.server).or_insert(groups.len());
            if group == groups.len() {
                groups.push(Default::default());
            }
            groups[group].0.push(document);
            groups[group].1.push(Some(place));
        }
        let mut stems = Stems::new();
        let parts = groups.into_iter().map(|(documents, places)| Placed {
            part: Arc::new(Part::read(&documents, &mut stems, weights)),
            places,
        });
        SearchIndex::of(parts.collect(), weights)
    }

    /// An index of parts that were read before.
    pub(super) fn of(parts: Vec<Placed>, weights: &Weights) -> SearchIndex {
        let count = parts.iter().flat_map(|part| &part.places).flatten().count();
        let (mut tools, mut servers) = (vec![(0, 0); count], vec![0; count]);
        for (part, Placed { part: read, places }) in (0..).zip(&parts) {
            for (tool, place) in (0..).zip(places).filter_map(|(tool, place)| Some((tool, (*place)?))) {
                tools[place as usize] = (part, tool);
                let alone = (parts.len() as u32).saturating_add(place);
                servers[place as usize] = if read.server.is_some() { part } else { alone };
            }
        }
        let postings = Postings::new(&parts, count, weights);
        let synonyms = Synonyms::new(&postings);
        let (spelling, stemming, weights) = (OnceLock::new(), Stemming::new(), *weights);
        SearchIndex { parts, tools, servers, postings, synonyms, spelling, stemming, weights }
    }
}

/// Asking it.
impl SearchIndex {
    /// The tools that serve a query, best first, at most `k`.
    pub fn search(&self, query: &str, k: usize) -> Vec<Hit> {
        self.search_where(query, k, |_| true, None)
    }

    /// The same among the tools whose names `keep` accepts. Those that were called before rise a little.
    pub fn search_where(
        &self,
        query: &str,
        k: usize,
        keep: impl Fn(&str) -> bool,
        usage: Option<&dyn Usage>,
    ) -> Vec<Hit> {
        let query = query[..query.floor_char_boundary(LONGEST_QUERY)].trim();
        let keep = |tool: u32| keep(&self.known(tool).name);
        let ranked = match query.strip_prefix("select:") {
            Some(names) => self.select(names).into_iter().filter(|(tool, _)| keep(*tool)).take(k).collect(),
            None => self.rank(query, k, keep, usage),
        };
        let hit = |(tool, score)| Hit { name: self.known(tool).name.to_string(), score };
        ranked.into_iter().map(hit).collect()
    }

    /// The tools that are named, in that order. A name without its server can mean several.
    fn select(&self, names: &str) -> Vec<Scored> {
        let mut is_found = vec![false; self.tools.len()];
        let named = names.split(',').flat_map(|name| self.named(name.trim()));
        let new = named.filter(|tool| !std::mem::replace(&mut is_found[*tool as usize], true));
        new.map(|tool| (tool, 1.0)).collect()
    }

    fn named(&self, name: &str) -> Vec<u32> {
        let in_part =
            |part: &Placed| part.part.named(name).filter_map(|tool| part.places[tool as usize]).collect();
        let mut named: Vec<u32> = self.parts.iter().flat_map(|part| -> Vec<u32> { in_part(part) }).collect();
        named.sort_unstable();
        // The exact name means one tool, whatever else is called like it.
        match named.iter().find(|tool| &*self.known(**tool).name == name) {
            Some(exact) => vec![*exact],
            None => named,
        }
    }

    fn rank(
        &self,
        query: &str,
        k: usize,
        keep: impl Fn(u32) -> bool,
        usage: Option<&dyn Usage>,
    ) -> Vec<Scored> {
        let (required, rest): (Vec<_>, Vec<_>) =
            query.split_whitespace().partition(|word| word.len() > 1 && word.starts_with('+'));
        let text = if required.is_empty() { query.to_owned() } else { rest.join(" ") };
        let query = self.read(&text);
        let mut scores = self.scoring().scores(&query);
        self.add_names(&rest, &mut scores);
        if !required.is_empty() && rest.is_empty() {
            // Only a server was named: all that it has.
            scores.fill(1.0);
        }
        let is_allowed = self.allowed(&required);
        let scored = (0..).zip(scores).filter(|(_, score)| *score > 0.0);
        let scored = scored.filter(|(tool, _)| is_allowed[*tool as usize] && keep(*tool)).collect();
        let prior =
            |tool| 1.0 + self.weights.usage * usage.map_or(0.0, |usage| share(usage, &self.known(tool).name));
        choose(scored, k, &query, &self.postings, &self.weights, prior)
    }

    fn read(&self, text: &str) -> Query {
        let spelling = || self.spelling.get_or_init(|| Spelling::new(&self.postings, &self.parts));
        let SearchIndex { postings, parts, synonyms, stemming, weights, .. } = self;
        Reader { stemming, postings, synonyms, parts, spelling: &spelling, weights }.read(text)
    }

    fn scoring(&self) -> Scoring<'_> {
        let SearchIndex { postings, synonyms, servers, weights, .. } = self;
        Scoring { postings, synonyms, servers, weights }
    }

    /// A word may be a name, and a single one a part of one.
    fn add_names(&self, words: &[&str], scores: &mut [f32]) {
        let is_name = |word: &&str| words.len() == 1 || word.contains('_');
        let names = words.iter().map(|word| word.trim_matches(|ch: char| !ch.is_alphanumeric() && ch != '_'));
        for name in names.filter(is_name).take(MOST_NAMES) {
            self.named(name).into_iter().for_each(|tool| scores[tool as usize] += self.weights.exact_name);
        }
        if let [word] = words {
            let word = letters(word);
            if word.len() >= SHORTEST_PART {
                self.each_with_letters(&word, |tool| scores[tool as usize] += self.weights.part_of_name);
            }
        }
    }

    fn each_with_letters(&self, word: &str, mut each: impl FnMut(u32)) {
        for Placed { part, places } in &self.parts {
            part.with_letters(word).filter_map(|tool| places[tool as usize]).for_each(&mut each);
        }
    }

    fn allowed(&self, required: &[&str]) -> Vec<bool> {
        let mut allowed = vec![true; self.tools.len()];
        for word in required.iter().map(|word| letters(word)) {
            let mut has_word = vec![false; self.tools.len()];
            let in_server =
                |part: &&Placed| part.part.server.as_ref().is_some_and(|server| server.contains(&word));
            for part in self.parts.iter().filter(in_server) {
                part.places.iter().flatten().for_each(|tool| has_word[*tool as usize] = true);
            }
            // The word is meant for a server; only where none has it, for a name.
            if !has_word.contains(&true) {
                self.each_with_letters(&word, |tool| has_word[tool as usize] = true);
            }
            allowed.iter_mut().zip(has_word).for_each(|(allowed, has)| *allowed &= has);
        }
        allowed
    }

    fn known(&self, tool: u32) -> &Known {
        let (part, tool) = self.tools[tool as usize];
        &self.parts[part as usize].part.tools[tool as usize]
    }
}

/// How much of the bonus a tool has earned: half of it by the second call.
fn share(usage: &dyn Usage, tool: &str) -> f32 {
    let times = usage.times(tool) as f32;
    times / (times + 2.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn index() -> SearchIndex {
        let nothing = json!({});
        let issue =
            json!({ "properties": { "repository": { "description": "Owner and name." }, "labels": {} } });
        let document = |name, prompt, schema| Document { prompt, ..Document::new(name, schema) };
        let documents: [(&str, &str, &Value); 7] = [
            ("Grep", "Searches the contents of files for a regular expression.", &nothing),
            ("NotebookEdit", "Changes a cell of a notebook.", &nothing),
            ("mcp__github__close_issue", "Closes an issue.", &issue),
            ("mcp__github__create_issue", "Opens a new issue.", &issue),
            ("mcp__github__fork", "Copies a repository to an account.", &nothing),
            ("mcp__jira__create_issue", "Opens a ticket in a project.", &nothing),
            ("mcp__weather__forecast", "Tells tomorrow's weather in a city. 天气预报", &nothing),
        ];
        let documents = documents.map(|(name, prompt, schema)| document(name, prompt, schema));
        let documents = documents.into_iter().map(|document| match document.name {
            "Grep" => Document { aliases: &["search_files"], hint: "find text", ..document },
            _ => document,
        });
        SearchIndex::new(documents, &Weights::default())
    }

    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        let hits = index().search(query, 3);
        let names: Vec<_> = hits.iter().map(|hit| hit.name.trim_start_matches("mcp__")).collect();
        assert_eq!(names, expected, "{query}");
    }

    #[test]
    fn select_takes_exactly_what_is_named() {
        check("select:Grep,mcp__github__fork", &["Grep", "github__fork"]);
        check("select: search_files , fork, fork", &["Grep", "github__fork"]);
        check("select:create_issue", &["github__create_issue", "jira__create_issue"]);
        check("select:grep,nothing", &["Grep"]);
        check("select:", &[]);
    }

    #[test]
    fn a_part_of_a_name_is_found() {
        check("notebook", &["NotebookEdit"]);
        check("ookEd", &["NotebookEdit"]);
        check("create_issue", &["github__create_issue", "jira__create_issue", "github__close_issue"]);
        check(
            "mcp__jira__create_issue",
            &["jira__create_issue", "github__create_issue", "github__close_issue"],
        );
    }

    #[test]
    fn words_are_ranked_whatever_their_form() {
        check("closing issues", &["github__close_issue", "github__create_issue", "jira__create_issue"]);
        check("forecasts for a city", &["weather__forecast"]);
        check("regular expressions in file contents", &["Grep"]);
        check("find text", &["Grep"]);
        check("天气", &["weather__forecast"]);
        check("ticket", &["jira__create_issue", "github__close_issue", "github__create_issue"]);
    }

    #[test]
    fn a_server_can_be_required() {
        check("+jira create issue", &["jira__create_issue"]);
        check("create issue +GitHub", &["github__create_issue", "github__close_issue"]);
        check("+jira", &["jira__create_issue"]);
        check("+fork repository", &["github__fork"]);
        check("+nowhere issue", &[]);
    }

    #[test]
    fn what_fits_nothing_finds_nothing() {
        check("", &[]);
        check("the of and", &[]);
        check("zebra", &[]);
        assert_eq!(index().search("issue", 0), []);
        assert_eq!(index().search(&"ä".repeat(1 << 20), 3), []);
    }

    #[test]
    fn tools_can_be_left_out() {
        let hits = index().search_where("create issue", 1, |name| name.contains("jira"), None);
        assert_eq!(hits[0].name, "mcp__jira__create_issue");
    }
}
