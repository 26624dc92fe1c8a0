//! Where do tools come from?
//!
//! The engine knows nothing of a source but this trait: built-in tools, the tools of a server and those that a
//! program adds while it runs all look alike.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
};

use haft_tool::SharedTool;

use super::search::Readings;

/// A place that tools come from.
///
/// It is asked at the top of every turn, so no method may block or do I/O: a source that lives elsewhere keeps a copy
/// of what it last heard.
pub trait Source: Send + Sync {
    /// What settings and journals call it: `builtin`, `mcp:github`. Unique in an engine.
    fn id(&self) -> &str;

    /// The server's name, if the tools come from outside. They are then called `mcp__server__tool` and are the first
    /// to be deferred.
    fn namespace(&self) -> Option<&str> {
        None
    }

    /// What it has now, in any order.
    fn tools(&self) -> Arc<[SharedTool]>;

    /// A number that changes whenever [`tools`](Source::tools) changes. It must change *after* the tools have.
    fn version(&self) -> u64;

    /// Why it has less than it might: a server that cannot be reached. It stands among the problems of the pool, and must
    /// change no later than [`version`](Source::version).
    fn problem(&self) -> Option<String> {
        None
    }

    /// Where what a search reads of these tools is kept for the next process. Without it, they are read again.
    fn readings(&self) -> Option<Arc<dyn Readings>> {
        None
    }

    /// The tool of this name, without namespace.
    fn get(&self, name: &str) -> Option<SharedTool> {
        self.tools().iter().find(|tool| tool.spec().name() == name).cloned()
    }

    /// Whether it has a tool of this name.
    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}

/// Tools that never change.
pub struct StaticSource {
    id: String,
    namespace: Option<String>,
    tools: Arc<[SharedTool]>,
}

impl StaticSource {
    /// A source of these tools. Two of one name are a mistake of the program.
    pub fn new(
        id: impl Into<String>,
        tools: impl IntoIterator<Item = SharedTool>,
    ) -> Result<StaticSource, DuplicateTool> {
        let (id, tools) = (id.into(), tools.into_iter().collect::<Arc<[_]>>());
        refuse_duplicates(&id, &tools)?;
        Ok(StaticSource { id, namespace: None, tools })
    }

    /// The same tools as those of an external server.
    #[must_use]
    pub fn in_namespace(mut self, server: impl Into<String>) -> StaticSource {
        self.namespace = Some(server.into());
        self
    }
}

impl Source for StaticSource {
    fn id(&self) -> &str {
        &self.id
    }
    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
    fn tools(&self) -> Arc<[SharedTool]> {
        Arc::clone(&self.tools)
    }
    fn version(&self) -> u64 {
        0
    }
}

/// Tools that come and go while the program runs. The next turn sees what is there then.
pub struct LiveSource {
    id: String,
    namespace: Option<String>,
    state: RwLock<State>,
}

struct State {
    tools: Arc<[SharedTool]>,
    version: u64,
}

impl LiveSource {
    /// A source without tools yet.
    pub fn new(id: impl Into<String>) -> LiveSource {
        let state = State { tools: Arc::new([]), version: 0 };
        LiveSource { id: id.into(), namespace: None, state: RwLock::new(state) }
    }

    /// The same source as that of an external server.
    #[must_use]
    pub fn in_namespace(mut self, server: impl Into<String>) -> LiveSource {
        self.namespace = Some(server.into());
        self
    }

    /// Adds a tool. One of the same name must be removed first.
    pub fn add(&self, tool: SharedTool) -> Result<(), DuplicateTool> {
        let mut state = self.change();
        let tools: Arc<[_]> = state.tools.iter().cloned().chain([tool]).collect();
        refuse_duplicates(&self.id, &tools)?;
        state.replace(tools);
        Ok(())
    }

    /// Removes the tool of this name and gives it back.
    pub fn remove(&self, name: &str) -> Option<SharedTool> {
        let mut state = self.change();
        let position = state.tools.iter().position(|tool| tool.spec().name() == name)?;
        let mut tools = state.tools.to_vec();
        let removed = tools.remove(position);
        state.replace(tools.into());
        Some(removed)
    }

    /// Puts these in the place of all that was there, in one step. For lists that somebody else wrote: a name that is
    /// there twice is not refused here, the pool takes the first and reports the second.
    pub fn replace_all(&self, tools: impl IntoIterator<Item = SharedTool>) {
        let tools = tools.into_iter().collect();
        self.change().replace(tools);
    }

    fn change(&self) -> RwLockWriteGuard<'_, State> {
        // Nothing in here panics halfway through a change, so what a poisoned lock guards is whole.
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn replace(&mut self, tools: Arc<[SharedTool]>) {
        self.tools = tools;
        self.version += 1;
    }
}

impl Source for LiveSource {
    fn id(&self) -> &str {
        &self.id
    }
    fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }
    fn tools(&self) -> Arc<[SharedTool]> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner).tools)
    }
    fn version(&self) -> u64 {
        self.state.read().unwrap_or_else(PoisonError::into_inner).version
    }
}

/// Two tools of one source have the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateTool {
    /// The source.
    pub source: String,
    /// The name.
    pub name: String,
    /// What the two are, in the words of their titles and places: the first, and the one that was refused.
    pub both: [String; 2],
}

impl fmt::Display for DuplicateTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DuplicateTool { source, name, both: [first, second] } = self;
        write!(f, "two tools of source `{source}` are called {name}: {first} and {second}")
    }
}

impl std::error::Error for DuplicateTool {}

fn refuse_duplicates(source: &str, tools: &[SharedTool]) -> Result<(), DuplicateTool> {
    let mut seen = HashMap::with_capacity(tools.len());
    for (place, tool) in tools.iter().enumerate() {
        let name = tool.spec().name();
        if let Some(first) = seen.insert(name, place) {
            let both = [first, place].map(|place| describe(&tools[place], place));
            return Err(DuplicateTool { source: source.to_owned(), name: name.to_owned(), both });
        }
    }
    Ok(())
}

fn describe(tool: &SharedTool, place: usize) -> String {
    let first_line = tool.prompt().lines().next().unwrap_or_default();
    format!("number {} ({first_line:?})", place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::testing::plain;

    #[test]
    fn a_fixed_list_refuses_two_tools_of_one_name_and_names_both() {
        let refused =
            StaticSource::new("mine", [plain("A", "One."), plain("B", ""), plain("A", "Other.\nMore.")]);
        assert_eq!(
            refused.err().unwrap().to_string(),
            r#"two tools of source `mine` are called A: number 1 ("One.") and number 3 ("Other.")"#
        );
    }

    #[test]
    fn a_live_source_changes_its_version_with_its_tools() {
        let source = LiveSource::new("live");
        assert_eq!((source.version(), source.has("A")), (0, false));
        source.add(plain("A", "")).unwrap();
        assert_eq!((source.version(), source.has("A")), (1, true));
        assert!(source.add(plain("A", "")).is_err());
        assert_eq!(source.version(), 1, "a refused tool changes nothing");
        assert!(source.remove("A").is_some() && source.remove("A").is_none());
        assert_eq!((source.version(), source.has("A")), (2, false));
    }
}
