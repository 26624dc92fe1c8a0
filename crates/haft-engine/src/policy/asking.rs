//! The person who is asked, and before them a classifier.
//!
//! Where nobody is there, that is a denial that says so. A question can cross a process: it is JSON for whoever asks elsewhere.

use std::{io, sync::Arc};

use haft_tool::{BoxFuture, Fault, Refusal, SessionFacts, View, shown};
use serde::{Serialize, Serializer, ser::SerializeStruct};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{
    answers::{AnswerKind, Execution, QuestionStage},
    choosing::{self, Choices, Choosing},
    classifier::{Classifier, Judgement, Matter, Record, consult, may_judge},
    decide::{Decision, Request, Verdict},
    facts::CallFacts,
    grants::Grants,
    inviting::{self, Invitation},
    permit::{Permit, Refused, Warrant},
    rules::{Policy, RuleError},
    written::{Rules, Written},
};

/// What a person is asked.
///
/// As JSON it has `session`, `workspace` and `caller` (whose question it is), `call`, `tool`, `mode`, `description`, `effects`, `input`, `preview`, `reason`, `trace` (with the
/// rule and the layer that led to asking), `always`: the rules that this answer would write, or null if it is not offered, `stage`
/// (`before_call`, `during_call` or `rerun`) and `answers`: those that are offered, each with its `answer` and `meaning`.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The call, what it is going to do, and why it is asked.
    pub call: CallFacts<'a>,
    /// One line that says what it is about to do.
    pub description: &'a str,
    /// What it would change or run, as the tool draws it.
    pub preview: Option<&'a View>,
    /// The rules that [`Answer::Always`] would write. `None`: there are no narrow ones, or nobody to keep them.
    pub always: Option<&'a [String]>,
    /// The point of the call at which it is asked.
    pub stage: QuestionStage,
    /// Where the processes of the call run.
    pub execution: Execution<'a>,
}

impl<'a> Question<'a> {
    /// A question without a preview, to which [`ask`] adds what is known only then.
    pub fn new(call: CallFacts<'a>, description: &'a str) -> Question<'a> {
        let (stage, execution) = (QuestionStage::default(), Execution::default());
        Question { call, description, preview: None, always: None, stage, execution }
    }
}

impl Serialize for Question<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CallFacts { session, mode, call, tool, input, effects, decision, aliases: _ } = self.call;
        let mut fields = serializer.serialize_struct("Question", 15)?;
        fields.serialize_field("session", &session.id)?;
        fields.serialize_field("workspace", &shown(&session.workspace).to_string())?;
        fields.serialize_field("caller", &session.caller)?;
        fields.serialize_field("call", call)?;
        fields.serialize_field("tool", tool)?;
        fields.serialize_field("mode", &mode)?;
        fields.serialize_field("description", self.description)?;
        fields.serialize_field("effects", effects)?;
        fields.serialize_field("input", input)?;
        fields.serialize_field("preview", &self.preview)?;
        fields.serialize_field("reason", &decision.reason())?;
        fields.serialize_field("trace", &decision.trace)?;
        fields.serialize_field("always", &self.always)?;
        fields.serialize_field("stage", &self.stage)?;
        fields.serialize_field("answers", &self.answers())?;
        fields.end()
    }
}

/// What the person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and the same again for the rest of the session.
    Session,
    /// Yes, and the same again in all sessions to come: the rules that the question named are written down.
    Always,
    /// Yes, this time, and the processes of the call run outside of the sandbox. Only a person says so.
    Unsandboxed,
    /// No, perhaps with a word for the model.
    No(Option<String>),
    /// There is nobody to say anything.
    NobodyThere,
}

/// Something that somebody outside wants to know of the person before a call can go on: a form that a server shows.
#[derive(Debug, Clone, Copy)]
pub struct Inquiry<'a> {
    /// The session in whose call it is asked, if it is asked in one.
    pub session: Option<&'a SessionFacts>,
    /// Who wants to know, as the user calls it.
    pub who: &'a str,
    /// Why, in their words.
    pub message: &'a str,
    /// What is wanted: a JSON Schema of an object of plain values.
    pub schema: &'a Value,
}

/// What the person gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// These values.
    Answers(Map<String, Value>),
    /// Nothing, and the call is to go on without.
    Declined,
    /// Nothing: the question was put away.
    Dismissed,
    /// There is nobody to give anything.
    NobodyThere,
}

/// Asks a person.
///
/// The future is dropped when the call is cancelled: take the question off the screen then. Questions may come while another
/// is open: ask one after the other, in the order they came. Show the effects and the reason; never shorten them without
/// saying so.
pub trait Asker: Send + Sync {
    /// Asks, and waits for the answer.
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer>;

    /// Whether there is anybody: nothing is prepared for a question that nobody will see.
    fn is_there(&self) -> bool {
        true
    }

