//! What is said of a tool, and where.

use serde_json::Value;

use crate::pool::{entry::Definition, names};

/// What a search knows of a tool.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The name that the model calls it by.
    pub name: &'a str,
    /// The name without a server.
    pub tool: &'a str,
    /// The server that it comes from.
    pub server: Option<&'a str>,
    /// Other names for it.
    pub aliases: &'a [&'a str],
    /// Words by which its author wants it to be found.
    pub hint: &'a str,
    /// What it does.
    pub prompt: &'a str,
    /// The shape of its input.
    pub schema: &'a Value,
}

impl<'a> Document<'a> {
    /// A tool of which only this is known. Server and tool are read from a name like `mcp__server__tool`.
    pub fn new(name: &'a str, schema: &'a Value) -> Document<'a> {
        let (server, tool) = names::split(name).map_or((None, name), |(server, tool)| (Some(server), tool));
        Document { name, tool, server, aliases: &[], hint: "", prompt: "", schema }
    }
}

impl<'a> Document<'a> {
    /// All that one may call the tool.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        let tail = names::split(self.name).map(|(_, tool)| tool);
        [self.name, self.tool].into_iter().chain(tail).chain(self.aliases.iter().copied())
    }
}

impl<'a> From<&'a Definition> for Document<'a> {
    fn from(definition: &'a Definition) -> Document<'a> {
        let (spec, offer) = (definition.spec(), definition.offer(false));
        Document {
            name: offer.name,
            tool: spec.name(),
            server: definition.server(),
            aliases: spec.other_names(),
            hint: spec.hint(),
            prompt: offer.prompt,
            schema: offer.schema.value(),
        }
    }
}
