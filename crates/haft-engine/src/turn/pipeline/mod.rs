//! One call, from the model's JSON to the result it gets.
//!
//! Every call passes every stage, in this order. A stage knows the one before it only by its output type, so each can be
//! read and tested alone. The first three need nothing but the call and the pool: the scheduler must know the effects
//! before it can say when the rest may happen.

mod recall; //   0 has it come before
mod resolve; //  1 which tool is meant
mod check; //    2 does the input fit
mod foresee; //  3 what is it going to do
mod begin; //    4, 5 may it, and who must know before
mod marked; //     does it write what stands for a secret
mod hooks; //      4, 7 those who are asked before and after
mod told; //       and what is written down of it
mod preview; //    and what whoever is asked gets to see
mod pinned; //     and does its tool still say what it said
mod execute; //  6 the call itself
mod retry; //      and again
mod finish; //   8 what goes back

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use haft_tool::{CallId, Change, Cx, Fault, FaultKind, Moment, Reply, SessionFacts, Spec, View};

use begin::Halt;
pub(crate) use foresee::Prepared;
pub(crate) use hooks::{NotifyingAsker, hide_secrets, stops};
pub(crate) use recall::{Ticket, recall};
pub use retry::Retry;
pub(crate) use told::ToldAddition;

use crate::{
    policy::{CallFacts, Decision, Permit, Said},
    pool::{Entry, Pool},
    result::{Attic, FileSecrets, Meta, ToolResult, refused},
    session::{CallHost, Named, Note, Session},
    turn::{Call, Event, Events, Interrupt, Kernel},
};

/// What the stages of a turn share.
#[derive(Clone, Copy)]
pub(crate) struct CallCx<'t> {
    pub(crate) session: &'t Session,
    pub(crate) pool: &'t Pool,
    pub(crate) events: &'t Events,
    pub(crate) interrupt: &'t Interrupt,
    /// Which turn of the session, counted from 1. 0 where no call is made.
    pub(crate) turn: u32,
}

/// A call that has ended.
pub(crate) struct Ended {
    pub(crate) result: Box<ToolResult>,
    /// What changes in the session, once all earlier calls have had their say.
    pub(crate) changes: Vec<Change>,
}

/// What became of a call whose turn had come.
pub(crate) enum Walked<'t> {
    /// It has ended.
    Ended(Ended),
    /// A hook gave it another input: it must be scheduled again, because it may touch something else now.
    Changed(Box<Prepared<'t>>),
}

/// A call that did not pass one of the first three steps.
pub(crate) struct NotUnderstood {
    call: CallId,
    name: String,
    fault: Fault,
}

/// Steps 1 to 3: understands a call, or makes a result of why it cannot.
pub(crate) fn prepare<'t>(
    cx: CallCx<'t>,
    call: Call,
    ticket: Option<Arc<Ticket>>,
) -> Result<Prepared<'t>, Box<ToolResult>> {
    let mut prepared =
        understand(cx, call).map_err(|not| Box::new(refused(not.call, not.name, &not.fault)))?;
    prepared.ticket = ticket;
    cx.events.send(|| Event::Queued {
        call: prepared.call.clone(),
        tool: prepared.entry.name().to_owned(),
        description: cx.told_line(prepared.describe()),
    });
    Ok(prepared)
}

fn understand<'t>(cx: CallCx<'t>, call: Call) -> Result<Prepared<'t>, NotUnderstood> {
    let resolved = resolve::resolve(cx.pool, call)?;
    let checked = check::check(resolved, cx.session.failures())?;
    foresee::foresee(checked, cx.session)
}

