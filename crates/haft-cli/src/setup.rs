//! From options and settings to an engine and a session: what every command that knows tools needs.

use std::{
    fmt,
    num::NonZeroUsize,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use haft_agent::{AgentOptions, Delegate, DelegateLimits, Judge, Model};
use haft_engine::{
    Engine, EngineBuilder, Session, SessionOptions,
    judge::{ByModel, ModelBudget, Then},
    policy::{Asker, ByEffects, Mode, Rules, Written, unknown_tools},
    pool::Pool,
    session::Memory,
};
use haft_mcp::{auth::Authorizer, server::Elicitor};
use haft_redact::Redactor;
use haft_shell::{
    git_config::named_places,
    sandbox::{Confinement, Level, Support},
};
use haft_store::Book;
use haft_tool::{Caller, SessionId};
use uuid::Uuid;

use crate::{
    agents::Agents,
    ask::{Terminal, may_ask},
    cli::Options,
    exit::usage,
    far::{self, Leaf},
    hooks,
    keep::{SettingsFile, SharedRules},
    memory,
    out::{self, Talk},
    pins::FilePins,
    place::{self, Place},
    secrets::redactor,
    servers::{self, Servers},
    settings::{self, Document, JudgedBy, Settings},
    skills::Skills,
    store::{self, Store},
    telemetry::Telemetry,
    trust::{self, Brought},
    usage::FileUsage,
};

/// What was asked for, read and found.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) options: Options,
    pub(crate) place: Place,
    pub(crate) talk: Talk,
    pub(crate) mode: Mode,
    settings: Settings,
    skills: Skills,
    /// The agents that a trusted workspace defines, as they were read.
    agents: Agents,
    pub(crate) servers: Servers,
    pub(crate) telemetry: Telemetry,
    /// The person, if there is one: whoever asks them waits for their turn.
    person: Option<Person>,
    /// Which tools were called in this workspace.
    usage: Option<Arc<FileUsage>>,
    /// What confines processes here. Tried only for modes that rest on it.
    confinement: Option<Level>,
    /// Where calls are recorded, if they are.
    store: Option<Store>,
    /// Rules that are kept for all machines, read when a session first wants them.
    kept: OnceLock<Vec<Written>>,
}

/// Somebody who can be asked.
#[derive(Clone)]
struct Person(Arc<dyn Asker>);

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Person")
    }
}

impl Setup {
    pub(crate) fn new(options: Options) -> anyhow::Result<Setup> {
        let terminal = |kept_in| Arc::new(Terminal::new(kept_in)) as Arc<dyn Asker>;
        Setup::asking(options, |options, kept_in| may_ask(options).then(|| terminal(kept_in)))
    }

    /// The same, where somebody else asks the person. They are made when it is known where rules are kept.
    pub(crate) fn asking(
        options: Options,
        person: impl FnOnce(&Options, Option<String>) -> Option<Arc<dyn Asker>>,
    ) -> anyhow::Result<Setup> {
        let talk = Talk::new(options.verbose).quiet(options.quiet);
        let telemetry = Telemetry::new(&options)?;
        let place = Place::find(options.cwd.as_deref())?;
        let brought = trust::look(&place.workspace);
        let counts = brought.counts(options.trust)?;
        let documents = if counts { brought.documents()? } else { warn(&options, &brought) };
        let mut settings = Settings::read(options.config.as_deref(), &documents)?;
        settings.rules.ask.extend(brought.guards().into_iter().filter(|_| counts));
        if counts {
            settings.mcp = settings.mcp.beside(brought.servers()?);
        }
        let mode = settings.mode_for(options.mode)?;
        if options.unsandboxed && (settings.fixed.sandboxed || settings.sandbox.required == Some(true)) {
            return Err(usage(REQUIRED));
        }
        talk.detail(|| format!("workspace {}, mode {mode}", place.workspace.display()));
        settings.notes.iter().for_each(|note| talk.detail(|| note.to_string()));
        if settings.managed_rules_only && !options.allow.is_empty() {
            talk.detail(|| "--allow does not count: the managed settings allow only their own".to_owned());
        }
        let store = store::wanted(&settings, &options)?;
        let kept_in = match store.as_ref().filter(|store| store.shared_book().is_some()) {
            Some(store) => Some(store.shown.clone()),
            None => place::user_settings().map(|path| path.display().to_string()),
        };
        let person = person(&options, kept_in).map(Person);
        let skills = Skills::find(counts.then_some(&brought), talk);
        let agents = Agents::brought(counts.then_some(&brought));
        let servers = servers(&settings, person.clone(), &place);
        let usage = place::state().ok().map(|state| Arc::new(FileUsage::of(&state, &place.workspace)));
        let confinement = None;
        let mut setup = Setup {
            options,
            place,
            talk,
            mode,
            settings,
            skills,
            agents,
            servers,
            telemetry,
            person,
            usage,
            confinement,
            store,
            kept: OnceLock::new(),
        };
        if matches!(mode, Mode::Auto | Mode::Bypass) {
            setup.confinement = setup.try_sandbox();
        }
        setup.check_bypass()?;
        setup.remark_unknown_tools();
        Ok(setup)
    }

