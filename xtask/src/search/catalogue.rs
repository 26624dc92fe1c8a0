//! The tools and queries: files with a line of JSON each.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    sync::Arc,
};

use anyhow::{Context, Result};
use haft_engine::{
    pool::{LiveSource, PoolBuilder, Source, StaticSource, search::Document, split},
    turn::Kernel,
};
use haft_tool::{Reply, SharedTool, tool};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

pub(super) struct Catalogue {
    pub(super) tools: Vec<ToolLine>,
    pub(super) queries: Vec<Query>,
}

#[derive(Clone, Deserialize)]
pub(super) struct ToolLine {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    pub(super) input_schema: Value,
}

#[derive(Deserialize)]
pub(super) struct Query {
    pub(super) query: String,
    pub(super) kind: String,
    gold: Vec<String>,
    /// For a tool those that are as good.
    #[serde(default)]
    alts: HashMap<String, Vec<String>>,
}

impl Catalogue {
    pub(super) fn read(directory: &Path) -> Result<Catalogue> {
        let tools = lines(&directory.join("tools.jsonl"))?;
        Ok(Catalogue { tools, queries: lines(&directory.join("queries.dev.jsonl"))? })
    }
}

fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{}:{}", path.display(), number + 1))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(read).collect()
}

impl ToolLine {
    pub(super) fn document(&self) -> Document<'_> {
        Document { prompt: &self.description, ..Document::new(&self.name, &self.input_schema) }
    }

    fn tool(&self) -> SharedTool {
        let plain = split(&self.name).map_or(&*self.name, |(_, tool)| tool);
        let tool = tool::<Value>(plain.to_owned()).prompt(self.description.clone());
        tool.schema(self.input_schema.clone()).call(|_, _| async { Ok(Reply::text("")) })
    }
}

impl Query {
    /// For each tool that is wanted the names that count as it.
    pub(super) fn wanted(&self) -> impl Iterator<Item = Vec<&str>> {
        let others = |name: &String| self.alts.get(name).into_iter().flatten().map(String::as_str);
        self.gold.iter().map(move |name| [name.as_str()].into_iter().chain(others(name)).collect())
    }
}

/// The tools as an engine has them: a source for each server, and the search.
pub(super) fn pool(tools: &[ToolLine]) -> Result<(PoolBuilder, Vec<Arc<LiveSource>>)> {
    let mut by_server = BTreeMap::<&str, Vec<SharedTool>>::new();
    for tool in tools {
        by_server.entry(split(&tool.name).map_or("", |(server, _)| server)).or_default().push(tool.tool());
    }
    let servers = by_server.into_iter().map(|(name, tools)| {
        let source = LiveSource::new(format!("mcp:{name}")).in_namespace(name);
        source.replace_all(tools);
        Arc::new(source)
    });
    let servers: Vec<Arc<LiveSource>> = servers.collect();
    let own = StaticSource::new("kernel", [haft_tools::ToolSearch.tool()])?;
    let sources = servers.iter().map(|server| Arc::clone(server) as Arc<dyn Source>);
    Ok((PoolBuilder::new([Arc::new(own) as Arc<dyn Source>].into_iter().chain(sources)), servers))
}
