//! The person who is asked, and before them a classifier.
//!
//! Where nobody is there, that is a denial that says so.

use haft_tool::{BoxFuture, Fault, Refusal};
use tokio_util::sync::CancellationToken;

use super::{
    decide::Request,
    facts::CallFacts,
    grants::Grants,
    permit::{Permit, Refused, Warrant},
};

/// What a person is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The call, what it is going to do, and why it is asked.
    pub call: CallFacts<'a>,
    /// One line that says what it is about to do.
    pub description: &'a str,
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
/// the effects and the reason; never shorten them without saying so.
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

/// Asks a person about a call that is open. `cancel` is cancelled when nobody waits for the answer any more.
pub async fn ask(
    question: Question<'_>,
    request: &Request<'_>,
    grants: &Grants,
    asker: &dyn Asker,
    cancel: &CancellationToken,
) -> Result<Permit, Box<Refused>> {
    let decision = question.call.decision.clone();
    // An answer that is there already does not count once the call is cancelled.
    let answer = cancel.run_until_cancelled(asker.ask(question)).await.filter(|_| !cancel.is_cancelled());
    let fault = match answer {
        Some(Answer::Once) => return Ok(Permit::new(decision, Warrant::Once)),
        Some(Answer::Session) => {
            grants.remember(question.call.input, request);
            return Ok(Permit::new(decision, Warrant::Session));
        }
        Some(Answer::No(word)) => refused_by_person(word),
        Some(Answer::NobodyThere) => decision.fault(request),
        None => Fault::cancelled("Cancelled while a person was asked; the call did not run."),
    };
    Err(Box::new(Refused { decision, fault }))
}

fn refused_by_person(word: Option<String>) -> Fault {
    let first = match word.as_deref().map(str::trim).filter(|word| !word.is_empty()) {
        Some(word) => format!("The user refused this call and said: {word}"),
        None => "The user refused this call.".to_owned(),
    };
    let second = "Do not try the same again, nor reach it in another way: do what the user said, or ask what to do instead.";
    Fault::denied(Refusal::Person, format!("{first}\n{second}"))
}
