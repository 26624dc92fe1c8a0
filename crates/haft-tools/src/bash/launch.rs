//! From the input to a process.

use std::{ffi::OsString, io, os::unix::ffi::OsStrExt, sync::Arc, time::Duration};

use haft_shell::{
    lookup::Lookup,
    run::{Launch, Process, inherited},
    understand,
};
use haft_tool::{Cx, Fault, Grant, PathBase, SessionFacts};

use super::{BashInput, BashOptions, LONGEST};
use crate::{
    gate::CallGate,
    git,
    process::{start, surroundings},
};

pub(super) async fn launch(
    input: &BashInput,
    options: &BashOptions,
    session: &SessionFacts,
    grant: &Grant,
    cx: &Cx,
) -> Result<Process, Fault> {
    let mut launch = Launch::bash(&input.command, &session.cwd).map_err(cannot_run)?;
    launch.env = inherited(std::env::vars_os());
    launch.set = surroundings(input.pty);
    if !grant.approved {
        launch.env.retain(|(name, _)| !name.as_bytes().starts_with(b"GIT_"));
        launch.set.extend(unasked(&input.command, session, grant, cx).await?);
    }
    launch.pty = input.pty;
    launch.time_limit = time_limit(input, options);
    launch.room.most = options.most_output;
    let keeper = cx.keeper();
    launch.spill = Some(Box::new(move || keeper.begin()));
    // Who runs beside others leaves the session where it is, and need not be asked.
    launch.tells_directory = grant.moves;
    let gate = Some(Arc::new(CallGate::new(cx)));
    start(launch, grant, session, cx, gate, cannot_run).await
}

/// What a command without approval finds around it: no programs of the workspace, and a git that runs nothing that the
/// repository names. An approved command has the user's own settings.
async fn unasked(
    command: &str,
    session: &SessionFacts,
    grant: &Grant,
    cx: &Cx,
) -> Result<Vec<(OsString, OsString)>, Fault> {
    let base = PathBase {
        cwd: session.cwd.clone(),
        home: session.home.clone(),
        workspace: Some(session.workspace.clone()),
    };
    let runs_git = understand(command, &base).runs("git");
    let mut set = match runs_git {
        true => git::variables_for_shell(grant, session, cx).await?,
        false => git::pinned::variables(&[]),
    };
    set.push(("PATH".into(), Lookup::new(&session.workspace).outside_path()));
    Ok(set)
}

fn time_limit(input: &BashInput, options: &BashOptions) -> Option<Duration> {
    match input.timeout.map(Duration::from_millis) {
        None if input.background => None,
        asked => Some(asked.unwrap_or(options.timeout).min(LONGEST)),
    }
}

fn cannot_run(err: io::Error) -> Fault {
    Fault::failed(format!("the command could not be started: {err}")).with_source(err)
}
