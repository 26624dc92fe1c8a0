//! What the process sees of the files.
//!
//! Everything is mounted read-only; what may be changed is mounted over it as it was; what is closed is mounted over that. A
//! mount holds for every way to a file: links, `..`, `/proc/self/root`. And what is mounted on cannot be renamed, so that
//! names stay where they are. Built in process 1, by calls alone.

use std::{
    ffi::{CStr, CString, OsStr},
    os::{fd::RawFd, unix::ffi::OsStrExt},
    path::PathBuf,
};

use libc::{MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY};

use super::{
    report::{Report, Step},
    sys::{self, Answer, Errno, HERE, NO_DEVICES, NO_SET_ID, READ_ONLY},
};

/// The mounts of a sandbox, in the order in which they are made.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// For temporary files.
    pub(super) temporary: Vec<Temporary>,
    /// What may be changed; at most [`MOST`].
    pub(super) write: Vec<CString>,
    /// What is closed, whatever is above another first.
    pub(super) closed: Vec<(CString, Closed)>,
    /// Files with words of ours in the place of the system's.
    pub(super) replaced: Vec<ReplacedFile>,
    /// Whether a `/proc` of its own can be had.
    pub(super) has_processes: bool,
}

/// A file that has other words inside than outside.
#[derive(Debug)]
pub(super) struct ReplacedFile {
    pub(super) path: CString,
    /// Where the words lie.
    pub(super) piece: &'static CStr,
    pub(super) words: Vec<u8>,
}

/// How a place is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// It can be changed, but not moved or removed.
    Pinned,
    /// It can be read.
    Frozen,
    /// A directory that cannot be opened is in its place.
    HiddenDirectory,
    /// A file that cannot be opened is in its place.
    HiddenFile,
}

/// A directory whose old contents can be read, and where new ones are private and end with the sandbox.
///
/// It is an empty one in which the old entries are mounted again, read-only like everything else. Where they are too many,
/// they are the lower layer of an overlay, which lets them be changed in private: a success that is none. So what the
/// user is most likely to change of them is mounted again there, too.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) path: &'static CStr,
    /// Where the new contents are, in memory.
    pub(super) upper: &'static CStr,
    pub(super) work: &'static CStr,
    pub(super) options: &'static CStr,
    /// Directories to be made for the entries.
    pub(super) above: Vec<CString>,
    /// The entries that are mounted once more, and whether they are directories; at most [`MOST`].
    pub(super) again: Vec<(CString, bool)>,
    /// Whether there are others.
    pub(super) is_layered: bool,
}

/// How many directories may be given for writing: their descriptors are kept in a fixed place.
pub(super) const MOST: usize = 64;

const TOUGH: u64 = NO_SET_ID | NO_DEVICES;
const DEVICES: [&CStr; 6] =
    [c"/dev/null", c"/dev/zero", c"/dev/full", c"/dev/random", c"/dev/urandom", c"/dev/tty"];
const LINKS: [(&CStr, &CStr); 5] = [
    (c"/proc/self/fd", c"/dev/fd"),
    (c"/proc/self/fd/0", c"/dev/stdin"),
    (c"/proc/self/fd/1", c"/dev/stdout"),
    (c"/proc/self/fd/2", c"/dev/stderr"),
    (c"pts/ptmx", c"/dev/ptmx"),
];

/// What a `/proc` of one's own still tells of others: their keys, and what they wait for.
const MACHINE_WIDE: [&CStr; 4] =
    [c"/proc/keys", c"/proc/key-users", c"/proc/timer_list", c"/proc/sched_debug"];

const SHARED_MEMORY: &CStr = c"/dev/shm";
/// Where the pieces lie. In the end shared memory is mounted over them, and nobody finds them any more: to take them away
/// instead would mean to wait until no processor looks at them.
const WORKSHOP: &CStr = SHARED_MEMORY;
const NO_DIRECTORY: &CStr = c"/dev/shm/directory";
const NO_FILE: &CStr = c"/dev/shm/file";

