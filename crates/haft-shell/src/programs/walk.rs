//! The words of a command, told apart: options with their values, and operands.
//!
//! It follows the program's own habits (clusters, shortened names, `--`). Whatever could be an option but is not known to
//! be which one is a doubt, unless no option of the program does any harm.

use std::borrow::Cow;

use super::{
    Arg,
    judge::{begins, begins_unknown},
    table::{Entry, Meaning, Opt, Value, is_plain},
};

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Walk<'a> {
    pub(super) used: Vec<Used>,
    pub(super) operands: Vec<&'a Arg>,
    /// Where the first operand stands among the words.
    pub(super) first_operand: Option<usize>,
    /// How many operands there were when `--` came.
    pub(super) before_dashes: Option<usize>,
    /// How many operands are certainly in their place: one that may be several words makes the next ones uncertain.
    pub(super) placed: Option<usize>,
    /// Whether a name that fits a pattern may be an option that reads something else of the directory.
    pub(super) wide: bool,
    pub(super) doubt: Option<String>,
}

/// An option, and what it was given.
#[derive(Debug)]
pub(super) struct Used {
    pub(super) option: &'static Opt,
    pub(super) values: Vec<Arg>,
}

impl Walk<'_> {
    /// Whether an option with this name was used.
    pub(super) fn has(&self, name: &str) -> bool {
        self.used.iter().any(|used| used.option.name == name)
    }

    /// What the options with one of these names were given.
    pub(super) fn values_of(&self, names: &[&str]) -> impl Iterator<Item = &Arg> {
        self.used
            .iter()
            .filter(move |used| names.contains(&used.option.name.as_str()))
            .flat_map(|used| &used.values)
    }

    /// Whether an option means this.
    pub(super) fn means(&self, meaning: Meaning) -> bool {
        self.used.iter().any(|used| used.option.means.contains(&meaning))
    }

    fn doubt(&mut self, why: impl FnOnce() -> String) {
        self.doubt.get_or_insert_with(why);
    }
}

/// A word as far as it is known.
struct Shape<'a> {
    text: Cow<'a, str>,
    /// Whether more follows that is not known.
    open: bool,
    /// Whether it may be several words, or none, of which only the first begins like this.
    splits: bool,
}

fn shape(arg: &Arg) -> Shape<'_> {
    match arg {
        Arg::Known(text) => Shape { text: Cow::Borrowed(text), open: false, splits: false },
        // Each name that fits begins with the literal text.
        Arg::Glob(pattern) => {
            Shape { text: Cow::Owned(literal_beginning(pattern)), open: true, splits: false }
        }
        Arg::Unknown { prefix, splits } => Shape { text: Cow::Borrowed(prefix), open: true, splits: *splits },
    }
}

/// What every name that fits a pattern begins with.
pub(super) fn literal_beginning(pattern: &str) -> String {
    let mut literal = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => literal.extend(letters.next()),
            '*' | '?' | '[' => break,
            other => literal.push(other),
        }
    }
    literal
}

/// Tells the words after the program's name apart.
pub(super) fn walk<'a>(entry: &'static Entry, name: &str, args: &'a [Arg]) -> Walk<'a> {
    Walker { entry, name, args, at: 0, only_operands: false, stop: false, found: Walk::default() }.run()
}

/// The same for the words in front of the first operand.
pub(super) fn walk_to_operand<'a>(entry: &'static Entry, name: &str, args: &'a [Arg]) -> Walk<'a> {
    Walker { entry, name, args, at: 0, only_operands: false, stop: true, found: Walk::default() }.run()
}

struct Walker<'a, 'n> {
    entry: &'static Entry,
    name: &'n str,
    args: &'a [Arg],
    at: usize,
    only_operands: bool,
    /// Whether to stop at the first operand.
    stop: bool,
    found: Walk<'a>,
}

