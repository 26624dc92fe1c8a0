//! The screen and the agent, run side by side.
//!
//! One task serves keys, questions, signals and what the agent tells; frames are written on a thread of their own. Nothing here
//! decides anything about calls: that is the engine's, and the person's through [`Desk`].

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use crossterm::event::{Event as Typed, EventStream, KeyEventKind};
use futures::StreamExt;
use haft_agent::{Agent, AgentEvent, End, Outcome, tells_stop};
use haft_engine::{
    Session,
    policy::Mode,
    turn::{Interrupt, Stage, Views},
};
use haft_model::{Message, StreamEvent};
use haft_tool::{Block, View};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use super::{
    asker::{Desk, News},
    dialog::Dialog,
    doing::Models,
    history::{History, Kept},
    inline::Inline,
    layout::{self, BESIDE_DIALOG},
    screen::{Running, Screen, Status, Wish},
    slash::Slash,
    tasks::{Background, Sight},
    terminal::{Guard, Painter},
    transcript::{Happened, Tone},
};
use crate::{draw::within, memory::Keeper, model::Choice, out, place, setup::Setup};

/// As often as this the screen is drawn, at most.
const FRAME: Duration = Duration::from_millis(33);
/// What turns, turns so often.
const TICK: Duration = Duration::from_millis(120);
/// How long a turn has to stop when haft leaves.
const FAREWELL: Duration = Duration::from_secs(3);

/// The screen, and everything that comes to it.
pub(super) struct Ui<'a> {
    pub(super) setup: &'a Setup,
    pub(super) session: Session,
    pub(super) screen: Screen,
    pub(super) desk: Arc<Desk>,
    /// Who is asked.
    pub(super) models: Models,
    news: UnboundedReceiver<News>,
    /// What others would have written to stderr.
    said: UnboundedReceiver<String>,
    keys: EventStream,
    signals: Signals,
    views: Views,
    background: Background,
    kept: Option<Kept>,
    keeper: Keeper,
    inline: Inline,
    height: usize,
    painter: Painter,
    guard: Guard,
    _voice: out::Diverted,
    began: Instant,
    painted: Instant,
    is_dirty: bool,
    /// Whether a signal asked haft to go.
    pub(super) is_sent_away: bool,
}

/// What asks haft to go.
struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn come(&mut self) {
        tokio::select! {
            Some(()) = self.terminate.recv() => {}
            Some(()) = self.hang_up.recv() => {}
            Some(()) = self.interrupt.recv() => {}
            else => pending().await,
        }
    }
}

/// Something that comes to the screen from outside of the agent.
enum Came {
    Typed(Typed),
    News(News),
    Said(String),
    /// Haft is asked to go, or the terminal is gone.
    Farewell,
    /// It is time to look whether something is to be drawn.
    Tick,
}

/// What was served meanwhile.
pub(super) enum Served<T> {
    Done(T),
    /// The person leaves.
    Left,
}

