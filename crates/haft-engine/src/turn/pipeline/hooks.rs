//! Hooks in the walk of a call: before it, while a person is asked, and after it.
//!
//! They are asked together and heard in their order. What of it counts is decided in [`policy::hear`](crate::policy::hear);
//! here is only who is asked when, and where the words go. A call without hooks never comes here.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::join_all;
use haft_tool::{Block, BoxFuture, Cx, Fault, Interrupt as OnInterrupt};
use serde_json::Value;

use super::{CallCx, Prepared, check, foresee, told::hide};
use crate::{
    policy::{Answer, Asker, Permit, Question, Said, Verdict, strictest},
    result::ToolResult,
    session::{Session, locate_each},
    turn::{Arguments, Event, Hook, Now, Occasion},
};

/// What hooks have said of a call so far. It goes with the call, also if they change its input.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) said: Vec<Said>,
    /// Whether a hook has changed the input while a person was to be asked: it is not asked about that again.
    changed_while_asked: bool,
}

/// The word of somebody who stops the turn.
pub(crate) fn stops(said: &[Said]) -> Option<&Said> {
    said.iter().find(|said| said.stop.is_some())
}

/// Asks all hooks about a call that the rules do not deny. `None` if the call was cancelled meanwhile.
pub(super) async fn before(
    cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    decision: &crate::policy::Decision,
    tool_cx: &Cx,
) -> Option<Vec<Said>> {
    let session = cx.session.facts();
    let facts = cx.facts(&session, prepared, decision);
    let words = join_all(cx.hooks().iter().map(|hook| hook.before(facts)));
    let said = tool_cx.token().run_until_cancelled(words).await?;
    let said = cx.heard(prepared, "PreToolUse", said);
    Some(said.into_iter().map(that_stops).collect())
}

/// Whoever stops the turn before a call refuses the call.
fn that_stops(mut said: Said) -> Said {
    if let Some(stop) = &said.stop {
        said.verdict = Some(Verdict::Deny);
        said.reason.get_or_insert_with(|| format!("the turn ends here: {stop}"));
    }
    said
}

/// The call with another input: checked, foreseen and located like a new one. It keeps its place, its story and its age.
pub(super) async fn reconsider<'t>(
    cx: CallCx<'t>,
    mut prepared: Box<Prepared<'t>>,
    input: Value,
) -> Result<Box<Prepared<'t>>, (Box<Prepared<'t>>, Fault)> {
    match renewed(cx, &mut prepared, input).await {
        Ok(renewed) => Ok(Box::new(renewed)),
        Err(fault) => Err((prepared, of_a_hook(fault))),
    }
}

async fn renewed<'t>(
    cx: CallCx<'t>,
    prepared: &mut Prepared<'t>,
    input: Value,
) -> Result<Prepared<'t>, Fault> {
    let resolved = super::resolve::Resolved {
        call: prepared.call.clone(),
        name: prepared.name.clone(),
        entry: prepared.entry,
        input: Arguments::Value(input),
    };
    let checked = check::check(resolved, cx.session.failures()).map_err(|not| not.fault)?;
    let mut renewed = foresee::foresee(checked, cx.session).map_err(|not| not.fault)?;
    let names = vec![renewed.named(cx.session)];
    let workspace = cx.session.workspace();
    let located =
        tokio::task::spawn_blocking(move || locate_each(names, &workspace)).await.unwrap_or_default();
    let places = located.into_iter().next().unwrap_or_else(|| Err(Fault::failed("no path was resolved")))?;
    places.note_in(&mut renewed.effects, cx.session.confines_reading());
    (renewed.arrived, renewed.heard) = (prepared.arrived, prepared.heard.take());
    renewed.ticket = prepared.ticket.take();
    Ok(renewed)
}

/// The model did not write this input, and must be told who did.
fn of_a_hook(fault: Fault) -> Fault {
    let message = format!("a hook changed the input of this call, and it cannot run so: {}", fault.message());
    Fault::new(fault.kind(), message).with_source(fault)
}

/// The hooks that are asked in the place of the person, and then the person.
pub(super) struct BeforeThePerson<'a> {
    cx: &'a CallCx<'a>,
    prepared: &'a Prepared<'a>,
    asker: &'a dyn Asker,
    said: Mutex<Vec<Said>>,
}

