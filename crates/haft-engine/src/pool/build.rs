//! From sources to a snapshot, and to the next one.
//!
//! sources → gates → availability → what the policy hides → toolset → pins → collisions → deferral → order. A tool that is
//! stopped on this way is reported in [`Pool::problems`].
//!
//! The builder is asked at the top of every turn and mostly has nothing to do: it looks at a number per source. What
//! was made of a source's tools is kept as long as the source does not change, and what was made of a tool (its
//! compiled schema above all) as long as the source has the same tool.

use std::{
    collections::{BTreeMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use haft_tool::Spec;

use super::{
    Filter, Loading, Pins, Pool, Source, Thresholds,
    contents::Contents,
    search::Usage,
    select::{Gate, Selection},
    snapshot::Catalog,
};

/// Makes pools, one after another. A clone shares what was made so far, so that sessions can begin from one builder.
#[derive(Clone)]
pub struct PoolBuilder {
    sources: Vec<Arc<dyn Source>>,
    gates: Vec<Gate>,
    pins: Option<Arc<dyn Pins>>,
    usage: Option<Arc<dyn Usage>>,
    contents: Vec<Arc<Contents>>,
    last: Option<Last>,
}

/// What a session wants to see of the sources.
#[derive(Clone, Copy)]
pub struct PoolView<'a> {
    /// Why the policy hides a tool from the model altogether; `None` if it does not.
    pub hides: &'a dyn Fn(&str, &Spec) -> Option<String>,
    /// A number that changes whenever [`hides`](PoolView::hides) would answer differently.
    pub hides_version: u64,
    /// The tools that are wanted; `None` for all.
    pub toolset: Option<&'a Filter>,
    /// The deferred tools that were loaded so far, by name, in that order.
    pub loaded: &'a [String],
    /// When tools are deferred.
    pub thresholds: &'a Thresholds,
    /// Which never are, and what is said of those that are.
    pub loading: &'a Loading,
    /// Whether an environment variable is set, and not to nothing.
    pub env: &'a dyn Fn(&str) -> bool,
}

static USUAL: Loading = Loading::DEFAULT;

impl PoolView<'_> {
    /// Nothing is hidden, every variable is set, nothing is loaded, and the thresholds are the usual ones.
    pub fn unrestricted() -> PoolView<'static> {
        PoolView {
            hides: &|_, _| None,
            hides_version: 0,
            toolset: None,
            loaded: &[],
            thresholds: &Thresholds::DEFAULT,
            loading: &USUAL,
            env: &|_| true,
        }
    }
}

#[derive(Clone)]
struct Last {
    key: Key,
    env: BTreeMap<&'static str, bool>,
    catalog: Arc<Catalog>,
    loaded: Vec<String>,
    pool: Arc<Pool>,
}

/// What a catalog depends on, besides the environment variables that it asked for.
#[derive(Clone, PartialEq)]
struct Key {
    versions: Vec<u64>,
    gates: Vec<bool>,
    pins: u64,
    hides: u64,
    toolset: Option<Filter>,
    thresholds: Thresholds,
    loading: Loading,
}

impl Key {
    /// Whether nothing has changed. Asked every turn, so nothing is made for it.
    fn holds(&self, sources: &[Arc<dyn Source>], gates: &[Gate], pins: u64, view: &PoolView<'_>) -> bool {
        self.hides == view.hides_version
            && self.pins == pins
            && self.thresholds == *view.thresholds
            && self.loading == *view.loading
            && self.toolset.as_ref() == view.toolset
            && self.versions.iter().copied().eq(sources.iter().map(|source| version_of(&**source)))
            && self.gates.iter().copied().eq(gates.iter().map(|gate| (gate.is_open)()))
    }
}

