//! What the settings files say.
//!
//! There are four levels, each with a file of the same form: managed by an administrator, the user's, the workspace's if
//! it is trusted, and the one that `--config` names. Of two values the later wins, rules add up; then come the managed
//! settings, which nobody loosens. Every rule keeps the file and line that it was written in, so that a decision can name
//! it. A key that does not exist is an error: a misspelt `deny` must not pass for none.

mod keys; //       which keys there are, and what a workspace may do with each
mod file; //       one file, read
mod rules; //      the rules in it
mod workspace; //  what a workspace's own file may not say
mod levels; //     all levels, put together
mod mcp; //        the servers of `.mcp.json` and `[mcp.servers]`

use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use haft_engine::policy::{Mode, Rules, Written};
use haft_model::Dialect;
use haft_tool::ResourceLimits;
use serde::{Deserialize, Deserializer, de::Error};

pub(crate) use file::{Document, Told};
use levels::Level;
pub(crate) use levels::each_level;
pub(crate) use mcp::{Kind, Listed, Mcp, McpServer, Transport, expand, servers};

use crate::exit::usage;

/// What was set. What was not is left to the engine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) mode: Option<Mode>,
    /// The modes that no session may be in, whoever asks for them.
    pub(crate) forbid_modes: Vec<Mode>,
    pub(crate) rules: Rules,
    /// Whether only managed settings may allow anything.
    pub(crate) managed_rules_only: bool,
    pub(crate) model: Model,
    pub(crate) auto: Auto,
    pub(crate) delegate: Delegates,
    pub(crate) limits: Limits,
    pub(crate) tools: Tools,
    pub(crate) toolsets: BTreeMap<String, Vec<String>>,
    /// Whether replies of Read say that what a file holds is data.
    pub(crate) data_reminder: Option<bool>,
    pub(crate) sandbox: Sandbox,
    pub(crate) bash: Bash,
    pub(crate) web: Web,
    pub(crate) secrets: Secrets,
    pub(crate) journal: Journal,
    pub(crate) store: Store,
    pub(crate) undo: Undo,
    pub(crate) results: Results,
    pub(crate) mcp: Mcp,
    /// The tables `[hooks]` as they are written, in the order of the levels.
    pub(crate) hooks: Vec<serde_json::Value>,
    /// What the managed settings fix.
    pub(crate) fixed: Fixed,
    /// What was written and does not count.
    pub(crate) notes: Vec<Note>,
}

/// Which model is asked, by `[model]`, and how.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Model {
    /// As its API names it.
    pub(crate) name: Option<String>,
    /// The API's language.
    #[serde(deserialize_with = "parsed")]
    pub(crate) dialect: Option<Dialect>,
    /// Where it is, if not at its vendor's.
    pub(crate) base_url: Option<String>,
    /// The variable of the environment that has the key.
    pub(crate) key_env: Option<String>,
    /// Headers that it is asked with.
    pub(crate) headers: BTreeMap<String, String>,
    /// Fields that each request has besides haft's, or in place of them.
    pub(crate) extra: serde_json::Map<String, serde_json::Value>,
    /// Whether it is shown pictures.
    pub(crate) images: Option<bool>,
    /// How much it thinks.
    pub(crate) thinking: Option<Thought>,
    /// The tokens of its window.
    pub(crate) context_tokens: Option<NonZeroUsize>,
    /// The tokens of one answer.
    pub(crate) answer_tokens: Option<NonZeroUsize>,
    /// So often it is asked in a run.
    pub(crate) max_turns: Option<NonZeroUsize>,
    /// The tokens that it writes in a run, in all answers.
    pub(crate) run_tokens: Option<NonZeroUsize>,
    /// The seconds for which it may say nothing.
    pub(crate) timeout_s: Option<NonZeroUsize>,
    /// Whether it is referred to tools instead of told their schemas.
    pub(crate) tool_references: Option<bool>,
    /// What it costs.
    pub(crate) price: Price,
}

