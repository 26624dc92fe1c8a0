//! A system call that waits for an answer.

use std::{
    ffi::{OsString, c_int, c_long},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStringExt,
    },
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
};

use super::super::sys::{self, Answer, Errno, Notified};

/// The longest path that the kernel takes, with its end.
const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// The answer to a call.
#[derive(Debug)]
pub(in super::super) enum Response {
    /// The kernel carries it out, with arguments that may have changed since they were read.
    Continue,
    /// It fails with this error.
    Fail(c_int),
    /// It returns this, and is not carried out.
    Return(i64),
    /// It returns a descriptor: a copy of this one, at the next free number of the process.
    Descriptor { descriptor: OwnedFd, closes_on_exec: bool },
}

/// The sandbox from which calls come.
#[derive(Debug)]
pub(super) struct Sandbox {
    pub(super) listener: OwnedFd,
    /// The root directory of its processes: it is the same for all of them, because none can change it.
    root: OnceLock<OwnedFd>,
}

impl Sandbox {
    pub(super) fn new(listener: OwnedFd) -> Sandbox {
        Sandbox { listener, root: OnceLock::new() }
    }

    /// Whether no process is left in it.
    pub(super) fn has_ended(&self) -> bool {
        let mut watched = [PollFd::new(&self.listener, PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut watched, Some(&at_once)).is_ok() && watched[0].revents().contains(PollFlags::HUP)
    }
}

/// A system call that waits for an answer. One that is dropped without an answer fails.
#[derive(Debug)]
pub(in super::super) struct Call {
    notified: Notified,
    sandbox: Arc<Sandbox>,
    is_answered: bool,
}

impl Call {
    pub(super) fn new(notified: Notified, sandbox: &Arc<Sandbox>) -> Call {
        Call { notified, sandbox: Arc::clone(sandbox), is_answered: false }
    }

    /// The number of the system call.
    pub(in super::super) fn number(&self) -> c_long {
        self.notified.call
    }

    /// The thread that makes it, by its number in haft's process namespace.
    pub(in super::super) fn thread(&self) -> i32 {
        self.notified.thread
    }

    /// An argument as the register has it.
    pub(in super::super) fn argument(&self, index: usize) -> u64 {
        self.notified.arguments[index]
    }

    /// An argument that is a descriptor or flags: the kernel looks at the lower half only.
    pub(in super::super) fn number_at(&self, index: usize) -> c_int {
        self.argument(index) as c_int
    }

    /// Whether the thread still waits for the answer. To be checked after something was read by its number.
    pub(in super::super) fn is_waiting(&self) -> bool {
        sys::is_waiting(&self.sandbox.listener, self.notified.id)
    }

    /// Whether it still waits, as a result.
    pub(in super::super) fn check(&self) -> Answer {
        if self.is_waiting() { Ok(()) } else { Err(Errno(libc::ESRCH)) }
    }

    /// Reads memory of the process. Exactly so many bytes.
    pub(in super::super) fn read_bytes(&self, address: u64, count: usize) -> Answer<Vec<u8>> {
        let mut bytes = vec![0; count];
        let read = sys::read_memory(self.thread(), address, &mut bytes)?;
        self.check()?;
        if read == count { Ok(bytes) } else { Err(Errno(libc::EFAULT)) }
    }

    /// Reads a path in the memory of the process, as it stands there.
    pub(in super::super) fn read_path(&self, address: u64) -> Answer<PathBuf> {
        let mut bytes = [0; PATH_BYTES];
        let read = sys::read_memory(self.thread(), address, &mut bytes)?;
        self.check()?;
        let end = memchr::memchr(0, &bytes[..read]);
        // Without an end it is too long, or it ends where there is no memory.
        let errno = if read == PATH_BYTES { libc::ENAMETOOLONG } else { libc::EFAULT };
        let path = end.map(|end| bytes[..end].to_vec()).ok_or(Errno(errno))?;
        Ok(OsString::from_vec(path).into())
    }

    /// A file of the thread in `/proc`.
    pub(in super::super) fn in_proc(&self, name: &str) -> PathBuf {
        format!("/proc/{}/{name}", self.thread()).into()
    }

    /// The root directory of the sandbox's processes.
    pub(in super::super) fn root(&self) -> Answer<&OwnedFd> {
        if let Some(root) = self.sandbox.root.get() {
            return Ok(root);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(self.in_proc("root"), flags, Mode::empty());
        let root = root.map_err(|errno| Errno(errno.raw_os_error()))?;
        self.check()?;
        Ok(self.sandbox.root.get_or_init(|| root))
    }

    /// Gives the process a copy of a descriptor at a number that it has open already, in place of that.
    pub(in super::super) fn replace_descriptor(
        &self,
        number: RawFd,
        with: &OwnedFd,
        closes_on_exec: bool,
    ) -> Answer {
        let (listener, id) = (&self.sandbox.listener, self.notified.id);
        sys::give_descriptor(listener, id, with.as_raw_fd(), Some(number), closes_on_exec, false).map(drop)
    }

    /// Answers it. A thread that does not wait any more needs no answer.
    pub(in super::super) fn respond(mut self, response: Response) {
        self.answer(response);
    }

    fn answer(&mut self, response: Response) {
        let (listener, id) = (&self.sandbox.listener, self.notified.id);
        self.is_answered = true;
        let answered = match response {
            Response::Continue => sys::continue_call(listener, id),
            Response::Fail(errno) => sys::fail_call(listener, id, errno),
            Response::Return(value) => sys::return_from_call(listener, id, value),
            Response::Descriptor { descriptor, closes_on_exec } => {
                let given =
                    sys::give_descriptor(listener, id, descriptor.as_raw_fd(), None, closes_on_exec, true);
                // A process with too many descriptors is told so.
                given.map(drop).or_else(|errno| sys::fail_call(listener, id, errno.0))
            }
        };
        // It can only fail because the thread was killed or interrupted: then nothing is carried out.
        let _ = answered;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_answered {
            self.answer(Response::Fail(libc::EACCES));
        }
    }
}
