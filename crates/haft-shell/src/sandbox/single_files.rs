//! Single files that a command may create outside of what it may change.
//!
//! Nothing stands in their place before. When the command opens one for writing, the supervisor opens it beneath the descriptor of its
//! directory, following no link, and hands the descriptor in: the kernel does not carry out the call, so exactly this file is made.
//! A mode that the command sets is set likewise. Removing and replacing change the directory, which was not given.
//!
//! In a directory that is private to the sandbox (its own `/tmp`) the command makes the file itself. It is copied out when the command
//! has ended.

use std::{
    ffi::{OsStr, OsString, c_int},
    fs::File,
    io, mem,
    os::{fd::OwnedFd, unix::fs::PermissionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rustix::fs::{CWD, Mode, OFlags, fchmod, fcntl_setfl, fstat, openat};

use super::{
    error::SandboxError,
    seccomp::Reported,
    supervisor::{Call, Handler, Response},
    sys::{Answer, Errno},
};

/// A file that may be made, by the directory that was open before the command started.
#[derive(Debug)]
struct SingleFile {
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

/// The files that a command may make.
#[derive(Debug, Default)]
pub(super) struct SingleFiles {
    files: Vec<SingleFile>,
    /// Files that the command makes in a directory of its own: their number, and that directory.
    private: Mutex<Vec<(usize, OwnedFd)>>,
    /// What could not be copied out, in words.
    failures: Mutex<Vec<String>>,
}

impl SingleFiles {
    /// Opens the directories of these paths, which are real.
    pub(super) fn open(paths: &[PathBuf]) -> Result<SingleFiles, SandboxError> {
        let open = |path: &PathBuf| {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(SandboxError::path("make", path, "it is no file"));
            };
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = openat(CWD, parent, flags, Mode::empty());
            let directory =
                directory.map_err(|err| SandboxError::path("make", path, io::Error::from(err)))?;
            Ok(SingleFile { path: path.clone(), directory, name: name.to_owned() })
        };
        let files = paths.iter().map(open).collect::<Result<_, _>>()?;
        Ok(SingleFiles { files, ..SingleFiles::default() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Copies out what was made in private directories. The command must have ended.
    pub(super) fn copy_out(&self) {
        let private = mem::take(&mut *lock(&self.private));
        for (number, directory) in private {
            let file = &self.files[number];
            match file.copy_from(&directory) {
                Err(err) if err.kind() != io::ErrorKind::NotFound => {
                    lock(&self.failures).push(format!("{} could not be made: {err}", file.path.display()));
                }
                _ => {}
            }
        }
    }

    /// Returns what could not be copied out, in words.
    pub(super) fn failures(&self) -> Vec<String> {
        lock(&self.failures).clone()
    }

    /// Notes that a file is made in a directory of the sandbox's own.
    fn add_private(&self, number: usize, directory: OwnedFd) {
        let mut private = lock(&self.private);
        if !private.iter().any(|(other, _)| *other == number) {
            private.push((number, directory));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Flags that a command may choose. With others the call goes on, and fails as the directory has it.
const FLAGS: OFlags = OFlags::ACCMODE
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::TRUNC)
    .union(OFlags::APPEND)
    .union(OFlags::NONBLOCK)
    .union(OFlags::SYNC)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::from_bits_retain(libc::O_LARGEFILE as u32));

impl SingleFile {
    /// Opens the file as a call wants it. `mode` is what a new file gets.
    fn open(&self, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let own = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let wanted = (flags | own).difference(OFlags::TRUNC);
        let open = |flags, mode| openat(&self.directory, &self.name, flags, mode);
        let fresh = Mode::from_raw_mode(0o600);
        let opened = match flags.contains(OFlags::CREATE) {
            true => open(wanted | OFlags::EXCL, fresh).map(|file| (file, true)),
            false => Err(rustix::io::Errno::EXIST),
        };
        let is_there =
            |err| err == rustix::io::Errno::EXIST && !flags.contains(OFlags::EXCL | OFlags::CREATE);
        let (file, is_new) = match opened {
            Err(err) if is_there(err) => (open(wanted.difference(OFlags::CREATE), Mode::empty())?, false),
            other => other?,
        };
        let facts = fstat(&file)?;
        if facts.st_mode & libc::S_IFMT != libc::S_IFREG || facts.st_nlink > 1 {
            return Err(io::Error::from_raw_os_error(libc::EACCES));
        }
        if is_new {
            fchmod(&file, Mode::from_raw_mode(mode & 0o777))?;
        } else if flags.contains(OFlags::TRUNC) {
            rustix::fs::ftruncate(&file, 0)?;
        }
        fcntl_setfl(&file, flags & (OFlags::APPEND | OFlags::NONBLOCK))?;
        Ok(file)
    }

    fn set_mode(&self, mode: u32) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = openat(&self.directory, &self.name, flags, Mode::empty())?;
        Ok(fchmod(&file, Mode::from_raw_mode(mode & 0o777))?)
    }

    /// Copies a file of the same name from another directory. What has appeared here meanwhile is left alone.
    fn copy_from(&self, directory: &OwnedFd) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let mut from = File::from(openat(directory, &self.name, flags, Mode::empty())?);
        let facts = from.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let mode = facts.permissions().mode() & 0o777;
        let mut to = File::from(self.open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)?);
        io::copy(&mut from, &mut to).map(drop)
    }
}

/// Answers the calls that make or change single files.
#[derive(Debug)]
pub(super) struct SingleFileHandler(pub(super) Arc<SingleFiles>);

/// What a call wants of a path.
enum Wish {
    Open { flags: OFlags, mode: u32 },
    Mode(u32),
}

/// A call's directory, the address of its path, and its wish.
type Request = (c_int, u64, Wish);

impl Handler for SingleFileHandler {
    fn reported(&self) -> Vec<Reported> {
        let writes = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC) as u32;
        vec![
            Reported::AnyBit(libc::SYS_openat, 2, writes),
            Reported::Always(libc::SYS_openat2),
            Reported::Always(libc::SYS_fchmodat),
            Reported::Always(libc::SYS_fchmodat2),
            #[cfg(target_arch = "x86_64")]
            Reported::AnyBit(libc::SYS_open, 1, writes),
            #[cfg(target_arch = "x86_64")]
            Reported::Always(libc::SYS_creat),
            #[cfg(target_arch = "x86_64")]
            Reported::Always(libc::SYS_chmod),
        ]
    }

    fn handle(&mut self, call: Call) -> Option<Call> {
        let Some((number, wish)) = self.find(&call) else { return Some(call) };
        let file = &self.0.files[number];
        match is_the_sandboxs_own(&call, file) {
            Ok(Some(directory)) => {
                self.0.add_private(number, directory);
                return Some(call);
            }
            Ok(None) => {}
            Err(_) => return Some(call),
        }
        let response = match wish {
            Wish::Open { flags, mode } => {
                let mode = mode & !umask(&call);
                file.open(flags, mode).map(|descriptor| Response::Descriptor {
                    descriptor,
                    closes_on_exec: flags.contains(OFlags::CLOEXEC),
                })
            }
            Wish::Mode(mode) => file.set_mode(mode).map(|()| Response::Return(0)),
        };
        // What was read of the process belongs to it only as long as it waits.
        if call.is_waiting() {
            call.respond(
                response.unwrap_or_else(|err| Response::Fail(err.raw_os_error().unwrap_or(libc::EIO))),
            );
        }
        None
    }
}

impl SingleFileHandler {
    /// The file that a call is about.
    fn find(&self, call: &Call) -> Option<(usize, Wish)> {
        let (directory, address, wish) = request(call).ok().flatten()?;
        let path = call.read_path(address).ok()?;
        let path = call.resolve_target(directory, &path).ok()?;
        let number = self.0.files.iter().position(|file| file.path == path)?;
        match wish {
            Wish::Open { flags, .. } if !FLAGS.contains(flags) => None,
            wish => Some((number, wish)),
        }
    }
}

fn request(call: &Call) -> Answer<Option<Request>> {
    let flags = |index| OFlags::from_bits_retain(call.number_at(index) as u32);
    let mode = |index| call.number_at(index) as u32;
    Ok(match call.number() {
        libc::SYS_openat => {
            Some((call.number_at(0), call.argument(1), Wish::Open { flags: flags(2), mode: mode(3) }))
        }
        libc::SYS_openat2 => open_how(call)?,
        libc::SYS_fchmodat | libc::SYS_fchmodat2 => {
            Some((call.number_at(0), call.argument(1), Wish::Mode(mode(2))))
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => {
            Some((libc::AT_FDCWD, call.argument(0), Wish::Open { flags: flags(1), mode: mode(2) }))
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
            Some((libc::AT_FDCWD, call.argument(0), Wish::Open { flags, mode: mode(1) }))
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod => Some((libc::AT_FDCWD, call.argument(0), Wish::Mode(mode(1)))),
        _ => None,
    })
}

/// The arguments of `openat2`. One that restricts how the path is resolved goes on.
fn open_how(call: &Call) -> Answer<Option<Request>> {
    let bytes = call.read_bytes(call.argument(2), 24)?;
    let field = |index: usize| -> Answer<u64> {
        let bytes = bytes.get(index * 8..index * 8 + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_ne_bytes).ok_or(Errno(libc::EFAULT))
    };
    let (flags, mode, resolve) = (field(0)?, field(1)?, field(2)?);
    let (Ok(flags), Ok(mode), 0) = (u32::try_from(flags), u32::try_from(mode), resolve) else {
        return Ok(None);
    };
    let wish = Wish::Open { flags: OFlags::from_bits_retain(flags), mode };
    Ok(Some((call.number_at(0), call.argument(1), wish)))
}

/// The file's directory in the sandbox, if it is another one there.
fn is_the_sandboxs_own(call: &Call, file: &SingleFile) -> Answer<Option<OwnedFd>> {
    let failed = |errno: rustix::io::Errno| Errno(errno.raw_os_error());
    let parent = file.path.parent().unwrap_or(Path::new("/"));
    let relative = parent.strip_prefix("/").unwrap_or(parent);
    let relative = if relative.as_os_str().is_empty() { OsStr::new(".") } else { relative.as_os_str() };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inside = openat(call.root()?, relative, flags, Mode::empty()).map_err(failed)?;
    let (here, there) = (fstat(&file.directory).map_err(failed)?, fstat(&inside).map_err(failed)?);
    Ok(((here.st_dev, here.st_ino) != (there.st_dev, there.st_ino)).then_some(inside))
}

/// The bits that the process takes from the modes of its new files.
fn umask(call: &Call) -> u32 {
    let status = std::fs::read_to_string(call.in_proc("status")).unwrap_or_default();
    let given = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    given.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(0o077)
}
