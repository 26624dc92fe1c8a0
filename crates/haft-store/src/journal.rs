//! The engine's journal, over any book.
//!
//! What the engine says of a call becomes rows here, and what to do when they cannot be written is decided here: by setting the
//! call is refused, or it goes on and somebody is told. Not here: how rows are kept.

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use haft_engine::{
    policy::Warrant,
    result::Truncation,
    session::{
        self, CallKey, CallState, Deed, Ending, Evidence, Finished, Note, Noted, PastCall, Start, Starting,
        Word,
    },
};
use haft_tool::{Access, BoxFuture, Refusal, SessionId, shown, unshown};
use serde_json::{Value, json};

use crate::{
    book::{Book, BookError, CallFilter, Claimed, Durability, EventFilter},
    record::{CallRow, Claim, Entry, EventKind, EventRow, Instant, Outcome, PathRow, Turn},
    result::{restore, store},
};

/// How many calls of a session are recalled when it goes on.
const RECALLED: usize = 4096;
/// How many paths of a call are found again by their names.
const MOST_PATHS: usize = 1000;
/// The largest input that is kept.
const LARGEST_INPUT: usize = 256 * 1024;
/// The longest line about a call.
const LONGEST_LINE: usize = 400;
/// How many calls of a session are looked through for what they did.
const MOST_DEEDS: usize = 2000;

/// Keeps what the engine says in a book.
pub struct Journal {
    book: Arc<dyn Book>,
    on_failure: OnFailure,
    tell: Box<dyn Fn(&str) + Send + Sync>,
    /// The last trouble that somebody was told of: once is enough for each.
    told: Mutex<Option<String>>,
    inspector: Option<Arc<dyn Inspector>>,
    /// Whether something was written. Until then, whoever must not run unrecorded waits, whatever it does.
    proven: AtomicBool,
}

/// What becomes of a call that cannot be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnFailure {
    /// It is refused.
    Refuse,
    /// It goes on, and somebody is told.
    #[default]
    Warn,
}

/// Says what the file system shows of a call that was cut off: whoever keeps before-images knows.
pub trait Inspector: Send + Sync {
    /// For each path that the call was about to change.
    fn inspect<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, io::Result<Vec<Evidence>>>;

    /// A call is made although it could not be recorded. Nobody will find what it changes, whatever is kept of it: that alone
    /// is no reason to refuse it.
    fn unrecorded(&self, _key: &CallKey) {}

    /// Whether what calls change is written down in this book, for good, before it is changed.
    fn seals_in(&self, _book: &Arc<dyn Book>) -> bool {
        false
    }
}

impl Journal {
    /// A journal in this book. Whoever should know that something could not be written is told by `tell`.
    pub fn new(book: Arc<dyn Book>, tell: impl Fn(&str) + Send + Sync + 'static) -> Journal {
        let on_failure = OnFailure::default();
        let (told, proven) = (Mutex::default(), AtomicBool::new(false));
        Journal { book, on_failure, tell: Box::new(tell), told, inspector: None, proven }
    }

    /// What becomes of a call that cannot be recorded.
    pub fn on_failure(mut self, on_failure: OnFailure) -> Journal {
        self.on_failure = on_failure;
        self
    }

    /// Who looks at what a call left behind that was cut off.
    pub fn inspector(mut self, inspector: Arc<dyn Inspector>) -> Journal {
        self.inspector = Some(inspector);
        self
    }

    async fn start(&self, start: Starting<'_>) -> io::Result<Start> {
        // One that works by calls of its own changes nothing itself, and must not run twice all the same.
        let started = match start.facts.effects.is_read_only() && start.repeatable {
            true => self.begin_quietly(self.claim_of(&start)).await,
            false => self.claim(self.claim_of(&start)).await,
        };
        match (started, self.on_failure) {
            (Ok(start), _) => Ok(start),
            (Err(err), OnFailure::Refuse) => Err(err.into()),
            (Err(err), OnFailure::Warn) => {
                let why = err.to_string();
                if let Some(inspector) = &self.inspector {
                    inspector.unrecorded(start.key);
                }
                self.warn(&format!("{why}. Calls are made and not recorded: what is made now cannot be looked up, recalled or undone."));
                Ok(Start::Unrecorded(why))
            }
        }
    }

