//! What the kernel lets a process do.
//!
//! A command is confined whether or not anybody understood it. [`Confinement`] says what it may do; [`Confinement::prepare`]
//! resolves, opens and allocates everything, so that all that can go wrong goes wrong before there is a process;
//! [`Prepared::apply`] hangs it on a [`Command`], which is then started as always. There is no second program: what has to
//! happen, happens in the new process before it becomes the command.
//!
//! ```no_run
//! use haft_shell::sandbox::{Confinement, Network};
//!
//! # #[allow(clippy::disallowed_methods)]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut command = std::process::Command::new("make");
//! let confinement = Confinement { write: vec!["/work/app".into()], ..Confinement::at("/work/app") };
//! let mut guard = confinement.prepare()?.apply(&mut command)?;
//! let mut child = command.spawn().map_err(|err| guard.explain(err))?;
//! guard.started()?;
//! println!("{}: {}", guard.level(), child.wait()?);
//! # Ok(())
//! # }
//! ```
//!
//! Three processes come of it. The *outer* one is the child that the caller knows: it waits, passes signals in and the end
//! out. Its child is *init*, process 1 of a namespace: it builds the file system, then reaps. The *command* is init's child.
//! When the caller dies, the outer one ends init; when init ends, the kernel ends everything in the namespace.

mod environment; //  what the command may know of ours
mod limits; //       how much it may use
mod new_directories; // what is made for it before
mod network; //      what it may reach
mod loopback; //     the servers that it may talk to besides
mod agent; //        what is done for haft in its network
mod sockets; //      the Unix sockets that it may connect to
mod resolver; //     where it looks names up
mod plan; //         from what is wanted to what is done
mod name_watch; //   names that appear without permission
mod protected; //    the names that are code
mod readable; //     what every program needs to read
mod single_files; // files that it may make elsewhere
mod mounts; //       what it sees of the files
mod landlock; //     the same again, by other means
mod seccomp; //      which system calls there are
mod supervisor; //   which system calls haft answers
mod files; //        the guard of the names that are code
mod child; //        the three processes
mod report; //       how they say what went wrong
mod sys; //          the kernel's calls
mod level; //        what holds
mod blocked; //      what was refused
mod error; //        why there is no sandbox
mod support; //      what the kernel here can do
mod foreground; //   a command that we wait for
#[cfg(test)]
mod tests;

use std::{
    ffi::OsStr,
    io,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex, PoisonError},
};

pub(crate) use agent::NetworkAgent;
pub use blocked::Blocked;
pub use environment::environment;
pub use error::SandboxError;
pub use files::{Attempt, Decision, Gatekeeper};
pub use foreground::Ended;
pub use haft_tool::ResourceLimits;
pub use level::Level;
pub use limits::{LimitExceeded, Resource, spare_memory};
pub use loopback::{Loopback, is_loopback};
pub use name_watch::{ChangeOutcome, ProtectedChange};
pub use network::Network;
pub use new_directories::NewDirectories;
pub use support::Support;

use crate::proxy::{Hosts, Proxy};
use environment::socket_variables;
use files::{FileGuard, Outcome, Scope};
use limits::{KillSwitch, Watched};
use name_watch::{Activity, Creations, NameWatch};
use plan::Plan;
use single_files::{SingleFileHandler, SingleFiles};
use sockets::{RefusedSockets, SocketConnector};
use supervisor::{Handlers, Supervisor};

