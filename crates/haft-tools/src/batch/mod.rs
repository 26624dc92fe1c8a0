//! `Batch`: several calls in one.
//!
//! Each of them walks through every stage by itself: it is checked, judged, asked about, recorded and can be taken back as
//! if the model had made it alone. So the batch itself needs no permission, and gives none. Its calls have ids made from
//! its own (`ID.1`, `ID.2`, …): a batch that is sent again after a crash makes none of them twice.

mod references; // what a call takes from the result of an earlier one
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use haft_engine::{
    Call,
    result::ToolResult,
    turn::{Kernel, KernelCx, Within},
};
use haft_tool::{
    Block, BoxFuture, Change, Cx, Effects, Fault, FaultKind, Interrupt, IntoTool, Limit, OTHER_CALLS, Reply,
    SharedTool, Spec, Tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::kernel::{not_here, typed};

/// Makes several calls at once and gives all their results.
///
/// Use it to save turns when you know the next calls already: reads run side by side, what conflicts keeps its order. A
/// call may use the result of an earlier one: `{"$result": 1}` anywhere in its input stands for the text of the first
/// call's result (of a Read: the file's lines without numbers), `{"$result": 1, "pointer": "/items/0/id"}` for a value in it if it is JSON. Every call is checked and
/// permitted by itself; one that fails does not stop the others unless you say so. A Batch cannot be in a Batch.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchInput {
    #[schemars(length(min = 1, max = 25))]
    calls: Vec<Inner>,
    /// Leaves the rest once a call has failed.
    #[serde(default)]
    stop_on_error: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inner {
    /// The tool's name.
    tool: String,
    /// Its input.
    #[serde(default)]
    input: Map<String, Value>,
}

/// So many calls are a batch; more are a program.
const MOST: usize = 25;

/// How much text the results have together before the largest are put away.
const ROOM: usize = 120 * 1024;

/// The calls have limits of their own. This is an end to what has none, not a measure.
const LONGEST: Duration = Duration::from_secs(6 * 60 * 60);

/// The tool.
pub(crate) struct Batch;

impl Tool for Batch {
    type Input = BatchInput;
    const SPEC: Spec = Spec::new("Batch")
        // In plan mode, too: what its calls may do there is judged call by call.
        .toolset("planning")
        .aliases(&["batch_tools", "batch", "multi_tool_use", "parallel"])
        .search_hint("several calls at once parallel multiple tools")
        // Larger than what is left of many results that were each put away.
        .limit(Limit::Bytes(400 * 1024))
        // Its calls are interrupted by themselves; it waits for what they have to say.
        .interrupt(Interrupt::Block)
        .timeout(LONGEST);

    fn validate(&self, input: &BatchInput) -> Result<(), Fault> {
        let count = input.calls.len();
        if count == 0 || count > MOST {
            return Err(Fault::rejected(format!("`calls` has {count} calls; a batch has 1 to {MOST}")));
        }
        for (at, call) in input.calls.iter().enumerate() {
            references::check(at, &call.input)?;
        }
        Ok(())
    }

    fn effects(&self, _: &BatchInput) -> Effects {
        Effects::changes(OTHER_CALLS)
    }

    fn describe(&self, input: &BatchInput) -> String {
        let names: Vec<&str> = input.calls.iter().map(|call| call.tool.as_str()).collect();
        format!("Make {}: {}", calls(names.len()), names.join(", "))
    }

    async fn call(&self, _: BatchInput, _: &Cx) -> Result<Reply, Fault> {
        Err(not_here("Batch"))
    }
}

impl Kernel for Batch {
    fn tool(&self) -> SharedTool {
        Batch.into_tool()
    }

    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let input: BatchInput = typed(&input)?;
            let mut running = Running { kx, until_error: input.stop_on_error, done: Vec::new() };
            let mut rest = input.calls.into_iter().enumerate().peekable();
            while rest.peek().is_some() {
                let mut together = Vec::new();
                // As many as need nothing of each other: whatever may run side by side does.
                while let Some((at, call)) = rest.next_if(|(_, call)| running.has_what_it_needs(call)) {
                    together.push((at, call));
                }
                running.run(together).await;
            }
            Ok(reply(&running.done, running.until_error))
        })
    }
}

/// What became of one of the calls.
enum Done {
    /// It was made.
    Made(Box<ToolResult>),
    /// It was not, for this reason.
    Left(String, String),
}

struct Running<'a> {
    kx: KernelCx<'a>,
    until_error: bool,
    /// In the order of the calls.
    done: Vec<Done>,
}

