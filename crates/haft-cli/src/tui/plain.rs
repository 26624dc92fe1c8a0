//! The agent in lines, for terminals that can do nothing else (`TERM=dumb`, an editor's shell window): nothing moves, nothing
//! is drawn twice, and questions are asked as every command of haft asks them.

use anyhow::Context;
use haft_agent::{Agent, AgentEvent};
use haft_engine::{
    Session,
    turn::{Interrupt, Stage, Views},
};
use haft_model::StreamEvent;
use haft_tool::View;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{
    app::{end_words, told},
    doing::{self, Models, Said},
    export::export,
    prompts,
    slash::{self, Slash},
};
use crate::{
    commands::explain,
    draw::{self, plain, plain_line},
    memory::Keeper,
    out,
    setup::Setup,
    tty::{self, Tty},
};

/// Rows of a result that are shown.
const MOST_LINES: usize = 12;

/// Speaks in lines until the person leaves.
pub(super) async fn converse(
    setup: &Setup,
    models: &Models,
    agent: &mut Agent,
    keeper: &mut Keeper,
) -> anyhow::Result<()> {
    let session = &agent.session().clone();
    let mut talk = Lines { setup, models, session, keeper, views: Views::new(session), is_within: false };
    let mut signals = signal(SignalKind::interrupt()).context("Ctrl-C cannot be listened to")?;
    let tty = Tty::open().context("there is no terminal")?;
    loop {
        tty.write("> ").await?;
        let line = tokio::select! {
            biased;
            Some(()) = signals.recv() => None,
            line = tty.line() => line?,
        };
        let Some(line) = line else { return Ok(()) };
        let line = line.trim();
        if slash::is_slash(line) {
            match slash::parse(line) {
                Ok(Slash::Quit) => return Ok(()),
                Ok(slash) => talk.slash(agent, slash, &mut signals).await,
                Err(wrong) => talk.line(&wrong),
            }
        } else if !line.is_empty() {
            talk.turn(agent, line.to_owned(), &mut signals).await;
        }
    }
}

struct Lines<'a> {
    setup: &'a Setup,
    models: &'a Models,
    session: &'a Session,
    keeper: &'a mut Keeper,
    views: Views,
    /// Whether the last line is not finished.
    is_within: bool,
}

impl Lines<'_> {
    fn line(&mut self, words: &str) {
        let before = if std::mem::take(&mut self.is_within) { "\n" } else { "" };
        out::raw(&format!("{before}{}\n", plain(words.to_owned()).trim_end()));
    }

    fn piece(&mut self, piece: String) {
        self.is_within = !piece.ends_with('\n');
        out::raw(&plain(piece));
    }

    async fn turn(&mut self, agent: &mut Agent, text: String, signals: &mut Signal) {
        let (mut on, mut events) = told();
        let interrupt = Interrupt::default();
        let outcome = {
            let run = agent.run(text, &mut on, &interrupt);
            tokio::pin!(run);
            loop {
                tokio::select! {
                    biased;
                    Some(()) = signals.recv() => interrupt.trigger(),
                    Some(event) = events.recv() => self.tell(event),
                    outcome = &mut run => break outcome,
                }
            }
        };
        while let Ok(event) = events.try_recv() {
            self.tell(event);
        }
        self.keeper.keep();
        if self.is_within {
            self.line("");
        }
        if let Some((_, words)) = end_words(&outcome, &self.models.choice) {
            self.line(&words);
        }
    }

    fn tell(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Model(StreamEvent::Text(piece)) => self.piece(piece),
            AgentEvent::Tool(event) => {
                let Some(drawn) = self.views.draw(&event) else { return };
                let shown = draw::view(&drawn.view);
                match drawn.stage {
                    Stage::Using => self.line(&format!("* {}", plain_line(shown))),
                    Stage::Done(_) => self.result("=", &shown),
                    Stage::Failed(_) => self.result("failed:", &shown),
                    Stage::Refused => self.result("refused:", &shown),
                    Stage::Queued | Stage::Progress => {}
                }
            }
            AgentEvent::Retrying { error, delay, .. } => {
                let error = self.models.choice.words(&error);
                self.line(&format!("{error}; asked again in {:.1} s", delay.as_secs_f64()));
            }
            AgentEvent::Notice(words) => self.line(&words),
            AgentEvent::Usage { .. } => self.keeper.keep_now_and_then(),
            _ => {}
        }
    }

    fn result(&mut self, sign: &str, shown: &str) {
        let lines: Vec<&str> = shown.lines().collect();
        for (index, line) in lines.iter().take(MOST_LINES).enumerate() {
            let before = if index == 0 { sign } else { " " };
            self.line(&format!("  {before} {line}"));
        }
        if let more @ 1.. = lines.len().saturating_sub(MOST_LINES) {
            self.line(&format!("    ({more} more lines)"));
        }
    }

    async fn slash(&mut self, agent: &mut Agent, slash: Slash, signals: &mut Signal) {
        let said = match doing::quick(self.setup, self.session, &slash) {
            // Here a line is typed: there are no keys but Ctrl-C.
            Some(_) if slash == Slash::Help => Said::View(View::List(vec![
                doing::commands(),
                View::text("\nCtrl-C stops the turn; where none runs, it leaves, as Ctrl-D does"),
            ])),
            Some(said) => said,
            None => match slash {
                Slash::Explain { tool, input } => {
                    Said::View(View::text(explain::words(self.setup, self.session, &tool, &input).await))
                }
                Slash::Export(name) => export(self.session, agent, name).await,
                Slash::Prompt { command, rest } => {
                    match prompts::text(self.setup, self.session, &command, &rest).await {
                        Ok(text) => return self.turn(agent, text, signals).await,
                        Err(wrong) => Said::Hint(wrong),
                    }
                }
                Slash::Model(name) => doing::set_model(self.setup, agent, self.models, name),
                Slash::Compact => self.compact(agent, signals).await,
                Slash::Undo => match self.undo(agent).await {
                    Ok(words) => Said::Hint(words),
                    Err(err) => Said::Hint(format!("{err:#}")),
                },
                Slash::Clear | Slash::Resume(_) => {
                    Said::Hint("leave, and begin with `haft` or `haft --resume`".to_owned())
                }
                _ => return,
            },
        };
        match said {
            Said::View(view) => self.line(&draw::view(&view)),
            Said::Note(_, words) | Said::Hint(words) => self.line(&words),
        }
    }

    async fn compact(&mut self, agent: &mut Agent, signals: &mut Signal) -> Said {
        let (mut on, _events) = told();
        let interrupt = Interrupt::default();
        let work = agent.compact("", &mut on, &interrupt);
        tokio::pin!(work);
        loop {
            tokio::select! {
                biased;
                Some(()) = signals.recv() => interrupt.trigger(),
                done = &mut work => return Said::Hint(match done {
                    Ok(done) => format!("the conversation is shorter: {} → {} tokens", done.before, done.after),
                    Err(error) => format!("the conversation stays as it is: {error}"),
                }),
            }
        }
    }

    async fn undo(&mut self, agent: &mut Agent) -> anyhow::Result<String> {
        let change = doing::last_change(self.setup.options.clone()).await?;
        self.line(&change.text);
        if !change.is_ready() {
            return Ok("nothing can be taken back".to_owned());
        }
        let answer = tokio::task::spawn_blocking(|| tty::says_yes("Take this back?")).await?;
        if !answer.unwrap_or(false) {
            return Ok("nothing was taken back".to_owned());
        }
        change.take_back(agent).await
    }
}
