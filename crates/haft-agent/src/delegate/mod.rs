//! `Delegate`: a sub-agent does a piece of the work, in a conversation of its own.
//!
//! Each call is one sub-agent; calls of one message run side by side. It works in a child of the session
//! ([`Session::child`](haft_engine::Session::child)), so it may never do what its parent may not, and everything it does goes
//! through the same policy, journal and undo. It is here and not among the tools because it needs the loop.

mod definition; // an agent as a file describes it
mod report; //     what became of a sub-agent
mod work; //       one sub-agent at work

use std::{
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use haft_engine::{
    pool::{Entry, Filter},
    session::ChildOptions,
    turn::{Kernel, KernelCx, Occasion},
};
use haft_tool::{
    Access, BoxFuture, Cx, Effects, Fault, FaultKind, IntoTool, PathBase, Progress, Reply, SessionId,
    SharedTool, Spec, Tool, front_matter::one_line,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use definition::built_in;
pub use definition::{AgentDefinition, DefinitionError};
use work::{Job, Work};

use crate::{Agent, AgentOptions, Model};

/// Hands a piece of the work to a sub-agent, which has its own conversation and gives you its answer.
///
/// Use it for work that would fill your own conversation (searching widely, reading much) and for pieces that do not depend on
/// each other: make several calls in one message, and they work at the same time. For a file that you know, Read is quicker.
/// It knows nothing of this conversation: say all that it needs, what to do, and what to answer. It may do no more than you
/// may, and it asks the same person. It fails if it has no answer in time, and then tells what it did.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DelegateInput {
    /// The task, with all that must be known for it.
    prompt: String,
    /// What it is for, in three to five words. The person reads it.
    description: Option<String>,
    /// Which agent; `general` if it is left out.
    agent: Option<String>,
    /// The tools that it has, of those that you have; `readonly` for those that change nothing. All if it is left out.
    tools: Option<Vec<String>>,
    /// How often its model may be asked.
    #[schemars(range(min = 1, max = 1000))]
    max_turns: Option<u32>,
    /// How long it may take, in seconds.
    #[schemars(range(min = 1, max = 7200))]
    timeout_s: Option<u64>,
    /// Whether to answer at once with a task's id while it works; look at it with TaskOutput, end it with TaskStop.
    #[serde(default)]
    background: bool,
}

/// How far sub-agents may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegateLimits {
    /// So many are at work at once; more wait.
    pub parallel: usize,
    /// How deep they may stand: 1 lets no sub-agent have one of its own.
    pub depth: usize,
    /// How often the model of one may be asked, unless its definition or the call says less.
    pub max_turns: u32,
    /// How many tokens the model of one may write, in all its answers.
    pub max_tokens: Option<u64>,
    /// How long one may take, unless the call says less.
    pub time: Duration,
}

impl Default for DelegateLimits {
    fn default() -> DelegateLimits {
        DelegateLimits {
            parallel: 8,
            depth: 1,
            max_turns: 100,
            max_tokens: None,
            time: Duration::from_secs(30 * 60),
        }
    }
}

/// The tool; register it by [`EngineBuilder::kernel`](haft_engine::EngineBuilder::kernel). Clones are the same tool.
#[derive(Clone)]
pub struct Delegate(Arc<Desk>);

struct Desk {
    asked: RwLock<Asked>,
    /// Sorted by name.
    definitions: Vec<AgentDefinition>,
    limits: DelegateLimits,
    /// One for each depth: a sub-agent that waits for its own must not keep a place from them.
    rooms: Vec<Arc<Semaphore>>,
}

/// Who is asked, and how, where a definition says nothing else.
#[derive(Clone)]
struct Asked {
    model: Arc<dyn Model>,
    options: AgentOptions,
}

/// The longest that a call can ask for.
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);
/// The engine's own limit must not cut off what is told of a sub-agent that took too long.
const WITH_LAST_WORDS: Duration = Duration::from_secs(LONGEST.as_secs() + 60);
/// Less than what the engine waits for the last word of a call.
const LAST_WORD: Duration = Duration::from_millis(400);
/// So many bytes the list of agents may have before only names are listed.
const MOST_LISTED: usize = 3 * 1024;
/// So many tools that were named are shown from the beginning.
const MOST_LOADED: usize = 40;
const LONGEST_LINE: usize = 100;
const LONGEST_PROMPT: usize = 256 * 1024;

/// What a sub-agent is told after haft's own words.
const WORDS: &str = "You are a sub-agent: another agent has given you a piece of its work, and nobody answers questions. Your \
last message is all that it gets, so put everything into it that was asked for, with paths and lines, and nothing else. If you \
cannot do it, say what is missing.";

/// What is about the person or the whole session stays with the agent that they speak to.
const KEPT_ABOVE: [&str; 5] =
    ["!AskUser", "!EnterPlanMode", "!ExitPlanMode", "!EnterWorktree", "!ExitWorktree"];

