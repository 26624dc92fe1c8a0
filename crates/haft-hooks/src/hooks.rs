//! All of it, as the engine's trait.

use std::{fmt, sync::Arc};

use futures::future::join_all;
use haft_engine::{
    policy::{Bases, CallFacts, Mode, Origin, Policy, Question, Request, Rules, Said, Verdict},
    result::ToolResult,
    turn::{Hook, Now, Occasion},
};
use haft_tool::{BoxFuture, Fault, Refusal, SessionFacts, Spec};
use serde_json::Value;

use crate::{
    answer::{answer, label},
    background::Background,
    config::{Config, Handler},
    event::Event,
    input,
    run::Surroundings,
};

/// What every input passes before it leaves: the place to take secrets out.
pub type Filter = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// The hooks of some settings.
///
/// ```
/// use haft_hooks::{CommandHooks, Config};
/// use serde_json::json;
///
/// let (config, problems) = Config::read(&json!({
///     "PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "./guard.py" }] }]
/// }));
/// assert!(problems.is_empty());
/// let hooks = CommandHooks::new(config); // for EngineBuilder::hook
/// ```
pub struct CommandHooks {
    config: Config,
    filter: Option<Filter>,
    background: Background,
}

impl CommandHooks {
    /// These hooks.
    pub fn new(config: Config) -> CommandHooks {
        CommandHooks { config, filter: None, background: Background::default() }
    }

    /// Every input passes this before a hook reads it.
    pub fn filtered_by(mut self, filter: impl Fn(&mut Value) + Send + Sync + 'static) -> CommandHooks {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Asks the hooks for an event about a call.
    fn of_call<'a>(
        &'a self,
        event: Event,
        call: CallFacts<'a>,
        input: impl FnOnce() -> Value + Send + 'a,
    ) -> BoxFuture<'a, Vec<Said>> {
        if !self.config.has(event) {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let names: Vec<&str> = [call.tool].into_iter().chain(call.aliases.iter().copied()).collect();
        let mut handlers = self.config.matching(event, &names);
        handlers.retain(|handler| handler.only_if.as_deref().is_none_or(|rule| speaks_of(rule, &call)));
        Box::pin(async move {
            if handlers.is_empty() {
                return Vec::new();
            }
            self.ask(event, handlers, call.session, input()).await
        })
    }

    /// Runs hooks together, and says what they say, in the order in which they were written.
    async fn ask(
        &self,
        event: Event,
        handlers: Vec<&Handler>,
        session: &SessionFacts,
        mut input: Value,
    ) -> Vec<Said> {
        let is_filtered = self.filter(&mut input);
        let input: Arc<[u8]> = format!("{input}\n").into_bytes().into();
        let place = Surroundings::of(session);
        let said =
            join_all(handlers.into_iter().map(|handler| self.one(event, handler, &place, input.clone())));
        let said = said.await.into_iter();
        said.map(|said| if is_filtered && said.input.is_some() { unusable(said) } else { said }).collect()
    }

    /// Takes out what must not leave. Says whether something of the call's own input was taken.
    fn filter(&self, input: &mut Value) -> bool {
        let Some(filter) = &self.filter else { return false };
        let before = input.get("tool_input").cloned();
        filter(input);
        input.get("tool_input") != before.as_ref()
    }

    async fn one(&self, event: Event, handler: &Handler, place: &Surroundings, input: Arc<[u8]>) -> Said {
        if !handler.in_background {
            return answer(event, handler, &place.run(handler, input).await);
        }
        let (place, own) = (place.clone(), handler.clone());
        let mut said = Said::by(label(handler));
        if !self.background.begin(async move { drop(place.run(&own, input).await) }) {
            said.notice = Some("the hook did not run: too many run in the background already".to_owned());
        }
        said
    }
}

/// What it gives back is made of what it read, in which something was missing. Neither that nor the unchanged input is
/// what anybody wants to run.
fn unusable(said: Said) -> Said {
    let reason =
        "it changed the input of the call, of which it had read a copy without secrets; it cannot run so";
    Said { input: None, verdict: Some(Verdict::Deny), reason: Some(reason.to_owned()), ..said }
}

/// Whether some part of the call is what the rule speaks of: what a deny by that rule would hit. What is not understood
/// may be just that.
fn speaks_of(rule: &str, call: &CallFacts<'_>) -> bool {
    if call.effects.is_unknown() {
        return true;
    }
    let bases = Bases { workspace: call.session.workspace.clone(), home: call.session.home.clone() };
    let Ok(policy) = Policy::compile(Rules::denying([rule], Origin::Session), &bases) else {
        return true; // It was checked when it was read. If in doubt, the hook runs.
    };
    let decision = policy.decide(&Request {
        tool: call.tool,
        aliases: call.aliases,
        spec: &Spec::new(""),
        effects: call.effects,
        mode: Mode::Bypass,
        read_only: false,
        workspace: &call.session.workspace,
        code_places: &[],
        caller: &call.session.caller,
        external: false,
    });
    decision.refusal == Some(Refusal::Rule)
}

impl Hook for CommandHooks {
    fn before<'a>(&'a self, call: CallFacts<'a>) -> BoxFuture<'a, Vec<Said>> {
        self.of_call(Event::PreToolUse, call, move || input::of_call(Event::PreToolUse, &call))
    }

    fn after<'a>(&'a self, call: CallFacts<'a>, result: &'a ToolResult) -> BoxFuture<'a, Vec<Said>> {
        let event = if result.is_error() { Event::PostToolUseFailure } else { Event::PostToolUse };
        self.of_call(event, call, move || input::of_result(event, &call, result))
    }

    fn asked<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Vec<Said>> {
        let (event, call) = (Event::PermissionRequest, question.call);
        self.of_call(event, call, move || {
            let mut input = input::of_call(event, &call);
            input["description"] = question.description.into();
            input["stage"] = serde_json::json!(question.stage);
            input["answers"] = serde_json::json!(question.answers());
            input
        })
    }

    fn refused<'a>(&'a self, call: CallFacts<'a>, fault: &'a Fault) -> BoxFuture<'a, Vec<Said>> {
        let event = Event::PermissionDenied;
        self.of_call(event, call, move || {
            let mut input = input::of_call(event, &call);
            input["reason"] = fault.message().into();
            input
        })
    }

    fn occasion<'a>(&'a self, now: Now<'a>, occasion: Occasion<'a>) -> BoxFuture<'a, Vec<Said>> {
        Box::pin(async move {
            let Some((event, input, subject)) = input::of_occasion(&now, &occasion) else {
                return Vec::new();
            };
            let handlers = self.config.matching(event, subject.as_slice());
            let said = match handlers.is_empty() {
                true => Vec::new(),
                false => self.ask(event, handlers, now.session, input).await,
            };
            if event == Event::SessionEnd {
                self.background.end().await;
            }
            said
        })
    }
}

impl fmt::Debug for CommandHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandHooks").field("config", &self.config).finish_non_exhaustive()
    }
}
