//! A running call asks for more than it declared.
//!
//! The rules decide as they would have before the call: a deny denies, an allow that covers the additional effects allows, and
//! what is protected is asked. No classifier judges it, since it judged the call without this. Hooks that are asked in
//! the place of the person may refuse it; their yes was for the call that they saw. What is permitted
//! belongs to this call: later grants of it have it, and undo watches its places.
//!
//! Nothing waits for other calls that touch the same: two running calls could wait for each other. A call whose commands may
//! change something runs alone in its turn anyway ([`Effects::runs_alone`]).

use std::{iter, path::PathBuf, sync::Arc};

use futures::future::join_all;
use haft_tool::{
    Access, CallId, Effects, Fault, Host, PathEffect, Permission, PermissionRequest, Refusal, SessionFacts,
};

use super::CallHost;
use crate::{
    policy::{
        self, Asking, CallFacts, Decision, Execution, Permit, Question, QuestionStage, Refused, Request,
        Said, Settled, Verdict,
    },
    session::{Named, Note, Noted, Word, locate_each},
    turn::{Event, NotifyingAsker, ToldAddition, hide_secrets},
};

/// What a person is shown of a request, and the rules judge.
struct Addition {
    description: String,
    /// What is wanted in addition, located.
    effects: Effects,
    /// The same for the rules: what runs outside of the sandbox may do anything.
    judged: Effects,
    request: PermissionRequest,
    stage: QuestionStage,
}

impl CallHost {
    pub(super) async fn add_permission(
        &self,
        call: &CallId,
        request: PermissionRequest,
    ) -> Result<Permission, Fault> {
        let addition = self.addition(request).await?;
        let decided = self.decide(call, &addition).await;
        let refusal = decided.as_ref().err().and_then(|refused| refused.fault.refusal());
        if refusal == Some(Refusal::Person) {
            self.state().refused.push(addition.effects.clone());
        }
        // A command that fails in a non-interactive session is no event of its own.
        if addition.stage != QuestionStage::Rerun || refusal != Some(Refusal::NobodyThere) {
            self.record(call, &addition, &decided).await;
        }
        let permit = decided.map_err(|refused| refused.fault)?;
        if permit.is_unsandboxed() {
            self.state().unsandboxed = true;
            return Ok(Permission::Unsandboxed);
        }
        self.add(&addition.effects).await?;
        Ok(Permission::Requested)
    }

    /// The request with its paths located, as the effects of a call are before they are judged.
    async fn addition(&self, mut request: PermissionRequest) -> Result<Addition, Fault> {
        let mut effects = std::mem::take(&mut request.effects);
        let workspace = self.session.workspace();
        let names = vec![Named::of(&effects, self.session.policy().denies_reading(self.names()))];
        let located =
            tokio::task::spawn_blocking(move || locate_each(names, &workspace)).await.unwrap_or_default();
        let places =
            located.into_iter().next().unwrap_or_else(|| Err(Fault::failed("no path was resolved")))?;
        places.note_in(&mut effects, self.session.confines_reading());
        let mut judged = effects.clone();
        if request.unsandboxed && effects.is_none() {
            judged.push_doubt("it would run outside the sandbox");
        }
        let stage = if request.unsandboxed { QuestionStage::Rerun } else { QuestionStage::DuringCall };
        let description = self.session.with_agent(request.description.clone());
        Ok(Addition { description, effects, judged, request, stage })
    }

