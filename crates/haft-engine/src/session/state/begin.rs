//! How a session begins: what it is told, what it goes on from, and why it may not begin at all.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use haft_tool::{Caller, PathBase, SessionId};
use tokio::sync::OnceCell;

use super::{Begun, Inner, Session, State};
use crate::{
    engine::{Engine, Sandbox},
    policy::{Circumstances, Grants, Mode, Origin, RuleError, Rules, Written, path_rule},
    pool::{ToolsetError, search::Usage},
    session::{
        deeds::Deeds,
        failures::Failures,
        known::Known,
        locate::locate,
        memory::{Memory, Seen},
        rules::{Basis, SessionRules},
        tasks::TaskList,
        worktree::{self, WORKTREE, Worktree},
    },
    turn::Interrupt,
};

/// How a session begins.
#[derive(Debug, Clone)]
pub struct SessionOptions {
    /// The session's id.
    pub id: SessionId,
    /// The root of what it may touch unasked.
    pub workspace: PathBuf,
    /// Where relative paths begin; the workspace if it is not given.
    pub cwd: Option<PathBuf>,
    /// What `~` means.
    pub home: Option<PathBuf>,
    /// How careful to be.
    pub mode: Mode,
    /// Who is behind it.
    pub caller: Caller,
    /// Rules of this session, besides the engine's.
    pub rules: Rules,
    /// How its processes are confined, if not as the engine's settings say.
    pub sandbox: Option<Sandbox>,
    /// The model that makes the calls, as its API names it: rules may be for some models only.
    pub model: Option<String>,
    /// The agent that the model plays: rules may be for some agents only.
    pub agent: Option<String>,
    /// The tools it may use; all if it is not given.
    pub toolset: Option<String>,
    /// What it knows from before, if it goes on.
    pub memory: Memory,
    /// Whether nobody has used its id before: the journal need not be asked what happened under it.
    pub is_new: bool,
    /// Which tools were called in this workspace before: they rise a little when tools are searched for.
    pub usage: Option<Arc<dyn Usage>>,
}

impl SessionOptions {
    /// A session in a workspace, with everything else as usual.
    pub fn at(workspace: impl Into<PathBuf>) -> SessionOptions {
        SessionOptions {
            id: "session".into(),
            workspace: workspace.into(),
            cwd: None,
            home: None,
            mode: Mode::Default,
            caller: Caller::default(),
            rules: Rules::default(),
            sandbox: None,
            model: None,
            agent: None,
            toolset: None,
            memory: Memory::default(),
            is_new: false,
            usage: None,
        }
    }
}

/// Why a session could not begin.
#[derive(Debug)]
pub enum SessionError {
    /// The workspace's path leads nowhere.
    Workspace(PathBuf, io::Error),
    /// Rules that are none.
    Rules(Vec<RuleError>),
    /// No such toolset.
    Toolset(ToolsetError),
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::Workspace(path, err) => {
                write!(f, "the workspace {} cannot be used: {err}", path.display())
            }
            SessionError::Rules(errors) => {
                let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            SessionError::Toolset(err) => err.fmt(f),
        }
    }
}

impl std::error::Error for SessionError {}

impl Session {
    pub(crate) fn begin(engine: Engine, mut options: SessionOptions) -> Result<Session, SessionError> {
        let place = |path: PathBuf| {
            let found = std::path::absolute(&path).and_then(|path| locate(&path));
            found.map_err(|err| SessionError::Workspace(path, err))
        };
        let workspace = place(options.workspace)?;
        engine.clean_up();
        let away = goes_on_in(&mut options.memory, &workspace);
        let cwd = options.memory.cwd.clone().or(options.cwd).unwrap_or_else(|| workspace.clone());
        let now = Circumstances {
            model: options.model.as_deref(),
            confined: options.sandbox.as_ref().unwrap_or(&engine.settings().sandbox).enabled,
            agent: options.agent.as_deref(),
            roles: &options.caller.roles,
        };
        let given = engine.rules().clone().and(options.rules);
        let mut rules = given.clone().holding(&now);
        // The preview of a spilled result names a file in here: reading on must not need a question. A directory that
        // cannot be will keep nothing, and each result will say so.
        if let Some(Ok(results)) = engine.results().directory(&options.id).map(|path| locate(&path)) {
            rules.allow.push(Written::new(path_rule("Read", &results), Origin::Haft));
        }
        // Rules are compared with real places; `~` in a path keeps its spelling and is resolved with the path.
        let home = options.home.as_ref().map(|home| locate(home).unwrap_or_else(|_| home.clone()));
        let basis = Basis { home, redactor: engine.redactor().cloned() };
        let rules = SessionRules::new(rules, &workspace, basis).map_err(SessionError::Rules)?;
        if let Some(worktree) = away {
            let (there, left) = worktree.places();
            rules.move_to(&there, Some(&left)).map_err(SessionError::Rules)?;
        }
        let toolset = match &options.toolset {
            Some(names) => Some(engine.toolsets().filter(names.split(',')).map_err(SessionError::Toolset)?),
            None => None,
        };
        let pools = match &options.usage {
            Some(usage) => engine.pools().usage(Arc::clone(usage)),
            None => engine.pools(),
        };
        let grants = Grants::recall(&workspace, options.memory.granted);
        let state = State {
            mode: options.mode,
            base: Arc::new(PathBase {
                cwd,
                home: options.home.clone(),
                workspace: Some(workspace.to_path_buf()),
            }),
            loaded: options.memory.loaded,
            left: worktree::worktree(&options.memory.values).map(|worktree| worktree.places().1),
            values: options.memory.values,
            moved: options.memory.cwd.is_some(),
            interrupt: Interrupt::default(),
        };
        Ok(Session(Arc::new(Inner {
            engine,
            id: options.id,
            home: options.home,
            caller: options.caller,
            rules: Arc::new(rules),
            begun: Begun {
                rules: given,
                sandbox: options.sandbox.map(Arc::new),
                model: options.model,
                agent: options.agent,
            },
            grants: Arc::new(grants),
            judgements: Arc::default(),
            known: if options.is_new { OnceCell::from(Known::default()) } else { OnceCell::new() },
            counts_anew: AtomicBool::new(false),
            toolset,
            failures: Failures::default(),
            deeds: Deeds::default(),
            seen: Arc::new(Seen::recall(&options.memory.seen)),
            tasks: Arc::new(TaskList::recall(options.memory.tasks)),
            pools: Mutex::new(pools),
            usage: options.usage,
            state: Mutex::new(state),
            lineage: None,
        })))
    }
}

/// The worktree that a session goes on in. One that is gone, or of another workspace, is forgotten.
fn goes_on_in(memory: &mut Memory, workspace: &Path) -> Option<Worktree> {
    let worktree = worktree::worktree(&memory.values)?;
    let (there, left) = worktree.places();
    if left == workspace && there.is_dir() {
        return Some(worktree);
    }
    memory.values.shift_remove(WORKTREE);
    memory.cwd = None;
    None
}
