//! The proof that a call may run.
//!
//! Only this module makes a [`Permit`], so nothing that wants one can run unpermitted. Where the policy says *ask*, the
//! session's [`Grants`] are looked at; what is open then is for hooks, a classifier and a person to say.

use haft_tool::{Fault, Refusal};
use serde::Serialize;
use serde_json::Value;

use super::{
    decide::{Decision, Request, Verdict},
    grants::Grants,
    mode::Mode,
    rules::Policy,
    said::{Said, strictest},
};

/// Proof that one call may run. Cannot be made or copied elsewhere: whoever runs the call uses it up.
#[derive(Debug)]
#[must_use = "a permit is for running a call"]
pub struct Permit {
    /// Boxed: a permit goes through many hands, and each would copy it.
    decision: Box<Decision>,
    warrant: Warrant,
    /// The rules that a person had written when they said yes.
    written: Option<Box<[String]>>,
}

/// On whose word a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Warrant {
    /// The policy's.
    Policy,
    /// A person's, for this call.
    Once,
    /// A person's, for this and the same calls to come.
    Session,
    /// A person's, for all calls that the rules cover which they had written.
    Always,
    /// A person's, for this call, whose processes run outside of the sandbox.
    Unsandboxed,
    /// A person's, given for the same call before.
    Granted,
    /// A hook's, where nothing but a rule for it was missing.
    Hook,
    /// A classifier's, in mode `auto`.
    Classifier,
}

impl Permit {
    pub(super) fn new(decision: Decision, warrant: Warrant) -> Permit {
        Permit { decision: Box::new(decision), warrant, written: None }
    }

    /// On the word of a person who had these rules written.
    pub(super) fn always(decision: Decision, written: Vec<String>) -> Permit {
        let written = Some(written.into_boxed_slice());
        Permit { written, ..Permit::new(decision, Warrant::Always) }
    }

    /// What the policy decided, for the journal.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// On whose word the call runs.
    pub fn warrant(&self) -> Warrant {
        self.warrant
    }

    /// Whether a person or a rule allowed what the call runs. Otherwise it runs because it stays inside the workspace.
    pub fn is_approved(&self) -> bool {
        self.warrant != Warrant::Policy || self.decision.approved
    }

    /// Whether a person let the processes of this call leave the sandbox.
    pub fn is_unsandboxed(&self) -> bool {
        self.warrant == Warrant::Unsandboxed
    }

    /// The rules that were written down with the yes. Their texts may hold secrets.
    pub fn written(&self) -> &[String] {
        self.written.as_deref().unwrap_or_default()
    }

    /// The same permit with what hooks said while somebody was asked. If the yes came from one of them, it says so.
    pub(crate) fn after_hooks(self, said: &[Said], granted: Option<&Said>) -> Permit {
        let decided = granted.map(|by| (by, Verdict::Allow, None));
        let warrant = if granted.is_some() { Warrant::Hook } else { self.warrant };
        Permit { decision: Box::new(self.decision.heard(said, decided)), warrant, ..self }
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

impl Refused {
    /// The same refusal with what hooks said while somebody was asked. If the no came from one of them, it says so.
    pub(crate) fn after_hooks(self, said: &[Said], refused: Option<&Said>, request: &Request<'_>) -> Refused {
        let decided = refused.map(|by| (by, Verdict::Deny, Some(Refusal::Hook)));
        let decision = self.decision.heard(said, decided);
        let fault = if refused.is_some() { decision.fault(request) } else { self.fault };
        Refused { decision, fault }
    }
}

/// What can be said about a call without asking anybody.
#[derive(Debug)]
pub enum Settled {
    /// It may run.
    Permitted(Permit),
    /// It may not.
    Refused(Box<Refused>),
    /// Somebody must say so: hooks, a classifier, a person.
    Open(Decision),
}

/// Lets a call run, or says why not, if that can be said without a person. Pure, like all deciding.
pub fn settle(policy: &Policy, grants: &Grants, input: &Value, request: &Request<'_>) -> Settled {
    let decision = policy.decide(request);
    match decision.verdict {
        Verdict::Allow => Settled::Permitted(Permit::new(decision, Warrant::Policy)),
        Verdict::Deny => {
            let fault = decision.fault(request);
            Settled::Refused(Box::new(Refused { decision, fault }))
        }
        Verdict::Ask if grants.cover(input, request) => {
            Settled::Permitted(Permit::new(decision, Warrant::Granted))
        }
        Verdict::Ask => Settled::Open(decision),
    }
}

/// What hooks make of what the rules have settled. They may tighten it. They loosen nothing but a question that stands
/// because nothing covers the call, and nobody hears what they say of a refusal. Pure, like all deciding.
pub fn hear(settled: Settled, said: &[Said], request: &Request<'_>) -> Settled {
    if said.is_empty() {
        return settled;
    }
    let (decision, warrant) = match settled {
        Settled::Refused(refused) => return Settled::Refused(refused),
        Settled::Permitted(Permit { decision, warrant, .. }) => (*decision, Some(warrant)),
        Settled::Open(decision) => (decision, None),
    };
    let decided = strictest(said).and_then(|by| Some((by, by.verdict?)));
    match (decided, warrant) {
        (Some((by, Verdict::Deny)), _) => refuse(decision, said, by, Refusal::Hook, request),
        (Some((by, Verdict::Ask)), _) if request.mode == Mode::DontAsk => {
            refuse(decision, said, by, Refusal::Mode, request)
        }
        (Some((by, Verdict::Ask)), _) => Settled::Open(decision.heard(said, Some((by, Verdict::Ask, None)))),
        (Some((by, Verdict::Allow)), None) if decision.is_uncovered() => {
            let decision = decision.heard(said, Some((by, Verdict::Allow, None)));
            Settled::Permitted(Permit::new(decision, Warrant::Hook))
        }
        (_, Some(warrant)) => Settled::Permitted(Permit::new(decision.heard(said, None), warrant)),
        (_, None) => Settled::Open(decision.heard(said, None)),
    }
}

fn refuse(decision: Decision, said: &[Said], by: &Said, refusal: Refusal, request: &Request<'_>) -> Settled {
    let decision = decision.heard(said, Some((by, Verdict::Deny, Some(refusal))));
    let fault = decision.fault(request);
    Settled::Refused(Box::new(Refused { decision, fault }))
}
