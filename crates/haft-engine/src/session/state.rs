//! The session itself: what calls may see and change.

mod begin; //   from what it begins
mod turns; //   its turns
mod child; //   that of a sub-agent
mod explain; // what would be decided about a call
mod results; // which kept results are its own

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
};

use haft_tool::{Caller, Change, PathBase, SessionFacts, SessionId, Spec};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use super::{
    deeds::{Deed, Deeds},
    failures::Failures,
    known::{Identity, Known},
    locate::locate,
    memory::{Memory, Seen},
    plan::{self, PLAN, Plan, Todo},
    rules::SessionRules,
    tasks::{TaskFacts, TaskList, TaskReport},
    worktree::{self, WORKTREE, Worktree},
};
use crate::{
    engine::{Engine, Sandbox},
    policy::{Asker, Decision, Grants, Mode, Policy, Record, Request, RuleError, RuleKeeper, Rules},
    pool::{Filter, Pool, PoolBuilder, PoolView, Source, search::Usage},
    result::ResultStore,
    turn::{Interrupt, Prepared},
};

pub use begin::{SessionError, SessionOptions};
pub use child::ChildOptions;
use child::Lineage;
pub use explain::Explanation;
use results::ResultPlaces;

/// Who works where, and what has become of it. Clones are the same session.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    engine: Engine,
    id: SessionId,
    /// Whose calls its calls are: a recalled answer never crosses it.
    identity: Identity,
    asker: Arc<dyn Asker>,
    /// Whether it was given one besides the engine's.
    has_own_asker: bool,
    keeper: Option<Arc<dyn RuleKeeper>>,
    /// Those that only it has, and its sub-agents.
    sources: Vec<Arc<dyn Source>>,
    /// Where its large results are kept, and those of its sub-agents.
    results: Arc<dyn ResultStore>,
    /// Below which real place results of all sessions are, and which of them it may read.
    result_places: ResultPlaces,
    home: Option<PathBuf>,
    caller: Caller,
    rules: Arc<SessionRules>,
    /// From what it began: its sub-agents begin from the same.
    begun: Begun,
    /// Shared with its sub-agents: who is asked there grants here.
    grants: Arc<Grants>,
    /// What a classifier has said.
    judgements: Arc<Record>,
    /// The calls that came before; asked for when the first turn begins.
    known: OnceCell<Arc<Known>>,
    /// Whether ids of calls are only places in their turn.
    counts_anew: AtomicBool,
    toolset: Option<Filter>,
    failures: Failures,
    deeds: Deeds,
    seen: Arc<Seen>,
    /// Ended with the session.
    tasks: Arc<TaskList>,
    pools: Mutex<PoolBuilder>,
    usage: Option<Arc<dyn Usage>>,
    state: Mutex<State>,
    lineage: Option<Lineage>,
}

/// Rules before it was asked which of them hold, and what decides that.
struct Begun {
    rules: Rules,
    /// How its processes are confined, if not as the engine's.
    sandbox: Option<Arc<Sandbox>>,
    model: Option<String>,
    agent: Option<String>,
}

/// What calls change.
struct State {
    mode: Mode,
    base: Arc<PathBase>,
    /// Whether a call changed where relative paths begin.
    moved: bool,
    loaded: Vec<String>,
    values: Map<String, Value>,
    /// The workspace that was left for a worktree.
    left: Option<PathBuf>,
    interrupt: Interrupt,
}

impl Session {
    /// What goes on after the calls that began it, and what has ended of it.
    pub fn tasks(&self) -> Vec<TaskFacts> {
        self.0.tasks.facts()
    }

    /// What has become of it that nobody has been told: what has ended, and what monitors saw. Each is told once; whoever
    /// looked at a task has been told.
    pub fn task_reports(&self) -> Vec<TaskReport> {
        self.0.tasks.reports(self.redactor())
    }

    /// Ends what goes on, and waits until it has. A session that is only dropped tells it to end, and does not wait:
    /// a program that leaves after that would leave it behind. Large results that no store was given for are removed.
    pub async fn end(&self) {
        self.0.tasks.end().await;
        if self.0.lineage.is_none() {
            self.0.results.end(&self.0.id);
        }
        if let Some(images) = self.engine().images().cloned() {
            let id = self.0.id.clone();
            // It has no result: what could not be kept is said by whoever keeps it.
            let _ = tokio::task::spawn_blocking(move || images.end(&id)).await;
        }
    }

