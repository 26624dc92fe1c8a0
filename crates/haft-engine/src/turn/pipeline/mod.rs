//! One call, from the model's JSON to the result it gets.
//!
//! Every call passes every stage, in this order. A stage knows the one before it only by its output type, so each can be
//! read and tested alone. The first three need nothing but the call and the pool: the scheduler must know the effects
//! before it can say when the rest may happen.

mod resolve; //  1 which tool is meant
mod check; //    2 does the input fit
mod foresee; //  3 what is it going to do
mod execute; //  6 the call itself
mod retry; //      and again

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use haft_tool::{CallId, Change, Cx, Fault, FaultKind, Moment, Reply, Spec, View};

pub(crate) use foresee::Prepared;
pub use retry::Retry;

use crate::{
    policy::{self, Decision, Permit},
    pool::{Entry, Pool},
    result::{Meta, ToolResult, from_fault, from_reply},
    session::{CallHost, Judged, Session},
    turn::{After, Before, Call, CallFacts, Event, Events, Interrupt, Kernel},
};

/// What the stages of a turn share.
#[derive(Clone, Copy)]
pub(crate) struct CallCx<'t> {
    pub(crate) session: &'t Session,
    pub(crate) pool: &'t Pool,
    pub(crate) events: &'t Events,
    pub(crate) interrupt: &'t Interrupt,
}

/// A call that has ended.
pub(crate) struct Ended {
    pub(crate) result: ToolResult,
    /// What changes in the session, once all earlier calls have had their say.
    pub(crate) changes: Vec<Change>,
}

/// A call that did not pass one of the first three steps.
pub(crate) struct Refusal {
    call: CallId,
    name: String,
    fault: Fault,
}

/// Steps 1 to 3: understands a call, or makes a result of why it cannot.
pub(crate) fn prepare<'t>(cx: CallCx<'t>, call: Call) -> Result<Prepared<'t>, Box<ToolResult>> {
    let prepared = understand(cx, call).map_err(|refusal| {
        Box::new(from_fault(refusal.call, refusal.name, &refusal.fault, Meta::default()))
    })?;
    cx.events.send(|| Event::Queued {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        description: prepared.describe(),
    });
    Ok(prepared)
}

fn understand<'t>(cx: CallCx<'t>, call: Call) -> Result<Prepared<'t>, Refusal> {
    let resolved = resolve::resolve(cx.pool, call)?;
    let checked = check::check(resolved, cx.session.failures())?;
    foresee::foresee(checked, &cx.session.path_base())
}

/// Steps 4 to 8: everything that happens once the call's turn has come.
pub(crate) async fn run(cx: CallCx<'_>, mut prepared: Box<Prepared<'_>>) -> Ended {
    let started = Instant::now();
    let mut meta = prepared.meta(started);
    let outcome = attempt(&cx, &mut prepared, &mut meta.attempts).await;
    meta.duration_us = micros(started.elapsed());
    let has_begun = meta.attempts > 0;
    let mut ended = compose(&cx, &mut prepared, outcome, meta);
    if has_begun {
        look_back(&cx, &prepared, &mut ended.result).await;
    }
    finish(&cx, &prepared, &mut ended.result).await;
    ended
}

/// Steps 4 to 6.
async fn attempt(cx: &CallCx<'_>, prepared: &mut Prepared<'_>, attempts: &mut u32) -> Result<Reply, Fault> {
    let tool_cx = cx.tool_cx(prepared);
    let permit = begin(cx, prepared, &tool_cx).await?;
    execute::execute(cx, prepared, &tool_cx, &permit, attempts).await
}

/// A call that never came so far still gets its result, and its place in the journal.
pub(crate) async fn refuse(cx: CallCx<'_>, mut result: ToolResult) -> Ended {
    record(&cx, &mut result).await;
    Ended { result, changes: Vec::new() }
}

/// Steps 4 and 5: permission, hooks, and the journal's "started". Nothing has happened yet when this says no.
async fn begin(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Fault> {
    let permit = permit(cx, prepared, tool_cx).await?;
    for hook in cx.session.engine().hooks() {
        if let Before::Block(reason) = hook.before(prepared.facts()).await {
            return Err(Fault::denied(
                haft_tool::Refusal::Hook,
                format!("a hook refused this call: {reason}"),
            ));
        }
    }
    if let Some(journal) = cx.session.engine().journal() {
        journal.started(cx.judged(prepared, permit.decision())).await.map_err(unrecorded)?;
    }
    cx.events.send(|| Event::Started {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        input: prepared.input.clone(),
        effects: Arc::new(prepared.effects.clone()),
        decision: Arc::new(permit.decision().clone()),
    });
    Ok(permit)
}

/// Written before a side effect: a call that cannot be recorded does not happen.
fn unrecorded(err: std::io::Error) -> Fault {
    let message = "the call was not made, because it could not be recorded in the journal";
    Fault::new(FaultKind::Unavailable, message).with_source(err)
}

/// Step 4.
async fn permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, tool_cx: &Cx) -> Result<Permit, Fault> {
    let request = cx.session.request(prepared);
    let describe = || prepared.describe();
    let asked = policy::Asked { describe: &describe, input: &prepared.input };
    let asker = cx.session.engine().asker();
    let permit =
        policy::permit(cx.session.policy(), cx.session.grants(), asker, asked, &request, tool_cx.token());
    match permit.await {
        Ok(permit) => Ok(permit),
        // Boxed: refusals are rare, and their state should not make every call's larger.
        Err(refused) => Err(Box::pin(refuse_permit(cx, prepared, *refused)).await),
    }
}

