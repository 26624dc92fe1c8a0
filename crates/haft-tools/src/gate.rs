//! Questions of a running process: a command that is about to create what programs run later waits for the person.
//!
//! The process may outlive its call, or serve several one after the other. Questions go to the call that waits for it; between
//! calls they are refused.

use std::{
    fmt,
    path::PathBuf,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use haft_shell::{
    run::TimeLimit,
    sandbox::{Attempt, Decision, Gatekeeper},
};
use haft_tool::{Cx, Effects, PermissionRequest, View};
use tokio::{runtime::Handle, task::AbortHandle};

/// Puts the questions of a process to the person of a call.
pub(crate) struct CallGate {
    state: Mutex<State>,
    runtime: Handle,
    /// Where paths in questions are seen from.
    directory: PathBuf,
    /// The time of the process, which stands still while a person thinks.
    limit: OnceLock<TimeLimit>,
}

#[derive(Default)]
struct State {
    /// The call that waits for the process.
    cx: Option<Cx>,
    questions: Vec<AbortHandle>,
}

impl CallGate {
    /// A gate that asks by a call.
    pub(crate) fn new(cx: &Cx) -> CallGate {
        CallGate {
            state: Mutex::new(State { cx: Some(cx.clone()), questions: Vec::new() }),
            runtime: Handle::current(),
            directory: cx.session().cwd.clone(),
            limit: OnceLock::new(),
        }
    }

    /// Has another call asked from now on.
    pub(crate) fn open(&self, cx: &Cx) {
        self.lock().cx = Some(cx.clone());
    }

    /// Lets this time stand still while a question is open.
    pub(crate) fn set_time_limit(&self, limit: TimeLimit) {
        let _ = self.limit.set(limit);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing is left half done in here.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gatekeeper for CallGate {
    fn decide(&self, attempt: Attempt, decision: Decision) {
        let mut state = self.lock();
        let Some(cx) = state.cx.clone() else { return decision.refuse() };
        let request = PermissionRequest {
            effects: Effects::writes(&attempt.path),
            description: attempt.describe(&self.directory),
            preview: Some(View::Code { language: "bash".to_owned(), text: attempt.program.clone() }),
            unsandboxed: false,
        };
        let limit = self.limit.get().cloned();
        let question = self.runtime.spawn(async move {
            let _pause = limit.as_ref().map(TimeLimit::pause);
            tokio::select! {
                biased;
                () = cx.cancelled() => decision.refuse(),
                answer = cx.request_permission(request) => match answer {
                    Ok(_) => decision.permit(),
                    Err(_) => decision.refuse(),
                },
            }
        });
        state.questions.retain(|question| !question.is_finished());
        state.questions.push(question.abort_handle());
    }

    fn close(&self) {
        let mut state = self.lock();
        state.cx = None;
        state.questions.drain(..).for_each(|question| question.abort());
    }
}

impl fmt::Debug for CallGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallGate").field("is_open", &self.lock().cx.is_some()).finish_non_exhaustive()
    }
}
