//! What the commands after a slash do.

use haft_agent::{Agent, Delegate};
use haft_engine::{Session, policy::Mode, session::TaskFacts, turn::Interrupt};
use haft_store::images::Plan;
use haft_tool::{TaskState, View};

use super::{
    app::{Served, Ui, told},
    earlier::{self, Earlier},
    export::export,
    prompts,
    screen::Running,
    slash::{LIST, Slash},
    transcript::Tone,
};
use crate::{
    cli::Options,
    commands::{doctor, explain, log::Page, tools, undo::Undo},
    model::Choice,
    setup::Setup,
};

/// What a command has to say.
#[derive(Debug)]
pub(super) enum Said {
    View(View),
    Note(Tone, String),
    /// A word that need not stay.
    Hint(String),
}

/// Does what needs neither the agent nor time; `None` for everything else.
pub(super) fn quick(setup: &Setup, session: &Session, slash: &Slash) -> Option<Said> {
    let note = |words: &str| Said::Note(Tone::Plain, words.to_owned());
    Some(match slash {
        Slash::Help => Said::View(View::List(vec![commands(), View::text(" "), keys()])),
        Slash::Tools => Said::View(tools::view(&session.pool())),
        Slash::Mode(None) => {
            let modes = Mode::ALL.map(Mode::name).join(", ");
            note(&format!("mode {}; there are {modes}", session.mode()))
        }
        Slash::Mode(Some(mode)) => set_mode(setup, session, *mode),
        Slash::Tasks => fields(tasks(session), "nothing goes on in the background"),
        Slash::Mcp => fields(doctor::of_servers(&setup.servers), "no server is configured; see docs/mcp.md"),
        _ => return None,
    })
}

fn fields(pairs: Vec<(String, String)>, none: &str) -> Said {
    match pairs.is_empty() {
        true => Said::Note(Tone::Plain, none.to_owned()),
        false => Said::View(View::Fields(pairs)),
    }
}

/// Goes over to a mode, if the settings let it.
pub(super) fn set_mode(setup: &Setup, session: &Session, mode: Mode) -> Said {
    match setup.may_switch_to(mode) {
        Ok(()) => {
            session.set_mode(mode);
            Said::Hint(format!("mode {mode}: {}", about(mode)))
        }
        Err(err) => Said::Note(Tone::Warning, err.to_string()),
    }
}

fn tasks(session: &Session) -> Vec<(String, String)> {
    let line = |task: TaskFacts| {
        let state = match task.state {
            TaskState::Running => "goes on".to_owned(),
            TaskState::Done(how) | TaskState::Failed(how) => how,
        };
        (task.id, format!("{state}: {}", task.description))
    };
    session.tasks().into_iter().map(line).collect()
}

/// Who is asked: the model of the conversation, and those who work for it.
pub(super) struct Models {
    pub(super) choice: Choice,
    pub(super) delegate: Delegate,
}

/// Goes on with another model at the same address; so do sub-agents that begin from now on.
pub(super) fn set_model(setup: &Setup, agent: &mut Agent, models: &Models, name: Option<String>) -> Said {
    let Some(name) = name else {
        let words =
            format!("{} answers; /model NAME asks another at the same address", agent.options().model);
        return Said::Note(Tone::Plain, words);
    };
    if setup.has_rules_of_models() {
        let words = format!("some rules are for some models only; begin anew with `haft --model {name}`");
        return Said::Note(Tone::Warning, words);
    }
    let choice = models.choice.named(name);
    match choice.model() {
        Ok(model) => {
            let options = choice.options(setup.model());
            agent.set_model(model.clone(), options.dialect, choice.name);
            agent.change(|own| own.tool_references = options.tool_references);
            models.delegate.set_model(model, options);
            Said::Note(Tone::Plain, format!("{} answers from now on", agent.options().model))
        }
        Err(err) => Said::Note(Tone::Warning, err.to_string()),
    }
}

