//! The paths that a system call changes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use libc::c_long;

use super::super::{
    seccomp::Reported,
    supervisor::Call,
    sys::{Answer, Errno},
};

/// A path that a call changes, links resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) path: PathBuf,
    pub(super) change: Change,
}

/// How a call changes a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Opens a file for writing, and perhaps creates it.
    Open,
    /// Creates a directory.
    Directory,
    /// Creates anything else there: a link, a device.
    Entry,
    /// Moves something there.
    Arrival { from: PathBuf },
    /// Removes it, or moves it away.
    Departure,
    /// Makes a second name for it.
    SecondName,
}

/// Flags with which `open` writes or creates.
const WRITES: u32 = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;
/// What is opened without a name, and so creates none.
const NAMELESS: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;

/// Calls that create or write names.
pub(super) fn creating() -> Vec<Reported> {
    let always = [
        libc::SYS_openat2,
        libc::SYS_mkdirat,
        libc::SYS_mknodat,
        libc::SYS_symlinkat,
        libc::SYS_linkat,
        libc::SYS_renameat,
        libc::SYS_renameat2,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mknod,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename,
    ];
    let opening = [
        Reported::AnyBit(libc::SYS_openat, 2, WRITES),
        #[cfg(target_arch = "x86_64")]
        Reported::AnyBit(libc::SYS_open, 1, WRITES),
    ];
    always.map(Reported::Always).into_iter().chain(opening).collect()
}

/// Calls that remove names, or empty files.
pub(super) fn removing() -> Vec<Reported> {
    let calls = [
        libc::SYS_unlinkat,
        libc::SYS_truncate,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rmdir,
    ];
    calls.map(Reported::Always).to_vec()
}

/// What a call changes.
///
/// # Errors
/// What the kernel would say of its paths.
pub(super) fn touched(call: &Call) -> Answer<Vec<Touched>> {
    let here = libc::AT_FDCWD;
    match call.number() {
        libc::SYS_openat => opened(call, call.number_at(0), 1, call.number_at(2)),
        libc::SYS_openat2 => opened(call, call.number_at(0), 1, flags_in_memory(call)?),
        libc::SYS_mkdirat => named(call, call.number_at(0), 1, Change::Directory),
        libc::SYS_mknodat => named(call, call.number_at(0), 1, Change::Entry),
        libc::SYS_symlinkat => named(call, call.number_at(1), 2, Change::Entry),
        libc::SYS_linkat => linked(call, (call.number_at(0), 1), (call.number_at(2), 3)),
        libc::SYS_renameat | libc::SYS_renameat2 => renamed(call),
        libc::SYS_unlinkat if call.number_at(2) & libc::AT_REMOVEDIR != 0 => {
            emptied(call, call.number_at(0), 1)
        }
        libc::SYS_unlinkat => named(call, call.number_at(0), 1, Change::Departure),
        libc::SYS_truncate => opened(call, here, 0, libc::O_WRONLY),
        other => older(call, other),
    }
}

#[cfg(target_arch = "x86_64")]
fn older(call: &Call, number: c_long) -> Answer<Vec<Touched>> {
    let here = libc::AT_FDCWD;
    match number {
        libc::SYS_open => opened(call, here, 0, call.number_at(1)),
        libc::SYS_creat => opened(call, here, 0, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC),
        libc::SYS_mkdir => named(call, here, 0, Change::Directory),
        libc::SYS_mknod => named(call, here, 0, Change::Entry),
        libc::SYS_symlink => named(call, here, 1, Change::Entry),
        libc::SYS_link => linked(call, (here, 0), (here, 1)),
        libc::SYS_rename => moved(call, (here, 0), (here, 1), 0),
        libc::SYS_unlink => named(call, here, 0, Change::Departure),
        libc::SYS_rmdir => emptied(call, here, 0),
        _ => Ok(Vec::new()),
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: &Call, _: c_long) -> Answer<Vec<Touched>> {
    Ok(Vec::new())
}

/// A descriptor from which a relative path starts, and the argument that has the path.
type Named = (i32, usize);

fn named(call: &Call, directory: i32, argument: usize, change: Change) -> Answer<Vec<Touched>> {
    let path = call.read_path(call.argument(argument))?;
    Ok(vec![Touched { path: call.resolve(directory, &path)?, change }])
}

/// The kernel removes no directory that something is in, and programs try that all the time.
fn emptied(call: &Call, directory: i32, argument: usize) -> Answer<Vec<Touched>> {
    let mut touched = named(call, directory, argument, Change::Departure)?;
    touched.retain(|touched| fs::read_dir(&touched.path).is_ok_and(|mut entries| entries.next().is_none()));
    Ok(touched)
}

fn opened(call: &Call, directory: i32, argument: usize, flags: i32) -> Answer<Vec<Touched>> {
    if flags & libc::O_PATH != 0 || flags & NAMELESS != 0 || flags as u32 & WRITES == 0 {
        return Ok(Vec::new());
    }
    let path = call.read_path(call.argument(argument))?;
    let is_exclusive = flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL;
    let path = match is_exclusive || flags & libc::O_NOFOLLOW != 0 {
        true => call.resolve(directory, &path)?,
        false => call.resolve_target(directory, &path)?,
    };
    Ok(vec![Touched { path, change: Change::Open }])
}

fn flags_in_memory(call: &Call) -> Answer<i32> {
    let flags = call.read_bytes(call.argument(2), size_of::<u64>())?;
    let flags = u64::from_ne_bytes(flags.try_into().map_err(|_| Errno(libc::EFAULT))?);
    Ok(flags as i32)
}

/// A second name is a way to write what has the first.
fn linked(call: &Call, old: Named, new: Named) -> Answer<Vec<Touched>> {
    let mut touched = named(call, new.0, new.1, Change::Entry)?;
    let path = call.read_path(call.argument(old.1))?;
    // Without a path it is an open file, which was judged when it was opened.
    if !path.as_os_str().is_empty() {
        let path = call.resolve_target(old.0, &path)?;
        touched.push(Touched { path, change: Change::SecondName });
    }
    Ok(touched)
}

fn renamed(call: &Call) -> Answer<Vec<Touched>> {
    let flags = if call.number() == libc::SYS_renameat2 { call.number_at(4) as u32 } else { 0 };
    moved(call, (call.number_at(0), 1), (call.number_at(2), 3), flags)
}

fn moved(call: &Call, old: Named, new: Named, flags: u32) -> Answer<Vec<Touched>> {
    let real = |(directory, argument): Named| {
        let path = call.read_path(call.argument(argument))?;
        call.resolve(directory, &path)
    };
    let (old, new) = (real(old)?, real(new)?);
    let arrival = |path: &Path, from: &Path| Touched {
        path: path.to_owned(),
        change: Change::Arrival { from: from.to_owned() },
    };
    let back = if flags & libc::RENAME_EXCHANGE != 0 {
        arrival(&old, &new)
    } else {
        Touched { path: old.clone(), change: Change::Departure }
    };
    Ok(vec![arrival(&new, &old), back])
}
