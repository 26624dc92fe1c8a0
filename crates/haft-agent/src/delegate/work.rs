//! One sub-agent at work: in a task of its own, beside whoever waits for it.
//!
//! Whoever has the [`Work`] owns it: dropping it ends the sub-agent. It holds nothing of the parent's session, so that it can
//! be one of that session's tasks.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use haft_engine::turn::Interrupt;
use haft_tool::{BoxFuture, Reply, SessionId, Task, TaskNews, TaskState};
use tokio::{
    sync::{Semaphore, watch},
    task::JoinHandle,
};

use super::report::{Deeds, Report};
use crate::{Agent, AgentEvent};

/// How long a sub-agent that was stopped may take before calls are stopped that ask to be waited for.
const GRACE: Duration = Duration::from_secs(5);

/// So much of what it says on the way is at hand.
const MOST_SAID: usize = 64 * 1024;

/// What a sub-agent is to do, and with what.
pub(super) struct Job {
    pub(super) agent: Agent,
    pub(super) prompt: String,
    /// What kind of agent.
    pub(super) kind: String,
    /// What it is for, in one line.
    pub(super) line: String,
    pub(super) time: Duration,
    /// Where it waits until not too many are at work.
    pub(super) room: Arc<Semaphore>,
}

pub(super) struct Work {
    shared: Arc<Shared>,
    interrupt: Interrupt,
    running: JoinHandle<()>,
}

/// What the sub-agent says, and those hear who wait for it.
struct Shared {
    session: SessionId,
    kind: String,
    line: String,
    said: Mutex<Said>,
    /// Counts what happens.
    changes: watch::Sender<u64>,
}

#[derive(Default)]
struct Said {
    /// What it does now.
    now: String,
    /// A line for each thing that it did, then its answer.
    log: String,
    /// Bytes of that which are not at hand any more.
    dropped: u64,
    report: Option<Report>,
}

impl Work {
    /// Begins. Needs a tokio runtime.
    pub(super) fn start(job: Job) -> Work {
        let shared = Arc::new(Shared {
            session: job.agent.session().id().clone(),
            kind: job.kind.clone(),
            line: job.line.clone(),
            said: Mutex::default(),
            changes: watch::Sender::new(0),
        });
        let interrupt = Interrupt::default();
        let running = tokio::spawn(run(job, shared.clone(), interrupt.clone()));
        Work { shared, interrupt, running }
    }

    /// Waits for the end, and tells each thing that it does meanwhile.
    pub(super) async fn watched(&self, mut tell: impl FnMut(String)) -> Reply {
        let mut changes = self.shared.changes.subscribe();
        loop {
            let (now, reply) = self.shared.look();
            if let Some(reply) = reply {
                return reply;
            }
            if !now.is_empty() {
                tell(now);
            }
            // The sender is ours, so it is there.
            let _ = changes.changed().await;
        }
    }

    /// Stops it, and waits a moment for what it has to say to that.
    pub(super) async fn stopped(&self, patience: Duration) -> Option<Reply> {
        self.interrupt.trigger();
        tokio::time::timeout(patience, self.watched(|_| ())).await.ok()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Twice: also what asks to be waited for. Nobody is there any more to wait.
        self.interrupt.trigger();
        self.interrupt.trigger();
        self.running.abort();
    }
}

impl Task for Work {
    fn describe(&self) -> String {
        format!("{}: {}", self.shared.kind, self.shared.line)
    }

    fn state(&self) -> TaskState {
        match &self.shared.said().report {
            None => TaskState::Running,
            Some(report) if report.is_answered() => TaskState::Done(report.line()),
            Some(report) => TaskState::Failed(report.line()),
        }
    }

    fn since(&self, from: u64) -> TaskNews {
        let said = self.shared.said();
        let start = from.max(said.dropped);
        let end = said.dropped + said.log.len() as u64;
        let at = usize::try_from(start.min(end) - said.dropped).unwrap_or_default();
        let text = said.log.get(at..).unwrap_or_default().to_owned();
        TaskNews { text, skipped: start - from, next: end, whole: None }
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut changes = self.shared.changes.subscribe();
        Box::pin(async move { drop(changes.changed().await) })
    }

