//! System calls that wait for an answer: `seccomp_unotify(2)`, and the memory of the process that makes them.

use std::{
    ffi::{CStr, c_int, c_long},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    ptr,
};

use libc::{sock_filter, sock_fprog};

use super::{Answer, Errno, HERE, MountAttributes, READ_ONLY, answer, bare, own_pid, wait};

/// A system call that waits: its id, the thread that makes it, and its arguments.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Notified {
    pub(in super::super) id: u64,
    /// The thread, by the number that it has for this process.
    pub(in super::super) thread: i32,
    pub(in super::super) call: c_long,
    pub(in super::super) arguments: [u64; 6],
}

/// Filters system calls from here on; what the program reports is read from the descriptor.
///
/// Where the kernel can, only a deadly signal interrupts a call that was read.
pub(in super::super) fn filter_with_listener(program: &[sock_filter]) -> Answer<RawFd> {
    let program = sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let with = |flags| {
        call!(SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER as c_long, flags, &raw const program)
            .map(|fd| fd as RawFd)
    };
    let listens = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    match with(listens | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(Errno(libc::EINVAL)) => with(listens),
        other => other,
    }
}

/// Whether the kernel reports system calls in the form that is known here, and shows the memory of a process.
pub(in super::super) fn knows_notifications() -> bool {
    let mut sizes = libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    let asked = call!(SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES as c_long, 0 as c_long, &raw mut sizes);
    let read = read_memory(own_pid(), ptr::from_ref(&sizes).expose_provenance() as u64, &mut [0]);
    asked.is_ok()
        && usize::from(sizes.seccomp_notif) == size_of::<libc::seccomp_notif>()
        && usize::from(sizes.seccomp_notif_resp) == size_of::<libc::seccomp_notif_resp>()
        && read == Ok(1)
}

/// Answers wake the thread that waits on the same processor, where the kernel can: that is quicker.
pub(in super::super) fn answer_on_the_same_processor(listener: &OwnedFd) {
    const SYNC_WAKE_UP: c_long = 1;
    // Since 6.6; an older kernel says no, and is slower.
    let _ =
        call!(SYS_ioctl, listener.as_raw_fd() as c_long, libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP);
}

/// Reads the next call that waits. `ENOENT`: it does not wait any more.
pub(in super::super) fn receive_notification(listener: &OwnedFd) -> Answer<Notified> {
    // SAFETY: plain numbers, for which zeroes are a value; the kernel wants zeroes.
    let mut read: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    call!(SYS_ioctl, listener.as_raw_fd() as c_long, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut read)?;
    let data = read.data;
    Ok(Notified { id: read.id, thread: read.pid as i32, call: data.nr.into(), arguments: data.args })
}

/// Whether the call still waits. As long as it does, its thread's number is its own.
pub(in super::super) fn is_waiting(listener: &OwnedFd, id: u64) -> bool {
    call!(SYS_ioctl, listener.as_raw_fd() as c_long, libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
        .is_ok()
}

/// Lets the kernel carry the call out.
pub(in super::super) fn continue_call(listener: &OwnedFd, id: u64) -> Answer {
    respond(listener, id, 0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32)
}

/// Has the call return an error.
pub(in super::super) fn fail_call(listener: &OwnedFd, id: u64, errno: c_int) -> Answer {
    respond(listener, id, 0, -errno, 0)
}

/// Has the call return a value, without being carried out.
pub(in super::super) fn return_from_call(listener: &OwnedFd, id: u64, value: i64) -> Answer {
    respond(listener, id, value, 0, 0)
}

fn respond(listener: &OwnedFd, id: u64, value: i64, error: c_int, flags: u32) -> Answer {
    let response = libc::seccomp_notif_resp { id, val: value, error, flags };
    call!(SYS_ioctl, listener.as_raw_fd() as c_long, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response)
        .map(drop)
}

/// Gives the calling process a copy of a descriptor: at a number, or at the next free one. Its number there.
///
/// With `and_return`, the call returns that number in the same step (Linux 5.14).
pub(in super::super) fn give_descriptor(
    listener: &OwnedFd,
    id: u64,
    descriptor: RawFd,
    number: Option<RawFd>,
    closes_on_exec: bool,
    and_return: bool,
) -> Answer<RawFd> {
    let set = if number.is_some() { libc::SECCOMP_ADDFD_FLAG_SETFD } else { 0 };
    let send = if and_return { libc::SECCOMP_ADDFD_FLAG_SEND } else { 0 };
    let given = libc::seccomp_notif_addfd {
        id,
        flags: (set | send) as u32,
        srcfd: descriptor as u32,
        newfd: number.unwrap_or(0) as u32,
        newfd_flags: if closes_on_exec { libc::O_CLOEXEC as u32 } else { 0 },
    };
    call!(SYS_ioctl, listener.as_raw_fd() as c_long, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const given)
        .map(|fd| fd as RawFd)
}

/// Reads memory of a process, as much as is there from an address on. How much that was.
pub(in super::super) fn read_memory(process: i32, address: u64, into: &mut [u8]) -> Answer<usize> {
    /// The kernel reads whole pieces: what ends at a page's end is read also where the next page is not there.
    const PAGE_BYTES: usize = 4096;
    let length = into.len();
    let first = (PAGE_BYTES - address as usize % PAGE_BYTES).min(length);
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: length };
    let piece = |from: usize, length: usize| libc::iovec {
        iov_base: ptr::without_provenance_mut((address as usize).wrapping_add(from)),
        iov_len: length,
    };
    let there = [piece(0, first), piece(first, length - first)];
    call!(
        SYS_process_vm_readv,
        process as c_long,
        &raw const here,
        1 as c_long,
        there.as_ptr(),
        there.len(),
        0 as c_long
    )
    .map(|count| count as usize)
}

