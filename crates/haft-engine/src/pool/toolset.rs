//! Which tools are wanted here?
//!
//! A toolset is a name for a list: `planning = ["readonly", "TodoWrite", "mcp__github__get_*", "!Bash"]`. An item is
//! another set, a tool (or an alias of one), a wildcard, a whole server (`mcp__github`), or one of these with `!` in
//! front, which takes away. The last item that fits a tool decides. A list that begins by taking away begins with all.
//!
//! Sets need not be defined: every tool says in its spec which set it belongs to, and `readonly` and `all` always
//! exist. A definition of such a name adds to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use haft_tool::Spec;

use super::names;

const ALL: &str = "all";
const READONLY: &str = "readonly";

/// The sets that there are.
#[derive(Debug, Clone, Default)]
pub struct Toolsets {
    definitions: BTreeMap<String, Vec<String>>,
    known: BTreeSet<String>,
}

/// A toolset made ready to ask. Two filters are equal if they were made from the same lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    // Each list refers only to lists before it, and the last is the answer: asking costs the length of all lists,
    // however often they refer to each other.
    lists: Arc<[List]>,
}

type List = Vec<Item>;

#[derive(Debug, Clone, PartialEq)]
struct Item {
    takes_away: bool,
    test: Test,
}

#[derive(Debug, Clone, PartialEq)]
enum Test {
    /// A tool of this name or alias, or a member of the set that specs call so.
    Named(String),
    /// A name in which each `*` stands for anything.
    Like(String),
    /// The list at this place.
    List(usize),
    /// Whatever is not in the list at this place.
    Outside(usize),
}

impl Toolsets {
    /// The sets of these definitions and of these tools' specs.
    ///
    /// Every item must mean something now, except wildcards and external tools, whose servers may come later.
    pub fn new<'a>(
        definitions: impl IntoIterator<Item = (String, Vec<String>)>,
        specs: impl IntoIterator<Item = &'a Spec>,
    ) -> Result<Toolsets, ToolsetError> {
        let mut tools = BTreeSet::new();
        let mut known = BTreeSet::new();
        for spec in specs {
            tools.insert(spec.name().to_owned());
            known.insert(spec.membership().to_owned());
            known.extend(spec.other_names().iter().map(|&alias| alias.to_owned()));
        }
        let definitions: BTreeMap<_, _> = definitions.into_iter().collect();
        if let Some(set) = definitions.keys().find(|set| is_reserved(set) || tools.contains(*set)) {
            return Err(ToolsetError::Reserved { set: set.clone() });
        }
        known.extend(tools);
        known.remove("");
        let toolsets = Toolsets { definitions, known };
        toolsets.definitions.keys().try_for_each(|set| toolsets.filter([set.as_str()]).map(drop))?;
        Ok(toolsets)
    }

    /// The filter of a list of items, as a setting or an agent's toolbox gives it. A single set is `["planning"]`.
    pub fn filter<'a>(&self, items: impl IntoIterator<Item = &'a str>) -> Result<Filter, ToolsetError> {
        let mut work =
            Compiler { toolsets: self, lists: Vec::new(), done: BTreeMap::new(), open: Vec::new() };
        let list = work.list(None, items)?;
        work.lists.push(list);
        Ok(Filter { lists: work.lists.into() })
    }

    /// The names of the sets that were defined, sorted. Those that exist anyway are not among them.
    pub fn defined(&self) -> impl Iterator<Item = &str> {
        self.definitions.keys().map(String::as_str)
    }

    fn is_known(&self, item: &str) -> bool {
        item == READONLY || item.starts_with("mcp__") || self.known.contains(item)
    }
}

impl Filter {
    /// A filter of tools, wildcards and the sets that specs name, none of which need exist.
    pub fn of<I: AsRef<str>>(items: impl IntoIterator<Item = I>) -> Filter {
        let list = items.into_iter().map(|item| Item::parse(item.as_ref())).collect();
        Filter { lists: Arc::new([from_all(list)]) }
    }

    /// What both want.
    #[must_use]
    pub fn and(&self, other: &Filter) -> Filter {
        let (first, second) = (self.lists.len(), self.lists.len() + other.lists.len());
        let moved = other.lists.iter().map(|list| list.iter().map(|item| item.moved(first)).collect());
        let mut lists: Vec<List> = self.lists.iter().cloned().chain(moved).collect();
        // Neither is empty: the last list of each is its answer.
        lists.push(vec![
            Item { takes_away: false, test: Test::List(first - 1) },
            Item { takes_away: true, test: Test::Outside(second - 1) },
        ]);
        Filter { lists: lists.into() }
    }