impl PoolBuilder {
    /// A builder for these sources. Where two have a tool of one name, the earlier wins.
    pub fn new(sources: impl IntoIterator<Item = Arc<dyn Source>>) -> PoolBuilder {
        let sources = sources.into_iter().collect();
        PoolBuilder { sources, gates: Vec::new(), pins: None, usage: None, contents: Vec::new(), last: None }
    }

    /// Keeps tools out of the pool while `is_open` says no. `tools` is a name or a wildcard; the question is asked
    /// once a turn and should be cheap.
    #[must_use]
    pub fn gate(
        mut self,
        tools: impl Into<String>,
        why: impl Into<String>,
        is_open: impl Fn() -> bool + Send + Sync + 'static,
    ) -> PoolBuilder {
        self.gates.push(Gate { tools: tools.into(), why: why.into(), is_open: Arc::new(is_open) });
        self.last = None;
        self
    }

    /// Keeps out the tools of servers that say something else of themselves than when they were first permitted.
    #[must_use]
    pub fn pins(mut self, pins: Arc<dyn Pins>) -> PoolBuilder {
        self.pins = Some(pins);
        self.last = None;
        self
    }

    /// Lets the tools that were called before rise a little in what a search finds.
    #[must_use]
    pub fn usage(mut self, usage: Arc<dyn Usage>) -> PoolBuilder {
        self.usage = Some(usage);
        self.last = None;
        self
    }

    fn pins_version(&self) -> u64 {
        self.pins.as_ref().map_or(0, |pins| pins.version())
    }

    /// Adds a source, after the others.
    pub fn add(&mut self, source: Arc<dyn Source>) {
        self.sources.push(source);
    }

    /// Removes the source of this id. Its tools are gone from the next snapshot.
    pub fn remove(&mut self, id: &str) -> Option<Arc<dyn Source>> {
        let at = self.sources.iter().position(|source| source.id() == id)?;
        if at < self.contents.len() {
            self.contents.remove(at);
        }
        self.last = None;
        Some(self.sources.remove(at))
    }

    /// Reads the sources ahead, so that clones of this builder share what is made of their tools.
    pub fn read(&mut self) {
        let versions: Vec<u64> = self.sources.iter().map(|source| version_of(&**source)).collect();
        self.read_sources(&versions);
    }

    /// Forgets what tools said about their availability: the next snapshot asks them again.
    pub fn refresh(&mut self) {
        self.last = None;
    }

    /// The pool as it is now. The very same one if nothing has changed since the last.
    pub fn snapshot(&mut self, view: &PoolView<'_>) -> Arc<Pool> {
        let pins = self.pins_version();
        if let Some(last) = &mut self.last
            && last.key.holds(&self.sources, &self.gates, pins, view)
            && last.env.iter().all(|(name, was)| (view.env)(name) == *was)
        {
            if last.loaded != view.loaded {
                last.pool = Arc::new(Pool::new(Arc::clone(&last.catalog), view.loaded));
                last.loaded = view.loaded.to_vec();
            }
            return Arc::clone(&last.pool);
        }
        let key = self.key(view);
        self.rebuild(key, view)
    }

    fn key(&self, view: &PoolView<'_>) -> Key {
        Key {
            versions: self.sources.iter().map(|source| version_of(&**source)).collect(),
            gates: self.gates.iter().map(|gate| (gate.is_open)()).collect(),
            pins: self.pins_version(),
            hides: view.hides_version,
            toolset: view.toolset.cloned(),
            thresholds: *view.thresholds,
            loading: view.loading.clone(),
        }
    }

    fn rebuild(&mut self, key: Key, view: &PoolView<'_>) -> Arc<Pool> {
        self.read_sources(&key.versions);
        let closed: Vec<&Gate> =
            self.gates.iter().zip(&key.gates).filter(|(_, open)| !**open).map(|(gate, _)| gate).collect();
        let mut selection = Selection::new(view, closed, self.pins.as_deref());
        let mut ids = HashSet::new();
        for (source, contents) in self.sources.iter().zip(&self.contents) {
            if ids.insert(source.id()) {
                selection.take(contents);
            } else {
                selection.refuse_source(source.id());
            }
        }
        let env = selection.env().clone();
        let catalog = Arc::new(selection.into_catalog(self.usage.clone()));
        let pool = Arc::new(Pool::new(Arc::clone(&catalog), view.loaded));
        let loaded = view.loaded.to_vec();
        self.last = Some(Last { key, env, catalog, loaded, pool: Arc::clone(&pool) });
        pool
    }