/// A descriptor that can be polled and wakes its poller.
pub(in super::super) fn event() -> Answer<OwnedFd> {
    let flags = (libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) as c_long;
    let fd = call!(SYS_eventfd2, 0 as c_long, flags)?;
    // SAFETY: it was just made, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// What the process that unmounts is told, and what it says.
struct Unmount {
    namespaces: [RawFd; 2],
    place: *const libc::c_char,
    unmounts: bool,
    answer: c_long,
}

/// Unmounts a place in other namespaces of users and of mounts, or makes its mount writable, by a process that goes there, and ends.
pub(in super::super) fn lift_in(user: RawFd, mounts: RawFd, place: &CStr, unmounts: bool) -> Answer {
    extern "C" fn unmount(order: *mut libc::c_void) -> c_int {
        // SAFETY: what the caller gave to `clone`; it stands still, and looks at it when this process has ended.
        let order = unsafe { &mut *order.cast::<Unmount>() };
        let [user, mounts] = order.namespaces;
        let done = call!(SYS_setns, user as c_long, libc::CLONE_NEWUSER as c_long)
            .and_then(|_| call!(SYS_setns, mounts as c_long, libc::CLONE_NEWNS as c_long))
            .and_then(|_| {
                if order.unmounts {
                    let flags = (libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) as c_long;
                    return call!(SYS_umount2, order.place, flags);
                }
                let writable =
                    MountAttributes { set: 0, clear: READ_ONLY, propagation: 0, user_namespace: 0 };
                let (here, flags) = (HERE as c_long, libc::AT_SYMLINK_NOFOLLOW as c_long);
                let size = size_of::<MountAttributes>();
                call!(SYS_mount_setattr, here, order.place, flags, &raw const writable, size)
            });
        order.answer = done.map_or_else(|errno| errno.0.into(), |_| 0);
        0
    }
    let mut order =
        Unmount { namespaces: [user, mounts], place: place.as_ptr(), unmounts, answer: libc::EIO.into() };
    let mut stack = vec![0u128; 1024];
    let top = stack.as_mut_ptr_range().end.cast();
    // No handler of this process may run in that one, which has its memory.
    let (all, mut before) = (!0u64, 0u64);
    let set_mask = libc::SIG_SETMASK as c_long;
    call!(SYS_rt_sigprocmask, set_mask, &raw const all, &raw mut before, size_of::<u64>())?;
    // SAFETY: the child makes system calls without the C library, on `order`; this thread is suspended until it has ended, so
    // that the stack and the order outlive it.
    let pid =
        unsafe { libc::clone(unmount, top, libc::CLONE_VM | libc::CLONE_VFORK, (&raw mut order).cast()) };
    let ended = if pid < 0 { Err(Errno(libc::EAGAIN)) } else { wait(pid, libc::__WALL).map(drop) };
    call!(SYS_rt_sigprocmask, set_mask, &raw const before, ptr::null::<u8>(), size_of::<u64>())?;
    ended?;
    match order.answer {
        0 => Ok(()),
        errno => Err(Errno(errno as c_int)),
    }
}
