//! From what is wanted to what is done: every path resolved, everything opened and allocated that the new process will need.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{CString, OsStr},
    fs, io,
    net::TcpListener,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use haft_tool::ResourceLimits;

use super::{
    Confinement, Loopback, Network, SandboxError, Support,
    agent::{NetworkAgent, NetworkRequest},
    files::Scope,
    hosts,
    landlock::Landlock,
    limits::{KillSwitch, Watched},
    mounts::{Closed, MOST, Mounts, Temporary},
    name_watch::{Baseline, WatchScope},
    network,
    protected::{Names, between, code_places},
    readable,
    report::{Report, Step},
    resolver,
    seccomp::{Filter, Sockets},
    single_files::SingleFiles,
    supervisor::Handlers,
    sys::{self, Answer, Errno, Stack, c_string},
};
use crate::proxy::ProxySockets;

/// Everything that the new process needs to confine itself. It only reads it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) report: Report,
    /// None where there are no namespaces.
    pub(super) mounts: Option<Mounts>,
    pub(super) landlock: Option<Landlock>,
    pub(super) filter: Option<Filter>,
    pub(super) limits: ResourceLimits,
    pub(super) cwd: CString,
    pub(super) user_map: Vec<u8>,
    pub(super) group_map: Vec<u8>,
    pub(super) has_own_network: bool,
    /// The network that it shares, which others made.
    pub(super) beside: Option<Arc<Loopback>>,
    /// What the outer process and init run on, once they have a child.
    pub(super) stacks: [Stack; 2],
    /// Where the words that this process was started with are in memory: its arguments and its variables.
    pub(super) own_words: [(usize, usize); 2],
    /// The descriptors that the outer process keeps, in order.
    pub(super) kept: Vec<RawFd>,
    /// Files that the command may make in directories that it may not change.
    pub(super) single_files: Arc<SingleFiles>,
    /// What is looked at when protected names appear. None for what writes nothing.
    pub(super) name_watch: Option<(WatchScope, Baseline)>,
    lifeline: Option<OwnedFd>,
    /// Over which sockets of its network come out, or a network for others to join.
    passage: Option<NetworkChannel>,
    /// Over which the root directory of the sandbox comes out, to be measured: our end and theirs.
    root: Option<[OwnedFd; 2]>,
    has_proxy: bool,
    /// The sockets that come out before the command starts.
    listeners: Vec<NetworkRequest>,
    /// The filter that reports calls to the supervisor, and the way on which its listener comes out: our end and theirs.
    reports: Option<(Filter, [OwnedFd; 2])>,
    variables: Vec<(String, String)>,
}

/// The two ends of what leads to the outer process: ours and theirs.
#[derive(Debug)]
struct NetworkChannel {
    agent: Arc<NetworkAgent>,
    theirs: OwnedFd,
}

impl NetworkChannel {
    fn new() -> Result<NetworkChannel, SandboxError> {
        let [ours, theirs] = sys::socket_pair().map_err(no_descriptors)?;
        let agent = NetworkAgent::new(ours).map_err(|err| SandboxError::build("talk to it", err))?;
        Ok(NetworkChannel { agent: Arc::new(agent), theirs })
    }
}