    /// What the sandbox holds, if there is one and it keeps processes apart.
    fn try_sandbox(&self) -> Option<Level> {
        let level = self.sandbox().enabled.then(|| Confinement::at(&self.place.cwd).trial().ok())??;
        level.namespaces.then_some(level)
    }

    /// Where nothing is asked, processes are confined, or somebody has said twice that they are not.
    fn check_bypass(&self) -> anyhow::Result<()> {
        let said = match (&self.confinement, self.options.unsandboxed) {
            _ if self.mode != Mode::Bypass => return Ok(()),
            (Some(level), _) => format!("commands are confined ({level})"),
            (None, true) => "commands are not confined (--unsandboxed)".to_owned(),
            (None, false) => return Err(usage(BYPASS)),
        };
        self.talk.detail(|| format!("mode bypass: what no rule denies or asks runs unasked; {said}"));
        Ok(())
    }

    /// Says of flags that deny or ask something of a tool that there is not: whoever typed them is here, and thinks that they
    /// hold. Rules of settings files may be for servers that come later; `haft lint` looks at those.
    fn remark_unknown_tools(&self) {
        let rules = Rules { allow: Vec::new(), ..self.options.rules() };
        if rules.ask.is_empty() && rules.deny.is_empty() {
            return;
        }
        let bare = SessionOptions::at(&self.place.workspace);
        // What keeps an engine from being built is said by whoever needs one.
        let Some(session) = self.idle_engine().ok().and_then(|engine| engine.session(bare).ok()) else {
            return;
        };
        for remark in unknown_tools(&rules, names(&session.pool())) {
            self.talk.remark(|| remark.to_string());
        }
    }

    /// Whether some rules are for some models only: a session knows those of the model that it began with.
    #[cfg(feature = "tui")]
    pub(crate) fn has_rules_of_models(&self) -> bool {
        let Rules { allow, ask, deny } = &self.settings.rules;
        [allow, ask, deny]
            .into_iter()
            .flatten()
            .any(|rule| matches!(rule.layer, haft_engine::policy::Layer::Model(_)))
    }

    /// Whether a session that runs may go over to a mode: what the settings forbid stays forbidden, and what rests on a
    /// sandbox begins with one.
    #[cfg(feature = "tui")]
    pub(crate) fn may_switch_to(&self, mode: Mode) -> anyhow::Result<()> {
        if mode == Mode::Bypass && self.mode != Mode::Bypass {
            return Err(usage("mode bypass is chosen when haft starts: `haft --mode bypass`"));
        }
        self.settings.mode_for(Some(mode)).map(drop)
    }

    /// An engine for calls: it keeps large results, and asks whoever is there.
    pub(crate) fn engine(&self) -> anyhow::Result<Engine> {
        self.engine_asking(|builder| self.with_person(builder))
    }

    /// The same for a model that haft itself asks: it pays for every tool that it sees in each request, so it sees the few
    /// that most tasks need, and finds the others. It may delegate, and a model may judge what effects do not decide.
    pub(crate) fn agent_engine(
        &self,
        delegate: Delegate,
        judge: Option<ByModel<Judge>>,
    ) -> anyhow::Result<Engine> {
        self.engine_asking(|builder| {
            let builder =
                self.with_person(builder).kernel(delegate).settings(|figures| self.load_few(figures));
            match judge {
                Some(judge) => builder.classifier(Then(self.classifier(), judge)),
                None => builder,
            }
        })
    }

