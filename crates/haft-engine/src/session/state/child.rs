//! The session of a sub-agent.
//!
//! It has a conversation of its own, so what it knows is its own: what it has read, loaded and noted, where it stands, its tasks.
//! What it *may* is its parent's, and less where somebody says so: mode, rules, what a person granted, who they are, workspace,
//! sandbox. Whatever is tightened above while it works is tightened for it from its next call on.

use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicBool, Ordering},
};

use haft_tool::{CallId, PathBase, SessionId};
use tokio::sync::OnceCell;

use super::{Begun, Inner, Session, SessionError, State, results::ResultPlaces};
use crate::{
    policy::{Mode, Origin, Rules, Written, path_rule},
    pool::Filter,
    session::{
        deeds::Deeds,
        failures::Failures,
        journal::{Note, Noted},
        memory::Seen,
        rules::{SessionRules, Who},
    },
    turn::Interrupt,
};

/// How the session of a sub-agent begins. All else is its parent's.
#[derive(Debug, Clone)]
pub struct ChildOptions {
    /// Its id. One that was never used: its calls have ids of their own.
    pub id: SessionId,
    /// What kind of agent it is: people see it where they are asked, and rules may be for some agents only.
    pub agent: String,
    /// The model that makes its calls; the parent's if it is not given.
    pub model: Option<String>,
    /// The tools that it has, of those that the parent has; all of them if it is not given.
    pub toolset: Option<Filter>,
    /// The tools that its model sees from the beginning, besides those that every model sees.
    pub loaded: Vec<String>,
    /// Whether it may change nothing, whatever the parent may.
    pub read_only: bool,
}

/// Whose child a session is.
pub(super) struct Lineage {
    /// Not held: whoever has the parent decides how long it lasts, and with it its tasks, of which a sub-agent may be one.
    parent: Weak<Inner>,
    parent_id: SessionId,
    agent: String,
    depth: usize,
}

impl Lineage {
    /// The mode of the parent. Without one, nothing may be changed.
    pub(super) fn mode(&self) -> Mode {
        self.parent.upgrade().map_or(Mode::Plan, |parent| Session(parent).mode())
    }
}

impl Session {
    /// Begins the session of a sub-agent, on behalf of a call of this one.
    ///
    /// Nothing is permitted in it that would not be permitted here. What a person grants there for the session is granted
    /// here.
    pub async fn child(&self, call: &CallId, options: ChildOptions) -> Result<Session, SessionError> {
        let ChildOptions { id, agent, model, toolset, loaded, read_only } = options;
        let engine = self.engine().clone();
        self.let_read_results_of(&id);
        let begun = Begun {
            rules: self.0.begun.rules.clone(),
            sandbox: self.0.begun.sandbox.clone(),
            model: model.or_else(|| self.0.begun.model.clone()),
            agent: Some(agent.clone()),
        };
        let who = Who {
            model: begun.model.clone(),
            agent: begun.agent.clone(),
            roles: self.0.caller.roles.clone(),
            confined: self.sandbox().enabled,
        };
        let more = begun.rules.clone().holding(&who.circumstances());
        let rules = SessionRules::below(self.0.rules.clone(), who, more).map_err(SessionError::Rules)?;
        let state = State {
            // Its own counts only where it is this one: see `is_read_only`.
            mode: if read_only { Mode::Plan } else { Mode::Default },
            base: Arc::new(PathBase {
                cwd: self.facts().cwd,
                home: self.0.home.clone(),
                workspace: Some(self.workspace().to_path_buf()),
            }),
            moved: false,
            left: None,
            loaded,
            values: serde_json::Map::new(),
            interrupt: Interrupt::default(),
        };
        let mut pools = match &self.0.usage {
            Some(usage) => engine.pools().usage(Arc::clone(usage)),
            None => engine.pools(),
        };
        self.0.sources.iter().for_each(|source| pools.add(Arc::clone(source)));
        let lineage = Lineage {
            parent: Arc::downgrade(&self.0),
            parent_id: self.0.id.clone(),
            agent,
            depth: self.depth() + 1,
        };
        let toolset = match (&self.0.toolset, toolset) {
            (Some(ours), Some(its)) => Some(ours.and(&its)),
            (ours, its) => its.or_else(|| ours.clone()),
        };
        let child = Session(Arc::new(Inner {
            asker: self.0.asker.clone(),
            has_own_asker: self.0.has_own_asker,
            keeper: self.0.keeper.clone(),
            sources: self.0.sources.clone(),
            results: self.0.results.clone(),
            result_places: ResultPlaces::of(&*self.0.results, &id, &self.workspace()),
            identity: self.0.identity.of_child(&id),
            engine,
            id,
            home: self.0.home.clone(),
            caller: self.0.caller.clone(),
            rules: Arc::new(rules),
            begun,
            grants: self.0.grants.clone(),
            judgements: self.0.judgements.clone(),
            known: OnceCell::from(Arc::default()),
            counts_anew: AtomicBool::new(self.0.counts_anew.load(Ordering::Relaxed)),
            toolset,
            failures: Failures::default(),
            deeds: Deeds::default(),
            seen: Arc::new(Seen::default()),
            tasks: Arc::default(),
            pools: Mutex::new(pools),
            usage: self.0.usage.clone(),
            state: Mutex::new(state),
            lineage: Some(lineage),
        }));
        child.note_parent(call).await;
        Ok(child)
    }

