//! The thread that listens to a process.
//!
//! It waits for whatever comes first: output, the end, an order, a time that has come. Ending a process is asking it,
//! and all that it started, to go (`SIGTERM`), and after a while not asking any more (`SIGKILL`).

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    os::fd::{AsFd, OwnedFd},
    process::Child,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, waitid},
};

use super::{
    Ended, Fence, Status, Stopped,
    bash::Whereabouts,
    line::Line,
    process::Shared,
    start::{Started, nonblocking},
    tree::Tree,
};

/// So much is read before anything else is looked at.
const GULP: usize = 64 * 1024;

/// How long what a process leaves behind may take to end by itself: `>(tee log)` still writes when the shell has gone.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How long the kernel may take to end what was killed, and how often it is killed.
const BURIAL: Duration = Duration::from_millis(200);
const MOST_BURIALS: usize = 5;

/// How often one looks whether something is gone.
const LOOK: Duration = Duration::from_millis(5);

/// What was agreed with the owner.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) began: Instant,
    pub(super) grace: Duration,
}

/// Where something was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    /// Both together, or stdout.
    Output,
    Errors,
}

pub(super) struct Listener {
    child: Child,
    /// Readable when the child has ended.
    end: OwnedFd,
    /// What it writes; without those of which all has come.
    outputs: Vec<(Stream, File)>,
    tree: Tree,
    whereabouts: Option<Whereabouts>,
    line: Line,
    /// How often it has been interrupted.
    interrupts: u64,
    fence: Arc<dyn Fence>,
    /// Held for as long as the process may run.
    _lifeline: Option<OwnedFd>,
    shared: Arc<Shared>,
    terms: Terms,
    stopped: Option<Stopped>,
    phase: Phase,
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// It was asked to go, and has until then.
    Asked(Instant),
    Killed,
}

impl Listener {
    pub(super) fn new(started: Started, shared: Arc<Shared>, terms: Terms) -> io::Result<Listener> {
        let Started { child, output, errors, tree, whereabouts, line, fence, ends: _, lifeline } = started;
        shared.has_fence(&fence);
        let mut outputs = vec![(Stream::Output, nonblocking(output)?)];
        if let Some(errors) = errors {
            outputs.push((Stream::Errors, nonblocking(errors)?));
        }
        let pid = Pid::from_raw(child.id() as i32).ok_or(ErrorKind::NotFound)?;
        Ok(Listener {
            end: pidfd_open(pid, PidfdFlags::empty())?,
            outputs,
            child,
            tree,
            whereabouts,
            line,
            interrupts: 0,
            fence,
            _lifeline: lifeline,
            shared,
            terms,
            stopped: None,
            phase: Phase::Running,
            buffer: vec![0; GULP],
        })
    }

    /// Listens until the process and all that it started have ended.
    pub(super) fn listen(mut self) {
        while !self.has_ended() {
            self.attend();
            self.wait(self.next_time());
            self.read();
            self.converse();
        }
        let left_running = self.clear_up();
        self.drain();
        self.finish(left_running);
    }

