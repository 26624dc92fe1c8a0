//! Turns and calls as spans.
//!
//! A turn is a span, and each of its calls is one below it: `execute_tool Read`, from its arrival to its result. How much
//! of that was waiting, deciding and running is in attributes; what was decided, and each further attempt, are events of
//! the span. So a call costs one span, and the whole of it can be read in one place.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use haft_engine::{
    policy::Decision,
    result::ToolResult,
    turn::{Event, Observer, TurnObserver},
};
use haft_tool::{CallId, FaultKind, SessionFacts};
use opentelemetry::{
    Context, KeyValue,
    global::{BoxedSpan, BoxedTracer},
    metrics::Meter,
    trace::{Span, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer},
};

use crate::{
    Parent,
    instruments::{Instruments, Times, size},
    parent, words,
};

/// Makes spans and metrics of what happens to calls. Give it to
/// [`EngineBuilder::observer`](haft_engine::EngineBuilder::observer). Clones are the same.
#[derive(Clone)]
pub struct CallObserver(Arc<Inner>);

struct Inner {
    tracer: BoxedTracer,
    instruments: Instruments,
    content: bool,
    parent: Box<dyn Fn() -> Option<Parent> + Send + Sync>,
}

impl CallObserver {
    /// For a program that has a pipeline of its own: `CallObserver::new(global::tracer("haft"), &global::meter("haft"))`.
    /// A turn is part of the span that is active where it begins.
    pub fn new(tracer: BoxedTracer, meter: &Meter) -> CallObserver {
        let instruments = Instruments::new(meter);
        CallObserver(Arc::new(Inner { tracer, instruments, content: false, parent: Box::new(|| None) }))
    }

    /// With the inputs and results of calls, which may be private: without secrets, as far as the engine's redactor finds
    /// them.
    #[must_use]
    pub fn with_content(self, content: bool) -> CallObserver {
        self.change(|inner| inner.content = content)
    }

    /// Where a turn belongs if no span is active. Asked in the task that begins the turn.
    #[must_use]
    pub fn with_parent(self, parent: impl Fn() -> Option<Parent> + Send + Sync + 'static) -> CallObserver {
        self.change(|inner| inner.parent = Box::new(parent))
    }

    /// Before anybody else has it: what is shared already stays as it is.
    fn change(mut self, change: impl FnOnce(&mut Inner)) -> CallObserver {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            change(inner);
        }
        self
    }
}

impl Inner {
    fn context(&self) -> Context {
        let current = Context::current();
        if current.has_active_span() {
            return current;
        }
        (self.parent)().map(Parent::context).unwrap_or_default()
    }

    fn span(&self, name: String, attributes: Vec<KeyValue>, parent: &Context) -> BoxedSpan {
        let builder = SpanBuilder::from_name(name).with_kind(SpanKind::Internal).with_attributes(attributes);
        self.tracer.build_with_context(builder, parent)
    }
}

impl Observer for CallObserver {
    fn turn(&self, session: &SessionFacts) -> Option<Box<dyn TurnObserver>> {
        let mut attributes = vec![KeyValue::new(words::CONVERSATION, words::name(session.id.as_str()))];
        if let Some(channel) = &session.caller.channel {
            attributes.push(KeyValue::new(words::CHANNEL, words::name(channel)));
        }
        let span = self.0.span("turn".to_owned(), attributes, &self.0.context());
        let context = Context::new().with_remote_span_context(span.span_context().clone());
        let open = Open { span, calls: HashMap::new(), finished: HashMap::new(), is_over: false };
        Some(Box::new(TurnSpans { inner: self.0.clone(), context, open: Mutex::new(open) }))
    }
}

/// One turn.
struct TurnSpans {
    inner: Arc<Inner>,
    /// Where its calls belong.
    context: Context,
    open: Mutex<Open>,
}

struct Open {
    span: BoxedSpan,
    /// The calls that have no result yet.
    calls: HashMap<CallId, OpenCall>,
    /// Of those that have one: the tool, and whether the result was whole.
    finished: HashMap<CallId, (String, bool)>,
    is_over: bool,
}

struct OpenCall {
    span: BoxedSpan,
    tool: String,
    arrived: Instant,
    /// When it was decided that it may run.
    started: Option<Instant>,
}

impl TurnSpans {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queued(&self, call: &CallId, tool: &str) {
        let span = self.call_span(call, tool, true);
        let (tool, arrived) = (tool.to_owned(), Instant::now());
        self.lock().calls.insert(call.clone(), OpenCall { span, tool, arrived, started: None });
    }

    /// Names of spans are few: one that a model made up is an attribute alone.
    fn call_span(&self, call: &CallId, tool: &str, is_known: bool) -> BoxedSpan {
        let tool = words::name(tool);
        let name =
            if is_known { format!("{} {tool}", words::EXECUTE_TOOL) } else { words::EXECUTE_TOOL.into() };
        let attributes = vec![
            KeyValue::new(words::OPERATION, words::EXECUTE_TOOL),
            KeyValue::new(words::TOOL, tool),
            KeyValue::new(words::CALL_ID, words::name(call.as_str())),
        ];
        self.inner.span(name, attributes, &self.context)
    }

