//! How is a deferred tool found?
//!
//! Without any model, in process: a query is one of
//! - `select:Read,create_issue`: these, by name, alias or the name without the server;
//! - `+github open issue`: only tools whose server or name has the word after `+`, ranked by the rest;
//! - a part of a name, or words that say what is needed: ranked.
//!
//! Ranking is BM25F: a word counts more the fewer tools have it, and more in a name than in a description. What that
//! comes to for a word and a tool does not depend on the query, so it is computed when the index is made, and a query
//! only adds up. [`Weights`] has every number that one might want to change.

mod words; //     which words does a text have?
mod document; //  what is said of a tool, and where
mod ranking; //   how much does a word say about a tool?

pub use document::Document;
pub use ranking::{Field, Weights};
pub(super) use words::Stems;

use std::collections::HashMap;

use super::names;
use ranking::Ranking;

/// A query beyond this is cut: it is a model's sentence, not a document.
const LONGEST_QUERY: usize = 4_000;

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
    tools: Vec<Known>,
    /// Names, aliases and names without a server, in lower case, with the tools that have them.
    by_name: HashMap<String, Vec<usize>>,
    ranking: Ranking,
    weights: Weights,
}

struct Known {
    name: String,
    /// Letters and digits of the name, and of the server, in lower case.
    letters: String,
    server: String,
}

impl SearchIndex {
    /// An index of these tools. Of equally good ones the first is the better answer.
    pub fn new<'a>(documents: impl IntoIterator<Item = Document<'a>>, weights: &Weights) -> SearchIndex {
        let documents: Vec<Document<'_>> = documents.into_iter().collect();
        let mut by_name = HashMap::<_, Vec<_>>::new();
        for (tool, document) in documents.iter().enumerate() {
            for name in document.names() {
                let tools = by_name.entry(name.to_lowercase()).or_default();
                // A document's own names can be alike.
                if tools.last() != Some(&tool) {
                    tools.push(tool);
                }
            }
        }
        let ranking = Ranking::new(&documents, weights);
        SearchIndex { tools: documents.iter().map(Known::new).collect(), by_name, ranking, weights: *weights }
    }

    /// The tools that serve a query, best first, at most `k`.
    pub fn search(&self, query: &str, k: usize) -> Vec<Hit> {
        self.search_where(query, k, |_| true)
    }

    /// The same among the tools whose names `keep` accepts.
    pub fn search_where(&self, query: &str, k: usize, keep: impl Fn(&str) -> bool) -> Vec<Hit> {
        let query = &query[..query.floor_char_boundary(LONGEST_QUERY)];
        let ranked = match query.trim().strip_prefix("select:") {
            Some(names) => self.select(names),
            None => self.rank(query),
        };
        let kept = ranked.into_iter().map(|(tool, score)| Hit { name: self.tools[tool].name.clone(), score });
        kept.filter(|hit| keep(&hit.name)).take(k).collect()
    }

    /// The tools that are named, in that order. A name without its server can mean several.
    fn select(&self, names: &str) -> Vec<(usize, f32)> {
        let mut found = Vec::new();
        for name in names.split(',').map(str::trim) {
            for &tool in self.named(name) {
                if !found.contains(&(tool, 1.0)) {
                    found.push((tool, 1.0));
                }
            }
        }
        found
    }

    fn named(&self, name: &str) -> &[usize] {
        let named = self.by_name.get(&name.to_lowercase()).map_or(&[][..], Vec::as_slice);
        // The exact name means one tool, whatever else is called like it.
        match named.iter().position(|&tool| self.tools[tool].name == name) {
            Some(at) => &named[at..=at],
            None => named,
        }
    }

    fn rank(&self, query: &str) -> Vec<(usize, f32)> {
        let (required, rest): (Vec<_>, Vec<_>) =
            query.split_whitespace().partition(|word| word.len() > 1 && word.starts_with('+'));
        let mut scores = self.ranking.scores(&rest.join(" "));
        if let [word] = rest[..] {
            self.add_names(word, &mut scores);
        }
        let allowed: Vec<bool> = self.allowed(&required);
        if !required.is_empty() && rest.is_empty() {
            // Only a server was named: all that it has.
            scores.fill(1.0);
        }
        let scored = scores.into_iter().enumerate().filter(|&(tool, score)| score > 0.0 && allowed[tool]);
        let mut ranked: Vec<_> = scored.collect();
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1)); // stable
        ranked
    }

    /// A single word may be a name or a part of one.
    fn add_names(&self, word: &str, scores: &mut [f32]) {
        for &tool in self.named(word) {
            scores[tool] += self.weights.exact_name;
        }
        let word = letters(word);
        if word.len() < 3 {
            return;
        }
        for (known, score) in self.tools.iter().zip(scores) {
            if known.letters.contains(&word) {
                *score += self.weights.part_of_name;
            }
        }
    }

    fn allowed(&self, required: &[&str]) -> Vec<bool> {
        let mut allowed = vec![true; self.tools.len()];
        for word in required.iter().map(|word| letters(word)) {
            let in_server = |known: &Known| known.server.contains(&word);
            // The word is meant for a server; only where none has it, for a name.
            let by_server = self.tools.iter().any(in_server);
            for (known, allowed) in self.tools.iter().zip(&mut allowed) {
                *allowed &= if by_server { in_server(known) } else { known.letters.contains(&word) };
            }
        }
        allowed
    }
}

impl Known {
    fn new(document: &Document<'_>) -> Known {
        let server = document.server.map(letters).unwrap_or_default();
        Known { name: document.name.to_owned(), letters: letters(document.name), server }
    }
}

impl<'a> Document<'a> {
    /// All that one may call the tool.
    fn names(&self) -> impl Iterator<Item = &'a str> {
        let tail = names::split(self.name).map(|(_, tool)| tool);
        [self.name, self.tool].into_iter().chain(tail).chain(self.aliases.iter().copied())
    }
}

fn letters(text: &str) -> String {
    text.chars().filter(|ch| ch.is_alphanumeric()).flat_map(char::to_lowercase).collect()
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
        check("ticket", &["jira__create_issue"]);
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
        let hits = index().search_where("create issue", 1, |name| name.contains("jira"));
        assert_eq!(hits[0].name, "mcp__jira__create_issue");
    }
}