impl<'a> Ui<'a> {
    pub(super) fn start(
        setup: &'a Setup,
        session: Session,
        (desk, news): (Arc<Desk>, UnboundedReceiver<News>),
        models: Models,
    ) -> anyhow::Result<Ui<'a>> {
        let kept = place::state().ok().map(|state| Kept::at(&state));
        let history = History::of(kept.as_ref().map(Kept::lines).unwrap_or_default());
        let signals = Signals::listen().context("signals cannot be listened to")?;
        let (columns, height) = size();
        let (voice, said) = unbounded_channel();
        let guard = Guard::take().context("the terminal cannot be used")?;
        let now = Instant::now();
        Ok(Ui {
            setup,
            views: Views::new(&session),
            background: Background::after(&session.tasks()),
            keeper: Keeper::new(setup, &session),
            session,
            screen: Screen::new(history, columns),
            desk,
            models,
            news,
            said,
            keys: EventStream::new(),
            signals,
            kept,
            inline: Inline::new(columns + 1, super::has_colours()),
            height,
            painter: Painter::start().context("no thread could be started")?,
            guard,
            _voice: out::divert(move |words| drop(voice.send(words))),
            began: now,
            painted: now,
            is_dirty: true,
            is_sent_away: false,
        })
    }

    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn happened(&mut self, what: Happened) {
        let now = self.now();
        self.screen.happened(what, now);
        self.is_dirty = true;
    }

    pub(super) fn note(&mut self, tone: Tone, words: impl Into<String>) {
        self.happened(Happened::Noted(tone, words.into()));
    }

    pub(super) fn print(&mut self, view: View) {
        self.happened(Happened::Printed(view));
    }

    /// Does some work while the screen is served.
    pub(super) async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
        events: &mut UnboundedReceiver<AgentEvent>,
        interrupt: &Interrupt,
    ) -> Served<T> {
        tokio::pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                came = self.next() => {
                    if let Some(wish) = self.came(came)
                        && self.fulfil(wish, interrupt)
                    {
                        // Every call has a result in the end, also of those that were stopped: it is waited for a little.
                        interrupt.trigger();
                        interrupt.trigger();
                        let _ = tokio::time::timeout(FAREWELL, &mut work).await;
                        return Served::Left;
                    }
                }
                Some(event) = events.recv() => self.told(event),
                done = &mut work => break done,
            }
            self.paint();
        };
        while let Ok(event) = events.try_recv() {
            self.told(event);
        }
        Served::Done(done)
    }

    /// A wish while something runs. Whether haft is to leave.
    fn fulfil(&mut self, wish: Wish, interrupt: &Interrupt) -> bool {
        match wish {
            Wish::Leave | Wish::Do(Slash::Quit) => return true,
            Wish::Stop => interrupt.trigger(),
            Wish::Do(slash) => {
                if self.quick(slash).is_some() {
                    self.screen.hint =
                        Some("that has to wait until the turn is over; Esc stops it".to_owned());
                }
            }
            Wish::Send(text) => self.screen.queue.push_back(text),
            wish => self.handle(wish),
        }
        false
    }

    /// What the person wants next, while nothing runs.
    pub(super) async fn wish(&mut self) -> Wish {
        loop {
            self.paint();
            let came = self.next().await;
            match self.came(came) {
                Some(wish @ (Wish::Send(_) | Wish::Leave)) => return wish,
                Some(Wish::Do(slash)) => {
                    if let Some(slash) = self.quick(slash) {
                        return Wish::Do(slash);
                    }
                }
                Some(wish) => self.handle(wish),
                None => {}
            }
        }
    }

    fn handle(&mut self, wish: Wish) {
        match wish {
            Wish::NextMode => {
                let next = match self.session.mode() {
                    Mode::Default => Mode::AcceptEdits,
                    Mode::AcceptEdits => Mode::Plan,
                    _ => Mode::Default,
                };
                let said = super::doing::set_mode(self.setup, &self.session, next);
                self.say(said);
            }
            Wish::Suspend => self.suspend(),
            Wish::Redraw => self.redraw(),
            _ => {}
        }
    }

    async fn next(&mut self) -> Came {
        let is_moving = self.screen.running.is_some() || !self.screen.dialogs.is_empty();
        let due = match (self.is_dirty, is_moving) {
            (true, _) => self.painted + FRAME,
            (false, true) => self.painted + TICK,
            // What goes on in the background may have ended.
            (false, false) => self.painted + Duration::from_secs(1),
        };
        if self.painter.is_gone() {
            return Came::Farewell;
        }
        tokio::select! {
            biased;
            () = self.signals.come() => Came::Farewell,
            Some(news) = self.news.recv() => Came::News(news),
            Some(words) = self.said.recv() => Came::Said(words),
            typed = self.keys.next() => match typed {
                Some(Ok(typed)) => Came::Typed(typed),
                // A terminal that is gone.
                Some(Err(_)) | None => Came::Farewell,
            },
            () = tokio::time::sleep_until(due.into()) => {
                // A frame that is still being written is waited for: what comes next is in the one after it.
                self.painter.settled().await;
                Came::Tick
            }
        }
    }

    fn came(&mut self, came: Came) -> Option<Wish> {
        let now = self.now();
        if !matches!(came, Came::Tick) {
            self.is_dirty = true;
        }
        match came {
            Came::Farewell => {
                self.is_sent_away = true;
                return Some(Wish::Leave);
            }
            Came::News(news) => self.heard(news, now),
            Came::Said(words) => self.note(Tone::Warning, words),
            Came::Typed(Typed::Key(key)) if key.kind != KeyEventKind::Release => {
                let wish = self.screen.key(key, now);
                std::mem::take(&mut self.screen.entered).iter().for_each(|line| self.remember(line));
                return wish;
            }
            Came::Typed(Typed::Paste(text)) => self.screen.paste(&text, now),
            Came::Typed(Typed::Resize(..)) => self.resized(),
            Came::Typed(_) => {}
            Came::Tick => self.is_dirty = true,
        }
        None
    }

    fn heard(&mut self, news: News, now: u64) {
        match news {
            News::Asked(asked) => self.screen.ask_about(asked, now),
            News::Inquired(inquired) => self.put(Dialog::form(inquired), now),
            News::Undecided(text, undecided) => {
                // It is read whole, however long it is: it goes above, as what the model says.
                if let Some(text) = text {
                    self.happened(Happened::Recited(text));
                }
                self.put(Dialog::decision(undecided), now);
            }
            News::Withdrawn(id) => self.screen.withdraw(id, now),
            News::Told(words) => self.note(Tone::Plain, words),
        }
    }

    /// Asks. What a small screen cannot show whole goes above, too, where it can be scrolled to.
    fn put(&mut self, dialog: Dialog, now: u64) {
        if dialog.height(self.screen.columns) + BESIDE_DIALOG > self.height
            && let Some(words) = dialog.words()
        {
            self.print(View::text(words));
        }
        self.screen.ask(dialog, now);
    }

    fn resized(&mut self) {
        let (columns, height) = size();
        // A terminal that became lower has moved our rows up, some of them out of reach: what is where is not known any more.
        if columns + 1 != self.inline.columns() || height != self.height {
            self.painter.paint(self.inline.resized(columns + 1));
        }
        (self.height, self.screen.columns) = (height, columns);
    }

    fn redraw(&mut self) {
        self.painter.paint(self.inline.clear());
        self.is_dirty = true;
    }

    /// To the background, as Ctrl-Z does everywhere, and back.
    fn suspend(&mut self) {
        let frame = self.inline.clear();
        self.guard.release();
        out::raw(&frame);
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        if self.guard.retake().is_err() {
            self.note(Tone::Error, "the terminal cannot be used any more");
        }
        self.resized();
    }

    /// Draws what has changed, if it is time.
    pub(super) fn paint(&mut self) {
        if !self.is_dirty || self.painter.is_busy() || self.painted.elapsed() < FRAME {
            return;
        }
        self.paint_now();
    }

    fn paint_now(&mut self) {
        // A terminal that was made narrow has wrapped our rows before it says so: a frame for the old width would miss them.
        self.resized();
        let (columns, now) = (self.screen.columns, self.now());
        self.look();
        let over = self.screen.transcript.settled(columns);
        let live = layout::live(&self.screen, columns, self.height, now);
        self.painter.paint(self.inline.frame(&over, live));
        (self.painted, self.is_dirty) = (Instant::now(), false);
    }

    /// What the session says of itself, and what all that was asked took.
    fn look(&mut self) {
        let usage = self.models.choice.spent.usage();
        self.screen.status.used = (usage.input, usage.output);
        self.screen.status.cost = self.setup.model().price.of(usage);
        self.screen.status.mode = self.session.mode().name().to_owned();
        self.screen.prompts = super::prompts::all(&self.setup.servers);
        let Sight { running, ended } = self.background.look(self.session.tasks());
        self.screen.tasks = running;
        ended.into_iter().for_each(|(tone, words)| self.note(tone, words));
    }

    /// The last frame: everything that was said, and nothing that is typed.
    pub(super) async fn finish(&mut self) {
        self.keeper.settle().await;
        self.happened(Happened::Over);
        self.screen.dialogs.clear();
        self.painter.settled().await;
        let over = self.screen.transcript.settled(self.screen.columns);
        self.painter.paint(self.inline.frame(&over, layout::Live::default()));
        self.painter.settled().await;
        out::raw(&self.inline.clear());
    }

    /// Keeps what was typed for the next time.
    fn remember(&self, line: &str) {
        let Some(kept) = self.kept.clone() else { return };
        let (line, redactor) = (line.to_owned(), self.session.redactor().cloned());
        // It only saves typing: where it cannot be kept, it is not.
        drop(tokio::task::spawn_blocking(move || kept.add(&line, redactor.as_deref())));
    }

    /// What the agent tells.
    pub(super) fn told(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::Asking { .. } => self.happened(Happened::Asking),
            AgentEvent::Model(event) => self.streamed(event),
            AgentEvent::Tool(event) => {
                if let Some(mut drawn) = self.views.draw(&event) {
                    drawn.view = shorter(drawn.view, &self.session);
                    if !matches!(drawn.stage, Stage::Queued | Stage::Using | Stage::Progress) {
                        self.screen.todos = super::todos::of(&self.session);
                        drawn.view = super::todos::once(&drawn.tool, drawn.view, &self.screen.todos);
                    }
                    self.happened(Happened::Drawn(drawn));
                }
                if let haft_engine::turn::Event::HookSaid { said, .. } = &event {
                    crate::hooks::tell(self.setup.talk, said);
                }
                if let haft_engine::turn::Event::Unrecorded { why, .. } = &event {
                    self.note(Tone::Warning, format!("this call is not recorded: {why}"));
                }
                if let haft_engine::turn::Event::Retrying { attempt, reason, .. } = &event {
                    self.note(Tone::Warning, format!("attempt {attempt}: {reason}"));
                }
            }
            AgentEvent::Retrying { attempt, delay, error } => {
                self.happened(Happened::BrokeOff);
                let (error, seconds) = (self.models.choice.words(&error), delay.as_secs_f64());
                self.note(
                    Tone::Warning,
                    format!("{error}; asked again in {seconds:.1} s (attempt {attempt})"),
                );
                let until = self.now() + u64::try_from(delay.as_millis()).unwrap_or(u64::MAX / 2);
                self.screen.pauses_until(until);
            }
            AgentEvent::Compacting => self.note(Tone::Plain, "the conversation is being made shorter"),
            AgentEvent::Compacted { before, after } => {
                let (before, after) = (layout::tokens(before), layout::tokens(after));
                self.note(Tone::Plain, format!("the conversation is shorter: {before} → {after} tokens"));
            }
            AgentEvent::Notice(words) => {
                // What ended while it was not looked at is known from now on.
                self.look();
                if let Some(words) = self.background.news(&words) {
                    self.note(Tone::Plain, words);
                }
            }
            AgentEvent::Usage { context, .. } => {
                self.screen.status.context = Some((context.used, context.window));
                self.keeper.keep_now_and_then();
            }
            _ => {}
        }
    }

    fn streamed(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::Text(piece) => self.happened(Happened::Text(piece)),
            StreamEvent::Thinking(piece) => self.happened(Happened::Thinking(piece)),
            StreamEvent::CallOpened { id, name } => self.happened(Happened::CallOpened(id, name)),
            StreamEvent::CallArguments { id, piece } => self.happened(Happened::CallGrew(id, piece.len())),
            StreamEvent::Call(call) => self.happened(Happened::CallWritten(call.id)),
            _ => {}
        }
    }

    /// How a turn ended.
    fn ended(&mut self, outcome: &Outcome) {
        self.keeper.keep();
        self.happened(Happened::Over);
        if let Some((tone, words)) = end_words(outcome, &self.models.choice) {
            self.note(tone, words);
        }
    }

    /// How things stand with the agent.
    pub(super) fn look_at(&mut self, agent: &Agent) {
        let context = agent.context();
        let is_known = agent.usage().input > 0 || !agent.history().messages().is_empty();
        self.screen.status = Status {
            model: agent.options().model.clone(),
            context: (is_known && context.window > 0).then_some((context.used, context.window)),
            ..self.screen.status.clone()
        };
        self.is_dirty = true;
    }

    /// Where this is, and what was said last, if it goes on.
    pub(super) fn greet(&mut self, agent: &Agent) {
        let place = self.session.facts().cwd.display().to_string();
        self.note(Tone::Plain, format!("haft {} in {place}", env!("CARGO_PKG_VERSION")));
        let messages = agent.history().messages();
        let Some(from) =
            messages.iter().rposition(|message| matches!(message, Message::User(_)) && !tells_stop(message))
        else {
            return;
        };
        self.note(Tone::Plain, format!("going on with {} messages; the last were:", messages.len()));
        for message in &messages[from..] {
            match message {
                Message::User(blocks) => {
                    let words: Vec<&str> = blocks.iter().filter_map(Block::as_text).collect();
                    self.happened(Happened::Said(words.join("\n")));
                }
                Message::Assistant(assistant) => self.happened(Happened::Text(assistant.text())),
                Message::Results(_) => {}
            }
        }
        self.happened(Happened::Over);
        if !matches!(messages.last(), Some(Message::Assistant(said)) if said.calls().next().is_none()) {
            self.note(Tone::Warning, "it was cut off there; what you say next goes on from it");
        }
    }

    /// Says something to the model and follows it to the end. `false` if the person left.
    pub(super) async fn send(&mut self, agent: &mut Agent, text: String) -> bool {
        self.say_to(agent, text).await
    }

    /// The same with words that nobody typed.
    pub(super) async fn say_to(&mut self, agent: &mut Agent, text: String) -> bool {
        self.happened(Happened::Said(text.clone()));
        self.screen.running = Some(Running::since(self.now()));
        let (mut on, mut events) = told();
        let interrupt = Interrupt::default();
        let served = self.during(agent.run(text, &mut on, &interrupt), &mut events, &interrupt).await;
        match served {
            Served::Done(outcome) => self.ended(&outcome),
            Served::Left => return false,
        }
        self.look_at(agent);
        true
    }
}

