//! The process of a hook: started, fed, waited for, ended.
//!
//! A hook is the user's own program, so it finds the user's environment and is not confined, unless the settings say so.
//! It gets its input as a file, so it need not read it. It ends with all that it started when its time is up, or when
//! nobody waits for its answer any more.

use std::{path::Path, sync::Arc, time::Duration};

use haft_shell::{
    run::{Ended, Launch, Output, Process, Room, Status, Stopped, confined, inherited},
    sandbox::Confinement,
};
use haft_tool::SessionFacts;

use crate::{
    answer::{Ending, Left},
    config::Handler,
};

/// Where a hook runs.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    session: Arc<SessionFacts>,
}

/// What is read of a hook's output. One that writes much more is ended.
const ROOM: Room = Room { shown: 1024, view: 1 << 20, most: 64 << 20 };

/// How long it has to end by itself when it is told to.
const GRACE: Duration = Duration::from_millis(500);

/// How much longer than its time it is waited for, so that even a process that cannot be ended keeps nobody.
const PATIENCE: Duration = Duration::from_secs(5);

impl Surroundings {
    pub(crate) fn of(session: &SessionFacts) -> Surroundings {
        Surroundings { session: Arc::new(session.clone()) }
    }

    /// Runs a hook to its end. Dropping the future ends the process.
    pub(crate) async fn run(&self, handler: &Handler, input: Arc<[u8]>) -> Left {
        let (session, own) = (self.session.clone(), handler.clone());
        // Starting waits for a fork: not on this thread.
        let started = tokio::task::spawn_blocking(move || start(&own, &session, input.to_vec())).await;
        let process = match started {
            Ok(Ok(process)) => process,
            Ok(Err(why)) => return Left::nothing(format!("could not be started: {why}")),
            Err(err) => return Left::nothing(format!("could not be started: {err}")),
        };
        match tokio::time::timeout(handler.timeout.saturating_add(PATIENCE), process.ended()).await {
            Ok(ended) => left(&process, &ended, handler),
            Err(_) => Left::nothing(too_long(handler)),
        }
    }
}

fn start(handler: &Handler, session: &SessionFacts, input: Vec<u8>) -> Result<Process, String> {
    let words = |err: &dyn std::fmt::Display| err.to_string();
    let mut launch = Launch::bash(&handler.command, &session.cwd).map_err(|err| words(&err))?;
    launch.env = inherited(std::env::vars_os());
    launch.set = variables(&session.workspace);
    launch.input = Some(input);
    launch.apart = true;
    launch.time_limit = Some(handler.timeout);
    launch.grace = GRACE;
    launch.room = ROOM;
    if handler.sandbox {
        let confinement = Confinement {
            write: vec![session.workspace.clone()],
            home: session.home.clone(),
            ..Confinement::at(&session.cwd)
        };
        launch.fence = confined(confinement);
    }
    launch.start().map_err(|err| words(&err))
}

fn variables(workspace: &Path) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let project = workspace.as_os_str();
    vec![
        ("CLAUDE_PROJECT_DIR".into(), project.into()),
        ("HAFT_PROJECT_DIR".into(), project.into()),
        ("HAFT".into(), "1".into()),
    ]
}

fn left(process: &Process, ended: &Ended, handler: &Handler) -> Left {
    let (output, is_cut) = process.with_output(text);
    let (errors, _) = process.with_errors(text);
    let ending = match (&ended.stopped, ended.status) {
        (Some(Stopped::TimedOut), _) => Ending::Trouble(too_long(handler)),
        (Some(Stopped::WroteTooMuch), _) => {
            Ending::Trouble(format!("wrote more than {} MB and was ended", ROOM.most >> 20))
        }
        (Some(Stopped::Asked), _) => Ending::Trouble("was ended".to_owned()),
        (Some(Stopped::OverLimit(limit)), _) => Ending::Trouble(format!("was ended: {limit}")),
        (None, Status::Code(code)) => Ending::Code(code),
        (None, status) => Ending::Trouble(format!("did not end by itself: {status}")),
    };
    Left { ending, output, is_cut, errors }
}

fn too_long(handler: &Handler) -> String {
    format!("took longer than {} s and was ended", handler.timeout.as_secs_f64())
}

/// What was written, as far as it is kept, and whether that is not all.
fn text(output: &Output) -> (String, bool) {
    let (mut bytes, hidden, tail) = output.raw();
    if hidden == 0 {
        bytes.extend(tail);
    }
    (String::from_utf8_lossy(&bytes).into_owned(), hidden > 0)
}

impl Left {
    fn nothing(trouble: String) -> Left {
        Left { ending: Ending::Trouble(trouble), output: String::new(), is_cut: false, errors: String::new() }
    }
}
