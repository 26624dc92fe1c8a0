//! The table of programs, read once from `table.txt`.
//!
//! The text is for people who check it; its head says what each word means. A line that cannot be read is left out, so
//! that its program is not known, which is the careful answer; a test sees to it that there is none.

use std::{collections::HashMap, sync::LazyLock};

use haft_tool::Class;

use super::special::Special;

const TEXT: &str = include_str!("table.txt");

/// What is known about a program, or about a subcommand of one.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) class: Class,
    pub(super) habits: Habits,
    pub(super) operands: Operands,
    pub(super) options: Vec<Opt>,
    /// Operands that change the class, or that are not followed.
    pub(super) when: Vec<When>,
    /// What the values of an option, or operands, must be.
    pub(super) only: Vec<Only>,
    pub(super) special: Option<Special>,
    /// Files by which a directory decides what runs under this name, where it may.
    pub(super) launcher: Option<Vec<&'static str>>,
    /// Operands with which it only passes on what comes in, if there is nothing else.
    pub(super) filter: Option<Vec<&'static str>>,
    /// Places outside of any workspace that it reads, whatever it is told.
    pub(super) looks: Vec<&'static str>,
}

impl Entry {
    /// Whether an option or an operand of it means this.
    pub(super) fn speaks_of(&self, meaning: Meaning) -> bool {
        self.options.iter().any(|option| option.means.contains(&meaning))
            || self.when.iter().any(|when| when.means == meaning)
    }

    /// Whether an operand or the value of an option may be one of these.
    pub(super) fn takes(&self, kind: Kind) -> bool {
        let operands = self.operands.first.iter().chain(&self.operands.many).chain(&self.operands.last);
        let mut values = self.options.iter().map(|option| &option.value);
        operands.copied().any(|one| one == kind)
            || values.any(|value| matches!(value, Value::Needed(kinds) if kinds.contains(&kind)))
    }
}

/// The words after the class.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Habits {
    pub(super) exact: bool,
    pub(super) single: bool,
    pub(super) ordered: bool,
    pub(super) digits: bool,
    pub(super) harmless: bool,
    pub(super) mild: bool,
    pub(super) open: bool,
    pub(super) sub: bool,
    pub(super) listed: bool,
    pub(super) clear: bool,
    pub(super) here: bool,
    pub(super) emits: bool,
    pub(super) atfiles: bool,
    pub(super) halts: bool,
    pub(super) told: bool,
}

/// What operands are: some in front, then as many as come, then perhaps a last one.
#[derive(Debug, Clone, Default)]
pub(super) struct Operands {
    pub(super) first: Vec<Kind>,
    pub(super) many: Option<Kind>,
    pub(super) last: Option<Kind>,
}

/// What an operand or a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Word,
    Id,
    Name,
    Read,
    Write,
    Edit,
    Aside,
    Below,
    Out,
    Rev,
    Remote,
    Url,
    Host,
    Away,
    Run,
    Script,
    Change,
    Plus,
    Drop,
    Sql,
    Jq,
    Yq,
    Ref,
    Data,
    Form,
    Template,
    Header,
    Method,
    Format,
    List,
    Names,
    Page,
    Store,
    Zipped,
}

/// An option that is known.
#[derive(Debug, Clone)]
pub(super) struct Opt {
    /// With its dashes.
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) means: Vec<Meaning>,
}

/// Whether an option has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    None,
    /// Attached or in the next words.
    Needed(Vec<Kind>),
    /// Only if it is attached.
    Attached(Kind),
}

/// What an option amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Write,
    Destroy,
    Read,
    Doubt,
    Prints,
    Texts,
    First,
    Dest,
    Here,
    Emits,
    Sends,
    Opaque,
    Lists,
    Names,
    Deep,
    Dry,
    Halt,
    Elsewhere,
    Adds,
}

/// `when a|b* destroy`
#[derive(Debug, Clone)]
pub(super) struct When {
    words: Vec<&'static str>,
    pub(super) means: Meaning,
}

