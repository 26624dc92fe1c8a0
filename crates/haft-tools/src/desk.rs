//! For tests of tools that change files: a session that may edit, and somebody who makes its calls.

use std::sync::Arc;

use haft_engine::{
    Call, EngineBuilder, Session,
    policy::{Origin, Rules},
};
use haft_redact::Redactor;
use haft_testkit::{Workspace, engine, session};
use haft_tool::{Fault, Moment, Refusal, SharedTool, View};
use serde_json::Value;

pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    pub(crate) session: Session,
    pub(crate) runtime: tokio::runtime::Runtime,
}

impl Desk {
    pub(crate) fn new(files: &str) -> Desk {
        Desk::with(files, |engine| engine)
    }

    /// One where secrets are hidden.
    pub(crate) fn hiding(files: &str) -> Desk {
        Desk::with(files, |engine| engine.redactor(Arc::new(Redactor::builder().build())))
    }

    fn with(files: &str, more: impl FnOnce(EngineBuilder) -> EngineBuilder) -> Desk {
        let workspace = Workspace::new(files);
        let rules = Rules::allowing(["Edit(**)"], Origin::Session);
        let engine = more(engine(&workspace).tools(crate::builtin()).rules(rules)).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Desk { workspace, session, runtime }
    }

    /// The text of the result, without the place of the workspace.
    pub(crate) fn call(&self, tool: &str, input: Value) -> String {
        let result = self.runtime.block_on(self.session.call(Call::new("1", tool, input)));
        self.without_root(&result.text())
    }

    /// What a person sees of the result.
    pub(crate) fn drawn(&self, tool: &str, input: Value) -> String {
        let view = self.runtime.block_on(async {
            let turn = self.session.live_turn();
            turn.push(Call::new("1", tool, input)).unwrap();
            turn.results().await.remove(0).view.expect("somebody watches")
        });
        self.without_root(&draw(&view))
    }

    fn without_root(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.workspace.root().display()), "")
    }
}

/// What a person sees of a call that waits, runs, failed or was refused.
pub(crate) fn drawings(tool: &SharedTool, input: &Value) -> String {
    let (failed, refused) =
        (Fault::failed("the disk is full"), Fault::denied(Refusal::Person, "the user said no"));
    let moments = [Moment::Queued, Moment::Using, Moment::Failed(&failed), Moment::Refused(&refused)];
    moments.map(|moment| draw(&tool.view(input, moment))).join("\n")
}

pub(crate) fn draw(view: &View) -> String {
    match view {
        View::Text(text) => text.clone(),
        View::Diff { path, unified } => format!("{path}\n{}", unified.trim_end()),
        View::List(views) => views.iter().map(draw).collect::<Vec<_>>().join("\n"),
        other => format!("{other:?}"),
    }
}