/// How much a model thinks: a word, or so many tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "one of `off`, `minimal`, `low`, `medium` and `high`, or a number of tokens")]
pub(crate) enum Thought {
    Word(Amount),
    Tokens(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Amount {
    Off,
    Minimal,
    Low,
    Medium,
    High,
}

/// Dollars for a million tokens, by `[model.price]`. What is not given costs what other input costs.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Price {
    #[serde(deserialize_with = "dollars")]
    pub(crate) input: Option<f64>,
    #[serde(deserialize_with = "dollars")]
    pub(crate) cached: Option<f64>,
    #[serde(deserialize_with = "dollars")]
    pub(crate) cache_written: Option<f64>,
    #[serde(deserialize_with = "dollars")]
    pub(crate) output: Option<f64>,
}

impl Price {
    fn and(self, later: Price) -> Price {
        Price {
            input: later.input.or(self.input),
            cached: later.cached.or(self.cached),
            cache_written: later.cache_written.or(self.cache_written),
            output: later.output.or(self.output),
        }
    }
}

fn dollars<'de, D: Deserializer<'de>>(figure: D) -> Result<Option<f64>, D::Error> {
    let figure = f64::deserialize(figure)?;
    match figure.is_finite() && figure >= 0.0 {
        true => Ok(Some(figure)),
        false => Err(Error::custom(format!("a price is dollars for a million tokens, and {figure} is none"))),
    }
}

/// Who judges in mode `auto`, by `[auto]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Auto {
    pub(crate) judge: Option<JudgedBy>,
    /// The judge's name, if it is not the model that works.
    pub(crate) model: Option<String>,
    /// So often it is asked in a session.
    pub(crate) questions: Option<NonZeroUsize>,
    /// Seconds that it may take over one.
    pub(crate) timeout_s: Option<NonZeroUsize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JudgedBy {
    Effects,
    Model,
}

impl Auto {
    fn and(self, later: Auto) -> Auto {
        Auto {
            judge: later.judge.or(self.judge),
            model: later.model.or(self.model),
            questions: later.questions.or(self.questions),
            timeout_s: later.timeout_s.or(self.timeout_s),
        }
    }
}

impl Model {
    fn and(mut self, later: Model) -> Model {
        self.headers.extend(later.headers);
        self.extra.extend(later.extra);
        Model {
            name: later.name.or(self.name),
            dialect: later.dialect.or(self.dialect),
            base_url: later.base_url.or(self.base_url),
            key_env: later.key_env.or(self.key_env),
            headers: self.headers,
            extra: self.extra,
            images: later.images.or(self.images),
            thinking: later.thinking.or(self.thinking),
            context_tokens: later.context_tokens.or(self.context_tokens),
            answer_tokens: later.answer_tokens.or(self.answer_tokens),
            max_turns: later.max_turns.or(self.max_turns),
            run_tokens: later.run_tokens.or(self.run_tokens),
            timeout_s: later.timeout_s.or(self.timeout_s),
            tool_references: later.tool_references.or(self.tool_references),
            price: self.price.and(later.price),
        }
    }
}

/// How far sub-agents may go, by `[delegate]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delegates {
    /// So many are at work at once.
    pub(crate) parallel: Option<NonZeroUsize>,
    /// How deep they may stand.
    pub(crate) depth: Option<NonZeroUsize>,
    /// So often the model of one is asked.
    pub(crate) max_turns: Option<NonZeroUsize>,
    /// The tokens that it writes, in all answers.
    pub(crate) run_tokens: Option<NonZeroUsize>,
    /// How long one may take.
    pub(crate) timeout_s: Option<NonZeroUsize>,
}

impl Delegates {
    fn and(self, later: Delegates) -> Delegates {
        Delegates {
            parallel: later.parallel.or(self.parallel),
            depth: later.depth.or(self.depth),
            max_turns: later.max_turns.or(self.max_turns),
            run_tokens: later.run_tokens.or(self.run_tokens),
            timeout_s: later.timeout_s.or(self.timeout_s),
        }
    }
}

/// A word that something else knows how to read.
fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(word: D) -> Result<Option<T>, D::Error> {
    String::deserialize(word)?.parse().map(Some).map_err(Error::custom)
}

/// When tools are searched for instead of shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tools {
    pub(crate) defer_above: Option<usize>,
    /// Of the context window: 0.1 is a tenth.
    pub(crate) defer_share: Option<f64>,
    pub(crate) context_tokens: Option<NonZeroUsize>,
    pub(crate) always_load: Vec<String>,
    pub(crate) listing_bytes: Option<usize>,
}

