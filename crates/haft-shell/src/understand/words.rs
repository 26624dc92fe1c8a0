//! A word of the tree, and the arguments that it becomes.
//!
//! Quotes are gone already. Braces become several words, `~` and `$HOME` the home, `$PWD` the directory, a variable whose
//! value is known that value; a pattern stays one, and everything else that the shell would fill in is unknown from there on.

use std::path::Path;

use super::{numbers::expands_to_one_number, values::Values};
use crate::{
    programs::Arg,
    syntax::{Command, CommandKind, Item, Part, Script, Word},
};

/// What words may mean besides themselves.
#[derive(Clone, Copy)]
pub(super) struct Meanings<'a> {
    pub(super) home: Option<&'a Path>,
    pub(super) directory: Option<&'a Path>,
    pub(super) values: &'a Values,
}

/// More words than this from one with braces are not followed.
const MOST: usize = 256;

impl Meanings<'_> {
    /// The arguments that words become. An unknown one that splits may be several, or none.
    pub(super) fn arguments(self, words: &[Word]) -> Vec<Arg> {
        let mut arguments = Vec::with_capacity(words.len());
        for word in words {
            match &word.parts[..] {
                [Part::Literal(text) | Part::Quoted(text)] => arguments.push(Arg::Known(text.clone())),
                parts => match self.drafts(parts, false) {
                    Some(drafts) => {
                        let is_word = |draft: &Draft| !draft.vanishes() || !has_braces(parts);
                        arguments.extend(drafts.into_iter().filter(is_word).map(Draft::finish));
                    }
                    None => arguments.push(Arg::Unknown { prefix: String::new(), splits: true }),
                },
            }
        }
        arguments
    }

    /// The one argument that a word becomes where nothing is split: an assigned value, the target of a redirection.
    pub(super) fn one(self, word: &Word) -> Arg {
        let mut arguments = self.arguments(std::slice::from_ref(word));
        match arguments.pop() {
            Some(only) if arguments.is_empty() => only,
            _ => Arg::Unknown { prefix: String::new(), splits: true },
        }
    }

    fn drafts(self, parts: &[Part], quoted: bool) -> Option<Vec<Draft>> {
        let mut drafts = vec![Draft::default()];
        for part in parts {
            match part {
                Part::Brace(alternatives) => drafts = self.spread(drafts, alternatives)?,
                Part::Double(parts) | Part::Translated(parts) => {
                    let inner = self.drafts(parts, true)?.pop()?;
                    drafts.iter_mut().for_each(|draft| draft.append(&inner));
                    drafts.iter_mut().for_each(|draft| draft.quoted = true);
                }
                part => drafts.iter_mut().for_each(|draft| self.add(draft, part, quoted)),
            }
        }
        Some(drafts)
    }

    /// Every draft with every alternative.
    fn spread(self, drafts: Vec<Draft>, alternatives: &[Word]) -> Option<Vec<Draft>> {
        let mut all = Vec::new();
        for draft in drafts {
            for word in alternatives {
                for inner in self.drafts(&word.parts, false)? {
                    let mut longer = draft.clone();
                    longer.append(&inner);
                    all.push(longer);
                }
                if all.len() > MOST {
                    return None;
                }
            }
        }
        Some(all)
    }

    fn add(self, draft: &mut Draft, part: &Part, quoted: bool) {
        match part {
            Part::Literal(text) => draft.text(text),
            Part::Quoted(text) => draft.quoted(text),
            Part::Tilde(who) if who.is_empty() => draft.path(self.home, true),
            Part::Variable(name) if name == "HOME" => draft.path(self.home, quoted),
            Part::Variable(name) if name == "PWD" => draft.path(self.directory, quoted),
            Part::Variable(name) if let Some(value) = self.values.get(name) => draft.value(value, quoted),
            Part::Command(script) if is_pwd(script) => draft.path(self.directory, quoted),
            Part::Glob(text) => draft.glob(text),
            // The shell puts the name of a pipe there, and nothing that anybody chose; for `<()` it puts nothing.
            Part::Process(_, script) if !script.items.is_empty() => draft.text(PIPE),
            // `"$@"` and `"${a[@]}"` are as many words as there are, quoted or not.
            Part::Variable(name) if name == "@" => draft.open(true),
            Part::Parameter { name, operator, words } if is_all(name, operator, words) => draft.open(true),
            // A number has nothing in it that would split it.
            _ => draft.open(!quoted && !expands_to_one_number(part, self.values)),
        }
    }
}

