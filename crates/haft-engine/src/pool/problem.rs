//! Why is a tool not in the pool, or not under every name that it claims?

use std::{fmt, sync::Arc};

use super::BadName;

/// A tool that a source has and the model does not get, or an alias that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The tool, by the name that it would have; empty if the whole source is meant.
    pub tool: Arc<str>,
    /// The id of its source.
    pub source: Arc<str>,
    /// What happened.
    pub kind: ProblemKind,
}

/// What keeps a tool out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// Its name would not be accepted.
    Name(String),
    /// The same source has another tool of this name, which was listed before.
    Duplicate,
    /// An earlier source has a tool of this name.
    Collision {
        /// The id of that source.
        with: Arc<str>,
    },
    /// An alias of it is the name or alias of another tool. The tool itself is in the pool.
    AliasTaken {
        /// The alias.
        alias: &'static str,
        /// The tool that the alias leads to.
        by: Arc<str>,
    },
    /// An earlier source has the same id, so nothing of this one is in the pool.
    SameId,
    /// A gate is closed.
    Gated(String),
    /// Something that it needs is missing here.
    Unavailable(String),
    /// The policy hides it.
    Hidden(String),
    /// It is not in the toolset.
    OutsideToolset,
    /// It says something else of itself than when it was first permitted; these parts.
    Quarantined(String),
}

impl ProblemKind {
    /// Whether somebody made a mistake. The other kinds are what settings and the machine wanted.
    pub fn is_mistake(&self) -> bool {
        use ProblemKind::{AliasTaken, Collision, Duplicate, Name, SameId};
        matches!(self, Name(_) | Duplicate | Collision { .. } | AliasTaken { .. } | SameId)
    }
}

impl From<BadName> for ProblemKind {
    fn from(bad: BadName) -> ProblemKind {
        ProblemKind::Name(bad.to_string())
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProblemKind::Name(why) => write!(f, "left out: {why}"),
            ProblemKind::Duplicate => write!(f, "left out: the source has another tool of this name"),
            ProblemKind::Collision { with } => write!(f, "left out: source `{with}` has a tool of this name"),
            ProblemKind::AliasTaken { alias, by } => write!(f, "the alias `{alias}` leads to {by}"),
            ProblemKind::SameId => write!(f, "left out: an earlier source has the same id"),
            ProblemKind::Gated(why) => write!(f, "switched off: {why}"),
            ProblemKind::Unavailable(what) => write!(f, "not available: {what}"),
            ProblemKind::Hidden(why) => write!(f, "hidden: {why}"),
            ProblemKind::OutsideToolset => write!(f, "not in the toolset"),
            ProblemKind::Quarantined(changed) => {
                write!(f, "quarantined: {changed} changed since it was first permitted")
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { tool, source, kind } = self;
        write!(f, "{tool} ({source}): {kind}")
    }
}
