//! Protected names that a command made without permission, and that were set aside: the person is asked whether to keep them.

use haft_shell::{
    run::Ended,
    sandbox::{ChangeOutcome, ProtectedChange},
};
use haft_tool::{Cx, Effects, PermissionRequest, SessionFacts, shown};

/// Places that are asked about. The others stay set aside, and the result says where.
const QUESTIONS_LIMIT: usize = 5;

/// Asks about what was set aside, and puts back what the person keeps.
pub(super) async fn ask_to_keep(ended: &mut Ended, session: &SessionFacts, cx: &Cx) {
    let set_aside = |change: &&ProtectedChange| matches!(change.outcome, ChangeOutcome::SetAside(_));
    for change in ended.protected_changes.iter().filter(set_aside).take(QUESTIONS_LIMIT) {
        if cx.is_cancelled() || cx.request_permission(request(change, session)).await.is_err() {
            continue;
        }
        let said = change.to_string();
        let place = shown(&change.path);
        let kept = match change.restore() {
            Ok(()) => format!("{place}, which {}, was kept as the user wished", change.effect),
            Err(err) => format!("{place} could not be put back: {err}; {said}"),
        };
        ended.facts.iter_mut().filter(|fact| **fact == said).for_each(|fact| fact.clone_from(&kept));
    }
}

fn request(change: &ProtectedChange, session: &SessionFacts) -> PermissionRequest {
    let path = change.path.strip_prefix(&session.cwd).unwrap_or(&change.path);
    PermissionRequest {
        effects: Effects::writes(&change.path),
        description: format!("The command created {}, which {}. Keep it?", shown(path), change.effect),
        preview: None,
        unsandboxed: false,
    }
}
