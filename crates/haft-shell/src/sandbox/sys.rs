//! The kernel's calls, bare.
//!
//! Between `fork` and `exec` of a program with threads nothing may allocate or lock: another thread may have held the
//! lock when the fork happened. So everything here is one system call, takes what was made ready before, and answers
//! with the kernel's number. Nothing goes through the C library, whose `errno` is memory that two of the processes share.
//! Each function says why it is sound; nobody else in the project writes `unsafe`.
#![allow(
    unsafe_code,
    reason = "the system calls that build a sandbox have no safe form that promises not to allocate"
)]

mod bare; //  a call without the C library
mod part; //  two processes in one memory

use std::{
    ffi::{CStr, CString, OsStr, c_int, c_long, c_ulong},
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    process::Command,
    ptr,
    sync::atomic::AtomicI32,
};

/// What the kernel said instead of yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Errno(pub(super) i32);

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0)
    }
}

pub(super) type Answer<T = ()> = Result<T, Errno>;

pub(super) use part::{Stack, Together, part};

/// A path for the kernel.
pub(super) fn c_string(path: impl AsRef<OsStr>) -> Answer<CString> {
    CString::new(path.as_ref().as_bytes()).map_err(|_| Errno(libc::EINVAL))
}

fn answer(result: c_long) -> Answer<c_long> {
    // No call that is used here has a good answer below zero.
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(result) }
}

/// A system call with up to six numbers or addresses.
macro_rules! call {
    ($number:ident $(, $argument:expr)*) => {
        // SAFETY: pointers among the arguments are to live values of the type that this call reads or writes; see where
        // they are made, in the line that calls.
        answer(unsafe { bare::call(libc::$number, [$($argument as usize),*]) })
    };
}

mod sockets; // sockets in a network of one's own
pub(super) use sockets::*;
mod notify; // system calls that wait for an answer
pub(super) use notify::*;

/// A descriptor by its number; `HERE` is the current directory.
pub(super) const HERE: RawFd = libc::AT_FDCWD;
const EMPTY: &CStr = c"";

// ---- processes

/// Runs this in the child, between `fork` and `exec`.
///
/// What it does must be calls of this module on values made before: no allocation, no lock, no panic.
pub(super) fn before_exec(
    command: &mut Command,
    child: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the one caller (`child.rs`) uses only this module's calls and memory that is already there.
    unsafe { command.pre_exec(child) };
}

/// Ends at once, without handlers.
pub(super) fn exit(code: i32) -> ! {
    loop {
        // It does not come back; the type wants to be told.
        let _ = call!(SYS_exit_group, code as c_long);
    }
}

pub(super) fn unshare(flags: c_int) -> Answer {
    call!(SYS_unshare, flags as c_long).map(drop)
}

/// Goes where the process with this descriptor is, as far as this namespace is concerned.
pub(super) fn join(pidfd: RawFd, namespace: c_int) -> Answer {
    call!(SYS_setns, pidfd as c_long, namespace as c_long).map(drop)
}

pub(super) fn new_session() -> Answer {
    call!(SYS_setsid).map(drop)
}

pub(super) fn kill(pid: i32, signal: i32) -> Answer {
    call!(SYS_kill, pid as c_long, signal as c_long).map(drop)
}

pub(super) fn own_pid() -> i32 {
    // SAFETY: no arguments.
    unsafe { libc::getpid() }
}

