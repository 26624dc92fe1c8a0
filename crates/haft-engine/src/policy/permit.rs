//! The proof that a call may run.
//!
//! Only this module makes a [`Permit`], so nothing that wants one can run unpermitted. Where the policy says *ask*, the
//! session's [`Grants`] are looked at; what is open then is for hooks, a classifier and a person to say.

use haft_tool::Fault;
use serde_json::Value;

use super::{
    decide::{Decision, Request, Verdict},
    grants::Grants,
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
    /// A person's, for all calls that the rules cover which they had written.
    Always,
    /// A person's, given for the same call before.
    Granted,
    /// A classifier's, in mode `auto`.
    Classifier,
}

impl Permit {
    pub(super) fn new(decision: Decision, warrant: Warrant) -> Permit {
        Permit { decision, warrant }
    }

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
        Verdict::Allow => Settled::Permitted(Permit { decision, warrant: Warrant::Policy }),
        Verdict::Deny => {
            let fault = decision.fault(request);
            Settled::Refused(Box::new(Refused { decision, fault }))
        }
        Verdict::Ask if grants.cover(input, request) => {
            Settled::Permitted(Permit { decision, warrant: Warrant::Granted })
        }
        Verdict::Ask => Settled::Open(decision),
    }
}
