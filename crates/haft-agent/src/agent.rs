//! One conversation: a session, a model, and what was said.

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
    sync::Arc,
};

use haft_engine::{
    Call, Session,
    pool::{Entry, Offer, Pool},
};
use haft_model::{Dialect, History, Message, RequestOptions, Usage};
use haft_tool::{Block, CallId};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::{
    AgentOptions, Context, Line, Model, Transcript, context::Gauge, guard::Guard, ids::Ids, notes,
    run::tells_stop, system, transcript::presentable,
};

/// Every request carries all tools that are kept from the model: more bytes than this are not sent again and again.
const MOST_SENT: usize = 512 * 1024;

/// Fewer tokens of an answer than this are refused by some APIs.
const LEAST_ANSWER: u64 = 16;

/// What is known of a window is not so exact that less than this would be believed.
const LEAST_ROOM: u64 = 1_024;

/// So many tokens Anthropic's API is told where nothing else was said.
const USUAL_ANSWER: u64 = 32_000;

/// A conversation with a model that can act.
///
/// See [`run`](Agent::run). It holds nothing global: several run side by side, each with a session, a model, a budget and an
/// interrupt of its own.
pub struct Agent {
    pub(crate) session: Session,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) options: AgentOptions,
    pub(crate) history: History,
    /// The fingerprint of the pool whose tools the model has been told, and what results have referred to.
    tools: (String, BTreeSet<String>),
    /// Whether the model has been told where it is: done when it is first asked.
    is_told: bool,
    pub(crate) ids: Ids,
    pub(crate) guard: Guard,
    pub(crate) gauge: Gauge,
    /// So many tokens it had when it was last made shorter.
    pub(crate) shortest: u64,
    pub(crate) usage: Usage,
    /// What joins the next message of the person: words of hooks, and what they should know of the last run.
    pub(crate) preface: Vec<String>,
    /// What the person asked for and has no answer to yet.
    pub(crate) prompt: Vec<Block>,
    /// Calls of the last message that have no results in the conversation, by the engine's ids.
    pub(crate) open: Vec<CallId>,
    /// Those of them that are no longer what the model wrote.
    pub(crate) hidden: Vec<CallId>,
    /// The last answer, which is read to its end so that its connection can be used again.
    pub(crate) rest: Option<JoinHandle<()>>,
    transcript: Option<Arc<dyn Transcript>>,
    /// What could not be kept is told once.
    is_unkept: bool,
}

/// A conversation from before.
#[derive(Debug, Clone, Default)]
pub struct Past {
    /// What was said.
    pub messages: Vec<Message>,
    /// By which ids the engine knows the calls of the last message, if that is the model's and has no results.
    pub open: Vec<CallId>,
    /// Those of them whose arguments were not kept as the model wrote them.
    pub hidden: Vec<CallId>,
    /// All ids by which the engine knew calls.
    pub calls: Vec<CallId>,
}

/// An agent in the making. [`build`](AgentBuilder::build) finishes it.
pub struct AgentBuilder {
    session: Session,
    model: Arc<dyn Model>,
    options: AgentOptions,
    past: Past,
    transcript: Option<Arc<dyn Transcript>>,
}

impl AgentBuilder {
    /// Goes on with a conversation. Calls without results are settled by the next run: what was finished is answered
    /// from the journal, what was cut off is told as that.
    pub fn past(mut self, past: Past) -> AgentBuilder {
        self.past = past;
        self
    }

    /// Who keeps what is said. Without one, it ends with the agent.
    pub fn transcript(mut self, transcript: impl Transcript + 'static) -> AgentBuilder {
        self.transcript = Some(Arc::new(transcript));
        self
    }

