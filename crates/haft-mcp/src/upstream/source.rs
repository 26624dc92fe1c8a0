//! The tools of a server in a pool.

use std::sync::{Arc, Mutex, PoisonError};

use haft_engine::pool::{Source, is_like, search::Readings};
use haft_tool::SharedTool;
use serde_json::{Map, Value};

use super::{Known, Upstream, tool::McpTool};
use crate::client::Selection;

/// A server's tools, as far as they are known and wanted.
pub(super) struct ToolsOf {
    id: String,
    upstream: Arc<Upstream>,
    made: Mutex<Made>,
}

/// What was made of the definitions, kept as long as they are the same: pools keep what they made of a tool, too.
#[derive(Default)]
struct Made {
    of: Option<Arc<Known>>,
    each: Vec<(Map<String, Value>, SharedTool)>,
    tools: Arc<[SharedTool]>,
}

impl ToolsOf {
    pub(super) fn new(upstream: Arc<Upstream>) -> ToolsOf {
        let id = format!("mcp:{}", upstream.server().name);
        ToolsOf { id, upstream, made: Mutex::default() }
    }

    fn make(&self, before: &[(Map<String, Value>, SharedTool)], known: Arc<Known>) -> Made {
        let same = |definition: &Map<String, Value>| {
            // Both are sorted by name, but a server may have a name twice: the whole must be the same.
            before.iter().find(|(old, _)| old == definition).map(|(_, tool)| tool.clone())
        };
        let selection = &self.upstream.server().tools;
        let each: Vec<_> = known
            .tools
            .iter()
            .filter(|definition| selection.offers(name(definition)))
            .map(|definition| {
                let new = || Arc::new(McpTool::new(&self.upstream, definition)) as SharedTool;
                (definition.clone(), same(definition).unwrap_or_else(new))
            })
            .collect();
        let tools = each.iter().map(|(_, tool)| tool.clone()).collect();
        Made { of: Some(known), each, tools }
    }
}

impl Source for ToolsOf {
    fn id(&self) -> &str {
        &self.id
    }

    fn namespace(&self) -> Option<&str> {
        Some(&self.upstream.server().name)
    }

    fn tools(&self) -> Arc<[SharedTool]> {
        let known = self.upstream.known();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, &known)) {
            *made = self.make(&made.each, known);
        }
        made.tools.clone()
    }

    fn version(&self) -> u64 {
        self.upstream.version()
    }

    /// Tools that are known say themselves why they are not there.
    fn problem(&self) -> Option<String> {
        self.upstream.absence().filter(|_| !self.upstream.is_known())
    }

    /// Beside the definitions, unless they are for one caller's eyes.
    fn readings(&self) -> Option<Arc<dyn Readings>> {
        let cache = self.upstream.cache.clone().filter(|_| !self.upstream.known().is_private)?;
        Some(Arc::new(cache))
    }
}

fn name(definition: &Map<String, Value>) -> &str {
    definition.get("name").and_then(Value::as_str).unwrap_or_default()
}

impl Selection {
    /// Whether a tool of this name is offered.
    pub fn offers(&self, name: &str) -> bool {
        let is_in = |patterns: &[String]| patterns.iter().any(|pattern| is_like(name, pattern));
        (self.allow.is_empty() || is_in(&self.allow)) && !is_in(&self.deny)
    }
}