    /// The tools that the model sees now. Asked at the top of each turn: sources may have changed.
    pub fn pool(&self) -> Arc<Pool> {
        let loaded = self.lock().loaded.clone();
        let (policy, modes) = (self.policy(), self.modes());
        let hides = |name: &str, spec: &Spec| {
            modes.iter().find_map(|mode| policy.hides(name, spec, *mode, &self.0.caller))
        };
        self.pool_where(&hides, policy.version() ^ modes[0] as u64 ^ ((modes[1] as u64) << 8), &loaded)
    }

    /// Where nothing may be changed, what changes something is not offered either. A plan that is made meanwhile takes
    /// nothing from the list: it must stay as the API has cached it, and each call that changes something is refused.
    fn modes(&self) -> [Mode; 2] {
        let mode = self.0.lineage.as_ref().map_or_else(|| self.own_mode(), Lineage::mode);
        [mode, if self.is_read_only() { Mode::Plan } else { mode }]
    }

    /// Why a tool is not shown here, if no call of it could run: for whoever offers tools beside those of the pool.
    pub fn hides(&self, name: &str, spec: &Spec) -> Option<String> {
        let policy = self.policy();
        self.modes().iter().find_map(|mode| policy.hides(name, spec, *mode, &self.0.caller))
    }

    /// Remembers that a call of this tool worked.
    pub(crate) fn note_use(&self, tool: &str) {
        if let Some(usage) = &self.0.usage {
            usage.called(tool);
        }
    }

    /// The tools that there are, also those that the policy hides.
    fn whole_pool(&self) -> Arc<Pool> {
        self.pool_where(&|_, _| None, 0, &[])
    }

    fn pool_where(
        &self,
        hides: &dyn Fn(&str, &Spec) -> Option<String>,
        hides_version: u64,
        loaded: &[String],
    ) -> Arc<Pool> {
        let view = PoolView {
            hides,
            hides_version,
            toolset: self.0.toolset.as_ref(),
            loaded,
            thresholds: &self.0.engine.settings().thresholds,
            loading: &self.0.engine.settings().loading,
            env: &|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()),
        };
        self.0.pools.lock().unwrap_or_else(PoisonError::into_inner).snapshot(&view)
    }
}

/// What can be asked of a session, and changed by whoever owns it.
impl Session {
    /// Which session.
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// The engine it runs on.
    pub fn engine(&self) -> &Engine {
        &self.0.engine
    }

    /// Who takes secrets out of what is shown and kept. `None`: nobody does.
    pub fn redactor(&self) -> Option<&Arc<haft_redact::Redactor>> {
        self.engine().redactor()
    }

    /// The asker that gets its questions.
    pub fn asker(&self) -> &dyn Asker {
        &*self.0.asker
    }

    /// The asker that this session was given, which takes the place of any other.
    pub(crate) fn own_asker(&self) -> Option<Arc<dyn Asker>> {
        self.0.has_own_asker.then(|| self.0.asker.clone())
    }

    pub(crate) fn keeper(&self) -> Option<&dyn RuleKeeper> {
        self.0.keeper.as_deref()
    }