/// Steps 4 to 8: everything that happens once the call's turn has come.
pub(crate) async fn run<'t>(cx: CallCx<'t>, mut prepared: Box<Prepared<'t>>) -> Walked<'t> {
    let started = Instant::now();
    let mut meta = prepared.meta(started);
    let mut permit = None;
    let (host, tool_cx) = cx.tool_cx(&prepared);
    let open = Open { cx, ticket: prepared.ticket.clone() };
    let attempted = attempt(&cx, &mut prepared, (&host, &tool_cx), &mut permit, &mut meta).await;
    if let Some((watches, goes_on)) = host.take_watches() {
        // A thread that breaks has dropped the watches, and the next watch settles them.
        let settle = move || watches.into_iter().for_each(|watch| watch.settle(goes_on));
        let _ = tokio::task::spawn_blocking(settle).await;
    }
    let mut said = None;
    if let Some(why) = outside(&host, &prepared, permit.as_ref()) {
        if let Some(ticket) = &prepared.ticket {
            cx.note(ticket, Note::Unsandboxed(&why)).await;
        }
        let told = format!("This call ran outside the sandbox: {why}.");
        meta.notes.insert("sandbox".to_owned(), told.clone().into());
        said = Some(told);
    }
    let unkept = host.image_notes();
    if !unkept.is_empty() {
        meta.notes.insert("undo".to_owned(), unkept.into());
    }
    if let Some(why) = prepared.unrecorded.take() {
        meta.notes.insert("journal".to_owned(), format!("this call was not recorded: {why}").into());
    }
    let outcome = match attempted {
        Ok(reply) => Ok(reply),
        Err(Halt::Fault(fault)) => Err(fault),
        Err(Halt::Answered(ended)) => return Walked::Ended(*ended),
        Err(Halt::Changed(input)) => match Box::pin(hooks::reconsider(cx, prepared, input)).await {
            Ok(changed) => return Walked::Changed(changed),
            Err((unchanged, fault)) => {
                prepared = unchanged;
                Err(fault)
            }
        },
    };
    let mut ended = finish::compose(&cx, &mut prepared, outcome, meta);
    ended.result.messages.extend(said);
    let ran = permit.is_some();
    if let Some(permit) = permit.filter(|_| !cx.hooks().is_empty()) {
        Box::pin(hooks::after(&cx, &prepared, &permit, &tool_cx, &mut ended.result)).await;
    }
    if let Some(said) = prepared.stopped_within.take() {
        // Its words went with the call that it was said of; here it only stops the turn.
        let said = Said { context: None, ..*said };
        prepared.heard.get_or_insert_default().said.push(said);
    }
    hooks::tell(prepared.heard.take(), &mut ended.result);
    finish::finish(&cx, &prepared, ran, &mut ended).await;
    open.close();
    Walked::Ended(ended)
}

/// Why the processes of a call ran outside of the sandbox, if they did.
fn outside(host: &CallHost, prepared: &Prepared<'_>, permit: Option<&Permit>) -> Option<String> {
    let permit = permit?;
    match &prepared.unsandboxed_by {
        Some(rule) => Some(rule.clone()),
        None if permit.is_unsandboxed() || host.is_unsandboxed() => Some("the user allowed it".to_owned()),
        None => None,
    }
}

/// A call that is dropped before its end was cut off, and the session must know.
struct Open<'a> {
    cx: CallCx<'a>,
    ticket: Option<Arc<Ticket>>,
}

impl Open<'_> {
    fn close(mut self) {
        self.ticket = None;
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.cx.dropped(&ticket);
        }
    }
}

/// Steps 4 to 6.
async fn attempt(
    cx: &CallCx<'_>,
    prepared: &mut Prepared<'_>,
    (host, tool_cx): (&CallHost, &Cx),
    permit: &mut Option<Permit>,
    meta: &mut Meta,
) -> Result<Reply, Halt> {
    let permit = permit.insert(begin::begin(cx, prepared, tool_cx).await?);
    host.permitted(permit, prepared.unsandboxed_by.is_some());
    // From here on: what went before was waiting, perhaps for a person.
    let began = tokio::time::Instant::now();
    let replied = execute::execute(cx, prepared, tool_cx, permit, &mut meta.attempts).await;
    meta.duration_us = micros(began.elapsed()).saturating_sub(micros(prepared.waiting.total()));
    Ok(replied?)
}