    /// Whether a tool is wanted. `name` is what the model calls it.
    pub fn contains(&self, name: &str, spec: &Spec) -> bool {
        let mut answers = Vec::with_capacity(self.lists.len());
        for list in self.lists.iter() {
            let last = list.iter().rev().find(|item| item.fits(name, spec, &answers));
            answers.push(last.is_some_and(|item| !item.takes_away));
        }
        answers.last().is_some_and(|answer| *answer)
    }
}

impl Item {
    fn parse(text: &str) -> Item {
        let (takes_away, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let test = match text {
            ALL => Test::Like("*".to_owned()),
            _ if text.contains('*') => Test::Like(text.to_owned()),
            _ if text.starts_with("mcp__") && names::split(text).is_none() => {
                Test::Like(format!("{text}__*"))
            }
            _ => Test::Named(text.to_owned()),
        };
        Item { takes_away, test }
    }

    fn fits(&self, name: &str, spec: &Spec, answers: &[bool]) -> bool {
        match &self.test {
            Test::Named(wanted) => {
                name == wanted || spec.membership() == wanted || spec.other_names().contains(&wanted.as_str())
            }
            Test::Like(pattern) => is_like(name, pattern),
            Test::List(place) => answers[*place],
            Test::Outside(place) => !answers[*place],
        }
    }

    /// The same where the lists that it refers to stand so many places later.
    fn moved(&self, by: usize) -> Item {
        let test = match &self.test {
            Test::List(place) => Test::List(place + by),
            Test::Outside(place) => Test::Outside(place + by),
            other => other.clone(),
        };
        Item { takes_away: self.takes_away, test }
    }
}

fn from_all(mut list: List) -> List {
    if list.first().is_some_and(|item| item.takes_away) {
        list.insert(0, Item::parse(ALL));
    }
    list
}

fn is_reserved(set: &str) -> bool {
    set.is_empty() || set == ALL || set == READONLY || set.starts_with(['!', ' ']) || set.contains('*')
}

/// Whether a name fits a pattern in which `*` stands for anything. Takes the leftmost place for each piece, which is
/// enough where nothing but `*` is special.
pub fn is_like(name: &str, pattern: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(head) else { return false };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

struct Compiler<'a> {
    toolsets: &'a Toolsets,
    lists: Vec<List>,
    done: BTreeMap<&'a str, usize>,
    /// The sets that we are inside of, outermost first.
    open: Vec<&'a str>,
}

impl<'a> Compiler<'a> {
    fn list<'i>(
        &mut self,
        set: Option<&str>,
        items: impl IntoIterator<Item = &'i str>,
    ) -> Result<List, ToolsetError> {
        let items = items.into_iter().map(|item| self.item(set, item));
        Ok(from_all(items.collect::<Result<_, _>>()?))
    }

    fn item(&mut self, set: Option<&str>, text: &str) -> Result<Item, ToolsetError> {
        let mut item = Item::parse(text);
        let Test::Named(name) = &item.test else { return Ok(item) };
        if let Some((name, items)) = self.toolsets.definitions.get_key_value(name) {
            item.test = Test::List(self.set(name, items)?);
        } else if !self.toolsets.is_known(name) {
            let set = set.map(str::to_owned);
            return Err(ToolsetError::Unknown { set, item: text.to_owned() });
        }
        Ok(item)
    }

    fn set(&mut self, set: &'a str, items: &'a [String]) -> Result<usize, ToolsetError> {
        if let Some(place) = self.done.get(set) {
            return Ok(*place);
        }
        if let Some(start) = self.open.iter().position(|open| *open == set) {
            let round = self.open[start..].iter().chain([&set]);
            return Err(ToolsetError::Cycle { sets: round.map(|&set| set.to_owned()).collect() });
        }
        self.open.push(set);
        let mut list = self.list(Some(set), items.iter().map(String::as_str))?;
        self.open.pop();
        if self.toolsets.known.contains(set) {
            // Tools say themselves that they belong to it; what the definition takes away is still taken away.
            list.insert(0, Item { takes_away: false, test: Test::Named(set.to_owned()) });
        }
        self.lists.push(list);
        self.done.insert(set, self.lists.len() - 1);
        Ok(self.lists.len() - 1)
    }
}

/// What is wrong with the definition of a toolset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolsetError {
    /// An item is neither a tool nor a set.
    Unknown {
        /// The set that has the item; `None` for a list without a name.
        set: Option<String>,
        /// The item.
        item: String,
    },
    /// Sets that contain each other, in a round.
    Cycle {
        /// The round; the first set is the last again.
        sets: Vec<String>,
    },
    /// A set may not be called so.
    Reserved {
        /// The name.
        set: String,
    },
}