impl Plan {
    pub(super) fn new(
        wanted: &Confinement,
        support: &Support,
        handlers: impl FnOnce(Scope, &Arc<SingleFiles>) -> Handlers,
    ) -> Result<(Plan, Handlers), SandboxError> {
        let places = Places::of(wanted)?;
        let has_namespaces = support.namespaces.is_ok();
        let is_closed = wanted.network != Network::On;
        let has_proxy = has_namespaces && matches!(wanted.network, Network::Hosts(_));
        let is_guarded = support.seccomp && support.notifications && !wanted.only_looks;
        let single_files = Arc::new(SingleFiles::open(&places.made)?);
        if !is_guarded && !single_files.is_empty() {
            return Err(cannot_make(&places.made));
        }
        let mut mounts = if has_namespaces { Some(places.mounts(support, is_guarded)?) } else { None };
        let handlers = if is_guarded {
            handlers(places.scope(wanted, mounts.as_ref()), &single_files)
        } else {
            Handlers::default()
        };
        let writes = !wanted.only_looks && places.write.iter().any(|root| root.is_dir());
        let name_watch = writes.then(|| places.name_watch(wanted, mounts.as_ref()));
        if let Some(mounts) = mounts.as_mut().filter(|_| has_proxy) {
            mounts.replaced = resolver::files(&places.deny_read)?;
        }
        let is_mute = is_closed && (!has_namespaces || (wanted.only_looks && support.seccomp && !has_proxy));
        let sockets = match is_mute {
            true => Sockets::None,
            false if wanted.has_streams(support) => Sockets::InternetAndStreams,
            false => Sockets::Internet,
        };
        let has_network = has_namespaces && is_closed && !is_mute;
        let beside = wanted.beside.clone().filter(|_| has_network && !has_proxy);
        let has_own_network = has_network && beside.is_none();
        let passage = has_network.then(NetworkChannel::new).transpose()?;
        let listeners = match &wanted.network {
            Network::Hosts(_) if has_proxy => {
                network::listeners(&hosts(&wanted.network)?, wanted.beside.as_deref())
            }
            _ => Vec::new(),
        };
        let root = if has_namespaces { Some(sys::socket_pair().map_err(no_descriptors)?) } else { None };
        let mut variables = if has_proxy { network::variables(&wanted.network) } else { Vec::new() };
        variables.extend(places.variables(mounts.as_ref()));
        let reports = handlers.filter().map(|filter| Ok((filter, sys::socket_pair()?))).transpose();
        let reports = reports.map_err(no_descriptors)?;
        let (user, group) = sys::own_ids();
        let map = |id: u32| format!("{id} {id} 1").into_bytes();
        let plan = Plan {
            report: Report::new().map_err(|err| SandboxError::build("share memory", err))?,
            landlock: support
                .landlock
                .map(|version| places.landlock(version, mounts.as_ref(), is_closed))
                .transpose()?,
            mounts,
            filter: support.seccomp.then(|| Filter::new(sockets)),
            limits: wanted.limits.clone(),
            cwd: string(&places.cwd)?,
            user_map: map(user),
            group_map: map(group),
            has_own_network,
            beside,
            has_proxy,
            stacks: [stack()?, stack()?],
            own_words: own_words(),
            kept: Vec::new(),
            single_files,
            name_watch,
            lifeline: None,
            passage,
            listeners,
            root,
            reports,
            variables,
        };
        Ok((plan, handlers))
    }

    /// The end of the lifeline that the caller keeps.
    pub(super) fn lifeline(&mut self) -> Result<OwnedFd, SandboxError> {
        let [theirs, ours] = sys::owned_pipe().map_err(no_descriptors)?;
        let requests = self.passage.iter().map(|passage| passage.theirs.as_raw_fd());
        self.kept = requests.chain([theirs.as_raw_fd()]).collect();
        self.kept.sort_unstable();
        self.lifeline = Some(theirs);
        Ok(ours)
    }

    /// The end that the outer process watches.
    pub(super) fn lifeline_end(&self) -> RawFd {
        self.lifeline.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Where the outer process takes requests.
    pub(super) fn requests_end(&self) -> RawFd {
        self.passage.as_ref().map_or(-1, |passage| passage.theirs.as_raw_fd())
    }

    /// What the command is told besides.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (&**name, &**value))
    }

    /// In the sandbox: makes the sockets of the proxy and passes them out, or the network itself.
    pub(super) fn pass_network(&self) -> Answer {
        let Some(NetworkChannel { theirs, .. }) = &self.passage else { return Ok(()) };
        if !self.has_proxy {
            return Loopback::pass(theirs.as_raw_fd());
        }
        self.listeners.iter().try_for_each(|listener| listener.answer(theirs.as_raw_fd()))
    }

    /// In the sandbox: passes its root directory out.
    pub(super) fn pass_root(&self) -> Answer {
        let Some([_, theirs]) = &self.root else { return Ok(()) };
        let root = sys::open(c"/", libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)?;
        let passed = sys::send_descriptor(theirs.as_raw_fd(), root);
        sys::close(root);
        passed
    }

    /// Outside: the sandbox, to be measured.
    pub(super) fn watched(&self, write: &[PathBuf], switch: Arc<KillSwitch>) -> io::Result<Watched> {
        let leader = self.report.leader();
        let watched = match (&self.root, &self.mounts) {
            (Some([ours, _]), Some(mounts)) => {
                let root = sys::receive_descriptor(ours)?;
                Watched::inside(&root, mounts.private(), mounts.has_processes, leader, switch)?
            }
            _ => Watched::session(leader, switch),
        };
        Ok(watched.bounded(self.limits.clone(), write.to_vec()))
    }