impl When {
    /// Whether this word is one of those that it speaks of. Many of these programs take capitals, too.
    pub(super) fn fits(&self, word: &str) -> bool {
        let word = word.as_bytes();
        self.words.iter().any(|pattern| {
            let (pattern, begins) = pattern.strip_suffix('*').map_or((*pattern, false), |rest| (rest, true));
            let (pattern, ends) = pattern.strip_prefix('*').map_or((pattern, false), |rest| (rest, true));
            let length = pattern.len();
            let part = match (begins, ends) {
                (false, false) => Some(word),
                (true, _) => word.get(..length),
                (false, true) => word.len().checked_sub(length).map(|from| &word[from..]),
            };
            part.is_some_and(|part| part.eq_ignore_ascii_case(pattern.as_bytes()))
        })
    }
}

/// `only -o a=*|b`
#[derive(Debug, Clone)]
pub(super) struct Only {
    /// An option with its dashes, `:` for operands, `--` for operands after two dashes.
    pub(super) of: &'static str,
    words: Vec<&'static str>,
}

impl Only {
    /// Whether a piece of a value is one of those that it lists.
    pub(super) fn fits(&self, piece: &str) -> bool {
        self.words.iter().any(|pattern| piece_fits(piece, pattern))
    }
}

fn piece_fits(piece: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => is_word(piece),
        Some("*=") => piece.split_once('=').is_some_and(|(name, value)| is_word(name) && is_path(value)),
        Some(beginning) => piece.strip_prefix(beginning).is_some_and(is_path),
        None => piece == pattern,
    }
}

fn is_path(text: &str) -> bool {
    is_plain(&text.replace('/', ""))
}

/// Whether text holds nothing that a program could take for a path, a list, a file of arguments or an expression.
pub(super) fn is_plain(text: &str) -> bool {
    text.chars().all(|letter| letter.is_alphanumeric() || "._-+=:".contains(letter))
}

/// Whether a word is a name or a path, and no option, assignment or address.
pub(super) fn is_word(text: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "._-+/%~^".contains(letter);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(plain)
}

/// The entry of a program, or of a program with its subcommand (`git log`).
pub(super) fn entry(name: &str) -> Option<&'static Entry> {
    static TABLE: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| read(TEXT).entries);
    TABLE.get(name)
}

#[derive(Default)]
struct Table {
    entries: HashMap<&'static str, Entry>,
    groups: HashMap<&'static str, Entry>,
    /// The files of version managers, which may stand behind any launcher.
    launchers: Vec<&'static str>,
    /// What could not be read, with the number of its line.
    faults: Vec<String>,
}

/// A block that is being read: its names, or the name of its group.
struct Block {
    names: Vec<&'static str>,
    group: bool,
    entry: Entry,
}

fn read(text: &'static str) -> Table {
    let mut table = Table::default();
    let mut block: Option<Block> = None;
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with(' ') {
            read_options(line.trim(), &mut block, number, &mut table);
            continue;
        }
        finish(block.take(), &mut table);
        if let Some(names) = line.strip_prefix("launchers ") {
            table.launchers.extend(names.split('|'));
            continue;
        }
        block = header(line);
        if block.is_none() {
            table.fault(number, line);
        }
    }
    finish(block, &mut table);
    let shared = &table.launchers;
    table
        .entries
        .values_mut()
        .filter_map(|entry| entry.launcher.as_mut())
        .for_each(|names| names.extend(shared));
    table
}

impl Table {
    fn fault(&mut self, number: usize, what: &str) {
        self.faults.push(format!("line {}: {what}", number + 1));
    }
}

fn finish(block: Option<Block>, table: &mut Table) {
    let Some(block) = block else { return };
    if block.group {
        for name in block.names {
            table.groups.insert(name, block.entry.clone());
        }
        return;
    }
    for name in block.names {
        if table.entries.insert(name, block.entry.clone()).is_some() {
            table.faults.push(format!("`{name}` is there twice"));
        }
    }
}

fn header(line: &'static str) -> Option<Block> {
    if let Some(name) = line.strip_prefix("group ") {
        let entry = blank(Class::ReadOnly);
        return Some(Block { names: vec![name.trim()], group: true, entry });
    }
    let (names, rest) = line.split_once(" = ")?;
    let (words, operands) = match rest.split_once(" : ") {
        Some((words, operands)) => (words, operands_of(operands)?),
        None => (rest, Operands::default()),
    };
    let mut words = words.split_whitespace();
    let mut entry = blank(class(words.next()?)?);
    entry.operands = operands;
    for word in words {
        habit(&mut entry, word)?;
    }
    Some(Block { names: names.split(", ").map(str::trim).collect(), group: false, entry })
}