    fn claim_of(&self, start: &Starting<'_>) -> Claim {
        let is_sealed = |inspector: &Arc<dyn Inspector>| inspector.seals_in(&self.book);
        Claim { sealed: start.sealed && self.inspector.as_ref().is_some_and(is_sealed), ..claim(start) }
    }

    /// A call that changes nothing may run twice: nobody is asked, and nothing is waited for.
    async fn begin_quietly(&self, claim: Claim) -> Result<Start, BookError> {
        let is_sure = self.on_failure == OnFailure::Warn || self.proven.load(Ordering::Relaxed);
        let durability = if is_sure { Durability::Queued } else { Durability::Process };
        self.book.append(vec![Entry::Started(Box::new(claim))], durability).await?;
        self.proven.store(true, Ordering::Relaxed);
        Ok(Start::Go)
    }

    async fn claim(&self, claim: Claim) -> Result<Start, BookError> {
        Ok(match self.book.claim(claim).await? {
            Claimed::Yours => Start::Go,
            Claimed::Busy(by) => Start::Busy(by),
            Claimed::CutOff => Start::CutOff,
            Claimed::Finished(stored) => match restore(&stored) {
                Some(finished) => Start::Answered(Box::new(finished)),
                // It ran, and what came of it cannot be read: as good as cut off.
                None => Start::CutOff,
            },
        })
    }

    async fn finish(&self, end: Ending<'_>) -> io::Result<()> {
        let durability = if end.side_effects && end.ran { Durability::Process } else { Durability::Queued };
        let written = self.book.append(outcome(&end), durability).await;
        if let Err(err) = &written {
            self.warn(&format!("{err}. A result was not recorded."));
        }
        Ok(written?)
    }

    /// Once for each trouble: a full disk is told once, not once a call.
    fn warn(&self, words: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.as_deref() != Some(words) {
            *told = Some(words.to_owned());
            (self.tell)(words);
        }
    }
}

impl session::Journal for Journal {
    fn recalls(&self) -> bool {
        true
    }

    fn past<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, io::Result<Vec<PastCall>>> {
        Box::pin(async move { Ok(self.book.past(session, RECALLED).await?) })
    }

    fn result<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, io::Result<Option<Box<Finished>>>> {
        Box::pin(async move {
            let stored = self.book.result(key).await?;
            Ok(stored.and_then(|stored| restore(&stored)).map(Box::new))
        })
    }

    fn evidence<'a>(&'a self, key: &'a CallKey) -> BoxFuture<'a, io::Result<Vec<Evidence>>> {
        match &self.inspector {
            Some(inspector) => inspector.inspect(key),
            None => Box::pin(async { Ok(Vec::new()) }),
        }
    }

    fn deeds<'a>(&'a self, session: &'a SessionId) -> BoxFuture<'a, io::Result<Vec<Deed>>> {
        Box::pin(async move {
            let of_session =
                CallFilter { session: Some(session.clone()), most: MOST_DEEDS, ..CallFilter::default() };
            let calls = self.book.calls(of_session).await?;
            let inputs = EventFilter {
                session: Some(session.clone()),
                kinds: vec![EventKind::INPUT],
                ..EventFilter::default()
            };
            let inputs = self.book.events(inputs).await?;
            let inputs: HashMap<&CallKey, &Value> =
                inputs.iter().filter_map(|event| Some((event.key.as_ref()?, &event.body))).collect();
            Ok(calls.into_iter().rev().filter_map(|row| deed(&inputs, row)).collect())
        })
    }

    fn started<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<Start>> {
        Box::pin(self.start(start))
    }

    fn refused<'a>(&'a self, start: Starting<'a>) -> BoxFuture<'a, io::Result<()>> {
        let entry = Entry::Refused(Box::new(claim(&start)));
        Box::pin(async move { Ok(self.book.append(vec![entry], Durability::Queued).await?) })
    }