impl Mounts {
    /// Builds them, in a namespace of their own.
    pub(super) fn build(&self, report: &Report) -> Answer {
        report.at(Step::Root);
        sys::unshare(libc::CLONE_NEWNS)?;
        sys::make_private()?;
        // Copied before everything becomes read-only: a copy has what its original had.
        let devices = copies(DEVICES.iter().copied(), report, Step::Devices, false)?;
        let write = copies(self.write.iter().map(CString::as_c_str), report, Step::Write, true)?;
        report.at(Step::Root);
        sys::restrict_mount(HERE, c"/", READ_ONLY | TOUGH, true)?;
        report.at(Step::Devices);
        make_devices(&devices)?;
        if self.needs_workshop() {
            make_workshop()?;
        }
        report.at(Step::Processes);
        self.mount_processes()?;
        report.at(Step::Temporary);
        self.temporary.iter().try_for_each(Temporary::mount)?;
        self.replaced.iter().try_for_each(ReplacedFile::mount)?;
        self.open_for_writing(&write, report)?;
        self.close(report)?;
        report.at(Step::Devices);
        sys::mount(c"tmpfs", SHARED_MEMORY, MS_NOSUID | MS_NODEV, c"mode=1777,size=1g")?;
        sys::restrict_mount(HERE, c"/dev", READ_ONLY, false)
    }

    /// The directories that are its own and in memory.
    pub(super) fn private(&self) -> impl Iterator<Item = PathBuf> {
        let path = |path: &CStr| PathBuf::from(OsStr::from_bytes(path.to_bytes()));
        self.temporary.iter().map(|temporary| temporary.path).chain([SHARED_MEMORY]).map(path)
    }

    /// Whether anything is put together of pieces that have to lie somewhere.
    fn needs_workshop(&self) -> bool {
        !self.closed.is_empty()
            || !self.replaced.is_empty()
            || self.temporary.iter().any(|temporary| temporary.is_layered)
    }

    fn mount_processes(&self) -> Answer {
        let (kind, options) =
            if self.has_processes { (c"proc", c"") } else { (c"tmpfs", c"mode=555,size=4k") };
        sys::mount(kind, c"/proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, options)?;
        if self.has_processes { MACHINE_WIDE.iter().try_for_each(|path| empty(path)) } else { Ok(()) }
    }

    fn open_for_writing(&self, copies: &[RawFd], report: &Report) -> Answer {
        report.at(Step::Write);
        for (index, (path, copy)) in self.write.iter().zip(copies).enumerate() {
            report.item(index);
            sys::restrict_mount(*copy, c"", TOUGH, true)?;
            put(*copy, path)?;
        }
        Ok(())
    }

    fn close(&self, report: &Report) -> Answer {
        if self.closed.is_empty() {
            return Ok(());
        }
        report.at(Step::Names);
        // What is taken from it is read-only from here on. The layers above have a way of their own to it.
        sys::restrict_mount(HERE, WORKSHOP, READ_ONLY | TOUGH, false)?;
        for (index, (path, closed)) in self.closed.iter().enumerate() {
            report.item(index);
            put(closed.piece(path)?, path)?;
        }
        Ok(())
    }
}

impl ReplacedFile {
    fn mount(&self) -> Answer {
        sys::make_file(self.piece, 0o644)?;
        sys::write_file(self.piece, &self.words)?;
        let copy = restricted(self.piece, READ_ONLY | TOUGH)?;
        put(copy, &self.path)
    }
}

impl Closed {
    /// What is mounted over a path to close it.
    fn piece(self, path: &CStr) -> Answer<RawFd> {
        match self {
            Closed::Pinned => restricted(path, TOUGH),
            Closed::Frozen => restricted(path, READ_ONLY | TOUGH),
            Closed::HiddenDirectory => copy(NO_DIRECTORY, false),
            Closed::HiddenFile => copy(NO_FILE, false),
        }
    }
}

/// Puts nothing in the place of a file, if there is one.
fn empty(path: &CStr) -> Answer {
    let place = match sys::place(path) {
        Err(Errno(libc::ENOENT)) => return Ok(()),
        place => place?,
    };
    let put = copy(c"/dev/null", false).and_then(|copy| {
        let put = sys::put_mount(copy, place);
        sys::close(copy);
        put
    });
    sys::close(place);
    put
}

/// A copy of what is mounted at a path and below it, with less to be done.
fn restricted(path: &CStr, restriction: u64) -> Answer<RawFd> {
    let copy = copy(path, true)?;
    sys::restrict_mount(copy, c"", restriction, true)?;
    Ok(copy)
}

/// A copy of what is mounted at a path.
fn copy(path: &CStr, recursive: bool) -> Answer<RawFd> {
    let place = sys::place(path)?;
    let copy = sys::copy_mount(place, recursive);
    sys::close(place);
    copy
}

/// Copies of several; what is missing is left out if it is a device.
fn copies<'a>(
    paths: impl Iterator<Item = &'a CStr>,
    report: &Report,
    step: Step,
    must: bool,
) -> Answer<[RawFd; MOST]> {
    report.at(step);
    let mut copies = [-1; MOST];
    for (index, (path, slot)) in paths.zip(&mut copies).enumerate() {
        report.item(index);
        match copy(path, must) {
            Err(Errno(libc::ENOENT)) if !must => {}
            other => *slot = other?,
        }
    }
    Ok(copies)
}