fn blank(class: Class) -> Entry {
    Entry {
        class,
        habits: Habits::default(),
        operands: Operands::default(),
        options: Vec::new(),
        when: Vec::new(),
        only: Vec::new(),
        special: None,
        launcher: None,
        filter: None,
        looks: Vec::new(),
    }
}

fn class(word: &str) -> Option<Class> {
    Some(match word {
        "reads" => Class::ReadOnly,
        "writes" => Class::Write,
        "destroys" => Class::Destructive,
        _ => return None,
    })
}

fn habit(entry: &mut Entry, word: &'static str) -> Option<()> {
    let habits = &mut entry.habits;
    match word {
        "gnu" => {}
        "exact" => habits.exact = true,
        "single" => habits.single = true,
        "ordered" => habits.ordered = true,
        "digits" => habits.digits = true,
        "harmless" => habits.harmless = true,
        "mild" => habits.mild = true,
        "open" => habits.open = true,
        "sub" => habits.sub = true,
        "listed" => habits.listed = true,
        "clear" => habits.clear = true,
        "here" => habits.here = true,
        "emits" => habits.emits = true,
        "atfiles" => habits.atfiles = true,
        "halts" => habits.halts = true,
        "launcher" => entry.launcher = Some(Vec::new()),
        "told" => habits.told = true,
        _ => match word.split_once('=')? {
            ("launcher", names) => entry.launcher = Some(names.split('|').collect()),
            ("filter", operands) => entry.filter = Some(operands.split('|').collect()),
            ("looks", places) => entry.looks = places.split('|').collect(),
            ("by", name) => entry.special = Some(Special::named(name)?),
            _ => return None,
        },
    }
    Some(())
}

fn operands_of(text: &str) -> Option<Operands> {
    let mut operands = Operands::default();
    for word in text.split_whitespace() {
        if let Some(many) = word.strip_suffix('…') {
            operands.many = Some(kind(many)?);
        } else if operands.many.is_some() {
            operands.last = Some(kind(word)?);
        } else {
            operands.first.push(kind(word)?);
        }
    }
    Some(operands)
}

fn kind(word: &str) -> Option<Kind> {
    Some(match word {
        "text" => Kind::Text,
        "word" => Kind::Word,
        "id" => Kind::Id,
        "name" => Kind::Name,
        "read" => Kind::Read,
        "write" => Kind::Write,
        "edit" => Kind::Edit,
        "aside" => Kind::Aside,
        "below" => Kind::Below,
        "out" => Kind::Out,
        "rev" => Kind::Rev,
        "remote" => Kind::Remote,
        "url" => Kind::Url,
        "host" => Kind::Host,
        "away" => Kind::Away,
        "run" => Kind::Run,
        "script" => Kind::Script,
        "change" => Kind::Change,
        "plus" => Kind::Plus,
        "drop" => Kind::Drop,
        "sql" => Kind::Sql,
        "jq" => Kind::Jq,
        "yq" => Kind::Yq,
        "ref" => Kind::Ref,
        "data" => Kind::Data,
        "form" => Kind::Form,
        "template" => Kind::Template,
        "header" => Kind::Header,
        "method" => Kind::Method,
        "format" => Kind::Format,
        "list" => Kind::List,
        "names" => Kind::Names,
        "page" => Kind::Page,
        "store" => Kind::Store,
        "zipped" => Kind::Zipped,
        _ => return None,
    })
}

