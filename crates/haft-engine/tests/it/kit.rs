//! What the tests share.

use haft_engine::{
    Call, Engine, EngineBuilder, Session, SessionOptions,
    policy::{Origin, Rules},
    result::ToolResult,
};
use haft_testkit::Workspace;
use haft_tool::FaultKind;
use serde_json::Value;

/// An engine that allows these rules.
pub(crate) fn allowing(workspace: &Workspace, rules: &[&str]) -> EngineBuilder {
    haft_testkit::engine(workspace).rules(Rules::allowing(rules.iter().copied(), Origin::Session))
}

pub(crate) fn begin(engine: EngineBuilder, workspace: &Workspace) -> Session {
    let engine: Engine = engine.build().expect("tools with names of their own");
    engine.session(SessionOptions::at(workspace.root())).expect("a session")
}

pub(crate) fn call(id: &str, tool: &str, input: Value) -> Call {
    Call::new(id, tool, input)
}

pub(crate) fn kind(result: &ToolResult) -> Option<FaultKind> {
    result.fault.map(|fault| fault.kind)
}
