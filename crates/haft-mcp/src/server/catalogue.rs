//! The tools, as they are listed: sorted, the same for the same pool, and never changed by use.
//!
//! A tool of a server goes out as its server wrote it, but for its name: `server__tool`, or as it is where clients see only
//! one server. What is deferred is not listed and can be called all the same.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex},
};

use haft_engine::pool::{Entry, Pool, TOOL_SEARCH};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{
    door::{Shared, lock},
    guest::Guest,
    listen, resources, search,
    visit::Visit,
};
use crate::{client::Refused, shape, upstream::Upstream};

/// What the names of a server's tools begin with in the pool.
const POOL_PREFIX: &str = "mcp__";
/// Clients put their own name for us before ours, and model APIs take 64 characters: so many are left.
const LONGEST: usize = 53;

/// All lists of a client.
#[derive(Default)]
pub(super) struct Lists(Mutex<Looked>);

/// They are looked at for many reasons, and only some of them let the client know them.
#[derive(Default)]
struct Looked {
    /// As they were when they were last looked at.
    last: Option<Arc<Catalogue>>,
    /// As the client knows them: as it was first shown them, or last told that they are others.
    told: Option<Arc<Catalogue>>,
}

/// What a client is shown.
pub(super) struct Catalogue {
    pool: Arc<Pool>,
    versions: Vec<u64>,
    /// The definitions that are listed.
    pub(super) tools: Vec<Value>,
    /// The names by which clients know tools, and those that the pool knows.
    names: HashMap<String, String>,
    /// The arguments that have to be in headers as well, by tool.
    headers: HashMap<String, Vec<ParamHeader>>,
    prompts: Vec<Listed>,
    resources: Vec<Listed>,
    templates: Vec<Listed>,
}

/// Something of a server, and the server.
#[derive(Debug, Clone, PartialEq)]
struct Listed {
    server: String,
    one: Value,
}

/// An argument that has to be in a header as well: where it is, and the header's name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParamHeader {
    pub(super) path: Vec<String>,
    pub(super) name: String,
}

/// Which lists are others than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Changed {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl Guest {
    /// What the client is shown now.
    pub(super) fn catalogue(&self) -> Arc<Catalogue> {
        self.look(&mut lock(&self.lists.0))
    }

    /// The same for a client that will know it from now on.
    pub(super) fn shown(&self) -> Arc<Catalogue> {
        let mut looked = lock(&self.lists.0);
        let now = self.look(&mut looked);
        looked.told.get_or_insert_with(|| now.clone());
        now
    }

    /// What is new to the client, which is going to be told. Nothing is to whoever was never shown anything.
    pub(super) fn news(&self) -> Changed {
        let mut looked = lock(&self.lists.0);
        let Some(told) = looked.told.clone() else { return Changed::default() };
        let now = self.look(&mut looked);
        let changed = now.differs_from(&told);
        looked.told = Some(now);
        changed
    }

    fn look(&self, looked: &mut Looked) -> Arc<Catalogue> {
        let (pool, versions) = (self.session.pool(), versions(&self.door));
        if let Some(last) = looked.last.as_ref().filter(|last| last.is_of(&pool, &versions)) {
            return last.clone();
        }
        let now = Arc::new(Catalogue::new(self, pool, versions));
        looked.last = Some(now.clone());
        now
    }

    /// The pool's name for a tool that the client calls so, if there is one.
    pub(super) fn tool_named(&self, name: &str) -> Option<String> {
        let find = |catalogue: &Catalogue| catalogue.names.get(name).cloned();
        let known = lock(&self.lists.0).last.as_deref().and_then(find);
        known.or_else(|| find(&self.catalogue()))
    }
}

impl Catalogue {
    /// The tools behind it.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The arguments of a tool that have to be in headers as well.
    pub(super) fn param_headers(&self, tool: &str) -> &[ParamHeader] {
        self.headers.get(tool).map(Vec::as_slice).unwrap_or_default()
    }

    /// How a tool is defined, listed or not.
    pub(super) fn definition(&self, door: &Shared, name: &str) -> Option<Value> {
        let (name, entry) = named(door, self.pool.find(self.names.get(name)?)?)?;
        Some(Definitions::of(door).of_tool(&name, entry))
    }
}

/// The names that are most like an unknown one.
pub(super) fn nearest(guest: &Guest, name: &str) -> Vec<String> {
    let catalogue = guest.catalogue();
    // Sorted: of equally near ones the same come first each time.
    let names = catalogue.names.keys().map(String::as_str).collect::<BTreeSet<_>>();
    haft_engine::pool::nearest(name, names.into_iter(), 5).into_iter().map(str::to_owned).collect()
}

