//! The proof that a call may run, and the person who is asked for it.
//!
//! Only this module makes a [`Permit`], so nothing that wants one can run unpermitted. Where the policy says *ask*, the
//! session's [`Grants`] are looked at, then its [`Asker`]. Where nobody is there, that is a denial that says so.

use std::sync::{Mutex, PoisonError};

use haft_tool::{BoxFuture, Effects, Fault, Refusal};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    decide::{Decision, Request, Verdict},
    rules::Policy,
};

/// Proof that one call may run. Cannot be made or copied elsewhere: whoever runs the call uses it up.
#[derive(Debug)]
#[must_use = "a permit is for running a call"]
pub struct Permit {
    decision: Decision,
    warrant: Warrant,
}

/// On whose word a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warrant {
    /// The policy's.
    Policy,
    /// A person's, for this call.
    Once,
    /// A person's, for this and the same calls to come.
    Session,
    /// A person's, given for the same call before.
    Granted,
}

impl Permit {
    /// What the policy decided, for the journal.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// On whose word the call runs.
    pub fn warrant(&self) -> Warrant {
        self.warrant
    }
}

/// A call that may not run.
#[derive(Debug)]
pub struct Refused {
    /// What the policy decided.
    pub decision: Decision,
    /// What the model is told.
    pub fault: Fault,
}

/// What a person needs to know of a call besides what the policy knows.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Says in one line what the call is about to do. Asked only if a person is.
    pub describe: &'a (dyn Fn() -> String + Sync),
    /// Its input, with absolute paths.
    pub input: &'a Value,
    /// Gives the token that is cancelled when nobody waits for the answer any more. Asked only if a person is.
    pub token: &'a (dyn Fn() -> CancellationToken + Sync),
}

/// What a person is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The tool's name in the pool.
    pub tool: &'a str,
    /// One line that says what the call is about to do.
    pub description: &'a str,
    /// What it is going to do.
    pub effects: &'a Effects,
    /// Its input, with absolute paths.
    pub input: &'a Value,
    /// Why it is asked.
    pub decision: &'a Decision,
}

/// What the person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and the same again for the rest of the session.
    Session,
    /// No, perhaps with a word for the model.
    No(Option<String>),
    /// There is nobody to say anything.
    NobodyThere,
}

/// Asks a person.
///
/// The future is dropped when the call is cancelled: take the question off the screen then. Show
/// [`Question::effects`] and the reason; never shorten them without saying so.
pub trait Asker: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer>;
}

/// Where nobody can answer: services, scripts, tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::NobodyThere })
    }
}

/// What a person has granted for the rest of the session. It turns *ask* into a permit, never a denial.
#[derive(Debug, Default)]
pub struct Grants {
    granted: Mutex<Vec<Grant>>,
}

/// The same tool doing the same things. Where the effects do not say what it does, the same input.
#[derive(Debug, PartialEq)]
struct Grant {
    tool: String,
    effects: Effects,
    input: Option<Value>,
}

impl Grant {
    fn of(call: &Asked<'_>, request: &Request<'_>) -> Grant {
        let effects = request.effects;
        let touches =
            !effects.paths().is_empty() || !effects.hosts().is_empty() || !effects.commands().is_empty();
        let telling = touches && !effects.is_unknown() && !request.external;
        let input = (!telling).then(|| call.input.clone());
        Grant { tool: request.tool.to_owned(), effects: effects.clone(), input }
    }
}

impl Grants {
    fn cover(&self, call: &Asked<'_>, request: &Request<'_>) -> bool {
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        !granted.is_empty() && granted.contains(&Grant::of(call, request))
    }

    fn remember(&self, call: &Asked<'_>, request: &Request<'_>) {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).push(Grant::of(call, request));
    }
}

/// What can be said about a call without asking anybody.
#[derive(Debug)]
pub enum Settled {
    /// It may run.
    Permitted(Permit),
    /// It may not.
    Refused(Box<Refused>),
    /// A person must be asked: [`ask`] does.
    Open(Decision),
}

/// Lets a call run, or says why not, if that can be said without a person. Pure, like all deciding.
pub fn settle(policy: &Policy, grants: &Grants, call: &Asked<'_>, request: &Request<'_>) -> Settled {
    let decision = policy.decide(request);
    match decision.verdict {
        Verdict::Allow => Settled::Permitted(Permit { decision, warrant: Warrant::Policy }),
        Verdict::Deny => {
            let fault = decision.fault(request);
            Settled::Refused(Box::new(Refused { decision, fault }))
        }
        Verdict::Ask if grants.cover(call, request) => {
            Settled::Permitted(Permit { decision, warrant: Warrant::Granted })
        }
        Verdict::Ask => Settled::Open(decision),
    }
}

/// Asks a person about a call that is open.
pub async fn ask(
    decision: Decision,
    grants: &Grants,
    asker: &dyn Asker,
    call: Asked<'_>,
    request: &Request<'_>,
) -> Result<Permit, Box<Refused>> {
    let fault = match answer(asker, &call, request, &decision).await {
        Some(Answer::Once) => return Ok(Permit { decision, warrant: Warrant::Once }),
        Some(Answer::Session) => {
            grants.remember(&call, request);
            return Ok(Permit { decision, warrant: Warrant::Session });
        }
        Some(Answer::No(word)) => refused_by_person(word),
        Some(Answer::NobodyThere) => decision.fault(request),
        None => Fault::cancelled("Cancelled while a person was asked; the call did not run."),
    };
    Err(Box::new(Refused { decision, fault }))
}

/// The answer, or `None` if the call was cancelled first.
async fn answer(
    asker: &dyn Asker,
    call: &Asked<'_>,
    request: &Request<'_>,
    decision: &Decision,
) -> Option<Answer> {
    let cancel = (call.token)();
    let question = Question {
        tool: request.tool,
        description: &(call.describe)(),
        effects: request.effects,
        input: call.input,
        decision,
    };
    // An answer that is there already does not count once the call is cancelled.
    cancel.run_until_cancelled(asker.ask(question)).await.filter(|_| !cancel.is_cancelled())
}

fn refused_by_person(word: Option<String>) -> Fault {
    let first = match word.as_deref().map(str::trim).filter(|word| !word.is_empty()) {
        Some(word) => format!("The user refused this call and said: {word}"),
        None => "The user refused this call.".to_owned(),
    };
    let second = "Do not try the same again, nor reach it in another way: do what the user said, or ask what to do instead.";
    Fault::denied(Refusal::Person, format!("{first}\n{second}"))
}