/// What a process may do. Everything else it may not; reading it may everything unless [`read`](Confinement::read) says what.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// Where it starts.
    pub cwd: PathBuf,
    /// What it may change: these, and all below them but for the names that are code.
    pub write: Vec<PathBuf>,
    /// Files that it may make, in directories that are there and that it may not change otherwise.
    pub make: Vec<PathBuf>,
    /// Protected names that it may write, make or replace all the same, with all below; in what it may change.
    pub permitted: Vec<PathBuf>,
    /// What it may read besides what it may change, and besides what every program needs to start. `None`: everything.
    pub read: Option<Vec<PathBuf>>,
    /// What it may not even read.
    pub deny_read: Vec<PathBuf>,
    /// What it may reach.
    pub network: Network,
    /// The Unix sockets that it may connect to, besides those that are made in the sandbox. `None`: there are no Unix sockets
    /// at all, but for connected pairs. That is so as well where the kernel reports no system calls.
    pub sockets: Option<Vec<PathBuf>>,
    /// How much it may use.
    pub limits: ResourceLimits,
    /// Whether it had better not run than run with less than everything here.
    pub required: bool,
    /// The user's home: what is code there is protected as well.
    pub home: Option<PathBuf>,
    /// The directory for protected names that it makes without permission. Without one, `haft/set-aside` in the user's state.
    pub shelf: Option<PathBuf>,
    /// Whether it is known to change nothing and to talk to nobody. It then has no sockets at all instead of a network of its own,
    /// and finds places for temporary files as they are, which spares it a good part of its start.
    pub only_looks: bool,
    /// Decides about protected names that it attempts to create or change. Without one they are refused.
    pub gatekeeper: Option<Arc<dyn Gatekeeper>>,
    /// Whose loopback it shares, if it reaches nobody else. One of its own otherwise.
    pub beside: Option<Arc<Loopback>>,
}

impl Confinement {
    /// Reads everything, changes nothing, reaches nobody.
    pub fn at(cwd: impl Into<PathBuf>) -> Confinement {
        Confinement {
            cwd: cwd.into(),
            write: Vec::new(),
            make: Vec::new(),
            permitted: Vec::new(),
            read: None,
            deny_read: Vec::new(),
            network: Network::Off,
            sockets: None,
            limits: ResourceLimits::default(),
            required: false,
            home: None,
            shelf: None,
            only_looks: false,
            gatekeeper: None,
            beside: None,
        }
    }

    /// Makes everything ready that a process needs to confine itself.
    ///
    /// # Errors
    /// Whatever cannot be resolved or opened: a sandbox with a hole is none. With `required`, also what the kernel lacks.
    pub fn prepare(&self) -> Result<Prepared, SandboxError> {
        self.prepare_with(&Support::here())
    }

    /// The same with only so much of the kernel's support.
    fn prepare_with(&self, support: &Support) -> Result<Prepared, SandboxError> {
        let level = Level::of(support, &self.network, self.read.is_some());
        if self.required && !level.is_complete() {
            return Err(SandboxError::Required(level.to_string()));
        }
        hosts(&self.network)?;
        let refused = RefusedSockets::default();
        let mut guarded = None;
        let handlers = |scope, single: &_| {
            let (handlers, outcome, activity) = self.handlers(scope, single, support, &refused);
            guarded = Some((outcome, activity));
            handlers
        };
        let (plan, handlers) = Plan::new(self, support, handlers)?;
        let (outcome, activity) = guarded.unzip();
        let outcome = outcome.unwrap_or_default();
        Ok(Prepared { plan, level, confinement: self.clone(), handlers, outcome, refused, activity })
    }

    /// What answers system calls of the sandbox, in the order in which they are offered a call.
    fn handlers(
        &self,
        scope: Scope,
        single: &Arc<SingleFiles>,
        support: &Support,
        refused: &RefusedSockets,
    ) -> (Handlers, Arc<Outcome>, Arc<Activity>) {
        let files = FileGuard::new(scope, self.gatekeeper.clone());
        let (outcome, activity) = (files.outcome(), Arc::<Activity>::default());
        let mut handlers = Handlers(vec![Box::new(Creations(Arc::clone(&activity)))]);
        if !single.is_empty() {
            handlers.0.push(Box::new(SingleFileHandler(Arc::clone(single))));
        }
        handlers.0.push(Box::new(files));
        if let Some(granted) = self.sockets.as_ref().filter(|_| self.has_streams(support)) {
            handlers.0.push(Box::new(SocketConnector::new(granted, &self.write, refused.clone())));
        }
        (handlers, outcome, activity)
    }

    /// Whether there are Unix sockets for streams: only where each connection is made by the supervisor.
    fn has_streams(&self, support: &Support) -> bool {
        let is_supervised = support.namespaces.is_ok() && support.notifications && support.seccomp;
        self.sockets.is_some() && !self.only_looks && is_supervised
    }
}

/// Everything that a process needs to confine itself.
#[derive(Debug)]
pub struct Prepared {
    plan: Plan,
    level: Level,
    confinement: Confinement,
    handlers: Handlers,
    outcome: Arc<Outcome>,
    refused: RefusedSockets,
    /// When it makes names, where that is reported.
    activity: Option<Arc<Activity>>,
}

