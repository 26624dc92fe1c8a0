//! A tool in the pool.

use std::sync::{Arc, OnceLock};

use haft_schema::{Checker, SchemaError};
use haft_tool::{SharedTool, Spec};

use super::{Offer, Source, Statement, names};

/// A tool in a pool, under the name that the model calls it by.
#[derive(Clone)]
pub struct Entry {
    definition: Arc<Definition>,
    deferred: bool,
    /// What the model is told instead of the tool's own prompt.
    prompt: Option<Arc<str>>,
}

/// What stays the same of a tool from one snapshot to the next, and so is kept.
pub(super) struct Definition {
    name: Arc<str>,
    source: Arc<str>,
    /// The server, as its source calls it.
    server: Option<Arc<str>>,
    tool: SharedTool,
    checker: OnceLock<Result<Checker, SchemaError>>,
}

impl Definition {
    pub(super) fn new(source: &dyn Source, tool: SharedTool) -> Definition {
        let plain = tool.spec().name();
        let name = match source.namespace() {
            Some(server) => names::mangle(server, plain).into(),
            None => plain.into(),
        };
        let server = source.namespace().map(Arc::from);
        Definition { name, source: source.id().into(), server, tool, checker: OnceLock::new() }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }
    pub(super) fn source(&self) -> &Arc<str> {
        &self.source
    }
    pub(super) fn tool(&self) -> &SharedTool {
        &self.tool
    }
    pub(super) fn spec(&self) -> &Spec {
        self.tool.spec()
    }
    pub(super) fn is_external(&self) -> bool {
        self.server.is_some()
    }
    pub(super) fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    pub(super) fn offer(&self, deferred: bool) -> Offer<'_> {
        Offer {
            name: &self.name,
            title: self.tool.spec().title(),
            prompt: self.tool.prompt(),
            schema: self.tool.schema(),
            output: self.tool.output(),
            deferred,
        }
    }
}

impl Entry {
    pub(super) fn new(definition: Arc<Definition>, deferred: bool) -> Entry {
        Entry { definition, deferred, prompt: None }
    }

    /// Tells the model this of it.
    pub(super) fn say(&mut self, prompt: Arc<str>) {
        self.prompt = Some(prompt);
    }

    /// Whether it is made of this definition.
    pub(super) fn is(&self, definition: &Arc<Definition>) -> bool {
        Arc::ptr_eq(&self.definition, definition)
    }

    /// The same tool, now that its schema was asked for.
    pub(super) fn loaded(&self) -> Entry {
        Entry::new(Arc::clone(&self.definition), false)
    }

    /// The name that the model calls it by.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// The tool.
    pub fn tool(&self) -> &SharedTool {
        &self.definition.tool
    }

    /// The id of the source that it comes from.
    pub fn source(&self) -> &Arc<str> {
        &self.definition.source
    }

    /// The server that it comes from, if it is external, as its source calls it.
    pub fn server(&self) -> Option<&str> {
        self.definition.server.as_deref()
    }

    /// Whether it comes from outside: what it says about itself is a stranger's word.
    pub fn is_external(&self) -> bool {
        self.definition.is_external()
    }

    /// Whether only its name is shown until it is searched for. It can be called all the same.
    pub fn is_deferred(&self) -> bool {
        self.deferred
    }

    /// What a model is told of it.
    pub fn offer(&self) -> Offer<'_> {
        let offer = self.definition.offer(self.deferred);
        Offer { prompt: self.prompt.as_deref().unwrap_or(offer.prompt), ..offer }
    }

    /// All that it says of itself.
    pub fn statement(&self) -> Statement {
        Statement::of(&self.definition)
    }

    /// What checks its input: compiled at the first call, and kept while the source has the same tool.
    pub fn checker(&self) -> Result<&Checker, &SchemaError> {
        let compile = || Checker::compile(self.tool().schema().value());
        self.definition.checker.get_or_init(compile).as_ref()
    }
}
