//! One tool, through the whole pipeline.

use haft_engine::{
    Call, Engine, EngineBuilder, Session, SessionOptions, result::FileStore, result::ToolResult,
};
use haft_tool::IntoTool;
use serde_json::Value;

use crate::Workspace;

/// What the model would read, and the rest of the result.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// All text of the result.
    pub text: String,
    /// The whole result.
    pub result: ToolResult,
}

/// Calls a tool in a workspace, the way a model's call would reach it.
pub fn run(tool: impl IntoTool, workspace: &Workspace, input: Value) -> Result<Outcome, Box<Outcome>> {
    let engine = engine(workspace).tool(tool.into_tool()).build().expect("one tool has one name");
    let name =
        session(&engine, workspace).pool().offers().next().expect("the tool is offered").name.to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let session = session(&engine, workspace);
    let result = runtime.block_on(session.call(Call::new("call_1", name, input)));
    let outcome = Outcome { text: result.text(), result };
    if outcome.result.is_error() { Err(Box::new(outcome)) } else { Ok(outcome) }
}

/// An engine that keeps large results beside the workspace's files.
pub fn engine(workspace: &Workspace) -> EngineBuilder {
    Engine::builder().results(FileStore::new(workspace.root().join(".results")))
}

/// A session in a workspace, with an id that is the same in every test: paths of kept results have it in them.
pub fn session(engine: &Engine, workspace: &Workspace) -> Session {
    let options = SessionOptions { id: Some("session".into()), ..SessionOptions::at(workspace.root()) };
    engine.session(options).expect("a workspace that exists")
}