    fn stop(&self) {
        self.interrupt.trigger();
    }
}

impl Shared {
    fn said(&self) -> MutexGuard<'_, Said> {
        // Nothing is left half done in here.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look(&self) -> (String, Option<Reply>) {
        let said = self.said();
        (said.now.clone(), said.report.as_ref().map(|report| report.reply(&self.kind, &self.session)))
    }

    /// It does something now. What is worth a line stays.
    fn does(&self, now: String, stays: bool) {
        {
            let mut said = self.said();
            if stays {
                said.add(&now, 0);
            }
            said.now = now;
        }
        self.changes.send_modify(|count| *count += 1);
    }

    fn end(&self, report: Report) {
        {
            let mut said = self.said();
            let words = report.words();
            said.add(&words, words.len());
            said.report = Some(report);
        }
        self.changes.send_modify(|count| *count += 1);
    }
}

impl Said {
    /// Adds lines, and lets go of the oldest where there are too many. So many bytes of these stay in any case.
    fn add(&mut self, lines: &str, staying: usize) {
        self.log.push_str(lines);
        self.log.push('\n');
        let too_much = self.log.len().saturating_sub(MOST_SAID + staying);
        if too_much > 0 {
            let cut = self.log.ceil_char_boundary(too_much);
            self.log.drain(..cut);
            self.dropped += cut as u64;
        }
    }
}

async fn run(job: Job, shared: Arc<Shared>, interrupt: Interrupt) {
    let Job { mut agent, prompt, time, room, .. } = job;
    if room.available_permits() == 0 {
        shared.does("waits until another sub-agent has ended".to_owned(), false);
    }
    let place = tokio::select! {
        biased;
        () = interrupt.triggered() => None,
        // It is never closed.
        place = room.acquire_owned() => place.ok(),
    };
    let Some(_held) = place else { return shared.end(Report::never_began()) };
    let session = agent.session().clone();
    let began = Instant::now();
    let mut deeds = Deeds::default();
    let (outcome, is_late) = {
        let mut on = |event: AgentEvent| hear(&event, &mut deeds, &shared);
        let run = agent.run(prompt, &mut on, &interrupt);
        tokio::pin!(run);
        tokio::select! {
            outcome = &mut run => (outcome, false),
            () = tokio::time::sleep(time) => {
                interrupt.trigger();
                (ended(run, &interrupt).await, true)
            }
            () = interrupt.triggered() => (ended(run, &interrupt).await, false),
        }
    };
    session.end().await;
    let report = Report::new(outcome, deeds, began.elapsed());
    shared.end(if is_late { report.too_late(time) } else { report });
}

/// Waits for a run that was stopped; after a while, the hard way.
async fn ended<T>(mut run: std::pin::Pin<&mut impl Future<Output = T>>, interrupt: &Interrupt) -> T {
    tokio::select! {
        outcome = &mut run => outcome,
        () = tokio::time::sleep(GRACE) => {
            interrupt.trigger();
            run.await
        }
    }
}

fn hear(event: &AgentEvent, deeds: &mut Deeds, shared: &Shared) {
    match event {
        AgentEvent::Tool(event) => {
            if let Some(line) = deeds.note(event) {
                shared.does(line, true);
            }
        }
        AgentEvent::Asking { turn } => shared.does(format!("turn {turn}: its model answers"), false),
        AgentEvent::Retrying { attempt, error, .. } => {
            shared.does(format!("asks again (attempt {attempt}): {}", error.message), true);
        }
        AgentEvent::Compacting => shared.does("makes its conversation shorter".to_owned(), false),
        AgentEvent::Notice(words) => shared.does(words.clone(), true),
        _ => {}
    }
}
