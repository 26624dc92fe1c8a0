//! The session itself: what calls may see and change.

mod child; //   that of a sub-agent
mod explain; // what would be decided about a call

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use haft_tool::{Block, CallId, Caller, Change, Fault, PathBase, SessionFacts, SessionId, Spec};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;

use super::{
    deeds::{Deed, Deeds},
    failures::Failures,
    journal::{Note, Noted},
    known::Known,
    locate::locate,
    memory::{Memory, Seen},
    plan::{self, PLAN, Plan, Todo},
    rules::{Basis, SessionRules},
    tasks::{TaskFacts, TaskList, TaskReport},
    worktree::{self, WORKTREE, Worktree},
};
use crate::{
    engine::Engine,
    policy::{
        Circumstances, Decision, Grants, Mode, Origin, Policy, Record, Request, RuleError, Rules, Written,
        path_rule,
    },
    pool::{Filter, Pool, PoolBuilder, PoolView, ToolsetError, search::Usage},
    result::{ToolResult, refused},
    turn::{Call, Event, Events, Feed, Interrupt, LiveTurn, Prepared, drive},
};

pub use child::ChildOptions;
use child::Lineage;
pub use explain::Explanation;

/// Who works where, and what has become of it. Clones are the same session.
#[derive(Clone)]
pub struct Session(Arc<Inner>);

struct Inner {
    engine: Engine,
    id: SessionId,
    home: Option<PathBuf>,
    caller: Caller,
    rules: Arc<SessionRules>,
    /// From what it began: its sub-agents begin from the same.
    begun: Begun,
    /// Shared with its sub-agents: who is asked there grants here.
    grants: Arc<Grants>,
    /// What a classifier has said.
    judgements: Arc<Record>,
    /// The calls that came before; empty until the first turn, and for good where there is no journal.
    known: OnceCell<Known>,
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
            confined: engine.settings().sandbox.enabled,
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
            base: Arc::new(PathBase { cwd, home: options.home.clone() }),
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
            begun: Begun { rules: given, model: options.model, agent: options.agent },
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

    /// Runs all calls of one model message. There is exactly one result per call, in the order of the calls.
    ///
    /// Calls that do not conflict run together. Nothing here fails: what goes wrong is a result. Needs a tokio runtime
    /// with its clock enabled.
    pub async fn turn(&self, calls: Vec<Call>) -> Vec<ToolResult> {
        let interrupt = self.fresh_interrupt();
        drive(self, Feed::Complete(calls), &Events::of(self), &interrupt).await
    }

    /// Runs one call.
    pub async fn call(&self, call: Call) -> ToolResult {
        let id = call.id.clone();
        let result = self.turn(vec![call]).await.pop();
        // One call, one result: the other branch keeps this free of panics, and its words true.
        result.unwrap_or_else(|| refused(id, String::new(), &Fault::failed("no result")))
    }

    /// Runs one call in the task that asks for it, and hands over what happens to it meanwhile.
    pub async fn watched_call(&self, call: Call, mut on_event: impl FnMut(Event)) -> ToolResult {
        let id = call.id.clone();
        let (interrupt, (events, mut happening)) = (self.fresh_interrupt(), Events::channel(self));
        let turn = drive(self, Feed::Complete(vec![call]), &events, &interrupt);
        tokio::pin!(turn);
        let results = loop {
            tokio::select! {
                biased;
                Some(event) = happening.next() => on_event(event),
                results = &mut turn => break results,
            }
        };
        while let Some(event) = happening.next_that_is_there() {
            on_event(event);
        }
        results
            .into_iter()
            .next_back()
            .unwrap_or_else(|| refused(id, String::new(), &Fault::failed("no result")))
    }

    /// Begins a turn that is fed while the model still writes. Needs a tokio runtime.
    pub fn live_turn(&self) -> LiveTurn {
        LiveTurn::start(self.clone(), self.fresh_interrupt())
    }

