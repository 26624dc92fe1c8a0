//! What stands behind the narrow context of a running call.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use haft_redact::Redactor;
use haft_tool::{
    Access, Block, BoxFuture, CallId, Effects, Fault, Files, Grant, Host, Keeper, Progress, SessionFacts,
    Tasks,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    Session,
    files::{DeclaredFiles, Gate},
    grant::{Declared, grant},
    tasks::CallTasks,
};
use crate::{
    pool::Entry,
    result::RedactedWriter,
    turn::{Events, Interrupt},
};

/// The host of one call.
pub(crate) struct CallHost {
    session: Session,
    /// Made from the turn's when somebody asks for it: most calls end before anybody does.
    token: OnceLock<CancellationToken>,
    interrupt: Interrupt,
    events: Events,
    /// What the call declared, at the places that were judged. The door is made when somebody asks for it.
    places: Vec<(PathBuf, Access)>,
    /// The hosts that it declared.
    hosts: Vec<String>,
    /// Whether it declared to change nothing.
    read_only: bool,
    /// Which tool: rules may speak of it alone.
    entry: Entry,
}

impl CallHost {
    pub(crate) fn new(
        session: Session,
        events: Events,
        entry: &Entry,
        effects: &Effects,
        interrupt: Interrupt,
    ) -> CallHost {
        let places =
            effects.paths().iter().map(|effect| (effect.place().to_owned(), effect.access)).collect();
        CallHost {
            session,
            token: OnceLock::new(),
            interrupt,
            events,
            places,
            hosts: effects.hosts().iter().map(|effect| effect.host.clone()).collect(),
            read_only: effects.is_read_only(),
            entry: entry.clone(),
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
        Arc::new(DeclaredFiles::new(
            self.places.clone(),
            self.session.workspace(),
            self.session.seen().clone(),
            self.session.engine().ledger().clone(),
            Gate::new(self.session.clone(), self.entry.clone(), self.token().clone()),
        ))
    }
    fn keep(&self, call: &CallId, text: String) -> BoxFuture<'_, io::Result<PathBuf>> {
        let redacted = self.redactor().map(|redactor| redactor.redact(&text).text.into_owned());
        let text = Block::Text(redacted.unwrap_or(text));
        self.session.engine().results().keep(self.session.id(), call, Arc::new(vec![text]))
    }
    fn keeper(&self, call: &CallId) -> Keeper {
        let (results, session) = (self.session.engine().shared_results(), self.session.id().clone());
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
        let declared = Declared { places: &self.places, hosts: &self.hosts, read_only: self.read_only };
        grant(&self.session, &self.entry, &declared, self.token())
    }
    fn names_host(&self, host: &str) -> bool {
        let names = self.entry.tool().spec().other_names().iter().copied();
        self.session.policy().names_host(std::iter::once(self.entry.name()).chain(names), host)
    }
    fn traceparent(&self, call: &CallId) -> Option<String> {
        self.events.traceparent(call)
    }
    fn tasks(&self) -> Arc<dyn Tasks> {
        Arc::new(CallTasks { list: self.session.task_list().clone(), events: self.events.clone() })
    }
}