    /// `versions` were asked for before the tools: a change in between is seen next time, not lost.
    fn read_sources(&mut self, versions: &[u64]) {
        for (at, (source, &version)) in self.sources.iter().zip(versions).enumerate() {
            match self.contents.get_mut(at) {
                Some(known) if known.version == version => {}
                Some(known) => *known = Arc::new(Contents::read(&**source, version, &known.definitions)),
                None => self.contents.push(Arc::new(Contents::read(&**source, version, &[]))),
            }
        }
    }
}

/// The version of a source. One that breaks over it is not read again.
fn version_of(source: &dyn Source) -> u64 {
    catch_unwind(AssertUnwindSafe(|| source.version())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::pool::{
        Entry, LiveSource, Problem, TOOL_SEARCH,
        testing::{loading, named, plain, raw},
    };

    /// Sources as text: `own: A B | mcp:s(s): x y`. The name in brackets is the namespace.
    fn sources(text: &str) -> Vec<Arc<dyn Source>> {
        text.split('|').map(|source| Arc::new(source_of(source)) as _).collect()
    }

    fn source_of(text: &str) -> LiveSource {
        let (head, names) = text.trim().rsplit_once(": ").unwrap();
        let source = match head.trim_end_matches(')').split_once('(') {
            Some((id, namespace)) => LiveSource::new(id).in_namespace(namespace),
            None => LiveSource::new(head),
        };
        source.replace_all(names.split_whitespace().map(loading));
        source
    }

    fn off() -> PoolView<'static> {
        PoolView { thresholds: &Thresholds::OFF, ..PoolView::unrestricted() }
    }

    fn shown(pool: &Pool) -> String {
        pool.shown().map(Entry::name).collect::<Vec<_>>().join(" ")
    }

    fn problems(pool: &Pool) -> Vec<String> {
        pool.problems().iter().map(Problem::to_string).collect()
    }

    #[track_caller]
    fn check(text: &str, view: &PoolView<'_>, expected: &str, expected_problems: &[&str]) {
        let pool = PoolBuilder::new(sources(text)).snapshot(view);
        assert_eq!(shown(&pool), expected);
        assert_eq!(problems(&pool), expected_problems);
    }

    /// A request of the kind that every dialect makes.
    fn json_of(pool: &Pool) -> String {
        let tool = |entry: &Entry| {
            let (name, offer) = (entry.name(), entry.offer());
            json!({ "name": name, "description": offer.prompt, "input_schema": offer.schema.value() })
        };
        serde_json::to_string(&pool.shown().map(tool).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_source_that_has_nothing_says_why() {
        struct Silent;
        impl Source for Silent {
            fn id(&self) -> &str {
                "mcp:s"
            }
            fn tools(&self) -> Arc<[haft_tool::SharedTool]> {
                Arc::new([])
            }
            fn version(&self) -> u64 {
                0
            }
            fn problem(&self) -> Option<String> {
                Some("it does not answer".to_owned())
            }
        }
        let pool = PoolBuilder::new([Arc::new(Silent) as _]).snapshot(&off());
        assert_eq!(problems(&pool), [" (mcp:s): not available: it does not answer"]);
    }

    #[test]
    fn tools_are_sorted_by_name_and_external_ones_carry_their_server() {
        check(
            "own: Read Bash | mcp:git hub(git hub): b a",
            &off(),
            "Bash Read mcp__git_hub_58db89fcab__a mcp__git_hub_58db89fcab__b",
            &[],
        );
    }

    #[test]
    fn of_two_tools_of_one_name_the_earlier_source_has_it() {
        check(
            "own: A | more: A B",
            &off(),
            "A B",
            &["A (more): left out: source `own` has a tool of this name"],
        );
        check(
            "one(s): x | two(s): x",
            &off(),
            "mcp__s__x",
            &["mcp__s__x (two): left out: source `one` has a tool of this name"],
        );
    }

    #[test]
    fn mistakes_of_a_source_are_reported_and_the_rest_of_it_is_kept() {
        check(
            "own: A B A mcp__x__y",
            &off(),
            "A B",
            &[
                "A (own): left out: the source has another tool of this name",
                "mcp__x__y (own): left out: names with mcp__ are for tools of external servers",
            ],
        );
        check("own: A | own: B", &off(), "A", &[" (own): left out: an earlier source has the same id"]);
    }

    #[test]
    fn the_policy_hides_tools_and_the_toolset_chooses() {
        let hides = |name: &str, _: &Spec| (name == "Bash").then(|| "deny rule `Bash`".to_owned());
        let toolset = Filter::of(["Bash", "Read", "mcp__s__*"]);
        let view = PoolView { hides: &hides, toolset: Some(&toolset), ..off() };
        check(
            "own: Bash Read Edit | mcp:s(s): x",
            &view,
            "Read mcp__s__x",
            &["Bash (own): hidden: deny rule `Bash`", "Edit (own): not in the toolset"],
        );
    }

    #[test]
    fn absence_says_why() {
        let hides = |name: &str, _: &Spec| (name == "Bash").then(|| "deny rule `Bash`".to_owned());
        let pool = PoolBuilder::new(sources("own: Bash Read")).snapshot(&PoolView { hides: &hides, ..off() });
        let why = |name| pool.absence(name).map(|problem| problem.kind.to_string());
        assert_eq!(why("Bash").unwrap(), "hidden: deny rule `Bash`");
        assert_eq!((why("Read"), why("Nothing")), (None, None));
    }

    #[test]
    fn a_missing_variable_keeps_a_tool_out_until_it_is_set() {
        let needs = named("Search").requires_env(&["SEARCH_KEY"]);
        let source = LiveSource::new("own");
        source.replace_all([
            raw(needs.clone(), "", json!({})),
            raw(needs.named("Again".into()), "", json!({})),
        ]);
        let mut builder = PoolBuilder::new([Arc::new(source) as _]);
        let asked = AtomicUsize::new(0);
        let missing = |_: &str| asked.fetch_add(1, Ordering::Relaxed) > 99;
        let pool = builder.snapshot(&PoolView { env: &missing, ..off() });
        assert_eq!(
            problems(&pool),
            [
                "Again (own): not available: SEARCH_KEY is not set",
                "Search (own): not available: SEARCH_KEY is not set",
            ]
        );
        assert_eq!(asked.load(Ordering::Relaxed), 1, "each variable is looked at once");
        assert_eq!(shown(&builder.snapshot(&off())), "Again Search");
    }

    #[test]
    fn a_gate_is_asked_every_turn() {
        let open = Arc::new(AtomicBool::new(false));
        let answer = Arc::clone(&open);
        let builder = PoolBuilder::new(sources("own: Lsp LspFix Read"));
        let mut builder = builder.gate("Lsp*", "no language server", move || answer.load(Ordering::Relaxed));
        let pool = builder.snapshot(&off());
        assert_eq!(shown(&pool), "Read");
        assert_eq!(problems(&pool)[0], "Lsp (own): switched off: no language server");
        open.store(true, Ordering::Relaxed);
        assert_eq!(shown(&builder.snapshot(&off())), "Lsp LspFix Read");
    }

    #[test]
    fn an_alias_never_shadows_a_name_and_the_first_source_has_it() {
        let tool = |name, aliases| raw(named(name).aliases(aliases), "", json!({}));
        let one = LiveSource::new("one");
        one.replace_all([tool("Read", &["read", "cat"]), tool("Bash", &["shell", "Read"])]);
        let two = LiveSource::new("two");
        two.replace_all([tool("Aaa", &["cat", "dog"])]);
        let outside = LiveSource::new("mcp:s").in_namespace("s");
        outside.replace_all([tool("x", &["bird"])]);
        let pool = PoolBuilder::new([Arc::new(one) as _, Arc::new(two) as _, Arc::new(outside) as _])
            .snapshot(&off());
        let find = |name| pool.find(name).map(Entry::name);
        assert_eq!(find("Read"), Some("Read"));
        assert_eq!((find("cat"), find("shell"), find("dog")), (Some("Read"), Some("Bash"), Some("Aaa")));
        assert_eq!(find("bird"), None, "a server's tool gets no alias");
        assert_eq!(
            problems(&pool),
            ["Aaa (two): the alias `cat` leads to Read", "Bash (one): the alias `Read` leads to Read",]
        );
    }

    #[test]
    fn the_same_pool_comes_back_while_nothing_changes() {
        let source = Arc::new(source_of("own: A B"));
        let mut builder = PoolBuilder::new([Arc::clone(&source) as _]);
        let toolset = || Filter::of(["all"]);
        let mut snapshot = |version| {
            builder.snapshot(&PoolView { toolset: Some(&toolset()), hides_version: version, ..off() })
        };
        let first = snapshot(0);
        assert!(Arc::ptr_eq(&first, &snapshot(0)), "an equal toolset is the same toolset");
        assert!(!Arc::ptr_eq(&first, &snapshot(1)));
        source.add(plain("C", "")).unwrap();
        assert_eq!(shown(&snapshot(1)), "A B C");
        assert_eq!(shown(&first), "A B", "a snapshot never changes");
    }

    #[test]
    fn what_was_made_of_a_tool_is_kept_while_the_source_has_it() {
        let source = Arc::new(source_of("own: A B"));
        let mut builder = PoolBuilder::new([Arc::clone(&source) as _]);
        let before = builder.snapshot(&off());
        source.remove("B");
        let after = builder.snapshot(&off());
        let checkers =
            [&before, &after].map(|pool| std::ptr::from_ref(pool.find("A").unwrap().checker().unwrap()));
        assert_eq!(checkers[0], checkers[1]);
    }

    #[test]
    fn sources_come_and_go() {
        let mut builder = PoolBuilder::new(sources("own: A | more: B"));
        assert_eq!(shown(&builder.snapshot(&off())), "A B");
        builder.add(Arc::new(source_of("third: C")));
        assert_eq!(shown(&builder.snapshot(&off())), "A B C");
        assert!(builder.remove("own").is_some() && builder.remove("own").is_none());
        assert_eq!(shown(&builder.snapshot(&off())), "B C");
    }

    #[test]
    fn loading_appends_and_changes_nothing_before() {
        let mut builder = PoolBuilder::new(sources("own: ToolSearch Read! | mcp:s(s): a b c"));
        let thresholds = Thresholds { count: 2, ..Thresholds::OFF };
        let mut load = |loaded: &[&str]| {
            let loaded: Vec<_> = loaded.iter().map(|&name| name.to_owned()).collect();
            builder.snapshot(&PoolView { thresholds: &thresholds, loaded: &loaded, ..off() })
        };
        assert_eq!(shown(&load(&[])), "Read ToolSearch");
        assert_eq!(shown(&load(&["mcp__s__c"])), "Read ToolSearch mcp__s__c");
        let pool = load(&["mcp__s__c", "mcp__s__a", "mcp__s__c", "Read", "unknown"]);
        assert_eq!(shown(&pool), "Read ToolSearch mcp__s__c mcp__s__a");
        let deferred: Vec<_> = pool.deferred().map(Entry::name).collect();
        assert_eq!(deferred, ["mcp__s__b"]);
        assert!(
            !pool.find("mcp__s__a").unwrap().is_deferred() && pool.find("mcp__s__b").unwrap().is_deferred()
        );
        assert_eq!(pool.len(), 5);
    }

    #[test]
    fn the_bytes_of_a_pool_are_these() {
        let path =
            json!({ "type": "object", "properties": { "path": { "type": "string" } }, "required": ["path"] });
        let own = LiveSource::new("own");
        own.replace_all([
            raw(named("Read"), "Reads a file.", path),
            plain("Edit", "Changes \"it\"."),
            plain(TOOL_SEARCH, ""),
        ]);
        let outside = LiveSource::new("mcp:s").in_namespace("s");
        outside.replace_all([plain("z", "Last."), plain("y", "Never.")]);
        let mut builder = PoolBuilder::new([Arc::new(own) as _, Arc::new(outside) as _]);
        let thresholds = Thresholds { count: 3, ..Thresholds::OFF };
        let view = PoolView { thresholds: &thresholds, loaded: &["mcp__s__z".to_owned()], ..off() };
        let pool = builder.snapshot(&view);
        insta::assert_snapshot!(json_of(&pool), @r#"[{"name":"Edit","description":"Changes \"it\".","input_schema":{"type":"object","properties":{}}},{"name":"Read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},{"name":"ToolSearch","description":"\n\nTools that can be found, by name:\nmcp__s__y\nmcp__s__z","input_schema":{"type":"object","properties":{}}},{"name":"mcp__s__z","description":"Last.","input_schema":{"type":"object","properties":{}}}]"#);
        insta::assert_snapshot!(pool.fingerprint(), @"04890afc81830c2a35317141ddf82451");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_order_in_which_a_source_lists_its_tools_does_not_matter(
            order in Just((0..40usize).collect::<Vec<_>>()).prop_shuffle(),
            count in 0..50usize,
        ) {
            let thresholds = Thresholds { count, ..Thresholds::OFF };
            let build = |order: &[usize]| {
                let all: Vec<_> = order.iter().map(|n| format!("t{n}")).collect();
                let (own, outside) = (all.join(" "), all.join(" "));
                let text = format!("own: {own} ToolSearch | mcp:s(s): {outside}");
                let loaded = ["mcp__s__t7".to_owned(), "t3".to_owned()];
                let view = PoolView { thresholds: &thresholds, loaded: &loaded, ..off() };
                PoolBuilder::new(sources(&text)).snapshot(&view)
            };
            let sorted: Vec<_> = (0..40).collect();
            let (one, other) = (build(&order), build(&sorted));
            prop_assert_eq!(json_of(&one), json_of(&other));
            prop_assert_eq!(one.fingerprint(), other.fingerprint());
        }

        #[test]
        fn loading_only_appends(
            loaded in proptest::collection::vec((0..30usize, any::<bool>()), 0..20),
            count in 0..70usize,
        ) {
            let names = |range: std::ops::Range<usize>| range.map(|n| format!("t{n}")).collect::<Vec<_>>().join(" ");
            let text = format!("own: {} ToolSearch | mcp:s(s): {}", names(0..20), names(0..30));
            let mut builder = PoolBuilder::new(sources(&text));
            let thresholds = Thresholds { count, ..Thresholds::OFF };
            let name = |(n, external): &(usize, bool)| if *external { format!("mcp__s__t{n}") } else { format!("t{n}") };
            let loaded: Vec<_> = loaded.iter().map(name).collect();
            let mut before = String::from("[]");
            for upto in 0..=loaded.len() {
                let view = PoolView { thresholds: &thresholds, loaded: &loaded[..upto], ..off() };
                let now = json_of(&builder.snapshot(&view));
                prop_assert!(now.starts_with(before.trim_end_matches(']')));
                before = now;
            }
        }
    }
}
