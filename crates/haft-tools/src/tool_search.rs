//! `ToolSearch`: finds tools that are not shown, and loads them.

use std::sync::Arc;

use haft_engine::{
    pool::{Entry, Pool},
    turn::{Kernel, KernelCx},
};
use haft_tool::{BoxFuture, Change, Effects, Fault, Load, Reply, SharedTool, Spec, ToolBuilder, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Finds tools that exist but are not shown here, and loads them so that you can call them.
///
/// Use it when no tool that you see does what you need. Say in a few words what it should do, without the data that it will
/// work on ("create calendar event"), or name tools exactly with `select:NameA,NameB`; `+server words` looks only at one
/// server's tools. The answer describes the tools; you can call them from then on.
/// No match is an answer, not an error: try other words.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchInput {
    /// What the tool should do, or `select:` and exact names.
    query: String,
    /// How many tools to load at most.
    #[schemars(range(min = 1, max = 20))]
    limit: Option<usize>,
}

const USUAL_LIMIT: usize = 5;

/// The tool; register it by [`EngineBuilder::kernel`](haft_engine::EngineBuilder::kernel).
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolSearch;

impl Kernel for ToolSearch {
    fn tool(&self) -> SharedTool {
        let spec = Spec::new("ToolSearch").load(Load::Always).aliases(&["tool_search", "search_tools"]);
        ToolBuilder::<SearchInput>::of(spec)
            // Loading changes what the model sees next, and nothing in the world.
            .effects(|_| Effects::changes("tools"))
            .describe(|input| match input.query.trim().strip_prefix("select:") {
                Some(names) => format!("Load the tools {names}"),
                None => format!("Search for tools: {}", input.query.trim()),
            })
            .call(|_, _| async { Err(Fault::failed("ToolSearch runs in the kernel")) })
    }

    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(std::future::ready(search(&input, kx.pool)))
    }
}

fn search(input: &Value, pool: &Pool) -> Result<Reply, Fault> {
    let input = SearchInput::deserialize(input).map_err(|err| Fault::rejected(err.to_string()))?;
    let hits = pool.search(&input.query, input.limit.unwrap_or(USUAL_LIMIT));
    let found: Vec<&Entry> = hits.iter().filter_map(|hit| pool.find(&hit.name)).collect();
    if found.is_empty() {
        return Ok(Reply::text(nothing(&input.query, pool)));
    }
    let names: Vec<String> = found.iter().map(|entry| entry.name().to_owned()).collect();
    let text: Vec<String> = found.iter().map(|entry| full(entry)).collect();
    let found = match found.len() {
        1 => "1 tool found and loaded:".to_owned(),
        count => format!("{count} tools found and loaded:"),
    };
    Ok(Reply::text(text.join("\n"))
        .drawn(View::text(format!("{found} {}", names.join(", "))))
        .observed(found)
        .change(Change::Load(names)))
}

/// What there is instead.
fn nothing(query: &str, pool: &Pool) -> String {
    format!("No tool fits. {} tools can be searched: {}", pool.deferred().count(), pool.instead(query))
}

/// Everything that the model needs to call it in the next turn, or in this one.
fn full(entry: &Entry) -> String {
    let offer = entry.offer();
    format!("## {}\n{}\nInput: {}\n", offer.name, offer.prompt, offer.schema.text())
}
