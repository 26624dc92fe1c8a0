//! Host rules: compared by label, in the one form that a host has however it is written.

use std::{collections::HashMap, net::Ipv6Addr};

use haft_tool::host_in_one_form;

use super::{
    decide::Verdict,
    rule::HostPattern,
    rules::{Hits, RuleId},
};

#[derive(Debug, Default)]
pub(super) struct HostRules {
    any: Hits,
    exact: HashMap<String, Hits>,
    below: HashMap<String, Hits>,
}

impl HostRules {
    pub(super) fn add(&mut self, pattern: HostPattern, verdict: Verdict, rule: RuleId) {
        let hits = match pattern {
            HostPattern::Any => &mut self.any,
            HostPattern::Exact(name) => self.exact.entry(name).or_default(),
            HostPattern::Below(name) => self.below.entry(name).or_default(),
        };
        hits.add(verdict, rule);
    }

    pub(super) fn find(&self, host: &str) -> Hits {
        let mut hits = self.any;
        if self.exact.is_empty() && self.below.is_empty() {
            return hits;
        }
        let host = host_in_one_form(host);
        hits.merge(self.exact.get(&*host).copied());
        for (dot, _) in host.match_indices('.').filter(|(dot, _)| *dot > 0) {
            hits.merge(self.below.get(&host[dot + 1..]).copied());
        }
        hits
    }
}

impl HostRules {
    /// The allow rule that names this very host.
    pub(super) fn naming(&self, host: &str) -> Option<RuleId> {
        self.exact.get(&*host_in_one_form(host))?.allow
    }
}

/// The address in `[::1]`.
pub(super) fn ipv6(host: &str) -> Option<Ipv6Addr> {
    host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}