    /// In the command, last of all: has calls reported from here on, and passes the listener out.
    pub(super) fn report_calls(&self) -> Answer {
        let Some((filter, [_, theirs])) = &self.reports else { return Ok(()) };
        let listener = filter.enforce_with_listener()?;
        let passed = sys::send_descriptor(theirs.as_raw_fd(), listener);
        sys::close(listener);
        passed
    }

    /// Outside: takes the listener of the calls that are reported.
    pub(super) fn reports(&self) -> Result<Option<OwnedFd>, SandboxError> {
        let Some((_, [ours, _])) = &self.reports else { return Ok(None) };
        let listener = sys::receive_descriptor(ours);
        listener.map(Some).map_err(|errno| SandboxError::build("have its system calls reported", errno))
    }

    /// Outside: takes the sockets.
    pub(super) fn proxy_sockets(&self) -> Result<Option<ProxySockets>, SandboxError> {
        let Some(NetworkChannel { agent, .. }) = self.passage.as_ref().filter(|_| self.has_proxy) else {
            return Ok(None);
        };
        let mut received = self.listeners.iter().map(|_| agent.received());
        let mut fixed = || received.next().unwrap_or(Err(Errno(libc::EPIPE)));
        let failed = |errno: Errno| SandboxError::Proxy(errno.into());
        Ok(Some(ProxySockets {
            datagrams: fixed().map_err(failed)?.into(),
            dns: fixed().map_err(failed)?.into(),
            proxy: fixed().map_err(failed)?.into(),
            // Where something else listens already, or the kernel has no such address, there is one less.
            relays: received.flatten().map(TcpListener::from).collect(),
            agent: Arc::clone(agent),
        }))
    }

    /// Outside: the network that it is in, if others may join it.
    pub(super) fn loopback(&self) -> Result<Option<Arc<Loopback>>, SandboxError> {
        let Some(NetworkChannel { agent, .. }) = self.passage.as_ref().filter(|_| !self.has_proxy) else {
            return Ok(None);
        };
        let failed = |err: io::Error| SandboxError::build("share the network", err);
        let joined = match &self.beside {
            Some(beside) => beside.by_way_of(Arc::clone(agent)).map_err(failed)?,
            None => Loopback::receive(Arc::clone(agent)).map_err(|errno| failed(errno.into()))?,
        };
        Ok(Some(Arc::new(joined)))
    }

    /// What failed in the new process, in words.
    pub(super) fn failure(&self) -> Option<SandboxError> {
        let (step, words, item, errno) = self.report.failure()?;
        let path = match (step, &self.mounts) {
            (Step::Write, Some(mounts)) => mounts.write.get(item),
            (Step::Names, Some(mounts)) => mounts.closed.get(item).map(|(path, _)| path),
            (Step::Directory, _) => Some(&self.cwd),
            _ => None,
        };
        let path = path.map(|path| format!(" {}", path.to_string_lossy())).unwrap_or_default();
        Some(SandboxError::build(format!("{words}{path}"), errno))
    }
}

/// The real paths of a policy.
struct Places {
    cwd: PathBuf,
    /// None inside another.
    write: Vec<PathBuf>,
    /// Single files that are not there yet.
    made: Vec<PathBuf>,
    /// What may be read besides; none if that is everything.
    read: Option<Vec<PathBuf>>,
    deny_read: Vec<PathBuf>,
    /// The Unix sockets that it may connect to.
    sockets: Vec<PathBuf>,
    home: Option<PathBuf>,
    only_looks: bool,
}

/// All that may be read, where that is not everything. What is not there needs no place.
fn readable_places(given: &[PathBuf], write: &[PathBuf], cwd: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = given.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let directory = places
        .iter()
        .chain(write)
        .filter(|root| cwd.starts_with(root))
        .min_by_key(|root| root.as_os_str().len());
    let needed = readable::needed(directory.map_or(cwd, PathBuf::as_path), home);
    places.extend(needed);
    places.sort();
    places.dedup_by(|inner, outer| inner.starts_with(outer));
    places
}

/// A path that is mounted once more, and whether it is a directory.
type Mounted = (CString, bool);

/// Nothing in these is anybody's to give.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