impl Tools {
    fn and(mut self, later: Tools) -> Tools {
        self.always_load.extend(later.always_load);
        Tools {
            defer_above: later.defer_above.or(self.defer_above),
            defer_share: later.defer_share.or(self.defer_share),
            context_tokens: later.context_tokens.or(self.context_tokens),
            always_load: self.always_load,
            listing_bytes: later.listing_bytes.or(self.listing_bytes),
        }
    }
}

/// What options of the command line cannot change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Fixed {
    pub(crate) mode: Option<Mode>,
    /// Whether processes must be confined.
    pub(crate) sandboxed: bool,
    /// Whether calls must be recorded.
    pub(crate) recorded: bool,
}

/// Something that was written and does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) path: PathBuf,
    pub(crate) line: u32,
    /// What it is, and why it does not count.
    pub(crate) what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

/// What `[sandbox]` says of processes. A list that was not written is not an empty one: managed lists are the last word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sandbox {
    pub(crate) enabled: Option<bool>,
    pub(crate) required: Option<bool>,
    /// What those may read besides the workspace that run unasked.
    pub(crate) read: Option<Vec<PathBuf>>,
    /// What they may write besides the workspace.
    pub(crate) write: Option<Vec<PathBuf>>,
    /// What they may not read, besides what rules deny.
    pub(crate) deny_read: Vec<PathBuf>,
    /// The hosts that they may always contact.
    pub(crate) hosts: Option<Vec<String>>,
    /// The Unix sockets that they may always connect to.
    pub(crate) sockets: Option<Vec<PathBuf>>,
    /// Rules for commands that run outside of the sandbox.
    pub(crate) unsandboxed: Option<Vec<Written>>,
    /// Whether no call leaves the sandbox.
    pub(crate) forbid_unsandboxed: Option<bool>,
    /// How much one command may use.
    pub(crate) limits: SandboxLimits,
}

/// How much one command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SandboxLimits {
    /// Megabytes of memory.
    pub(crate) memory_mb: Option<NonZeroUsize>,
    /// Processes and threads at once.
    pub(crate) processes: Option<NonZeroUsize>,
    /// Megabytes of one file.
    pub(crate) file_mb: Option<NonZeroUsize>,
    /// Seconds of processor time.
    pub(crate) cpu_s: Option<NonZeroUsize>,
    /// Megabytes that stay free on each file system that it may write.
    pub(crate) disk_reserve_mb: Option<NonZeroUsize>,
}

impl SandboxLimits {
    fn and(self, later: SandboxLimits) -> SandboxLimits {
        SandboxLimits {
            memory_mb: later.memory_mb.or(self.memory_mb),
            processes: later.processes.or(self.processes),
            file_mb: later.file_mb.or(self.file_mb),
            cpu_s: later.cpu_s.or(self.cpu_s),
            disk_reserve_mb: later.disk_reserve_mb.or(self.disk_reserve_mb),
        }
    }

    /// As the sandbox takes them: what is not set is as usual.
    pub(crate) fn applied(self) -> ResourceLimits {
        let usual = ResourceLimits::default();
        let bytes = |megabytes: NonZeroUsize| (megabytes.get() as u64).saturating_mul(1 << 20);
        ResourceLimits {
            memory: self.memory_mb.map(bytes).or(usual.memory),
            processes: self.processes.map(|count| count.get() as u64).or(usual.processes),
            file_size: self.file_mb.map(bytes).or(usual.file_size),
            cpu_time: self.cpu_s.map(|seconds| Duration::from_secs(seconds.get() as u64)).or(usual.cpu_time),
            disk_reserve: self.disk_reserve_mb.map(bytes).or(usual.disk_reserve),
            ..usual
        }
    }
}

/// What `[web]` says of fetching.
#[cfg_attr(not(feature = "web"), allow(dead_code, reason = "it is for WebFetch alone"))]
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Web {
    /// Seconds that a fetch may take.
    pub(crate) timeout_s: Option<NonZeroUsize>,
    /// Bytes of a page that are read.
    pub(crate) most_bytes: Option<NonZeroUsize>,
    /// Whether replies say that what a page holds is data.
    pub(crate) data_reminder: Option<bool>,
}

/// What `[secrets]` says of what must not be shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Secrets {
    /// Whether secrets are taken out of what models and people see.
    pub(crate) redact: Option<bool>,
    /// The tools whose results stay as they are.
    pub(crate) off_for: Vec<String>,
    /// More names of variables that hold secrets.
    pub(crate) names: Vec<String>,
    /// Variables whose values are hidden, whatever they look like.
    pub(crate) values_from: Vec<String>,
}