    async fn decide(&self, call: &CallId, addition: &Addition) -> Result<Permit, Box<Refused>> {
        let (policy, session) = (self.session.policy(), self.session.facts());
        let request = self.request(&addition.judged, &session);
        let decision = match policy::settle(&policy, self.session.grants(), &self.input, &request) {
            Settled::Refused(refused) => return Err(refused),
            Settled::Permitted(permit) if !addition.request.unsandboxed => return Ok(permit),
            Settled::Permitted(permit) => permit.decision().clone().for_rerun(&request)?,
            Settled::Open(decision) => decision,
        };
        if self.was_refused(&addition.effects) {
            let message = "The user has refused this in this call already.";
            return Err(Box::new(Refused { decision, fault: Fault::denied(Refusal::Person, message) }));
        }
        let execution = self.execution(addition);
        let facts = self.facts(call, &session, &addition.effects, &decision);
        let question = Question {
            preview: addition.request.preview.as_ref(),
            stage: addition.stage,
            execution,
            ..Question::new(facts, &addition.description)
        };
        if question.answers().len() == 1 {
            // Nothing but no: leaving the sandbox is all that would help, and the settings forbid it.
            let fault = self.session.refuse_unsandboxed();
            return Err(Box::new(Refused { decision, fault }));
        }
        self.ask(question, &request).await.map_err(|mut refused| {
            if refused.fault.refusal() == Some(Refusal::NobodyThere) {
                refused.fault = nobody_there(&refused.decision, &request, addition);
            }
            refused
        })
    }

    async fn ask(&self, question: Question<'_>, request: &Request<'_>) -> Result<Permit, Box<Refused>> {
        let engine = self.session.engine();
        let said = match engine.hooks() {
            [] => Vec::new(),
            hooks => {
                join_all(hooks.iter().map(|hook| hook.asked(question))).await.into_iter().flatten().collect()
            }
        };
        if let Some(no) = self.refusing(said, question) {
            let decision = question.call.decision.clone();
            let refused = Refused { fault: decision.fault(request), decision };
            return Err(Box::new(refused.after_hooks(std::slice::from_ref(&no), Some(&no), request)));
        }
        let asker = NotifyingAsker::new(&self.session, self.session.asker());
        let (preview, policy) = (question.preview, self.session.policy());
        let asking = Asking {
            policy: &policy,
            grants: self.session.grants(),
            classifier: None,
            record: self.session.judgements(),
            said: None,
            asker: &asker,
            preview: &|| Box::pin(async { preview.cloned() }),
            keeper: self.session.keeper(),
            add: &|rules| self.session.add_rules(rules),
        };
        let _waiting = self.waiting.begin();
        policy::ask(question, request, &asking, self.token()).await
    }

    /// The hook that refuses it in the place of the person.
    fn refusing(&self, said: Vec<Said>, question: Question<'_>) -> Option<Said> {
        let mut no = said.into_iter().find(|said| said.verdict == Some(Verdict::Deny))?;
        if no.at.is_empty() {
            "PermissionRequest".clone_into(&mut no.at);
        }
        hide_secrets(&self.session, &mut no);
        let told = Arc::new(no.clone());
        self.events.send(|| Event::HookSaid { call: question.call.call.clone(), said: told });
        Some(no)
    }