    pub(crate) fn results(&self) -> &Arc<dyn ResultStore> {
        &self.0.results
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// The root of what it may touch unasked, links resolved: that of the worktree while it is in one.
    pub fn workspace(&self) -> Arc<Path> {
        self.0.rules.workspace()
    }

    /// How its processes are confined.
    pub fn sandbox(&self) -> &Sandbox {
        self.0.begun.sandbox.as_deref().unwrap_or(&self.0.engine.settings().sandbox)
    }

    /// Whether the kernel confines calls without approval to reading the workspace.
    pub(crate) fn confines_reading(&self) -> bool {
        self.sandbox().enabled && self.sandbox().confines_reading
    }

    /// All that may be read, if the session is kept to its workspace: that, its results, and what its settings give.
    pub(crate) fn boundary(&self) -> Option<Vec<PathBuf>> {
        let sandbox = self.sandbox();
        sandbox.workspace_only.then(|| {
            let given = sandbox.read.iter().chain(&sandbox.write);
            let given = given.filter_map(|path| locate(path).ok());
            given.chain(self.0.result_places.open()).chain([self.workspace().to_path_buf()]).collect()
        })
    }

    /// The worktree that it is in.
    pub fn worktree(&self) -> Option<Worktree> {
        worktree::worktree(&self.lock().values)
    }

    /// How careful it is: [`Mode::Plan`] while a plan is being made, its own mode otherwise. A sub-agent's session is as
    /// careful as its parent's is now.
    pub fn mode(&self) -> Mode {
        match &self.0.lineage {
            Some(lineage) => lineage.mode(),
            None => self.lock().mode_now(),
        }
    }

    /// Makes it more or less careful. Whoever says this is the person, so a plan that was being made is not any more.
    ///
    /// A session whose own mode is [`Mode::Plan`] stays so whatever plan is approved. For planning that ends with an
    /// approved plan there is [`begin_planning`](Session::begin_planning). A sub-agent's session can only be made to change
    /// nothing, by [`Mode::Plan`].
    pub fn set_mode(&self, mode: Mode) {
        let mut state = self.lock();
        state.mode = mode;
        if let Some(plan) = plan::plan(&state.values).filter(|plan| plan.is_open) {
            let closed = Plan { is_open: false, ..plan };
            state.values.insert(PLAN.to_owned(), closed.to_value());
        }
    }

    /// From now on a plan is made: nothing is changed until the person has approved one, or sets a mode.
    pub fn begin_planning(&self) {
        let opened = Plan { is_open: true, ..Plan::default() };
        self.lock().values.insert(PLAN.to_owned(), opened.to_value());
    }

    /// Its own mode: the one that holds where no plan is being made.
    pub fn own_mode(&self) -> Mode {
        self.lock().mode
    }

    /// The plan, whether it is being made or approved.
    pub fn plan(&self) -> Option<Plan> {
        plan::plan(&self.lock().values)
    }

    /// The things to do, as the model has listed them: for front ends to draw.
    pub fn todos(&self) -> Vec<Todo> {
        plan::todos(&self.lock().values)
    }

    /// What its calls have done, the earliest first: those that the journal knows from before, and its own.
    pub async fn deeds(&self) -> Vec<Deed> {
        let own = self.0.deeds.all();
        let Some(journal) = self.engine().journal() else { return own };
        // A journal that cannot be read knows nothing; what this process did is known without it.
        let mut deeds = journal.deeds(self.id()).await.unwrap_or_default();
        let is_the_same = |one: &Deed, other: &Deed| {
            let is_like = (&one.writes, &one.commands) == (&other.writes, &other.commands);
            (&one.call, &one.line) == (&other.call, &other.line) && (one.line.is_some() || is_like)
        };
        deeds.retain(|deed| !own.iter().any(|known| is_the_same(known, deed)));
        deeds.extend(own);
        deeds
    }

    /// What a sub-agent did was done for whoever began it.
    pub(crate) fn note_deed(&self, deed: Deed) {
        if let Some(parent) = self.parent() {
            parent.note_deed(deed.clone());
        }
        self.0.deeds.note(deed);
    }

    /// Notes what the user asks for now: a classifier judges calls by it. Never what a tool printed; what a sub-agent is told
    /// are a model's words, and are not noted.
    pub fn set_request(&self, text: &str) {
        if self.0.lineage.is_none() {
            self.0.judgements.set_wanted(text);
        }
    }

    /// What its policy is now.
    pub fn policy(&self) -> Arc<Policy> {
        self.0.rules.policy()
    }

    /// A policy of the rules by which commands run outside of the sandbox.
    pub(super) fn unsandboxed_rules(&self) -> Arc<Policy> {
        self.0.rules.unsandboxed()
    }

    /// Adds rules for the calls to come. They hold in the layer that they name, whatever the circumstances.
    pub fn add_rules(&self, rules: Rules) -> Result<(), Vec<RuleError>> {
        self.0.rules.add(rules)
    }

    /// What a tool may know of it.
    pub fn facts(&self) -> SessionFacts {
        SessionFacts {
            id: self.0.id.clone(),
            workspace: self.workspace().to_path_buf(),
            cwd: self.lock().base.cwd.clone(),
            home: self.0.home.clone(),
            caller: self.0.caller.clone(),
        }
    }

    /// A piece of state that tools keep under a key.
    pub fn state(&self, key: &str) -> Option<Value> {
        self.lock().values.get(key).cloned()
    }

    /// What it knows now, to go on with later.
    pub fn memory(&self) -> Memory {
        let state = self.lock();
        Memory {
            cwd: state.moved.then(|| state.base.cwd.clone()),
            loaded: state.loaded.clone(),
            values: state.values.clone(),
            seen: self.0.seen.memory(),
            granted: self.0.grants.memory(),
            tasks: self.0.tasks.memory(self.redactor()),
        }
    }

    /// Whether it is at home somewhere.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.0.home.as_deref()
    }