/// Who runs this: user and group.
pub(super) fn own_ids() -> (u32, u32) {
    // SAFETY: no arguments.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Waits for a child: its id and status, or nothing if none has ended and one does not want to wait.
pub(super) fn wait(pid: i32, options: c_int) -> Answer<Option<(i32, i32)>> {
    let mut status: c_int = 0;
    let ended = call!(SYS_wait4, pid as c_long, &raw mut status, options as c_long, ptr::null::<u8>())?;
    Ok((ended != 0).then_some((ended as i32, status)))
}

/// A descriptor that can be read once the process has ended.
pub(super) fn pidfd(pid: i32) -> Answer<RawFd> {
    call!(SYS_pidfd_open, pid as c_long, 0 as c_long).map(|fd| fd as RawFd)
}

pub(super) fn prctl(option: c_int, value: c_ulong) -> Answer {
    call!(SYS_prctl, option as c_long, value, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong).map(drop)
}

/// A limit of this process and all that it starts. Never above what is allowed already.
pub(super) fn limit(resource: u32, value: u64) -> Answer {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    call!(SYS_prlimit64, 0 as c_long, resource as c_long, ptr::null::<u8>(), &raw mut old)?;
    let new = value.min(old.rlim_max);
    let new = libc::rlimit { rlim_cur: new, rlim_max: new };
    call!(SYS_prlimit64, 0 as c_long, resource as c_long, &raw const new, ptr::null::<u8>()).map(drop)
}

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: i32,
}

/// Gives up every capability: those one has, and those that could come back.
pub(super) fn drop_capabilities() -> Answer {
    let header = CapabilityHeader { version: 0x2008_0522, pid: 0 };
    let none = [[0u32; 3]; 2];
    prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as c_ulong).or_else(unless_unknown)?;
    for capability in 0..64 {
        // Without the right to, or past the last one: then the bounding set is what it was, and `no_new_privs` keeps it out.
        if prctl(libc::PR_CAPBSET_DROP, capability).is_err() {
            break;
        }
    }
    call!(SYS_capset, &raw const header, none.as_ptr()).map(drop)
}

fn unless_unknown(errno: Errno) -> Answer {
    if errno.0 == libc::EINVAL { Ok(()) } else { Err(errno) }
}

/// A probe: can a process have a user namespace of its own, and power in it?
pub(super) fn can_have_namespaces() -> Answer {
    extern "C" fn nothing(_: *mut libc::c_void) -> c_int {
        0
    }
    let mut stack = vec![0u128; 1024];
    let top = stack.as_mut_ptr_range().end.cast();
    // The host name's namespace is the cheapest that needs power in the new user namespace.
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_NEWUSER | libc::CLONE_NEWUTS | libc::SIGCHLD;
    // SAFETY: the child only returns; this thread is suspended until it has, so that the stack outlives it.
    let pid = unsafe { libc::clone(nothing, top, flags, ptr::null_mut()) };
    if pid < 0 {
        return Err(Errno(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM)));
    }
    wait(pid, libc::__WALL).map(drop)
}

// ---- signals

/// All signals, as the kernel sees a set.
const ALL_SIGNALS: u64 = !0;

/// Holds back all signals, or none.
pub(super) fn hold_signals(hold: bool) -> Answer {
    let set = if hold { ALL_SIGNALS } else { 0 };
    let how = libc::SIG_SETMASK as c_long;
    call!(SYS_rt_sigprocmask, how, &raw const set, ptr::null::<u8>(), size_of::<u64>()).map(drop)
}

/// Waits for the next signal that is held back.
pub(super) fn next_signal() -> Answer<i32> {
    let set = ALL_SIGNALS;
    let nowhere = ptr::null::<u8>();
    call!(SYS_rt_sigtimedwait, &raw const set, nowhere, nowhere, size_of::<u64>()).map(|signal| signal as i32)
}

/// A descriptor from which the signals come that are held back.
pub(super) fn signal_descriptor() -> Answer<RawFd> {
    let set = ALL_SIGNALS;
    let flags = (libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) as c_long;
    call!(SYS_signalfd4, -1 as c_long, &raw const set, size_of::<u64>(), flags).map(|fd| fd as RawFd)
}

/// The next signal of such a descriptor.
pub(super) fn read_signal(fd: RawFd) -> Option<i32> {
    // A `signalfd_siginfo` begins with the number.
    let mut info = [0u32; 32];
    let size = size_of_val(&info);
    call!(SYS_read, fd as c_long, info.as_mut_ptr(), size).ok().map(|_| info[0] as i32)
}