/// What came of asking hooks in the place of the person.
pub(super) struct InPlace {
    pub(super) said: Vec<Said>,
    /// The word that was taken for the person's.
    pub(super) answer: Option<Said>,
    /// The input that they want instead.
    pub(super) input: Option<Value>,
}

impl<'a> BeforeThePerson<'a> {
    pub(super) fn new(cx: &'a CallCx<'a>, prepared: &'a Prepared<'a>, asker: &'a dyn Asker) -> Self {
        BeforeThePerson { cx, prepared, asker, said: Mutex::default() }
    }

    /// What was said, once the question has been answered.
    pub(super) fn heard(self, uncovered: bool) -> InPlace {
        let said = self.said.into_inner().unwrap_or_else(PoisonError::into_inner);
        let answer = counting(&said, uncovered).cloned();
        let yes = answer.as_ref().is_some_and(|said| said.verdict == Some(Verdict::Allow));
        let input = said.iter().rev().find_map(|said| said.input.clone()).filter(|_| yes);
        InPlace { said, answer, input }
    }

    async fn answer(&self, question: Question<'_>) -> Answer {
        if !self.prepared.heard.as_ref().is_none_or(|heard| heard.may_change_while_asked()) {
            return self.person(question).await; // They have had their say, and changed the call.
        }
        let said = join_all(self.cx.hooks().iter().map(|hook| hook.asked(question))).await;
        let said = self.cx.heard(self.prepared, "PermissionRequest", said);
        let answer = counting(&said, question.call.decision.is_uncovered()).map(answered);
        *self.said.lock().unwrap_or_else(PoisonError::into_inner) = said;
        match answer {
            Some(answer) => answer,
            None => self.person(question).await,
        }
    }

    /// Asks the person, and tells hooks that somebody is waited for.
    async fn person(&self, question: Question<'_>) -> Answer {
        NotifyingAsker::new(self.cx.session, self.asker).ask(question).await
    }
}

/// Asks the person, and tells hooks meanwhile that a person is waited for.
pub(crate) struct NotifyingAsker<'a> {
    session: &'a Session,
    asker: &'a dyn Asker,
}

impl<'a> NotifyingAsker<'a> {
    pub(crate) fn new(session: &'a Session, asker: &'a dyn Asker) -> NotifyingAsker<'a> {
        NotifyingAsker { session, asker }
    }

    async fn answer(&self, question: Question<'_>) -> Answer {
        let mut answer = self.asker.ask(question);
        if let std::task::Poll::Ready(answer) = futures::poll!(&mut answer) {
            return answer; // Nobody waits: nobody needs to be called.
        }
        let message = format!("haft needs your permission to use {}", question.call.tool);
        let occasion = Occasion::Notification { kind: "permission_prompt", message: &message };
        let now = Now { session: question.call.session, mode: question.call.mode };
        let hooks = self.session.engine().hooks();
        let mut told = Box::pin(join_all(hooks.iter().map(|hook| hook.occasion(now, occasion))));
        tokio::select! {
            answer = &mut answer => {
                // Whoever rings a bell may finish doing so.
                let _ = tokio::time::timeout(LAST_RING, told).await;
                answer
            }
            _ = &mut told => answer.await,
        }
    }
}

impl Asker for NotifyingAsker<'_> {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(self.answer(question))
    }

    fn is_there(&self) -> bool {
        self.asker.is_there()
    }

    fn tell(&self, words: &str) {
        self.asker.tell(words);
    }
}

/// How long those who call the person may go on when the person has answered.
const LAST_RING: Duration = Duration::from_secs(1);

/// The word that answers for the person, if one does. A yes must not answer what a rule, or a hook, wants asked.
fn counting(said: &[Said], uncovered: bool) -> Option<&Said> {
    strictest(said).filter(|said| match said.verdict {
        Some(Verdict::Deny) => true,
        Some(Verdict::Allow) => uncovered,
        _ => false,
    })
}

