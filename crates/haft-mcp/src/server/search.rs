//! `ToolSearch`, `ToolDescribe`, `ToolCall`: tools that are found instead of listed.
//!
//! The list of tools must not change because somebody looked for one. So these three are always in it: one finds names, one
//! shows definitions, one calls. What is called is judged as if it had been called by its own name. The three themselves give
//! away definitions and nothing else, so that hooks and the journal do not hear of them; who denies one of them as a tool
//! has it denied.

use std::sync::Arc;

use haft_engine::pool::TOOL_SEARCH;
use haft_tool::Spec;
use serde_json::{Value, json};

use super::{
    call,
    catalogue::named,
    guest::Guest,
    listen,
    visit::{Visit, VisitDesk},
};
use crate::client::Refused;

const DESCRIBE: &str = "ToolDescribe";
const CALL: &str = "ToolCall";
const USUAL_LIMIT: usize = 10;
const MOST: usize = 50;
/// So much of a description shows what a tool is for.
const SUMMARY: usize = 160;

/// How the three are listed: those that no rule denies as a whole.
pub(super) fn definitions(guest: &Guest) -> impl Iterator<Item = (&'static str, Value)> {
    all().into_iter().filter(|(name, _)| denied(guest, name).is_none())
}

/// Why none of its calls may be answered. They look and change nothing, which is what the modes care about.
fn denied(guest: &Guest, name: &'static str) -> Option<String> {
    guest.session.hides(name, &Spec::new(name).toolset("readonly"))
}

fn all() -> [(&'static str, Value); 3] {
    [
        (
            TOOL_SEARCH,
            definition(
                TOOL_SEARCH,
                SEARCH_PROMPT,
                json!({
                    "type": "object",
                    "properties": {
                        "query": { "type": "string", "description": "What the tool should do, in a few words; or `select:` and exact names, separated by commas; `+server words` looks only at one server's tools." },
                        "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "How many tools to show at most." },
                    },
                    "required": ["query"],
                    "additionalProperties": false,
                }),
            ),
        ),
        (
            DESCRIBE,
            definition(
                DESCRIBE,
                DESCRIBE_PROMPT,
                json!({
                    "type": "object",
                    "properties": {
                        "names": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": MOST, "description": "Names as ToolSearch gave them." },
                    },
                    "required": ["names"],
                    "additionalProperties": false,
                }),
            ),
        ),
        (
            CALL,
            definition(
                CALL,
                CALL_PROMPT,
                json!({
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "description": "The tool's name." },
                        "arguments": { "type": "object", "description": "What the tool's own schema asks for." },
                    },
                    "required": ["name"],
                    "additionalProperties": false,
                }),
            ),
        ),
    ]
}

const SEARCH_PROMPT: &str = "Finds tools that are not listed here, by what they do. Use it when no listed tool does what \
you need. It answers with names and what they are for; ToolDescribe shows how to call them.";
const DESCRIBE_PROMPT: &str = "Shows tools in full: what they do and the schema of their arguments. Use it before the first \
call of a tool that ToolSearch found.";
const CALL_PROMPT: &str = "Calls a tool by its name, listed or not. The call is checked and permitted exactly as if the tool \
had been called directly.";

fn definition(name: &str, description: &str, schema: Value) -> Value {
    json!({ "name": name, "description": description, "inputSchema": schema })
}

/// The answer, if it is one of the three that is called.
pub(super) async fn call(
    visit: &Visit,
    desk: &Arc<VisitDesk>,
    name: &str,
    arguments: &Value,
) -> Option<Result<Value, Refused>> {
    let name = [TOOL_SEARCH, DESCRIBE, CALL].into_iter().find(|one| *one == name)?;
    if let Some(why) = denied(&visit.guest, name) {
        return Some(Ok(wrong(&format!("{name} may not be used: {why}"))));
    }
    match name {
        CALL => Some(call_found(visit, desk, arguments).await),
        _ => Some(Ok(looked(visit, name, arguments).await)),
    }
}