impl Places {
    fn of(wanted: &Confinement) -> Result<Places, SandboxError> {
        let cwd = real("enter", &wanted.cwd)?;
        let mut write = Vec::new();
        for path in &wanted.write {
            write.push(writable(path)?);
        }
        let mut made = Vec::new();
        for path in &wanted.make {
            let place = makeable(path)?;
            // What is there by now is written like the rest.
            let is_there = fs::symlink_metadata(&place).is_ok();
            if is_there { &mut write } else { &mut made }.push(place);
        }
        write.sort();
        write.dedup_by(|inner, outer| inner.starts_with(outer));
        if write.len() > MOST {
            return Err(SandboxError::Policy(format!("at most {MOST} directories can be given for writing")));
        }
        made.retain(|path| !write.iter().any(|root| path.starts_with(root)));
        made.sort();
        made.dedup();
        let mut deny_read = Vec::new();
        for path in &wanted.deny_read {
            deny_read.extend(denied(path)?);
        }
        deny_read.sort();
        deny_read.dedup_by(|inner, outer| inner.starts_with(outer));
        let home = wanted.home.as_ref().and_then(|home| home.canonicalize().ok());
        let read = wanted.read.as_ref().map(|given| readable_places(given, &write, &cwd, home.as_deref()));
        let sockets = wanted.sockets.iter().flatten().filter_map(|path| path.canonicalize().ok()).collect();
        let only_looks = wanted.only_looks;
        Places { cwd, write, made, read, deny_read, sockets, home, only_looks }.agree()
    }

    /// What is given for writing cannot be in what may not be read.
    fn agree(self) -> Result<Places, SandboxError> {
        let given = self.write.iter().chain(&self.made);
        let pairs = given.flat_map(|write| self.deny_read.iter().map(move |denied| (write, denied)));
        if let Some((write, denied)) = pairs.into_iter().find(|(write, denied)| write.starts_with(denied)) {
            let (write, denied) = (write.display(), denied.display());
            let words = format!(
                "{write} may be written, but it is in {denied}, which may not be read; deny less, or give less"
            );
            return Err(SandboxError::Policy(words));
        }
        Ok(self)
    }

    /// What is looked at when protected names appear.
    fn name_watch(&self, wanted: &Confinement, mounts: Option<&Mounts>) -> (WatchScope, Baseline) {
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let scope = WatchScope {
            roots: self.write.iter().filter(|root| root.is_dir()).cloned().collect(),
            home: self.home.clone(),
            frozen: closed_as(mounts, Closed::Frozen).collect(),
            permitted: wanted.permitted.iter().map(real).collect(),
            code: self.code_places(),
            words: Vec::new(),
            shelf: wanted.shelf.clone(),
        };
        (scope, Baseline::read(closed_as(mounts, Closed::Pinned)))
    }

    /// Places that settings of git name as code.
    fn code_places(&self) -> Vec<PathBuf> {
        self.write.iter().flat_map(|root| code_places(root, self.home.as_deref())).collect()
    }

    /// What the guard of protected names has to know.
    fn scope(&self, wanted: &Confinement, mounts: Option<&Mounts>) -> Scope {
        let closed = |kind| closed_as(mounts, kind).collect();
        let (frozen, pinned) = (closed(Closed::Frozen), closed(Closed::Pinned));
        let permitted = wanted.permitted.clone();
        let code = self.code_places();
        Scope {
            write: self.write.clone(),
            home: self.home.clone(),
            permitted,
            code,
            frozen,
            pinned,
            hidden: self.deny_read.clone(),
        }
    }

    fn mounts(&self, support: &Support, is_guarded: bool) -> Result<Mounts, SandboxError> {
        let mut closed = BTreeMap::new();
        for root in self.write.iter().filter(|root| root.is_dir()) {
            self.protect(root, is_guarded, &mut closed)?;
        }
        self.hide(&mut closed);
        let closed = outermost(closed).map(|(path, how)| Ok((string(&path)?, how)));
        Ok(Mounts {
            temporary: self.temporary()?,
            write: self.write.iter().map(|path| string(path)).collect::<Result<_, _>>()?,
            closed: closed.collect::<Result<_, SandboxError>>()?,
            replaced: Vec::new(),
            has_processes: support.processes,
        })
    }

