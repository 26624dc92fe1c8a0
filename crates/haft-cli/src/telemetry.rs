//! What operators see of a command: spans, metrics and logs, if the environment asks for them.
//!
//! `HAFT_LOG` is for lines on stderr, `OTEL_…` for a collector. Both are the environment's alone: no settings file decides
//! where something is sent. Where neither is set, nothing is started.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use haft_engine::EngineBuilder;
use haft_mcp::server::RequestObserver;

use crate::{cli::Options, exit::usage, out::Talk};

/// The variable that says what is logged.
const LOG: &str = "HAFT_LOG";

/// What was asked for. Dropping it sends what is left, for two seconds at most.
#[derive(Default)]
pub(crate) struct Telemetry {
    #[cfg(feature = "otel")]
    exported: std::sync::OnceLock<Option<haft_otel::Telemetry>>,
    is_logged: bool,
}

impl Telemetry {
    /// Begins to log, if that is asked for. Exporting begins with the first engine that makes calls.
    pub(crate) fn new(options: &Options) -> anyhow::Result<Telemetry> {
        let filter = std::env::var(LOG).ok().filter(|filter| !filter.trim().is_empty());
        let mut telemetry = Telemetry::default();
        if let Some(filter) = filter {
            // A process logs in one way, however many conversations it has.
            if !IS_LOGGING.load(Ordering::Relaxed) {
                log(&filter, options.quiet)?;
                IS_LOGGING.store(true, Ordering::Relaxed);
            }
            telemetry.is_logged = true;
        }
        Ok(telemetry)
    }
}

static IS_LOGGING: AtomicBool = AtomicBool::new(false);

#[cfg(feature = "otel")]
impl Telemetry {
    /// Lets whoever was asked for hear of calls.
    pub(crate) fn observe(&self, builder: EngineBuilder, talk: Talk) -> EngineBuilder {
        let builder = if self.is_logged { builder.observer(haft_otel::logs::LogObserver) } else { builder };
        match self.exported(talk) {
            Some(exported) => builder.observer(exported.observer().with_parent(parent)),
            None => builder,
        }
    }

    /// Who hears of requests of clients.
    pub(crate) fn requests(&self, talk: Talk) -> Option<Arc<dyn RequestObserver>> {
        Some(Arc::new(self.exported(talk)?.requests()))
    }

    /// What is exported. That it cannot be is no reason not to do what was asked for.
    fn exported(&self, talk: Talk) -> Option<&haft_otel::Telemetry> {
        let start = || {
            haft_otel::Telemetry::from_env().unwrap_or_else(|unusable| {
                talk.remark(|| format!("no spans and metrics are sent: {unusable}"));
                None
            })
        };
        self.exported.get_or_init(start).as_ref()
    }
}

#[cfg(feature = "otel")]
fn log(filter: &str, is_quiet: bool) -> anyhow::Result<()> {
    haft_otel::logs::to_stderr(filter, is_quiet).map_err(|unusable| usage(format!("{LOG}: {unusable}")))
}

/// The trace that a turn belongs to: that of the request which led to it, or of whoever started this process.
#[cfg(feature = "otel")]
fn parent() -> Option<haft_otel::Parent> {
    if let Some(passage) = haft_mcp::Passage::current() {
        return passage.trace().and_then(haft_otel::Parent::of);
    }
    let variable = |name: &str| std::env::var(name).ok();
    haft_otel::Parent::read(&variable("TRACEPARENT")?, variable("TRACESTATE").as_deref())
}

#[cfg(not(feature = "otel"))]
impl Telemetry {
    pub(crate) fn observe(&self, builder: EngineBuilder, _: Talk) -> EngineBuilder {
        builder
    }

    pub(crate) fn requests(&self, _: Talk) -> Option<Arc<dyn RequestObserver>> {
        None
    }
}

#[cfg(not(feature = "otel"))]
fn log(_: &str, _: bool) -> anyhow::Result<()> {
    Err(usage(format!("{LOG}: this haft was built without `otel`, and logs nothing")))
}

/// For logs.
impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telemetry").field("is_logged", &self.is_logged).finish_non_exhaustive()
    }
}
