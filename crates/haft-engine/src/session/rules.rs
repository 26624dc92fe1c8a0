//! The rules of a session: compiled when it begins, when a person adds one, and when it moves.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use crate::policy::{Bases, Origin, Policy, RuleError, Rules, Written, path_rule};

pub(super) struct SessionRules {
    home: Option<PathBuf>,
    now: RwLock<Compiled>,
}

struct Compiled {
    rules: Rules,
    policy: Arc<Policy>,
    ground: Ground,
}

/// Where a session works.
#[derive(Clone)]
struct Ground {
    workspace: Arc<Path>,
    /// The workspace that it has left for this one, while it is in a worktree.
    left: Option<Arc<Path>>,
}

impl SessionRules {
    pub(super) fn new(
        rules: Rules,
        workspace: &Path,
        home: Option<PathBuf>,
    ) -> Result<SessionRules, Vec<RuleError>> {
        let ground = Ground { workspace: workspace.into(), left: None };
        let now = Compiled::new(rules, ground, home.as_deref())?;
        Ok(SessionRules { home, now: RwLock::new(now) })
    }

    pub(super) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.read().policy)
    }

    pub(super) fn workspace(&self) -> Arc<Path> {
        Arc::clone(&self.read().ground.workspace)
    }

    /// What is decided already stays; a rule that cannot be used changes nothing.
    pub(super) fn add(&self, more: Rules) -> Result<(), Vec<RuleError>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let rules = now.rules.clone().and(more);
        *now = Compiled::new(rules, now.ground.clone(), self.home.as_deref())?;
        Ok(())
    }

    /// Works in another workspace from now on; `left` is the one that must not be written meanwhile.
    pub(super) fn move_to(&self, workspace: &Path, left: Option<&Path>) -> Result<(), Vec<RuleError>> {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let ground = Ground { workspace: workspace.into(), left: left.map(Arc::from) };
        *now = Compiled::new(now.rules.clone(), ground, self.home.as_deref())?;
        Ok(())
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Compiled> {
        self.now.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Compiled {
    fn new(rules: Rules, ground: Ground, home: Option<&Path>) -> Result<Compiled, Vec<RuleError>> {
        let bases = Bases { workspace: ground.workspace.to_path_buf(), home: home.map(Path::to_owned) };
        let left = ground.left.as_deref();
        let holding = rules.clone().and(left.map(closed).unwrap_or_default());
        let policy = Arc::new(Policy::compile_away(holding, &bases, left)?);
        Ok(Compiled { rules, policy, ground })
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
