//! Which tools of the sources get into a pool, and under which names?
//!
//! The steps of one build, in their order: gates, availability, what the policy hides, toolset, pins, collisions,
//! aliases, deferral. Nothing is remembered here; that is the builder's job.

use std::{collections::BTreeMap, sync::Arc};

use haft_tool::Availability;

use super::{
    Entry, Pins, PoolView, Problem, ProblemKind, contents::Contents, deferral, entry::Definition,
    found::Sources, listing, pins, search::Usage, snapshot::Catalog, toolset::is_like,
};

/// A question that must be answered with yes for some tools to be offered.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) tools: String,
    pub(super) why: String,
    pub(super) is_open: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// A catalog in the making.
pub(super) struct Selection<'a> {
    view: &'a PoolView<'a>,
    /// The gates that are closed.
    closed: Vec<&'a Gate>,
    pins: Option<&'a dyn Pins>,
    /// What the environment answered: each variable is looked at once.
    env: BTreeMap<&'static str, bool>,
    sources: Vec<Arc<Contents>>,
    /// In the order of the sources, and by name within each.
    kept: Vec<Arc<Definition>>,
    problems: Vec<Problem>,
}

impl<'a> Selection<'a> {
    pub(super) fn new(
        view: &'a PoolView<'a>,
        closed: Vec<&'a Gate>,
        pins: Option<&'a dyn Pins>,
    ) -> Selection<'a> {
        let (sources, kept, problems) = (Vec::new(), Vec::new(), Vec::new());
        Selection { view, closed, pins, env: BTreeMap::new(), sources, kept, problems }
    }

    /// Looks at the tools of one source.
    pub(super) fn take(&mut self, contents: &Arc<Contents>) {
        self.sources.push(Arc::clone(contents));
        self.problems.extend_from_slice(&contents.problems);
        for definition in &contents.definitions {
            match self.obstacle(definition) {
                None => self.kept.push(Arc::clone(definition)),
                Some(kind) => self.problems.push(problem(definition, kind)),
            }
        }
    }

    pub(super) fn refuse_source(&mut self, id: &str) {
        self.problems.push(Problem { tool: "".into(), source: id.into(), kind: ProblemKind::SameId });
    }

    /// The first thing that keeps a tool out.
    fn obstacle(&mut self, definition: &Definition) -> Option<ProblemKind> {
        let (name, spec) = (&**definition.name(), definition.spec());
        if let Some(gate) = self.closed.iter().find(|gate| is_like(name, &gate.tools)) {
            return Some(ProblemKind::Gated(gate.why.clone()));
        }
        if let Some(missing) = spec.needed_env().iter().find(|variable| !self.is_set(variable)) {
            return Some(ProblemKind::Unavailable(format!("{missing} is not set")));
        }
        if let Availability::Missing(what) = definition.tool().availability() {
            return Some(ProblemKind::Unavailable(what));
        }
        if let Some(why) = (self.view.hides)(name, spec) {
            return Some(ProblemKind::Hidden(why));
        }
        let is_wanted = self.view.toolset.is_none_or(|toolset| toolset.contains(name, spec));
        if !is_wanted {
            return Some(ProblemKind::OutsideToolset);
        }
        let changed = pins::changed(self.pins?, definition)?;
        Some(ProblemKind::Quarantined(changed))
    }

    fn is_set(&mut self, variable: &'static str) -> bool {
        *self.env.entry(variable).or_insert_with(|| (self.view.env)(variable))
    }

    /// What the environment answered so far.
    pub(super) fn env(&self) -> &BTreeMap<&'static str, bool> {
        &self.env
    }

    pub(super) fn into_catalog(mut self, usage: Option<Arc<dyn Usage>>) -> Catalog {
        let claims = self.kept.iter().filter(|kept| !kept.spec().other_names().is_empty()).cloned().collect();
        self.settle_names();
        let aliases = self.settle_aliases(claims);
        let deferred = deferral::defer(&self.kept, self.view.thresholds, self.view.loading);
        let entries = self.kept.into_iter().zip(deferred).map(|(kept, deferred)| Entry::new(kept, deferred));
        let mut entries: Vec<Entry> = entries.collect();
        listing::tell(&mut entries, self.view.loading.listing);
        self.problems.sort();
        Catalog::new(entries, aliases, self.problems, Sources::new(self.sources, usage))
    }

    /// Sorts by name; of two alike, the one of the earlier source stays.
    fn settle_names(&mut self) {
        // Stable, so that the order of the sources decides between equals.
        self.kept.sort_by(|one, other| one.name().cmp(other.name()));
        let problems = &mut self.problems;
        self.kept.dedup_by(|later, earlier| {
            let is_same = later.name() == earlier.name();
            if is_same {
                let with = Arc::clone(earlier.source());
                problems.push(problem(later, ProblemKind::Collision { with }));
            }
            is_same
        });
    }

    /// Gives out aliases in the order of the sources. A name is stronger than an alias, and a server's tools get no
    /// aliases: it could catch calls that are meant for others.
    fn settle_aliases(&mut self, claims: Vec<Arc<Definition>>) -> Vec<(&'static str, usize)> {
        let mut taken = BTreeMap::new();
        for claim in claims.iter().filter(|claim| !claim.is_external()) {
            let Some(place) = self.place(claim.name()) else { continue };
            if !Arc::ptr_eq(&self.kept[place], claim) {
                continue; // It lost its name to another.
            }
            for &alias in claim.spec().other_names() {
                let owner = self.place(alias).unwrap_or_else(|| *taken.entry(alias).or_insert(place));
                if owner != place {
                    let by = Arc::clone(self.kept[owner].name());
                    self.problems.push(problem(claim, ProblemKind::AliasTaken { alias, by }));
                }
            }
        }
        taken.into_iter().collect()
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.kept.binary_search_by(|kept| (**kept.name()).cmp(name)).ok()
    }
}

pub(super) fn problem(definition: &Definition, kind: ProblemKind) -> Problem {
    Problem { tool: Arc::clone(definition.name()), source: Arc::clone(definition.source()), kind }
}
