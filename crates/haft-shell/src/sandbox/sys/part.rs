//! Two processes in one memory.
//!
//! A fork copies the memory of a process: a millisecond for every ten megabytes, and as much again when the copy ends. The
//! first child is a copy of the caller; those that it starts share its memory instead. What makes that sound:
//!
//! - The caller's memory is not among it: the copy has one thread, and nobody else reads what is in it.
//! - The child goes on where its parent was, on the same stack. The parent moves to a stack of its own, never comes back,
//!   and so never looks at what the child has made of the old one.
//! - What the parent does from then on is system calls without the C library ([`bare`](super::bare)), on its own stack, on
//!   values that nobody changes any more, and on atomics.
//! - Signals are held back, so no handler runs on either stack.

use std::{arch::asm, ffi::c_int, io, ptr};

use super::Answer;

/// Memory to run on.
#[derive(Debug)]
pub(in super::super) struct Stack(ptr::NonNull<u8>);

/// What runs here is a few calls deep.
const SIZE: usize = 64 << 10;
/// Below it nothing can be written, whatever the size of a page is here.
const GUARD: usize = 64 << 10;

// SAFETY: memory that belongs to this value alone, and is written only by a process that has a copy of it.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    pub(in super::super) fn new() -> io::Result<Stack> {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new memory at a place of the kernel's choice.
        let memory = unsafe { libc::mmap(ptr::null_mut(), GUARD + SIZE, libc::PROT_NONE, kind, -1, 0) };
        let is_there = memory != libc::MAP_FAILED;
        let stack = ptr::NonNull::new(memory.cast::<u8>()).filter(|_| is_there).map(Stack);
        let stack = stack.ok_or_else(io::Error::last_os_error)?;
        // SAFETY: the upper part of what was just mapped.
        let opened = unsafe {
            libc::mprotect(memory.cast::<u8>().add(GUARD).cast(), SIZE, libc::PROT_READ | libc::PROT_WRITE)
        };
        if opened < 0 { Err(io::Error::last_os_error()) } else { Ok(stack) }
    }

    /// Where one begins: stacks grow downwards. A page's end is as round as any architecture wants it.
    fn top(&self) -> *mut u8 {
        // SAFETY: one past the end of the mapping.
        unsafe { self.0.as_ptr().add(GUARD + SIZE) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size. Who runs on it does so in a copy of this memory.
        unsafe { libc::munmap(self.0.as_ptr().cast(), GUARD + SIZE) };
    }
}

/// How long two processes share their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Together {
    /// To the end of one.
    Always,
    /// Until the child becomes another program or ends; the parent stands still until then.
    UntilExec,
}

/// Starts a process that shares this one's memory, and returns in it. The parent goes on in `parent`, on that stack, with
/// the child's number.
///
/// An error comes back to the one process that there is then.
///
/// Only for a process that is a copy with a single thread and holds back all signals; see the head of this file. `parent`
/// may only make calls of this module, on what nobody changes any more.
pub(in super::super) fn part<T: Sync>(
    together: Together,
    stack: &Stack,
    parent: extern "C" fn(&T, c_int) -> !,
    with: &T,
) -> Answer {
    let until = if together == Together::UntilExec { libc::CLONE_VFORK } else { 0 };
    let flags = libc::CLONE_VM | until | libc::SIGCHLD;
    // SAFETY: `parent` takes such a reference and a number; the value lives as long as the memory does, because nobody
    // returns to whoever owns it but to become another program or to end.
    super::answer(unsafe { clone(flags, stack.top(), parent as *const u8, ptr::from_ref(with).cast()) })
        .map(drop)
}

/// The child has the registers and the stack of its parent, and gets a zero. The parent uses no stack before it has the new one.
#[cfg(target_arch = "x86_64")]
unsafe fn clone(flags: c_int, top: *mut u8, parent: *const u8, with: *const u8) -> libc::c_long {
    let result;
    // SAFETY: a call without addresses; what `parent` needs is in registers that the kernel keeps. `call` pushes what the
    // convention wants on the stack, and `parent` does not return.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jle 2f",
            "mov rsp, r12",
            "mov rdi, r13",
            "mov esi, eax",
            "xor ebp, ebp",
            "call r14",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone => result,
            in("rdi") flags as usize, in("rsi") 0usize, in("rdx") 0usize, in("r10") 0usize, in("r8") 0usize,
            in("r12") top, in("r13") with, in("r14") parent,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn clone(flags: c_int, top: *mut u8, parent: *const u8, with: *const u8) -> libc::c_long {
    let result;
    // SAFETY: a call without addresses; what `parent` needs is in registers that the kernel keeps. `parent` does not return.
    unsafe {
        asm!(
            "svc 0",
            "cmp x0, 0",
            "b.le 2f",
            "mov sp, x9",
            "mov x1, x0",
            "mov x0, x10",
            "mov x29, xzr",
            "blr x11",
            "brk 1",
            "2:",
            in("x8") libc::SYS_clone,
            inlateout("x0") flags as usize => result,
            in("x1") 0usize, in("x2") 0usize, in("x3") 0usize, in("x4") 0usize,
            in("x9") top, in("x10") with, in("x11") parent,
        );
    }
    result
}
