//! Running calls, watched, until they end or Ctrl-C.
//!
//! The first Ctrl-C stops the turn: every call still gets a result. The second leaves at once. Whoever ends haft otherwise (`kill`,
//! a terminal that is closed) has said the same.

use std::{fs, future::poll_fn, task::Poll, time::Duration};

use anyhow::Context;
use haft_engine::{
    Call, Session,
    result::ToolResult,
    turn::{Event, LiveTurn, Views},
};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::Receiver,
};

use crate::{
    draw::{self, plain},
    exit::{self, Exit},
    hooks,
    out::Talk,
};

/// A runtime on this thread. Calls wait for each other and for the disk, not for more threads.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_time().enable_io().build().context("no runtime could be made")
}

/// Says that a start, or a part of it, is over: what only that needed of the program need not stay in memory.
pub(crate) fn has_started() {
    // Where it is not to be had, more is mapped, and nothing else is wrong.
    let _ = haft_shell::let_go_of_code();
}

/// What became of a turn.
pub(crate) struct Watched {
    pub(crate) results: Vec<ToolResult>,
    pub(crate) interrupted: bool,
}

/// Where the calls of a turn come from.
pub(crate) enum Calls {
    /// All are there.
    All(Vec<Call>),
    /// More may come, until the channel is closed.
    Coming(Receiver<anyhow::Result<Call>>),
}

/// Runs calls to their end and hands over every event as it happens.
pub(crate) async fn run(
    session: &Session,
    talk: Talk,
    calls: Calls,
    mut on_event: impl FnMut(&Event) -> anyhow::Result<()>,
) -> anyhow::Result<Watched> {
    let mut signals = Signals::listen()?;
    let greeting = unless_pressed(&mut signals, hooks::start(session, talk)).await;
    let mut turn = session.live_turn();
    let mut coming = begin(&mut turn, calls);
    let mut interrupted = false;
    loop {
        tokio::select! {
            biased;
            () = signals.come() => {
                if interrupted {
                    exit::now(Exit::Interrupted);
                }
                interrupted = true;
                coming = None;
                turn.interrupt();
            }
            event = turn.next() => match event {
                Some(event) => on_event(&event)?,
                None => break,
            },
            call = next(&mut coming), if coming.is_some() => match call {
                // A turn that takes no more calls has been interrupted, which we know or will see.
                Some(call) => drop(turn.push(call?)),
                None => {
                    coming = None;
                    turn.close();
                }
            }
        }
    }
    let mut results = turn.results().await;
    hooks::greet(greeting, &mut results);
    unless_pressed(&mut signals, hooks::end(session, talk)).await;
    // This process goes, and nobody could look at what goes on after it.
    session.end().await;
    Ok(Watched { results, interrupted })
}

fn begin(turn: &mut LiveTurn, calls: Calls) -> Option<Receiver<anyhow::Result<Call>>> {
    match calls {
        Calls::All(calls) => {
            calls.into_iter().for_each(|call| drop(turn.push(call)));
            turn.close();
            None
        }
        Calls::Coming(calls) => Some(calls),
    }
}

async fn next(coming: &mut Option<Receiver<anyhow::Result<Call>>>) -> Option<anyhow::Result<Call>> {
    coming.as_mut()?.recv().await
}

/// What is no call cannot be stopped gently: Ctrl-C leaves at once.
pub(crate) async fn unless_pressed<T>(signals: &mut Signals, work: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        () = signals.come() => exit::now(Exit::Interrupted),
        done = work => done,
    }
}

/// The signals by which people and systems say that it is enough.
pub(crate) struct Signals(Vec<Signal>);

impl Signals {
    /// Listens from now on. What is ignored, as `nohup` has it, stays ignored; but for Ctrl-C, which is also ignored behind `&`.
    pub(crate) fn listen() -> anyhow::Result<Signals> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let others = [SignalKind::terminate(), SignalKind::hangup()];
        let others = others.into_iter().filter(|kind| !is_ignored(&status, kind.as_raw_value()));
        let listened: std::io::Result<Vec<Signal>> =
            [SignalKind::interrupt()].into_iter().chain(others).map(signal).collect();
        Ok(Signals(listened.context("Ctrl-C cannot be listened to")?))
    }

    /// Waits for the next one.
    pub(crate) async fn come(&mut self) {
        poll_fn(|cx| {
            // `None` would mean that none can come any more.
            let has_come = |signal: &mut Signal| matches!(signal.poll_recv(cx), Poll::Ready(Some(())));
            if self.0.iter_mut().any(has_come) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await
    }
}

/// Whether the system says of this process that it ignores a signal.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Tells on stderr what happens, for those who asked for more.
pub(crate) struct Teller {
    talk: Talk,
    views: Views,
}

impl Teller {
    pub(crate) fn new(talk: Talk, session: &Session) -> Teller {
        Teller { talk, views: Views::new(session) }
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        let drawn = self.talk.is_verbose().then(|| self.views.draw(event)).flatten();
        match event {
            // Its result says it all.
            Event::Queued { .. } | Event::Refused { .. } => {}
            Event::Started { call, tool, effects, decision, .. } => self.talk.detail(|| {
                let view = drawn.map_or_else(|| tool.clone(), |drawn| draw::view(&drawn.view));
                plain(format!("{call}  {view}: {effects}; {}", decision.reason()))
            }),
            Event::PermissionRequested { call, description, warrant, .. } => self.talk.detail(|| {
                let answer = if warrant.is_some() { "permitted" } else { "refused" };
                plain(format!("{call}  {answer}: {description}"))
            }),
            Event::HookSaid { said, .. } => hooks::tell(self.talk, said),
            Event::Progress { call, progress } => {
                self.talk.detail(|| plain(format!("{call}  {}", progress.label)))
            }
            Event::Retrying { call, attempt, delay, reason } => self
                .talk
                .detail(|| plain(format!("{call}  attempt {attempt} in {} ms: {reason}", delay.as_millis()))),
            // The journal itself has said so, to whoever sees stderr.
            Event::Unrecorded { call, why } => {
                self.talk.detail(|| plain(format!("{call}  not recorded: {why}")));
            }
            Event::TaskStarted { id, description } => {
                self.talk.detail(|| plain(format!("{id}  goes on: {description}")));
            }
            // Only an agent tells of it, with a notice.
            Event::TaskEnded { .. } => {}
            Event::Finished(result) => self.talk.detail(|| {
                let outcome = match &result.fault {
                    Some(fault) => format!("{:?}", fault.kind),
                    None => "done".to_owned(),
                };
                let took = Duration::from_micros(result.meta.duration_us);
                format!(
                    "{}  {outcome} in {:.1} ms",
                    plain(result.call.to_string()),
                    took.as_secs_f64() * 1000.0
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_what_the_system_says() {
        let status = "Name:\thaft\nSigIgn:\t0000000000000003\nSigCgt:\t00000000ffffffff\n";
        assert!(is_ignored(status, 1) && is_ignored(status, 2) && !is_ignored(status, 15));
        assert!(!is_ignored("", 1));
    }
}
