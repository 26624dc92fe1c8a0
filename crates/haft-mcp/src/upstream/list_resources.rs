//! `ListMcpResources`: what servers have to read.

use std::{fmt::Write, sync::Arc};

use haft_engine::pool::mangle;
use haft_tool::{Cx, Effects, Fault, Reply, Spec, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Known, Upstreams};

/// Lists the resources of MCP servers: what they have to read, by URI.
///
/// Without a server it lists what is known of all of them, without asking any. With one, that server is asked anew.
/// To read one of them, use ReadMcpResource with the server's name and the URI. An entry with `{…}` in its URI is a template:
/// fill it in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListMcpResourcesInput {
    /// The server to ask. All that is known, if it is left out.
    server: Option<String>,
}

pub(super) struct ListMcpResources(pub(super) Arc<Upstreams>);

/// Nobody reads more of a description in a list.
const LONGEST: usize = 200;

impl Tool for ListMcpResources {
    type Input = ListMcpResourcesInput;
    const SPEC: Spec =
        Spec::new("ListMcpResources").toolset("mcp").search_hint("resources files documents server");

    fn validate(&self, input: &ListMcpResourcesInput) -> Result<(), Fault> {
        input.server.as_deref().map_or(Ok(()), |server| self.0.check(server))
    }

    fn effects(&self, input: &ListMcpResourcesInput) -> Effects {
        match &input.server {
            // Kept from before: nobody is asked.
            None => Effects::none(),
            Some(server) => Effects::unknown().counting_as(mangle(server, Self::SPEC.name())),
        }
    }

    fn describe(&self, input: &ListMcpResourcesInput) -> String {
        match &input.server {
            Some(server) => format!("List the resources of the server {server}"),
            None => "List the resources of all servers".to_owned(),
        }
    }

    async fn call(&self, input: ListMcpResourcesInput, _cx: &Cx) -> Result<Reply, Fault> {
        if let Some(upstream) = input.server.as_ref().and_then(|server| self.0.get(server)) {
            upstream.refresh().await?;
        }
        let is_meant = |name: &str| input.server.as_ref().is_none_or(|server| server == name);
        let mut text = String::new();
        for upstream in self.0.all().iter().filter(|upstream| is_meant(&upstream.server().name)) {
            let why = if upstream.is_known() { None } else { upstream.absence() };
            describe(&mut text, &upstream.server().name, &upstream.known(), why);
        }
        Ok(Reply::text(text).note("untrusted", true))
    }
}

fn describe(text: &mut String, server: &str, known: &Known, why: Option<String>) {
    let all: Vec<_> = known
        .resources
        .iter()
        .map(|one| (one, "uri"))
        .chain(known.templates.iter().map(|one| (one, "uriTemplate")))
        .collect();
    let head = match (why, all.len()) {
        (Some(why), _) => format!("not known: {why}"),
        (None, 0) => "no resources".to_owned(),
        (None, count) => format!("{count} resources"),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{server}: {head}");
    for (entry, key) in all {
        let _ = writeln!(text, "  {}", line(entry, key));
    }
}

fn line(entry: &Map<String, Value>, key: &str) -> String {
    let part = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let (name, media_type) = (one_line(part("name")), one_line(part("mimeType")));
    let kind = if media_type.is_empty() { String::new() } else { format!(" ({media_type})") };
    let about = match one_line(part("description")) {
        about if about.is_empty() => about,
        about => format!(": {about}"),
    };
    format!("{} {name}{kind}{about}", one_line(part(key)))
}

/// A stranger's words, so that they stay in their line.
fn one_line(text: &str) -> String {
    let plain = |char: char| if char.is_control() { ' ' } else { char };
    text.chars().take(LONGEST).map(plain).collect::<String>().trim().to_owned()
}

impl Upstreams {
    /// Whether there is such a server; which there are, if not.
    pub(super) fn check(&self, server: &str) -> Result<(), Fault> {
        if self.get(server).is_some() {
            return Ok(());
        }
        let names: Vec<&str> = self.all().iter().map(|upstream| upstream.server().name.as_str()).collect();
        let shown: String = server.chars().take(80).collect();
        Err(Fault::rejected(format!(
            "there is no server `{}`; there are: {}",
            shown.escape_debug(),
            names.join(", ")
        )))
    }
}