    /// The model that judges in mode auto, if the settings want one.
    pub(crate) fn judge(&self, model: Arc<dyn Model>, options: &AgentOptions) -> Option<ByModel<Judge>> {
        let (usual, set) = (ModelBudget::default(), &self.settings.auto);
        let budget = ModelBudget {
            questions: set
                .questions
                .map_or(usual.questions, |most| u32::try_from(most.get()).unwrap_or(u32::MAX)),
            patience: set
                .timeout_s
                .map_or(usual.patience, |seconds| Duration::from_secs(seconds.get() as u64)),
            ..usual
        };
        let name = set.model.as_ref().unwrap_or(&options.model);
        let judge = Judge::new(model, options.dialect, name).extra(options.extra.clone());
        (set.judge == Some(JudgedBy::Model)).then(|| ByModel::new(judge).budget(budget))
    }

    /// Sub-agents that ask this model.
    pub(crate) fn delegate(&self, model: Arc<dyn Model>, options: AgentOptions) -> Delegate {
        let (usual, set) = (DelegateLimits::default(), self.settings.delegate);
        let figure = |set: Option<NonZeroUsize>, usual: usize| set.map_or(usual, NonZeroUsize::get);
        let turns = figure(set.max_turns, usual.max_turns as usize);
        let limits = DelegateLimits {
            parallel: figure(set.parallel, usual.parallel),
            depth: figure(set.depth, usual.depth).min(DEEPEST),
            max_turns: u32::try_from(turns).unwrap_or(u32::MAX),
            max_tokens: set.run_tokens.map_or(usual.max_tokens, |tokens| Some(tokens.get() as u64)),
            time: set.timeout_s.map_or(usual.time, |seconds| Duration::from_secs(seconds.get() as u64)),
        };
        Delegate::new(model, options, self.agents.definitions(self.talk), limits)
    }

    fn load_few(&self, figures: &mut haft_engine::Settings) {
        figures.loading.always.extend(CORE.map(str::to_owned));
        let set = &self.settings.tools;
        if set.defer_above.is_none() && set.defer_share.is_none() {
            figures.thresholds.count = 0;
        }
    }

    /// The same for clients of ours: whoever is behind a client is asked through it, and never the terminal.
    pub(crate) fn door_engine(&self) -> anyhow::Result<Engine> {
        self.engine_asking(|builder| self.keeping(builder.asker(Elicitor), place::user_settings()))
    }

    fn engine_asking(&self, ask: impl FnOnce(EngineBuilder) -> EngineBuilder) -> anyhow::Result<Engine> {
        let builder = self.builder().results(self.results()?).ledger(place::state()?.join("changing"));
        let builder = builder.pins(self.pins()?).classifier(self.classifier());
        let builder = self.telemetry.observe(builder, self.talk);
        let builder = match &self.store {
            Some(store) => store.add(builder),
            None => builder,
        };
        let hooks = hooks::config(&self.settings.hooks);
        build(hooks::add(ask(builder), hooks, self.redactor()))
    }

    fn with_person(&self, builder: EngineBuilder) -> EngineBuilder {
        let Some(Person(asker)) = &self.person else { return builder };
        self.keeping(builder.asker(asker.clone()), place::user_settings())
    }

    fn keeping(&self, builder: EngineBuilder, kept_in: Option<PathBuf>) -> EngineBuilder {
        // What is kept there would not count where only the managed settings allow.
        match (self.shared_rules(), kept_in) {
            _ if self.settings.managed_rules_only => builder,
            (Some(shared), _) => builder.rule_keeper(shared),
            (None, Some(path)) => builder.rule_keeper(SettingsFile(path)),
            (None, None) => builder,
        }
    }

    /// Where rules are kept that hold on all machines.
    fn shared_rules(&self) -> Option<SharedRules> {
        self.shared_book().map(|book| SharedRules(Leaf::rules(book)))
    }

    /// What was always wanted, on whichever machine. Without it more is asked, and nothing else.
    fn kept_rules(&self) -> Rules {
        let Some(shared) = self.shared_rules().filter(|_| !self.settings.managed_rules_only) else {
            return Rules::default();
        };
        let allow = self.kept.get_or_init(|| {
            shared.rules().unwrap_or_else(|err| {
                out::complain(&format!("{err}; rules that are kept for all machines do not count"));
                Vec::new()
            })
        });
        Rules { allow: allow.clone(), ..Rules::default() }
    }