    /// Asks for values. What is asked, and who asks, is a stranger's word: show it as such.
    fn inquire<'a>(&'a self, _inquiry: Inquiry<'a>) -> BoxFuture<'a, Given> {
        Box::pin(async { Given::NobodyThere })
    }

    /// Asks whether the person visits an address, of which nobody has looked at anything. A yes is [`Given::Answers`] without
    /// any. Show the host and the whole address. Without an implementation they are put as a form.
    fn invite<'a>(&'a self, invitation: Invitation<'a>) -> BoxFuture<'a, Given> {
        inviting::put(self, invitation)
    }

    /// Opens an address, which the person has just agreed to visit, in a program of theirs. Whether that was possible;
    /// where it is not, they open it themselves.
    fn open(&self, _url: &str) -> bool {
        false
    }

    /// Asks the person to choose. The words are the model's: show them as such. Without an implementation they are put as
    /// a form.
    fn choose<'a>(&'a self, choices: Choices<'a>) -> BoxFuture<'a, Choosing> {
        Box::pin(async move {
            let (message, schema) = (choosing::words(&choices), choosing::form(&choices));
            let session = choices.session;
            let inquiry = Inquiry { session, who: "the model", message: &message, schema: &schema };
            choosing::read(&choices, self.inquire(inquiry).await)
        })
    }

    /// Tells the person what became of their answer: where a rule was written, or why it was not.
    fn tell(&self, _words: &str) {}
}

/// One person may be asked by several.
impl<A: Asker + ?Sized> Asker for Arc<A> {
    fn ask<'a>(&'a self, question: Question<'a>) -> BoxFuture<'a, Answer> {
        (**self).ask(question)
    }
    fn is_there(&self) -> bool {
        (**self).is_there()
    }
    fn inquire<'a>(&'a self, inquiry: Inquiry<'a>) -> BoxFuture<'a, Given> {
        (**self).inquire(inquiry)
    }
    fn invite<'a>(&'a self, invitation: Invitation<'a>) -> BoxFuture<'a, Given> {
        (**self).invite(invitation)
    }
    fn open(&self, url: &str) -> bool {
        (**self).open(url)
    }
    fn choose<'a>(&'a self, choices: Choices<'a>) -> BoxFuture<'a, Choosing> {
        (**self).choose(choices)
    }
    fn tell(&self, words: &str) {
        (**self).tell(words);
    }
}

/// Where nobody can answer: services, scripts, tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Asker for Nobody {
    fn ask<'a>(&'a self, _: Question<'a>) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::NobodyThere })
    }
    fn is_there(&self) -> bool {
        false
    }
}

/// Keeps rules for the sessions to come: the user's settings file, a database.
pub trait RuleKeeper: Send + Sync {
    /// Writes down rules that allow, beside those that are there; gives them with where they stand now. All or none. The
    /// session says whose they are.
    fn keep<'a>(
        &'a self,
        session: &'a SessionFacts,
        rules: &'a [String],
    ) -> BoxFuture<'a, io::Result<Vec<Written>>>;
}

/// Who may say something about an open call, and what they need.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The rules that hold.
    pub policy: &'a Policy,
    /// What was granted before.
    pub grants: &'a Grants,
    /// Who judges in the person's place, in mode `auto`.
    pub classifier: Option<&'a dyn Classifier>,
    /// What the session knows of such judgements.
    pub record: &'a Record,
    /// What the tool tells a classifier besides the effects.
    pub said: Option<&'a str>,
    /// The person.
    pub asker: &'a dyn Asker,
    /// Makes the preview. Asked for only if somebody will see it.
    pub preview: &'a (dyn Fn() -> BoxFuture<'a, Option<View>> + Sync),
    /// Who keeps rules; without one, *always* is not offered.
    pub keeper: Option<&'a dyn RuleKeeper>,
    /// Makes rules hold in this session from now on.
    pub add: &'a (dyn Fn(Rules) -> Result<(), Vec<RuleError>> + Sync),
}

/// Asks about a call that is open: a classifier where one may say so, then the person. `cancel` is cancelled when nobody waits
/// for the answer any more.
pub async fn ask(
    question: Question<'_>,
    request: &Request<'_>,
    asking: &Asking<'_>,
    cancel: &CancellationToken,
) -> Result<Permit, Box<Refused>> {
    let decision = question.call.decision;
    // An answer that is there already does not count once the call is cancelled.
    let answered = cancel.run_until_cancelled(asking.settle(question, request)).await;
    match answered.filter(|_| !cancel.is_cancelled()) {
        Some(Ok(Yes::Written(rules))) => Ok(Permit::always(decision.clone(), rules)),
        Some(Ok(Yes::Said(warrant))) => Ok(Permit::new(decision.clone(), warrant)),
        Some(Err(fault)) => refuse(decision, fault),
        None if question.stage == QuestionStage::BeforeCall => {
            refuse(decision, Fault::cancelled("Cancelled while a person was asked; the call did not run."))
        }
        None => refuse(decision, Fault::cancelled("Cancelled while a person was asked.")),
    }
}