/// What `[journal]` says of what is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Journal {
    pub(crate) enabled: Option<bool>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) keep_days: Option<NonZeroUsize>,
    pub(crate) max_mb: Option<NonZeroUsize>,
}

/// Where `[store]` says that it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Store {
    /// `sqlite`, `postgres`, or an address.
    pub(crate) journal: Option<String>,
    /// `files`, or an address.
    pub(crate) blobs: Option<String>,
    /// Seconds that a process which says nothing is taken to live.
    pub(crate) lease_s: Option<NonZeroUsize>,
}

impl Store {
    fn and(self, later: Store) -> Store {
        Store {
            journal: later.journal.or(self.journal),
            blobs: later.blobs.or(self.blobs),
            lease_s: later.lease_s.or(self.lease_s),
        }
    }
}

/// What becomes of a call that cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnFailure {
    Refuse,
    Warn,
}

impl Journal {
    fn and(self, later: Journal) -> Journal {
        Journal {
            enabled: later.enabled.or(self.enabled),
            on_failure: later.on_failure.or(self.on_failure),
            keep_days: later.keep_days.or(self.keep_days),
            max_mb: later.max_mb.or(self.max_mb),
        }
    }
}

/// What `[undo]` says of what is kept to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Undo {
    pub(crate) enabled: Option<bool>,
    pub(crate) shell: Option<bool>,
    pub(crate) ignored: Option<bool>,
    pub(crate) on_failure: Option<OnFailure>,
    pub(crate) keep_days: Option<NonZeroUsize>,
    pub(crate) max_file_mb: Option<NonZeroUsize>,
    pub(crate) max_total_mb: Option<NonZeroUsize>,
    pub(crate) max_files: Option<NonZeroUsize>,
}

impl Undo {
    fn and(self, later: Undo) -> Undo {
        Undo {
            enabled: later.enabled.or(self.enabled),
            shell: later.shell.or(self.shell),
            ignored: later.ignored.or(self.ignored),
            on_failure: later.on_failure.or(self.on_failure),
            keep_days: later.keep_days.or(self.keep_days),
            max_file_mb: later.max_file_mb.or(self.max_file_mb),
            max_total_mb: later.max_total_mb.or(self.max_total_mb),
            max_files: later.max_files.or(self.max_files),
        }
    }
}

/// How long large results are kept, by `[results]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Results {
    pub(crate) keep_days: Option<NonZeroUsize>,
    pub(crate) max_mb: Option<NonZeroUsize>,
}

impl Results {
    fn and(self, later: Results) -> Results {
        Results { keep_days: later.keep_days.or(self.keep_days), max_mb: later.max_mb.or(self.max_mb) }
    }
}

/// The figures of `[bash]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Bash {
    /// Seconds that a command may take that says nothing else.
    pub(crate) timeout_s: Option<NonZeroUsize>,
    /// Seconds after which a command goes on in the background.
    pub(crate) background_after_s: Option<NonZeroUsize>,
    /// Bytes that a command may write.
    pub(crate) most_output_bytes: Option<NonZeroUsize>,
}

/// The figures of `[limits]`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Limits {
    /// Calls of a turn that run at once.
    pub(crate) parallel: Option<NonZeroUsize>,
    /// Seconds that a call may take.
    pub(crate) timeout_s: Option<NonZeroUsize>,
    /// Bytes of one result.
    pub(crate) result_bytes: Option<NonZeroUsize>,
    /// Bytes of all results of a turn.
    pub(crate) turn_bytes: Option<NonZeroUsize>,
    /// Bytes that are shown of what is cut.
    pub(crate) preview_bytes: Option<NonZeroUsize>,
}

impl Settings {
    /// What all levels say together. Of the workspace come the files that are trusted, as they were read when that was found.
    pub(crate) fn read(config: Option<&Path>, workspace: &[Document]) -> anyhow::Result<Settings> {
        levels::read(config, workspace)
    }

    /// What a workspace's files say that would count, and its values in the words of the file.
    pub(crate) fn of_workspace(workspace: &[Document]) -> anyhow::Result<(Settings, Vec<Told>)> {
        levels::of_workspace(workspace)
    }