fn versions(door: &Shared) -> Vec<u64> {
    door.upstreams().map(|upstream| *upstream.changes().borrow()).collect()
}

impl Catalogue {
    fn new(guest: &Guest, pool: Arc<Pool>, versions: Vec<u64>) -> Catalogue {
        let door = &guest.door;
        let shown: Vec<(String, &Entry)> = pool.entries().filter_map(|entry| named(door, entry)).collect();
        let definitions = Definitions::of(door);
        let headers = shown.iter().filter_map(|(name, entry)| {
            let headers = param_headers(entry.tool().schema().value());
            (!headers.is_empty()).then(|| (name.clone(), headers))
        });
        let headers = headers.collect();
        let mut listed: BTreeMap<&str, Value> = shown
            .iter()
            .filter(|(_, entry)| door.options.only.is_some() || !entry.is_deferred())
            .map(|(name, entry)| (name.as_str(), definitions.of_tool(name, entry)))
            .collect();
        if door.options.only.is_none() {
            for (name, definition) in search::definitions(guest) {
                listed.insert(name, definition);
            }
        }
        let tools = listed.into_values().collect();
        let mut names: HashMap<String, String> = HashMap::new();
        for (name, entry) in &shown {
            names.entry(entry.name().to_owned()).or_insert_with(|| entry.name().to_owned());
            names.entry(name.clone()).or_insert_with(|| entry.name().to_owned());
        }
        let all = |of: fn(&Upstream) -> Vec<Map<String, Value>>| -> Vec<(String, Map<String, Value>)> {
            let each = door.upstreams().map(|upstream| (upstream.server().name.clone(), of(upstream)));
            each.flat_map(|(server, found)| found.into_iter().map(move |one| (server.clone(), one))).collect()
        };
        let prompts = all(|upstream| upstream.known().prompts.clone());
        let prompts = prompts.into_iter().map(|(server, prompt)| prompt_of(door, server, prompt)).collect();
        let plain = |found: Vec<(String, Map<String, Value>)>| once_each(found).collect();
        let resources = plain(all(|upstream| upstream.known().resources.clone()));
        let templates = plain(all(|upstream| upstream.known().templates.clone()));
        Catalogue { tools, names, headers, prompts, resources, templates, pool: pool.clone(), versions }
    }

    fn is_of(&self, pool: &Arc<Pool>, versions: &[u64]) -> bool {
        Arc::ptr_eq(&self.pool, pool) && self.versions == versions
    }

    fn differs_from(&self, other: &Catalogue) -> Changed {
        Changed {
            tools: self.tools != other.tools,
            prompts: self.prompts != other.prompts,
            resources: self.resources != other.resources || self.templates != other.templates,
        }
    }
}

/// A tool and the name by which clients know it, if they may know it.
pub(super) fn named<'a>(door: &Shared, entry: &'a Entry) -> Option<(String, &'a Entry)> {
    let name = match (entry.server(), &door.options.only) {
        (Some(server), Some(only)) if server == only => entry.tool().spec().name().to_owned(),
        (_, Some(_)) => return None,
        _ if entry.name() == TOOL_SEARCH => return None,
        (None, None) => entry.name().to_owned(),
        (Some(_), None) => short(entry.name()),
    };
    Some((name, entry))
}

/// `server__tool`, within what clients have room for. A long one keeps its head and gets a mark of the whole: the end is
/// what tells long names apart.
fn short(pool_name: &str) -> String {
    let name = pool_name.strip_prefix(POOL_PREFIX).unwrap_or(pool_name);
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let mark: String = Sha256::digest(name).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    // Names of the pool are ASCII.
    format!("{}_{mark}", &name[..LONGEST - mark.len() - 1])
}

/// How servers define their tools, by server and name.
struct Definitions(HashMap<(String, String), Map<String, Value>>);

impl Definitions {
    fn of(door: &Shared) -> Definitions {
        let mut found = HashMap::new();
        for upstream in door.upstreams() {
            for tool in &upstream.known().tools {
                if let Some(name) = tool.get("name").and_then(Value::as_str) {
                    let key = (upstream.server().name.clone(), name.to_owned());
                    found.entry(key).or_insert_with(|| tool.clone());
                }
            }
        }
        Definitions(found)
    }

