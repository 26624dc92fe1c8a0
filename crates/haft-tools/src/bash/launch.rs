//! From the input to a process.

use std::{ffi::OsString, io, time::Duration};

use haft_shell::{
    run::{Confine, Launch, Process, Unfenced, confined, inherited},
    sandbox::{Confinement, Network},
};
use haft_tool::{Cx, Fault, Grant, Refusal, SessionFacts};

use super::{BashInput, BashOptions, LONGEST};

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
    launch.pty = input.pty;
    launch.time_limit = time_limit(input, options);
    launch.room.most = options.most_output;
    let keeper = cx.keeper();
    launch.spill = Some(Box::new(move || keeper.begin()));
    launch.fence = confine(grant, session)?;
    cx.blocking(move || launch.start().map_err(cannot_run)).await
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

/// The one place where a grant becomes a fence.
pub(crate) fn confine(grant: &Grant, session: &SessionFacts) -> Result<Confine, Fault> {
    if !grant.confined {
        return Ok(Box::new(|_| Ok(Box::new(Unfenced))));
    }
    let network = if grant.hosts.is_empty() { Network::Off } else { Network::Hosts(grant.hosts.clone()) };
    let confinement = Confinement {
        write: grant.write.clone(),
        deny_read: grant.deny_read.clone(),
        network,
        required: grant.required,
        home: session.home.clone(),
        ..Confinement::at(&session.cwd)
    };
    confined(&confinement).map_err(|err| {
        let message = format!("there is no sandbox for this: {err}; nothing was run");
        Fault::denied(Refusal::Sandbox, message).with_source(err)
    })
}

/// What a command finds around it: no pager, no questions, a terminal's name only where there is one.
pub(crate) fn surroundings(pty: bool) -> Vec<(OsString, OsString)> {
    let terminal = if pty { "xterm-256color" } else { "dumb" };
    let set = [
        ("TERM", terminal),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("HAFT", "1"),
    ];
    set.map(|(name, value)| (name.into(), value.into())).to_vec()
}
