//! For tests of tools that change files: a session that may edit, and somebody who makes its calls.

use haft_engine::{
    Call, Session,
    policy::{Origin, Rules},
};
use haft_testkit::{Workspace, engine, session};
use serde_json::Value;

pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    pub(crate) session: Session,
    pub(crate) runtime: tokio::runtime::Runtime,
}

impl Desk {
    pub(crate) fn new(files: &str) -> Desk {
        let workspace = Workspace::new(files);
        let allow = vec![("Edit(**)".to_owned(), Origin::Session)];
        let rules = Rules { allow, ..Rules::default() };
        let engine = engine(&workspace).tools(crate::builtin()).rules(rules).build().unwrap();
        let session = session(&engine, &workspace);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Desk { workspace, session, runtime }
    }

    /// The text of the result, without the place of the workspace.
    pub(crate) fn call(&self, tool: &str, input: Value) -> String {
        let result = self.runtime.block_on(self.session.call(Call::new("1", tool, input)));
        result.text().replace(&format!("{}/", self.workspace.root().display()), "")
    }
}