/// Takes the default action of a signal: for one who passes on how another has died.
pub(super) fn die_of(signal: i32) -> ! {
    // What the kernel knows of a handler is four words; with zeroes it is the default one.
    let default = [0u64; 4];
    let _ = call!(SYS_rt_sigaction, signal as c_long, default.as_ptr(), ptr::null::<u8>(), size_of::<u64>());
    let _ = hold_signals(false);
    let _ = kill(own_pid(), signal);
    exit(128 + signal)
}

// ---- descriptors

pub(super) fn close(fd: RawFd) {
    // Nothing can be done about one that does not close.
    let _ = call!(SYS_close, fd as c_long);
}

/// Closes all from this number to that one.
pub(super) fn close_range(first: u32, last: u32) -> Answer {
    call!(SYS_close_range, first as c_long, last as c_long, 0 as c_long).map(drop)
}

/// Lets `exec` close all from this number on.
pub(super) fn close_on_exec_from(first: u32) -> Answer {
    const CLOSE_ON_EXEC: c_long = 4;
    call!(SYS_close_range, first as c_long, u32::MAX as c_long, CLOSE_ON_EXEC).map(drop)
}

pub(super) fn pipe() -> Answer<[RawFd; 2]> {
    let mut ends: [RawFd; 2] = [-1; 2];
    call!(SYS_pipe2, ends.as_mut_ptr(), libc::O_CLOEXEC as c_long)?;
    Ok(ends)
}

/// Both ends of a new pipe, owned.
pub(super) fn owned_pipe() -> Answer<[OwnedFd; 2]> {
    // SAFETY: they were just made, and nobody else knows them.
    Ok(pipe()?.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }))
}

pub(super) fn write(fd: RawFd, bytes: &[u8]) -> Answer {
    let count = call!(SYS_write, fd as c_long, bytes.as_ptr(), bytes.len())?;
    if count as usize == bytes.len() { Ok(()) } else { Err(Errno(libc::EIO)) }
}

/// Writes a whole small file of the kernel.
pub(super) fn write_file(path: &CStr, bytes: &[u8]) -> Answer {
    let fd = open(path, libc::O_WRONLY | libc::O_CLOEXEC, 0)?;
    let written = write(fd, bytes);
    close(fd);
    written
}

/// Waits until one of them can be read or has been closed; which.
pub(super) fn poll<const N: usize>(fds: [RawFd; N]) -> Answer<[bool; N]> {
    poll_until(fds, ptr::null())
}

/// Whether it can be read or has been closed by now.
pub(super) fn is_readable(fd: RawFd) -> Answer<bool> {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    poll_until([fd], &raw const at_once).map(|[is_readable]| is_readable)
}

fn poll_until<const N: usize>(fds: [RawFd; N], time: *const libc::timespec) -> Answer<[bool; N]> {
    let mut polled = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    match call!(SYS_ppoll, polled.as_mut_ptr(), N, time, ptr::null::<u8>(), 0 as c_long) {
        Ok(_) => Ok(polled.map(|one| one.revents != 0)),
        Err(Errno(libc::EINTR)) => Ok([false; N]),
        Err(errno) => Err(errno),
    }
}

// ---- files

