//! What a person has granted for the rest of the session.

use std::sync::{Mutex, PoisonError};

use haft_tool::Effects;
use serde_json::Value;

use super::decide::Request;

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
    fn of(input: &Value, request: &Request<'_>) -> Grant {
        let effects = request.effects;
        let touches =
            !effects.paths().is_empty() || !effects.hosts().is_empty() || !effects.commands().is_empty();
        let telling = touches && !effects.is_unknown() && !request.external;
        let input = (!telling).then(|| input.clone());
        Grant { tool: request.tool.to_owned(), effects: effects.clone(), input }
    }
}

impl Grants {
    pub(super) fn cover(&self, input: &Value, request: &Request<'_>) -> bool {
        let granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        !granted.is_empty() && granted.contains(&Grant::of(input, request))
    }

    pub(super) fn remember(&self, input: &Value, request: &Request<'_>) {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner).push(Grant::of(input, request));
    }
}
