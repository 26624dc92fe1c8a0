//! Which keys there are, and what a workspace may do with each.
//!
//! One table, so that a new key cannot be forgotten: what is not in it is an unknown setting, and what is in it says how
//! it is taken from a repository that somebody else may have written. Besides its rules, which a person has seen, it may only
//! tighten.

use haft_engine::{Settings as Figures, policy::Mode};
use haft_tool::ResourceLimits;

use super::Settings;

/// A setting, and how it is taken from a workspace.
#[derive(Debug)]
pub(super) struct Key {
    /// Its place, with dots; `*` stands for a name that the user chooses.
    pub(super) path: &'static str,
    pub(super) from_workspace: FromWorkspace,
}

/// What a workspace's own file may do with a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum FromWorkspace {
    /// It counts: it only tightens, or guards nothing.
    Counts,
    /// It never counts; this is why.
    Never(&'static str),
    /// A switch that counts in this position only.
    Only(bool),
    /// A word that counts if it is this one.
    Word(&'static str),
    /// A figure that counts if it is lower than what holds without it.
    Lower(fn(&Settings) -> usize),
    /// A mode that counts if it is as strict as what holds without it.
    StricterMode,
    /// A name that counts if nobody has given it a meaning yet.
    NewName,
    /// Part of a server, which counts if nobody else has said how that server is reached.
    NewServer,
}

use FromWorkspace::{Counts, Lower, Never, NewName, NewServer, Only, StricterMode, Word};

const IDENTITY: &str =
    "who asks, and which of your network's addresses are contacted for it, is yours to say";
const LAYER: &str =
    "an allow rule of a workspace stands in [permissions], where the rules of all others are heard with it";
const REACH: &str = "a workspace does not widen what processes may touch";
const RESERVE: &str = "how much of your disk stays free is yours to say";
const SHOWN: &str = "a workspace does not choose what may be shown";
const PLACE: &str = "where what you do is kept is yours to say";
const RECORD: &str = "how long what happened is kept is yours to say";
const MODEL: &str = "which model is asked, where and as whom, is yours to say";
const JUDGE: &str = "who says yes in your place is yours to say";
const PRICE: &str = "what a model costs you is yours to say";
const MANAGED: &str = "it belongs to the managed settings";

/// All keys. The order is that of error messages and of docs/settings.md.
pub(super) const KEYS: &[Key] = &[
    key("mode", StricterMode),
    key("forbid_modes", Counts),
    key("managed_rules_only", Never(MANAGED)),
    key("permissions.allow", Counts),
    key("permissions.ask", Counts),
    key("permissions.deny", Counts),
    key("models.*.permissions.allow", Never(LAYER)),
    key("models.*.permissions.ask", Counts),
    key("models.*.permissions.deny", Counts),
    key("agents.*.permissions.allow", Never(LAYER)),
    key("agents.*.permissions.ask", Counts),
    key("agents.*.permissions.deny", Counts),
    key("groups.*.permissions.allow", Never(LAYER)),
    key("groups.*.permissions.ask", Counts),
    key("groups.*.permissions.deny", Counts),
    key("model.name", Never(MODEL)),
    key("model.dialect", Never(MODEL)),
    key("model.base_url", Never(MODEL)),
    key("model.key_env", Never(MODEL)),
    key("model.headers", Never(MODEL)),
    key("model.extra", Never(MODEL)),
    key("model.images", Never(MODEL)),
    key("model.thinking", Never(MODEL)),
    key("model.context_tokens", Never(MODEL)),
    key("model.answer_tokens", Lower(|set| figure(set.model.answer_tokens, usize::MAX))),
    key("model.max_turns", Lower(|set| figure(set.model.max_turns, usize::MAX))),
    key("model.run_tokens", Lower(|set| figure(set.model.run_tokens, usize::MAX))),
    key("model.timeout_s", Never(MODEL)),
    key("model.tool_references", Never(MODEL)),
    key("model.price.input", Never(PRICE)),
    key("model.price.cached", Never(PRICE)),
    key("model.price.cache_written", Never(PRICE)),
    key("model.price.output", Never(PRICE)),
    key("auto.judge", Never(JUDGE)),
    key("auto.model", Never(JUDGE)),
    key("auto.questions", Never(JUDGE)),
    key("auto.timeout_s", Never(JUDGE)),
    key("delegate.parallel", Lower(|set| figure(set.delegate.parallel, delegates().parallel))),
    key("delegate.depth", Lower(|set| figure(set.delegate.depth, delegates().depth))),
    key("delegate.max_turns", Lower(|set| figure(set.delegate.max_turns, delegates().max_turns as usize))),
    key("delegate.run_tokens", Lower(|set| figure(set.delegate.run_tokens, usize::MAX))),
    key("delegate.timeout_s", Lower(|set| figure(set.delegate.timeout_s, seconds(delegates().time)))),
    key("sandbox.enabled", Only(true)),
    key("sandbox.required", Only(true)),
    key("sandbox.read", Never(REACH)),
    key("sandbox.write", Never(REACH)),
    key("sandbox.deny_read", Counts),
    key("sandbox.hosts", Never(REACH)),
    key("sandbox.sockets", Never(REACH)),
    key("sandbox.unsandboxed", Never(REACH)),
    key("sandbox.forbid_unsandboxed", Only(true)),
    key("sandbox.memory_mb", Lower(|set| figure(set.sandbox.limits.memory_mb, spare_memory_mb()))),
    key("sandbox.processes", Lower(|set| figure(set.sandbox.limits.processes, processes()))),
    key("sandbox.file_mb", Lower(|set| figure(set.sandbox.limits.file_mb, file_mb()))),
    key("sandbox.cpu_s", Lower(|set| figure(set.sandbox.limits.cpu_s, usize::MAX))),
    key("sandbox.disk_reserve_mb", Never(RESERVE)),
    key("sandbox.permissions.allow", Never(LAYER)),
    key("sandbox.permissions.ask", Counts),
    key("sandbox.permissions.deny", Counts),
    key("web.timeout_s", Lower(|set| figure(set.web.timeout_s, web_seconds()))),
    key("web.most_bytes", Lower(|set| figure(set.web.most_bytes, web_bytes()))),
    key("web.data_reminder", Only(true)),
    key("secrets.redact", Only(true)),
    key("secrets.off_for", Never(SHOWN)),
    key("secrets.names", Counts),
    key("secrets.values_from", Counts),
    key("journal.enabled", Only(true)),
    key("journal.on_failure", Word("refuse")),
    key("journal.keep_days", Never(RECORD)),
    key("journal.max_mb", Never(RECORD)),
    key("store.journal", Never(PLACE)),
    key("store.blobs", Never(PLACE)),
    key("store.lease_s", Never(PLACE)),
    key("undo.enabled", Only(true)),
    key("undo.shell", Only(true)),
    key("undo.ignored", Never(RECORD)),
    key("undo.on_failure", Word("refuse")),
    key("undo.keep_days", Never(RECORD)),
    key("undo.max_file_mb", Never(RECORD)),
    key("undo.max_total_mb", Never(RECORD)),
    key("undo.max_files", Never(RECORD)),
    key("results.keep_days", Never(RECORD)),
    key("results.max_mb", Never(RECORD)),
    // `haft trust` shows how every server of a workspace is reached.
    key("mcp.data_reminder", Only(true)),
    key("mcp.servers.*.command", NewServer),
    key("mcp.servers.*.args", NewServer),
    key("mcp.servers.*.env", NewServer),
    key("mcp.servers.*.cwd", NewServer),
    key("mcp.servers.*.url", NewServer),
    key("mcp.servers.*.headers", NewServer),
    key("mcp.servers.*.type", NewServer),
    key("mcp.servers.*.disabled", Only(true)),
    key("mcp.servers.*.sandbox", Only(true)),
    key("mcp.servers.*.sampling", Only(false)),
    key("mcp.servers.*.shared", NewServer),
    key("mcp.servers.*.strict_output", Only(true)),
    key("mcp.servers.*.always_load", NewServer),
    key("mcp.servers.*.idempotent", NewServer),
    key("mcp.servers.*.start_s", NewServer),
    key("mcp.servers.*.idle_s", NewServer),
    key("mcp.servers.*.total_s", NewServer),
    key("mcp.servers.*.unused_s", NewServer),
    key("mcp.servers.*.tools.allow", NewServer),
    key("mcp.servers.*.tools.deny", Counts),
    key("mcp.servers.*.auth.client_id", NewServer),
    key("mcp.servers.*.auth.client_secret", Never(IDENTITY)),
    key("mcp.servers.*.auth.client_metadata_url", NewServer),
    key("mcp.servers.*.auth.scopes", NewServer),
    key("mcp.servers.*.auth.client_credentials", Never(IDENTITY)),
    key("mcp.servers.*.auth.callback_port", NewServer),
    key("mcp.servers.*.auth.allow_private", Never(IDENTITY)),
    // What stands in it the hooks themselves say. `haft trust` shows every command line of it.
    key("hooks", Counts),
    key("limits.parallel", Lower(|set| figure(set.limits.parallel, figures().parallel))),
    key("limits.timeout_s", Lower(|set| figure(set.limits.timeout_s, seconds(figures().timeout)))),
    key("limits.result_bytes", Lower(|set| figure(set.limits.result_bytes, usize::MAX))),
    key("limits.turn_bytes", Lower(|set| figure(set.limits.turn_bytes, figures().budget.per_turn))),
    key("limits.preview_bytes", Lower(|set| figure(set.limits.preview_bytes, figures().budget.preview))),
    key("tools.defer_above", Counts),
    key("tools.defer_share", Counts),
    key("tools.context_tokens", Counts),
    key("tools.always_load", Counts),
    key("tools.listing_bytes", Counts),
    key("tools.toolsets.*", NewName),
    key("read.data_reminder", Only(true)),
    key("bash.timeout_s", Lower(|set| figure(set.bash.timeout_s, seconds(bash().timeout)))),
    key("bash.background_after_s", Lower(|set| figure(set.bash.background_after_s, usize::MAX))),
    key("bash.most_output_bytes", Lower(|set| figure(set.bash.most_output_bytes, most_output()))),
];

const fn key(path: &'static str, from_workspace: FromWorkspace) -> Key {
    Key { path, from_workspace }
}

fn figure(set: Option<std::num::NonZeroUsize>, usual: usize) -> usize {
    set.map_or(usual, std::num::NonZeroUsize::get)
}

/// What a command may use of the memory where nothing is set.
fn spare_memory_mb() -> usize {
    usize::try_from(haft_shell::sandbox::spare_memory() >> 20).unwrap_or(usize::MAX)
}

fn processes() -> usize {
    usual(ResourceLimits::default().processes)
}

fn file_mb() -> usize {
    usual(ResourceLimits::default().file_size.map(|bytes| bytes >> 20))
}

fn usual(limit: Option<u64>) -> usize {
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

fn figures() -> Figures {
    Figures::default()
}

fn delegates() -> haft_agent::DelegateLimits {
    haft_agent::DelegateLimits::default()
}

fn bash() -> haft_tools::BashOptions {
    haft_tools::BashOptions::default()
}

fn most_output() -> usize {
    usize::try_from(bash().most_output).unwrap_or(usize::MAX)
}

#[cfg(feature = "web")]
fn web_seconds() -> usize {
    seconds(haft_tools::WebOptions::default().timeout)
}

#[cfg(feature = "web")]
fn web_bytes() -> usize {
    haft_tools::WebOptions::default().most_bytes
}

#[cfg(not(feature = "web"))]
fn web_seconds() -> usize {
    usize::MAX
}

#[cfg(not(feature = "web"))]
fn web_bytes() -> usize {
    usize::MAX
}

fn seconds(duration: std::time::Duration) -> usize {
    usize::try_from(duration.as_secs()).unwrap_or(usize::MAX)
}

/// How much a mode lets happen without a person: the higher, the less. A workspace gets at most what `default` gives.
pub(super) fn strictness(mode: Mode) -> u8 {
    match mode {
        Mode::Bypass => 0,
        Mode::Auto | Mode::AcceptEdits => 1,
        Mode::Default => 2,
        Mode::DontAsk => 3,
        Mode::Plan => 4,
    }
}

/// Where a key leads.
pub(super) enum Step {
    /// To a setting.
    Setting(&'static Key),
    /// To a table of settings.
    Table,
    /// Nowhere; these are there.
    Nowhere(Vec<&'static str>),
}

/// Where the last of these names leads, below the others.
pub(super) fn step(path: &[String]) -> Step {
    let fits = |key: &&Key| {
        let mut parts = key.path.split('.');
        path.iter().all(|name| parts.next().is_some_and(|part| part == "*" || part == name))
    };
    match KEYS.iter().find(fits) {
        Some(key) if key.path.split('.').count() == path.len() => Step::Setting(key),
        Some(_) => Step::Table,
        None => Step::Nowhere(names_below(&path[..path.len().saturating_sub(1)])),
    }
}

/// The names that may stand in a table.
fn names_below(path: &[String]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for key in KEYS {
        let mut parts = key.path.split('.');
        let fits = path.iter().all(|name| parts.next().is_some_and(|part| part == "*" || part == name));
        if let (true, Some(name)) = (fits, parts.next())
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}