    fn finished<'a>(&'a self, end: Ending<'a>) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(self.finish(end))
    }

    fn noted<'a>(&'a self, noted: Noted<'a>) -> BoxFuture<'a, io::Result<()>> {
        let entry = entry(noted);
        Box::pin(async move { Ok(self.book.append(vec![entry], Durability::Queued).await?) })
    }
}

/// What a call did, as far as its row tells. Those that never ran, or only looked at files, did nothing.
fn deed(inputs: &HashMap<&CallKey, &Value>, row: CallRow) -> Option<Deed> {
    let input = inputs.get(&row.key);
    let line = input.and_then(|input| input.get("command")?.as_str());
    let is_left_running = input.and_then(|input| input.get("background")?.as_bool()).unwrap_or(false);
    let has_ended = matches!(row.state, CallState::Finished | CallState::CutOff);
    let writes: Vec<PathBuf> =
        row.paths.iter().filter(|path| path.writes).map(|path| unshown(&path.path)).collect();
    let runs: Vec<Vec<String>> = line.and_then(command).into_iter().collect();
    let is_good = row.state == CallState::Finished && row.fault.is_none();
    let changes = row.class.as_deref() != Some("read_only");
    if !has_ended || (!changes && runs.is_empty() && !Deed::is_planning(&row.tool)) {
        return None;
    }
    Some(Deed {
        call: row.call,
        tool: row.tool,
        is_unknown: changes && writes.is_empty() && runs.is_empty(),
        writes,
        commands: runs,
        line: line.map(str::to_owned),
        is_good,
        // A line that ended with another code has a fault; one that was left running has not ended.
        exit_code: (line.is_some() && is_good && !is_left_running).then_some(0),
    })
}

/// The words of a command line that is one plain command. What a shell would read more into proves nothing.
fn command(line: &str) -> Option<Vec<String>> {
    let is_plain = !line.contains(|char: char| "`$&|;<>()[]{}*?!#~\\\"'\n".contains(char));
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    (is_plain && !words.is_empty()).then_some(words)
}

fn claim(start: &Starting<'_>) -> Claim {
    let facts = &start.facts;
    Claim {
        key: start.key.clone(),
        turn: start.turn,
        at: Instant::now(),
        tool: facts.tool.to_owned(),
        description: line(start.description),
        verdict: facts.decision.verdict.to_string(),
        class: facts.effects.class().to_string(),
        repeatable: start.repeatable,
        was_dropped: start.was_dropped,
        sealed: false,
        paths: paths(start),
        input: input(facts.input),
        // What cannot be written as JSON is not there: it is text and numbers.
        decision: serde_json::to_value(&facts.decision.trace).unwrap_or_default(),
        approval: approval(start.word),
    }
}

fn paths(start: &Starting<'_>) -> Vec<PathRow> {
    let effects = start.facts.effects.paths().iter().take(MOST_PATHS);
    let mut rows: Vec<PathRow> = effects
        .map(|effect| PathRow {
            path: shown(effect.place()).to_string(),
            writes: effect.access == Access::Write,
        })
        .collect();
    // One row for each path; it is written if it is written at all.
    rows.sort_by(|one, other| one.path.cmp(&other.path).then(other.writes.cmp(&one.writes)));
    rows.dedup_by(|later, first| later.path == first.path);
    rows
}

fn input(input: &Value) -> Value {
    match serde_json::to_string(input) {
        Ok(text) if text.len() > LARGEST_INPUT => json!({ "not_kept": format!("{} bytes", text.len()) }),
        _ => input.clone(),
    }
}

/// One line, not longer than a few others.
fn line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.floor_char_boundary(LONGEST_LINE) {
        end if end < line.len() => format!("{}…", &line[..end]),
        _ => line,
    }
}