/// A view in which paths begin in the workspace. Only for what is over or goes on: a question names places in full.
fn shorter(view: View, session: &Session) -> View {
    let short = |text: &str| within(text, &session.workspace());
    match view {
        View::Text(text) => View::Text(short(&text)),
        View::Diff { path, unified } => View::Diff { path: short(&path), unified },
        View::List(items) => View::List(items.into_iter().map(|item| shorter(item, session)).collect()),
        view => view,
    }
}

/// Why a turn ended without an answer.
pub(super) fn end_words(outcome: &Outcome, choice: &Choice) -> Option<(Tone, String)> {
    let words = match &outcome.end {
        End::Answered => return None,
        End::TurnLimit => "the model was asked as often as it may be; say more to go on".to_owned(),
        End::TokenLimit => "the model has written as much as it may; say more to go on".to_owned(),
        End::Interrupted => "stopped; what was done is done, and the model is told".to_owned(),
        End::Stuck(call) => {
            format!("the model makes the same call of {call} again and again; tell it what to do instead")
        }
        End::Stopped(why) => format!("a hook stopped it: {why}"),
        End::Refused => "the model does not want to do this".to_owned(),
        End::Failed(error) => {
            let advice = choice.advice(error).map_or_else(String::new, |advice| format!("\n{advice}"));
            let error = choice.words(error);
            return Some((Tone::Error, format!("the model does not answer: {error}{advice}")));
        }
        end => end.name().to_owned(),
    };
    Some((Tone::Warning, words))
}

/// Somebody to tell, and where it arrives.
pub(super) fn told() -> (impl FnMut(AgentEvent) + Send, UnboundedReceiver<AgentEvent>) {
    let (tx, rx): (UnboundedSender<AgentEvent>, _) = unbounded_channel();
    // Whoever does not listen any more has left.
    (move |event| drop(tx.send(event)), rx)
}

/// Columns and rows that can be drawn on. The last column stays free: what is written there hangs over the edge, on some
/// terminals into the next row. So does the first row: what is above it is the terminal's own.
fn size() -> (usize, usize) {
    let (columns, rows) = crossterm::terminal::size().unwrap_or((80, 24));
    let or = |figure: u16, usual: usize| if figure == 0 { usual } else { usize::from(figure) };
    (or(columns, 80).max(8) - 1, or(rows, 24).max(4) - 1)
}