    /// Whether it may change nothing, whatever its mode: somebody said so of it, or of whoever it works for.
    pub fn is_read_only(&self) -> bool {
        let is_child = self.0.lineage.is_some();
        is_child
            && (self.lock().mode_now() == Mode::Plan || self.parent().is_some_and(|it| it.is_read_only()))
    }

    /// What kind of sub-agent works in it, if one does.
    pub fn sub_agent(&self) -> Option<&str> {
        self.0.lineage.as_ref().map(|lineage| lineage.agent.as_str())
    }

    /// The session of which it is a child, if it is one.
    pub fn parent_id(&self) -> Option<&SessionId> {
        self.0.lineage.as_ref().map(|lineage| &lineage.parent_id)
    }

    /// The session that it is a child of, as long as that is there.
    pub(super) fn parent(&self) -> Option<Session> {
        self.0.lineage.as_ref().and_then(|lineage| lineage.parent.upgrade()).map(Session)
    }

    /// How many sessions it stands below.
    pub fn depth(&self) -> usize {
        self.0.lineage.as_ref().map_or(0, |lineage| lineage.depth)
    }

    /// A line about a call of this session, for somebody who is asked: with the sub-agent named, if one makes it.
    pub(crate) fn with_agent(&self, line: String) -> String {
        match self.sub_agent() {
            Some(agent) => format!("sub-agent {agent}: {line}"),
            None => line,
        }
    }

    /// A sub-agent reads on in its large results, and so may whoever reads its answer.
    fn let_read_results_of(&self, child: &SessionId) {
        if let Some(results) = self.0.result_places.add(&*self.0.results, child) {
            let rule = Written::new(path_rule("Read", &results), Origin::Haft);
            // Of our own making, so it compiles; without it, reading on is asked about.
            let _ = self.add_rules(Rules { allow: vec![rule], ..Rules::default() });
        }
    }

    /// The journal knows from its first line on whose child it is.
    async fn note_parent(&self, call: &CallId) {
        let (Some(journal), Some(lineage)) = (self.engine().journal(), &self.0.lineage) else { return };
        let note = Note::Delegated { parent: &lineage.parent_id, call, agent: &lineage.agent };
        // Nothing depends on it: the id says it, too.
        let _ = journal.noted(Noted { session: self.id(), call: None, turn: 0, note }).await;
    }
}