    /// What tools of servers said when they were first permitted. Other machines are asked only where there are servers.
    fn pins(&self) -> anyhow::Result<FilePins> {
        let is_wanted = !self.servers.sources().is_empty();
        FilePins::open(self.shared_book().filter(|_| is_wanted))
    }

    /// Who judges in mode auto by what a call does.
    pub(crate) fn classifier(&self) -> ByEffects {
        ByEffects::new().confined(self.confinement.is_some()).home(self.place.home.clone())
    }

    /// An engine for questions about tools and calls, which makes none.
    pub(crate) fn idle_engine(&self) -> anyhow::Result<Engine> {
        let builder = self.builder();
        build(match self.results() {
            Ok(results) => builder.results(results).pins(self.pins()?),
            // Where there is no place for results and pins, there are none that could be read.
            Err(_) => builder,
        })
    }

    /// Built-in tools and the settings' figures. Rules are the session's: a question may be about one without them.
    fn builder(&self) -> EngineBuilder {
        let toolsets = self.settings.toolsets.iter();
        let options = haft_tools::Options {
            data_reminder: self.settings.data_reminder.unwrap_or_default(),
            bash: self.bash_options(),
            #[cfg(feature = "web")]
            web: self.web_options(),
            ..haft_tools::Options::default()
        };
        let builder = Engine::builder()
            .kernels(haft_tools::kernels_with(place::state().ok().map(|state| state.join("worktrees"))))
            .tools(haft_tools::builtin_with(options))
            .tools(haft_tools::skill(self.skills.sheets.iter().cloned()))
            .tools(self.servers.tools())
            .settings(|figures| self.apply_limits(figures))
            .settings(|figures| figures.sandbox = self.sandbox())
            .settings(|figures| figures.code_places = Some(named_places));
        let builder = self.hiding_secrets(builder);
        let builder = self.servers.sources().into_iter().fold(builder, EngineBuilder::source);
        toolsets.fold(builder, |builder, (name, items)| builder.toolset(name, items.clone()))
    }

    fn hiding_secrets(&self, builder: EngineBuilder) -> EngineBuilder {
        let Some(redactor) = self.redactor() else { return builder };
        let off_for = self.settings.secrets.off_for.clone();
        builder.redactor(redactor).settings(|figures| figures.unredacted = off_for)
    }

    fn redactor(&self) -> Option<Arc<Redactor>> {
        let secrets = &self.settings.secrets;
        secrets.redact.unwrap_or(true).then(|| Arc::new(redactor(secrets)))
    }

    /// Gets tokens for a server, and the port that people come back to.
    pub(crate) fn authorizer(&self, server: &str) -> anyhow::Result<(Authorizer, Option<u16>)> {
        servers::authorizer_for(&self.settings.mcp, server, &self.place).map_err(usage)
    }

    fn bash_options(&self) -> haft_tools::BashOptions {
        let (usual, set) = (haft_tools::BashOptions::default(), self.settings.bash);
        let seconds = |figure: NonZeroUsize| Duration::from_secs(figure.get() as u64);
        haft_tools::BashOptions {
            timeout: set.timeout_s.map_or(usual.timeout, seconds),
            background_after: set.background_after_s.map(seconds).or(usual.background_after),
            most_output: set.most_output_bytes.map_or(usual.most_output, |bytes| bytes.get() as u64),
        }
    }

    #[cfg(feature = "web")]
    fn web_options(&self) -> haft_tools::WebOptions {
        let (usual, set) = (haft_tools::WebOptions::default(), self.settings.web);
        haft_tools::WebOptions {
            timeout: set.timeout_s.map_or(usual.timeout, |seconds| Duration::from_secs(seconds.get() as u64)),
            most_bytes: set.most_bytes.map_or(usual.most_bytes, NonZeroUsize::get),
            data_reminder: set.data_reminder.unwrap_or(usual.data_reminder),
        }
    }

