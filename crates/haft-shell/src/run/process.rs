//! The running thing, as its owner sees it.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak, mpsc},
    thread,
    time::{Duration, Instant},
};

use rustix::event::{EventfdFlags, eventfd};
use tokio::sync::{oneshot, watch};

use super::{
    Ended, Ends, Fence, Launch, Output, Room, Spill, Status, Stopped,
    line::note,
    listen::{Listener, Stream, Terms},
    start::start,
};
use crate::sandbox::{Gatekeeper, Loopback};

/// A process that was started. Dropping it ends it, with all that it started.
pub struct Process(Arc<Shared>);

/// What the owner and the listener share.
pub(super) struct Shared {
    state: Mutex<State>,
    /// Counts what happens: more output, an end.
    changes: watch::Sender<u64>,
    orders: Mutex<Orders>,
    /// Wakes the listener when there are orders.
    wake: OwnedFd,
    /// What is to be said on the line.
    words: Mutex<VecDeque<u8>>,
    /// Held by the listener alone, so that it goes when the process has ended.
    fence: OnceLock<Weak<dyn Fence>>,
    room: Room,
}

struct State {
    output: Output,
    /// Stderr, where it is kept by itself.
    errors: Output,
    /// What was said on the line and nobody has taken yet.
    heard: Vec<u8>,
    ended: Option<Ended>,
}

/// What the owner wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orders {
    pub(super) stop: bool,
    /// When it must be over.
    pub(super) until: Option<Instant>,
    /// How often it is to be interrupted.
    pub(super) interrupts: u64,
    /// How many pauses of the time limit there are, and since when there is one.
    pauses: usize,
    paused_at: Option<Instant>,
}

impl Orders {
    /// When it must be over, unless its time stands still.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until.filter(|_| self.pauses == 0)
    }
}

/// The time limit of a process, for callers that pause it. It does not keep the process.
#[derive(Clone)]
pub struct TimeLimit(Weak<Shared>);

impl TimeLimit {
    /// Lets the time stand still as long as the result is kept.
    #[must_use]
    pub fn pause(&self) -> TimeLimitPause {
        if let Some(shared) = self.0.upgrade() {
            shared.order(|orders| {
                orders.pauses += 1;
                orders.paused_at.get_or_insert_with(Instant::now);
            });
        }
        TimeLimitPause(self.0.clone())
    }
}

/// The time of a process stands still until this is dropped.
pub struct TimeLimitPause(Weak<Shared>);

impl Drop for TimeLimitPause {
    fn drop(&mut self) {
        let Some(shared) = self.0.upgrade() else { return };
        shared.order(|orders| {
            orders.pauses = orders.pauses.saturating_sub(1);
            if orders.pauses == 0
                && let Some(since) = orders.paused_at.take()
            {
                orders.until = orders.until.and_then(|until| until.checked_add(since.elapsed()));
            }
        });
    }
}

impl Process {
    pub(super) fn start(launch: Launch) -> io::Result<(Process, Option<Ends>)> {
        let (tell, told) = mpsc::channel();
        let process = Process::begin(launch, move |begun| drop(tell.send(begun)))?;
        let ends = told.recv().unwrap_or_else(|_| Err(broken()))?;
        Ok((process, ends))
    }

    /// The same without a thread that waits. Whoever does not wait any longer has it ended as soon as it has begun.
    pub(super) async fn started(launch: Launch) -> io::Result<Process> {
        let (tell, told) = oneshot::channel();
        let process = Process::begin(launch, move |begun| drop(tell.send(begun)))?;
        told.await.unwrap_or_else(|_| Err(broken()))?;
        Ok(process)
    }

    /// Has a thread start it and listen to it; `tell` is told when it runs, or cannot.
    fn begin(
        mut launch: Launch,
        tell: impl FnOnce(io::Result<Option<Ends>>) + Send + 'static,
    ) -> io::Result<Process> {
        let began = Instant::now();
        let output = Output::new(&launch.room, launch.spill.take());
        let errors = Output::new(&launch.room, None);
        let terms = Terms { began, grace: launch.grace };
        let until = launch.time_limit.and_then(|limit| began.checked_add(limit));
        let shared = Arc::new(Shared {
            state: Mutex::new(State { output, errors, heard: Vec::new(), ended: None }),
            changes: watch::Sender::new(0),
            orders: Mutex::new(Orders { stop: false, until, interrupts: 0, pauses: 0, paused_at: None }),
            wake: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            words: Mutex::default(),
            fence: OnceLock::new(),
            room: launch.room,
        });
        let theirs = shared.clone();
        // One thread from fork to the end: the child is killed when the thread goes that started it.
        thread::Builder::new().name("haft-run".to_owned()).spawn(move || {
            let begun = start(launch).and_then(|mut started| {
                let ends = started.ends.take();
                Ok((Listener::new(started, theirs.clone(), terms)?, ends))
            });
            match begun {
                Ok((listener, ends)) => {
                    tell(Ok(ends));
                    let farewell = Farewell(theirs);
                    listener.listen();
                    drop(farewell);
                }
                Err(err) => tell(Err(err)),
            }
        })?;
        Ok(Process(shared))
    }

    /// Looks at what it wrote so far.
    pub fn with_output<T>(&self, look: impl FnOnce(&Output) -> T) -> T {
        look(&self.0.lock().output)
    }

    /// Looks at what it wrote to stderr so far, where that is kept by itself. Its middle is not kept if it is long.
    pub fn with_errors<T>(&self, look: impl FnOnce(&Output) -> T) -> T {
        look(&self.0.lock().errors)
    }

    /// How it ended, if it has.
    pub fn has_ended(&self) -> Option<Ended> {
        self.0.lock().ended.clone()
    }

