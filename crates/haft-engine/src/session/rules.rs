//! The rules of a session: compiled when it begins, when a person adds one, and when it moves.
//!
//! Those of a sub-agent stand below those of its parent: it allows what the parent allows, as far as that holds for it, asks
//! and denies all that the parent asks and denies, and what is asked and denied of it besides, where the parent works. A
//! change above holds below from the next call on.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use haft_redact::Redactor;

use crate::policy::{Bases, Circumstances, Origin, Policy, RuleError, Rules, Written, path_rule};

pub(super) struct SessionRules {
    basis: Basis,
    above: Option<Above>,
    now: RwLock<Compiled>,
}

/// What does not change while a session lasts.
#[derive(Clone)]
pub(super) struct Basis {
    pub(super) home: Option<PathBuf>,
    /// Takes secrets out of what is told of a rule.
    pub(super) redactor: Option<Arc<Redactor>>,
    /// By which commands run outside of the sandbox.
    pub(super) unsandboxed: Vec<Written>,
}

/// The rules that these stand below, and for whom they hold here.
struct Above {
    rules: Arc<SessionRules>,
    who: Who,
}

/// The circumstances of a sub-agent.
pub(super) struct Who {
    pub(super) model: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) roles: Vec<String>,
    pub(super) confined: bool,
}

impl Who {
    pub(super) fn circumstances(&self) -> Circumstances<'_> {
        let Who { model, agent, roles, confined } = self;
        Circumstances { model: model.as_deref(), confined: *confined, agent: agent.as_deref(), roles }
    }
}

#[derive(Clone)]
struct Compiled {
    /// All that hold.
    rules: Rules,
    /// Those of them that are not from above.
    own: Rules,
    policy: Arc<Policy>,
    /// The rules by which commands run outside of the sandbox, and no others.
    unsandboxed: Arc<Policy>,
    ground: Ground,
    /// What was above when this was compiled.
    of: Option<Arc<Policy>>,
}

/// Where a session works.
#[derive(Clone)]
struct Ground {
    workspace: Arc<Path>,
    /// The workspace that it has left for this one, while it is in a worktree.
    left: Option<Arc<Path>>,
}

impl SessionRules {
    pub(super) fn new(rules: Rules, workspace: &Path, basis: Basis) -> Result<SessionRules, Vec<RuleError>> {
        let ground = Ground { workspace: workspace.into(), left: None };
        let now = Compiled::new(rules, ground, &basis)?;
        Ok(SessionRules { basis, above: None, now: RwLock::new(now) })
    }

    /// The rules of a sub-agent. Of `more` only what asks and denies counts: nothing is allowed here that is not above.
    pub(super) fn below(
        above: Arc<SessionRules>,
        who: Who,
        more: Rules,
    ) -> Result<SessionRules, Vec<RuleError>> {
        let (basis, above) = (above.basis.clone(), Above { rules: above, who });
        let now = above.compiled(Rules { allow: Vec::new(), ..more }, &basis)?;
        Ok(SessionRules { basis, above: Some(above), now: RwLock::new(now) })
    }

    pub(super) fn policy(&self) -> Arc<Policy> {
        self.renew();
        Arc::clone(&self.read().policy)
    }

    /// A policy of the rules by which commands run outside of the sandbox.
    pub(super) fn unsandboxed(&self) -> Arc<Policy> {
        Arc::clone(&self.read().unsandboxed)
    }

    pub(super) fn workspace(&self) -> Arc<Path> {
        match &self.above {
            Some(above) => above.rules.workspace(),
            None => Arc::clone(&self.read().ground.workspace),
        }
    }

    /// What is decided already stays; a rule that cannot be used changes nothing. What allows holds above, too: a sub-agent
    /// may never do what its parent may not.
    pub(super) fn add(&self, more: Rules) -> Result<(), Vec<RuleError>> {
        let Some(above) = &self.above else {
            let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
            *now = Compiled::new(now.rules.clone().and(more), now.ground.clone(), &self.basis)?;
            return Ok(());
        };
        let tightening = Rules { allow: Vec::new(), ask: more.ask, deny: more.deny };
        let own = self.read().own.clone().and(tightening);
        // What cannot be used is found out before anything has changed above.
        above.compiled(own.clone(), &self.basis)?;
        if !more.allow.is_empty() {
            above.rules.add(Rules { allow: more.allow, ..Rules::default() })?;
        }
        let now = above.compiled(own, &self.basis)?;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
        Ok(())
    }

    /// Works in another workspace from now on; `left` is the one that must not be written meanwhile.
    pub(super) fn move_to(&self, workspace: &Path, left: Option<&Path>) -> Result<(), Vec<RuleError>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let ground = Ground { workspace: workspace.into(), left: left.map(Arc::from) };
        *now = Compiled::new(now.rules.clone(), ground, &self.basis)?;
        Ok(())
    }

    /// Compiles again where something above has changed.
    fn renew(&self) {
        let Some(above) = &self.above else { return };
        let theirs = above.rules.policy();
        let own = {
            let now = self.read();
            if now.of.as_ref().is_some_and(|then| Arc::ptr_eq(then, &theirs)) {
                return;
            }
            now.own.clone()
        };
        let basis = &self.basis;
        // Each of these rules was compiled before, here or above. If one could not be now, nothing may run.
        let nothing = || Rules::denying(["*"], Origin::Haft);
        if let Ok(now) = above.compiled(own, basis).or_else(|_| above.compiled(nothing(), basis)) {
            *self.now.write().unwrap_or_else(PoisonError::into_inner) = now;
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Compiled> {
        self.now.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Above {
    /// What holds of the rules above, and these besides.
    fn compiled(&self, own: Rules, basis: &Basis) -> Result<Compiled, Vec<RuleError>> {
        self.rules.renew();
        let Compiled { rules: theirs, policy, ground, .. } = self.rules.read().clone();
        let allowed = Rules { allow: theirs.allow, ..Rules::default() }.holding(&self.who.circumstances());
        let rules = Rules { allow: allowed.allow, ask: theirs.ask, deny: theirs.deny }.and(own.clone());
        Ok(Compiled { own, of: Some(policy), ..Compiled::new(rules, ground, basis)? })
    }
}

impl Compiled {
    fn new(rules: Rules, ground: Ground, basis: &Basis) -> Result<Compiled, Vec<RuleError>> {
        let bases = Bases { workspace: ground.workspace.to_path_buf(), home: basis.home.clone() };
        let left = ground.left.as_deref();
        let holding = rules.clone().and(left.map(closed).unwrap_or_default());
        let policy = Arc::new(Policy::compile_away(holding, &bases, left, basis.redactor.clone())?);
        let outside = Rules { allow: basis.unsandboxed.clone(), ..Rules::default() };
        let unsandboxed = Arc::new(Policy::compile_away(outside, &bases, None, basis.redactor.clone())?);
        Ok(Compiled { own: rules.clone(), rules, policy, unsandboxed, ground, of: None })
    }
}

/// The user's own tree, while work goes on beside it.
fn closed(left: &Path) -> Rules {
    let rule = Written {
        reason: Some(
            "the session works in a worktree of it; ExitWorktree merges what is done there".to_owned(),
        ),
        ..Written::new(path_rule("Edit", left), Origin::Haft)
    };
    Rules { deny: vec![rule], ..Rules::default() }
}