    fn sandbox(&self) -> haft_engine::Sandbox {
        let settings::Sandbox {
            enabled,
            required,
            read,
            write,
            deny_read,
            hosts,
            sockets,
            unsandboxed,
            forbid_unsandboxed,
            limits,
        } = self.settings.sandbox.clone();
        let enabled = enabled.unwrap_or(true) && !self.options.unsandboxed;
        // Whoever lets everything run because it is confined does not want it to run otherwise.
        let rests_on_it =
            self.mode == Mode::Bypass && self.confinement.as_ref().is_some_and(Level::is_complete);
        haft_engine::Sandbox {
            enabled,
            required: required.unwrap_or(false) || rests_on_it,
            confines_reading: Support::here().landlock.is_some(),
            read: read.unwrap_or_default(),
            write: write.unwrap_or_default(),
            deny_read,
            hosts: hosts.unwrap_or_default(),
            sockets: sockets.unwrap_or_default(),
            unsandboxed: unsandboxed.unwrap_or_default(),
            // Managed settings that want a sandbox want it for every call, unless they say otherwise.
            forbid_unsandboxed: forbid_unsandboxed.unwrap_or(self.settings.fixed.sandboxed),
            limits: limits.applied(),
            ..haft_engine::Sandbox::default()
        }
    }

    fn results(&self) -> anyhow::Result<far::Kept> {
        store::results(&self.settings)
    }

    fn apply_limits(&self, figures: &mut haft_engine::Settings) {
        let limits = self.settings.limits;
        let set = |figure: &mut usize, limit: Option<NonZeroUsize>| {
            *figure = limit.map_or(*figure, NonZeroUsize::get);
        };
        set(&mut figures.parallel, limits.parallel);
        set(&mut figures.budget.per_turn, limits.turn_bytes);
        set(&mut figures.budget.preview, limits.preview_bytes);
        figures.budget.per_call = limits.result_bytes.map(NonZeroUsize::get).or(figures.budget.per_call);
        if let Some(seconds) = limits.timeout_s {
            figures.timeout = Duration::from_secs(seconds.get() as u64);
        }
        self.apply_loading(figures);
    }

    fn apply_loading(&self, figures: &mut haft_engine::Settings) {
        let tools = &self.settings.tools;
        let (thresholds, loading) = (&mut figures.thresholds, &mut figures.loading);
        thresholds.count = tools.defer_above.unwrap_or(thresholds.count);
        thresholds.share = tools.defer_share.unwrap_or(thresholds.share);
        thresholds.window = tools.context_tokens.map_or(thresholds.window, NonZeroUsize::get);
        loading.always.clone_from(&tools.always_load);
        loading.listing = tools.listing_bytes.unwrap_or(loading.listing);
    }

    /// The session that was asked for, on an engine.
    pub(crate) fn session(&self, engine: &Engine) -> anyhow::Result<Session> {
        begin(engine, self.resumed_options()?)
    }

    /// How that session begins if it goes on from an earlier run.
    pub(crate) fn resumed_options(&self) -> anyhow::Result<SessionOptions> {
        Ok(SessionOptions { memory: self.recall()?, ..self.session_options() })
    }

    /// What a session that was named knows from before. Nobody comes back to one that was not.
    fn recall(&self) -> anyhow::Result<Memory> {
        let Some(id) = &self.options.session else { return Ok(Memory::default()) };
        if let Ok(results) = self.results() {
            results.fetch(id);
        }
        let Some(book) = self.shared_book() else { return memory::recall(id) };
        // A session that knows nothing has to read again what it wants to change: no reason to do nothing.
        Ok(far::recall(book, id).unwrap_or_else(|err| {
            out::complain(&format!("{err}; the session begins as if it knew nothing"));
            Memory::default()
        }))
    }

    /// Waits until what was recorded would outlive this process: a result that is shown can be looked up.
    pub(crate) async fn settle(&self) {
        if let Some(store) = &self.store {
            store.flush().await;
            // Whoever comes back to a session cleans up after those that nobody came back to.
            if self.options.session.is_some() && !store.is_far() {
                let _ = memory::forget(&*store.book, store.keep).await;
            }
        }
        // The last results are on their way to the others; where there are none, this is nothing.
        let _ = tokio::task::spawn_blocking(far::settle).await;
    }

    /// Keeps what a session that was named knows now.
    ///
    /// Where that fails, what was done is done, and its result must be shown.
    pub(crate) fn remember(&self, session: &Session) {
        if let Some(Err(err)) = self.usage.as_ref().map(|usage| usage.keep()) {
            // It only orders what is found: no reason to fail what was done.
            self.talk.detail(|| format!("which tools were called here is not kept: {err}"));
        }
        if let Some(Err(err)) =
            self.options.session.as_ref().map(|id| self.keep_memory(id, &session.memory()))
        {
            out::complain(&format!("{err:#}"));
        }
    }