    /// Closes the names that are code below a root, as far as they are there.
    fn protect(
        &self,
        root: &Path,
        is_guarded: bool,
        closed: &mut BTreeMap<PathBuf, Closed>,
    ) -> Result<(), SandboxError> {
        let names = Names::below(root, self.home.as_deref(), is_guarded)?;
        let is_hidden = |path: &Path| self.deny_read.iter().any(|denied| path.starts_with(denied));
        closed.extend(names.pinned.into_iter().map(|path| (path, Closed::Pinned)));
        closed.extend(names.frozen.into_iter().map(|path| (path, Closed::Frozen)));
        closed.retain(|path, _| !is_hidden(path));
        Ok(())
    }

    /// Hides what may not be read, and keeps it in its place.
    fn hide(&self, closed: &mut BTreeMap<PathBuf, Closed>) {
        for denied in &self.deny_read {
            for root in &self.write {
                for path in between(root, denied) {
                    closed.entry(path).or_insert(Closed::Pinned);
                }
            }
            let how = if denied.is_dir() { Closed::HiddenDirectory } else { Closed::HiddenFile };
            closed.insert(denied.clone(), how);
        }
    }

    /// `/tmp` and `/var/tmp`, unless they are given or taken as a whole, or nobody needs them.
    fn temporary(&self) -> Result<Vec<Temporary>, SandboxError> {
        let mut all = Vec::new();
        if self.only_looks {
            return Ok(all);
        }
        for mut temporary in temporaries() {
            let path = PathBuf::from(&*temporary.path.to_string_lossy());
            let is_real = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
            let is_taken = self.write.iter().chain(&self.deny_read).any(|other| path.starts_with(other));
            if !is_real || is_taken {
                continue;
            }
            if let Some(read) =
                self.read.as_ref().filter(|read| !read.iter().any(|root| path.starts_with(root)))
            {
                (temporary.above, temporary.again) = self.named_in(&path, read)?;
            } else {
                (temporary.again, temporary.is_layered) = self.again_in(&path)?;
            }
            all.push(temporary);
        }
        Ok(all)
    }

    /// The entries of a directory that are mounted again, and whether there are others: those in which something is that
    /// the policy names, then as many as there may be.
    fn again_in(&self, directory: &Path) -> Result<(Vec<(CString, bool)>, bool), SandboxError> {
        let named = self.write.iter().chain(&self.deny_read).chain(&self.sockets).chain([&self.cwd]);
        let entry =
            |path: &PathBuf| Some(directory.join(path.strip_prefix(directory).ok()?.components().next()?));
        let mut entries: Vec<PathBuf> = named.filter_map(entry).collect();
        let found = Entries::of(directory);
        entries.extend(found.paths);
        let mut again: Vec<(CString, bool)> = Vec::new();
        for path in entries {
            let name = string(&path)?;
            if again.len() < MOST && !again.iter().any(|(other, _)| *other == name) {
                again.push((name, path.is_dir()));
            }
        }
        Ok((again, found.are_some))
    }

    /// The places in a directory that the policy names, and the directories above them, where nothing else may be read.
    fn named_in(
        &self,
        directory: &Path,
        read: &[PathBuf],
    ) -> Result<(Vec<CString>, Vec<Mounted>), SandboxError> {
        let named =
            self.write.iter().chain(&self.deny_read).chain(read).chain(&self.sockets).chain([&self.cwd]);
        let is_within = |path: &&PathBuf| path.starts_with(directory) && *path != directory;
        let mut named: Vec<&PathBuf> = named.filter(is_within).collect();
        named.sort();
        named.dedup_by(|inner, outer| inner.starts_with(&**outer));
        if named.len() > MOST {
            let words = format!("at most {MOST} places in {} can be given", directory.display());
            return Err(SandboxError::Policy(words));
        }
        let above: BTreeSet<PathBuf> = named.iter().flat_map(|path| between(directory, path)).collect();
        let above = above.iter().map(|path| string(path)).collect::<Result<_, _>>()?;
        let named = named.into_iter().map(|path| Ok((string(path)?, path.is_dir())));
        Ok((above, named.collect::<Result<_, SandboxError>>()?))
    }

