//! Turns and calls as metrics.
//!
//! `gen_ai.execute_tool.duration` is of the conventions; what they have no name for begins with `haft.`. Attributes are few
//! and bounded: tools of the pool, kinds of faults and refusals.

use std::time::Duration;

use haft_engine::result::ToolResult;
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram, Meter},
};

use crate::words;

/// From a millisecond, which most calls need, to the five minutes of a long command.
pub(crate) const SECONDS: [f64; 16] =
    [0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Up to a megabyte, in steps of four.
const BYTES: [f64; 9] = [64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262_144.0, 1_048_576.0, 4_194_304.0];

/// Roughly how many bytes of text a token is: as the engine estimates it.
const BYTES_OF_A_TOKEN: u64 = 4;

/// What is measured.
pub(crate) struct Instruments {
    duration: Histogram<f64>,
    queue: Histogram<f64>,
    run: Histogram<f64>,
    size: Histogram<u64>,
    saved: Counter<u64>,
    saved_tokens: Counter<u64>,
    spills: Counter<u64>,
    retries: Counter<u64>,
    refusals: Counter<u64>,
}

/// How long a call took, and for what.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    /// From its arrival to its result.
    pub(crate) whole: Duration,
    /// While it waited for others, if it was understood.
    pub(crate) queue: Option<Duration>,
    /// While rules, hooks and people were asked.
    pub(crate) decision: Option<Duration>,
    /// While it ran, if it did.
    pub(crate) run: Option<Duration>,
}

impl Instruments {
    pub(crate) fn new(meter: &Meter) -> Instruments {
        let seconds = |name: &'static str, what: &'static str| {
            let histogram = meter.f64_histogram(name).with_unit("s").with_description(what);
            histogram.with_boundaries(SECONDS.to_vec()).build()
        };
        let count = |name: &'static str, unit: &'static str, what: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(what).build()
        };
        Instruments {
            duration: seconds(
                "gen_ai.execute_tool.duration",
                "The duration of a call, from its arrival to its result.",
            ),
            queue: seconds("haft.tool.queue.duration", "How long a call waited for other calls."),
            run: seconds("haft.tool.run.duration", "How long a call ran, all attempts together."),
            size: meter
                .u64_histogram("haft.tool.result.size")
                .with_unit("By")
                .with_description("What the model gets of a result.")
                .with_boundaries(BYTES.to_vec())
                .build(),
            saved: count(
                "haft.tool.result.saved",
                "By",
                "Bytes of results that the model did not get, because they were too large.",
            ),
            saved_tokens: count(
                "haft.tool.result.saved_tokens",
                "{token}",
                "The same in tokens, estimated as a quarter of the bytes.",
            ),
            spills: count("haft.tool.spills", "{result}", "Results that were put away in a file."),
            retries: count("haft.tool.retries", "{attempt}", "Attempts after a fault that may pass."),
            refusals: count("haft.tool.refusals", "{call}", "Calls that somebody said no to."),
        }
    }

    /// A call has its result.
    pub(crate) fn finished(&self, tool: &str, result: &ToolResult, times: Times) {
        let mut attributes = vec![
            KeyValue::new(words::OPERATION, words::EXECUTE_TOOL),
            of(tool),
            KeyValue::new(words::TOOL_TYPE, words::tool_type(&result.meta.source)),
        ];
        if let Some(fault) = &result.fault {
            attributes.push(KeyValue::new(words::ERROR_TYPE, words::word(&fault.kind)));
        }
        self.duration.record(times.whole.as_secs_f64(), &attributes);
        if let Some(queue) = times.queue {
            self.queue.record(queue.as_secs_f64(), &[of(tool)]);
        }
        if let Some(run) = times.run {
            self.run.record(run.as_secs_f64(), &attributes);
        }
        if let Some(refusal) = result.fault.and_then(|fault| fault.refusal) {
            self.refusals.add(1, &[of(tool), KeyValue::new(words::REFUSAL, words::word(&refusal))]);
        }
    }

    /// It is tried again.
    pub(crate) fn retried(&self, tool: &str) {
        self.retries.add(1, &[of(tool)]);
    }

    /// The model gets this.
    pub(crate) fn given(&self, tool: &str, result: &ToolResult) {
        let attributes = [of(tool)];
        self.size.record(size(result), &attributes);
        let Some(cut) = &result.meta.truncated else { return };
        let saved = cut.bytes.saturating_sub(cut.shown);
        self.saved.add(saved, &attributes);
        self.saved_tokens.add(saved / BYTES_OF_A_TOKEN, &attributes);
        if cut.path.is_some() {
            self.spills.add(1, &attributes);
        }
    }
}

/// How many bytes a result has, pictures and all.
pub(crate) fn size(result: &ToolResult) -> u64 {
    result.blocks.iter().map(|block| block.len() as u64).sum()
}

fn of(tool: &str) -> KeyValue {
    KeyValue::new(words::TOOL, tool.to_owned())
}
