//! The Unix sockets to which a process may connect: those that were granted, and those that are made inside.
//!
//! A filter cannot see a path, and a path can change after it was looked at. So no `connect` of such a sandbox is carried out for
//! the process: haft reads the address once, and connects with its own copy.
//!
//! - Sockets of other families, which end in the sandbox's own network, are connected as they are: haft has a copy of the
//!   descriptor.
//! - A granted socket is compared by its real path. The process's own socket is connected to it, so that all its options stay.
//! - A socket in a place of the sandbox's own is one of the sandbox if the process that listens is. That is known only once a
//!   connection stands, so haft makes it, asks the kernel for the listener, and then puts it in the place of the process's descriptor.
//! - Anything else is refused and told. So are abstract names; sockets for datagrams cannot be made at all.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::FileTypeExt, net::UnixStream},
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use rustix::fs::{Mode, OFlags};

use super::{
    seccomp::Reported,
    supervisor::{Call, Handler, Response},
    sys::{self, Answer, Errno},
};

/// The sockets that were refused, for the result of the call.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusedSockets(Arc<Mutex<BTreeSet<PathBuf>>>);

impl RefusedSockets {
    pub(super) fn all(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn add(&self, path: &Path) {
        let mut refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < REFUSAL_LIMIT && !ASKED_BY_LIBRARIES.iter().any(|place| path.starts_with(place)) {
            refused.insert(path.to_owned());
        }
    }
}

const REFUSAL_LIMIT: usize = 16;

/// Services that the C library asks by itself, and does without.
const ASKED_BY_LIBRARIES: [&str; 3] = ["/run/nscd", "/run/systemd", "/var/run/nscd"];

/// How many connections are being made at once.
const PENDING_LIMIT: usize = 64;
/// The longest address that the kernel takes.
const ADDRESS_BYTES: usize = size_of::<libc::sockaddr_storage>();
const FAMILY_BYTES: usize = size_of::<libc::sa_family_t>();

/// Connects for the processes of a sandbox.
pub(super) struct SocketConnector(Arc<SocketPolicy>);

/// What they may connect to.
struct SocketPolicy {
    /// As it was granted, and where that is.
    granted: Vec<(PathBuf, PathBuf)>,
    /// Places where a socket may be that was made inside.
    inside: Vec<PathBuf>,
    refused: RefusedSockets,
    pending: AtomicUsize,
}

impl SocketConnector {
    pub(super) fn new(granted: &[PathBuf], write: &[PathBuf], refused: RefusedSockets) -> SocketConnector {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let granted = granted.iter().map(|path| (path.clone(), real(path))).collect();
        let own = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
        let inside = write.iter().map(real).chain(own).collect();
        SocketConnector(Arc::new(SocketPolicy { granted, inside, refused, pending: AtomicUsize::new(0) }))
    }
}

impl Handler for SocketConnector {
    fn reported(&self) -> Vec<Reported> {
        vec![Reported::Always(libc::SYS_connect)]
    }

    fn handle(&mut self, call: Call) -> Option<Call> {
        if call.number() != libc::SYS_connect {
            return Some(call);
        }
        let policy = Arc::clone(&self.0);
        if policy.pending.fetch_add(1, SeqCst) >= PENDING_LIMIT {
            policy.pending.fetch_sub(1, SeqCst);
            call.respond(Response::Fail(libc::EAGAIN));
            return None;
        }
        // A connection may wait for a listener. Without a thread the call is dropped, and fails.
        let thread = thread::Builder::new().name("haft-connect".to_owned());
        let spawned = thread.spawn(move || {
            let response = match policy.connect(&call) {
                Ok(()) => Response::Return(0),
                Err(errno) => Response::Fail(errno.0),
            };
            call.respond(response);
            policy.pending.fetch_sub(1, SeqCst);
        });
        if spawned.is_err() {
            self.0.pending.fetch_sub(1, SeqCst);
        }
        None
    }
}

impl SocketPolicy {
    fn connect(&self, call: &Call) -> Answer {
        let length = usize::try_from(call.number_at(2)).map_err(|_| Errno(libc::EINVAL))?;
        if !(FAMILY_BYTES..=ADDRESS_BYTES).contains(&length) {
            return Err(Errno(libc::EINVAL));
        }
        let address = call.read_bytes(call.argument(1), length)?;
        let socket = sys::copy_descriptor(process(call)?, call.number_at(0))?;
        if !call.is_waiting() {
            return Err(Errno(libc::ESRCH));
        }
        if sys::socket_option(&socket, libc::SO_DOMAIN)? != libc::AF_UNIX {
            return sys::connect(socket.as_raw_fd(), &address);
        }
        if sys::socket_option(&socket, libc::SO_TYPE)? != libc::SOCK_STREAM {
            return Err(Errno(libc::EPERM));
        }
        self.connect_to(call, &socket, path(&address)?)
    }