impl Prepared {
    /// For tests: other handlers than the confinement has.
    #[cfg(test)]
    pub(self) fn replace_handlers(&mut self, handlers: Handlers, confinement: &Confinement) {
        let plan = Plan::new(confinement, &Support::here(), |_, _| handlers);
        (self.plan, self.handlers) = plan.expect("the same plan as before");
    }

    /// Confines the process that this command will start. Its environment is replaced by what [`environment`] leaves of
    /// ours and its directory is set; variables that the caller wants besides are to be set after this. Standard input and
    /// output stay as they are.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn apply(self, command: &mut Command) -> Result<Guard, SandboxError> {
        let Prepared { mut plan, level, confinement, handlers, outcome, refused, activity } = self;
        let lifeline = plan.lifeline()?;
        let names = plan.name_watch.take().map(|(mut scope, baseline)| {
            scope.words = words(command);
            NameWatch::prepare(scope, baseline, activity, Arc::clone(&outcome))
        });
        let names = Mutex::new(names.transpose()?);
        let own = environment(std::env::vars_os());
        let granted = confinement.sockets.as_deref().unwrap_or_default();
        let agents = socket_variables(std::env::vars_os(), granted);
        command.env_clear().envs(own).envs(agents).envs(plan.variables()).current_dir(&confinement.cwd);
        let plan = Arc::new(plan);
        let inside = Arc::clone(&plan);
        sys::before_exec(command, move || child::confine(&inside));
        let switch = Arc::new(KillSwitch::new(lifeline));
        let handlers = Mutex::new(Some(handlers));
        let (proxy, loopback, supervisor, watched) = (None, None, None, None);
        Ok(Guard {
            plan,
            level,
            confinement,
            proxy,
            loopback,
            handlers,
            outcome,
            refused,
            supervisor,
            names,
            watched,
            switch,
            new_directories: None,
        })
    }
}

/// What belongs to a confined process from outside. It ends with this value: keep it as long as the process may run.
#[derive(Debug)]
pub struct Guard {
    plan: Arc<Plan>,
    level: Level,
    confinement: Confinement,
    proxy: Option<Proxy>,
    loopback: Option<Arc<Loopback>>,
    refused: RefusedSockets,
    /// Until the process has been started.
    handlers: Mutex<Option<Handlers>>,
    supervisor: Option<Supervisor>,
    /// What it uses is measured, once it runs.
    watched: Option<Arc<Watched>>,
    switch: Arc<KillSwitch>,
    outcome: Arc<Outcome>,
    /// The watch over protected names.
    names: Mutex<Option<NameWatch>>,
    /// Looked at when all else has ended.
    new_directories: Option<NewDirectories>,
}

impl Guard {
    /// Keeps directories that were made for the process until it has ended.
    pub fn hold(&mut self, directories: NewDirectories) {
        self.new_directories = Some(directories);
    }

    /// Which guarantees hold.
    pub fn level(&self) -> &Level {
        &self.level
    }

    /// To be called when the process has been started: from now on the hosts that it may reach are served.
    ///
    /// # Errors
    /// Nobody can serve them.
    pub fn started(&mut self) -> Result<(), SandboxError> {
        let made = self.confinement.make.iter().filter_map(|path| path.parent());
        let writes: Vec<PathBuf> =
            self.confinement.write.iter().map(PathBuf::as_path).chain(made).map(PathBuf::from).collect();
        let watched = self.plan.watched(&writes, Arc::clone(&self.switch)).map(Arc::new);
        let watched = watched.and_then(|watched| watched.watch().map(|()| watched));
        self.watched = Some(watched.map_err(SandboxError::Start)?);
        if let Some(sockets) = self.plan.proxy_sockets()? {
            let hosts = hosts(&self.confinement.network)?;
            let session = self.confinement.beside.clone();
            self.proxy = Some(Proxy::serve(sockets, hosts, session).map_err(SandboxError::Proxy)?);
        }
        self.loopback = self.plan.loopback()?;
        if let Some((listener, handlers)) = self.plan.reports()?.zip(self.take_handlers()) {
            self.supervisor = Some(Supervisor::start(listener, handlers)?);
        }
        let watch = self.names.get_mut().unwrap_or_else(PoisonError::into_inner);
        watch.as_mut().map_or(Ok(()), NameWatch::start)
    }