/// The answer of one that only looks. Who looks before listing means also tools of servers that nobody has asked yet.
async fn looked(visit: &Visit, name: &str, arguments: &Value) -> Value {
    listen::acquaint(&visit.guest.door).await;
    match name {
        TOOL_SEARCH => search(visit, arguments),
        _ => describe(visit, arguments),
    }
}

fn search(visit: &Visit, arguments: &Value) -> Value {
    let Some(query) = arguments.get("query").and_then(Value::as_str) else {
        return wrong("`query` is a text: what the tool should do");
    };
    let limit = arguments.get("limit").and_then(Value::as_u64).map_or(USUAL_LIMIT, |limit| limit as usize);
    let catalogue = visit.guest.catalogue();
    let pool = catalogue.pool();
    let hits = pool.search(&in_pool(&visit.guest, query), limit.clamp(1, MOST));
    let found = hits.iter().filter_map(|hit| named(&visit.guest.door, pool.find(&hit.name)?));
    let lines: Vec<String> =
        found.map(|(name, entry)| format!("{name}: {}", summary(entry.offer().prompt))).collect();
    match lines.len() {
        0 => text(format!("No tool fits. {} tools can be searched: {}", pool.len(), pool.instead(query))),
        _ => text(lines.join("\n")),
    }
}

/// A query with the names by which the pool knows tools, where it has those by which clients do.
fn in_pool(guest: &Guest, query: &str) -> String {
    let known = |name: &str| guest.tool_named(name.trim()).unwrap_or_else(|| name.trim().to_owned());
    match query.trim().strip_prefix(SELECT) {
        Some(names) => SELECT.to_owned() + &names.split(',').map(known).collect::<Vec<_>>().join(","),
        None => known(query),
    }
}

const SELECT: &str = "select:";

/// The first sentence or so.
fn summary(prompt: &str) -> String {
    let first =
        prompt.split("\n\n").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    match first.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{}…", &first[..end]),
        None => first,
    }
}

fn describe(visit: &Visit, arguments: &Value) -> Value {
    let names: Vec<&str> = match arguments.get("names") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).take(MOST).collect(),
        // One name is what many models write where a list of one is meant.
        Some(Value::String(name)) => vec![name],
        _ => return wrong("`names` is a list of names, as ToolSearch gives them"),
    };
    let catalogue = visit.guest.catalogue();
    let (mut shown, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        match catalogue.definition(&visit.guest.door, name) {
            Some(definition) => shown.push(definition.to_string()),
            None => unknown.push(call::unknown(visit, name)),
        }
    }
    match shown.is_empty() {
        true => wrong(&unknown.join("\n")),
        false => text(shown.into_iter().chain(unknown).collect::<Vec<_>>().join("\n")),
    }
}

async fn call_found(visit: &Visit, desk: &Arc<VisitDesk>, arguments: &Value) -> Result<Value, Refused> {
    let Some(name) = arguments.get("name").and_then(Value::as_str) else {
        return Ok(wrong("`name` is the name of the tool to call"));
    };
    let inner = arguments.get("arguments").cloned().unwrap_or_else(|| json!({}));
    if name != CALL
        && let Some(answer) = Box::pin(call(visit, desk, name, &inner)).await
    {
        return answer;
    }
    match call::known(visit, name).await {
        Some(tool) => call::run(visit, desk, tool, inner).await,
        None => Ok(wrong(&call::unknown(visit, name))),
    }
}

fn text(words: String) -> Value {
    json!({ "content": [{ "type": "text", "text": words }], "isError": false })
}

fn wrong(words: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": words }], "isError": true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_one_line_of_bounded_length() {
        assert_eq!(summary("Tells the\nweather.\n\nMore of it."), "Tells the weather.");
        assert_eq!(summary(&"ä".repeat(500)).chars().count(), SUMMARY + 1);
    }
}