    fn keep_memory(&self, id: &str, memory: &Memory) -> anyhow::Result<()> {
        match self.shared_book() {
            Some(book) => far::remember(book, id, memory),
            None => memory::remember(id, memory),
        }
    }

    /// Where what sessions know is kept for other machines.
    fn shared_book(&self) -> Option<&Arc<dyn Book>> {
        self.store.as_ref().and_then(Store::shared_book)
    }

    /// What `[model]` says.
    pub(crate) fn model(&self) -> &settings::Model {
        &self.settings.model
    }

    /// Where calls are recorded, if they are.
    pub(crate) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// How that session begins.
    pub(crate) fn session_options(&self) -> SessionOptions {
        let id = self.options.session.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
        SessionOptions {
            id: Some(SessionId::from(id)),
            workspace: self.place.workspace.clone(),
            cwd: Some(self.place.cwd.clone()),
            home: self.place.home.clone(),
            mode: self.mode,
            caller: self.caller(),
            rules: self
                .settings
                .rules
                .clone()
                .and(self.kept_rules())
                .and(self.settings.admit(self.options.rules()))
                .and(self.skill_rules()),
            sandbox: None,
            model: self.options.model.clone(),
            agent: self.options.agent.clone(),
            toolset: None,
            memory: Memory::default(),
            // Nobody else has made this id.
            is_new: self.options.session.is_none(),
            usage: self.usage.clone().map(|usage| usage as _),
            asker: None,
            rule_keeper: None,
            sources: Vec::new(),
        }
    }

    /// Whoever types at this machine owns what happens, unless they say what they come as.
    fn caller(&self) -> Caller {
        let given = &self.options.role;
        let roles = if given.is_empty() { vec!["owner".to_owned()] } else { given.clone() };
        Caller { user: Some(place::user()), roles, channel: Some("cli".to_owned()) }
    }

    fn skill_rules(&self) -> Rules {
        Rules { allow: self.skills.rules.clone(), ..Rules::default() }
    }
}

/// Only a model that haft asks itself has this tool.
const DELEGATE: &str = "Delegate";

/// All names that a rule may use: those of tools that cannot be had here, too.
pub(crate) fn names(pool: &Pool) -> impl Iterator<Item = &str> {
    let aliases = pool.entries().flat_map(|entry| entry.tool().spec().other_names().iter().copied());
    let absent = pool.problems().iter().map(|problem| &*problem.tool);
    pool.entries().map(|entry| entry.name()).chain(aliases).chain(absent).chain([DELEGATE])
}

fn servers(settings: &Settings, person: Option<Person>, place: &Place) -> Servers {
    // Where there is no place for it, nothing is kept, and servers are asked each time.
    let cache = place::state().ok().map(|state| state.join("servers"));
    Servers::new(&settings.mcp, place, cache, person.map(|Person(asker)| asker))
}

/// Says that nothing of a workspace counts, and gives just that.
fn warn(options: &Options, brought: &Brought) -> Vec<Document> {
    if let Some(words) = brought.warning().filter(|_| !options.quiet) {
        out::complain(&words);
    }
    Vec::new()
}

fn build(builder: EngineBuilder) -> anyhow::Result<Engine> {
    builder.build().map_err(|err| usage(format!("settings: {err}")))
}

/// Begins a session; what is wrong with it is the user's to put right.
pub(crate) fn begin(engine: &Engine, options: SessionOptions) -> anyhow::Result<Session> {
    engine.session(options).map_err(usage)
}

/// A session somewhere else, for questions that bring their own place.
pub(crate) fn elsewhere(options: &SessionOptions, workspace: PathBuf) -> SessionOptions {
    // What was called here says nothing about there.
    SessionOptions { workspace, cwd: None, usage: None, ..options.clone() }
}

/// Deeper than this nobody looks through who does what; a session's id has its parents' in it, and an end to its length.
const DEEPEST: usize = 4;

/// The tools that a model sees from the beginning. About 2,200 tokens, at four bytes each.
const CORE: [&str; 6] = ["Bash", "Edit", "Glob", "Grep", "Read", "Write"];

const BYPASS: &str = "mode bypass lets everything run that no rule forbids, and there is no sandbox here that would \
confine it (`haft doctor` says why); say --unsandboxed as well if you mean it, or use another mode";

const REQUIRED: &str = "the settings require a sandbox (sandbox.required, or sandbox.enabled of the managed ones), and \
--unsandboxed is against it; take one of them away";