    /// Whether the first process has ended. It is not waited for yet: its number stays its own.
    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::PidFd(self.end.as_fd()), options), Ok(None))
    }

    /// Does what it was told, and what the time says.
    fn attend(&mut self) {
        let orders = self.shared.orders();
        let _ = rustix::io::read(self.shared.wake(), &mut [0u8; 8]);
        if orders.interrupts > self.interrupts {
            self.interrupts = orders.interrupts;
            self.tree.interrupt(self.fence.ends_all());
        }
        if orders.stop {
            self.stop(Stopped::Asked);
        }
        if orders.deadline().is_some_and(|until| until <= Instant::now()) {
            self.stop(Stopped::TimedOut);
        }
        match self.phase {
            Phase::Asked(until) if until <= Instant::now() => self.phase = Phase::Killed,
            _ => {}
        }
        if self.phase == Phase::Killed {
            // Again and again: what forks all the time has made more since the last look.
            self.tree.signal(Signal::KILL);
        }
    }

    /// The first reason counts, and nobody is asked twice.
    fn stop(&mut self, why: Stopped) {
        if self.phase == Phase::Running {
            self.stopped = Some(why);
            self.phase = Phase::Asked(Instant::now() + self.terms.grace);
            self.tree.signal(Signal::TERM);
        }
    }

    /// When something is to be done even if nothing happens.
    fn next_time(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => self.shared.orders().deadline(),
            Phase::Asked(until) => Some(until),
            // What was killed and does not go is looked for again.
            Phase::Killed => Some(Instant::now() + BURIAL),
        }
    }

    fn wait(&self, until: Option<Instant>) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        // A time that is too long for the kernel is as good as none.
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let mut watched =
            vec![PollFd::new(&self.end, PollFlags::IN), PollFd::new(self.shared.wake(), PollFlags::IN)];
        watched.extend(self.outputs.iter().map(|(_, output)| PollFd::new(output, PollFlags::IN)));
        watched.extend(self.line.watched(self.shared.has_words()));
        // Interrupted or not: whoever called looks at everything.
        let _ = poll(&mut watched, left.as_ref());
    }

    /// Reads what is there, at most a gulp of each stream.
    fn read(&mut self) {
        let mut fits = true;
        let (shared, buffer) = (&self.shared, &mut self.buffer);
        self.outputs.retain_mut(|(stream, output)| match output.read(buffer) {
            Ok(0) => false,
            Ok(count) => {
                fits &= shared.wrote(*stream, &buffer[..count]);
                true
            }
            // A terminal that nobody holds any more says so by another error.
            Err(err) => matches!(err.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        });
        if !fits {
            self.stop(Stopped::WroteTooMuch);
        }
    }

    /// Says what is to be said, and hears what was said. Whatever the process wrote before it spoke comes before its words.
    fn converse(&mut self) {
        self.shared.say(|words| self.line.say(words));
        let mut buffer = [0; 4096];
        let words = self.line.hear(&mut buffer);
        if !words.is_empty() {
            self.drain();
            self.shared.heard(words);
        }
    }

    /// Ends what the process left running, and says how many that were.
    fn clear_up(&mut self) -> usize {
        if self.fence.ends_all() || self.others_go(LAST_WORDS) {
            return 0;
        }
        let left = self.tree.others().len();
        let grace = match self.phase {
            Phase::Running => {
                self.tree.signal(Signal::TERM);
                self.terms.grace
            }
            Phase::Asked(until) => until.saturating_duration_since(Instant::now()),
            Phase::Killed => Duration::ZERO,
        };
        if !self.others_go(grace) {
            self.bury();
        }
        if self.stopped.is_some() { 0 } else { left }
    }

    /// Kills what is left, more than once: what forks all the time has made more since the last look.
    fn bury(&mut self) {
        for _ in 0..MOST_BURIALS {
            self.tree.signal(Signal::KILL);
            if self.others_go(BURIAL) {
                return;
            }
        }
    }

    /// Waits until nothing else of the tree runs; says no if it still does after this time.
    fn others_go(&mut self, within: Duration) -> bool {
        let until = Instant::now() + within;
        loop {
            self.drain();
            if self.tree.others().is_empty() {
                return true;
            }
            if until <= Instant::now() {
                return false;
            }
            thread::sleep(LOOK);
        }
    }

    /// Reads all that is there. What is left unread when everybody has gone was written by nobody of ours.
    fn drain(&mut self) {
        for _ in 0..MOST_GULPS {
            let before = self.shared.written();
            self.read();
            if self.outputs.is_empty() || self.shared.written() == before {
                return;
            }
        }
    }

    fn finish(mut self, left_running: usize) {
        self.outputs.clear();
        let protected_changes = self.fence.protected_changes();
        let (facts, blocked) =
            self.shared.judged(|output| (self.fence.facts(output), self.fence.blocked(output)));
        let status = self.child.wait().map_or(Status::Unknown, Status::from);
        self.shared.ended(Ended {
            status,
            stopped: self.fence.exceeded().map(Stopped::OverLimit).or(self.stopped),
            directory: self.whereabouts.and_then(Whereabouts::told),
            left_running,
            took: self.terms.began.elapsed(),
            facts,
            blocked,
            protected_changes,
        });
    }
}

/// More than a pipe holds: what comes after that is being written now.
const MOST_GULPS: usize = 64;
