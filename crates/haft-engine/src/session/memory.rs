//! What a session knows from one turn to the next, and from one process to the next.
//!
//! The engine writes nothing down: whoever keeps sessions takes the memory after a turn and gives it back when the
//! session goes on.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use haft_tool::{Sight, shown, unshown};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::tasks::TaskFacts;

/// What lasts of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Where relative paths begin, if a call changed it.
    pub cwd: Option<PathBuf>,
    /// The tools that were loaded, in that order.
    pub loaded: Vec<String>,
    /// What tools keep.
    pub values: Map<String, Value>,
    /// What was seen of files, by their real path as it is shown.
    pub seen: BTreeMap<String, Sight>,
    /// What a person has granted for the session: hashes that only the session can compare.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// What went on after the calls that began it. None of it outlives the process that ran it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskFacts>,
}

/// What the session has seen of files: what the model believes is in them.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<BTreeMap<PathBuf, Sight>>);

impl Seen {
    pub(crate) fn recall(memory: &BTreeMap<String, Sight>) -> Seen {
        Seen(Mutex::new(memory.iter().map(|(path, sight)| (unshown(path), sight.clone())).collect()))
    }

    pub(crate) fn memory(&self) -> BTreeMap<String, Sight> {
        self.lock().iter().map(|(path, sight)| (shown(path).to_string(), sight.clone())).collect()
    }

    pub(crate) fn of(&self, real: &Path) -> Option<Sight> {
        self.lock().get(real).cloned()
    }

    pub(crate) fn note(&self, real: PathBuf, sight: Sight) {
        self.lock().insert(real, sight);
    }

    /// What the model was shown of files is not taken as shown any more. Which states of them were seen stays known.
    pub(crate) fn forget_shown(&self) {
        self.lock().values_mut().for_each(|sight| sight.shown.clear());
    }

    pub(crate) fn forget(&self, real: &Path) {
        self.lock().remove(real);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Sight>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
