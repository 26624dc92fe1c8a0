//! `haft` without a command: the agent, interactive.
//!
//! Finished output belongs to the terminal: it scrolls, is searched and is copied like that of any program. Only what goes on,
//! what is asked and what is typed is drawn anew below it. Read it in the order of the modules: text becomes rows, what happens
//! becomes a transcript, keys and events change a screen, and an app runs it beside the agent. All but the last is pure.
//!
//! Not here: deciding, running calls, talking to models. Where the terminal can do nothing but lines, [`plain`] speaks in lines.

mod theme; //      colours and signs
mod text; //       text as cells
mod ansi; //       what programs print
mod highlight; //  colours of code
mod diff; //       changes
mod view; //       what tools draw
mod markdown; //   what models write
mod stream; //     the same while it is written
mod editor; //     the line that is typed
mod history; //    what was typed before
mod search; //     looking for it
mod prompts; //    prompts of servers, as commands
mod slash; //      what can be typed after a slash
mod transcript; // what was said and done
mod dialog; //     what the person is asked
mod screen; //     all of it, and keys
mod layout; //     where everything stands
mod inline; //     frames for a terminal that keeps its own memory
mod terminal; //   the terminal, taken and given back
mod asker; //      who asks on the screen
mod todos; //      what the model set out to do
mod tasks; //      what goes on in the background
mod app; //        the screen beside the agent
mod earlier; //    the conversations of before
mod export; //     what was said, as a document
mod doing; //      what slash commands do
mod plain; //      the same in lines

#[cfg(test)]
mod tests; //      screens, and that nothing breaks them
#[cfg(test)]
mod tests_of_questions; // questions on them

use std::{
    env,
    io::{self, IsTerminal},
    sync::Arc,
};

use anstream::{AutoStream, ColorChoice};
use haft_agent::Agent;
use haft_engine::policy::Asker;

use self::{
    app::Ui,
    asker::{Desk, News},
    doing::Models,
    screen::Wish,
    slash::Slash,
};
use crate::{
    ask::Terminal,
    cli::Options,
    conversation::{self, Which},
    exit::{Exit, usage},
    hooks,
    memory::Keeper,
    model::{Choice, ModelArgs},
    out,
    setup::Setup,
    watch,
};

/// What can be typed where there is no command.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Without a command: the agent, interactive")]
pub(crate) struct Args {
    /// Go on with the conversation of this session; with the last one of this workspace if no ID is given
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = LATEST)]
    resume: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
}

impl Args {
    /// Whether any of it was typed.
    pub(crate) fn is_given(&self) -> bool {
        self.resume.is_some() || self.model.base_url.is_some() || self.model.dialect.is_some()
    }
}

/// How the person is spoken to.
enum Front {
    Screen(Arc<Desk>, tokio::sync::mpsc::UnboundedReceiver<News>),
    Lines,
}

/// What `--resume` without an id is read as: no session has this one.
const LATEST: &str = "";

/// What comes after a conversation.
enum Next {
    Leave(Exit),
    /// Another one, in a session of its own: that of before, or a new one. This model answers.
    Another(Option<String>, String),
}

/// Conversations at the terminal, one after the other.
pub(crate) fn run(mut options: Options, args: &Args) -> anyhow::Result<Exit> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(usage(NO_TERMINAL));
    }
    let mut resume = match args.resume.as_deref() {
        Some(LATEST) => Some(earlier::latest(&options)?),
        resume => resume.map(str::to_owned),
    };
    loop {
        match one(options.clone(), args, resume.as_deref())? {
            Next::Leave(exit) => return Ok(exit),
            Next::Another(id, model) => {
                (resume, options.session, options.model) = (id, None, Some(model));
            }
        }
    }
}

/// One conversation.
fn one(mut options: Options, args: &Args, resume: Option<&str>) -> anyhow::Result<Next> {
    let which = Which::name(&mut options, resume)?;
    let mut front = Front::Lines;
    let mut setup = Setup::asking(options, |_, kept_in| match can_be_drawn_on() {
        true => {
            let (desk, news) = Desk::new(kept_in);
            let desk = Arc::new(desk);
            front = Front::Screen(desk.clone(), news);
            Some(desk as Arc<dyn Asker>)
        }
        false => Some(Arc::new(Terminal::new(kept_in))),
    })?;
    let choice = conversation::choose(&mut setup, &args.model)?;
    let runtime = watch::runtime()?;
    let next = runtime.block_on(setup.servers.around(converse(&setup, &choice, which, front)));
    // A thread may still wait for a key; nobody waits for the thread.
    runtime.shutdown_background();
    next
}

async fn converse(setup: &Setup, choice: &Choice, which: Which, front: Front) -> anyhow::Result<Next> {
    let past = which.past(setup).await?;
    let (mut agent, delegate) = which.agent(setup, choice, past, |_| {})?;
    let models = Models { choice: choice.clone(), delegate };
    let session = agent.session().clone();
    setup.servers.upstreams.acquaint().await;
    hooks::start(&session, setup.talk).await.into_iter().for_each(|words| agent.mention(words));
    watch::has_started();
    let spoken = match front {
        Front::Screen(desk, news) => {
            let mut ui = Ui::start(setup, session.clone(), (desk, news), models)?;
            let next = on_screen(&mut ui, &mut agent).await;
            ui.finish().await;
            Ok(if ui.is_sent_away { Next::Leave(Exit::Interrupted) } else { next })
        }
        Front::Lines => {
            let mut keeper = Keeper::new(setup, &session);
            let spoken = plain::converse(setup, &models, &mut agent, &mut keeper).await;
            keeper.settle().await;
            spoken.map(|()| Next::Leave(Exit::Done))
        }
    };
    hooks::end(&session, setup.talk).await;
    session.end().await;
    setup.settle().await;
    setup.remember(&session);
    if setup.store().is_some() && !agent.history().messages().is_empty() {
        out::complain(&format!("go on with it: haft --resume {}", session.id()));
    }
    spoken
}

/// Until the person leaves, or wants another conversation.
async fn on_screen(ui: &mut Ui<'_>, agent: &mut Agent) -> Next {
    ui.look_at(agent);
    ui.greet(agent);
    loop {
        let wish = match ui.screen.queue.pop_front() {
            Some(text) => Wish::Send(text),
            None => ui.wish().await,
        };
        let stays = match wish {
            Wish::Send(text) => ui.send(agent, text).await,
            Wish::Do(Slash::Quit) => false,
            Wish::Do(Slash::Clear) => return Next::Another(None, agent.options().model.clone()),
            Wish::Do(Slash::Resume(which)) => match ui.resume(which).await {
                Some(id) => return Next::Another(Some(id), agent.options().model.clone()),
                None => true,
            },
            Wish::Do(slash) => ui.slow(agent, slash).await,
            _ => false,
        };
        if !stays {
            return Next::Leave(Exit::Done);
        }
    }
}

/// Whether the terminal can do more than lines.
fn can_be_drawn_on() -> bool {
    env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb")
}

/// Whether it is to be coloured.
fn has_colours() -> bool {
    AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

const NO_TERMINAL: &str = "`haft` without a command is a conversation at a terminal, and stdin or stdout is none; \
`haft run TASK` does a task without one, and `haft --help` lists the commands";