impl Delegate {
    /// Sub-agents that ask this model, as these options say. Of two definitions with one name the first counts; `general` and
    /// `explore` are there anyway.
    pub fn new(
        model: Arc<dyn Model>,
        options: AgentOptions,
        definitions: impl IntoIterator<Item = AgentDefinition>,
        limits: DelegateLimits,
    ) -> Delegate {
        let mut known: Vec<AgentDefinition> = Vec::new();
        for definition in definitions.into_iter().chain(built_in()) {
            if !known.iter().any(|one| one.name == definition.name) {
                known.push(definition);
            }
        }
        known.sort_by(|one, other| one.name.cmp(&other.name));
        let room = |_| Arc::new(Semaphore::new(limits.parallel.clamp(1, Semaphore::MAX_PERMITS)));
        Delegate(Arc::new(Desk {
            asked: RwLock::new(Asked { model, options }),
            definitions: known,
            limits,
            rooms: (0..limits.depth).map(room).collect(),
        }))
    }

    /// Sub-agents that begin from now on ask this model.
    pub fn set_model(&self, model: Arc<dyn Model>, options: AgentOptions) {
        *self.0.asked.write().unwrap_or_else(PoisonError::into_inner) = Asked { model, options };
    }

    /// The agents that there are.
    pub fn definitions(&self) -> &[AgentDefinition] {
        &self.0.definitions
    }
}

impl Kernel for Delegate {
    fn tool(&self) -> SharedTool {
        Contract(listed(&self.0.definitions)).into_tool()
    }

    fn run<'a>(&'a self, input: Arc<Value>, kx: KernelCx<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        Box::pin(async move {
            let input =
                DelegateInput::deserialize(&*input).map_err(|err| Fault::rejected(err.to_string()))?;
            self.0.delegate(input, kx).await
        })
    }
}

/// What is asked of the tool before it runs. It holds the agents, as they are listed.
struct Contract(String);

impl Tool for Contract {
    type Input = DelegateInput;
    const SPEC: Spec = Spec::new("Delegate")
        // Also where only plans are made: what it may, its calls are asked.
        .toolset("planning")
        .aliases(&["Task", "task", "Agent", "delegate", "spawn_agent", "dispatch_agent", "subagent"])
        .search_hint("sub-agent subagent parallel explore research review divide work background")
        .by_calls()
        .timeout(WITH_LAST_WORDS);

    fn prompt(&self, own: &str) -> Option<String> {
        Some(format!("{own}\n\nAgents:{}", self.0))
    }

    fn validate(&self, input: &DelegateInput) -> Result<(), Fault> {
        if input.prompt.trim().is_empty() {
            return Err(Fault::rejected(
                "`prompt` is empty; say what is to be done, with all that must be known for it",
            ));
        }
        if input.prompt.len() > LONGEST_PROMPT {
            return Err(Fault::rejected(format!(
                "`prompt` has {} bytes, and {LONGEST_PROMPT} are the most; name files that hold the rest",
                input.prompt.len()
            )));
        }
        Ok(())
    }

    /// What it does is done by calls that are judged one by one. It looks around here, so it keeps its place beside calls that
    /// write here; and it changes what nobody else does, so it waits until the message that asks for it is complete.
    fn effects_here(&self, input: &DelegateInput, base: &PathBase) -> Effects {
        let mut hasher = DefaultHasher::new();
        (&input.agent, &input.prompt).hash(&mut hasher);
        Effects::reads(&base.cwd)
            .and_state(format!("sub-agent {:08x}", hasher.finish() as u32), Access::Write)
    }

    fn describe(&self, input: &DelegateInput) -> String {
        format!("Delegate to {}: {}", kind(input), line(input))
    }

    async fn call(&self, _: DelegateInput, _: &Cx) -> Result<Reply, Fault> {
        let message = "Delegate runs in the kernel; it was registered as an ordinary tool";
        Err(Fault::new(FaultKind::Internal, message))
    }
}

fn kind(input: &DelegateInput) -> &str {
    input.agent.as_deref().map(str::trim).filter(|agent| !agent.is_empty()).unwrap_or("general")
}

fn line(input: &DelegateInput) -> String {
    one_line(input.description.as_deref().unwrap_or(&input.prompt), LONGEST_LINE)
}

fn listed(definitions: &[AgentDefinition]) -> String {
    let long: usize = definitions.iter().map(|one| one.name.len() + one.description.len() + 5).sum();
    let mut list = String::new();
    for AgentDefinition { name, description, .. } in definitions {
        // Writing to a String cannot fail.
        let _ = match long > MOST_LISTED {
            true => write!(list, " {name}"),
            false => write!(list, "\n- {name}: {description}"),
        };
    }
    list
}

impl Desk {
    async fn delegate(&self, input: DelegateInput, kx: KernelCx<'_>) -> Result<Reply, Fault> {
        let cx = kx.cx.clone();
        let work = Work::start(self.job(&input, &kx).await?);
        if input.background {
            return go_on(work, &input, &cx);
        }
        tokio::select! {
            biased;
            reply = work.watched(|now| cx.progress(Progress::line(now))) => Ok(reply),
            () = cx.cancelled() => Ok(work.stopped(LAST_WORD).await.unwrap_or_else(cut_off)),
        }
    }

