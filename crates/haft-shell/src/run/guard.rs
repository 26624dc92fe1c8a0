//! Who ends a server when haft cannot.
//!
//! A server that is started by a package runner is the grandchild of a grandchild. If haft is killed, the signal that the
//! kernel sends reaches only the first of them; the others live on if they do not mind that their input has ended. So a
//! server has a guard: a process between haft and it, which holds one end of a pipe (the lifeline) whose other end only haft
//! has. When that is closed, however that happened, the guard ends everything below it. Whoever loses its parent down there
//! becomes the guard's own child, so nobody gets away: not by a new session, not by a clean environment.
//!
//! The guard is haft, forked and not replaced: no program of ours has to be found. It runs on memory that is already there
//! and makes system calls, nothing else. It ends as the server does, so that whoever waits for it learns how that was.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
};

use libc::{c_int, c_long, pid_t};
use rustix::pipe::{PipeFlags, pipe_with};

use super::start::high;

/// How long a server may take to end by itself when haft is gone: its input has ended by then.
const FAREWELL: c_int = 500;

/// How long what a server leaves behind may take to end by itself.
const LAST_WORDS: c_int = 100;

/// How often one looks whether somebody is left.
const LOOK: c_int = 5;

/// Both ends of a lifeline, before the server is started.
pub(super) struct Lifeline {
    /// Held by haft, and by nobody else: closed by exec in every child.
    pub(super) ours: OwnedFd,
    theirs: OwnedFd,
}

impl Lifeline {
    pub(super) fn new() -> io::Result<Lifeline> {
        let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Lifeline { ours, theirs: high(theirs)? })
    }

    /// The guard's end.
    pub(super) fn end(&self) -> RawFd {
        self.theirs.as_raw_fd()
    }
}

/// Splits the process that calls this in two: the guard stays here and never returns; the one that is to become the server
/// goes on. To be called between fork and exec, by the leader of a new session.
pub(super) fn part(lifeline: RawFd) -> io::Result<()> {
    // What was agreed for a child of haft is not for the guard: it must live on when haft does not.
    prctl(libc::PR_SET_PDEATHSIG, 0)?;
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)?;
    match fork()? {
        // Without its guard a server is nobody's.
        0 => prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_long),
        server => guard(server, lifeline),
    }
}

fn guard(server: pid_t, lifeline: RawFd) -> ! {
    // Signals to the group are for the server, and the group has the guard in it.
    hold_signals();
    call_it(c"haft-guard");
    // Its memory is a copy of haft's, keys and all.
    let _ = prctl(libc::PR_SET_DUMPABLE, 0);
    keep_only(lifeline);
    let ended = signals_of_children();
    let mut watched = [on(LIFELINE), on(ended)];
    loop {
        poll(&mut watched, -1);
        drain(ended);
        if let Some(status) = reap(server) {
            end_the_rest(LAST_WORDS);
            leave(status);
        }
        if watched[0].revents != 0 {
            abandoned(server, ended);
        }
    }
}

/// Haft is gone.
fn abandoned(server: pid_t, ended: RawFd) -> ! {
    for _ in 0..FAREWELL / LOOK {
        poll(&mut [on(ended)], LOOK);
        drain(ended);
        if reap(server).is_some() {
            break;
        }
    }
    end_the_rest(0);
    exit(0)
}

/// Kills all that is left after a while, children first; theirs become ours and are next.
fn end_the_rest(patience: c_int) {
    for _ in 0..patience / LOOK {
        if !has_children() {
            return;
        }
        poll(&mut [], LOOK);
    }
    while has_children() {
        if !kill_children() {
            // The kernel does not tell who they are: the group is the best that is known, and this process is in it.
            kill(0, libc::SIGKILL);
        }
        poll(&mut [], LOOK);
    }
}

/// Reaps whoever has ended, and says whether anybody is left.
fn has_children() -> bool {
    let mut status = 0;
    loop {
        // SAFETY: a system call with a place for a number.
        #[expect(unsafe_code, reason = "a plain system call")]
        let ended = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        match ended {
            0 => return true,
            1.. => {}
            _ => return false,
        }
    }
}

/// Reaps whoever has ended; the status of the server, if it was among them.
fn reap(server: pid_t) -> Option<c_int> {
    let mut of_the_server = None;
    let mut status = 0;
    loop {
        // SAFETY: a system call with a place for a number.
        #[expect(unsafe_code, reason = "a plain system call")]
        let ended = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
        if ended <= 0 {
            return of_the_server;
        }
        if ended == server {
            of_the_server = Some(status);
        }
    }
}

