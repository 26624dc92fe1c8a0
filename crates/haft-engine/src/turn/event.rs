//! What somebody who watches a turn sees, and what observers of the engine hear.
//!
//! Events are for screens, streams and measurements; they may be dropped by whoever does not look. What must last goes to
//! the [`Journal`](crate::session::Journal).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use haft_tool::{CallId, Effects, Progress, TaskState};
use serde_json::Value;
use tokio::sync::mpsc;

use super::TurnObserver;
use crate::{
    policy::{Decision, Said, Warrant},
    result::ToolResult,
    session::Session,
};

/// Something that happened to a call.
#[derive(Debug, Clone)]
pub enum Event {
    /// It was understood and waits for its turn.
    Queued {
        /// Which call.
        call: CallId,
        /// The tool's name in the pool.
        tool: String,
        /// One line for a person.
        description: String,
    },
    /// It was permitted and starts.
    Started {
        /// Which call.
        call: CallId,
        /// The tool's name in the pool.
        tool: String,
        /// The input, with absolute paths.
        input: Arc<Value>,
        /// What it is going to do.
        effects: Arc<Effects>,
        /// Why it may.
        decision: Arc<Decision>,
    },
    /// The policy, or whoever was asked, said no.
    Refused {
        /// Which call.
        call: CallId,
        /// The tool's name in the pool.
        tool: String,
        /// Why it may not.
        decision: Arc<Decision>,
    },
    /// It asked, while it ran, for more than it declared, and this is the answer.
    PermissionRequested {
        /// Which call.
        call: CallId,
        /// The tool's name in the pool.
        tool: String,
        /// What it asked for, in one line.
        description: String,
        /// What it would do in addition.
        effects: Arc<Effects>,
        /// What the rules say of that.
        decision: Arc<Decision>,
        /// On whose word it may; `None`: it was refused.
        warrant: Option<Warrant>,
    },
    /// A hook said something about it.
    HookSaid {
        /// Which call.
        call: CallId,
        /// What, and which hook.
        said: Arc<Said>,
    },
    /// It has something to say.
    Progress {
        /// Which call.
        call: CallId,
        /// What it says.
        progress: Progress,
    },
    /// It failed in passing and is tried again.
    Retrying {
        /// Which call.
        call: CallId,
        /// Which attempt comes next, counted from 1.
        attempt: u32,
        /// After how long.
        delay: Duration,
        /// What went wrong.
        reason: String,
    },
    /// It runs although the journal could not take it, because the settings say so: it cannot be looked up, recalled or
    /// taken back.
    Unrecorded {
        /// Which call.
        call: CallId,
        /// Why not.
        why: String,
    },
    /// Something goes on after its call. The session knows what becomes of it ([`Session::tasks`](crate::Session::tasks)).
    TaskStarted {
        /// By which id it is known.
        id: String,
        /// What it is, in one line.
        description: String,
    },
    /// What went on has ended. There may be no turn then: whoever asks the model tells of it before the next request
    /// ([`Session::task_reports`](crate::Session::task_reports)).
    TaskEnded {
        /// By which id it is known.
        id: String,
        /// What it was, in one line.
        description: String,
        /// How it ended.
        state: TaskState,
    },
    /// It has its result. The budget of the turn may still shorten what the model gets of it.
    Finished(Arc<ToolResult>),
}

/// Progress that nobody has taken yet, at most. More of it is dropped: it is worth nothing when it is old.
const MOST_PROGRESS: usize = 256;

/// Where events go: to whoever watches the turn, to the observers of its engine, or nowhere at no cost.
#[derive(Clone, Default)]
pub(crate) struct Events(Option<Arc<Listeners>>);

struct Listeners {
    watcher: Option<Watcher>,
    observers: Vec<Box<dyn TurnObserver>>,
}

struct Watcher {
    events: mpsc::UnboundedSender<Event>,
    /// Progress that was sent and not taken.
    progress: Arc<AtomicUsize>,
}

/// The watcher's end.
#[derive(Debug)]
pub(crate) struct EventStream {
    events: mpsc::UnboundedReceiver<Event>,
    progress: Arc<AtomicUsize>,
}