/// The last change of files of which something is left: what taking it back would do. A change that is gone already counts as
/// taken back, as it does for `haft undo`: else it would stand before all others for ever.
pub(super) async fn last_change(options: Options) -> anyhow::Result<Change> {
    tokio::task::spawn_blocking(move || {
        let undo = Undo::last(&options)?;
        loop {
            let (plan, text) = undo.look()?;
            if !plan.files.is_empty() {
                return Ok(Change { undo, plan, text });
            }
            undo.carry_out(&plan)?;
            // What cannot be taken back is said before one before it is.
            if !plan.left_out.is_empty() {
                return Ok(Change { undo, plan, text });
            }
        }
    })
    .await?
}

/// A change that can be taken back.
pub(super) struct Change {
    undo: Undo,
    plan: Plan,
    pub(super) text: String,
}

impl Change {
    pub(super) fn is_ready(&self) -> bool {
        self.plan.ready().next().is_some()
    }

    /// Takes it back, and lets the model know.
    pub(super) async fn take_back(self, agent: &mut Agent) -> anyhow::Result<String> {
        let files = tokio::task::spawn_blocking(move || self.undo.carry_out(&self.plan)).await??;
        agent.mention(
            "The user took the last change of files back (/undo): look at files before you change them.",
        );
        Ok(format!("taken back: {files} {}", if files == 1 { "file" } else { "files" }))
    }
}

impl Ui<'_> {
    /// Does what can be done at once; gives back the rest.
    pub(super) fn quick(&mut self, slash: Slash) -> Option<Slash> {
        match quick(self.setup, &self.session, &slash) {
            Some(said) => {
                self.say(said);
                None
            }
            None => Some(slash),
        }
    }

    pub(super) fn say(&mut self, said: Said) {
        match said {
            Said::View(view) => self.print(view),
            Said::Note(tone, words) => self.note(tone, words),
            Said::Hint(words) => self.screen.hint = Some(words),
        }
    }

    /// Does what needs the agent or time. `false` if the person left meanwhile.
    pub(super) async fn slow(&mut self, agent: &mut Agent, slash: Slash) -> bool {
        match slash {
            Slash::Compact => self.compact(agent).await,
            Slash::Undo => self.undo(agent).await,
            Slash::Explain { tool, input } => {
                let session = self.session.clone();
                let served = self.aside(explain::words(self.setup, &session, &tool, &input)).await;
                self.served(served, |ui, words| ui.print(View::text(words)))
            }
            Slash::Export(name) => {
                let session = self.session.clone();
                let served = self.aside(export(&session, agent, name)).await;
                self.served(served, Ui::say)
            }
            Slash::Prompt { command, rest } => {
                let session = self.session.clone();
                match self.aside(prompts::text(self.setup, &session, &command, &rest)).await {
                    Served::Left => false,
                    Served::Done(Ok(text)) => self.say_to(agent, text).await,
                    Served::Done(Err(wrong)) => {
                        self.note(Tone::Warning, wrong);
                        true
                    }
                }
            }
            Slash::Model(name) => {
                let said = set_model(self.setup, agent, &self.models, name);
                self.look_at(agent);
                self.say(said);
                true
            }
            _ => true,
        }
    }

    async fn aside<T>(&mut self, work: impl Future<Output = T>) -> Served<T> {
        let (_tx, mut no_events) = tokio::sync::mpsc::unbounded_channel();
        self.during(work, &mut no_events, &Interrupt::default()).await
    }

    fn served<T>(&mut self, served: Served<T>, then: impl FnOnce(&mut Self, T)) -> bool {
        match served {
            Served::Left => false,
            Served::Done(done) => {
                then(self, done);
                true
            }
        }
    }

    async fn compact(&mut self, agent: &mut Agent) -> bool {
        if agent.history().messages().is_empty() {
            self.note(Tone::Plain, "nothing was said yet");
            return true;
        }
        self.screen.running = Some(Running::since(self.now()));
        let (mut on, mut events) = told();
        let interrupt = Interrupt::default();
        let served = self.during(agent.compact("", &mut on, &interrupt), &mut events, &interrupt).await;
        self.screen.running = None;
        self.served(served, |ui, compacted| {
            if let Err(error) = compacted {
                ui.note(Tone::Error, format!("the conversation stays as it is: {error}"));
            }
            ui.look_at(agent);
        })
    }

    /// The conversation to go on with; shows which there are where none is named, or the name fits none.
    pub(super) async fn resume(&mut self, which: Option<String>) -> Option<String> {
        let Some(store) = self.setup.store() else {
            self.note(Tone::Warning, "no conversation is kept: calls are not recorded");
            return None;
        };
        let mut earlier = match earlier::earlier(store, &self.setup.place.workspace, MOST_EARLIER).await {
            Ok(earlier) => earlier,
            Err(err) => {
                self.note(Tone::Warning, format!("{err:#}"));
                return None;
            }
        };
        earlier.retain(|one| one.session != *self.session.id());
        let found = which.as_deref().map(|which| named(which, &earlier));
        match found {
            Some(Some(id)) => return Some(id),
            Some(None) => self.note(Tone::Warning, "there is no such conversation here; these are:"),
            None => {}
        }
        self.say(fields(listed(&earlier), "there is no other conversation in this workspace"));
        None
    }

    async fn undo(&mut self, agent: &mut Agent) -> bool {
        let (options, desk) = (self.setup.options.clone(), self.desk.clone());
        let work = async {
            let change = last_change(options).await?;
            if !change.is_ready() {
                return Ok(change.text);
            }
            let shown = View::Code { language: "diff".to_owned(), text: change.text.clone() };
            if !desk.confirm("Take this back?".to_owned(), shown).await {
                return Ok("nothing was taken back".to_owned());
            }
            change.take_back(agent).await
        };
        let served = self.aside(work).await;
        self.served(served, |ui, done: anyhow::Result<String>| match done {
            Ok(words) => ui.note(Tone::Plain, words),
            Err(err) => ui.note(Tone::Warning, format!("{err:#}")),
        })
    }
}