    /// The same, stopped by an interrupt of the caller's: one that stops more than this turn.
    pub fn live_turn_under(&self, interrupt: Interrupt) -> LiveTurn {
        self.lock().interrupt = interrupt.clone();
        LiveTurn::start(self.clone(), interrupt)
    }

    /// Keeps what the model has read of a call where Read and Grep find it, so that the conversation need not hold it.
    pub async fn put_away(&self, call: &CallId, blocks: Vec<Block>) -> io::Result<PathBuf> {
        self.engine().results().keep(self.id(), call, Arc::new(blocks)).await
    }

    /// Stops the turn that runs; the second time, also calls that are waited for.
    pub fn interrupt(&self) {
        let interrupt = self.lock().interrupt.clone();
        interrupt.trigger();
    }

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
    /// a program that leaves after that would leave it behind.
    pub async fn end(&self) {
        self.0.tasks.end().await;
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

    /// Where nothing may be changed, what changes something is not offered either.
    fn modes(&self) -> [Mode; 2] {
        let mode = self.mode();
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

    /// The root of what it may touch unasked, links resolved: that of the worktree while it is in one.
    pub fn workspace(&self) -> Arc<Path> {
        self.0.rules.workspace()
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
            (&one.call, &one.writes, &one.commands) == (&other.call, &other.writes, &other.commands)
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
                    state.base = Arc::new(PathBase { cwd, home: self.0.home.clone() });
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

    /// The calls that came before. The journal is asked once; what it cannot say now it says when a call is about to start.
    pub(crate) async fn known(&self) -> &Known {
        let past = async {
            let Some(journal) = self.engine().journal() else { return Known::default() };
            Known::recall(journal.past(self.id()).await.unwrap_or_default())
        };
        self.0.known.get_or_init(|| past).await
    }

    /// The same, once they were asked for.
    pub(crate) fn known_by_now(&self) -> Option<&Known> {
        self.0.known.get()
    }

    /// Says that ids of calls are only places in their turn: some APIs give none. A call that comes with an id and an input of
    /// before is then a new one, unless its turn was cut off.
    pub fn count_calls_anew(&self) {
        self.0.counts_anew.store(true, Ordering::Relaxed);
    }

    pub(crate) fn counts_calls_anew(&self) -> bool {
        self.0.counts_anew.load(Ordering::Relaxed)
    }

    /// Counts a turn that begins, and notes it in the journal. 0 where there is none.
    pub(crate) async fn begin_turn(&self) -> u32 {
        let Some(journal) = self.engine().journal() else { return 0 };
        let turn = self.known().await.next_turn();
        let workspace = self.workspace();
        let note = Note::Turn { workspace: &workspace, mode: self.mode(), caller: &self.0.caller };
        // Nothing depends on it: each call says for itself that it could not be recorded.
        let _ = journal.noted(Noted { session: self.id(), call: None, turn, note }).await;
        turn
    }

    /// Every call of a turn has its result.
    pub(crate) async fn end_turn(&self, turn: u32, calls: usize) {
        let Some(journal) = self.engine().journal() else { return };
        let earlier = self.known().await.turn_ended(turn);
        let note = Note::TurnEnded { calls };
        for turn in earlier.into_iter().chain([turn]) {
            let _ = journal.noted(Noted { session: self.id(), call: None, turn, note }).await;
        }
    }

    pub(crate) fn failures(&self) -> &Failures {
        &self.0.failures
    }

    pub(crate) fn path_base(&self) -> Arc<PathBase> {
        self.lock().base.clone()
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
            caller: &self.0.caller,
            external: prepared.entry.is_external() || !prepared.effects.counts_as().is_empty(),
        }
    }

    /// The interrupt of the next turn: the one that is there, unless it was used.
    fn fresh_interrupt(&self) -> Interrupt {
        let mut state = self.lock();
        if state.interrupt.is_triggered() {
            state.interrupt = Interrupt::default();
        }
        state.interrupt.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code of others runs under this lock, so a poisoned one holds a state that is whole.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
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