    /// The agent. Nothing is asked yet.
    pub fn build(self) -> Agent {
        let AgentBuilder { session, model, options, past, transcript } = self;
        let mut history = History::new(options.dialect);
        history.set_media(options.images);
        let prompt = open_prompt(&past.messages);
        let said: Vec<CallId> = calls_in(&past.messages).map(|call| call.id.clone()).collect();
        history.extend(past.messages);
        Agent {
            session,
            model,
            options,
            history,
            tools: Default::default(),
            is_told: false,
            ids: Ids::used(past.calls.iter().chain(&past.open).chain(&said)),
            guard: Guard::default(),
            gauge: Gauge::default(),
            shortest: 0,
            usage: Usage::default(),
            preface: Vec::new(),
            prompt,
            open: past.open,
            hidden: past.hidden,
            rest: None,
            transcript,
            is_unkept: false,
        }
    }
}

impl Agent {
    /// An agent that works in this session and asks this model.
    pub fn builder(session: Session, model: Arc<dyn Model>, options: AgentOptions) -> AgentBuilder {
        AgentBuilder { session, model, options, past: Past::default(), transcript: None }
    }

    /// The session that it works in.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// How it behaves.
    pub fn options(&self) -> &AgentOptions {
        &self.options
    }

    /// Changes how it behaves from the next run on. A change of what the model is told first makes the API forget what it
    /// had cached. The model and its API are changed by [`set_model`](Agent::set_model).
    pub fn change(&mut self, change: impl FnOnce(&mut AgentOptions)) {
        let (model, dialect) = (self.options.model.clone(), self.options.dialect);
        let (system, refers) = (self.options.system.clone(), self.options.tool_references);
        change(&mut self.options);
        (self.options.model, self.options.dialect) = (model, dialect);
        if self.options.system != system {
            self.is_told = false;
        }
        if self.options.tool_references != refers {
            self.tools = Default::default();
        }
    }

    /// What was said.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What all answers took.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// How full the model's window is.
    pub fn context(&self) -> Context {
        Context { used: self.gauge.used(&self.history), window: self.options.window }
    }

    /// Goes on with another model, of the same API or of another.
    pub fn set_model(&mut self, model: Arc<dyn Model>, dialect: Dialect, name: impl Into<String>) {
        self.model = model;
        self.rest = None;
        self.options.model = name.into();
        if self.options.dialect != dialect {
            self.options.dialect = dialect;
            self.history = self.history.for_dialect(dialect);
            self.tools = Default::default();
            self.gauge = Gauge::default();
        }
        // The one before may not have taken them.
        self.history.set_media(self.options.images);
    }

    /// Says to the model, with the next message of the person, what it should know besides.
    pub fn mention(&mut self, words: impl Into<String>) {
        self.preface.push(words.into());
    }

    /// Tells the model where it is and which tools there are, if that is not what it was told last.
    pub(crate) async fn introduce(&mut self) {
        if !self.is_told {
            let notes = match self.options.notes {
                true => notes::read(&self.session).await,
                false => None,
            };
            let facts = self.session.facts();
            self.history.set_system(system::prompt(&facts, &self.options.system, notes.as_deref()));
            self.is_told = true;
        }
        let pool = self.session.pool();
        let loaded: BTreeSet<String> = self.history.loaded().map(str::to_owned).collect();
        if self.tools.0 != pool.fingerprint() || self.tools.1 != loaded {
            match self.referring(&pool, &loaded) {
                Some(tools) => self.history.set_tools_json(&tools),
                None => self.history.set_tools(pool.offers()),
            }
            self.tools = (pool.fingerprint().to_owned(), loaded);
        }
    }

    /// All tools, where the API keeps those that were not searched for from the model. Nothing of it changes when one is
    /// found.
    fn referring(&self, pool: &Pool, referred: &BTreeSet<String>) -> Option<Value> {
        let AgentOptions { dialect, tool_references, .. } = self.options;
        if !(tool_references && dialect.has_references()) {
            return None;
        }
        let shown: HashSet<&str> = pool.shown().map(Entry::name).collect();
        let tools = dialect.tools_deferring(pool.all_offers().map(|offer| {
            // What was found and no result says so any more, after a summary or a crash, is simply shown.
            let is_found = shown.contains(offer.name) && !referred.contains(offer.name);
            Offer { deferred: offer.deferred && !is_found, ..offer }
        }));
        (tools.to_string().len() <= MOST_SENT).then_some(tools)
    }