    fn connect_to(&self, call: &Call, socket: &OwnedFd, path: &Path) -> Answer {
        let resolved = call.resolve_target(libc::AT_FDCWD, path);
        let is_granted = |(named, real): &&(PathBuf, PathBuf)| {
            path == named || resolved.as_ref().is_ok_and(|resolved| resolved == real)
        };
        if let Some((_, real)) = self.granted.iter().find(is_granted) {
            return sys::connect(socket.as_raw_fd(), &by_descriptor(&open(real)?));
        }
        let resolved = resolved?;
        let place = call.place(&resolved)?;
        if !self.inside.iter().any(|inside| resolved.starts_with(inside)) {
            return self.refuse(&resolved, &place);
        }
        self.connect_inside(call, socket, &resolved, &place)
    }

    /// Connects to a socket that may be of the sandbox, and hands the connection in if it is.
    fn connect_inside(&self, call: &Call, socket: &OwnedFd, path: &Path, place: &OwnedFd) -> Answer {
        let stream = UnixStream::connect(in_proc(place)).map_err(|err| errno(&err))?;
        let listener = sys::peer_process(&stream)?;
        let namespace = |process: i32| fs::read_link(format!("/proc/{process}/ns/pid"));
        let is_ours = match (namespace(listener), namespace(call.thread())) {
            (Ok(theirs), Ok(ours)) => theirs == ours,
            _ => false,
        };
        if !is_ours || !call.is_waiting() {
            return self.refuse(path, place);
        }
        let flags = rustix::fs::fcntl_getfl(socket).map_err(|errno| Errno(errno.raw_os_error()))?;
        stream.set_nonblocking(flags.contains(OFlags::NONBLOCK)).map_err(|err| errno(&err))?;
        let number = call.number_at(0);
        call.replace_descriptor(number, &stream.into(), closes_on_exec(call, number))
    }

    fn refuse(&self, path: &Path, place: &OwnedFd) -> Answer {
        let is_socket = File::from(place.try_clone().map_err(|err| errno(&err))?)
            .metadata()
            .is_ok_and(|facts| facts.file_type().is_socket());
        if !is_socket {
            return Err(Errno(libc::ECONNREFUSED));
        }
        self.refused.add(path);
        Err(Errno(libc::EACCES))
    }
}

/// The path in an address of a Unix socket. Abstract names are none.
fn path(address: &[u8]) -> Answer<&Path> {
    let (family, rest) = address.split_at(FAMILY_BYTES);
    if family != (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes() {
        return Err(Errno(libc::EINVAL));
    }
    let end = memchr::memchr(0, rest).unwrap_or(rest.len());
    if end == 0 {
        return Err(Errno(libc::EPERM));
    }
    Ok(Path::new(OsStr::from_bytes(&rest[..end])))
}

/// The process of the calling thread: its descriptors are those of its threads.
fn process(call: &Call) -> Answer<i32> {
    let status = fs::read_to_string(format!("/proc/{}/status", call.thread())).map_err(|err| errno(&err))?;
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|number| number.trim().parse().ok()).ok_or(Errno(libc::ESRCH))
}

fn closes_on_exec(call: &Call, number: i32) -> bool {
    let info = fs::read_to_string(format!("/proc/{}/fdinfo/{number}", call.thread())).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_CLOEXEC != 0)
}

/// A socket's place, without access to it.
fn open(path: &Path) -> Answer<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| Errno(errno.raw_os_error()))
}

fn in_proc(place: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", place.as_raw_fd())
}

/// The address that leads to what a descriptor stands for: short, however long the path is.
fn by_descriptor(place: &OwnedFd) -> Vec<u8> {
    let mut address = (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes().to_vec();
    address.extend(in_proc(place).into_bytes());
    address.push(0);
    address
}

fn errno(err: &io::Error) -> Errno {
    Errno(err.raw_os_error().unwrap_or(libc::EIO))
}