pub(super) fn open(path: &CStr, flags: c_int, mode: u32) -> Answer<RawFd> {
    call!(SYS_openat, HERE as c_long, path.as_ptr(), flags as c_long, mode as c_long).map(|fd| fd as RawFd)
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// A place, found without following any link; one that is a link itself is found as such.
pub(super) fn place(path: &CStr) -> Answer<RawFd> {
    const NO_SYMLINKS: u64 = 4;
    let flags = (libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW) as u64;
    let how = OpenHow { flags, mode: 0, resolve: NO_SYMLINKS };
    let size = size_of::<OpenHow>();
    call!(SYS_openat2, HERE as c_long, path.as_ptr(), &raw const how, size).map(|fd| fd as RawFd)
}

/// A place as a process with this root sees it: symbolic links lead to what they are there. Not through the links of `/proc`
/// that lead to open files.
pub(super) fn place_in(root: &OwnedFd, path: &CStr) -> Answer<OwnedFd> {
    const IN_ROOT: u64 = 0x10;
    let how = OpenHow { flags: (libc::O_PATH | libc::O_CLOEXEC) as u64, mode: 0, resolve: IN_ROOT };
    let size = size_of::<OpenHow>();
    let fd = call!(SYS_openat2, root.as_raw_fd() as c_long, path.as_ptr(), &raw const how, size)?;
    // SAFETY: it was just made, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

pub(super) fn make_directory(path: &CStr, mode: u32) -> Answer {
    call!(SYS_mkdirat, HERE as c_long, path.as_ptr(), mode as c_long)?;
    // Whatever the mask of the process takes away.
    call!(SYS_fchmodat, HERE as c_long, path.as_ptr(), mode as c_long).map(drop)
}

pub(super) fn make_file(path: &CStr, mode: u32) -> Answer {
    close(open(path, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC, mode)?);
    call!(SYS_fchmodat, HERE as c_long, path.as_ptr(), mode as c_long).map(drop)
}

pub(super) fn link(target: &CStr, path: &CStr) -> Answer {
    call!(SYS_symlinkat, target.as_ptr(), HERE as c_long, path.as_ptr()).map(drop)
}

pub(super) fn go_to(path: &CStr) -> Answer {
    call!(SYS_chdir, path.as_ptr()).map(drop)
}

// ---- mounts

/// A mount of the older kind: `kind` at `path`.
pub(super) fn mount(kind: &CStr, path: &CStr, flags: c_ulong, options: &CStr) -> Answer {
    call!(SYS_mount, kind.as_ptr(), path.as_ptr(), kind.as_ptr(), flags, options.as_ptr()).map(drop)
}

/// Nothing that is mounted from now on is seen elsewhere, and the reverse.
pub(super) fn make_private() -> Answer {
    let nothing = ptr::null::<u8>();
    call!(SYS_mount, nothing, c"/".as_ptr(), nothing, libc::MS_REC | libc::MS_PRIVATE, nothing).map(drop)
}

/// A copy of what is mounted at a place, not yet mounted anywhere.
pub(super) fn copy_mount(place: RawFd, recursive: bool) -> Answer<RawFd> {
    const CLONE: c_int = 1;
    let deep = if recursive { libc::AT_RECURSIVE } else { 0 };
    let flags = CLONE | libc::O_CLOEXEC | libc::AT_EMPTY_PATH | deep;
    call!(SYS_open_tree, place as c_long, EMPTY.as_ptr(), flags as c_long).map(|fd| fd as RawFd)
}

/// Mounts such a copy at a place.
pub(super) fn put_mount(copy: RawFd, place: RawFd) -> Answer {
    const BOTH_EMPTY: c_long = 0x4 | 0x40;
    call!(SYS_move_mount, copy as c_long, EMPTY.as_ptr(), place as c_long, EMPTY.as_ptr(), BOTH_EMPTY)
        .map(drop)
}

pub(super) const READ_ONLY: u64 = 1;
pub(super) const NO_SET_ID: u64 = 2;
pub(super) const NO_DEVICES: u64 = 4;

#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Adds properties to a mount, and to all below it.
pub(super) fn restrict_mount(mount: RawFd, path: &CStr, add: u64, recursive: bool) -> Answer {
    let attributes = MountAttributes { set: add, clear: 0, propagation: 0, user_namespace: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    let size = size_of::<MountAttributes>();
    call!(SYS_mount_setattr, mount as c_long, path.as_ptr(), flags as c_long, &raw const attributes, size)
        .map(drop)
}

/// Whether the kernel knows the calls that mounts are built with. The newest of them is asked for nothing.
pub(super) fn knows_mounts() -> bool {
    restrict_mount(-1, EMPTY, 0, false) != Err(Errno(libc::ENOSYS))
}

// ---- network

/// Brings up `lo`.
pub(super) fn raise_loopback() -> Answer {
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM)?;
    // SAFETY: a request is plain numbers, for which zeroes are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as _;
    request.ifr_name[1] = b'o' as _;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as _;
    let raised = call!(SYS_ioctl, socket as c_long, libc::SIOCSIFFLAGS as c_ulong, &raw const request);
    close(socket);
    raised.map(drop)
}

/// A pair of sockets over which a descriptor can be passed.
pub(super) fn socket_pair() -> Answer<[OwnedFd; 2]> {
    let mut ends: [RawFd; 2] = [-1; 2];
    let kind = (libc::SOCK_STREAM | libc::SOCK_CLOEXEC) as c_long;
    call!(SYS_socketpair, libc::AF_UNIX as c_long, kind, 0 as c_long, ends.as_mut_ptr())?;
    // SAFETY: they were just made, and nobody else knows them.
    Ok(ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Room for the one descriptor that a message carries, as the kernel lays it out.
#[repr(C)]
struct Parcel {
    header: libc::cmsghdr,
    fd: RawFd,
    padding: u32,
}

fn with_message<T>(parcel: &mut Parcel, byte: &mut u8, use_it: impl FnOnce(*mut libc::msghdr) -> T) -> T {
    let mut part = libc::iovec { iov_base: ptr::from_mut(byte).cast(), iov_len: 1 };
    // SAFETY: a message is plain numbers and pointers, for which zeroes are a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = (parcel as *mut Parcel).cast();
    message.msg_controllen = size_of::<Parcel>() as _;
    use_it(&raw mut message)
}

fn parcel(fd: RawFd) -> Parcel {
    // SAFETY: plain numbers, for which zeroes are a value.
    let mut parcel: Parcel = unsafe { std::mem::zeroed() };
    parcel.header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<RawFd>()) as _;
    parcel.header.cmsg_level = libc::SOL_SOCKET;
    parcel.header.cmsg_type = libc::SCM_RIGHTS;
    parcel.fd = fd;
    parcel
}

/// Passes a descriptor to whoever holds the other end.
pub(super) fn send_descriptor(over: RawFd, fd: RawFd) -> Answer {
    let mut parcel = parcel(fd);
    with_message(&mut parcel, &mut 0, |message| call!(SYS_sendmsg, over as c_long, message, 0 as c_long))
        .map(drop)
}

/// The descriptor that was passed; does not wait.
pub(super) fn receive_descriptor(over: &OwnedFd) -> Answer<OwnedFd> {
    let mut parcel = parcel(-1);
    let flags = (libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC) as c_long;
    with_message(&mut parcel, &mut 0, |message| {
        call!(SYS_recvmsg, over.as_raw_fd() as c_long, message, flags)
    })?;
    if parcel.header.cmsg_type != libc::SCM_RIGHTS || parcel.fd < 0 {
        return Err(Errno(libc::EBADMSG));
    }
    // SAFETY: the kernel made it for this message.
    Ok(unsafe { OwnedFd::from_raw_fd(parcel.fd) })
}

/// Makes the terminal at descriptor 0, or at 1 where there is no input, the one of this session, if it is a terminal that
/// no session has.
pub(super) fn take_terminal() {
    let take = |fd: c_long| call!(SYS_ioctl, fd, libc::TIOCSCTTY as c_ulong, 0 as c_long);
    let _ = take(0).or_else(|_| take(1));
}

// ---- Landlock and seccomp

/// The highest Landlock that the kernel has.
pub(super) fn landlock_version() -> Answer<u32> {
    const VERSION: c_long = 1;
    call!(SYS_landlock_create_ruleset, ptr::null::<u8>(), 0 as c_long, VERSION).map(|version| version as u32)
}

/// What a rule set handles.
#[repr(C)]
pub(super) struct Handled {
    pub(super) files: u64,
    pub(super) network: u64,
    pub(super) scopes: u64,
}

pub(super) fn landlock_rules(handled: &Handled, size: usize) -> Answer<RawFd> {
    call!(SYS_landlock_create_ruleset, ptr::from_ref(handled), size, 0 as c_long).map(|fd| fd as RawFd)
}

#[repr(C, packed)]
struct Beneath {
    access: u64,
    place: i32,
}

/// Allows what is named below a place.
pub(super) fn landlock_allow(rules: RawFd, place: RawFd, access: u64) -> Answer {
    const PATH_BENEATH: c_long = 1;
    let beneath = Beneath { access, place };
    call!(SYS_landlock_add_rule, rules as c_long, PATH_BENEATH, &raw const beneath, 0 as c_long).map(drop)
}

pub(super) fn landlock_enforce(rules: RawFd) -> Answer {
    call!(SYS_landlock_restrict_self, rules as c_long, 0 as c_long).map(drop)
}

/// Filters system calls from here on.
pub(super) fn filter(program: &[libc::sock_filter]) -> Answer {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    call!(SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER as c_long, 0 as c_long, &raw const program).map(drop)
}

// ---- memory

/// Overwrites the words that this process was started with. Only for a process that will not look at them again.
pub(super) fn wipe(from: usize, to: usize) {
    if from != 0 && from < to {
        // SAFETY: the kernel names this range as arguments or variables on the first stack, which stays mapped and writable;
        // this process is a copy with a single thread that reads no variable after this.
        unsafe { ptr::write_bytes(ptr::with_exposed_provenance_mut::<u8>(from), 0, to - from) };
    }
}

/// Sleeps as long as a number is zero, but not for ever: whoever would wake us may be gone.
pub(super) fn sleep_while_zero(number: &AtomicI32) {
    let a_while = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    // Woken, late, or not zero any more: whoever called looks at it.
    let _ = call!(SYS_futex, number.as_ptr(), libc::FUTEX_WAIT as c_long, 0 as c_long, &raw const a_while);
}

/// Wakes whoever sleeps because of a number.
pub(super) fn wake(number: &AtomicI32) {
    let _ = call!(SYS_futex, number.as_ptr(), libc::FUTEX_WAKE as c_long, c_int::MAX as c_long);
}

/// Numbers that a process and its copies share.
#[derive(Debug)]
pub(super) struct Shared<const N: usize>(ptr::NonNull<[AtomicI32; N]>);

// SAFETY: atomics in memory that belongs to this value alone.
unsafe impl<const N: usize> Send for Shared<N> {}
// SAFETY: as above; all access is atomic.
unsafe impl<const N: usize> Sync for Shared<N> {}

impl<const N: usize> Shared<N> {
    pub(super) fn new() -> io::Result<Shared<N>> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at a place of the kernel's choice.
        let memory = unsafe { libc::mmap(ptr::null_mut(), size_of::<[AtomicI32; N]>(), access, kind, -1, 0) };
        let is_there = memory != libc::MAP_FAILED;
        let memory = ptr::NonNull::new(memory.cast()).filter(|_| is_there);
        memory.map(Shared).ok_or_else(io::Error::last_os_error)
    }

    pub(super) fn all(&self) -> &[AtomicI32; N] {
        // SAFETY: mapped as long as this value lives, aligned to a page, and zeroes are numbers.
        unsafe { self.0.as_ref() }
    }
}

impl<const N: usize> Drop for Shared<N> {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size, and nobody has a reference any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<[AtomicI32; N]>()) };
    }
}