    /// Where the processes of the call run, and whether the person may let them leave.
    fn execution(&self, addition: &Addition) -> Execution<'static> {
        let may_leave = addition.request.unsandboxed && self.session.may_leave_sandbox();
        match self.session.sandbox().enabled && !self.is_unsandboxed() {
            true => Execution::Sandboxed { may_leave },
            false => Execution::Unsandboxed(None),
        }
    }

    /// Whether the person has said no in this call to something that this is a part of.
    fn was_refused(&self, effects: &Effects) -> bool {
        let state = self.state();
        let covers = |no: &Effects| {
            let mut paths = effects.paths().iter();
            let mut hosts = effects.hosts().iter();
            paths.any(|path| {
                let is_same = |other: &PathEffect| {
                    other.access == path.access && path.place().starts_with(other.place())
                };
                no.paths().iter().any(is_same)
            }) || hosts.any(|host| no.hosts().contains(host))
        };
        state.refused.iter().any(covers)
    }

    /// Makes it part of what the call may do.
    async fn add(&self, effects: &Effects) -> Result<(), Fault> {
        let places = effects.paths().iter().map(|effect| (effect.place().to_owned(), effect.access));
        let places: Vec<(PathBuf, Access)> = places.collect();
        let written = places.iter().filter(|(_, access)| *access == Access::Write);
        let roots: Vec<PathBuf> = written.map(|(place, _)| place.clone()).collect();
        {
            let mut state = self.state();
            state.places.extend(places);
            state.hosts.extend(effects.hosts().iter().map(|effect| effect.host.clone()));
        }
        let Some((images, doer)) = self.images() else { return Ok(()) };
        let watched = self.watched.clone();
        let watch = move || watched.add(&*images, &doer, &roots);
        tokio::task::spawn_blocking(watch).await.unwrap_or_else(|_| Err(Fault::failed("nothing was watched")))
    }

    /// Records the question and its answer in the journal and for observers, without secrets.
    async fn record(&self, call: &CallId, addition: &Addition, decided: &Result<Permit, Box<Refused>>) {
        let (decision, word) = match decided {
            Ok(permit) => (permit.decision(), Word::Yes(permit.warrant())),
            Err(refused) => (&refused.decision, Word::No(refused.fault.refusal())),
        };
        let told = ToldAddition::of(&self.session, &addition.effects, decision, &addition.description);
        if let (Some(journal), Some(key)) = (self.session.engine().journal(), &self.key) {
            let session = self.session.id();
            let note = Note::Permission {
                description: &told.description,
                effects: &told.effects,
                decision: &told.decision,
                word,
            };
            // Nothing depends on it: what the call does is in its own entries.
            let _ = journal.noted(Noted { session, call: Some(key), turn: self.turn, note }).await;
        }
        let warrant = decided.as_ref().ok().map(Permit::warrant);
        self.events.send(|| Event::PermissionRequested {
            call: call.clone(),
            tool: self.entry.name().to_owned(),
            description: told.description,
            effects: told.effects,
            decision: told.decision,
            warrant,
        });
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        iter::once(self.entry.name()).chain(self.entry.tool().spec().other_names().iter().copied())
    }

    fn request<'a>(&'a self, effects: &'a Effects, session: &'a SessionFacts) -> Request<'a> {
        let spec = self.entry.tool().spec();
        Request {
            tool: self.entry.name(),
            aliases: spec.other_names(),
            spec,
            effects,
            mode: self.session.mode(),
            read_only: self.session.is_read_only(),
            workspace: &session.workspace,
            code_places: self.code_places(session),
            caller: &session.caller,
            external: self.entry.is_external(),
        }
    }

    /// The places that settings name as code.
    fn code_places(&self, session: &SessionFacts) -> &[PathBuf] {
        self.code_places.get_or_init(|| {
            let find = self.session.engine().settings().code_places;
            find.map_or_else(|| [].into(), |find| find(&session.workspace, session.home.as_deref()))
        })
    }

    fn facts<'a>(
        &'a self,
        call: &'a CallId,
        session: &'a SessionFacts,
        effects: &'a Effects,
        decision: &'a Decision,
    ) -> CallFacts<'a> {
        CallFacts {
            session,
            mode: self.session.mode(),
            call,
            tool: self.entry.name(),
            aliases: self.entry.tool().spec().other_names(),
            input: &self.input,
            effects,
            decision,
        }
    }
}

/// The refusal in a non-interactive session. It names the rule that would have allowed the request.
fn nobody_there(decision: &Decision, request: &Request<'_>, addition: &Addition) -> Fault {
    let first = format!(
        "Needs approval, but this session is non-interactive: {}: {}",
        addition.description,
        decision.reason()
    );
    let rules = policy::narrowest_rules(request).filter(|_| !addition.effects.is_none());
    let second = match rules.filter(|_| !addition.request.unsandboxed) {
        Some(rules) => {
            let flags: Vec<String> =
                rules.iter().map(|rule| format!("--allow '{}'", rule.replace('\'', r"'\''"))).collect();
            format!("Go on without it, or tell the user that `{}` would permit it.", flags.join(" "))
        }
        None => "Go on without it, or tell the user what you need and why.".to_owned(),
    };
    Fault::denied(Refusal::NobodyThere, format!("{first}\n{second}"))
}
