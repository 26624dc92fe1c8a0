//! A system call without the C library.
//!
//! The C library's `syscall` writes `errno`, a variable of the thread. Processes that share memory share it as well, and
//! would read each other's errors.

use std::{arch::asm, ffi::c_long};

/// The kernel's answer: what it gives, or an error's number below zero.
///
/// # Safety
/// What the kernel does with these arguments must be sound.
pub(super) unsafe fn call<const N: usize>(number: c_long, given: [usize; N]) -> c_long {
    const { assert!(N <= 6, "no system call takes more") };
    let mut all = [0; 6];
    all[..N].copy_from_slice(&given);
    // SAFETY: as promised by the caller.
    unsafe { six(number, all) }
}

#[cfg(target_arch = "x86_64")]
unsafe fn six(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> c_long {
    let result;
    // SAFETY: the kernel changes these registers and no others, and uses no stack of ours.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
unsafe fn six(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> c_long {
    let result;
    // SAFETY: the kernel changes this register and no other, and uses no stack of ours.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    result
}