/// Whether an expansion is a list that stays one in quotes.
fn is_all(name: &str, operator: &str, words: &[Word]) -> bool {
    let is_at =
        |word: &Word| matches!(&word.parts[..], [Part::Literal(text) | Part::Quoted(text)] if text == "@");
    name.ends_with('@') || operator.starts_with('[') && words.first().is_none_or(is_at)
}

/// Whether it prints the directory: the shell's own `pwd`, without options.
fn is_pwd(script: &Script) -> bool {
    let [Item { first, rest, background: false, .. }] = &script.items[..] else { return false };
    let [Command { kind: CommandKind::Simple { assignments, words }, redirects, .. }] = &first.commands[..]
    else {
        return false;
    };
    let is_bare = rest.is_empty() && assignments.is_empty() && redirects.is_empty() && !first.negated;
    is_bare
        && matches!(&words[..], [word] if matches!(&word.parts[..], [Part::Literal(name)] if name == "pwd"))
}

/// What `<(…)` becomes, more or less: no file can have this name, so that it means nothing else.
pub(super) const PIPE: &str = "/dev/fd/pipe";

/// A word that is being put together.
#[derive(Default, Clone)]
struct Draft {
    /// What is known, up to the first thing that is not.
    text: String,
    /// All of it as a pattern, if there is one in it.
    pattern: Option<String>,
    /// Whether something in it is unknown, and whether that may split.
    open: Option<bool>,
    /// Whether something in it was quoted, so that it is a word even if it is empty.
    quoted: bool,
}

impl Draft {
    fn text(&mut self, text: &str) {
        if self.open.is_some() {
            return;
        }
        match &mut self.pattern {
            Some(pattern) => push_literal(pattern, text),
            None => self.text.push_str(text),
        }
    }

    fn quoted(&mut self, text: &str) {
        self.quoted = true;
        self.text(text);
    }

    /// The empty one of `{a,,b}` is no word at all.
    fn vanishes(&self) -> bool {
        self.text.is_empty() && self.pattern.is_none() && self.open.is_none() && !self.quoted
    }

    /// A path that the shell fills in. Where it would split it or take it for a pattern, nothing is certain.
    fn path(&mut self, path: Option<&Path>, quoted: bool) {
        match path.and_then(Path::to_str) {
            Some(text) if quoted || text.bytes().all(is_plain) => self.text(text),
            _ => self.open(!quoted),
        }
    }

    /// What a variable holds. Unquoted it would be split and taken for a pattern, unless there is nothing of that in it.
    fn value(&mut self, value: &Arg, quoted: bool) {
        match value {
            Arg::Known(text) if quoted || !text.is_empty() && text.bytes().all(is_plain) => self.text(text),
            Arg::Glob(pattern) if quoted => self.glob(pattern),
            _ => self.open(!quoted),
        }
    }

    fn glob(&mut self, text: &str) {
        let literal = &self.text;
        let pattern = self.pattern.get_or_insert_with(|| {
            let mut pattern = String::new();
            push_literal(&mut pattern, literal);
            pattern
        });
        if self.open.is_none() {
            pattern.push_str(text);
        }
    }

    fn open(&mut self, splits: bool) {
        *self.open.get_or_insert(false) |= splits;
    }

    fn append(&mut self, other: &Draft) {
        match (&other.pattern, self.open) {
            (_, Some(_)) => {}
            (None, None) => self.text(&other.text),
            (Some(pattern), None) => self.glob(pattern),
        }
        if let Some(splits) = other.open {
            self.open(splits);
        }
        self.quoted |= other.quoted;
    }

    fn finish(self) -> Arg {
        match (self.open, self.pattern) {
            (Some(splits), _) => Arg::Unknown { prefix: self.text, splits },
            (None, Some(pattern)) => Arg::Glob(pattern),
            (None, None) => Arg::Known(self.text),
        }
    }
}

fn has_braces(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Brace(_)))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'+' | b'@')
}

fn push_literal(pattern: &mut String, text: &str) {
    for char in text.chars() {
        if matches!(char, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
}