    /// Something happened to a call that is open.
    fn with(&self, call: &CallId, change: impl FnOnce(&mut OpenCall)) {
        if let Some(open) = self.lock().calls.get_mut(call) {
            change(open);
        }
    }

    fn decided(&self, open: &mut OpenCall, decision: &Decision) {
        let trace = &decision.trace;
        let mut attributes = vec![
            KeyValue::new(words::VERDICT, decision.verdict.to_string()),
            KeyValue::new(words::CLASS, trace.class().to_string()),
        ];
        if let Some(layer) = trace.layer() {
            attributes.push(KeyValue::new(words::LAYER, words::name(&layer.to_string())));
        }
        if let Some((rule, origin)) = trace.rule() {
            attributes.push(KeyValue::new(words::RULE, words::name(rule)));
            attributes.push(KeyValue::new(words::ORIGIN, words::name(&origin.to_string())));
        }
        if let Some(refusal) = &decision.refusal {
            attributes.push(KeyValue::new(words::REFUSAL, words::word(refusal)));
        }
        if self.inner.content {
            attributes.push(KeyValue::new(words::REASON, words::content(&decision.reason())));
        }
        open.span.add_event(words::DECISION, attributes);
    }

    fn retrying(&self, call: &CallId, attempt: u32, delay: Duration) {
        self.with(call, |open| {
            let attempt = KeyValue::new(words::ATTEMPT, i64::from(attempt));
            let delay = KeyValue::new(words::DELAY_SECONDS, delay.as_secs_f64());
            open.span.add_event(words::RETRY, vec![attempt, delay]);
            self.inner.instruments.retried(&open.tool);
        });
    }

    /// A call that was never understood has no span yet, and its name may be the model's own.
    fn finished(&self, result: &ToolResult) {
        let open = self.lock().calls.remove(&result.call);
        let (mut span, tool, times) = match open {
            Some(open) => {
                let times = open.times(result);
                (open.span, open.tool, times)
            }
            None => {
                let (is_known, tool) =
                    (is_known(result), result.meta.tool.as_deref().unwrap_or(&result.tool));
                let span = self.call_span(&result.call, tool, is_known);
                (span, if is_known { tool } else { words::OTHER }.to_owned(), Times::default())
            }
        };
        span.set_attributes(facts(result, times));
        if self.inner.content && !result.is_error() {
            span.set_attribute(KeyValue::new(words::RESULT, words::content(&result.text())));
        }
        fail(&mut span, result);
        span.end();
        self.inner.instruments.finished(&tool, result, times);
        let is_whole = result.meta.truncated.is_none();
        self.lock().finished.insert(result.call.clone(), (tool, is_whole));
    }
}

/// Whether there is such a tool, by what became of a call that nobody queued: it was not understood, or it has run before and
/// was answered from the journal.
fn is_known(result: &ToolResult) -> bool {
    let kind = result.fault.map(|fault| fault.kind);
    is_recalled(result)
        || matches!(
            kind,
            Some(
                FaultKind::InvalidInput
                    | FaultKind::RejectedInput
                    | FaultKind::Internal
                    | FaultKind::Interrupted
            )
        )
}

fn is_recalled(result: &ToolResult) -> bool {
    result.meta.notes.get("recalled").is_some_and(|told| *told == true)
}

impl OpenCall {
    fn times(&self, result: &ToolResult) -> Times {
        let whole = self.arrived.elapsed();
        let queue = Duration::from_micros(result.meta.queued_us).min(whole);
        let until = |started: Instant| started.saturating_duration_since(self.arrived);
        // What was refused was decided about until its end.
        let decided = self.started.map_or(whole, until);
        Times {
            whole,
            queue: Some(queue),
            decision: Some(decided.saturating_sub(queue)),
            run: self.started.map(|started| started.elapsed()),
        }
    }
}

fn facts(result: &ToolResult, times: Times) -> Vec<KeyValue> {
    let mut facts = vec![
        KeyValue::new(words::TOOL_TYPE, words::tool_type(&result.meta.source)),
        KeyValue::new(words::ATTEMPTS, i64::from(result.meta.attempts)),
        KeyValue::new(words::RESULT_BYTES, bytes(size(result))),
    ];
    if !result.meta.source.is_empty() {
        facts.push(KeyValue::new(words::SOURCE, words::name(&result.meta.source)));
    }
    facts.extend(times.queue.map(|took| KeyValue::new(words::QUEUE_SECONDS, took.as_secs_f64())));
    facts.extend(times.decision.map(|took| KeyValue::new(words::DECISION_SECONDS, took.as_secs_f64())));
    facts.extend(times.run.map(|took| KeyValue::new(words::RUN_SECONDS, took.as_secs_f64())));
    if times.run.is_some() && words::is_of_server(&result.meta.source) {
        facts.push(KeyValue::new(words::METHOD, "tools/call"));
    }
    if is_recalled(result) {
        facts.push(KeyValue::new(words::IS_RECALLED, true));
    }
    facts.extend(shortened(result));
    facts
}