    fn landlock(
        &self,
        version: u32,
        mounts: Option<&Mounts>,
        closed: bool,
    ) -> Result<Landlock, SandboxError> {
        let everything = [PathBuf::from("/")];
        let read = self.read.as_deref().unwrap_or(&everything);
        let Some(mounts) = mounts else {
            return Landlock::alone(version, read, &self.write, &self.deny_read, closed);
        };
        let path = |temporary: &Temporary| PathBuf::from(&*temporary.path.to_string_lossy());
        let temporary: Vec<PathBuf> = mounts.temporary.iter().map(path).collect();
        Landlock::behind_mounts(version, read, &self.write, &temporary)
    }

    /// Where temporary files go, if not where everybody thinks.
    fn variables(&self, mounts: Option<&Mounts>) -> Option<(String, String)> {
        let is_private = mounts.is_some_and(|mounts| mounts.temporary.iter().any(|one| one.path == c"/tmp"));
        let is_given = self.write.iter().any(|path| Path::new("/tmp").starts_with(path));
        let place = if is_private || is_given { None } else { mounts.map(|_| "/dev/shm") };
        place.map(|place| ("TMPDIR".to_owned(), place.to_owned()))
    }
}

/// The places that are closed in a way.
fn closed_as(mounts: Option<&Mounts>, wanted: Closed) -> impl Iterator<Item = PathBuf> {
    let is_wanted = move |(path, how): &(CString, Closed)| {
        (*how == wanted).then(|| PathBuf::from(OsStr::from_bytes(path.as_bytes())))
    };
    mounts.into_iter().flat_map(|mounts| &mounts.closed).filter_map(is_wanted)
}

fn temporaries() -> [Temporary; 2] {
    let tmp = Temporary {
        path: c"/tmp",
        upper: c"/dev/shm/tmp",
        work: c"/dev/shm/tmp-work",
        options: c"lowerdir=/tmp,upperdir=/dev/shm/tmp,workdir=/dev/shm/tmp-work,userxattr",
        above: Vec::new(),
        again: Vec::new(),
        is_layered: false,
    };
    let var_tmp = Temporary {
        path: c"/var/tmp",
        upper: c"/dev/shm/var",
        work: c"/dev/shm/var-work",
        options: c"lowerdir=/var/tmp,upperdir=/dev/shm/var,workdir=/dev/shm/var-work,userxattr",
        above: Vec::new(),
        again: Vec::new(),
        is_layered: false,
    };
    [tmp, var_tmp]
}

/// Some entries of a directory for temporary files, or all.
struct Entries {
    paths: Vec<PathBuf>,
    are_some: bool,
}

/// Up to so many, all are mounted again; of more, only the latest that the user could change, found among so many.
const ALL: usize = 40;
const LATEST: usize = 4;
const LOOKED_AT: usize = 64;

impl Entries {
    fn of(directory: &Path) -> Entries {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(LOOKED_AT);
        // Nothing is behind a socket or a pipe here, and a link leads to something that is elsewhere.
        let is_plain =
            |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file());
        let entries: Vec<fs::DirEntry> = entries.filter(is_plain).collect();
        if entries.len() <= ALL {
            return Entries { paths: entries.iter().map(fs::DirEntry::path).collect(), are_some: false };
        }
        let (user, _) = sys::own_ids();
        let dated = |entry| Some((changeable(entry, user)?, entry));
        let mut ours: Vec<(i64, &fs::DirEntry)> = entries.iter().filter_map(dated).collect();
        ours.sort_by_key(|(changed, _)| std::cmp::Reverse(*changed));
        Entries {
            paths: ours.into_iter().take(LATEST).map(|(_, entry)| entry.path()).collect(),
            are_some: true,
        }
    }
}

/// When an entry was changed, if this user could change it.
fn changeable(entry: &fs::DirEntry, user: u32) -> Option<i64> {
    let facts = entry.metadata().ok()?;
    let is_ours = facts.uid() == user || facts.mode() & 0o002 != 0;
    is_ours.then(|| facts.mtime())
}

/// Leaves out what is in something that is not there any more.
fn outermost(closed: BTreeMap<PathBuf, Closed>) -> impl Iterator<Item = (PathBuf, Closed)> {
    let mut gone: Option<PathBuf> = None;
    closed.into_iter().filter(move |(path, how)| {
        if gone.as_ref().is_some_and(|gone| path.starts_with(gone)) {
            return false;
        }
        if !matches!(how, Closed::Pinned | Closed::Frozen) {
            gone = Some(path.clone());
        }
        true
    })
}

