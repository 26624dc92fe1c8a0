//! Which kept results a session may read: its own and those of its sub-agents, and of no other session, whatever rules allow.

use std::{
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock},
};

use haft_tool::{Fault, Refusal, SessionId, shown};

use super::Session;
use crate::{result::ResultStore, session::locate::locate};

/// Real places of kept results.
pub(super) struct ResultPlaces {
    /// Where those of all sessions are.
    root: Option<PathBuf>,
    /// Those that may be read: the session's own first.
    open: RwLock<Vec<PathBuf>>,
}

impl ResultPlaces {
    /// A directory that cannot be will keep nothing, and each result will say so.
    pub(super) fn of(store: &dyn ResultStore, session: &SessionId, workspace: &Path) -> ResultPlaces {
        let real = |path: Option<PathBuf>| path.and_then(|path| locate(&path).ok());
        // A store above the workspace is no directory of its own: it says nothing of whose a file is.
        let root = real(store.root()).filter(|root| !workspace.starts_with(root));
        let own = real(store.directory(session));
        ResultPlaces { root, open: RwLock::new(own.into_iter().collect()) }
    }

    pub(super) fn own(&self) -> Option<PathBuf> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).first().cloned()
    }

    /// Opens those of a sub-agent. Gives their place.
    pub(super) fn add(&self, store: &dyn ResultStore, child: &SessionId) -> Option<PathBuf> {
        let place = store.directory(child).and_then(|path| locate(&path).ok())?;
        self.open.write().unwrap_or_else(PoisonError::into_inner).push(place.clone());
        Some(place)
    }

    fn is_open(&self, real: &Path) -> bool {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.iter().any(|place| real.starts_with(place))
    }
}

impl Session {
    /// Refuses a real place that holds results of another session.
    pub(crate) fn refuse_results_of_others(&self, real: &Path) -> Result<(), Fault> {
        let is_result = self.0.result_places.root.as_ref().is_some_and(|root| real.starts_with(root));
        if !is_result || self.may_read_result(real) {
            return Ok(());
        }
        let message = format!("{} is kept for another session, which alone may read it", shown(real));
        Err(Fault::denied(Refusal::Boundary, message))
    }

    /// A sub-agent may be told to read what its parent was given.
    fn may_read_result(&self, real: &Path) -> bool {
        self.0.result_places.is_open(real) || self.parent().is_some_and(|parent| parent.may_read_result(real))
    }
}