    /// Waits for its end.
    pub async fn ended(&self) -> Ended {
        loop {
            let change = self.changed();
            if let Some(ended) = self.has_ended() {
                return ended;
            }
            change.await;
        }
    }

    /// Something happens after this is called: it writes, or it ends.
    pub fn changed(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut changes = self.0.changes.subscribe();
        async move {
            // Whoever could change it is gone: whoever waits must look again.
            let _ = changes.changed().await;
        }
    }

    /// Ends it, with all that it started. Returns at once: [`ended`](Process::ended) tells when.
    pub fn stop(&self) {
        self.0.order(|orders| orders.stop = true);
    }

    /// Interrupts it, as Ctrl-C would. What it makes of that is its own affair.
    pub fn interrupt(&self) {
        self.0.order(|orders| orders.interrupts += 1);
    }

    /// Says something on the line, where there is one ([`Launch::spoken_to`]). Returns at once.
    pub fn say(&self, words: &[u8]) {
        self.0.words.lock().unwrap_or_else(PoisonError::into_inner).extend(words);
        self.0.order(|_| ());
    }

    /// Takes what it said on the line. All that it wrote before it said so is among the output by then.
    pub fn heard(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().heard)
    }

    /// From here on, what is too much to show is kept there, if nothing else was agreed.
    pub fn keep_in(&self, spill: Spill) {
        self.0.lock().output.keep_in(spill);
    }

    /// Takes what it wrote so far; what comes is a new page. It is ended only for what it writes on one.
    pub fn tear_off(&self) -> Output {
        let blank = Output::new(&self.0.room, None);
        let mut page = std::mem::replace(&mut self.0.lock().output, blank);
        page.finish();
        page
    }

    /// The loopback that it is in, for later ones to be put beside it. None once it has ended.
    pub fn loopback(&self) -> Option<Arc<Loopback>> {
        self.0.fence.get().and_then(Weak::upgrade)?.loopback()
    }

    /// Decides about protected names that it attempts to create or change, if anything does. None once it has ended.
    pub fn gatekeeper(&self) -> Option<Arc<dyn Gatekeeper>> {
        self.0.fence.get().and_then(Weak::upgrade)?.gatekeeper()
    }

    /// Its time limit, to let it stand still while a person thinks.
    pub fn time_limit(&self) -> TimeLimit {
        TimeLimit(Arc::downgrade(&self.0))
    }

    /// Whether its time stands still.
    pub fn is_paused(&self) -> bool {
        self.0.orders().pauses > 0
    }

    /// What the fence says about a page.
    pub fn facts(&self, page: &Output) -> Vec<String> {
        let Some(fence) = self.0.fence.get().and_then(Weak::upgrade) else { return Vec::new() };
        let (mut shown, _, tail) = page.raw();
        shown.extend(tail);
        fence.facts(&shown)
    }

    /// Ends it after this time, unless somebody says something else until then.
    pub fn end_after(&self, time: Duration) {
        self.0.order(|orders| orders.until = Instant::now().checked_add(time));
    }

    /// Lets it run as long as it likes.
    pub fn lift_time_limit(&self) {
        self.0.order(|orders| orders.until = None);
    }
}

fn broken() -> io::Error {
    io::Error::other("the listening thread broke")
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("ended", &self.has_ended()).finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A look that panicked has changed nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, order: impl FnOnce(&mut Orders)) {
        order(&mut self.orders.lock().unwrap_or_else(PoisonError::into_inner));
        // It can only fail when the listener has been woken more often than can be counted.
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(super) fn orders(&self) -> Orders {
        *self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wake(&self) -> &OwnedFd {
        &self.wake
    }

    /// Takes what the process wrote. Says no when it is too much.
    pub(super) fn wrote(&self, stream: Stream, bytes: &[u8]) -> bool {
        let mut state = self.lock();
        let fits = match stream {
            Stream::Output => state.output.push(bytes),
            Stream::Errors => state.errors.push(bytes),
        };
        drop(state);
        self.tell();
        fits
    }

    /// Says what is to be said, as far as it can be.
    pub(super) fn say(&self, say: impl FnOnce(&mut VecDeque<u8>)) {
        say(&mut self.words.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Whether there is something to be said.
    pub(super) fn has_words(&self) -> bool {
        !self.words.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn heard(&self, words: &[u8]) {
        note(&mut self.lock().heard, words);
        self.tell();
    }

    pub(super) fn has_fence(&self, fence: &Arc<dyn Fence>) {
        let _ = self.fence.set(Arc::downgrade(fence));
    }

    /// How much it wrote.
    pub(super) fn written(&self) -> u64 {
        let state = self.lock();
        state.output.bytes() + state.errors.bytes()
    }

    /// No more is written; what does the fence say about it?
    pub(super) fn judged<T>(&self, ask: impl FnOnce(&[u8]) -> T) -> T {
        let mut state = self.lock();
        state.output.finish();
        state.errors.finish();
        let mut shown = Vec::new();
        for (head, _, tail) in [state.output.raw(), state.errors.raw()] {
            shown.extend(head);
            shown.extend(tail);
        }
        drop(state);
        ask(&shown)
    }

    pub(super) fn ended(&self, ended: Ended) {
        self.lock().ended.get_or_insert(ended);
        self.tell();
    }

    fn tell(&self) {
        self.changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// Whatever becomes of the listener, nobody waits for ever.
struct Farewell(Arc<Shared>);

impl Drop for Farewell {
    fn drop(&mut self) {
        self.0.ended(Ended {
            status: Status::Unknown,
            stopped: None::<Stopped>,
            directory: None,
            left_running: 0,
            took: Duration::ZERO,
            facts: Vec::new(),
            blocked: Vec::new(),
            protected_changes: Vec::new(),
        });
    }
}