fn meaning(word: &str) -> Option<Meaning> {
    Some(match word {
        "write" => Meaning::Write,
        "destroy" => Meaning::Destroy,
        "read" => Meaning::Read,
        "doubt" => Meaning::Doubt,
        "prints" => Meaning::Prints,
        "texts" => Meaning::Texts,
        "first" => Meaning::First,
        "dest" => Meaning::Dest,
        "here" => Meaning::Here,
        "emits" => Meaning::Emits,
        "sends" => Meaning::Sends,
        "opaque" => Meaning::Opaque,
        "lists" => Meaning::Lists,
        "names" => Meaning::Names,
        "deep" => Meaning::Deep,
        "dry" => Meaning::Dry,
        "halt" => Meaning::Halt,
        "elsewhere" => Meaning::Elsewhere,
        "adds" => Meaning::Adds,
        _ => return None,
    })
}

fn read_options(line: &'static str, block: &mut Option<Block>, number: usize, table: &mut Table) {
    let Some(block) = block else { return table.fault(number, line) };
    if let Some(rest) = line.strip_prefix("when ") {
        match when(rest) {
            Some(when) => block.entry.when.push(when),
            None => table.fault(number, line),
        }
        return;
    }
    if let Some(rest) = line.strip_prefix("only ") {
        match only(rest) {
            Some(only) => block.entry.only.push(only),
            None => table.fault(number, line),
        }
        return;
    }
    for token in line.split_whitespace() {
        if let Some(group) = token.strip_prefix('@').and_then(|name| table.groups.get(name)) {
            group.options.iter().for_each(|option| add(&mut block.entry.options, option.clone()));
            block.entry.only.extend(group.only.iter().cloned());
            continue;
        }
        match options_of(token, block.entry.habits.single) {
            Some(options) => options.into_iter().for_each(|option| add(&mut block.entry.options, option)),
            None => table.fault(number, token),
        }
    }
}

/// A later word about an option holds: a group first, what is different afterwards.
fn add(options: &mut Vec<Opt>, option: Opt) {
    options.retain(|known| known.name != option.name);
    options.push(option);
}

fn when(text: &'static str) -> Option<When> {
    let (words, means) = text.split_once(' ')?;
    Some(When { words: words.split('|').collect(), means: meaning(means.trim())? })
}

fn only(text: &'static str) -> Option<Only> {
    let (of, words) = text.split_once(' ')?;
    Some(Only { of, words: words.trim().split('|').collect() })
}

fn options_of(token: &str, single: bool) -> Option<Vec<Opt>> {
    let mut pieces = token.split('!');
    let (name, value) = name_and_value(pieces.next()?)?;
    let means = pieces.map(meaning).collect::<Option<Vec<_>>>()?;
    if name.starts_with("--") || single {
        return Some(vec![Opt { name: name.to_owned(), value, means }]);
    }
    let letters = name.strip_prefix('-')?;
    if value != Value::None && letters.chars().count() != 1 {
        return None;
    }
    let option = |letter| Opt { name: format!("-{letter}"), value: value.clone(), means: means.clone() };
    Some(letters.chars().map(option).collect())
}

fn name_and_value(text: &str) -> Option<(&str, Value)> {
    if let Some((name, value)) = text.split_once('=') {
        return Some((name, Value::Needed(value.split(',').map(kind).collect::<Option<_>>()?)));
    }
    if let Some((name, value)) = text.split_once('[') {
        return Some((name, Value::Attached(kind(value.strip_suffix(']')?)?)));
    }
    Some((text, Value::None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let table = read(TEXT);
        assert_eq!(table.faults, Vec::<String>::new());
        assert!(table.entries.len() > 500, "only {}", table.entries.len());
    }

    #[test]
    fn a_line_that_is_not_understood_is_told_and_left_out() {
        let table = read("good = reads : read…\n  -a\nbad = perhaps\nworse = reads\n  -k=teapot\n");
        assert_eq!(table.faults, ["line 3: bad = perhaps", "line 5: -k=teapot"]);
        assert!(table.entries.contains_key("good") && !table.entries.contains_key("bad"));
    }

    #[test]
    fn what_stands_before_a_subcommand_is_there_too() {
        let table = read(TEXT);
        for name in table.entries.keys() {
            let Some((before, _)) = name.rsplit_once(' ') else { continue };
            assert!(table.entries.contains_key(before), "`{name}` is never found without `{before}`");
            let program = name.split(' ').next().and_then(|program| table.entries.get(program));
            assert!(program.is_some_and(|entry| entry.habits.sub), "`{name}` needs a program with `sub`");
        }
    }
}
