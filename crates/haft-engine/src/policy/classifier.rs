//! Who may say yes in the person's place, in mode `auto`.
//!
//! A classifier is asked about a call that would be asked only because nothing covers it. None, however clever, is asked where
//! a rule asks, where something is protected, or about what is not known, cannot be taken back, or is a server's word: that
//! is a person's to say. [`ByEffects`](super::ByEffects) is the one that needs nothing;
//! [`judge::ByModel`](crate::judge::ByModel) has a language model behind it.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use haft_tool::{BoxFuture, Fault, Refusal};

use super::{
    decide::{Decision, Request, Verdict},
    mode::Mode,
};

/// Judges calls in the person's place.
///
/// Fail closed: whatever goes wrong is [`Judgement::ask`]. What a tool printed is not told, so that nothing a call brings
/// in can speak for the next one. The future is dropped when the call is cancelled.
pub trait Classifier: Send + Sync {
    /// Judges one call.
    fn judge<'a>(&'a self, matter: Matter<'a>) -> BoxFuture<'a, Judgement>;
}

/// What a classifier is told of a call.
#[derive(Debug, Clone, Copy)]
pub struct Matter<'a> {
    /// The call, and what it is going to do.
    pub request: &'a Request<'a>,
    /// What the tool says of it besides, if anything.
    pub said: Option<&'a str>,
    /// What the session knows of earlier judgements, and what the user wants.
    pub record: &'a Record,
}

/// What a classifier says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The answer; *ask* leaves it to the person.
    pub verdict: Verdict,
    /// Why, in a line. The model reads it if it is a denial.
    pub words: String,
    /// Who says so.
    pub by: Cow<'static, str>,
}

impl Judgement {
    /// It may run.
    pub fn allow(by: impl Into<Cow<'static, str>>, words: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Allow, words: words.into(), by: by.into() }
    }

    /// A person must say so.
    pub fn ask(by: impl Into<Cow<'static, str>>, words: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Ask, words: words.into(), by: by.into() }
    }

    /// It may not.
    pub fn deny(by: impl Into<Cow<'static, str>>, words: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Deny, words: words.into(), by: by.into() }
    }

    pub(super) fn fault(&self) -> Fault {
        let words = self.words.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = format!("Refused by the classifier of auto mode ({}): {words}", self.by);
        Fault::denied(Refusal::Classifier, message)
    }
}

/// After so many denials in a row, or in all, the person is asked instead: either the model is on a wrong way, or the
/// classifier is.
const DENIALS_IN_A_ROW: u32 = 3;
const DENIALS_IN_ALL: u32 = 20;

/// So many judgements are remembered; then it begins anew.
const MOST_KNOWN: usize = 1000;

/// Of what the user wants, as much is kept.
const LONGEST_REQUEST: usize = 8 * 1024;

/// What a session knows of judgements.
#[derive(Debug, Default)]
pub struct Record(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    wanted: Arc<str>,
    known: HashMap<String, Judgement>,
    consulted: u32,
    spent: Duration,
    denials: u32,
    denials_in_a_row: u32,
}

impl Record {
    /// What the user asked for; empty if nobody said.
    pub fn wanted(&self) -> Arc<str> {
        self.lock().wanted.clone()
    }

    /// Notes what the user asks for now. What was judged under another request is forgotten.
    pub fn set_wanted(&self, text: &str) {
        let mut kept = self.lock();
        kept.wanted = text[..text.floor_char_boundary(LONGEST_REQUEST)].into();
        kept.known.clear();
    }

    /// What was said of the same before.
    pub fn known(&self, key: &str) -> Option<Judgement> {
        self.lock().known.get(key).cloned()
    }

    /// Remembers what was said.
    pub fn learn(&self, key: String, judgement: Judgement) {
        let mut kept = self.lock();
        if kept.known.len() >= MOST_KNOWN {
            kept.known.clear();
        }
        kept.known.insert(key, judgement);
    }

    /// Takes one consultation out of so many and so long, if there is one left. Counted before it begins: what is
    /// cancelled in the middle was paid for.
    pub fn take(&self, most: u32, longest: Duration) -> bool {
        let mut kept = self.lock();
        let is_left = kept.consulted < most && kept.spent < longest;
        kept.consulted += u32::from(is_left);
        is_left
    }

    /// Notes how long one took.
    pub fn spend(&self, time: Duration) {
        let mut kept = self.lock();
        kept.spent = kept.spent.saturating_add(time);
    }

    fn has_given_up(&self) -> bool {
        let kept = self.lock();
        kept.denials_in_a_row >= DENIALS_IN_A_ROW || kept.denials >= DENIALS_IN_ALL
    }

    fn note(&self, verdict: Verdict) {
        let mut kept = self.lock();
        match verdict {
            Verdict::Deny => {
                kept.denials += 1;
                kept.denials_in_a_row += 1;
            }
            Verdict::Allow => kept.denials_in_a_row = 0,
            Verdict::Ask => {}
        }
    }

    /// A person has looked at it: the row of denials is over.
    pub(super) fn person_answered(&self) {
        self.lock().denials_in_a_row = 0;
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a classifier may be asked about a call at all.
pub(crate) fn may_judge(decision: &Decision, request: &Request<'_>) -> bool {
    let effects = request.effects;
    request.mode == Mode::Auto
        && decision.trace.is_uncovered()
        && !request.external
        && !effects.is_unknown()
        && !effects.is_destructive()
}

/// Asks a classifier, unless it has said no too often.
pub(super) async fn consult(classifier: &dyn Classifier, matter: Matter<'_>) -> Judgement {
    if matter.record.has_given_up() {
        return Judgement::ask("auto mode", "the classifier has refused too often");
    }
    let judgement = classifier.judge(matter).await;
    matter.record.note(judgement.verdict);
    judgement
}
