//! What stands behind the narrow context of a running call.

mod permission; // what it asks for while it runs
mod watched; //    the places that its processes may write

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use watched::WatchedPlaces;

use haft_redact::{Found, Redactor};
use haft_tool::{
    Access, Block, BoxFuture, CallId, Effects, Fault, Files, Grant, Host, Keeper, Permission,
    PermissionRequest, Progress, SessionFacts, Tasks,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Session,
    files::{DeclaredFiles, Gate},
    grant::{Declared, grant, new_directories},
    images::{Doer, Images, Watch},
    journal::CallKey,
    tasks::CallTasks,
    waiting::WaitingTime,
};
use crate::{
    policy::Permit,
    pool::Entry,
    result::{FileSecrets, RedactedWriter},
    turn::{Events, Interrupt, Prepared},
};

/// What a call may do: what it declared, and what it was permitted in addition while it ran.
#[derive(Clone, Default)]
struct CallState {
    /// The places that were judged. File access is made at the first use.
    places: Vec<(PathBuf, Access)>,
    hosts: Vec<String>,
    /// What a person has refused it while it ran.
    refused: Vec<Effects>,
    /// Whether a person let its processes leave the sandbox.
    unsandboxed: bool,
}

/// The host of one call.
pub(crate) struct CallHost {
    session: Session,
    /// Made from the turn's when somebody asks for it: most calls end before anybody does.
    token: OnceLock<CancellationToken>,
    interrupt: Interrupt,
    events: Events,
    /// The places that settings name as code, once they are asked for.
    code_places: OnceLock<Arc<[PathBuf]>>,
    /// The places that its commands make as directories.
    new_directories: Vec<PathBuf>,
    /// What it may do, which a permission adds to while it runs.
    state: Mutex<CallState>,
    /// Whether it declared to change nothing.
    read_only: bool,
    /// Whether nothing may run beside it: it may change what others stand on.
    runs_alone: bool,
    /// Whether it runs because a person or a rule allowed what it runs. Not before it is permitted.
    approved: AtomicBool,
    /// Which tool: rules may speak of it alone.
    entry: Entry,
    /// Who changes what it changes, for those who keep it. Where there is no journal, nobody does.
    doer: Option<Doer>,
    /// Which call and which turn, for the journal. Without a journal, no call has a key.
    key: Option<CallKey>,
    turn: u32,
    /// The input, as it was judged.
    input: Arc<Value>,
    /// For how long it waits for a person.
    waiting: Arc<WaitingTime>,
    /// The places that its processes may write to, from the moment on in which they may.
    watched: Arc<WatchedPlaces>,
    /// What it must not tell of the files that it looks at.
    secrets: Arc<FileSecrets>,
    /// Whether it left something that goes on.
    left_task: Arc<AtomicBool>,
}

impl CallHost {
    pub(crate) fn new(
        session: Session,
        events: Events,
        prepared: &Prepared<'_>,
        turn: u32,
        interrupt: Interrupt,
    ) -> CallHost {
        let effects = &prepared.effects;
        // Settings that run nothing are written by git itself, which the sandbox watches by key: the file is not granted for them.
        let granted = effects.paths().iter().filter(|effect| !effect.harmless);
        let places = granted.map(|effect| (effect.place().to_owned(), effect.access));
        let hosts = effects.hosts().iter().map(|effect| effect.host.clone());
        let state = CallState { places: places.collect(), hosts: hosts.collect(), ..CallState::default() };
        let recorded = prepared.ticket.as_ref().filter(|_| session.engine().journal().is_some());
        let doer = recorded.map(|ticket| Doer {
            key: ticket.key.clone(),
            turn,
            workspace: session.workspace().to_path_buf(),
        });
        CallHost {
            session,
            token: OnceLock::new(),
            interrupt,
            events,
            code_places: OnceLock::new(),
            new_directories: new_directories(&prepared.effects),
            state: Mutex::new(state),
            read_only: effects.is_read_only(),
            runs_alone: effects.runs_alone(),
            approved: AtomicBool::new(false),
            entry: prepared.entry.clone(),
            doer,
            key: prepared.ticket.as_ref().map(|ticket| ticket.key.clone()),
            turn,
            input: prepared.input.clone(),
            waiting: prepared.waiting.clone(),
            watched: Arc::default(),
            secrets: prepared.secrets.clone(),
            left_task: Arc::default(),
        }
    }

    /// Notes on whose word it runs.
    pub(crate) fn permitted(&self, permit: &Permit, unsandboxed_by_rule: bool) {
        self.approved.store(permit.is_approved(), Ordering::Relaxed);
        self.state().unsandboxed = unsandboxed_by_rule || permit.is_unsandboxed();
    }

    /// Whether its processes run outside of the sandbox.
    pub(crate) fn is_unsandboxed(&self) -> bool {
        self.state().unsandboxed
    }

