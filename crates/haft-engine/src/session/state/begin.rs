//! How a session begins: what it is told, what it goes on from, and why it may not begin at all.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use haft_tool::{Caller, PathBase, SessionId};
use tokio::sync::OnceCell;
use uuid::Uuid;

use super::{Begun, Inner, Session, State, results::ResultPlaces};
use crate::{
    engine::{Engine, Sandbox},
    policy::{Asker, Circumstances, Grants, Mode, Origin, RuleError, RuleKeeper, Rules, Written, path_rule},
    pool::{Source, ToolsetError, search::Usage},
    session::{
        deeds::Deeds,
        failures::Failures,
        known::Identity,
        locate::locate,
        memory::{Memory, Seen},
        rules::{Basis, SessionRules},
        tasks::TaskList,
        worktree::{self, WORKTREE, Worktree},
    },
    turn::Interrupt,
};

/// How a session begins.
///
/// One engine serves many users, each with a session that asks its own person:
///
/// ```
/// use std::sync::Arc;
///
/// use haft_engine::{Engine, SessionOptions, policy::Nobody};
/// use haft_tool::Caller;
///
/// let engine = Engine::builder().build()?;
/// let begin = |user: &str| {
///     engine.session(SessionOptions {
///         caller: Caller { user: Some(user.to_owned()), ..Caller::default() },
///         asker: Some(Arc::new(Nobody)),
///         ..SessionOptions::at("/")
///     })
/// };
/// let (ann, bob) = (begin("ann")?, begin("bob")?);
/// assert_ne!(ann.id(), bob.id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SessionOptions {
    /// The session's id. Without one, each session that begins from these options gets an id that no other has.
    pub id: Option<SessionId>,
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
    /// The asker of this session; the engine's if it is not given.
    pub asker: Option<Arc<dyn Asker>>,
    /// The keeper of the rules that an *always* in this session makes; the engine's if it is not given.
    pub rule_keeper: Option<Arc<dyn RuleKeeper>>,
    /// Sources of tools that only this session has, besides the engine's. Of two tools of one name, the engine's wins.
    pub sources: Vec<Arc<dyn Source>>,
}

impl SessionOptions {
    /// A session in a workspace, with an id of its own and everything else as usual.
    pub fn at(workspace: impl Into<PathBuf>) -> SessionOptions {
        SessionOptions {
            id: None,
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
            asker: None,
            rule_keeper: None,
            sources: Vec::new(),
        }
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("id", &self.id)
            .field("workspace", &self.workspace)
            .field("mode", &self.mode)
            .field("caller", &self.caller)
            .finish_non_exhaustive()
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
        // An id that is made here is new.
        let is_new = options.is_new || options.id.is_none();
        let id = options.id.unwrap_or_else(|| Uuid::now_v7().to_string().into());
        let results = engine.results();
        let identity = Identity::new(&id, &workspace, &options.caller);
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
        let result_places = ResultPlaces::of(&*results, &id, &workspace);
        if let Some(own) = result_places.own() {
            rules.allow.push(Written::new(path_rule("Read", &own), Origin::Haft));
        }
        // Rules are compared with real places; `~` in a path keeps its spelling and is resolved with the path.
        let home = options.home.as_ref().map(|home| locate(home).unwrap_or_else(|_| home.clone()));
        let sandbox = options.sandbox.as_ref().unwrap_or(&engine.settings().sandbox);
        let unsandboxed = sandbox.unsandboxed.clone();
        let basis = Basis { home, redactor: engine.redactor().cloned(), unsandboxed };
        let rules = SessionRules::new(rules, &workspace, basis).map_err(SessionError::Rules)?;
        if let Some(worktree) = away {
            let (there, left) = worktree.places();
            rules.move_to(&there, Some(&left)).map_err(SessionError::Rules)?;
        }
        let toolset = match &options.toolset {
            Some(names) => Some(engine.toolsets().filter(names.split(',')).map_err(SessionError::Toolset)?),
            None => None,
        };
        let mut pools = match &options.usage {
            Some(usage) => engine.pools().usage(Arc::clone(usage)),
            None => engine.pools(),
        };
        options.sources.iter().for_each(|source| pools.add(Arc::clone(source)));
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
            has_own_asker: options.asker.is_some(),
            asker: options.asker.unwrap_or_else(|| engine.asker().clone()),
            keeper: options.rule_keeper.or_else(|| engine.keeper().cloned()),
            sources: options.sources,
            results,
            result_places,
            identity,
            engine,
            id,
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
            known: if is_new { OnceCell::from(Arc::default()) } else { OnceCell::new() },
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
