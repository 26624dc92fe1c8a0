//! Rules for whole tools, by name.

use super::{
    decide::Verdict,
    rule::Name,
    rules::{Hits, RuleId},
    short::ShortMap,
};

#[derive(Debug, Default)]
pub(super) struct NameRules {
    exact: ShortMap<String, Hits>,
    prefixes: ShortMap<String, Hits>,
    /// The lengths that prefixes have: one look-up for each, however many rules there are.
    lengths: Vec<usize>,
}

impl NameRules {
    pub(super) fn add(&mut self, name: Name, verdict: Verdict, rule: RuleId) {
        let hits = match name {
            Name::Exact(name) => self.exact.entry(name).or_default(),
            Name::Prefix(prefix) => {
                if !self.lengths.contains(&prefix.len()) {
                    self.lengths.push(prefix.len());
                }
                self.prefixes.entry(prefix).or_default()
            }
        };
        hits.add(verdict, rule);
    }

    pub(super) fn find(&self, tool: &str) -> Hits {
        let mut hits = self.exact.get(tool).copied().unwrap_or_default();
        for prefix in self.lengths.iter().filter_map(|length| tool.get(..*length)) {
            hits.merge(self.prefixes.get(prefix).copied());
        }
        hits
    }
}
