//! The engine: what all sessions share.
//!
//! It is put together once, from sources of tools, rules, and whoever asks, records and keeps. It holds no global state:
//! two engines in one process know nothing of each other.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Once, PoisonError},
    time::Duration,
};

use haft_redact::Redactor;
use haft_tool::{IntoTool, ResourceLimits, SharedTool};

use crate::{
    policy::{Asker, Classifier, Nobody, RuleKeeper, Rules, Written},
    pool::{
        DuplicateTool, Entry, Loading, Pins, PoolBuilder, Source, StaticSource, Thresholds, ToolsetError,
        Toolsets,
    },
    result::{Budget, PrivateResults, PrivateRoot, ResultStore},
    session::{Images, Journal, KnownSessions, Ledger, Session, SessionError, SessionOptions},
    turn::{Hook, Kernel, Observer, Retry},
};

/// Runs calls. Clones are the same engine.
#[derive(Clone)]
pub struct Engine(Arc<Inner>);

struct Inner {
    /// What sessions begin from: they share compiled schemas.
    pools: Mutex<PoolBuilder>,
    kernel: Vec<(SharedTool, Arc<dyn Kernel>)>,
    rules: Rules,
    toolsets: Toolsets,
    classifier: Option<Arc<dyn Classifier>>,
    asker: Arc<dyn Asker>,
    keeper: Option<Arc<dyn RuleKeeper>>,
    hooks: Vec<Arc<dyn Hook>>,
    journal: Option<Arc<dyn Journal>>,
    observers: Vec<Arc<dyn Observer>>,
    images: Option<Arc<dyn Images>>,
    /// Without a store, each session has a directory of its own in a private one.
    results: Option<Arc<dyn ResultStore>>,
    private: Arc<PrivateRoot>,
    known: KnownSessions,
    redactor: Option<Arc<Redactor>>,
    ledger: Ledger,
    pins: Option<Arc<dyn Pins>>,
    /// Cleaning up after the dead is done once, when the first session begins.
    cleaned: Once,
    settings: Settings,
}

/// The engine's figures.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many calls of a turn run at once.
    pub parallel: usize,
    /// How long a call may take whose tool says nothing else.
    pub timeout: Duration,
    /// How transient faults are retried.
    pub retry: Retry,
    /// How much text goes back to the model.
    pub budget: Budget,
    /// From when on tools are searched for instead of shown.
    pub thresholds: Thresholds,
    /// Which tools are always shown, and what is said of those that are not.
    pub loading: Loading,
    /// How processes are confined.
    pub sandbox: Sandbox,
    /// The tools whose results keep their secrets, where there is a redactor.
    pub unredacted: Vec<String>,
    /// Finds the places that settings of a workspace name as code. Writing them is asked like writing a protected name.
    pub code_places: Option<FindCodePlaces>,
}

/// Returns the real paths that settings name as code, for a workspace and a home.
pub type FindCodePlaces = fn(workspace: &Path, home: Option<&Path>) -> Arc<[PathBuf]>;

/// How processes are confined, besides what rules and effects say of each call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Whether they are.
    pub enabled: bool,
    /// Whether a process that cannot be confined fully may not run.
    pub required: bool,
    /// Whether the kernel here can confine what processes read. Where it cannot, what is not known is asked.
    pub confines_reading: bool,
    /// Whether a session reads its own workspace alone, whatever rules and people permit: processes read what the system has
    /// besides, file tools do not. For programs that serve several users.
    pub workspace_only: bool,
    /// What may be read besides the workspace, where reading is confined.
    pub read: Vec<PathBuf>,
    /// What they may write besides the workspace.
    pub write: Vec<PathBuf>,
    /// What they may not read, besides what rules deny.
    pub deny_read: Vec<PathBuf>,
    /// The hosts that they may always contact, each with a port behind a colon if only that one is meant.
    pub hosts: Vec<String>,
    /// The Unix sockets that they may always connect to.
    pub sockets: Vec<PathBuf>,
    /// How much the processes of one command may use.
    pub limits: ResourceLimits,
    /// Rules for commands that run outside of the sandbox. They allow nothing: asking is as without them. Only the user's own
    /// settings should say this.
    pub unsandboxed: Vec<Written>,
    /// Whether no call leaves the sandbox, whatever a person or a rule says.
    pub forbid_unsandboxed: bool,
}