fn real(what: &'static str, path: &Path) -> Result<PathBuf, SandboxError> {
    path.canonicalize().map_err(|err| SandboxError::path(what, path, err))
}

fn writable(path: &Path) -> Result<PathBuf, SandboxError> {
    let what = "open for writing";
    to_give(what, path, real(what, path)?)
}

/// What to do where no supervisor can make a single file.
fn cannot_make(made: &[PathBuf]) -> SandboxError {
    let directories: BTreeSet<_> =
        made.iter().filter_map(|path| path.parent()).map(|path| path.display().to_string()).collect();
    let directories = directories.into_iter().collect::<Vec<_>>().join(", ");
    SandboxError::Policy(format!(
        "this kernel cannot let a command make a single file; ask for permission to write its directory: {directories}"
    ))
}

/// Where a file will be. Its directory is there, or nothing can be: to make that as well would be to give what is above it.
fn makeable(path: &Path) -> Result<PathBuf, SandboxError> {
    let what = "make";
    if fs::symlink_metadata(path).is_ok() {
        return writable(path);
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return writable(path) };
    let parent = parent.canonicalize().map_err(|err| match err.kind() {
        io::ErrorKind::NotFound => SandboxError::path(
            what,
            path,
            "its directory is not there; make that first, with permission to write the directory above it",
        ),
        _ => SandboxError::path(what, path, err),
    })?;
    to_give(what, path, parent.join(name))
}

/// A place, if it can be given to anybody.
fn to_give(what: &'static str, path: &Path, place: PathBuf) -> Result<PathBuf, SandboxError> {
    if place.parent().is_none() {
        return Err(SandboxError::path(
            what,
            path,
            "it is the whole file system; name the directories that are meant",
        ));
    }
    if KERNEL.iter().any(|kernel| place.starts_with(kernel)) {
        return Err(SandboxError::path(what, path, "it is the kernel's"));
    }
    Ok(place)
}

/// Where a denied path really is. One that is not there denies nothing; one that cannot be looked at is an error.
fn denied(path: &Path) -> Result<Option<PathBuf>, SandboxError> {
    match path.canonicalize() {
        Ok(place) if place.parent().is_none() => {
            Err(SandboxError::path("hide", path, "it is the whole file system; nothing could run"))
        }
        Ok(place) => Ok(Some(place)),
        Err(err) if matches!(err.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(err) => Err(SandboxError::path("hide", path, err)),
    }
}

fn string(path: &Path) -> Result<CString, SandboxError> {
    c_string(path.as_os_str()).map_err(|_| SandboxError::path("name", path, "there is a NUL in it"))
}

fn stack() -> Result<Stack, SandboxError> {
    Stack::new().map_err(|err| SandboxError::build("have memory for a stack", err))
}

fn no_descriptors(errno: sys::Errno) -> SandboxError {
    SandboxError::build("open a pipe", errno)
}

/// Where the kernel sees this process's arguments and variables: the 48th to 51st field of its facts, counted after the
/// name, which may have spaces and brackets. Nowhere, if it does not say.
///
/// Asked once: they stay where they are.
fn own_words() -> [(usize, usize); 2] {
    static WORDS: OnceLock<[(usize, usize); 2]> = OnceLock::new();
    *WORDS.get_or_init(find_own_words)
}

fn find_own_words() -> [(usize, usize); 2] {
    let facts = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = facts.rsplit_once(')').map_or("", |(_, rest)| rest);
    let mut fields = after_name.split_ascii_whitespace().skip(45).map_while(|field| field.parse().ok());
    let mut next = || fields.next().unwrap_or(0);
    [(next(), next()), (next(), next())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_words_are_where_the_kernel_says() {
        let lengths =
            ["cmdline", "environ"].map(|name| fs::read(format!("/proc/self/{name}")).unwrap().len());
        assert_eq!(own_words().map(|(from, to)| to - from), lengths);
    }

    #[test]
    fn what_is_in_something_hidden_needs_no_mount() {
        let closed =
            [("/w/a", Closed::HiddenDirectory), ("/w/a/.git", Closed::Pinned), ("/w/ab", Closed::Frozen)];
        let left: Vec<_> = outermost(closed.map(|(path, how)| (path.into(), how)).into()).collect();
        assert_eq!(left, [("/w/a".into(), Closed::HiddenDirectory), ("/w/ab".into(), Closed::Frozen)]);
    }
}