/// Mounts a copy at a path.
fn put(copy: RawFd, path: &CStr) -> Answer {
    let place = sys::place(path)?;
    let put = sys::put_mount(copy, place);
    sys::close(place);
    sys::close(copy);
    put
}

/// A `/dev` with the devices that every program may have, and a place for shared memory.
fn make_devices(devices: &[RawFd]) -> Answer {
    let quiet = MS_NOSUID | MS_NOEXEC;
    sys::mount(c"tmpfs", c"/dev", quiet, c"mode=755,size=64k")?;
    for (path, copy) in DEVICES.iter().zip(devices).filter(|(_, copy)| **copy >= 0) {
        sys::make_file(path, 0o666)?;
        put(*copy, path)?;
    }
    LINKS.iter().try_for_each(|(target, path)| sys::link(target, path))?;
    sys::make_directory(c"/dev/pts", 0o755)?;
    // Without it there are no terminals inside, which some kernels insist on.
    let _ = sys::mount(c"devpts", c"/dev/pts", quiet, c"newinstance,ptmxmode=0666,mode=620");
    sys::make_directory(SHARED_MEMORY, 0o755)
}

fn make_workshop() -> Answer {
    sys::mount(c"tmpfs", WORKSHOP, MS_NOSUID | MS_NODEV, c"mode=700,size=2g")?;
    sys::make_directory(NO_DIRECTORY, 0)?;
    sys::make_file(NO_FILE, 0)
}

impl Temporary {
    fn mount(&self) -> Answer {
        let mut copies = [-1; MOST];
        for ((path, _), slot) in self.again.iter().zip(&mut copies) {
            *slot = copy(path, true).or_else(unless_gone)?;
        }
        // Where layers cannot be had, what is left out is left out.
        if !self.is_layered || self.mount_layers().is_err() {
            self.mount_plainly()?;
        }
        for ((path, _), copy) in self.again.iter().zip(copies).filter(|(_, copy)| *copy >= 0) {
            put(copy, path).map(|()| -1).or_else(unless_gone)?;
        }
        Ok(())
    }

    fn mount_layers(&self) -> Answer {
        sys::make_directory(self.upper, 0o1777)?;
        sys::make_directory(self.work, 0o700)?;
        sys::mount(c"overlay", self.path, MS_NOSUID | MS_NODEV, self.options)
    }

    /// An empty directory with places for the entries.
    fn mount_plainly(&self) -> Answer {
        sys::mount(c"tmpfs", self.path, MS_NOSUID | MS_NODEV, c"mode=1777,size=2g")?;
        let make = |(path, is_directory): &(CString, bool)| {
            if *is_directory { sys::make_directory(path, 0o755) } else { sys::make_file(path, 0o444) }
        };
        self.above.iter().try_for_each(|path| sys::make_directory(path, 0o755))?;
        self.again.iter().try_for_each(make)
    }
}

/// Temporary files come and go, and others of the same name come.
fn unless_gone(errno: Errno) -> Answer<RawFd> {
    if matches!(errno.0, libc::ENOENT | libc::ENOTDIR) { Ok(-1) } else { Err(errno) }
}