/// Sends the last signal to every child. Says no if the kernel does not tell who they are.
fn kill_children() -> bool {
    const LIST: &std::ffi::CStr = c"/proc/thread-self/children";
    // SAFETY: a path that ends; the buffer is as long as is said.
    #[expect(unsafe_code, reason = "plain system calls")]
    unsafe {
        let list = libc::open(LIST.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if list < 0 {
            return false;
        }
        // Those that do not fit are killed when these have gone.
        let mut text = [0u8; 4096];
        let length = libc::read(list, text.as_mut_ptr().cast(), text.len());
        libc::close(list);
        numbers(&text[..usize::try_from(length).unwrap_or(0)], |pid| kill(pid, libc::SIGKILL));
    }
    true
}

/// Reads numbers that are followed by a space each. The last may be cut off, and is left out then.
fn numbers(text: &[u8], mut take: impl FnMut(pid_t)) {
    let mut number: pid_t = 0;
    for byte in text {
        match byte {
            b'0'..=b'9' => number = number.saturating_mul(10).saturating_add(pid_t::from(byte - b'0')),
            _ => {
                if number > 1 {
                    take(number);
                }
                number = 0;
            }
        }
    }
}

/// Ends as the server did.
fn leave(status: c_int) -> ! {
    if !libc::WIFSIGNALED(status) {
        exit(libc::WEXITSTATUS(status));
    }
    let signal = libc::WTERMSIG(status);
    // SAFETY: system calls with plain numbers and sets that are made here.
    #[expect(unsafe_code, reason = "plain system calls")]
    unsafe {
        // The server has left a picture of its memory, if any is wanted; haft's is nobody's business.
        libc::setrlimit(libc::RLIMIT_CORE, &raw const NOTHING);
        libc::signal(signal, libc::SIG_DFL);
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
    exit(128 + signal)
}

static NOTHING: libc::rlimit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };

/// The guard's only descriptor, at first.
const LIFELINE: RawFd = 0;

/// Everything else is the server's, and must be seen to end with it.
fn keep_only(lifeline: RawFd) {
    // SAFETY: system calls with plain numbers; nothing here uses what is closed.
    #[expect(unsafe_code, reason = "plain system calls")]
    unsafe {
        libc::dup2(lifeline, LIFELINE);
        libc::syscall(libc::SYS_close_range, 1 as c_long, c_long::from(u32::MAX), 0 as c_long);
    }
}

fn hold_signals() {
    // SAFETY: a set that is made here.
    #[expect(unsafe_code, reason = "plain system calls")]
    unsafe {
        let mut all = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// A descriptor that can be read when a child has ended.
fn signals_of_children() -> RawFd {
    // SAFETY: a set that is made here.
    #[expect(unsafe_code, reason = "plain system calls")]
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::signalfd(-1, &raw const set, libc::SFD_NONBLOCK | libc::SFD_CLOEXEC)
    }
}

fn drain(signals: RawFd) {
    let mut buffer = [0u8; 128];
    // SAFETY: the buffer is as long as is said.
    #[expect(unsafe_code, reason = "a plain system call")]
    while unsafe { libc::read(signals, buffer.as_mut_ptr().cast(), buffer.len()) } > 0 {}
}

fn on(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

fn poll(watched: &mut [libc::pollfd], time: c_int) {
    // SAFETY: the list is as long as is said.
    #[expect(unsafe_code, reason = "a plain system call")]
    unsafe {
        libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, time);
    }
}

fn kill(pid: pid_t, signal: c_int) {
    // SAFETY: a system call with plain numbers.
    #[expect(unsafe_code, reason = "a plain system call")]
    unsafe {
        libc::kill(pid, signal);
    }
}

fn prctl(option: c_int, value: c_long) -> io::Result<()> {
    // SAFETY: a system call with plain numbers.
    #[expect(unsafe_code, reason = "a plain system call")]
    let failed = unsafe { libc::prctl(option, value, 0, 0, 0) } < 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What lists of processes show.
fn call_it(name: &std::ffi::CStr) {
    // SAFETY: a text that ends.
    #[expect(unsafe_code, reason = "a plain system call")]
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0);
    }
}

/// The call itself: what the C library does around it is for processes that go on.
fn fork() -> io::Result<pid_t> {
    // SAFETY: this process has one thread; both sides go on with their own copy.
    #[expect(unsafe_code, reason = "a plain system call")]
    let child = unsafe { libc::syscall(libc::SYS_clone, c_long::from(libc::SIGCHLD), 0, 0, 0, 0) };
    if child < 0 { Err(io::Error::last_os_error()) } else { Ok(child as pid_t) }
}

fn exit(code: c_int) -> ! {
    // SAFETY: it does not come back.
    #[expect(unsafe_code, reason = "a plain system call")]
    unsafe {
        libc::_exit(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_are_read_and_never_the_first_process() {
        let mut read = Vec::new();
        numbers(b"12 345 1 0  7 99", |pid| read.push(pid));
        assert_eq!(read, [12, 345, 7]);
    }
}
