//! What somebody who watches a turn sees.
//!
//! Events are for screens and streams; they may be dropped by whoever does not look. What must last goes to the
//! [`Journal`](crate::session::Journal).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use haft_tool::{CallId, Effects, Progress};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{
    policy::{Decision, Said},
    result::ToolResult,
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
    /// Something goes on after its call. The session knows what becomes of it ([`Session::tasks`](crate::Session::tasks)).
    TaskStarted {
        /// By which id it is known.
        id: String,
        /// What it is, in one line.
        description: String,
    },
    /// It has its result. The budget of the turn may still shorten what the model gets of it.
    Finished(Arc<ToolResult>),
}

/// Progress that nobody has taken yet, at most. More of it is dropped: it is worth nothing when it is old.
const MOST_PROGRESS: usize = 256;

/// Where events go: to a listener, or nowhere at no cost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events(Option<Arc<Listener>>);

#[derive(Debug)]
struct Listener {
    events: mpsc::UnboundedSender<Event>,
    /// Progress that was sent and not taken.
    progress: Arc<AtomicUsize>,
}

/// The listener's end.
#[derive(Debug)]
pub(crate) struct EventStream {
    events: mpsc::UnboundedReceiver<Event>,
    progress: Arc<AtomicUsize>,
}

impl Events {
    pub(crate) fn channel() -> (Events, EventStream) {
        let (tx, rx) = mpsc::unbounded_channel();
        let progress = Arc::new(AtomicUsize::new(0));
        let listener = Listener { events: tx, progress: progress.clone() };
        (Events(Some(Arc::new(listener))), EventStream { events: rx, progress })
    }

    pub(crate) fn are_watched(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn send(&self, event: impl FnOnce() -> Event) {
        if let Some(listener) = &self.0 {
            // A listener that has gone away misses nothing.
            let _ = listener.events.send(event());
        }
    }

    pub(crate) fn progress(&self, call: &CallId, progress: Progress) {
        let Some(listener) = &self.0 else { return };
        if listener.progress.load(Ordering::Relaxed) < MOST_PROGRESS {
            listener.progress.fetch_add(1, Ordering::Relaxed);
            self.send(|| Event::Progress { call: call.clone(), progress });
        }
    }
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
