//! Every number of the ranking.
//!
//! They were chosen together on a catalogue of some thousand real tools, each in the middle of a range where the answers
//! hardly change. None of them knows a word.

/// What counts how much.
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
    /// How a word becomes common with the tools of one server that have it: 1 with each of them, 0 with the first only.
    pub spread: f32,
    /// What is left of a word inside a quotation, an address or a path: it is data, not a need.
    pub literal: f32,
    /// What a synonym says, beside the word itself.
    pub synonym: f32,
    /// What each synonym says of a word that no tool has.
    pub only_synonyms: f32,
    /// What the nearest known word says in the place of an unknown one.
    pub misspelt: f32,
    /// What two words say that are known as one, or the parts of one that is known as two.
    pub joined: f32,
    /// What the sentence counts that fits best, beside the whole query.
    pub sentence: f32,
    /// What it counts that all words of the tool's name are asked for.
    pub name_cover: f32,
    /// What the best tool of a server lends to the others.
    pub sibling: f32,
    /// How much less a word counts for the next tool, once a tool that is all about it was chosen.
    pub served: f32,
    /// Added if the query is one word that is a part of the tool's name.
    pub part_of_name: f32,
    /// Added if the query has the tool's name in it.
    pub exact_name: f32,
    /// How much better a tool becomes, at most, by having been called before.
    pub usage: f32,
}

/// What a place counts where a word can stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// How much.
    pub weight: f32,
    /// How much less in longer texts: 0 not at all, 1 in proportion.
    pub length: f32,
    /// How many words it usually has. A fixed figure: what a tool says must not count differently because another
    /// tool came or went, and so each source is read alone.
    pub usual: f32,
}

impl Default for Weights {
    fn default() -> Weights {
        let field = |weight, length, usual| Field { weight, length, usual };
        Weights {
            server: field(2.0, 0.3, 2.0),
            name: field(4.0, 0.6, 2.5),
            hint: field(2.0, 0.4, 4.0),
            description: field(1.0, 0.4, 12.0),
            arguments: field(0.4, 0.75, 2.5),
            argument_texts: field(0.8, 0.75, 10.0),
            saturation: 0.9,
            boilerplate: 0.4,
            boilerplate_share: 0.6,
            boilerplate_tools: 4,
            spread: 0.35,
            literal: 0.5,
            synonym: 0.3,
            only_synonyms: 0.5,
            misspelt: 0.6,
            joined: 0.5,
            sentence: 0.4,
            name_cover: 0.12,
            sibling: 0.6,
            served: 0.15,
            part_of_name: 5.0,
            exact_name: 20.0,
            usage: 0.1,
        }
    }
}

pub(super) const FIELDS: usize = 6;
pub(super) const NAME: usize = 1;
pub(super) const DESCRIPTION: usize = 3;

impl Weights {
    pub(super) fn fields(&self) -> [Field; FIELDS] {
        [self.server, self.name, self.hint, self.description, self.arguments, self.argument_texts]
    }
}

impl Field {
    /// What a word counts in a text of so many words.
    pub(super) fn factor(&self, words: usize) -> f32 {
        self.weight / (1.0 - self.length + self.length * words as f32 / self.usual)
    }
}
