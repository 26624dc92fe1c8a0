//! What calls have done, as far as it can be said afterwards: which files they wrote and which commands they ran.
//!
//! For whoever compares it with what was planned. A session remembers its own; what it did in earlier processes the
//! journal knows ([`Journal::deeds`](super::Journal::deeds)). Calls that only looked at files are no deeds.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use haft_tool::{Access, CallId, Certainty, Effects};
use serde_json::Value;

use crate::result::ToolResult;

/// So many are remembered.
const MOST: usize = 2_000;

/// What one call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// Which call.
    pub call: CallId,
    /// The tool's name in the pool.
    pub tool: String,
    /// What it wrote, by the place that was judged.
    pub writes: Vec<PathBuf>,
    /// What it was going to run, word by word. What of a [line](Deed::line) ran is for who reads that.
    pub commands: Vec<Vec<String>>,
    /// The command line that it was given, if it was given one.
    pub line: Option<String>,
    /// Whether it may have done more than that.
    pub is_unknown: bool,
    /// Whether it worked.
    pub is_good: bool,
    /// The exit code of what it ran, if there is one.
    pub exit_code: Option<i64>,
}

impl Deed {
    /// Whether calls of this tool begin or end planning. They are deeds although they change nothing outside: what was done
    /// before them belongs to no plan.
    pub fn is_planning(tool: &str) -> bool {
        ["EnterPlanMode", "ExitPlanMode"].contains(&tool)
    }

    /// What a call with this input, these effects and this result did. `None` if it changed and ran nothing.
    pub(crate) fn of(tool: &str, input: &Value, effects: &Effects, result: &ToolResult) -> Option<Deed> {
        let writes = effects.paths().iter().filter(|path| path.access == Access::Write);
        let writes: Vec<PathBuf> = writes.map(|path| path.place().to_owned()).collect();
        let runs = effects.commands().iter().filter(|command| command.certainty != Certainty::Meaning);
        let commands: Vec<Vec<String>> = runs.map(|command| command.argv.clone()).collect();
        if writes.is_empty() && commands.is_empty() && !effects.is_unknown() && !Deed::is_planning(tool) {
            return None;
        }
        Some(Deed {
            call: result.call.clone(),
            tool: tool.to_owned(),
            writes,
            commands,
            line: ["command", "code"].iter().find_map(|key| Some(input.get(key)?.as_str()?.to_owned())),
            is_unknown: effects.is_unknown(),
            is_good: !result.is_error(),
            exit_code: result.meta.notes.get("exit_code").and_then(Value::as_i64),
        })
    }
}

/// The latest of a session, in the order in which they ended.
#[derive(Debug, Default)]
pub(crate) struct Deeds(Mutex<VecDeque<Deed>>);

impl Deeds {
    pub(crate) fn note(&self, deed: Deed) {
        let mut deeds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if deeds.len() == MOST {
            deeds.pop_front();
        }
        deeds.push_back(deed);
    }

    pub(crate) fn all(&self) -> Vec<Deed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}
