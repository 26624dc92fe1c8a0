//! The snapshot: the tools of one turn, in the order that the model sees them.
//!
//! First come the tools that are shown anyway, sorted by name, then those that were loaded on demand, in the order
//! they were loaded. The same tools give the same bytes, and loading only appends, so that what an API has cached of
//! a request stays valid.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use sha2::{Digest, Sha256};

use super::{
    Entry, Offer, Problem, ProblemKind,
    found::Sources,
    nearest,
    nearest::nearest_servers,
    search::{Hit, SearchIndex},
};

/// The tools of one turn. It never changes: what happens to its sources shows in the next one.
pub struct Pool {
    catalog: Arc<Catalog>,
    /// Deferred tools that were asked for, in that order.
    loaded: Vec<Entry>,
    /// For each of them its place in the catalog and in `loaded`, sorted.
    places: Vec<(usize, usize)>,
    fingerprint: OnceLock<String>,
}

/// What pools share that differ only in what was loaded.
pub(super) struct Catalog {
    /// Sorted by name.
    entries: Vec<Entry>,
    /// Alias and place of its tool, sorted.
    aliases: Vec<(&'static str, usize)>,
    problems: Vec<Problem>,
    sources: Sources,
    hash: OnceLock<Sha256>,
}

/// So many servers are named where no tool fits, and so many tools that are like one that was named.
const MOST_SERVERS: usize = 5;
const MOST_NAMES: usize = 3;

/// Finding tools.
impl Pool {
    /// The tool that a model means by this name: exactly this name, or else this alias. Deferred tools are found too.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let aliases = &self.catalog.aliases;
        let by_alias =
            || aliases.binary_search_by(|(alias, _)| (*alias).cmp(name)).ok().map(|at| aliases[at].1);
        self.catalog.place(name).or_else(by_alias).map(|place| self.entry(place))
    }

    /// The names that are most like an unknown one, best first, at most so many.
    pub fn nearest(&self, wanted: &str, most: usize) -> Vec<&str> {
        nearest(wanted, self.catalog.entries.iter().map(Entry::name), most)
    }

    /// Why a tool of exactly this name is not in the pool, if a source has one.
    pub fn absence(&self, name: &str) -> Option<&Problem> {
        let is_absence = |problem: &&Problem| !matches!(problem.kind, ProblemKind::AliasTaken { .. });
        if self.catalog.place(name).is_some() {
            return None;
        }
        let start = self.problems().partition_point(|problem| &*problem.tool < name);
        self.problems()[start..].iter().take_while(|problem| &*problem.tool == name).find(is_absence)
    }

    /// The tools that serve a query, best first: `select:A,B`, `+server words`, a part of a name, or words.
    /// Also those that are shown already.
    pub fn search(&self, query: &str, k: usize) -> Vec<Hit> {
        self.index().search_where(query, k, |_| true, self.catalog.sources.usage.as_deref())
    }

    /// The servers that tools come from and how many each has here, sorted by name.
    pub fn servers(&self) -> Vec<(&str, usize)> {
        let mut servers = BTreeMap::new();
        for server in self.catalog.entries.iter().filter_map(Entry::server) {
            *servers.entry(server).or_default() += 1;
        }
        servers.into_iter().collect()
    }

    /// What a model or a person is told where a query finds nothing: where to look instead.
    pub fn instead(&self, query: &str) -> String {
        let servers = self.nearest_servers(query, MOST_SERVERS);
        let named: Vec<String> =
            servers.iter().map(|(server, tools)| format!("{server} ({tools})")).collect();
        let nearest = match named.len() {
            0 => String::new(),
            _ => format!(
                " The nearest servers, with how many tools each has: {}. `+server` alone shows what one has.",
                named.join(", ")
            ),
        };
        match query.trim().strip_prefix("select:") {
            Some(names) => format!("{}{nearest}", self.instead_of(names)),
            None => format!("try other words for the function.{nearest}"),
        }
    }

    /// The same for tools that were named.
    fn instead_of(&self, names: &str) -> String {
        let told = names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(|name| {
            let near = self.nearest(name, MOST_NAMES).join(" or ");
            let name: String = name.chars().take(80).collect();
            match near.is_empty() {
                true => format!("there is no tool `{}`", name.escape_debug()),
                false => format!("there is no tool `{}`, did you mean {near}?", name.escape_debug()),
            }
        });
        let told: Vec<String> = told.take(MOST_SERVERS).collect();
        format!("{}; or search by words for the function.", told.join("; "))
    }

