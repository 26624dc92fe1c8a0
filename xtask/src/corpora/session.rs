//! A session of haft in this process, so that something can happen between the check of a call and its use.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use anyhow::{Result, anyhow};
use haft_engine::{
    Call, Engine, SessionOptions,
    policy::{CallFacts, Origin, Rules, Said, Written},
    result::{FileStore, ToolResult},
    session::Explanation,
    turn::Hook,
};
use haft_tool::{BoxFuture, SharedTool};
use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::stage::Stage;

/// The session of a case.
pub(super) struct Session {
    session: haft_engine::Session,
    runtime: Runtime,
}

/// What happens once a call has been permitted, before it starts.
pub(super) type Meanwhile = Arc<dyn Fn(&str) + Send + Sync>;

/// Rules, as a case writes them.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct CaseRules {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

impl Session {
    /// A session with rules on a stage.
    pub(super) fn begin(stage: &Stage, rules: &Value, meanwhile: Option<Meanwhile>) -> Result<Session> {
        let builder = Engine::builder()
            .kernel(haft_tools::ToolSearch)
            .tools(haft_tools::builtin())
            .results(FileStore::new(stage.state()));
        let engine = match meanwhile {
            Some(meanwhile) => builder.hook(Interloper(meanwhile)).build(),
            None => builder.build(),
        };
        let options = SessionOptions {
            home: Some(stage.home()),
            rules: parsed(&stage.filled_value(rules))?,
            ..SessionOptions::at(stage.workspace())
        };
        Session::of(engine.map_err(|err| anyhow!("{err}"))?, options)
    }

    /// A session in a workspace that need not be there: nothing is run in it.
    pub(super) fn elsewhere(workspace: PathBuf, home: PathBuf, rules: &Value) -> Result<Session> {
        static ENGINE: OnceLock<Engine> = OnceLock::new();
        let build = || Engine::builder().tools(haft_tools::builtin()).build();
        let engine = ENGINE.get_or_init(|| build().expect("the built-in tools fit together")).clone();
        let options =
            SessionOptions { home: Some(home), rules: parsed(rules)?, ..SessionOptions::at(workspace) };
        Session::of(engine, options)
    }

    /// The same with one tool and no other.
    pub(super) fn with_tool(
        tool: SharedTool,
        workspace: PathBuf,
        home: PathBuf,
        rules: &Value,
    ) -> Result<Session> {
        let engine = Engine::builder().tools([tool]).build().map_err(|err| anyhow!("{err}"))?;
        let options =
            SessionOptions { home: Some(home), rules: parsed(rules)?, ..SessionOptions::at(workspace) };
        Session::of(engine, options)
    }

    fn of(engine: Engine, options: SessionOptions) -> Result<Session> {
        let session = engine.session(options);
        Ok(Session {
            session: session.map_err(|err| anyhow!("{err}"))?,
            runtime: Builder::new_current_thread().enable_time().build()?,
        })
    }

    /// What would be decided, or why the call is refused as such.
    pub(super) fn explain(&self, tool: &str, input: Value) -> Result<Explanation, Box<ToolResult>> {
        self.runtime.block_on(self.session.explain(Call::new("1", tool, input)))
    }

    pub(super) fn call(&self, tool: &str, input: Value) -> ToolResult {
        self.runtime.block_on(self.session.call(Call::new("1", tool, input)))
    }
}

fn parsed(rules: &Value) -> Result<Rules> {
    let written = if rules.is_null() { CaseRules::default() } else { CaseRules::deserialize(rules)? };
    let all = |list: Vec<String>| Written::all(list, Origin::Session);
    Ok(Rules { allow: all(written.allow), ask: all(written.ask), deny: all(written.deny) })
}

/// Somebody who acts in the gap.
struct Interloper(Meanwhile);

impl Hook for Interloper {
    fn before<'a>(&'a self, call: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        (self.0)(call.tool);
        Box::pin(std::future::ready(Vec::new()))
    }
}