/// How large a result was before it was shortened, if it was.
fn shortened(result: &ToolResult) -> Vec<KeyValue> {
    let Some(cut) = &result.meta.truncated else { return Vec::new() };
    vec![
        KeyValue::new(words::WHOLE_BYTES, bytes(cut.bytes)),
        KeyValue::new(words::IS_SPILLED, cut.path.is_some()),
    ]
}

fn bytes(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The kind of a fault, and nothing of its words: they are content.
fn fail(span: &mut BoxedSpan, result: &ToolResult) {
    let Some(fault) = &result.fault else { return };
    span.set_attribute(KeyValue::new(words::ERROR_TYPE, words::word(&fault.kind)));
    if let Some(refusal) = &fault.refusal {
        span.set_attribute(KeyValue::new(words::REFUSAL, words::word(refusal)));
    }
    span.set_status(Status::error(""));
}

impl TurnObserver for TurnSpans {
    fn event(&self, event: &Event) {
        match event {
            Event::Queued { call, tool, .. } => self.queued(call, tool),
            Event::Started { call, input, decision, .. } => self.with(call, |open| {
                open.started = Some(Instant::now());
                self.decided(open, decision);
                if self.inner.content {
                    let input = words::content(&input.to_string());
                    open.span.set_attribute(KeyValue::new(words::ARGUMENTS, input));
                }
            }),
            Event::Refused { call, decision, .. } => self.with(call, |open| self.decided(open, decision)),
            Event::PermissionRequested { call, warrant, .. } => self.with(call, |open| {
                let answer = warrant.map_or_else(|| "no".to_owned(), |warrant| words::word(&warrant));
                open.span.add_event(words::PERMISSION, vec![KeyValue::new(words::ANSWER, answer)]);
            }),
            Event::HookSaid { call, said } => self.with(call, |open| {
                let name = KeyValue::new(words::HOOK_NAME, words::name(&said.by));
                let at = KeyValue::new(words::HOOK_AT, words::name(&said.at));
                open.span.add_event(words::HOOK, vec![name, at]);
            }),
            Event::Retrying { call, attempt, delay, .. } => self.retrying(call, *attempt, *delay),
            Event::Unrecorded { call, .. } => {
                self.with(call, |open| open.span.add_event(words::UNRECORDED, Vec::new()));
            }
            Event::TaskStarted { id, .. } => {
                let id = KeyValue::new(words::TASK_ID, words::name(id));
                self.lock().span.add_event(words::TASK, vec![id]);
            }
            Event::Finished(result) => self.finished(result),
            Event::Progress { .. } | Event::TaskEnded { .. } => {}
        }
    }

    fn ended(&self, results: &[ToolResult]) {
        let mut open = self.lock();
        let finished = mem::take(&mut open.finished);
        for result in results {
            let (tool, was_whole) =
                finished.get(&result.call).map_or((words::OTHER, true), |(tool, whole)| (tool, *whole));
            self.inner.instruments.given(tool, result);
            if was_whole && result.meta.truncated.is_some() {
                let mut attributes = shortened(result);
                attributes.push(KeyValue::new(words::CALL_ID, words::name(result.call.as_str())));
                open.span.add_event(words::SHORTENED, attributes);
            }
        }
        let failed = results.iter().filter(|result| result.is_error()).count();
        open.span.set_attribute(KeyValue::new(words::CALLS, bytes(results.len() as u64)));
        open.span.set_attribute(KeyValue::new(words::FAILED_CALLS, bytes(failed as u64)));
        open.span.end();
        open.is_over = true;
    }

    fn traceparent(&self, call: &CallId) -> Option<String> {
        parent::written(self.lock().calls.get(call)?.span.span_context())
    }
}

/// A turn that was given up: what was open has ended with it, and its spans say so.
impl Drop for TurnSpans {
    fn drop(&mut self) {
        let open = self.open.get_mut().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        for (_, mut call) in open.calls.drain() {
            call.span.set_attribute(KeyValue::new(words::ERROR_TYPE, words::word(&FaultKind::Cancelled)));
            call.span.set_status(Status::error(""));
            call.span.end_with_timestamp(now);
        }
        if !open.is_over {
            open.span.set_attribute(KeyValue::new(words::GIVEN_UP, true));
            open.span.end_with_timestamp(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_engine::result::Meta;

    use super::*;

    #[test]
    fn a_call_that_was_answered_from_the_journal_is_of_a_tool_that_is_there() {
        let result = |recalled: bool| ToolResult {
            call: "1".into(),
            tool: "Read".to_owned(),
            blocks: Vec::new(),
            fault: None,
            data: None,
            observation: None,
            actions: Vec::new(),
            messages: Vec::new(),
            view: None,
            meta: Meta {
                notes: [("recalled".to_owned(), recalled.into())].into_iter().collect(),
                ..Meta::default()
            },
        };
        assert!(is_known(&result(true)) && !is_known(&result(false)));
        let facts = facts(&result(true), Times::default());
        assert!(facts.contains(&KeyValue::new(words::IS_RECALLED, true)), "{facts:?}");
    }
}
