//! What stands behind the narrow context of a running call.

use std::{path::PathBuf, sync::Arc};

use haft_tool::{Access, CallId, Effects, Files, Host, Progress, SessionFacts};
use serde_json::Value;

use super::{Session, files::DeclaredFiles};
use crate::turn::Events;

/// The host of one call.
pub(crate) struct CallHost {
    session: Session,
    events: Events,
    /// What the call declared, at the places that were judged. The door is made when somebody asks for it.
    places: Vec<(PathBuf, Access)>,
}

impl CallHost {
    pub(crate) fn new(session: Session, events: Events, effects: &Effects) -> CallHost {
        let places =
            effects.paths().iter().map(|effect| (effect.place().to_owned(), effect.access)).collect();
        CallHost { session, events, places }
    }
}

impl Host for CallHost {
    fn facts(&self) -> Arc<SessionFacts> {
        Arc::new(self.session.facts())
    }
    fn progress(&self, call: &CallId, progress: Progress) {
        self.events.progress(call, progress);
    }
    fn files(&self) -> Arc<dyn Files> {
        Arc::new(DeclaredFiles::new(
            self.places.clone(),
            self.session.workspace(),
            self.session.seen().clone(),
        ))
    }
    fn state(&self, key: &str) -> Option<Value> {
        self.session.state(key)
    }
}