    fn state(&self) -> MutexGuard<'_, CallState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The places that were watched for it, and whether something of it goes on there.
    pub(crate) fn take_watches(&self) -> Option<(Vec<Box<dyn Watch>>, bool)> {
        let watches = self.watched.take();
        (!watches.is_empty()).then(|| (watches, self.left_task.load(Ordering::Relaxed)))
    }

    /// What the result must say of what cannot be taken back.
    pub(crate) fn image_notes(&self) -> Vec<String> {
        self.images().map(|(images, doer)| images.notes(&doer.key)).unwrap_or_default()
    }

    fn images(&self) -> Option<(Arc<dyn Images>, Doer)> {
        Some((self.session.engine().images()?.clone(), self.doer.clone()?))
    }

    /// From here on processes may write. A second attempt is watched with the first.
    fn watch(&self, roots: &[PathBuf]) -> Result<(), Fault> {
        match self.images() {
            Some((images, doer)) => self.watched.begin(&*images, &doer, roots),
            None => Ok(()),
        }
    }
}

impl CallHost {
    fn redactor(&self) -> Option<&Arc<Redactor>> {
        self.session.engine().redactor_for(self.entry.name())
    }

    /// Somebody must be watching for it to cost anything.
    fn without_secrets(&self, mut progress: Progress) -> Progress {
        if let Some(redactor) = self.redactor().filter(|_| self.events.are_watched()) {
            progress.label = redactor.redact_glimpse(&progress.label).into_owned();
            self.secrets.hide(&mut progress.label, &mut Found::default());
        }
        progress
    }
}

impl Host for CallHost {
    fn token(&self) -> &CancellationToken {
        self.token.get_or_init(|| self.interrupt.token(self.entry.tool().spec().on_interrupt()))
    }
    fn facts(&self) -> Arc<SessionFacts> {
        Arc::new(self.session.facts())
    }
    fn progress(&self, call: &CallId, progress: Progress) {
        self.events.progress(call, self.without_secrets(progress));
    }
    fn files(&self) -> Arc<dyn Files> {
        let door = DeclaredFiles::new(
            self.state().places.clone(),
            &self.session.workspace(),
            self.session.seen().clone(),
            self.session.engine().ledger().clone(),
            Gate::new(self.session.clone(), self.entry.clone(), self.token().clone()),
        );
        let redactor = self.redactor().map(|redactor| (redactor.clone(), self.secrets.clone()));
        Arc::new(door.keeping(self.images()).hiding(redactor))
    }
    fn keep(&self, call: &CallId, text: String) -> BoxFuture<'_, io::Result<PathBuf>> {
        let mut text = match self.redactor() {
            Some(redactor) => redactor.redact(&text).text.into_owned(),
            None => text,
        };
        self.secrets.hide(&mut text, &mut Found::default());
        let text = Block::Text(text);
        self.session.results().keep(self.session.id(), call, Arc::new(vec![text]))
    }
    fn keeper(&self, call: &CallId) -> Keeper {
        let (results, session) = (self.session.results().clone(), self.session.id().clone());
        let call = call.clone();
        let redactor = self.redactor().cloned();
        Keeper::new(move || {
            let (path, writer) = results.begin(&session, &call)?;
            Ok(match &redactor {
                Some(redactor) => (path, Box::new(RedactedWriter::new(redactor.clone(), writer))),
                None => (path, writer),
            })
        })
    }
    fn state(&self, key: &str) -> Option<Value> {
        self.session.state(key)
    }
    fn grant(&self) -> Result<Grant, Fault> {
        let CallState { places, hosts, unsandboxed, .. } = self.state().clone();
        let declared = Declared {
            directories: &self.new_directories,
            places: &places,
            hosts: &hosts,
            read_only: self.read_only,
            runs_alone: self.runs_alone,
            approved: self.approved.load(Ordering::Relaxed),
            unsandboxed,
        };
        let grant = grant(&self.session, &self.entry, &declared, self.token())?;
        self.watch(&[&grant.write[..], &grant.make].concat())?;
        Ok(grant)
    }
    fn request_permission<'a>(
        &'a self,
        call: &'a CallId,
        request: PermissionRequest,
    ) -> BoxFuture<'a, Result<Permission, Fault>> {
        Box::pin(self.add_permission(call, request))
    }
    fn names_host(&self, host: &str) -> bool {
        let names = self.entry.tool().spec().other_names().iter().copied();
        self.session.policy().names_host(std::iter::once(self.entry.name()).chain(names), host)
    }
    fn traceparent(&self, call: &CallId) -> Option<String> {
        self.events.traceparent(call)
    }
    fn tasks(&self) -> Arc<dyn Tasks> {
        Arc::new(CallTasks {
            list: self.session.task_list().clone(),
            events: self.events.clone(),
            left: self.left_task.clone(),
            redactor: self.session.redactor().cloned(),
        })
    }
}