    fn of_tool(&self, name: &str, entry: &Entry) -> Value {
        let mut ours = match shape::tool(&entry.offer()) {
            Value::Object(ours) => ours,
            other => return other,
        };
        ours.insert("name".to_owned(), name.into());
        let server = entry.server().unwrap_or_default().to_owned();
        let Some(theirs) = self.0.get(&(server, entry.tool().spec().name().to_owned())) else {
            return ours.into();
        };
        let mut definition = theirs.clone();
        definition.insert("name".to_owned(), name.into());
        // A tool that its server wants called as a task is called like any other here: who follows the task is us.
        definition.shift_remove("execution");
        // The protocol wants an object at the root; where the server left it out, it is what we make of it.
        if !definition
            .get("inputSchema")
            .is_some_and(|schema| schema.get("type").is_some_and(|kind| kind == "object"))
            && let Some(schema) = ours.shift_remove("inputSchema")
        {
            definition.insert("inputSchema".to_owned(), schema);
        }
        definition.into()
    }
}

/// How deep arguments are looked at for headers.
const DEEPEST: usize = 16;

/// The arguments that a schema wants in headers: `x-mcp-header` on what is reached by `properties` alone.
fn param_headers(schema: &Value) -> Vec<ParamHeader> {
    let mut found = Vec::new();
    collect_headers(schema, &mut Vec::new(), &mut found);
    found
}

fn collect_headers(schema: &Value, path: &mut Vec<String>, found: &mut Vec<ParamHeader>) {
    let Some(Value::Object(properties)) = schema.get("properties").filter(|_| path.len() < DEEPEST) else {
        return;
    };
    for (property, schema) in properties {
        path.push(property.clone());
        if let Some(name) = schema.get("x-mcp-header").and_then(Value::as_str).filter(|name| !name.is_empty())
        {
            found.push(ParamHeader { path: path.clone(), name: name.to_owned() });
        }
        collect_headers(schema, path, found);
        path.pop();
    }
}

fn prompt_of(door: &Shared, server: String, mut prompt: Map<String, Value>) -> Listed {
    if door.options.only.is_none()
        && let Some(name) = prompt.get("name").and_then(Value::as_str)
    {
        let name = format!("{server}__{name}");
        prompt.insert("name".to_owned(), name.into());
    }
    Listed { server, one: prompt.into() }
}

/// Of two servers that list the same address, the first by name has it.
fn once_each(found: Vec<(String, Map<String, Value>)>) -> impl Iterator<Item = Listed> {
    let mut seen = HashSet::new();
    found.into_iter().filter_map(move |(server, one)| {
        let address = one.get("uri").or_else(|| one.get("uriTemplate")).and_then(Value::as_str);
        let is_new = address.is_none_or(|address| seen.insert(address.to_owned()));
        is_new.then(|| Listed { server, one: one.into() })
    })
}

/// The answer to `tools/list`.
pub(super) async fn tools(visit: &Visit) -> Result<Value, Refused> {
    listen::acquaint(&visit.guest.door).await;
    Ok(json!({ "tools": visit.guest.shown().tools }))
}

/// The answer to `prompts/list`.
pub(super) async fn prompts(visit: &Visit) -> Result<Value, Refused> {
    listen::acquaint(&visit.guest.door).await;
    Ok(json!({ "prompts": permitted(&visit.guest, &visit.guest.shown().prompts).await }))
}

/// Without what is of servers that are denied to the client.
async fn permitted(guest: &Guest, all: &[Listed]) -> Vec<Value> {
    let mut denied: HashMap<&str, bool> = HashMap::new();
    for listed in all {
        if !denied.contains_key(listed.server.as_str()) {
            let is_denied = resources::not_denied(guest, &listed.server).await.is_err();
            denied.insert(&listed.server, is_denied);
        }
    }
    all.iter().filter(|listed| !denied[listed.server.as_str()]).map(|listed| listed.one.clone()).collect()
}

/// The answer to `resources/list`.
pub(super) async fn resources(visit: &Visit) -> Result<Value, Refused> {
    listen::acquaint(&visit.guest.door).await;
    Ok(json!({ "resources": permitted(&visit.guest, &visit.guest.shown().resources).await }))
}

/// The answer to `resources/templates/list`.
pub(super) async fn templates(visit: &Visit) -> Result<Value, Refused> {
    listen::acquaint(&visit.guest.door).await;
    Ok(json!({ "resourceTemplates": permitted(&visit.guest, &visit.guest.shown().templates).await }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leaves_room_for_the_client_s_own_prefix_and_stays_one_of_its_own() {
        assert_eq!(short("mcp__github__create_issue"), "github__create_issue");
        let long = |end: &str| short(&format!("mcp__server__{}{end}", "a".repeat(46)));
        assert_eq!(long("x").len(), LONGEST);
        assert_ne!(long("x"), long("y"));
    }
}