    /// Returns what the process changed under protected names without permission, and what became of it. The process must have
    /// ended.
    pub fn protected_changes(&self) -> Vec<ProtectedChange> {
        let mut watch = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        watch.as_mut().map(NameWatch::finish).unwrap_or_default()
    }

    /// Copies out the single files that the process made in directories of its own. The process must have ended.
    pub fn copy_out(&self) {
        self.plan.single_files.copy_out();
    }

    /// Returns what could not be copied out, in words.
    pub fn copy_failures(&self) -> Vec<String> {
        self.plan.single_files.failures()
    }

    /// Returns what was found of it so far.
    pub fn protected_changes_so_far(&self) -> Vec<ProtectedChange> {
        let watch = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        watch.as_ref().map(NameWatch::found).unwrap_or_default()
    }

    fn take_handlers(&mut self) -> Option<Handlers> {
        self.handlers.get_mut().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Decides about protected names that the process attempts to create or change, if anything does.
    pub fn gatekeeper(&self) -> Option<Arc<dyn Gatekeeper>> {
        self.confinement.gatekeeper.clone()
    }

    /// The protected places that were permitted while it ran.
    pub fn permitted(&self) -> Vec<PathBuf> {
        self.outcome.permitted()
    }

    /// The loopback that it is in, for others to be put beside it. None if it reaches more than that, or less.
    pub fn loopback(&self) -> Option<Arc<Loopback>> {
        self.loopback.clone()
    }

    /// Why the process could not be started, if that was the sandbox.
    pub fn explain(&self, err: io::Error) -> SandboxError {
        self.plan.failure().unwrap_or(SandboxError::Start(err))
    }

    /// The bound that ended the process, if one did.
    pub fn exceeded(&self) -> Option<LimitExceeded> {
        let measured = self.watched.as_ref().and_then(|watched| watched.exceeded().cloned());
        measured.or_else(|| {
            let status = self.plan.report.status()?;
            let is_shells = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 128 + libc::SIGXFSZ;
            let is_too_large =
                libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGXFSZ || is_shells;
            let limit = self.confinement.limits.file_size.filter(|_| is_too_large)?;
            Some(LimitExceeded { resource: Resource::FileSize, limit })
        })
    }

    /// What the process was refused: hosts for certain, paths as far as the end of its output tells and the policy confirms.
    pub fn blocked(&self, output: &[u8]) -> Vec<Blocked> {
        let hosts = self.proxy.iter().flat_map(Proxy::refused).map(Blocked::Host);
        let sockets = self.refused.all().into_iter().map(Blocked::Socket);
        let full = self.watched.as_ref().and_then(|watched| watched.full_directory());
        let full = full.filter(|_| blocked::lacks_space(output)).map(Blocked::NoSpace);
        let mut certain: Vec<Blocked> =
            hosts.chain(sockets).chain(full).chain(self.outcome.refused()).collect();
        let told = blocked::in_output(&self.confinement, output);
        let is_new =
            |one: &Blocked| !certain.iter().any(|other| other.path().is_some() && other.path() == one.path());
        let told: Vec<Blocked> = told.into_iter().filter(is_new).collect();
        certain.extend(told);
        certain
    }
}

/// The arguments of a command, with blanks between them.
fn words(command: &Command) -> Vec<u8> {
    let words: Vec<&[u8]> = command.get_args().map(OsStr::as_encoded_bytes).collect();
    words.join(&b' ')
}

/// The hosts of a network, if all of them are hosts.
fn hosts(network: &Network) -> Result<Hosts, SandboxError> {
    let Network::Hosts(hosts) = network else { return Ok(Hosts::default()) };
    let wrong = |host| {
        format!(
            "`{host}` is no host: a name like docs.rs, `*.` in front of one, or an address, without scheme, with or without a port"
        )
    };
    Hosts::parse(hosts).map_err(|host| SandboxError::Policy(wrong(host)))
}

impl Drop for Guard {
    fn drop(&mut self) {
        // What still waits for an answer goes on to nothing: first it ends, then the supervisor.
        self.switch.release();
        self.plan.single_files.copy_out();
    }
}