fn answered(said: &Said) -> Answer {
    match said.verdict {
        // With another input it is not this call that may run: it is given back, and judged again.
        Some(Verdict::Allow) if said.input.is_none() => Answer::Once,
        _ => Answer::No(said.reason.clone()),
    }
}

impl Asker for BeforeThePerson<'_> {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(self.answer(question))
    }

    fn tell(&self, words: &str) {
        self.asker.tell(words);
    }
}

/// Step 7: hooks see what became of a call that ran.
pub(super) async fn after(
    cx: &CallCx<'_>,
    prepared: &Prepared<'_>,
    permit: &Permit,
    tool_cx: &Cx,
    result: &mut ToolResult,
) {
    let session = cx.session.facts();
    let facts = cx.facts(&session, prepared, permit.decision());
    let name = if result.is_error() { "PostToolUseFailure" } else { "PostToolUse" };
    let words = join_all(cx.hooks().iter().map(|hook| hook.after(facts, result)));
    // Hooks of a call that was interrupted are waited for; only the second interrupt cuts them off, too.
    let token = match tool_cx.token().is_cancelled() {
        true => cx.interrupt.token(OnInterrupt::Block),
        false => tool_cx.token().clone(),
    };
    let Some(said) = token.run_until_cancelled(words).await else { return };
    let said = cx.heard(prepared, name, said);
    for said in &said {
        speak_after(said, result);
    }
    result.meta.hooks.extend(said);
}

fn speak_after(said: &Said, result: &mut ToolResult) {
    if let Some(output) = &said.output {
        result.blocks = vec![Block::Text(output.clone())];
        result.data = None;
    }
    if said.verdict == Some(Verdict::Deny) {
        let reason = said.reason.as_deref().unwrap_or("it gives no reason");
        result.messages.push(format!("The hook `{}` objects to this call, which has run: {reason}", said.by));
    }
    result.messages.extend(said.context.clone());
}

/// What was said before the call goes with its result.
pub(super) fn tell(heard: Option<Box<Heard>>, result: &mut ToolResult) {
    let Some(heard) = heard else { return };
    result.messages.extend(heard.said.iter().filter_map(|said| said.context.clone()));
    let without_input =
        heard.said.into_iter().map(|said| Said { input: said.input.map(|_| Value::Null), ..said });
    result.meta.hooks.splice(..0, without_input);
}

impl<'t> CallCx<'t> {
    pub(super) fn hooks(&self) -> &'t [Arc<dyn Hook>] {
        self.session.engine().hooks()
    }

    /// What was said, without secrets and without those who said nothing. Whoever watches sees it.
    fn heard(&self, prepared: &Prepared<'_>, at: &str, said: Vec<Vec<Said>>) -> Vec<Said> {
        let mut said: Vec<Said> = said.into_iter().flatten().filter(|said| !said.is_nothing()).collect();
        for said in &mut said {
            if said.at.is_empty() {
                at.clone_into(&mut said.at);
            }
            hide_secrets(self.session, said);
            self.events
                .send(|| Event::HookSaid { call: prepared.call.clone(), said: Arc::new(said.clone()) });
        }
        said
    }

    /// Tells hooks that a call was refused.
    pub(super) async fn tell_refused(
        &self,
        prepared: &Prepared<'_>,
        decision: &crate::policy::Decision,
        fault: &Fault,
        tool_cx: &Cx,
    ) {
        let session = self.session.facts();
        let facts = self.facts(&session, prepared, decision);
        let told = join_all(self.hooks().iter().map(|hook| hook.refused(facts, fault)));
        if let Some(said) = tool_cx.token().run_until_cancelled(told).await {
            self.heard(prepared, "PermissionDenied", said);
        }
    }
}

/// A hook may have printed what it was told, or what it found elsewhere.
pub(crate) fn hide_secrets(session: &Session, said: &mut Said) {
    let Some(redactor) = session.redactor() else { return };
    said.rewrite(&mut |words| hide(redactor, words));
}

impl Heard {
    /// Hooks that are asked in the place of the person may change the input once.
    pub(super) fn may_change_while_asked(&self) -> bool {
        !self.changed_while_asked
    }

    pub(super) fn change_while_asked(&mut self) {
        self.changed_while_asked = true;
    }
}
