//! `haft run`: a model does a task with the tools.
//!
//! stdout is the answer, stderr what goes on; on a terminal both are seen as they come. The first Ctrl-C (or SIGTERM, SIGHUP)
//! stops the turn, the second leaves.

mod sign; // that something goes on
mod tell; // what is said meanwhile, for people and for programs

use std::io::Read;

use anyhow::Context;
use clap::ValueEnum;
use haft_agent::{End, Outcome};
use haft_engine::{Session, turn::Interrupt};
use haft_tool::{SessionId, TaskState};

use crate::{
    cli::Options,
    conversation::{self, Which},
    exit::{self, Exit, usage},
    hooks,
    model::{Choice, ModelArgs},
    out,
    setup::Setup,
    watch::{self, Signals, unless_pressed},
};
use sign::Sign;
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
    /// Let the model write at most so many tokens, in all its answers
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    run_tokens: Option<u64>,
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
    let output = if options.json { Output::Json } else { args.output };
    let which = Which::name(&mut options, args.resume.as_deref())?;
    let mut setup = Setup::new(options)?;
    let choice = conversation::choose(&mut setup, &args.model)?;
    watch::has_started();
    let runtime = watch::runtime()?;
    let exit = runtime.block_on(setup.servers.around(work(&setup, &args, &choice, (task, output, which))));
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

async fn work(
    setup: &Setup,
    args: &Args,
    choice: &Choice,
    (task, output, which): (Option<String>, Output, Which),
) -> anyhow::Result<Exit> {
    let mut signals = Signals::listen()?;
    let past = unless_pressed(&mut signals, which.past(setup)).await?;
    let is_resumed = !past.messages.is_empty();
    let (mut agent, _) = which.agent(setup, choice, past, |options| {
        options.max_turns = args.max_turns.or(options.max_turns);
        options.max_tokens = args.run_tokens.or(options.max_tokens);
    })?;
    let session = agent.session().clone();
    unless_pressed(&mut signals, setup.servers.upstreams.acquaint()).await;
    let greeting = unless_pressed(&mut signals, hooks::start(&session, setup.talk)).await;
    greeting.into_iter().for_each(|words| agent.mention(words));

    let sign = Sign::new(setup.talk);
    let mut teller = Teller::new(setup, &session, output, choice, sign.clone());
    watch::has_started();
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
        watched(run, &interrupt, &mut signals, &sign).await
    };
    out::take_sign_away();
    unless_pressed(&mut signals, hooks::end(&session, setup.talk)).await;
    teller.leaves(unfinished(&session));
    session.end().await;
    teller.settle().await;
    setup.settle().await;
    setup.remember(&session);
    teller.end(&outcome, setup.model().price)?;
    Ok(code(&outcome.end))
}

/// Waits for a run. Ctrl-C stops it; a second one leaves.
async fn watched(
    run: impl Future<Output = Outcome>,
    interrupt: &Interrupt,
    signals: &mut Signals,
    sign: &Sign,
) -> Outcome {
    tokio::pin!(run);
    let mut ticks = tokio::time::interval(sign::TICK);
    loop {
        tokio::select! {
            biased;
            () = signals.come() => {
                if interrupt.is_triggered() {
                    out::take_sign_away();
                    exit::now(Exit::Interrupted);
                }
                interrupt.trigger();
            }
            outcome = &mut run => return outcome,
            _ = ticks.tick(), if sign.is_on() => sign.draw(),
        }
    }
}

/// What goes on or is set aside when the model has had its last word: nobody else would say so.
fn unfinished(session: &Session) -> Vec<String> {
    let tasks = session.tasks().into_iter().filter(|task| task.state == TaskState::Running);
    let tasks = tasks.map(|task| format!("{} ({}) still ran, and is stopped", task.id, task.description));
    let worktree = session.worktree().map(|tree| {
        format!(
            "what was done since is in the worktree {}, on the branch {}, and not in {}",
            tree.path, tree.branch, tree.left_workspace
        )
    });
    tasks.chain(worktree).collect()
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
pub(super) fn reason(end: &End, session: &SessionId, choice: &Choice) -> Option<String> {
    let why = match end {
        End::Answered => return None,
        End::TurnLimit => "the model was asked as often as it may be (--max-turns)".to_owned(),
        End::TokenLimit => {
            "the model has written as much as it may (--run-tokens, or model.answer_tokens for one answer)"
                .to_owned()
        }
        End::Interrupted => "interrupted".to_owned(),
        End::Stuck(tool) => {
            format!("the model goes round in circles: it makes the same call of {tool} again and again")
        }
        End::Stopped(why) => why.clone(),
        End::Refused => "the model does not want to do this".to_owned(),
        End::Failed(error) => {
            let advice = choice.advice(error).map_or_else(String::new, |advice| format!("\n  {advice}"));
            format!("the model does not answer: {}{advice}", choice.words(error))
        }
        _ => "the run ended without an answer".to_owned(),
    };
    Some(format!("{why}\n  go on with: haft run --resume {session}"))
}
