//! A source of which only some tools are wanted.
//!
//! One adapter serves all: read-only is `Filter::of(["readonly"])`, planning is `Filter::of(["readonly", "planning"])`,
//! and a pattern is `Filter::of(["mcp__github__get_*"])`.

use std::sync::{Arc, Mutex, PoisonError};

use haft_tool::SharedTool;

use super::{Filter, Source, mangle, search::Readings};

/// A source without the tools that a [`Filter`] leaves out.
///
/// For library users who hand a part of a source to somebody. Where the whole pool is meant, put the filter into the
/// [`PoolView`](super::PoolView): then the tools that are left out are still reported.
pub struct Filtered<S> {
    source: S,
    filter: Filter,
    // What was kept of the version that was looked at last: `tools` is asked often and must stay cheap.
    kept: Mutex<Option<(u64, Arc<[SharedTool]>)>>,
}

impl<S: Source> Filtered<S> {
    /// The tools of `source` that `filter` contains, under the names that the model will see.
    pub fn new(source: S, filter: Filter) -> Filtered<S> {
        Filtered { source, filter, kept: Mutex::new(None) }
    }

    fn keep(&self) -> Arc<[SharedTool]> {
        let is_wanted = |tool: &&SharedTool| match self.source.namespace() {
            Some(server) => self.filter.contains(&mangle(server, tool.spec().name()), tool.spec()),
            None => self.filter.contains(tool.spec().name(), tool.spec()),
        };
        self.source.tools().iter().filter(is_wanted).cloned().collect()
    }
}

impl<S: Source> Source for Filtered<S> {
    fn id(&self) -> &str {
        self.source.id()
    }
    fn namespace(&self) -> Option<&str> {
        self.source.namespace()
    }
    fn tools(&self) -> Arc<[SharedTool]> {
        // Asked before the tools: a change in between is then seen next time, not lost.
        let version = self.version();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((of, tools)) if *of == version => Arc::clone(tools),
            _ => Arc::clone(&kept.insert((version, self.keep())).1),
        }
    }
    fn version(&self) -> u64 {
        self.source.version()
    }
    fn problem(&self) -> Option<String> {
        self.source.problem()
    }
}

impl<S: Source + ?Sized> Source for Arc<S> {
    fn id(&self) -> &str {
        (**self).id()
    }
    fn namespace(&self) -> Option<&str> {
        (**self).namespace()
    }
    fn tools(&self) -> Arc<[SharedTool]> {
        (**self).tools()
    }
    fn version(&self) -> u64 {
        (**self).version()
    }
    fn problem(&self) -> Option<String> {
        (**self).problem()
    }
    fn readings(&self) -> Option<Arc<dyn Readings>> {
        (**self).readings()
    }
    fn get(&self, name: &str) -> Option<SharedTool> {
        (**self).get(name)
    }
    fn has(&self, name: &str) -> bool {
        (**self).has(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{LiveSource, testing::member};

    #[track_caller]
    fn check(filter: &[&str], expected: &str) {
        let source = LiveSource::new("mcp:git").in_namespace("git");
        source.replace_all([member("log", "readonly"), member("note", "planning"), member("push", "")]);
        let filtered = Filtered::new(source, Filter::of(filter));
        let names: Vec<_> = filtered.tools().iter().map(|tool| tool.spec().name().to_owned()).collect();
        assert_eq!(names.join(" "), expected);
        assert_eq!(filtered.has("push"), expected.contains("push"));
    }

    #[test]
    fn read_only_planning_and_pattern_are_filters() {
        check(&["readonly"], "log");
        check(&["readonly", "planning"], "log note");
        check(&["mcp__git__p*"], "push");
        check(&["!mcp__git__log"], "note push");
    }

    #[test]
    fn a_change_of_the_source_is_seen() {
        let source = Arc::new(LiveSource::new("live"));
        let filtered = Filtered::new(Arc::clone(&source), Filter::of(["readonly"]));
        assert_eq!(filtered.tools().len(), 0);
        source.add(member("A", "readonly")).unwrap();
        source.add(member("B", "")).unwrap();
        assert_eq!(filtered.tools().len(), 1);
    }
}
