//! A project, some hooks beside it, and a session.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, time::Duration};

use haft_engine::{
    Call, EngineBuilder, Session, SessionOptions,
    policy::{Mode, Origin, Rules},
    result::ToolResult,
};
use haft_hooks::{CommandHooks, Config};
use haft_testkit::Workspace;
use haft_tool::Refusal;
use serde_json::Value;

pub(crate) struct Place {
    pub(crate) files: Workspace,
    /// Where the hooks are: not in the project, which must not change them.
    scripts: Workspace,
}

impl Place {
    pub(crate) fn new(files: &str) -> Place {
        Place { files: Workspace::new(files), scripts: Workspace::new("") }
    }

    /// Writes a program, and says where it is.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.scripts.root().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.scripts.root().join(name)
    }

    pub(crate) fn hooks(&self, hooks: &Value) -> CommandHooks {
        let (config, problems) = Config::read(hooks);
        assert_eq!(problems, []);
        CommandHooks::new(config)
    }

    pub(crate) fn engine(&self, allow: &[&str]) -> EngineBuilder {
        let rules = Rules::allowing(allow.iter().copied(), Origin::Session);
        let tools = haft_tools::builtin();
        haft_testkit::engine(&self.files)
            .tools(tools)
            .rules(rules)
            .settings(|settings| settings.sandbox.enabled = false)
    }

    pub(crate) fn session(&self, hooks: &Value, allow: &[&str]) -> Session {
        self.begin(self.engine(allow).hook(self.hooks(hooks)))
    }

    pub(crate) fn begin(&self, engine: EngineBuilder) -> Session {
        let options = SessionOptions { mode: Mode::AcceptEdits, ..SessionOptions::at(self.files.root()) };
        engine.build().unwrap().session(options).unwrap()
    }
}

pub(crate) async fn call(session: &Session, tool: &str, input: Value) -> ToolResult {
    session.call(Call::new("call_1", tool, input)).await
}

pub(crate) fn refusal(result: &ToolResult) -> Option<Refusal> {
    result.fault.and_then(|fault| fault.refusal)
}

/// What people are told about hooks, all of it.
pub(crate) fn notices(result: &ToolResult) -> String {
    let notices = result.meta.hooks.iter().filter_map(|said| said.notice.as_deref());
    notices.collect::<Vec<_>>().join("\n")
}

/// Whether a process with this word among its arguments runs.
pub(crate) fn runs(word: &str) -> bool {
    let has = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let is_zombie = fs::read_to_string(entry.path().join("stat")).is_ok_and(|stat| stat.contains(") Z "));
        !is_zombie && line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().any(has)
}

pub(crate) async fn until(what: impl Fn() -> bool) -> bool {
    for _ in 0..1000 {
        if what() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}
