//! Whose schema waits until it is searched for?
//!
//! Schemas are paid for in every request, whether they are used or not. Above a threshold the model sees only the
//! names of most tools and finds the rest by ToolSearch. Without a ToolSearch nothing is deferred, because nothing
//! could be found again.

use std::sync::Arc;

use haft_tool::Load;

use super::{Offer, entry::Definition, toolset::is_like};

/// The tool that finds deferred tools. It is never deferred itself.
pub const TOOL_SEARCH: &str = "ToolSearch";

/// How much may be shown before tools are deferred.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// So many tools.
    pub count: usize,
    /// So large a share of the context window: 0.1 is a tenth.
    pub share: f64,
    /// The tokens of the context window.
    pub window: usize,
}

impl Thresholds {
    /// 60 tools, or a tenth of 200,000 tokens.
    pub const DEFAULT: Thresholds = Thresholds { count: 60, share: 0.1, window: 200_000 };
    /// Only tools that ask for it are deferred.
    pub const OFF: Thresholds = Thresholds { count: usize::MAX, share: f64::INFINITY, window: usize::MAX };

    fn tokens(&self) -> usize {
        (self.share * self.window as f64) as usize // saturates
    }
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds::DEFAULT
    }
}

/// What a model sees of tools that are deferred, and which never are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loading {
    /// Names, wildcards and servers (`Grep`, `mcp__github__get_*`, `mcp__github`) whose tools are always shown.
    pub always: Vec<String>,
    /// So many bytes of the search tool's prompt may list what can be found.
    pub listing: usize,
}

impl Loading {
    /// Nothing but what tools say of themselves; 16,000 bytes, which are about 4,000 tokens.
    pub const DEFAULT: Loading = Loading { always: Vec::new(), listing: 16_000 };

    fn is_always(&self, name: &str) -> bool {
        let is_of = |server: &str| name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"));
        self.always.iter().any(|pattern| is_like(name, pattern) || is_of(pattern))
    }
}

impl Default for Loading {
    fn default() -> Loading {
        Loading::DEFAULT
    }
}

/// Roughly how many tokens an offer costs in every request.
pub fn estimate(offer: &Offer<'_>) -> usize {
    (offer.name.len() + offer.prompt.len() + offer.schema.text().len()) / 4
}

/// For each tool, whether it is deferred.
///
/// Loading a tool later never changes this: what was shown stays shown, what was loaded is appended.
pub(super) fn defer(tools: &[Arc<Definition>], thresholds: &Thresholds, loading: &Loading) -> Vec<bool> {
    if !tools.iter().any(|tool| &**tool.name() == TOOL_SEARCH) {
        return vec![false; tools.len()];
    }
    let asks_for = |tool: &Definition, load| asks_for(tool, load) && !loading.is_always(tool.name());
    let mut deferred: Vec<bool> = tools.iter().map(|tool| asks_for(tool, Load::Deferred)).collect();
    let steps: [fn(&Definition) -> bool; 2] = [Definition::is_external, |_| true];
    for may_wait in steps {
        if !is_over(tools, &deferred, thresholds) {
            break;
        }
        for (tool, deferred) in tools.iter().zip(&mut deferred) {
            *deferred |= asks_for(tool, Load::Auto) && may_wait(tool);
        }
    }
    deferred
}

fn asks_for(tool: &Definition, load: Load) -> bool {
    &**tool.name() != TOOL_SEARCH && tool.spec().loading() == load
}

fn is_over(tools: &[Arc<Definition>], deferred: &[bool], thresholds: &Thresholds) -> bool {
    let shown = || tools.iter().zip(deferred).filter(|(_, deferred)| !**deferred).map(|(tool, _)| tool);
    // Counting comes first: it needs no schema, and most large pools are over by their count.
    if shown().count() > thresholds.count {
        return true;
    }
    let most = thresholds.tokens();
    if most == usize::MAX {
        return false;
    }
    let mut total = 0;
    shown().any(|tool| {
        total += estimate(&tool.offer(false));
        total > most
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{LiveSource, Source, testing};

    /// Tools as `Name`, `Name!` (always), `Name?` (deferred); those of the second list are external.
    #[track_caller]
    fn check(thresholds: Thresholds, own: &str, external: &str, expected: &str) {
        check_loading(&Loading::DEFAULT, thresholds, own, external, expected);
    }

    #[track_caller]
    fn check_loading(loading: &Loading, thresholds: Thresholds, own: &str, external: &str, expected: &str) {
        let definitions = |source: &dyn Source, names: &str| -> Vec<_> {
            let tools = names.split_whitespace().map(testing::loading);
            tools.map(|tool| Arc::new(Definition::new(source, tool))).collect()
        };
        let mut tools = definitions(&LiveSource::new("own"), own);
        tools.extend(definitions(&LiveSource::new("mcp:s").in_namespace("s"), external));
        let deferred = defer(&tools, &thresholds, loading);
        let shown = tools.iter().zip(deferred).filter(|(_, deferred)| !deferred);
        let shown: Vec<_> = shown.map(|(tool, _)| tool.name().rsplit("__").next().unwrap()).collect();
        assert_eq!(shown.join(" "), expected);
    }

    fn count(count: usize) -> Thresholds {
        Thresholds { count, ..Thresholds::OFF }
    }

    #[test]
    fn without_a_search_everything_is_shown() {
        check(count(1), "A B? C!", "x y?", "A B C x y");
    }

    #[test]
    fn below_the_thresholds_only_what_asks_for_it_waits() {
        check(Thresholds::OFF, "A B? C! ToolSearch", "x y?", "A C ToolSearch x");
        check(count(4), "A B? C! ToolSearch", "x y?", "A C ToolSearch x");
    }

    #[test]
    fn external_tools_wait_first_then_the_others() {
        check(count(3), "A C! ToolSearch", "x y z!", "C ToolSearch z");
        check(count(4), "A C! ToolSearch", "x y z!", "A C ToolSearch z");
        check(count(5), "A C! ToolSearch", "x y z!", "A C ToolSearch z");
        check(count(6), "A C! ToolSearch", "x y z!", "A C ToolSearch x y z");
    }

    #[test]
    fn if_that_is_not_enough_all_but_the_always_loaded_wait() {
        check(count(2), "A B C! ToolSearch", "x", "C ToolSearch");
        check(count(0), "ToolSearch", "", "ToolSearch");
        check(count(0), "ToolSearch? A!", "", "ToolSearch A");
    }

    #[test]
    fn what_is_named_is_always_shown() {
        let check = |always: &str, expected: &str| {
            let loading = Loading { always: vec![always.to_owned()], ..Loading::DEFAULT };
            check_loading(&loading, count(0), "A B? ToolSearch", "x y?", expected);
        };
        check("A", "A ToolSearch");
        check("B", "B ToolSearch");
        check("mcp__s", "ToolSearch x y");
        check("mcp__s__*", "ToolSearch x y");
        check("mcp__s__y", "ToolSearch y");
        check("mcp__", "ToolSearch");
    }

    #[test]
    fn tokens_count_as_well() {
        // Each tool of the test costs about 10 tokens: name, prompt and the schema of an empty object.
        let tokens = |window| Thresholds { share: 0.1, window, count: usize::MAX };
        check(tokens(1000), "A B ToolSearch", "x y", "A B ToolSearch x y");
        check(tokens(400), "A B ToolSearch", "x y", "A B ToolSearch");
        check(tokens(200), "A B ToolSearch", "x y", "ToolSearch");
    }
}