    /// A sub-agent, ready to begin.
    async fn job(&self, input: &DelegateInput, kx: &KernelCx<'_>) -> Result<Job, Fault> {
        let depth = kx.session().depth();
        let room = self.rooms.get(depth).ok_or_else(too_deep)?.clone();
        let definition = self.find(kind(input))?;
        let Asked { model, mut options } = self.asked.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(name) = &definition.model {
            options.model.clone_from(name);
            options.tool_references &= haft_model::takes_references(name);
        }
        let turns = [Some(self.limits.max_turns), definition.max_turns, input.max_turns, options.max_turns];
        options.max_turns = turns.into_iter().flatten().min();
        let tokens = [self.limits.max_tokens, options.max_tokens];
        options.max_tokens = tokens.into_iter().flatten().min();
        options.system.push(WORDS.to_owned());
        if !definition.system.is_empty() {
            options.system.push(definition.system.clone());
        }
        let (toolset, loaded) = self.tools(input, definition, kx)?;
        let id = child_id(kx.session().id());
        let child = ChildOptions {
            id: id.clone(),
            agent: definition.name.clone(),
            model: Some(options.model.clone()),
            toolset: Some(toolset),
            loaded,
            read_only: definition.read_only,
        };
        let session = kx.session().child(kx.cx.call_id(), child).await;
        let session =
            session.map_err(|err| Fault::failed("the sub-agent could not begin").with_source(err))?;
        let started = Occasion::SubagentStart { id: id.as_str(), kind: &definition.name };
        let said = session.occasion(started).await;
        let mut agent = Agent::builder(session, model, options).build();
        said.into_iter().filter_map(|said| said.context).for_each(|words| agent.mention(words));
        let time = input.timeout_s.map_or(self.limits.time, Duration::from_secs);
        Ok(Job {
            agent,
            prompt: input.prompt.clone(),
            kind: definition.name.clone(),
            line: line(input),
            time: time.min(self.limits.time).min(LONGEST),
            room,
        })
    }

    fn find(&self, name: &str) -> Result<&AgentDefinition, Fault> {
        self.definitions.iter().find(|definition| definition.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.definitions.iter().map(|one| one.name.as_str()).collect();
            Fault::rejected(format!(
                "there is no agent `{}`; there are {}",
                one_line(name, LONGEST_LINE).escape_debug(),
                names.join(", ")
            ))
        })
    }

    /// What it has of the tools of its parent, and which of them its model sees from the beginning: those that were named.
    fn tools(
        &self,
        input: &DelegateInput,
        definition: &AgentDefinition,
        kx: &KernelCx<'_>,
    ) -> Result<(Filter, Vec<String>), Fault> {
        let without = definition.without.iter().map(|tool| format!("!{tool}"));
        let mut above: Vec<String> = KEPT_ABOVE.map(str::to_owned).into_iter().chain(without).collect();
        if kx.session().depth() + 1 >= self.limits.depth {
            above.push("!Delegate".to_owned());
        }
        let mut filter = Filter::of(above);
        let mut is_named = false;
        if let Some(tools) = &definition.tools {
            filter = filter.and(&Filter::of(tools.iter().map(String::as_str).chain(["ToolSearch"])));
            is_named = true;
        }
        if let Some(tools) = &input.tools {
            let toolsets = kx.session().engine().toolsets();
            // Whoever can search for tools finds only those that it has.
            let named = toolsets.filter(tools.iter().map(|tool| tool.trim()));
            let named = named.map_err(|err| Fault::rejected(format!("`tools`: {err}")))?;
            let found = kx.pool.entries().filter(|entry| named.contains(entry.name(), entry.tool().spec()));
            let found: Vec<&str> = found.map(Entry::name).chain(["ToolSearch"]).collect();
            filter = filter.and(&Filter::of(found));
            is_named = true;
        }
        let has = |entry: &&Entry| filter.contains(entry.name(), entry.tool().spec());
        let loaded = kx.pool.entries().filter(|_| is_named).filter(has).take(MOST_LOADED);
        let loaded = loaded.map(|entry| entry.name().to_owned()).collect();
        Ok((filter, loaded))
    }
}

/// It goes on as a task of the session.
fn go_on(work: Work, input: &DelegateInput, cx: &Cx) -> Result<Reply, Fault> {
    let id = cx.tasks().add(Arc::new(work))?;
    let text = format!(
        "{id} works in the background: {}: {}\nTaskOutput tells how far it is, and in the end its answer (with `timeout` it waits \
         for that); TaskStop ends it. It ends with this session.",
        kind(input),
        line(input)
    );
    Ok(Reply::text(text).note("task", id))
}

/// One whose last word did not come.
fn cut_off() -> Reply {
    Reply::text("The sub-agent was stopped before it could say what it did. What it did stays done.")
        .failing(FaultKind::Cancelled)
}

fn too_deep() -> Fault {
    Fault::rejected("a sub-agent has no sub-agents of its own here; do this piece of the work yourself")
}

/// An id that nobody has used: below its parent's, so that whoever reads it knows whose it is.
fn child_id(parent: &SessionId) -> SessionId {
    SessionId::from(format!("{parent}-{:012x}", fastrand::u64(..) >> 16))
}
