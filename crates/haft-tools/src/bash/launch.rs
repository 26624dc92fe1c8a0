//! From the input to a process.

use std::{io, time::Duration};

use haft_shell::run::{Launch, Process, inherited};
use haft_tool::{Cx, Fault, Grant, SessionFacts};

use super::{BashInput, BashOptions, LONGEST};
use crate::process::{start, surroundings};

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
    // Who runs beside others leaves the session where it is, and need not be asked.
    launch.tells_directory = grant.moves;
    start(launch, grant, session, cx, cannot_run).await
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