impl<'a> Walker<'a, '_> {
    fn run(mut self) -> Walk<'a> {
        while let Some(arg) = self.args.get(self.at) {
            self.at += 1;
            self.at_file(arg);
            self.word(arg);
            if self.stop && self.found.first_operand.is_some() {
                break;
            }
        }
        self.found
    }

    fn word(&mut self, arg: &'a Arg) {
        if self.only_operands {
            return self.operand(arg);
        }
        let shape = shape(arg);
        match (shape.text.as_ref(), shape.open) {
            ("--", false) => {
                self.only_operands = true;
                self.found.before_dashes = Some(self.found.operands.len());
            }
            ("-", false) => self.operand(arg),
            ("", true) => self.anything(arg),
            (text, _) if text.starts_with('-') => self.option(arg, &shape),
            _ if shape.splits && !self.entry.habits.ordered => self.anything(arg),
            _ => self.operand(arg),
        }
    }

    /// `@file` is replaced before the program tells options and operands apart.
    fn at_file(&mut self, arg: &Arg) {
        if self.entry.habits.atfiles && (begins(arg, "@") || begins_unknown(arg)) {
            let name = self.name;
            self.found.doubt(|| format!("`@file` has more arguments for `{name}`"));
        }
    }

    fn operand(&mut self, arg: &'a Arg) {
        self.found.first_operand.get_or_insert(self.at - 1);
        if self.entry.habits.ordered {
            self.only_operands = true;
        }
        if may_be_several(arg) {
            self.found.placed.get_or_insert(self.found.operands.len());
        }
        self.found.operands.push(arg);
    }

    /// A word that may be an option, and may be an operand.
    fn anything(&mut self, arg: &'a Arg) {
        let habits = &self.entry.habits;
        if habits.mild && matches!(arg, Arg::Glob(_)) {
            self.found.wide = true;
        } else if !habits.harmless {
            let name = self.name;
            self.found.doubt(|| format!("a word that is not known could be an option of `{name}`"));
        }
        self.operand(arg);
    }

    fn option(&mut self, arg: &'a Arg, shape: &Shape<'_>) {
        if shape.splits && !self.entry.habits.harmless {
            let name = self.name;
            self.found.doubt(|| format!("what follows `{}` could be another option of `{name}`", shape.text));
        }
        let text = shape.text.as_ref();
        if self.entry.habits.single {
            self.single(text, arg, shape.open);
        } else if text.starts_with("--") {
            self.long(text, arg, shape.open);
        } else if !(self.entry.habits.digits && !shape.open && is_number(&text[1..])) {
            self.cluster(text, arg, shape.open);
        }
    }

    /// `--name`, `--name=value`, and what it may be shortened to.
    fn long(&mut self, text: &str, arg: &'a Arg, open: bool) {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None if open => return self.unlisted(text, true),
            None => (text, None),
        };
        let Some(option) = self.resolve(name) else { return self.beginning(text, arg, false) };
        // What it does is told, but another version may have another option that begins like this.
        if option.name != name && !self.entry.habits.harmless {
            self.found.doubt(|| format!("`{name}` is a shortened option; written out it can be judged"));
        }
        match value {
            Some(value) => self.attached(option, value, arg),
            None => self.detached(option),
        }
    }

    fn resolve(&self, name: &str) -> Option<&'static Opt> {
        if let Some(option) = self.named(name) {
            return Some(option);
        }
        if self.entry.habits.exact {
            return None;
        }
        // What several names begin with is an error for the program, or else they mean the same.
        let mut candidates = self
            .entry
            .options
            .iter()
            .filter(|option| option.name.starts_with(name) && !option.name.ends_with('*'));
        let first = candidates.next()?;
        candidates.all(|other| other.value == first.value && other.means == first.means).then_some(first)
    }

    /// `-abc`, `-kVALUE`, `-k VALUE`
    fn cluster(&mut self, text: &str, arg: &'a Arg, open: bool) {
        for (place, letter) in text.char_indices().skip(1) {
            let mut name = [0; 5];
            name[0] = b'-';
            let length = 1 + letter.encode_utf8(&mut name[1..]).len();
            let name = std::str::from_utf8(&name[..length]).unwrap_or("-");
            let Some(option) = self.named(name) else { return self.unlisted(text, false) };
            let rest = &text[place + letter.len_utf8()..];
            match &option.value {
                Value::None => self.use_it(option, Vec::new()),
                Value::Attached(_) if rest.is_empty() && !open => self.use_it(option, Vec::new()),
                Value::Needed(_) if rest.is_empty() && !open => return self.detached(option),
                Value::Attached(_) | Value::Needed(_) => return self.attached(option, rest, arg),
            }
        }
        if open {
            self.unlisted(text, true);
        }
    }

    /// `-name`, `-name value`, `-name=value`, `-n5`; two dashes are as good as one.
    fn single(&mut self, text: &str, arg: &'a Arg, open: bool) {
        let text = if text.starts_with("--") { &text[1..] } else { text };
        if let Some((name, value)) = text.split_once('=') {
            return match self.named(name) {
                Some(option) => self.attached(option, value, arg),
                None => self.beginning(text, arg, open),
            };
        }
        match self.named(text) {
            Some(option) if !open => self.detached(option),
            _ => self.beginning(text, arg, open),
        }
    }

    /// An option of which only the beginning is listed: `-W*`, `-I*=read`.
    fn beginning(&mut self, text: &str, arg: &'a Arg, open: bool) {
        let beginning = |option: &'static Opt| option.name.strip_suffix('*');
        let fits = |option: &&'static Opt| beginning(option).is_some_and(|start| text.starts_with(start));
        let longest = self.entry.options.iter().filter(fits).max_by_key(|option| option.name.len());
        let Some(option) = longest else {
            return if open { self.unlisted(text, true) } else { self.with_number(text, arg) };
        };
        let rest = &text[option.name.len() - 1..];
        match &option.value {
            Value::None if !open && is_plain(rest) => self.use_it(option, Vec::new()),
            Value::None => self.unlisted(text, open),
            _ if rest.is_empty() && !open => self.detached(option),
            _ => self.attached(option, rest, arg),
        }
    }

    fn named(&self, name: &str) -> Option<&'static Opt> {
        self.entry.options.iter().find(|option| option.name == name)
    }

    /// `-n5`
    fn with_number(&mut self, text: &str, arg: &'a Arg) {
        if !self.entry.habits.single {
            return self.unlisted(text.split('=').next().unwrap_or(text), false);
        }
        let letter = text.char_indices().nth(2).map_or(text, |(end, _)| &text[..end]);
        let number = &text[letter.len()..];
        match self.named(letter).filter(|option| option.value != Value::None && is_number(number)) {
            Some(option) => self.attached(option, number, arg),
            None => self.unlisted(text, false),
        }
    }

    fn attached(&mut self, option: &'static Opt, value: &str, arg: &Arg) {
        let value = match arg {
            Arg::Known(_) => Arg::Known(value.to_owned()),
            Arg::Glob(_) => Arg::Unknown { prefix: value.to_owned(), splits: false },
            Arg::Unknown { splits, .. } => Arg::Unknown { prefix: value.to_owned(), splits: *splits },
        };
        match &option.value {
            // `--flag=x` is an error for most programs: nobody knows what the others do.
            Value::None => self.unlisted(&option.name, false),
            Value::Needed(kinds) if kinds.len() > 1 => self.unlisted(&option.name, false),
            _ => self.use_it(option, vec![value]),
        }
    }

    fn detached(&mut self, option: &'static Opt) {
        let Value::Needed(kinds) = &option.value else { return self.use_it(option, Vec::new()) };
        let values: Vec<Arg> = self.args.iter().skip(self.at).take(kinds.len()).cloned().collect();
        self.at += values.len();
        values.iter().for_each(|value| self.at_file(value));
        if values.iter().any(may_be_several) && !self.entry.habits.harmless {
            let name = &option.name;
            self.found.doubt(|| format!("the value of `{name}` may be several words"));
        }
        self.use_it(option, values);
    }

    fn use_it(&mut self, option: &'static Opt, values: Vec<Arg>) {
        self.found.used.push(Used { option, values });
    }

    fn unlisted(&mut self, option: &str, open: bool) {
        let habits = &self.entry.habits;
        let informs = !habits.exact && matches!(option, "--help" | "--version");
        if habits.harmless || (!open && (habits.open || informs)) {
            return;
        }
        let name = self.name;
        self.found.doubt(|| format!("`{option}` is not known as a harmless option of `{name}`"));
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether it may become more than one word, or none.
pub(super) fn may_be_several(arg: &Arg) -> bool {
    matches!(arg, Arg::Glob(_) | Arg::Unknown { splits: true, .. })
}
