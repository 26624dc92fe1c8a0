//! What every process of a tool finds around it: the fence that its grant stands for, and a few variables.
//!
//! Several tools start processes; that they confine them alike is too important to be written twice. Not here: what is
//! started, and what is told about it.

use std::{ffi::OsString, io, path::PathBuf, sync::Arc};

use haft_shell::{
    lookup::linked_repository,
    run::{Confine, Launch, Process, Unfenced, confined, confined_with_directories},
    sandbox::{Confinement, Gatekeeper, Loopback, Network, SandboxError},
};
use haft_tool::{Cx, Fault, Grant, ReadScope, Refusal, SessionFacts};

use crate::gate::CallGate;

/// Starts it behind the fence that a grant stands for; `gate` asks about what it attempts, and `cannot` says what it means that the program does not start.
pub(crate) async fn start(
    mut launch: Launch,
    grant: &Grant,
    session: &SessionFacts,
    cx: &Cx,
    gate: Option<Arc<CallGate>>,
    cannot: impl FnOnce(io::Error) -> Fault,
) -> Result<Process, Fault> {
    launch.fence = fence(grant, session, cx, gate.clone());
    let unfenced = |err: SandboxError| {
        let message = format!("there is no sandbox for this: {err}; nothing was run");
        Fault::denied(Refusal::Sandbox, message).with_source(err)
    };
    let process = launch.started().await.map_err(|err| match err.downcast::<SandboxError>() {
        Ok(SandboxError::Start(err)) | Err(err) => cannot(err),
        Ok(err) => unfenced(err),
    })?;
    gate.iter().for_each(|gate| gate.set_time_limit(process.time_limit()));
    Ok(process)
}

/// The one place where a grant becomes a fence. It stands around what starts in the session's directory.
fn fence(grant: &Grant, session: &SessionFacts, cx: &Cx, gate: Option<Arc<CallGate>>) -> Confine {
    if !grant.confined {
        return Box::new(|_| Ok(Box::new(Unfenced)));
    }
    let network = if grant.hosts.is_empty() { Network::Off } else { Network::Hosts(grant.hosts.clone()) };
    let only_looks =
        grant.write.is_empty() && grant.make.is_empty() && grant.hosts.is_empty() && grant.sockets.is_empty();
    // What runs unasked has no use for them; an approved command has those of its own as well.
    let sockets = (grant.approved || !grant.sockets.is_empty()).then(|| grant.sockets.clone());
    let confinement = Confinement {
        only_looks,
        write: writable(grant, session),
        make: grant.make.clone(),
        permitted: grant.permitted.clone(),
        read: match &grant.reads {
            ReadScope::Everything => None,
            ReadScope::Confined(places) => Some(places.clone()),
        },
        deny_read: grant.deny_read.clone(),
        network,
        sockets,
        required: grant.required,
        limits: grant.limits.clone(),
        home: session.home.clone(),
        beside: beside(cx),
        gatekeeper: gate.map(|gate| gate as Arc<dyn Gatekeeper>),
        ..Confinement::at(&session.cwd)
    };
    match grant.make_directories.is_empty() {
        true => confined(confinement),
        false => confined_with_directories(confinement, grant.make_directories.clone()),
    }
}

/// The places that may be written. For a workspace that is a linked worktree, a call that was approved writes the repository
/// as well that it belongs to: `git commit` does. Its settings and hooks are protected like those of any other.
fn writable(grant: &Grant, session: &SessionFacts) -> Vec<PathBuf> {
    let mut places = grant.write.clone();
    let may_commit =
        grant.approved && grant.reads == ReadScope::Everything && places.contains(&session.workspace);
    places.extend(may_commit.then(|| linked_repository(&session.workspace)).flatten());
    places
}

/// The loopback of what runs in the background: a server that was started there is to be reached.
fn beside(cx: &Cx) -> Option<Arc<Loopback>> {
    let tasks = cx.tasks();
    let running = tasks.ids().into_iter().filter_map(|id| tasks.find(&id));
    running.filter_map(|task| task.shares()).find_map(|shared| shared.downcast().ok())
}

/// What a process finds around it: no pager, no questions, a terminal's name only where there is one.
pub(crate) fn surroundings(pty: bool) -> Vec<(OsString, OsString)> {
    let terminal = if pty { "xterm-256color" } else { "dumb" };
    let set = [
        ("TERM", terminal),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        // Who only looks (`git status`) must not write the index: in a sandbox that cannot, and beside others that do.
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("HAFT", "1"),
    ];
    set.map(|(name, value)| (name.into(), value.into())).to_vec()
}
