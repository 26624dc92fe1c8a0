//! The interpreters that are open, and whose they are.
//!
//! A session owns its interpreters: they are among its tasks, and end with it. Here is only noted which is which.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use haft_shell::{
    lookup::Lookup,
    run::{Launch, Process, inherited},
};
use haft_tool::{Cx, Fault, Grant, Refusal, SessionFacts, SessionId, Task, shown};

use super::{
    ReplOptions,
    interpreter::{Interpreter, how},
    language::Language,
    limits::is_within,
};
use crate::{
    bash::report::printed,
    gate::CallGate,
    process::{start, surroundings},
};

/// How long a program may take until it can run something.
const LONGEST_START: Duration = Duration::from_secs(30);

/// Which interpreter a session has for a language.
#[derive(Default)]
pub(super) struct Open(Mutex<HashMap<(SessionId, Language), Noted>>);

struct Noted {
    /// By which id it is among the session's tasks.
    task: String,
    interpreter: Weak<Interpreter>,
}

/// An interpreter for a call.
pub(super) struct Ready {
    pub(super) interpreter: Arc<Interpreter>,
    /// How the one before it ended, if there was one and nobody asked for its end.
    pub(super) lost: Option<String>,
}

impl Open {
    /// The interpreter of the session, started if there is none that runs.
    pub(super) async fn ready(
        &self,
        language: Language,
        options: &ReplOptions,
        grant: &Grant,
        cx: &Cx,
    ) -> Result<Ready, Fault> {
        let found = self.find(language, cx);
        let ended = found.as_ref().and_then(|interpreter| interpreter.process.has_ended());
        match (found, ended) {
            (Some(interpreter), None) => {
                serves(&interpreter, grant)?;
                Ok(Ready { interpreter, lost: None })
            }
            (_, ended) => {
                let interpreter = self.start(language, options, grant, cx).await?;
                Ok(Ready { interpreter, lost: ended.as_ref().map(how) })
            }
        }
    }

    /// Ends the interpreter of the session, and says whether there was one.
    pub(super) async fn end(&self, language: Language, cx: &Cx) -> bool {
        let Some(interpreter) = self.find(language, cx) else { return false };
        self.lock().remove(&(cx.session().id.clone(), language));
        let was_there = interpreter.process.has_ended().is_none();
        interpreter.process.stop();
        interpreter.process.ended().await;
        was_there
    }

    /// Only what is among the tasks of this very session counts: ids of sessions may come again.
    fn find(&self, language: Language, cx: &Cx) -> Option<Arc<Interpreter>> {
        let key = (cx.session().id.clone(), language);
        let (task, interpreter) = {
            let open = self.lock();
            let noted = open.get(&key)?;
            (noted.task.clone(), noted.interpreter.upgrade()?)
        };
        let listed = cx.tasks().find(&task)?;
        let is_the_same = Arc::as_ptr(&listed).cast::<()>() == Arc::as_ptr(&interpreter).cast::<()>();
        is_the_same.then_some(interpreter)
    }

    async fn start(
        &self,
        language: Language,
        options: &ReplOptions,
        grant: &Grant,
        cx: &Cx,
    ) -> Result<Arc<Interpreter>, Fault> {
        let gate = Arc::new(CallGate::new(cx));
        let process = launch(language, options, grant, cx, &gate).await?;
        let interpreter = Arc::new(Interpreter::new(language, process, grant.clone(), gate, options.idle));
        // The time of a snippet begins when there is somebody to run it, and to be interrupted.
        let is_ready = tokio::time::timeout(LONGEST_START, interpreter.is_ready()).await;
        if is_ready != Ok(true) {
            return Err(did_not_start(&interpreter));
        }
        let task = cx.tasks().add(interpreter.clone() as Arc<dyn Task>)?;
        let noted = Noted { task, interpreter: Arc::downgrade(&interpreter) };
        let mut open = self.lock();
        open.retain(|_, noted| noted.interpreter.strong_count() > 0);
        let before = open.insert((cx.session().id.clone(), language), noted);
        // Two calls at once: nobody would find the first again.
        before.and_then(|noted| noted.interpreter.upgrade()).iter().for_each(|other| other.process.stop());
        Ok(interpreter)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(SessionId, Language), Noted>> {
        // Nothing is left half done in here.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The interpreter's sandbox was made for another call. It must not be wider than this one's.
fn serves(interpreter: &Interpreter, grant: &Grant) -> Result<(), Fault> {
    if is_within(&interpreter.grant, grant) {
        return Ok(());
    }
    let message = format!(
        "nothing was run: the {} that runs was started with more than this call is permitted, and its sandbox cannot be \
         changed\nSet `reset` to start it anew; what is defined in it is lost then",
        interpreter.language
    );
    Err(Fault::denied(Refusal::Sandbox, message))
}

async fn launch(
    language: Language,
    options: &ReplOptions,
    grant: &Grant,
    cx: &Cx,
    gate: &Arc<CallGate>,
) -> Result<Process, Fault> {
    let session = cx.session();
    let program =
        language.program(Some(&session.workspace)).ok_or_else(|| not_installed(language, &session))?;
    if !session.cwd.is_dir() {
        return Err(nowhere(&session));
    }
    let mut launch = Launch::new(program, &session.cwd);
    launch.args = language.arguments();
    launch.env = inherited(std::env::vars_os());
    launch.set = surroundings(false);
    // The interpreter may be a script that looks for another program.
    launch.set.push(("PATH".into(), Lookup::new(&session.workspace).outside_path()));
    launch.room.most = options.most_output;
    launch.spoken_to = true;
    start(launch, grant, &session, cx, Some(gate.clone()), |err| cannot_start(language, err)).await
}

fn not_installed(language: Language, session: &SessionFacts) -> Fault {
    let there = match Language::installed(Some(&session.workspace)).as_slice() {
        [] => "no other language is, either".to_owned(),
        languages => format!("there is {}", languages.join(" and ")),
    };
    Fault::unavailable(format!(
        "{language} is not installed here: no `{}` in PATH outside the workspace; {there}",
        language.command()
    ))
}

fn nowhere(session: &SessionFacts) -> Fault {
    Fault::failed(format!(
        "nothing was run: the directory {} does not exist any more; go to another one with Bash",
        shown(&session.cwd)
    ))
}

/// It was started, and ended before it did anything, or does not get anywhere.
fn did_not_start(interpreter: &Interpreter) -> Fault {
    let how = interpreter.process.has_ended().as_ref().map_or_else(|| "it takes too long".to_owned(), how);
    let said = printed(&interpreter.process.tear_off());
    let said = if said.is_empty() { said } else { format!("; it says: {said}") };
    Fault::failed(format!("{} did not start: {how}{said}", interpreter.language))
}

fn cannot_start(language: Language, err: io::Error) -> Fault {
    Fault::failed(format!("{language} could not be started: {err}")).with_source(err)
}
