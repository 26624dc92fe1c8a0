//! Names that pass for others, and texts that speak of other servers' tools.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use regex::Regex;
use serde_json::{Map, Value};

use super::{
    Kind, Severity,
    places::{Role, Text},
    plain::{Plain, latin, look_alike},
    remark::Remark,
    unseen::is_unseen,
};

/// The servers of a session and their tools: what a text must not speak of, and what a name must not look like.
#[derive(Debug, Default, Clone)]
pub struct Neighbours {
    servers: HashSet<String>,
    /// Who has a tool of this name, in small letters. Only names that are no usual words.
    tools: HashMap<String, Vec<String>>,
    /// Servers and names by what the names look like.
    appearances: HashMap<String, Vec<(String, String)>>,
}

impl Neighbours {
    /// Also this server and its tools. The server that is examined may be among them.
    pub fn with<'a>(mut self, server: &str, tools: impl IntoIterator<Item = &'a str>) -> Neighbours {
        self.servers.insert(server.to_lowercase());
        for tool in tools {
            if is_telling(tool) {
                self.tools.entry(tool.to_lowercase()).or_default().push(server.to_owned());
            }
            let owner = (server.to_owned(), tool.to_owned());
            self.appearances.entry(appearance(tool)).or_default().push(owner);
        }
        self
    }

    /// Another server that has a tool of this name.
    fn owner(&self, tool: &str, server: &str) -> Option<&str> {
        self.tools.get(tool)?.iter().map(String::as_str).find(|owner| *owner != server)
    }

    /// A tool of another server that looks the same and is another.
    fn twin(&self, tool: &str, server: &str) -> Option<&(String, String)> {
        let is_twin = |(owner, name): &&(String, String)| owner != server && is_other(name, tool);
        self.appearances.get(&appearance(tool))?.iter().find(is_twin)
    }
}

/// The server that is examined.
pub(super) struct Own<'a> {
    server: &'a str,
    tools: HashSet<String>,
    appearances: HashMap<String, Vec<&'a str>>,
}

impl<'a> Own<'a> {
    pub(super) fn new(server: &'a str, tools: &'a [Map<String, Value>]) -> Own<'a> {
        let names = || tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        let mut appearances: HashMap<String, Vec<&str>> = HashMap::new();
        names().for_each(|name| appearances.entry(appearance(name)).or_default().push(name));
        Own { server, tools: names().map(str::to_lowercase).collect(), appearances }
    }
}

pub(super) fn look(
    text: &Text<'_>,
    plain: &Plain,
    own: &Own<'_>,
    others: &Neighbours,
    remarks: &mut Vec<Remark>,
) {
    if let Some(word) = text
        .text
        .split(|c: char| !c.is_alphanumeric() && !is_unseen(c))
        .find(|word| is_mixed(word, text.role))
    {
        let words = format!("{word}, with {}", strangers(word));
        remarks.push(text.remark(Kind::LookAlike, Severity::Alarm, words));
    }
    if text.is_tool_name() {
        twins(text, own, others, remarks);
    }
    if text.role == Role::Prose {
        mentions(text, plain, own, others, remarks);
    }
}

/// Tools whose names cannot be told from this one.
fn twins(text: &Text<'_>, own: &Own<'_>, others: &Neighbours, remarks: &mut Vec<Remark>) {
    let mut say = |words: String| remarks.push(text.remark(Kind::LookAlike, Severity::Warn, words));
    if let Some((server, tool)) = others.twin(text.text, own.server) {
        say(format!("{} looks like {tool} of {server}", text.text));
    }
    let same = own.appearances.get(&appearance(text.text)).into_iter().flatten();
    if let Some(twin) = same.into_iter().find(|twin| is_other(twin, text.text)) {
        say(format!("{} looks like {twin} of the same server", text.text));
    }
}

/// Servers, and names of tools of theirs, that the text speaks of.
fn mentions(text: &Text<'_>, plain: &Plain, own: &Own<'_>, others: &Neighbours, remarks: &mut Vec<Remark>) {
    for sentence in plain.text.split(['.', ';', '!', '?']) {
        let words: Vec<&str> = words(sentence).collect();
        for (at, word) in words.iter().enumerate() {
            if let Some(said) = mention(word, words.get(at + 1).copied(), own, others) {
                let severity = if STEERING.is_match(sentence) { Severity::Warn } else { Severity::Note };
                remarks.push(text.remark(Kind::Shadow, severity, format!("{said}: {}", sentence.trim())));
            }
        }
    }
}

/// Words that tell a model what to do with another tool.
static STEERING: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\b(always|never|must|do not|don't|before|instead of|whenever|first call|rather than|replaces?)\b",
    )
    .expect("a pattern of ours")
});

fn mention(word: &str, next: Option<&str>, own: &Own<'_>, others: &Neighbours) -> Option<String> {
    if let Some(owner) = others.owner(word, own.server).filter(|_| !own.tools.contains(word)) {
        return Some(format!("{word} of {owner}"));
    }
    let is_server = others.servers.contains(word) && *word != own.server.to_lowercase();
    (is_server && matches!(next, Some("server" | "mcp" | "tool" | "tools")))
        .then(|| format!("the server {word}"))
}

fn words(sentence: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    sentence.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

/// Whether a name is no usual word: it has parts, and is not short.
fn is_telling(name: &str) -> bool {
    let has_inner_capital =
        name.chars().skip(1).any(char::is_uppercase) && name.chars().any(char::is_lowercase);
    name.len() >= 8 && (name.contains(['_', '-']) || has_inner_capital)
}

/// What a name looks like: one text for all names that a person takes for the same.
fn appearance(name: &str) -> String {
    let mut looks = String::with_capacity(name.len());
    for c in name.chars().filter(|c| !is_unseen(*c)) {
        match latin(c).unwrap_or(c) {
            'l' | '1' | 'I' | '|' => looks.push('l'),
            'O' | '0' => looks.push('o'),
            c => looks.extend(c.to_lowercase()),
        }
    }
    looks.replace("rn", "m").replace("vv", "w")
}

/// Whether two names are different ones, and not one in another spelling of capitals.
fn is_other(one: &str, other: &str) -> bool {
    one != other && one.to_lowercase() != other.to_lowercase()
}

/// Whether a word has Latin letters and such as only look Latin. Names may have none of these even alone.
fn is_mixed(word: &str, role: Role) -> bool {
    let has_latin = word.chars().any(|c| c.is_ascii_alphabetic());
    let has_stranger = word.chars().any(|c| is_stranger(c, role));
    has_latin && has_stranger
}

fn is_stranger(c: char, role: Role) -> bool {
    // The sciences write Greek beside Latin: `ν`, `Α` count in names only.
    let is_greek = matches!(c, '\u{370}'..='\u{3ff}');
    look_alike(c).is_some() && (role == Role::Name || !is_greek)
        || (role == Role::Name && !c.is_ascii() && latin(c).is_some())
}

/// The letters that are not what they look like, written out.
fn strangers(word: &str) -> String {
    let escaped = word.chars().filter(|c| latin(*c).is_some()).take(8);
    escaped.map(|c| c.escape_unicode().to_string()).collect::<Vec<_>>().join(" ")
}