/// A yes.
enum Yes {
    /// On whose word.
    Said(Warrant),
    /// A person's, who had these rules written.
    Written(Vec<String>),
}

fn refuse(decision: &Decision, fault: Fault) -> Result<Permit, Box<Refused>> {
    Err(Box::new(Refused { decision: decision.clone(), fault }))
}

impl Asking<'_> {
    async fn settle(&self, question: Question<'_>, request: &Request<'_>) -> Result<Yes, Fault> {
        match self.judged(question.call.decision, request).await {
            Some(Judgement { verdict: Verdict::Allow, .. }) => return Ok(Yes::Said(Warrant::Classifier)),
            Some(denied @ Judgement { verdict: Verdict::Deny, .. }) => return Err(denied.fault()),
            _ => {}
        }
        if !self.asker.is_there() {
            return Err(question.call.decision.fault(request));
        }
        let preview = (self.preview)().await;
        let lasts = question.stage != QuestionStage::Rerun;
        let always = self.keeper.filter(|_| lasts).and_then(|_| self.policy.lasting_rules(request));
        let asked = Question { preview: preview.as_ref(), always: always.as_deref(), ..question };
        let answer = self.asker.ask(asked).await;
        if answer != Answer::NobodyThere {
            self.record.person_answered();
        }
        // A front end may not know what was offered.
        if let Some(kind @ (AnswerKind::Once | AnswerKind::Unsandboxed)) = answer.kind()
            && !asked.offers(kind)
        {
            return Err(not_offered(kind));
        }
        match answer {
            Answer::Session if !asked.offers(AnswerKind::Session) => Ok(Yes::Said(Warrant::Once)),
            Answer::Once => Ok(Yes::Said(Warrant::Once)),
            Answer::Unsandboxed => Ok(Yes::Said(Warrant::Unsandboxed)),
            Answer::Session => Ok(self.grant(question, request)),
            Answer::Always => Ok(self.keep(asked, request).await),
            Answer::No(word) => Err(refused_by_person(word, question)),
            Answer::NobodyThere => Err(question.call.decision.fault(request)),
        }
    }

    async fn judged(&self, decision: &Decision, request: &Request<'_>) -> Option<Judgement> {
        let classifier = self.classifier.filter(|_| may_judge(decision, request))?;
        Some(consult(classifier, Matter { request, said: self.said, record: self.record }).await)
    }

    fn grant(&self, question: Question<'_>, request: &Request<'_>) -> Yes {
        self.grants.remember(question.call.input, request);
        Yes::Said(Warrant::Session)
    }

    /// Writes the rules down. Where that does not work, the answer holds as far as it can: for the session.
    async fn keep(&self, question: Question<'_>, request: &Request<'_>) -> Yes {
        let (Some(keeper), Some(rules)) = (self.keeper, question.always) else {
            self.asker.tell("There is no rule for this that could be kept: it holds for this session.");
            return self.grant(question, request);
        };
        match keeper.keep(question.call.session, rules).await {
            Ok(written) => self.kept(written, question, request),
            Err(err) => {
                self.asker
                    .tell(&format!("The rule could not be written ({err}): it holds for this session."));
                self.grant(question, request)
            }
        }
    }

    fn kept(&self, written: Vec<Written>, question: Question<'_>, request: &Request<'_>) -> Yes {
        let told: Vec<String> =
            written.iter().map(|rule| format!("{} ({})", rule.text, rule.origin)).collect();
        self.asker.tell(&format!("Allowed from now on: {}", told.join(", ")));
        let rules = written.iter().map(|rule| rule.text.clone()).collect();
        if (self.add)(Rules { allow: written, ..Rules::default() }).is_err() {
            self.grant(question, request);
        }
        Yes::Written(rules)
    }
}

fn refused_by_person(word: Option<String>, question: Question<'_>) -> Fault {
    let word = word.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let refused = match question.stage {
        QuestionStage::BeforeCall => "The user refused this call".to_owned(),
        QuestionStage::DuringCall => format!("The user refused this: {}", question.description),
        QuestionStage::Rerun => "The user does not want the command to run again".to_owned(),
    };
    let first = match word.as_str() {
        "" => format!("{refused}."),
        word => format!("{refused} and said: {word}"),
    };
    Fault::denied(Refusal::Person, first)
}

fn not_offered(kind: AnswerKind) -> Fault {
    let message = format!("The answer `{}` was not offered for this call, so it is refused.", kind.name());
    Fault::denied(Refusal::Person, message)
}

impl std::fmt::Debug for Asking<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asking").field("said", &self.said).finish_non_exhaustive()
    }
}
