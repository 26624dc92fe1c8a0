//! From options and settings to an engine and a session: what every command that knows tools needs.

use std::{num::NonZeroUsize, path::PathBuf, sync::Arc, time::Duration};

use haft_engine::{
    Engine, EngineBuilder, Session, SessionOptions,
    policy::{Mode, Origin, Rules, Written},
    result::FileStore,
    session::Memory,
};
use haft_redact::Redactor;
use haft_tool::{Caller, SessionId};
use uuid::Uuid;

use crate::{
    ask::{Terminal, may_ask},
    cli::Options,
    exit::usage,
    hooks, memory,
    out::Talk,
    place::{self, Place},
    secrets::redactor,
    settings::{self, Settings},
};

/// What was asked for, read and found.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) options: Options,
    pub(crate) place: Place,
    pub(crate) talk: Talk,
    pub(crate) mode: Mode,
    settings: Settings,
}

impl Setup {
    pub(crate) fn new(options: Options) -> anyhow::Result<Setup> {
        let talk = Talk::new(options.verbose).quiet(options.quiet);
        let place = Place::find(options.cwd.as_deref())?;
        let settings = Settings::read(options.config.as_deref())?;
        let mode = options.mode.or(settings.mode).unwrap_or_default();
        if mode == Mode::Bypass && !options.unsandboxed {
            return Err(usage(BYPASS));
        }
        if options.unsandboxed && settings.sandbox.required == Some(true) {
            return Err(usage(REQUIRED));
        }
        talk.detail(|| format!("workspace {}, mode {mode}", place.workspace.display()));
        if let Some(untrusted) = place.untrusted_settings() {
            talk.detail(|| format!("{} is not read: it is not trusted yet", untrusted.display()));
        }
        Ok(Setup { options, place, talk, mode, settings })
    }

    /// An engine for calls: it keeps large results, and asks whoever is there.
    pub(crate) fn engine(&self) -> anyhow::Result<Engine> {
        let builder = self.builder().results(self.results()?).ledger(place::state()?.join("changing"));
        let builder = if may_ask(&self.options) { builder.asker(Terminal::default()) } else { builder };
        build(hooks::add(builder, &self.settings.hooks, self.redactor()))
    }

    /// An engine for questions about tools and calls, which makes none.
    pub(crate) fn idle_engine(&self) -> anyhow::Result<Engine> {
        let builder = self.builder();
        build(match self.results() {
            Ok(results) => builder.results(results),
            // Where there is no place for results, there is none that could be read.
            Err(_) => builder,
        })
    }

    /// Built-in tools and the settings' figures. Rules are the session's: a question may be about one without them.
    fn builder(&self) -> EngineBuilder {
        let toolsets = self.settings.toolsets.iter();
        let options = haft_tools::Options {
            data_reminder: self.settings.data_reminder.unwrap_or_default(),
            bash: self.bash_options(),
            ..haft_tools::Options::default()
        };
        let builder = Engine::builder()
            .kernel(haft_tools::ToolSearch)
            .tools(haft_tools::builtin_with(options))
            .settings(|figures| self.apply_limits(figures))
            .settings(|figures| figures.sandbox = self.sandbox());
        let builder = self.hiding_secrets(builder);
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

    fn bash_options(&self) -> haft_tools::BashOptions {
        let (usual, set) = (haft_tools::BashOptions::default(), self.settings.bash);
        let seconds = |figure: NonZeroUsize| Duration::from_secs(figure.get() as u64);
        haft_tools::BashOptions {
            timeout: set.timeout_s.map_or(usual.timeout, seconds),
            background_after: set.background_after_s.map(seconds).or(usual.background_after),
            most_output: set.most_output_bytes.map_or(usual.most_output, |bytes| bytes.get() as u64),
        }
    }

    fn sandbox(&self) -> haft_engine::Sandbox {
        let settings::Sandbox { enabled, required, write, deny_read, hosts } = self.settings.sandbox.clone();
        let enabled = enabled.unwrap_or(true) && !self.options.unsandboxed;
        haft_engine::Sandbox { enabled, required: required.unwrap_or(false), write, deny_read, hosts }
    }

    fn results(&self) -> anyhow::Result<FileStore> {
        Ok(FileStore::new(place::state()?.join("results")))
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
        figures.thresholds.count = self.settings.defer_above.unwrap_or(figures.thresholds.count);
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
        match &self.options.session {
            Some(id) => memory::recall(id),
            None => Ok(Memory::default()),
        }
    }

    /// Keeps what a session that was named knows now.
    pub(crate) fn remember(&self, session: &Session) -> anyhow::Result<()> {
        match &self.options.session {
            Some(id) => memory::remember(id, &session.memory()),
            None => Ok(()),
        }
    }

    /// How that session begins.
    pub(crate) fn session_options(&self) -> SessionOptions {
        let id = self.options.session.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
        SessionOptions {
            id: SessionId::from(id),
            workspace: self.place.workspace.clone(),
            cwd: Some(self.place.cwd.clone()),
            home: self.place.home.clone(),
            mode: self.mode,
            caller: Caller { channel: Some("cli".to_owned()), ..Caller::default() },
            rules: self.settings.rules.clone().and(self.flag_rules()),
            model: None,
            agent: None,
            toolset: None,
            memory: Memory::default(),
        }
    }

    fn flag_rules(&self) -> Rules {
        let flags = |rules: &[String]| Written::all(rules, Origin::Flag);
        let Options { allow, ask, deny, .. } = &self.options;
        Rules { allow: flags(allow), ask: flags(ask), deny: flags(deny) }
    }
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
    SessionOptions { workspace, cwd: None, ..options.clone() }
}

const BYPASS: &str = "mode bypass lets everything run that no rule forbids, and there is no sandbox yet that would \
confine it; say --unsandboxed as well if you mean it, or use another mode";

const REQUIRED: &str = "the settings require a sandbox (sandbox.required), and --unsandboxed is against it; take one of \
them away";
