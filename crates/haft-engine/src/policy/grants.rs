//! What a person has granted for the rest of the session.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::decide::Request;

/// What a person has granted for the rest of the session. It turns *ask* into a permit, never a denial.
///
/// A grant is the same tool doing the same things; where the effects do not say what it does, the same input. Only a hash of
/// that is kept: it can outlive the process with the session, and whoever finds it learns nothing of what was granted.
#[derive(Debug, Default)]
pub struct Grants {
    /// A session that goes on somewhere else has been granted nothing there.
    workspace: PathBuf,
    granted: Mutex<BTreeSet<String>>,
}

impl Grants {
    /// Those of a session that goes on in this workspace.
    pub(crate) fn recall(workspace: &Path, granted: impl IntoIterator<Item = String>) -> Grants {
        Grants { workspace: workspace.to_owned(), granted: Mutex::new(granted.into_iter().collect()) }
    }

    /// To go on with later.
    pub(crate) fn memory(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    pub(super) fn cover(&self, input: &Value, request: &Request<'_>) -> bool {
        !self.lock().is_empty() && {
            let grant = self.grant(input, request);
            self.lock().contains(&grant)
        }
    }

    pub(super) fn remember(&self, input: &Value, request: &Request<'_>) {
        let grant = self.grant(input, request);
        self.lock().insert(grant);
    }

    fn grant(&self, input: &Value, request: &Request<'_>) -> String {
        let effects = request.effects;
        let touches =
            !effects.paths().is_empty() || !effects.hosts().is_empty() || !effects.commands().is_empty();
        let telling = touches && !effects.is_unknown() && !request.external;
        // All that there is, each part in quotes: what differs in anything is another grant. A later haft may write it
        // otherwise, and then asks again.
        // What was granted in a worktree was not granted in the tree that was left for it.
        let places = (&self.workspace, request.workspace);
        let whole = (places, request.tool, effects, (!telling).then_some(input));
        let hash = Sha256::digest(format!("{whole:?}"));
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