/// So many conversations are listed.
const MOST_EARLIER: usize = 15;

fn listed(earlier: &[Earlier]) -> Vec<(String, String)> {
    let clock = Page::stdout().clock;
    let line = |(number, one): (usize, &Earlier)| {
        (format!("/resume {number}"), format!("{}  {}", clock.short(one.last), one.words))
    };
    (1..).zip(earlier).map(line).collect()
}

/// The conversation with this number or this id.
fn named(which: &str, earlier: &[Earlier]) -> Option<String> {
    let by_number = which.parse::<usize>().ok().and_then(|number| earlier.get(number.checked_sub(1)?));
    let one = by_number.or_else(|| earlier.iter().find(|one| one.session.as_str() == which))?;
    Some(one.session.to_string())
}

const fn about(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "reading in the workspace is free, the rest is asked",
        Mode::Plan => "only reading",
        Mode::AcceptEdits => "edits in the workspace are free, too",
        Mode::Auto => "a classifier judges before you are asked",
        Mode::DontAsk => "what would be asked is refused",
        Mode::Bypass => "what no rule forbids runs unasked",
    }
}

/// What can be typed after a slash.
pub(super) fn commands() -> View {
    let command = |listed: &super::slash::Listed| {
        (format!("/{} {}", listed.name, listed.arguments).trim_end().to_owned(), listed.about.to_owned())
    };
    let of_servers = ("/mcp__SERVER__PROMPT …", "a prompt of a server, as your message; Tab lists them");
    let of_servers = (of_servers.0.to_owned(), of_servers.1.to_owned());
    View::Fields(LIST.iter().map(command).chain([of_servers]).collect())
}

fn keys() -> View {
    let keys = [
        ("Enter", "sends; Alt-Enter, Ctrl-J or \\ before Enter begins a new line"),
        ("Esc", "stops the turn; twice does not wait for anything"),
        ("Ctrl-C", "stops the turn, or clears the line, or leaves"),
        ("Ctrl-O", "shows all of the last result that was shortened"),
        ("Shift-Tab", "the next mode: default, accept-edits, plan"),
        ("Up, Down", "what was typed before; Ctrl-R looks for it"),
        ("Tab", "completes a command; goes to a question and back"),
    ];
    View::Fields(keys.map(|(key, about)| (key.to_owned(), about.to_owned())).into())
}