impl Default for Sandbox {
    fn default() -> Sandbox {
        Sandbox {
            enabled: true,
            required: false,
            confines_reading: true,
            workspace_only: false,
            read: Vec::new(),
            write: Vec::new(),
            deny_read: Vec::new(),
            hosts: Vec::new(),
            sockets: Vec::new(),
            limits: ResourceLimits::default(),
            unsandboxed: Vec::new(),
            forbid_unsandboxed: false,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            parallel: 10,
            timeout: Duration::from_secs(120),
            retry: Retry::default(),
            budget: Budget::default(),
            thresholds: Thresholds::default(),
            loading: Loading::default(),
            sandbox: Sandbox::default(),
            unredacted: Vec::new(),
            code_places: None,
        }
    }
}

impl Engine {
    /// An engine in the making.
    pub fn builder() -> EngineBuilder {
        EngineBuilder {
            sources: Vec::new(),
            tools: Vec::new(),
            kernel: Vec::new(),
            rules: Rules::default(),
            gates: PoolBuilder::new([]),
            toolsets: Vec::new(),
            classifier: None,
            asker: Arc::new(Nobody),
            keeper: None,
            hooks: Vec::new(),
            journal: None,
            observers: Vec::new(),
            images: None,
            results: None,
            redactor: None,
            ledger: Ledger::default(),
            pins: None,
            settings: Settings::default(),
        }
    }

    /// Begins a session.
    pub fn session(&self, options: SessionOptions) -> Result<Session, SessionError> {
        Session::begin(self.clone(), options)
    }

    /// The figures it works with.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The toolsets that sessions may name.
    pub fn toolsets(&self) -> &Toolsets {
        &self.0.toolsets
    }

    pub(crate) fn pools(&self) -> PoolBuilder {
        let mut pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.read();
        pools.clone()
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.0.rules
    }

    pub(crate) fn asker(&self) -> &Arc<dyn Asker> {
        &self.0.asker
    }

    pub(crate) fn classifier(&self) -> Option<&dyn Classifier> {
        self.0.classifier.as_deref()
    }

    pub(crate) fn keeper(&self) -> Option<&Arc<dyn RuleKeeper>> {
        self.0.keeper.as_ref()
    }

    pub(crate) fn hooks(&self) -> &[Arc<dyn Hook>] {
        &self.0.hooks
    }

    pub(crate) fn journal(&self) -> Option<&dyn Journal> {
        self.0.journal.as_deref()
    }

    pub(crate) fn observers(&self) -> &[Arc<dyn Observer>] {
        &self.0.observers
    }

    pub(crate) fn images(&self) -> Option<&Arc<dyn Images>> {
        self.0.images.as_ref()
    }

    /// Where a session that begins keeps its large results: in the store that was given, or in a directory of its own.
    pub(crate) fn results(&self) -> Arc<dyn ResultStore> {
        self.0.results.clone().unwrap_or_else(|| Arc::new(PrivateResults::new(self.0.private.clone())))
    }

    /// The calls that sessions of this engine began, for a session that begins under an id that was there before.
    pub(crate) fn known_calls(&self) -> &KnownSessions {
        &self.0.known
    }

    /// Who takes secrets out of what goes to models, people and files. `None`: nobody does.
    pub fn redactor(&self) -> Option<&Arc<Redactor>> {
        self.0.redactor.as_ref()
    }

    /// The same for what comes from a tool, unless it was left out.
    pub(crate) fn redactor_for(&self, tool: &str) -> Option<&Arc<Redactor>> {
        self.redactor().filter(|_| !self.0.settings.unredacted.iter().any(|name| name == tool))
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    pub(crate) fn pins(&self) -> Option<&Arc<dyn Pins>> {
        self.0.pins.as_ref()
    }

    pub(crate) fn clean_up(&self) {
        self.0.cleaned.call_once(|| {
            self.0.ledger.sweep();
            if self.0.results.is_none() {
                PrivateRoot::sweep();
            }
        });
    }

    pub(crate) fn kernel(&self, entry: &Entry) -> Option<&dyn Kernel> {
        if &**entry.source() != KERNEL {
            return None;
        }
        let is_it = |kernel: &&(SharedTool, Arc<dyn Kernel>)| Arc::ptr_eq(&kernel.0, entry.tool());
        self.0.kernel.iter().find(is_it).map(|(_, kernel)| &**kernel)
    }
}

/// What a source has now. One that breaks has nothing; the pool says so.
fn tools_of(source: &dyn Source) -> Vec<SharedTool> {
    catch_unwind(AssertUnwindSafe(|| source.tools().to_vec())).unwrap_or_default()
}

/// Why an engine cannot be built.
#[derive(Debug)]
pub enum BuildError {
    /// Two tools of one name.
    Duplicate(DuplicateTool),
    /// A toolset that cannot be.
    Toolset(ToolsetError),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Duplicate(err) => err.fmt(f),
            BuildError::Toolset(err) => err.fmt(f),
        }
    }
}

