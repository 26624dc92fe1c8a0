//! `haft run`: a model does a task with the tools.
//!
//! stdout is the answer, stderr what goes on. The first Ctrl-C stops the turn, the second leaves.

mod tell; // what is said meanwhile, for people and for programs

use std::io::Read;

use anyhow::Context;
use clap::ValueEnum;
use haft_agent::{Agent, Delegate, End, Outcome, Past};
use haft_engine::{Session, SessionOptions, turn::Interrupt};
use haft_model::Key;
use haft_tool::SessionId;
use tokio::signal::unix::{Signal, SignalKind, signal};
use uuid::Uuid;

use crate::{
    cli::Options,
    exit::{self, Exit, usage},
    hooks,
    model::{self, Choice, ModelArgs},
    setup::{self, Setup},
    transcript::{self, BookTranscript},
    watch::{self, pressed, unless_pressed},
};
use tell::Teller;

/// What can be typed after `haft run`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What is to be done; `-` reads it from stdin. With --resume it may be left out
    task: Option<String>,
    /// What stdout gets: the answer, one line of JSON, or a line for each event
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Ask the model at most so many times
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Go on with the conversation of this session, also one that was cut off
    #[arg(long, value_name = "ID")]
    resume: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
}

/// What stdout gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    Text,
    Json,
    StreamJson,
}

const EXAMPLES: &str = "\
Examples:
  haft run 'What does this project do?'
  haft run --mode accept-edits 'Fix the failing test' --max-turns 30
  haft run --base-url http://127.0.0.1:8080 - < task.md      a model of your own
  haft run --resume 019a8c2e-7f3b-7cc1-9d0a-5b1e2f3a4b5c     go on after a crash

Exit: 0 the model has answered, 1 it has not, 2 bad usage or settings, 3 a hook refused it, 130 interrupted.";

/// The longest task.
const LONGEST_TASK: u64 = 10 << 20;

pub(crate) fn run(mut options: Options, args: Args) -> anyhow::Result<Exit> {
    let task = task(&args)?;
    if args.resume.is_some() && options.session.is_some() {
        return Err(usage("--resume names the session already; leave --session out"));
    }
    let output = if options.json { Output::Json } else { args.output };
    // The session has a name in every case: somebody may want to go on with it.
    let is_new = args.resume.is_none() && options.session.is_none();
    let id = args.resume.clone().or(options.session).unwrap_or_else(|| Uuid::now_v7().to_string());
    options.session = Some(session_id(id)?);
    let mut setup = Setup::new(options)?;
    let choice = model::choose(setup.model(), &args.model, setup.options.model.as_deref(), &Key::from_env)?;
    // Rules may be for some models only, whoever named it.
    setup.options.model = Some(choice.name.clone());
    let runtime = watch::runtime()?;
    let exit = runtime.block_on(setup.servers.around(work(&setup, &args, &choice, (task, output, is_new))));
    // A thread may still wait for a name to be looked up; nobody waits for the thread.
    runtime.shutdown_background();
    exit
}

/// What is to be done.
fn task(args: &Args) -> anyhow::Result<Option<String>> {
    let text = match args.task.as_deref() {
        None if args.resume.is_some() => return Ok(None),
        None => return Err(usage("there is no task; say what is to be done, or `-` to read it from stdin")),
        Some("-") => {
            let mut bytes = Vec::new();
            std::io::stdin().take(LONGEST_TASK + 1).read_to_end(&mut bytes).context("stdin")?;
            if bytes.len() as u64 > LONGEST_TASK {
                return Err(usage("stdin: a task has at most 10 MB; put the rest into files"));
            }
            String::from_utf8(bytes).map_err(|err| usage(format!("stdin: not UTF-8: {err}")))?
        }
        Some(text) => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(usage("the task is empty; say what is to be done"));
    }
    Ok(Some(text))
}

/// `--resume` takes what `--session` takes: it names a directory, too.
fn session_id(id: String) -> anyhow::Result<String> {
    crate::cli::session_id(&id).map_err(|err| usage(format!("--resume {id}: {err}")))
}

