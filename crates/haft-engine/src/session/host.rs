//! What stands behind the narrow context of a running call.

use std::sync::Arc;

use haft_tool::{CallId, Effects, Files, Host, Progress, SessionFacts};
use serde_json::Value;

use super::{Session, files::DeclaredFiles};
use crate::turn::Events;

/// The host of one call.
pub(crate) struct CallHost {
    session: Session,
    events: Events,
    files: Arc<DeclaredFiles>,
}

impl CallHost {
    pub(crate) fn new(session: Session, events: Events, effects: &Effects) -> CallHost {
        let files = Arc::new(DeclaredFiles::new(effects, session.workspace()));
        CallHost { session, events, files }
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
        self.files.clone()
    }
    fn state(&self, key: &str) -> Option<Value> {
        self.session.state(key)
    }
}