impl std::error::Error for BuildError {}

impl From<DuplicateTool> for BuildError {
    fn from(err: DuplicateTool) -> BuildError {
        BuildError::Duplicate(err)
    }
}

impl From<ToolsetError> for BuildError {
    fn from(err: ToolsetError) -> BuildError {
        BuildError::Toolset(err)
    }
}

/// The source of kernel tools. It comes first, so nothing can take their names.
const KERNEL: &str = "kernel";

/// An engine in the making. [`build`](EngineBuilder::build) finishes it.
pub struct EngineBuilder {
    sources: Vec<Arc<dyn Source>>,
    tools: Vec<SharedTool>,
    kernel: Vec<Arc<dyn Kernel>>,
    rules: Rules,
    gates: PoolBuilder,
    toolsets: Vec<(String, Vec<String>)>,
    classifier: Option<Arc<dyn Classifier>>,
    asker: Arc<dyn Asker>,
    keeper: Option<Arc<dyn RuleKeeper>>,
    hooks: Vec<Arc<dyn Hook>>,
    journal: Option<Arc<dyn Journal>>,
    observers: Vec<Arc<dyn Observer>>,
    images: Option<Arc<dyn Images>>,
    results: Option<Arc<dyn ResultStore>>,
    redactor: Option<Arc<Redactor>>,
    ledger: Ledger,
    pins: Option<Arc<dyn Pins>>,
    settings: Settings,
}

impl EngineBuilder {
    /// Adds a tool.
    pub fn tool(mut self, tool: impl IntoTool) -> EngineBuilder {
        self.tools.push(tool.into_tool());
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = SharedTool>) -> EngineBuilder {
        self.tools.extend(tools);
        self
    }

    /// Adds a source. Of two tools of one name, that of the earlier source wins.
    pub fn source(mut self, source: impl Source + 'static) -> EngineBuilder {
        self.sources.push(Arc::new(source));
        self
    }

    /// Offers tools only while a condition holds: `.gate("Browser*", "no display", || has_display())`. Names may have
    /// `*` in them. It is asked once a turn and should be cheap.
    pub fn gate(
        mut self,
        tools: impl Into<String>,
        why: impl Into<String>,
        is_open: impl Fn() -> bool + Send + Sync + 'static,
    ) -> EngineBuilder {
        self.gates = self.gates.gate(tools, why, is_open);
        self
    }

    /// Adds a tool that sees the runtime.
    pub fn kernel(mut self, kernel: impl Kernel + 'static) -> EngineBuilder {
        self.kernel.push(Arc::new(kernel));
        self
    }

    /// Adds tools that see the runtime.
    pub fn kernels(mut self, kernels: impl IntoIterator<Item = Arc<dyn Kernel>>) -> EngineBuilder {
        self.kernel.extend(kernels);
        self
    }

    /// What may run unasked, and what never.
    pub fn rules(mut self, rules: Rules) -> EngineBuilder {
        self.rules = rules;
        self
    }

    /// Names a set of tools: `.toolset("planning", ["readonly", "TodoWrite", "!Bash"])`.
    pub fn toolset<I: Into<String>>(
        mut self,
        name: &str,
        items: impl IntoIterator<Item = I>,
    ) -> EngineBuilder {
        self.toolsets.push((name.to_owned(), items.into_iter().map(Into::into).collect()));
        self
    }

    /// Who is asked. Without one nobody is, and what would be asked is denied.
    pub fn asker(mut self, asker: impl Asker + 'static) -> EngineBuilder {
        self.asker = Arc::new(asker);
        self
    }