    pub(crate) fn seen(&self) -> &Arc<Seen> {
        &self.0.seen
    }

    pub(crate) fn task_list(&self) -> &Arc<TaskList> {
        &self.0.tasks
    }

    /// Applies what a call changes.
    pub(crate) fn apply(&self, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let mut state = self.lock();
        for change in changes {
            match change {
                Change::Cwd(cwd) => {
                    state.base = Arc::new(PathBase { cwd, ..PathBase::clone(&state.base) });
                    state.moved = true;
                }
                Change::Load(names) => state.load(names),
                Change::State(key, value) => {
                    let moves = key == WORKTREE;
                    state.values.insert(key, value);
                    if moves {
                        self.settle_in(&mut state);
                    }
                }
            }
        }
    }

    /// Works where the state says: in a worktree, or in the workspace that was left for one.
    fn settle_in(&self, state: &mut State) {
        if self.0.lineage.is_some() {
            // A sub-agent works where its parent does.
            return;
        }
        let now = worktree::worktree(&state.values);
        let moved = match (&now, &state.left) {
            (Some(worktree), _) => {
                let (there, left) = worktree.places();
                self.0.rules.move_to(&there, Some(&left))
            }
            (None, Some(left)) => self.0.rules.move_to(left, None),
            (None, None) => Ok(()),
        };
        // The same rules were compiled before, for another place: what could be wrong with them has been told then.
        debug_assert!(moved.is_ok(), "{moved:?}");
        state.left = now.map(|worktree| worktree.places().1);
    }

    pub(crate) fn grants(&self) -> &Grants {
        &self.0.grants
    }

    pub(crate) fn judgements(&self) -> &Record {
        &self.0.judgements
    }

    pub(crate) fn failures(&self) -> &Failures {
        &self.0.failures
    }

    pub(crate) fn path_base(&self) -> Arc<PathBase> {
        let (base, workspace) = (self.lock().base.clone(), self.workspace());
        // A session that has moved to a worktree has another workspace.
        if base.workspace.as_deref() == Some(&*workspace) {
            return base;
        }
        Arc::new(PathBase { workspace: Some(workspace.to_path_buf()), ..PathBase::clone(&base) })
    }

    /// Asks the policy about a call whose paths are located.
    pub(crate) fn decide(&self, prepared: &Prepared<'_>) -> Decision {
        self.policy().decide(&self.request(prepared))
    }

    pub(crate) fn request<'a>(&'a self, prepared: &'a Prepared<'_>) -> Request<'a> {
        let spec = prepared.entry.tool().spec();
        Request {
            tool: prepared.entry.name(),
            aliases: spec.other_names(),
            spec,
            effects: &prepared.effects,
            mode: self.mode(),
            read_only: self.is_read_only(),
            workspace: &prepared.workspace,
            code_places: &prepared.code_places,
            caller: &self.0.caller,
            external: prepared.entry.is_external() || !prepared.effects.counts_as().is_empty(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under this lock, so a poisoned one holds a state that is whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn mode_now(&self) -> Mode {
        if plan::is_open(&self.values) { Mode::Plan } else { self.mode }
    }

    /// In the order of loading, each once: the pool only ever appends.
    fn load(&mut self, names: Vec<String>) {
        for name in names {
            if !self.loaded.contains(&name) {
                self.loaded.push(name);
            }
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.0.id)
            .field("workspace", &self.workspace())
            .finish_non_exhaustive()
    }
}