    /// The mode of a session: what is fixed, what was asked for, what is set, the usual one.
    pub(crate) fn mode_for(&self, wanted: Option<Mode>) -> anyhow::Result<Mode> {
        if let (Some(fixed), Some(wanted)) = (self.fixed.mode, wanted)
            && fixed != wanted
        {
            return Err(usage(format!(
                "the managed settings fix the mode: it is {fixed}, and --mode {wanted} is against it"
            )));
        }
        let mode = wanted.or(self.mode).unwrap_or_default();
        if self.forbid_modes.contains(&mode) {
            return Err(usage(format!(
                "the settings forbid the mode {mode} (forbid_modes); choose another with --mode"
            )));
        }
        Ok(mode)
    }

    /// These, and what a later file says.
    fn and(self, later: Settings) -> Settings {
        let (mut forbid_modes, mut toolsets) = (self.forbid_modes, self.toolsets);
        let (mut hooks, mut notes) = (self.hooks, self.notes);
        forbid_modes.extend(later.forbid_modes);
        toolsets.extend(later.toolsets);
        hooks.extend(later.hooks);
        notes.extend(later.notes);
        Settings {
            mode: later.mode.or(self.mode),
            forbid_modes,
            rules: self.rules.and(later.rules),
            managed_rules_only: self.managed_rules_only || later.managed_rules_only,
            model: self.model.and(later.model),
            auto: self.auto.and(later.auto),
            delegate: self.delegate.and(later.delegate),
            limits: self.limits.and(later.limits),
            tools: self.tools.and(later.tools),
            toolsets,
            data_reminder: later.data_reminder.or(self.data_reminder),
            sandbox: self.sandbox.and(later.sandbox),
            bash: self.bash.and(later.bash),
            web: self.web.and(later.web),
            secrets: self.secrets.and(later.secrets),
            journal: self.journal.and(later.journal),
            store: self.store.and(later.store),
            undo: self.undo.and(later.undo),
            results: self.results.and(later.results),
            mcp: self.mcp.and(later.mcp),
            hooks,
            fixed: self.fixed,
            notes,
        }
    }
}

impl Limits {
    fn and(self, later: Limits) -> Limits {
        Limits {
            parallel: later.parallel.or(self.parallel),
            timeout_s: later.timeout_s.or(self.timeout_s),
            result_bytes: later.result_bytes.or(self.result_bytes),
            turn_bytes: later.turn_bytes.or(self.turn_bytes),
            preview_bytes: later.preview_bytes.or(self.preview_bytes),
        }
    }
}

impl Sandbox {
    fn and(mut self, later: Sandbox) -> Sandbox {
        self.deny_read.extend(later.deny_read);
        Sandbox {
            enabled: later.enabled.or(self.enabled),
            required: later.required.or(self.required),
            read: both(self.read, later.read),
            write: both(self.write, later.write),
            deny_read: self.deny_read,
            hosts: both(self.hosts, later.hosts),
            sockets: both(self.sockets, later.sockets),
            unsandboxed: both(self.unsandboxed, later.unsandboxed),
            forbid_unsandboxed: later.forbid_unsandboxed.or(self.forbid_unsandboxed),
            limits: self.limits.and(later.limits),
        }
    }
}

fn both<T>(one: Option<Vec<T>>, other: Option<Vec<T>>) -> Option<Vec<T>> {
    match (one, other) {
        (Some(mut one), Some(other)) => {
            one.extend(other);
            Some(one)
        }
        (one, other) => one.or(other),
    }
}

impl Web {
    fn and(self, later: Web) -> Web {
        Web {
            timeout_s: later.timeout_s.or(self.timeout_s),
            most_bytes: later.most_bytes.or(self.most_bytes),
            data_reminder: later.data_reminder.or(self.data_reminder),
        }
    }
}

impl Secrets {
    fn and(mut self, later: Secrets) -> Secrets {
        self.off_for.extend(later.off_for);
        self.names.extend(later.names);
        self.values_from.extend(later.values_from);
        Secrets { redact: later.redact.or(self.redact), ..self }
    }
}

impl Bash {
    fn and(self, later: Bash) -> Bash {
        Bash {
            timeout_s: later.timeout_s.or(self.timeout_s),
            background_after_s: later.background_after_s.or(self.background_after_s),
            most_output_bytes: later.most_output_bytes.or(self.most_output_bytes),
        }
    }
}

#[cfg(test)]
mod tests;