/// A call that never came so far still gets its result, and its place in the journal.
pub(crate) async fn refuse(
    cx: CallCx<'_>,
    mut result: Box<ToolResult>,
    ticket: Option<Arc<Ticket>>,
) -> Ended {
    let tool = result.tool.clone();
    finish::hide_secrets(&cx, &tool, &FileSecrets::default(), &mut result);
    let mut ended = Ended { result, changes: Vec::new() };
    finish::record(&cx, ticket.as_deref(), finish::NEVER_RAN, &mut ended).await;
    ended
}

impl<'t> CallCx<'t> {
    /// The narrow context that the tool itself gets.
    fn tool_cx(&self, prepared: &Prepared<'_>) -> (Arc<CallHost>, Cx) {
        let (session, events, interrupt) =
            (self.session.clone(), self.events.clone(), self.interrupt.clone());
        let host = Arc::new(CallHost::new(session, events, prepared, self.turn, interrupt));
        (host.clone(), Cx::new(prepared.call.clone(), host))
    }

    /// Where results go that are too large.
    pub(crate) fn attic(&self) -> Attic<'t> {
        Attic { store: &**self.session.results(), session: self.session.id(), pool: self.pool }
    }

    /// What others are told of a call. The session's facts are read once a call, and only if somebody listens.
    fn facts<'a>(
        &self,
        session: &'a SessionFacts,
        prepared: &'a Prepared<'_>,
        decision: &'a Decision,
    ) -> CallFacts<'a> {
        CallFacts {
            session,
            mode: self.session.mode(),
            call: &prepared.call,
            tool: prepared.entry.name(),
            aliases: prepared.entry.tool().spec().other_names(),
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
    /// What is to be looked up before it is judged.
    pub(crate) fn named(&self, session: &Session) -> Named {
        let names =
            std::iter::once(self.entry.name()).chain(self.entry.tool().spec().other_names().iter().copied());
        Named::of(&self.effects, session.policy().denies_reading(names))
    }

    /// A result for a call that comes no further.
    pub(crate) fn refused(self, fault: &Fault) -> ToolResult {
        refused(self.call, self.name, fault)
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

    /// Whether it may change something outside of its session.
    pub(crate) fn has_side_effects(&self) -> bool {
        !self.effects.is_read_only() || self.entry.tool().spec().works_by_calls()
    }

    /// Whether twice is the same as once.
    pub(crate) fn is_repeatable(&self) -> bool {
        let spec = self.entry.tool().spec();
        !spec.works_by_calls() && (self.effects.is_read_only() || spec.is_idempotent())
    }

    /// One line for a person. The tool's own words, unless it breaks over them.
    pub(crate) fn describe(&self) -> String {
        let own =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.bound.as_ref().map(|bound| bound.describe())));
        own.ok().flatten().unwrap_or_else(|| self.entry.name().to_owned())
    }

    /// What a classifier is told besides the effects.
    pub(crate) fn said(&self) -> Option<String> {
        let own = std::panic::catch_unwind(AssertUnwindSafe(|| self.bound.as_ref()?.classifier_input()));
        own.ok().flatten()
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
}

/// The result of a call during which something broke that is not its tool.
pub(crate) fn broken(
    cx: &CallCx<'_>,
    (call, name): (CallId, String),
    ticket: Option<&Ticket>,
    panic: Box<dyn Any + Send>,
) -> Ended {
    let is_sure = ticket.is_some_and(|ticket| !cx.has_begun(ticket));
    let what = match is_sure {
        true => "it did not run",
        false => "its effect is unknown. Look at what is there before you do it anew",
    };
    let message = format!("the program around {name} broke while it handled this call; {what}");
    let fault = Fault::new(FaultKind::Internal, message).with_source(panic_words(panic));
    Ended { result: Box::new(refused(call, name, &fault)), changes: Vec::new() }
}

/// A panic is the tool's fault in both senses. What it said is for the operator: it may hold anything.
fn panic_fault(tool: &str, panic: Box<dyn Any + Send>) -> Fault {
    let message = format!("the tool {tool} broke while it ran; use another way");
    Fault::new(FaultKind::Internal, message).with_source(panic_words(panic))
}

fn panic_words(panic: Box<dyn Any + Send>) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