    /// How the model is asked, where the run has so many tokens left.
    pub(crate) fn request_options(&self, left: Option<u64>) -> RequestOptions {
        RequestOptions {
            max_tokens: self.answer_tokens(left),
            thinking: self.options.thinking,
            cache_key: self.options.cache_key.then(|| self.session.id().to_string()),
            extra: self.options.extra.clone(),
            ..RequestOptions::new(&self.options.model)
        }
    }

    /// The most tokens of the next answer: no more than was set, than the run has left, and than the window has room for. Where
    /// nothing was said, the API is told nothing, unless it always is and that could be more than there is room for.
    fn answer_tokens(&self, left: Option<u64>) -> Option<u32> {
        let set = self.options.answer_tokens.map(u64::from).into_iter().chain(left).min();
        let room = self.gauge.is_counted().then(|| self.context().left().max(LEAST_ROOM));
        let most = match (set, room) {
            (Some(set), room) => Some(set.min(room.unwrap_or(u64::MAX))),
            (None, Some(room)) if self.options.dialect == Dialect::Anthropic => {
                Some(room).filter(|room| *room < USUAL_ANSWER)
            }
            (None, _) => None,
        };
        most.map(|most| u32::try_from(most.max(LEAST_ANSWER)).unwrap_or(u32::MAX))
    }

    /// Something joins the conversation. It is kept before it does.
    ///
    /// What cannot be kept does not keep the conversation from going on: the journal decides whether calls may run that
    /// nothing is known of later.
    pub(crate) async fn say(&mut self, message: Message, calls: &[CallId]) -> Option<String> {
        let kept = match &self.transcript {
            None => Ok(()),
            Some(transcript) => {
                let redactor = self.session.redactor().map(|redactor| &**redactor);
                let (shown, hidden) = presentable(&message, calls, redactor);
                transcript.keep(Line::Said { message: &shown, calls, hidden: &hidden }).await
            }
        };
        // If this run is dropped, the next one settles them.
        self.open = match &message {
            Message::Assistant(_) => calls.to_vec(),
            _ => Vec::new(),
        };
        self.history.push(message);
        self.unkept(kept)
    }

    /// The conversation was made shorter.
    pub(crate) async fn rewritten(&mut self) -> Option<String> {
        let transcript = self.transcript.clone()?;
        let redactor = self.session.redactor().cloned();
        let messages: Vec<Message> = self
            .history
            .messages()
            .iter()
            .map(|message| presentable(message, &[], redactor.as_deref()).0.into_owned())
            .collect();
        let kept = transcript.keep(Line::Rewritten(&messages)).await;
        self.unkept(kept)
    }

    /// An answer took this.
    pub(crate) fn count(&mut self, usage: Usage) {
        self.usage += usage;
    }

    fn unkept(&mut self, kept: std::io::Result<()>) -> Option<String> {
        let why = kept.err().filter(|_| !std::mem::replace(&mut self.is_unkept, true))?;
        Some(format!("what is said is not kept, and cannot be resumed: {why}"))
    }
}

fn calls_in(messages: &[Message]) -> impl Iterator<Item = &Call> {
    let said = messages.iter().filter_map(|message| match message {
        Message::Assistant(said) => Some(said),
        _ => None,
    });
    said.flat_map(|said| said.calls())
}

/// What the person asked last, if the model has not answered it: it answers by a message without calls.
fn open_prompt(messages: &[Message]) -> Vec<Block> {
    if let Some(Message::Assistant(said)) = messages.last()
        && said.calls().next().is_none()
    {
        return Vec::new();
    }
    let asked = messages.iter().rev().find_map(|message| match message {
        // That they stopped it is not what they asked.
        Message::User(blocks) if !tells_stop(message) => Some(blocks.clone()),
        _ => None,
    });
    asked.unwrap_or_default()
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("session", &self.session)
            .field("model", &self.options.model)
            .finish_non_exhaustive()
    }
}