/// Whoever was asked besides the rules, and what they said.
fn approval(word: Word<'_>) -> Option<Value> {
    let by = |by: &str, said: &str| Some(json!({ "by": by, "said": said }));
    match word {
        Word::Always(rules) => Some(json!({ "by": "person", "said": "always", "rules": rules })),
        Word::Yes(Warrant::Once) => by("person", "once"),
        Word::Yes(Warrant::Session) => by("person", "session"),
        Word::Yes(Warrant::Always) => by("person", "always"),
        Word::Yes(Warrant::Unsandboxed) => by("person", "once, outside the sandbox"),
        Word::Yes(Warrant::Granted) => by("person", "session, before"),
        Word::Yes(Warrant::Hook) => by("hook", "yes"),
        Word::Yes(Warrant::Classifier) => by("classifier", "yes"),
        Word::No(Some(Refusal::Person)) => by("person", "no"),
        Word::No(Some(Refusal::Hook)) => by("hook", "no"),
        Word::No(Some(Refusal::Classifier)) => by("classifier", "no"),
        Word::No(Some(Refusal::NobodyThere)) => by("nobody", "nothing"),
        Word::Yes(Warrant::Policy) | Word::No(_) => None,
    }
}

/// The end of a call, and what it tells besides.
fn outcome(end: &Ending<'_>) -> Vec<Entry> {
    let (at, meta) = (Instant::now(), &end.result.meta);
    let event = |kind: EventKind, body: Value| {
        let (session, key) = (end.key.session.clone(), Some(end.key.clone()));
        Entry::Event(EventRow { session, key, turn: end.turn, at, kind, body })
    };
    let fault = end.result.fault.and_then(|fault| serde_json::to_value(fault.kind).ok());
    let finished = Entry::Finished(Box::new(Outcome {
        key: end.key.clone(),
        turn: end.turn,
        at,
        tool: line(&end.result.tool),
        ran: end.ran,
        duration_us: meta.duration_us,
        fault: fault.and_then(|kind| kind.as_str().map(str::to_owned)),
        result: store(end.result, end.changes),
    }));
    let hooks = meta.hooks.iter().map(|said| event(EventKind::HOOK, json!(said)));
    let spill = meta.truncated.as_ref().map(|cut| event(EventKind::SPILL, spill(cut)));
    std::iter::once(finished).chain(hooks).chain(spill).collect()
}

/// What was cut, and where the whole is.
fn spill(cut: &Truncation) -> Value {
    let path = cut.path.as_deref().map(|path| shown(path).to_string());
    let mut body = json!({ "bytes": cut.bytes, "shown": cut.shown, "path": path });
    if let Some(handle) = &cut.handle {
        body["handle"] = handle.as_str().into();
    }
    body
}

fn entry(noted: Noted<'_>) -> Entry {
    let (session, turn, at) = (noted.session.clone(), noted.turn, Instant::now());
    let (kind, body) = match noted.note {
        Note::Turn { workspace, mode, caller } => {
            let (workspace, caller) = (shown(workspace).to_string(), json!(caller));
            return Entry::Turn(Turn { session, turn, at, workspace, mode: mode.to_string(), caller });
        }
        Note::TurnEnded { .. } => return Entry::TurnEnded { session, turn, at },
        Note::Retry { attempt, delay, reason } => {
            let delay = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            (EventKind::RETRY, json!({ "attempt": attempt, "delay_ms": delay, "reason": reason }))
        }
        Note::Delegated { parent, call, agent } => {
            (EventKind::DELEGATED, json!({ "parent": parent, "call": call, "agent": agent }))
        }
        Note::Permission { description, effects, decision, word } => {
            let trace = serde_json::to_value(&decision.trace).unwrap_or_default();
            let answer = approval(word);
            let effects = serde_json::to_value(effects).unwrap_or_default();
            let body = json!({
                "description": line(description),
                "effects": effects,
                "decision": trace,
                "answer": answer,
            });
            (EventKind::PERMISSION, body)
        }
        Note::Shortened(cut) => (EventKind::SPILL, spill(cut)),
        Note::Recalled => (EventKind::RECALLED, Value::Null),
        Note::Unsandboxed(why) => (EventKind::UNSANDBOXED, json!({ "why": why })),
        Note::Unrecorded(why) => (EventKind::UNRECORDED, json!({ "why": why })),
    };
    Entry::Event(EventRow { session, key: noted.call.cloned(), turn, at, kind, body })
}