async fn refuse_permit(cx: &CallCx<'_>, prepared: &Prepared<'_>, refused: policy::Refused) -> Fault {
    let policy::Refused { decision, mut fault } = refused;
    if let Some(journal) = cx.session.engine().journal()
        && let Err(err) = journal.refused(cx.judged(prepared, &decision)).await
    {
        fault = fault.with_source(err);
    }
    cx.events.send(|| Event::Refused {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        decision: Arc::new(decision),
    });
    fault
}

/// The shape of the result, and what it changes in the session.
fn compose(cx: &CallCx<'_>, prepared: &mut Prepared<'_>, outcome: Result<Reply, Fault>, meta: Meta) -> Ended {
    // Drawn only for somebody who looks.
    let view = cx.events.are_watched().then(|| prepared.view(&outcome)).map(Box::new);
    let mut ended = shape(prepared, outcome, meta);
    ended.result.view = view;
    ended
}

fn shape(prepared: &mut Prepared<'_>, outcome: Result<Reply, Fault>, meta: Meta) -> Ended {
    let (call, name) = (prepared.call.clone(), std::mem::take(&mut prepared.name));
    match outcome {
        Ok(mut reply) => {
            let changes = std::mem::take(&mut reply.changes);
            Ended { result: from_reply(call, name, reply, meta), changes }
        }
        Err(fault) => Ended { result: from_fault(call, name, &fault, meta), changes: Vec::new() },
    }
}

/// Step 7: hooks see what became of the call. Its context changes are applied by the turn, in the model's order.
async fn look_back(cx: &CallCx<'_>, prepared: &Prepared<'_>, result: &mut ToolResult) {
    for hook in cx.session.engine().hooks() {
        if let After::Say(message) = hook.after(prepared.facts(), result).await {
            result.messages.push(message);
        }
    }
}

/// Step 8: the result is cut to its budget and recorded.
async fn finish(cx: &CallCx<'_>, prepared: &Prepared<'_>, result: &mut ToolResult) {
    let engine = cx.session.engine();
    let limit = prepared.entry.tool().spec().result_limit();
    engine.settings().budget.fit(result, limit, engine.results(), cx.session.id()).await;
    record(cx, result).await;
}

/// The journal's "finished". The effect has happened: a journal that fails now must not hide the result.
async fn record(cx: &CallCx<'_>, result: &mut ToolResult) {
    if let Some(journal) = cx.session.engine().journal()
        && let Err(err) = journal.finished(cx.session.id(), result).await
    {
        result.meta.notes.insert("journal".to_owned(), format!("this result was not recorded: {err}").into());
    }
    cx.events.send(|| Event::Finished(Arc::new(result.clone())));
}

impl<'t> CallCx<'t> {
    /// The narrow context that the tool itself gets.
    fn tool_cx(&self, prepared: &Prepared<'_>) -> Cx {
        let host = CallHost::new(self.session.clone(), self.events.clone(), &prepared.effects);
        Cx::new(prepared.call.clone(), self.interrupt.token(prepared.entry.tool().spec()), Arc::new(host))
    }

    fn judged<'a>(&'a self, prepared: &'a Prepared<'_>, decision: &'a Decision) -> Judged<'a> {
        Judged {
            session: self.session.id(),
            call: &prepared.call,
            tool: prepared.entry.name(),
            input: &prepared.input,
            effects: &prepared.effects,
            decision,
        }
    }

    fn kernel(&self, entry: &Entry) -> Option<&'t dyn Kernel> {
        self.session.engine().kernel(entry)
    }

    fn retry(&self) -> &'t Retry {
        &self.session.engine().settings().retry
    }

    /// A tool's own limit, or the engine's. Whoever waits for a person has none.
    fn time_limit(&self, spec: &Spec) -> Option<Duration> {
        if spec.is_interactive() {
            return None;
        }
        Some(spec.time_limit().unwrap_or(self.session.engine().settings().timeout))
    }
}

impl Prepared<'_> {
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.effects.paths().iter().map(|effect| effect.path.clone()).collect()
    }

    /// A result for a call that comes no further.
    pub(crate) fn refused(self, fault: &Fault) -> ToolResult {
        from_fault(self.call, self.name, fault, Meta::default())
    }

    fn meta(&mut self, started: Instant) -> Meta {
        let is_alias = self.name != self.entry.name();
        Meta {
            tool: is_alias.then(|| self.entry.name().to_owned()),
            queued_us: micros(started - self.arrived),
            coerced: std::mem::take(&mut self.coerced),
            source: self.entry.source().clone(),
            ..Meta::default()
        }
    }

    /// One line for a person. The tool's own words, unless it breaks over them.
    pub(crate) fn describe(&self) -> String {
        let own =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.bound.as_ref().map(|bound| bound.describe())));
        own.ok().flatten().unwrap_or_else(|| self.entry.name().to_owned())
    }

    /// How a person sees what became of it. The tool's own drawing, unless it breaks over it.
    fn view(&self, outcome: &Result<Reply, Fault>) -> View {
        let moment = match outcome {
            Ok(reply) => Moment::Done(reply),
            Err(fault) if fault.kind() == FaultKind::Denied => Moment::Refused(fault),
            Err(fault) => Moment::Failed(fault),
        };
        let own = std::panic::catch_unwind(AssertUnwindSafe(|| self.entry.tool().view(&self.input, moment)));
        own.unwrap_or_else(|_| View::general(self.entry.name(), moment))
    }

    fn facts(&self) -> CallFacts<'_> {
        CallFacts { call: &self.call, tool: self.entry.name(), input: &self.input, effects: &self.effects }
    }
}

/// A panic is the tool's fault in both senses. What it said is for the operator: it may hold anything.
fn panic_fault(tool: &str, panic: Box<dyn Any + Send>) -> Fault {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned());
    let message = format!("the tool {tool} broke while it ran; use another way");
    Fault::new(FaultKind::Internal, message).with_source(said)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