impl fmt::Display for ToolsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolsetError::Unknown { set: Some(set), item } => {
                write!(f, "toolset `{set}`: `{item}` is neither a tool nor a toolset")
            }
            ToolsetError::Unknown { set: None, item } => {
                write!(f, "`{item}` is neither a tool nor a toolset")
            }
            ToolsetError::Cycle { sets } => write!(f, "toolsets contain each other: {}", sets.join(" → ")),
            ToolsetError::Reserved { set } => {
                write!(
                    f,
                    "toolset `{set}`: the name is that of a tool, or fixed, or empty, or has `!` or `*`"
                )
            }
        }
    }
}

impl std::error::Error for ToolsetError {}

#[cfg(test)]
mod tests {
    use super::*;

    static SPECS: [Spec; 5] = [
        Spec::new("Read").toolset("readonly").aliases(&["fs_read"]),
        Spec::new("Grep").toolset("readonly"),
        Spec::new("Edit"),
        Spec::new("WebFetch").toolset("web"),
        Spec::new("TodoWrite").toolset("planning"),
    ];

    fn toolsets(definitions: &str) -> Result<Toolsets, ToolsetError> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let definitions = definitions.split(';').filter_map(|line| line.split_once('='));
        Toolsets::new(definitions.map(|(set, items)| (set.trim().to_owned(), words(items))), &SPECS)
    }

    #[track_caller]
    fn check(definitions: &str, items: &str, expected: &str) {
        let filter = toolsets(definitions).unwrap().filter(items.split_whitespace()).unwrap();
        let external = Spec::new("get");
        let all = SPECS.iter().map(|spec| (spec.name(), spec));
        let all = all.chain([("mcp__git__get", &external), ("mcp__github__get", &external)]);
        let found = all.filter(|(name, spec)| filter.contains(name, spec)).map(|(name, _)| name);
        assert_eq!(found.collect::<Vec<_>>().join(" "), expected);
    }

    #[track_caller]
    fn check_error(definitions: &str, expected: &str) {
        assert_eq!(toolsets(definitions).expect_err(definitions).to_string(), expected);
    }

    #[test]
    fn a_list_names_tools_aliases_sets_and_wildcards() {
        check("", "Edit", "Edit");
        check("", "fs_read", "Read");
        check("", "readonly Edit", "Read Grep Edit");
        check("", "all", "Read Grep Edit WebFetch TodoWrite mcp__git__get mcp__github__get");
        check("", "*e*t*", "WebFetch mcp__git__get mcp__github__get");
        check("", "mcp__git", "mcp__git__get");
        check("", "mcp__git*", "mcp__git__get mcp__github__get");
        check("", "", "");
    }

    #[test]
    fn the_last_item_that_fits_decides() {
        check("", "readonly !Grep", "Read");
        check("", "readonly !Grep Grep", "Read Grep");
        check("", "!mcp__* !readonly", "Edit WebFetch TodoWrite");
    }

    #[test]
    fn sets_are_composed() {
        check("plan = readonly planning; wide = plan web !Read", "wide", "Grep WebFetch TodoWrite");
        check("plan = readonly planning", "all !plan", "Edit WebFetch mcp__git__get mcp__github__get");
        check("web = mcp__git; both = web", "both", "WebFetch mcp__git__get");
    }

    #[test]
    fn mistakes_say_where_they_are() {
        check_error("a = Read b", "toolset `a`: `b` is neither a tool nor a toolset");
        check_error("a = !Raed", "toolset `a`: `!Raed` is neither a tool nor a toolset");
        check_error("a = b; b = c Read; c = b", "toolsets contain each other: b → c → b");
        check_error("a = a", "toolsets contain each other: a → a");
        check_error(
            "readonly = Edit",
            "toolset `readonly`: the name is that of a tool, or fixed, or empty, or has `!` or `*`",
        );
        check_error(
            "Edit = Read",
            "toolset `Edit`: the name is that of a tool, or fixed, or empty, or has `!` or `*`",
        );
        let error = toolsets("").unwrap().filter(["nothing"]).unwrap_err();
        assert_eq!(error.to_string(), "`nothing` is neither a tool nor a toolset");
    }

    #[test]
    fn sets_that_refer_to_each_other_a_million_times_are_asked_once() {
        let chain: Vec<_> = (0..64).map(|n| format!("s{n} = s{} s{}", n + 1, n + 1)).collect();
        check(&format!("{}; s64 = Edit", chain.join(";")), "s0", "Edit");
    }

    #[test]
    fn wildcards_do_not_overlap_themselves() {
        assert!(is_like("abc", "*") && is_like("abc", "a*c") && is_like("abab", "*ab*ab"));
        assert!(!is_like("aba", "ab*ba") && !is_like("abc", "*b") && !is_like("abc", "a*d*c"));
    }
}