impl Events {
    /// For a turn that nobody watches but whoever observes its engine. Asked where the turn begins: an observer may find
    /// out there on whose behalf.
    pub(crate) fn of(session: &Session) -> Events {
        let observers = observers(session);
        let is_heard = !observers.is_empty();
        Events(is_heard.then(|| Arc::new(Listeners { watcher: None, observers })))
    }

    /// For a turn that somebody watches.
    pub(crate) fn channel(session: &Session) -> (Events, EventStream) {
        let (tx, rx) = mpsc::unbounded_channel();
        let progress = Arc::new(AtomicUsize::new(0));
        let watcher = Some(Watcher { events: tx, progress: progress.clone() });
        let listeners = Listeners { watcher, observers: observers(session) };
        (Events(Some(Arc::new(listeners))), EventStream { events: rx, progress })
    }

    /// Whether somebody looks: what is only for the eye is made for nobody else.
    pub(crate) fn are_watched(&self) -> bool {
        self.0.as_ref().is_some_and(|listeners| listeners.watcher.is_some())
    }

    pub(crate) fn send(&self, event: impl FnOnce() -> Event) {
        let Some(listeners) = &self.0 else { return };
        let event = event();
        listeners
            .observers
            .iter()
            .for_each(|observer| contained(|| observer.event(&event)).unwrap_or_default());
        if let Some(watcher) = &listeners.watcher {
            // A watcher that has gone away misses nothing.
            let _ = watcher.events.send(event);
        }
    }

    /// Progress is for the eye: observers do not hear of it.
    pub(crate) fn progress(&self, call: &CallId, progress: Progress) {
        let watcher = self.0.as_ref().and_then(|listeners| listeners.watcher.as_ref());
        let Some(watcher) = watcher else { return };
        if watcher.progress.load(Ordering::Relaxed) < MOST_PROGRESS {
            watcher.progress.fetch_add(1, Ordering::Relaxed);
            let _ = watcher.events.send(Event::Progress { call: call.clone(), progress });
        }
    }

    /// The turn is over, and these are its results as the model gets them.
    pub(crate) fn ended(&self, results: &[ToolResult]) {
        if let Some(listeners) = &self.0 {
            listeners
                .observers
                .iter()
                .for_each(|observer| contained(|| observer.ended(results)).unwrap_or_default());
        }
    }

    /// By which name a call is known in traces, if somebody traces it.
    pub(crate) fn traceparent(&self, call: &CallId) -> Option<String> {
        self.0
            .as_ref()?
            .observers
            .iter()
            .find_map(|observer| contained(|| observer.traceparent(call)).flatten())
    }
}

fn observers(session: &Session) -> Vec<Box<dyn TurnObserver>> {
    let observers = session.engine().observers();
    if observers.is_empty() {
        return Vec::new();
    }
    let facts = session.facts();
    observers.iter().filter_map(|observer| contained(|| observer.turn(&facts)).flatten()).collect()
}

/// An observer that breaks has heard nothing, and no call suffers from it.
fn contained<T>(observe: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(observe)).ok()
}

impl EventStream {
    pub(crate) async fn next(&mut self) -> Option<Event> {
        let event = self.events.recv().await?;
        Some(self.taken(event))
    }

    /// The next, if it has happened already.
    pub(crate) fn next_that_is_there(&mut self) -> Option<Event> {
        let event = self.events.try_recv().ok()?;
        Some(self.taken(event))
    }

    fn taken(&self, event: Event) -> Event {
        if matches!(event, Event::Progress { .. }) {
            self.progress.fetch_sub(1, Ordering::Relaxed);
        }
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, SessionOptions};

    #[test]
    fn where_nobody_listens_no_event_is_made() {
        let engine = Engine::builder().build().expect("an engine without tools");
        let session = engine.session(SessionOptions::at(std::env::temp_dir())).expect("a session");
        let events = Events::of(&session);
        assert!(events.0.is_none() && !events.are_watched());
        events.send(|| unreachable!("nobody listens"));
        events.ended(&[]);
        assert_eq!(events.traceparent(&"a".into()), None);
    }
}