async fn work(
    setup: &Setup,
    args: &Args,
    choice: &Choice,
    (task, output, is_new): (Option<String>, Output, bool),
) -> anyhow::Result<Exit> {
    let mut signals = signal(SignalKind::interrupt()).context("Ctrl-C cannot be listened to")?;
    let past = unless_pressed(&mut signals, past(setup, args, is_new)).await?;
    let is_resumed = !past.messages.is_empty();
    let (model, mut options) = (choice.model()?, choice.options(setup.model()));
    let delegate = setup.delegate(model.clone(), options.clone());
    let session = session(setup, delegate, is_new)?;
    options.max_turns = args.max_turns.or(options.max_turns);
    let mut agent = Agent::builder(session.clone(), model, options).past(past);
    if let Some(store) = setup.store() {
        agent = agent.transcript(BookTranscript::new(store, session.id().clone()));
    }
    let mut agent = agent.build();
    unless_pressed(&mut signals, setup.servers.upstreams.acquaint()).await;
    let greeting = unless_pressed(&mut signals, hooks::start(&session, setup.talk)).await;
    greeting.into_iter().for_each(|words| agent.mention(words));

    let mut teller = Teller::new(setup, &session, output);
    if is_resumed {
        setup.talk.detail(|| format!("going on with {} messages", agent.history().messages().len()));
    }
    let outcome = {
        let interrupt = Interrupt::default();
        let mut on = |event| teller.tell(event);
        let run = async {
            match task {
                Some(task) => agent.run(task, &mut on, &interrupt).await,
                None => agent.resume(&mut on, &interrupt).await,
            }
        };
        watched(run, &interrupt, &mut signals).await
    };
    unless_pressed(&mut signals, hooks::end(&session, setup.talk)).await;
    session.end().await;
    teller.settle().await;
    setup.settle().await;
    setup.remember(&session);
    teller.end(&outcome, &choice.name)?;
    Ok(code(&outcome.end))
}

/// What was said before.
async fn past(setup: &Setup, args: &Args, is_new: bool) -> anyhow::Result<Past> {
    if is_new {
        return Ok(Past::default());
    }
    let id = SessionId::from(setup.options.session.clone().unwrap_or_default());
    let Some(store) = setup.store() else {
        return match args.resume {
            Some(_) => Err(usage(
                "--resume needs the journal, and calls are not recorded (journal.enabled, --no-journal)",
            )),
            None => Ok(Past::default()),
        };
    };
    match (transcript::recall(store, &id).await?, &args.resume) {
        (Some(past), Some(_)) => Ok(past),
        (None, None) => Ok(Past::default()),
        (None, Some(_)) => {
            Err(usage(format!("nothing was said in a session {id}; `haft sessions` lists them")))
        }
        (Some(_), None) => {
            Err(usage(format!("the session {id} has a conversation already; go on with it by --resume {id}")))
        }
    }
}

fn session(setup: &Setup, delegate: Delegate, is_new: bool) -> anyhow::Result<Session> {
    let options = match is_new {
        true => SessionOptions { is_new, ..setup.session_options() },
        false => setup.resumed_options()?,
    };
    setup::begin(&setup.agent_engine(delegate)?, options)
}

/// Waits for a run. Ctrl-C stops it; a second one leaves.
async fn watched(run: impl Future<Output = Outcome>, interrupt: &Interrupt, signals: &mut Signal) -> Outcome {
    tokio::pin!(run);
    loop {
        tokio::select! {
            biased;
            () = pressed(signals) => {
                if interrupt.is_triggered() {
                    exit::now(Exit::Interrupted);
                }
                interrupt.trigger();
            }
            outcome = &mut run => return outcome,
        }
    }
}

fn code(end: &End) -> Exit {
    match end {
        End::Answered => Exit::Done,
        End::Interrupted => Exit::Interrupted,
        End::Stopped(_) => Exit::Denied,
        _ => Exit::Failed,
    }
}

/// Why a run has no answer, and how it can go on.
pub(super) fn reason(end: &End, session: &SessionId) -> Option<String> {
    let why = match end {
        End::Answered => return None,
        End::TurnLimit => "the model was asked as often as it may be (--max-turns)".to_owned(),
        End::TokenLimit => "the model has written as much as it may".to_owned(),
        End::Interrupted => "interrupted".to_owned(),
        End::Stuck(tool) => {
            format!("the model goes round in circles: it makes the same call of {tool} again and again")
        }
        End::Stopped(why) => why.clone(),
        End::Refused => "the model does not want to do this".to_owned(),
        End::Failed(error) => format!("the model does not answer: {error}"),
        _ => "the run ended without an answer".to_owned(),
    };
    Some(format!("{why}\n  go on with: haft run --resume {session}"))
}
