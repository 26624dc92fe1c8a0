//! The rules of a session: compiled when it begins, and again when a person adds one.

use std::sync::{Arc, PoisonError, RwLock};

use crate::policy::{Bases, Policy, RuleError, Rules};

pub(super) struct SessionRules {
    bases: Bases,
    now: RwLock<Compiled>,
}

struct Compiled {
    rules: Rules,
    policy: Arc<Policy>,
}

impl SessionRules {
    pub(super) fn new(rules: Rules, bases: Bases) -> Result<SessionRules, Vec<RuleError>> {
        let policy = Arc::new(Policy::compile(rules.clone(), &bases)?);
        Ok(SessionRules { bases, now: RwLock::new(Compiled { rules, policy }) })
    }

    pub(super) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner).policy)
    }

    /// What is decided already stays; a rule that cannot be used changes nothing.
    pub(super) fn add(&self, more: Rules) -> Result<(), Vec<RuleError>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let rules = now.rules.clone().and(more);
        let policy = Arc::new(Policy::compile(rules.clone(), &self.bases)?);
        *now = Compiled { rules, policy };
        Ok(())
    }
}