    /// Who judges in the person's place, in mode `auto`. Without one, that mode asks as the default one does.
    pub fn classifier(mut self, classifier: impl Classifier + 'static) -> EngineBuilder {
        self.classifier = Some(Arc::new(classifier));
        self
    }

    /// Who keeps the rules of a person who says *always*. Without one, that answer is not offered.
    pub fn rule_keeper(mut self, keeper: impl RuleKeeper + 'static) -> EngineBuilder {
        self.keeper = Some(Arc::new(keeper));
        self
    }

    /// Adds code that runs before and after each call.
    pub fn hook(mut self, hook: impl Hook + 'static) -> EngineBuilder {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Who records calls.
    pub fn journal(mut self, journal: impl Journal + 'static) -> EngineBuilder {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// Adds somebody who hears of every turn, in all sessions.
    pub fn observer(mut self, observer: impl Observer + 'static) -> EngineBuilder {
        self.observers.push(Arc::new(observer));
        self
    }

    /// Who keeps what calls change, so that it can be taken back. Without one, nobody does.
    pub fn images(mut self, images: impl Images + 'static) -> EngineBuilder {
        self.images = Some(Arc::new(images));
        self
    }

    /// Where large results are kept. Without one, each session keeps its own in a private directory below the system's
    /// temporary one, and removes it when it ends.
    pub fn results(mut self, results: impl ResultStore + 'static) -> EngineBuilder {
        self.results = Some(Arc::new(results));
        self
    }

    /// Who takes secrets out of results, faults, progress and what is kept of them. Without one, nobody does.
    pub fn redactor(mut self, redactor: Arc<Redactor>) -> EngineBuilder {
        self.redactor = Some(redactor);
        self
    }

    /// Where it is written down which files are being changed, so that the next start cleans up after a process that
    /// was killed in the middle. A directory of one's own. Without one, such a process leaves what it leaves.
    pub fn ledger(mut self, directory: impl Into<PathBuf>) -> EngineBuilder {
        self.ledger = Ledger::at(directory.into());
        self
    }

    /// Who remembers what tools of servers said of themselves when they were first permitted. One that says something
    /// else later is held back until somebody accepts it. Without it, every change is taken as it comes.
    pub fn pins(mut self, pins: impl Pins + 'static) -> EngineBuilder {
        self.pins = Some(Arc::new(pins));
        self
    }

    /// Changes the figures: `.settings(|settings| settings.parallel = 4)`.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> EngineBuilder {
        change(&mut self.settings);
        self
    }

    /// The engine. Fails if two tools were added under one name, or a toolset names what is not there.
    pub fn build(self) -> Result<Engine, BuildError> {
        let kernel: Vec<(SharedTool, Arc<dyn Kernel>)> =
            self.kernel.into_iter().map(|kernel| (kernel.tool(), kernel)).collect();
        let mut sources: Vec<Arc<dyn Source>> = Vec::new();
        if !kernel.is_empty() {
            sources.push(Arc::new(StaticSource::new(KERNEL, kernel.iter().map(|(tool, _)| tool.clone()))?));
        }
        if !self.tools.is_empty() {
            sources.push(Arc::new(StaticSource::new("builtin", self.tools)?));
        }
        sources.extend(self.sources);
        let tools: Vec<SharedTool> = sources.iter().flat_map(|source| tools_of(&**source)).collect();
        let toolsets = Toolsets::new(self.toolsets, tools.iter().map(|tool| tool.spec()))?;
        let mut pools = match &self.pins {
            Some(pins) => self.gates.pins(pins.clone()),
            None => self.gates,
        };
        sources.into_iter().for_each(|source| pools.add(source));
        Ok(Engine(Arc::new(Inner {
            pools: Mutex::new(pools),
            kernel,
            rules: self.rules,
            toolsets,
            classifier: self.classifier,
            asker: self.asker,
            keeper: self.keeper,
            hooks: self.hooks,
            journal: self.journal,
            observers: self.observers,
            images: self.images,
            results: self.results,
            private: Arc::default(),
            known: KnownSessions::default(),
            redactor: self.redactor,
            ledger: self.ledger,
            pins: self.pins,
            cleaned: Once::new(),
            settings: self.settings,
        })))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