impl Running<'_> {
    /// References point backwards, so the first that is left always has it.
    fn has_what_it_needs(&self, call: &Inner) -> bool {
        references::latest(&call.input).is_none_or(|number| number <= self.done.len())
    }

    async fn run(&mut self, calls: Vec<(usize, Inner)>) {
        let mut made = Vec::new();
        let mut left = Vec::new();
        for (at, call) in calls {
            match self.prepared(at, &call) {
                Ok(call) => made.push(call),
                Err(why) => left.push((at, call.tool, why)),
            }
        }
        let room = ROOM.saturating_sub(self.done.iter().map(Done::len).sum());
        let within = Within { until_error: self.until_error, room };
        let mut results = self.kx.calls(made, within).await.into_iter();
        let mut left = left.into_iter().peekable();
        loop {
            let at = self.done.len();
            if let Some((_, tool, why)) = left.next_if(|(place, ..)| *place == at) {
                self.done.push(Done::Left(tool, why));
            } else if let Some(result) = results.next() {
                self.done.push(Done::Made(Box::new(result)));
            } else {
                break;
            }
        }
    }

    /// The call as the pipeline gets it, or why it is not made.
    fn prepared(&self, at: usize, call: &Inner) -> Result<Call, String> {
        if self.until_error && self.done.iter().any(Done::is_error) {
            return Err("an earlier call failed, and the rest was to be left then".to_owned());
        }
        if self.kx.pool.find(&call.tool).is_some_and(|entry| entry.name() == Batch::SPEC.name()) {
            return Err("a Batch cannot be in a Batch: put its calls into this one".to_owned());
        }
        let input = references::resolve(&call.input, &|number| self.result(number))?;
        let id = format!("{}.{}", self.kx.cx.call_id(), at + 1);
        Ok(Call::new(id, call.tool.clone(), Value::Object(input)))
    }

    fn result(&self, number: usize) -> Result<&ToolResult, String> {
        match self.done.get(number - 1) {
            Some(Done::Made(result)) if !result.is_error() => Ok(result),
            _ => Err(format!("it needs the result of call {number}, which did not work")),
        }
    }
}

impl Done {
    fn is_error(&self) -> bool {
        match self {
            Done::Made(result) => result.is_error(),
            Done::Left(..) => true,
        }
    }

    /// Whether it was stopped, or never begun because the whole was.
    fn is_cut_off(&self) -> bool {
        matches!(self, Done::Made(result) if result.fault.is_some_and(|fault| fault.kind == FaultKind::Cancelled))
    }

    fn tool(&self) -> &str {
        match self {
            Done::Made(result) => &result.tool,
            Done::Left(tool, _) => tool,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Done::Made(result) if !result.is_error() => "done",
            Done::Made(result) => match result.fault.map(|fault| fault.kind) {
                Some(FaultKind::Denied) => "refused",
                Some(FaultKind::Cancelled) => "not run, or stopped",
                _ => "failed",
            },
            Done::Left(..) => "not run",
        }
    }

    fn len(&self) -> usize {
        match self {
            Done::Made(result) => result.blocks.iter().filter_map(Block::as_text).map(str::len).sum(),
            Done::Left(_, why) => why.len(),
        }
    }

    fn blocks(&self) -> Vec<Block> {
        match self {
            Done::Made(result) => result.blocks.clone(),
            Done::Left(_, why) => vec![Block::Text(format!("{why}; nothing was done"))],
        }
    }
}

/// All results in one, each under its number.
fn reply(done: &[Done], until_error: bool) -> Reply {
    let mut reply = Reply::default();
    for (at, one) in done.iter().enumerate() {
        let head = format!("── {} {}: {}", at + 1, one.tool(), one.word());
        let mut blocks = one.blocks().into_iter().peekable();
        // A heading of its own for what is no text; with its text for what is.
        let text = match blocks.next_if(|block| block.as_text().is_some()) {
            Some(Block::Text(text)) => format!("{head}\n{text}"),
            _ => head,
        };
        reply.blocks.push(Block::Text(text));
        reply.blocks.extend(blocks);
        if let Done::Made(result) = one {
            reply.messages.extend(result.messages.iter().cloned());
            if !result.meta.loaded.is_empty() {
                reply.changes.push(Change::Load(result.meta.loaded.clone()));
            }
        }
    }
    let failed = done.iter().filter(|one| one.is_error()).count();
    reply.observation = Some(match failed {
        0 => format!("{}, all done", calls(done.len())),
        failed => format!("{}: {} done, {failed} not", calls(done.len()), done.len() - failed),
    });
    let facts = |one: &Done| json!({ "tool": one.tool(), "outcome": one.word() });
    reply.meta.insert("calls".to_owned(), done.iter().map(facts).collect::<Vec<_>>().into());
    // The model has to read what did not work; only where nothing did, or the whole was stopped, is the whole a failure.
    if is_stopped(done, until_error) {
        return reply.failing(FaultKind::Cancelled);
    }
    if failed == done.len() { reply.failing(FaultKind::Failed) } else { reply }
}

/// Whether somebody stopped it. What is left after an error because that was wanted is not stopped.
fn is_stopped(done: &[Done], until_error: bool) -> bool {
    let is_left = until_error && done.iter().any(|one| one.is_error() && !one.is_cut_off());
    !is_left && done.iter().any(Done::is_cut_off)
}

fn calls(count: usize) -> String {
    if count == 1 { "1 call".to_owned() } else { format!("{count} calls") }
}