    /// The servers that are most like a word of a query, then the largest; at most so many. For a query that finds
    /// nothing.
    pub fn nearest_servers(&self, query: &str, most: usize) -> Vec<(&str, usize)> {
        nearest_servers(query, self.servers().into_iter(), most)
    }

    /// The index behind [`search`](Pool::search), made when it is first needed.
    pub fn index(&self) -> &SearchIndex {
        self.catalog.sources.index(&self.catalog.entries)
    }
}

// Sessions hand pools to the tasks of their calls.
const _: fn() = || {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Pool>();
};

/// Looking at all of them.
impl Pool {
    /// What the model is shown, in the order in which it must be sent.
    pub fn offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.shown().map(Entry::offer)
    }

    /// All tools, deferred ones marked as such whether they were loaded or not: for an API that keeps deferred tools
    /// itself. Loading changes nothing of it.
    pub fn all_offers(&self) -> impl Iterator<Item = Offer<'_>> {
        self.catalog.entries.iter().map(Entry::offer)
    }

    /// The tools behind [`offers`](Pool::offers), in the same order.
    pub fn shown(&self) -> impl Iterator<Item = &Entry> {
        self.catalog.entries.iter().filter(|entry| !entry.is_deferred()).chain(&self.loaded)
    }

    /// The tools of which the model knows at most the name, sorted by name.
    pub fn deferred(&self) -> impl Iterator<Item = &Entry> {
        self.entries().filter(|entry| entry.is_deferred())
    }

    /// All tools, sorted by name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        (0..self.len()).map(|place| self.entry(place))
    }

    /// How many tools there are, deferred ones too.
    pub fn len(&self) -> usize {
        self.catalog.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A hash of everything that is shown, and of the names of what is deferred: 32 hexadecimal digits, the same in
    /// every process. Two pools with one fingerprint give the same requests.
    pub fn fingerprint(&self) -> &str {
        self.fingerprint.get_or_init(|| {
            let mut hash = self.catalog.hash().clone();
            self.loaded.iter().for_each(|entry| add_offer(&mut hash, &entry.offer()));
            hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
        })
    }

    /// What is not in the pool, and why; sorted by name.
    pub fn problems(&self) -> &[Problem] {
        &self.catalog.problems
    }
}

impl Pool {
    /// The pool of a catalog in which these tools were loaded. Names that are unknown or shown anyway do nothing.
    pub(super) fn new(catalog: Arc<Catalog>, names: &[String]) -> Pool {
        let (mut loaded, mut places) = (Vec::new(), Vec::<(usize, usize)>::new());
        for place in names.iter().filter_map(|name| catalog.place(name)) {
            let at = places.partition_point(|(other, _)| *other < place);
            let is_new = places.get(at).is_none_or(|(other, _)| *other != place);
            if is_new && catalog.entries[place].is_deferred() {
                places.insert(at, (place, loaded.len()));
                loaded.push(catalog.entries[place].loaded());
            }
        }
        Pool { catalog, loaded, places, fingerprint: OnceLock::new() }
    }

    fn entry(&self, place: usize) -> &Entry {
        let entry = &self.catalog.entries[place];
        if !entry.is_deferred() {
            return entry;
        }
        match self.places.binary_search_by_key(&place, |(place, _)| *place) {
            Ok(at) => &self.loaded[self.places[at].1],
            Err(_) => entry,
        }
    }
}

impl Catalog {
    /// `entries` are sorted by name, of which there are no two alike.
    pub(super) fn new(
        entries: Vec<Entry>,
        aliases: Vec<(&'static str, usize)>,
        problems: Vec<Problem>,
        sources: Sources,
    ) -> Catalog {
        Catalog { entries, aliases, problems, sources, hash: OnceLock::new() }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.entries.binary_search_by(|entry| entry.name().cmp(name)).ok()
    }

    /// The part of the fingerprint that loading does not change.
    fn hash(&self) -> &Sha256 {
        self.hash.get_or_init(|| {
            let mut hash = Sha256::new();
            for entry in self.entries.iter().filter(|entry| !entry.is_deferred()) {
                add_offer(&mut hash, &entry.offer());
            }
            for entry in self.entries.iter().filter(|entry| entry.is_deferred()) {
                add(&mut hash, entry.name());
            }
            hash
        })
    }
}

fn add_offer(hash: &mut Sha256, offer: &Offer<'_>) {
    let output = offer.output.map_or("", |schema| schema.text());
    for text in [offer.name, offer.title, offer.prompt, offer.schema.text(), output] {
        add(hash, text);
    }
}

/// With its length, so that a text cannot run over into the next.
fn add(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shown().map(Entry::name)).finish()
    }
}
