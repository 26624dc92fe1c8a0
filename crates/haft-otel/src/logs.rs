//! All of it as lines, by `tracing`.
//!
//! What a line says of a call is what can be said to anybody: which, what became of it, how long it took. No input and no
//! result is ever in it.

use std::io;

use haft_engine::{
    result::ToolResult,
    turn::{Event, Observer, TurnObserver},
};
use haft_tool::{CallId, FaultKind, SessionFacts, SessionId};
use tracing::{Level, debug, enabled, error, info, warn};
use tracing_subscriber::{
    Layer, Registry,
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
};

use crate::{Unusable, words};

/// Writes lines to stderr, for this process: `debug`, `haft=debug,opentelemetry=warn`. With `is_quiet`, errors alone.
///
/// For a binary. A library leaves the choice to its program, and only adds a [`LogObserver`].
pub fn to_stderr(filter: &str, is_quiet: bool) -> Result<(), Unusable> {
    let targets: Targets =
        filter.parse().map_err(|err| Unusable(format!("`{filter}` is no filter of logs: {err}")))?;
    let quiet = if is_quiet { LevelFilter::ERROR } else { LevelFilter::TRACE };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false);
    let subscriber = Registry::default().with(lines.with_filter(targets)).with(quiet);
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|_| Unusable("somebody else takes the logs of this process".to_owned()))
}

/// Writes a line for what happens to a call. Give it to
/// [`EngineBuilder::observer`](haft_engine::EngineBuilder::observer). What nobody reads is not written.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogObserver;

impl Observer for LogObserver {
    fn turn(&self, session: &SessionFacts) -> Option<Box<dyn TurnObserver>> {
        let is_read = enabled!(target: "haft::call", Level::ERROR);
        is_read.then(|| Box::new(TurnLog(session.id.clone())) as Box<dyn TurnObserver>)
    }
}

struct TurnLog(SessionId);

impl TurnObserver for TurnLog {
    fn event(&self, event: &Event) {
        let session = self.0.as_str();
        match event {
            Event::Queued { call, tool, .. } => {
                debug!(target: "haft::call", session, call = id(call), tool = words::name(tool), "queued");
            }
            Event::Started { call, tool, decision, .. } => {
                let rule = decision.trace.rule().map(|(rule, _)| rule);
                debug!(target: "haft::call", session, call = id(call), tool, verdict = %decision.verdict, rule, "started");
            }
            Event::Refused { call, tool, decision } => {
                let (rule, by) = (decision.trace.rule().map(|(rule, _)| rule), decision.refusal);
                let by = by.map(|by| words::word(&by));
                info!(target: "haft::call", session, call = id(call), tool, by, rule, "refused");
            }
            Event::PermissionRequested { call, tool, warrant, .. } => {
                let answer = warrant.map(|warrant| words::word(&warrant));
                info!(target: "haft::call", session, call = id(call), tool, answer, "permission requested");
            }
            Event::HookSaid { call, said } => {
                debug!(target: "haft::call", session, call = id(call), hook = words::name(&said.by), at = said.at, "hook");
            }
            Event::Retrying { call, attempt, delay, .. } => {
                let delay_ms = delay.as_millis();
                warn!(target: "haft::call", session, call = id(call), attempt, delay_ms, "retrying");
            }
            Event::Unrecorded { call, why } => {
                error!(target: "haft::call", session, call = id(call), why = words::name(why), "not recorded");
            }
            Event::TaskStarted { id, .. } => {
                debug!(target: "haft::call", session, task = words::name(id), "goes on");
            }
            Event::Finished(result) => finished(session, result),
            Event::Progress { .. } | Event::TaskEnded { .. } => {}
        }
    }

    fn ended(&self, results: &[ToolResult]) {
        let failed = results.iter().filter(|result| result.is_error()).count();
        debug!(target: "haft::turn", session = self.0.as_str(), calls = results.len(), failed, "turn ended");
    }
}

/// As text, so that it is written with quotes: a model's id may have line ends in it.
fn id(call: &CallId) -> String {
    words::name(call.as_str())
}

fn finished(session: &str, result: &ToolResult) {
    let call = id(&result.call);
    let tool = words::name(result.meta.tool.as_deref().unwrap_or(&result.tool));
    let (queued_us, us) = (result.meta.queued_us, result.meta.duration_us);
    let spilled = result.meta.truncated.is_some();
    match result.fault.map(|fault| fault.kind) {
        None => info!(target: "haft::call", session, call, tool, queued_us, us, spilled, "done"),
        Some(kind @ FaultKind::Internal) => {
            error!(target: "haft::call", session, call, tool, queued_us, us, fault = words::word(&kind), "failed");
        }
        Some(kind) => {
            warn!(target: "haft::call", session, call, tool, queued_us, us, fault = words::word(&kind), "failed");
        }
    }
}
