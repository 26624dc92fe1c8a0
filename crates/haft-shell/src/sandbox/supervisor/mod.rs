//! The supervisor: answers system calls of a sandbox that its filter reports.
//!
//! The kernel holds such a call until the supervisor has answered ([`seccomp_unotify(2)`]). The command that is confined sends
//! the listener out just before `exec`; a thread of haft reads it as long as the [`Guard`](super::Guard) lives. Each call is
//! offered to the [`Handler`]s in their order. The first that takes it answers it, at once or later and from any thread; what no handler takes,
//! the kernel carries out. A handler never blocks: a call that waits for a person must not stop the others.
//!
//! # What holds, and what does not
//! - Only calls of the sandbox are reported, by threads that cannot leave its namespaces. The id of a call is checked after its memory
//!   and its files in `/proc` were read, so that what was read belongs to the thread that waits.
//! - `Continue` is no permission: another thread of the program can change a path after it was read, and the kernel reads it again. So a
//!   handler that answers `Continue` steers honest programs. What has to hold against hostile ones is kept by mounts, by Landlock,
//!   or by a look at what is there afterwards.
//! - `Fail`, `Return` and `Descriptor` do hold: the kernel does not carry out the call, and a descriptor is what the supervisor opened
//!   from its own copy of the arguments.
//! - A filter that the command installs itself can refuse more. It cannot get these reports (there is one listener for a process) and
//!   cannot answer them.
//!
//! [`seccomp_unotify(2)`]: https://man7.org/linux/man-pages/man2/seccomp_unotify.2.html

mod call; //    a call that waits, and its answers
mod resolve; // which file a path of it means
#[cfg(test)]
mod tests;

use std::{
    fmt,
    os::fd::{AsRawFd, OwnedFd},
    sync::Arc,
    thread::{self, JoinHandle},
};

pub(super) use call::{Call, Response};

use super::{
    error::SandboxError,
    seccomp::{Filter, Reported},
    sys::{self, Errno},
};

/// Answers some of the system calls of a sandbox.
pub(super) trait Handler: Send {
    /// The calls that the kernel is to report.
    fn reported(&self) -> Vec<Reported>;

    /// Takes a call, or gives it back for the next handler. A call that was taken is answered by [`Call::respond`], at once
    /// or later. Must not block.
    fn handle(&mut self, call: Call) -> Option<Call>;

    /// Goes on with calls that were taken, after [`Waker::wake`].
    fn resume(&mut self) {}

    /// Gets the way to be woken, once and before the first call.
    fn set_waker(&mut self, _waker: &Waker) {}
}

/// The handlers of a sandbox, in the order in which calls are offered to them.
#[derive(Default)]
pub(super) struct Handlers(pub(super) Vec<Box<dyn Handler>>);

impl Handlers {
    /// The filter that reports what they want to see. None if that is nothing.
    pub(super) fn filter(&self) -> Option<Filter> {
        let mut reported: Vec<Reported> = self.0.iter().flat_map(|handler| handler.reported()).collect();
        reported.sort_unstable();
        reported.dedup();
        (!reported.is_empty()).then(|| Filter::reporting(&reported))
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} handlers", self.0.len())
    }
}

/// Has the supervisor's thread call [`Handler::resume`]. Can be used from any thread.
#[derive(Debug, Clone)]
pub(super) struct Waker(Arc<OwnedFd>);

impl Waker {
    fn new() -> Result<Waker, SandboxError> {
        let event = sys::event().map_err(|errno| SandboxError::build("make an event", errno))?;
        Ok(Waker(Arc::new(event)))
    }

    /// Wakes it. Waking it several times may count as once.
    pub(super) fn wake(&self) {
        // It can only fail when it has been woken more often than can be counted.
        let _ = sys::write(self.0.as_raw_fd(), &1u64.to_ne_bytes());
    }

    fn clear(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0u8; 8]);
    }
}

/// The thread that answers the calls of one sandbox. Dropping it ends the thread; calls that still wait fail then.
#[derive(Debug)]
pub(super) struct Supervisor {
    end: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Supervisor {
    /// Answers the calls of a listener.
    pub(super) fn start(listener: OwnedFd, handlers: Handlers) -> Result<Supervisor, SandboxError> {
        let [end, waker] = [Waker::new()?, Waker::new()?];
        sys::answer_on_the_same_processor(&listener);
        let watched = end.clone();
        let work = move || supervise(listener, handlers, &watched, &waker);
        let thread = thread::Builder::new().name("haft-supervisor".to_owned()).spawn(work);
        let thread = thread.map_err(|err| SandboxError::build("start its supervisor", err))?;
        Ok(Supervisor { end, thread: Some(thread) })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.end.wake();
        // A handler that panicked has said so on the terminal; its calls have failed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Answers calls until the last process of the sandbox has ended, or the supervisor is dropped.
fn supervise(listener: OwnedFd, mut handlers: Handlers, end: &Waker, waker: &Waker) {
    handlers.0.iter_mut().for_each(|handler| handler.set_waker(waker));
    let sandbox = Arc::new(call::Sandbox::new(listener));
    let watched = [sandbox.listener.as_raw_fd(), end.0.as_raw_fd(), waker.0.as_raw_fd()];
    loop {
        let Ok([is_called, is_over, is_woken]) = sys::poll(watched) else { return };
        if is_over {
            return;
        }
        if is_woken {
            waker.clear();
            handlers.0.iter_mut().for_each(|handler| handler.resume());
        }
        if is_called {
            match sys::receive_notification(&sandbox.listener) {
                Ok(notified) => offer(Call::new(notified, &sandbox), &mut handlers),
                // The call was given up, or a signal came: both are usual.
                Err(Errno(libc::ENOENT)) if sandbox.has_ended() => return,
                Err(Errno(libc::ENOENT | libc::EINTR | libc::EAGAIN)) => {}
                Err(_) => return,
            }
        }
    }
}

/// Offers a call to the handlers in their order.
fn offer(call: Call, handlers: &mut Handlers) {
    let left = handlers.0.iter_mut().try_fold(call, |call, handler| handler.handle(call));
    if let Some(call) = left {
        call.respond(Response::Continue);
    }
}
