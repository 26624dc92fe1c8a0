//! All rules, compiled into matchers once.

use std::{
    borrow::Cow,
    collections::HashMap,
    error::Error,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    iter,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use haft_redact::Redactor;
use haft_tool::Access;

use super::{
    commands::CommandRules,
    decide::Verdict,
    examples,
    hosts::HostRules,
    names::NameRules,
    paths::PathRules,
    rule::{
        Anchor, BASH, EDIT, HostPattern, Name, PathPattern, READ, Rule, Subject, SyntaxError, WEB_FETCH,
        Whose,
    },
    written::{Origin, Rules, Written},
};

/// What paths in rules begin at. Both are free of links, as the targets are that they are compared with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bases {
    /// Where `x` and `/x` begin.
    pub workspace: PathBuf,
    /// Where `~/x` begins, if there is a home.
    pub home: Option<PathBuf>,
}

/// A rule that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// The list that it stands in.
    pub verdict: Verdict,
    /// Its text.
    pub text: String,
    /// Where it was written.
    pub origin: Origin,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// Its text is none.
    Syntax(SyntaxError),
    /// It does not do what its examples say.
    Example(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Syntax(err) => err.fmt(f),
            Flaw::Example(what) => f.write_str(what),
        }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} rule `{}`, {}", self.origin, self.verdict, self.text, self.flaw)
    }
}

impl Error for RuleError {}

/// Rules that can be asked. Cheap to share, never changed: other rules are another policy.
#[derive(Debug)]
pub struct Policy {
    pub(super) table: Arc<Table>,
    pub(super) home: Option<PathBuf>,
    pub(super) names: NameRules,
    /// Patterns that count in every call.
    pub(super) shared: Patterns,
    /// Patterns that count in calls of one tool.
    pub(super) scoped: HashMap<String, Patterns>,
    /// The first deny and the first ask rule with a pattern: what a call that is not understood might fall under.
    pub(super) restriction: Hits,
    version: u64,
}

/// What traces need to name a rule.
#[derive(Default)]
pub(super) struct Table {
    pub(super) rules: Vec<Listed>,
    /// Takes secrets out of what is told of them.
    redactor: Option<Arc<Redactor>>,
}

/// A rule and the list that it stands in.
pub(super) struct Listed {
    pub(super) verdict: Verdict,
    pub(super) rule: Written,
    /// The same without secrets, if it has any. A person who says *always* has all words of a command written down.
    /// Found out when it is first told: most rules never are.
    told: OnceLock<Option<Box<Listed>>>,
}

/// When a rule is heard: the lower, the earlier.
pub(super) type Rank = u8;

/// Before all layers: what an administrator asks.
pub(super) const FIRM: Rank = 0;

/// After all layers: where no rule speaks.
pub(super) const UNHEARD: Rank = Rank::MAX;

impl Listed {
    fn new(verdict: Verdict, rule: Written) -> Listed {
        Listed { verdict, rule, told: OnceLock::new() }
    }

    fn without_secrets(&self, redactor: &Redactor) -> Option<Box<Listed>> {
        let text = without_secrets(&self.rule.text, redactor);
        let reason = self.rule.reason.as_deref().and_then(|reason| without_secrets(reason, redactor));
        if text.is_none() && reason.is_none() {
            return None;
        }
        let mut rule = self.rule.clone();
        rule.text = text.unwrap_or(rule.text);
        rule.reason = reason.or(rule.reason);
        Some(Box::new(Listed::new(self.verdict, rule)))
    }

    fn flawed(&self, flaw: Flaw) -> RuleError {
        let Written { text, origin, .. } = &self.rule;
        RuleError { verdict: self.verdict, text: text.clone(), origin: origin.clone(), flaw }
    }

    pub(super) fn rank(&self) -> Rank {
        if self.rule.firm && self.verdict == Verdict::Ask { FIRM } else { self.rule.layer.rank() + 1 }
    }
}

#[derive(Debug)]
pub(super) struct Patterns {
    reads: PathRules,
    writes: PathRules,
    pub(super) hosts: HostRules,
    pub(super) commands: CommandRules,
}

/// A place in the [`Table`]. The rank comes first, so that of two rules the smaller is the one that is heard earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RuleId {
    rank: Rank,
    index: u32,
}

impl RuleId {
    pub(super) fn rank(self) -> Rank {
        self.rank
    }
}

/// The first rule of each list that matches something.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hits {
    pub(super) deny: Option<RuleId>,
    pub(super) ask: Option<RuleId>,
    pub(super) allow: Option<RuleId>,
    /// Whether another rule asks, too.
    pub(super) asks_more: bool,
    /// Which ranks ask, and which allow.
    pub(super) asking: Ranks,
    pub(super) allowing: Ranks,
}

/// A bit for each rank.
pub(super) type Ranks = u8;

pub(super) fn bit(rank: Rank) -> Ranks {
    1u8.checked_shl(rank.into()).unwrap_or(0)
}

impl Hits {
    pub(super) fn add(&mut self, verdict: Verdict, rule: RuleId) {
        match verdict {
            Verdict::Ask => self.asking |= bit(rule.rank),
            Verdict::Allow => self.allowing |= bit(rule.rank),
            Verdict::Deny => {}
        }
        self.asks_more |= verdict == Verdict::Ask && self.ask.is_some_and(|earlier| earlier != rule);
        let slot = match verdict {
            Verdict::Deny => &mut self.deny,
            Verdict::Ask => &mut self.ask,
            Verdict::Allow => &mut self.allow,
        };
        *slot = Some(slot.map_or(rule, |earlier| earlier.min(rule)));
    }

    /// The rule that speaks against it.
    pub(super) fn against(&self) -> Option<RuleId> {
        self.deny.or(self.ask)
    }

    pub(super) fn merge(&mut self, other: Option<Hits>) {
        let Some(other) = other else { return };
        self.asks_more |=
            other.asks_more || (self.ask.is_some() && other.ask.is_some() && self.ask != other.ask);
        let first = |mine: Option<RuleId>, its: Option<RuleId>| match (mine, its) {
            (Some(mine), Some(its)) => Some(mine.min(its)),
            (mine, its) => mine.or(its),
        };
        self.asking |= other.asking;
        self.allowing |= other.allowing;
        self.deny = first(self.deny, other.deny);
        self.ask = first(self.ask, other.ask);
        self.allow = first(self.allow, other.allow);
    }
}

/// The text of a rule, if something in it had to be hidden. A pattern may have a secret with backslashes in it.
pub(crate) fn without_secrets(text: &str, redactor: &Redactor) -> Option<String> {
    let hidden = |text: &str| match redactor.redact(text).text {
        Cow::Owned(hidden) => Some(hidden),
        Cow::Borrowed(_) => None,
    };
    let as_it_stands = hidden(text);
    let rest = as_it_stands.as_deref().unwrap_or(text);
    let plain = rest.contains('\\').then(|| rest.replace('\\', ""));
    plain.and_then(|plain| hidden(&plain)).or(as_it_stands)
}

/// Rules as they stand there may hold secrets.
impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rules", self.rules.len())
    }
}

impl Table {
    /// A rule as it may be told.
    pub(super) fn listed(&self, rule: RuleId) -> &Listed {
        let listed = &self.rules[rule.index as usize];
        let Some(redactor) = &self.redactor else { return listed };
        listed.told.get_or_init(|| listed.without_secrets(redactor)).as_deref().unwrap_or(listed)
    }

    /// Whether no rule of this rank asks or allows anything.
    pub(super) fn layer_is_empty(&self, rank: Rank) -> bool {
        let speaks = |listed: &Listed| listed.verdict != Verdict::Deny && listed.rule.origin != Origin::Haft;
        !self.rules.iter().any(|listed| speaks(listed) && listed.rank() == rank)
    }

    /// How many rules somebody has written into a list.
    pub(super) fn count(&self, verdict: Verdict) -> usize {
        let is_theirs = |listed: &&Listed| listed.verdict == verdict && listed.rule.origin != Origin::Haft;
        self.rules.iter().filter(is_theirs).count()
    }
}

impl Patterns {
    fn new() -> Patterns {
        Patterns {
            reads: PathRules::new(Access::Read),
            writes: PathRules::new(Access::Write),
            hosts: HostRules::default(),
            commands: CommandRules::default(),
        }
    }

    pub(super) fn paths(&self, access: Access) -> &PathRules {
        match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        }
    }

    fn paths_mut(&mut self, access: Access) -> &mut PathRules {
        match access {
            Access::Read => &mut self.reads,
            Access::Write => &mut self.writes,
        }
    }
}

impl Policy {
    /// Compiles the rules, or says what is wrong with each that cannot be used.
    pub fn compile(rules: Rules, bases: &Bases) -> Result<Policy, Vec<RuleError>> {
        Policy::compile_away(rules, bases, None, None)
    }

    /// The same for a session. It may work in a copy of its workspace: what rules forbid or ask about in the workspace, they
    /// still do in the one that was `left`. What they allow, they allow in the copy only. Secrets that the redactor knows are
    /// in nothing that is told of a rule.
    pub(crate) fn compile_away(
        rules: Rules,
        bases: &Bases,
        left: Option<&Path>,
        redactor: Option<Arc<Redactor>>,
    ) -> Result<Policy, Vec<RuleError>> {
        let mut compiler = Compiler::new(bases);
        compiler.left = left;
        compiler.table.redactor = redactor;
        left.hash(&mut compiler.hasher);
        let lists = [(Verdict::Deny, rules.deny), (Verdict::Ask, rules.ask), (Verdict::Allow, rules.allow)];
        for (verdict, list) in lists {
            list.into_iter().for_each(|rule| compiler.add(Listed::new(verdict, rule)));
        }
        compiler.finish()
    }

    /// The policy without rules: the defaults alone.
    pub fn without_rules(bases: &Bases) -> Policy {
        let Ok(policy) = Policy::compile(Rules::default(), bases) else {
            unreachable!("no rules, no errors")
        };
        policy
    }

    /// The patterns that a rule of this owner stands among.
    pub(super) fn of(&self, whose: &Whose) -> Option<&Patterns> {
        match whose {
            Whose::EveryRead | Whose::EveryWrite => Some(&self.shared),
            Whose::Tool(tool) => self.scoped.get(tool),
        }
    }

    /// Changes when the rules or their bases do. Equal policies have equal versions within one build of haft.
    pub fn version(&self) -> u64 {
        self.version
    }
}

struct Compiler<'a> {
    bases: &'a Bases,
    /// The workspace that was left for this one.
    left: Option<&'a Path>,
    policy: Policy,
    table: Table,
    errors: Vec<RuleError>,
    hasher: DefaultHasher,
}

impl<'a> Compiler<'a> {
    fn new(bases: &'a Bases) -> Compiler<'a> {
        let mut hasher = DefaultHasher::new();
        bases.hash(&mut hasher);
        let policy = Policy {
            table: Arc::default(),
            home: bases.home.clone(),
            names: NameRules::default(),
            shared: Patterns::new(),
            scoped: HashMap::new(),
            restriction: Hits::default(),
            version: 0,
        };
        Compiler { bases, left: None, policy, table: Table::default(), errors: Vec::new(), hasher }
    }

    fn add(&mut self, listed: Listed) {
        let index = u32::try_from(self.table.rules.len()).expect("fewer rules than memory can hold");
        let id = RuleId { rank: listed.rank(), index };
        (listed.verdict, listed.rank(), &listed.rule.text).hash(&mut self.hasher);
        if let Err(flaw) = self.take(&listed, id) {
            self.errors.push(listed.flawed(flaw));
        }
        self.table.rules.push(listed);
    }

    fn take(&mut self, listed: &Listed, id: RuleId) -> Result<(), Flaw> {
        let Rule(subject) = listed.rule.text.parse().map_err(Flaw::Syntax)?;
        examples::check(&subject, listed, self.bases).map_err(Flaw::Example)?;
        self.place(subject, listed.verdict, id).map_err(Flaw::Syntax)
    }

    fn place(&mut self, rule: Subject, verdict: Verdict, id: RuleId) -> Result<(), SyntaxError> {
        if verdict != Verdict::Allow && restricts_patterns(&rule) {
            self.policy.restriction.add(verdict, id);
        }
        match rule {
            Subject::Tool(name) => self.place_name(name, verdict, id),
            Subject::Command(pattern) => self.policy.shared.commands.add(pattern, verdict, id),
            Subject::Host(Whose::Tool(tool), pattern) => self.scope(tool).hosts.add(pattern, verdict, id),
            Subject::Host(_, pattern) => self.policy.shared.hosts.add(pattern, verdict, id),
            Subject::Path(whose, pattern) => return self.place_path(whose, &pattern, verdict, id),
        }
        Ok(())
    }

    /// `Read` and `Edit` name a tool, and what every call does to paths. What is denied or asked of `WebFetch` is so of every
    /// call that contacts a host, or a command would be the way around it; to allow the tool says nothing of commands.
    fn place_name(&mut self, name: Name, verdict: Verdict, id: RuleId) {
        match &name {
            Name::Exact(name) if name == READ => self.policy.shared.reads.add_everywhere(verdict, id),
            Name::Exact(name) if name == EDIT => self.policy.shared.writes.add_everywhere(verdict, id),
            Name::Exact(name) if name == WEB_FETCH && verdict != Verdict::Allow => {
                self.policy.shared.hosts.add(HostPattern::Any, verdict, id);
            }
            _ => {}
        }
        self.policy.names.add(name, verdict, id);
    }

    fn place_path(
        &mut self,
        whose: Whose,
        pattern: &PathPattern,
        verdict: Verdict,
        id: RuleId,
    ) -> Result<(), SyntaxError> {
        let base = self.base(pattern.anchor)?;
        let holds_there = pattern.anchor == Anchor::Workspace && verdict != Verdict::Allow;
        let left = self.left.filter(|_| holds_there);
        let (patterns, accesses) = match whose {
            Whose::EveryRead => (&mut self.policy.shared, &[Access::Read][..]),
            Whose::EveryWrite => (&mut self.policy.shared, &[Access::Write][..]),
            Whose::Tool(tool) => (self.scope(tool), &[Access::Read, Access::Write][..]),
        };
        for access in accesses {
            for base in iter::once(base).chain(left) {
                patterns.paths_mut(*access).add(base, pattern, verdict, id).map_err(too_complex)?;
            }
        }
        Ok(())
    }

    fn base(&self, anchor: Anchor) -> Result<&'a Path, SyntaxError> {
        match anchor {
            Anchor::Root => Ok(Path::new("/")),
            Anchor::Workspace => Ok(&self.bases.workspace),
            Anchor::Home => self.bases.home.as_deref().ok_or_else(|| SyntaxError {
                column: 1,
                problem: "`~` stands for a home, and none is known here".to_owned(),
                instead: "write the path from the root, as in `//home/me/x`".to_owned(),
            }),
        }
    }

    fn scope(&mut self, tool: String) -> &mut Patterns {
        self.policy.scoped.entry(tool).or_insert_with(Patterns::new)
    }

    fn finish(mut self) -> Result<Policy, Vec<RuleError>> {
        if self.errors.is_empty() {
            let scoped = self.policy.scoped.values_mut();
            for patterns in scoped.chain([&mut self.policy.shared]) {
                for paths in [&mut patterns.reads, &mut patterns.writes] {
                    if let Err((rule, err)) = paths.finish() {
                        self.errors.push(self.table.listed(rule).flawed(Flaw::Syntax(too_complex(err))));
                    }
                }
            }
        }
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        Ok(Policy { table: Arc::new(self.table), version: self.hasher.finish(), ..self.policy })
    }
}

/// Whether a command line that is not understood might fall under it, although the rule does not name all of them.
fn restricts_patterns(rule: &Subject) -> bool {
    match rule {
        Subject::Command(_) => true,
        Subject::Path(Whose::Tool(tool), _) | Subject::Host(Whose::Tool(tool), _) => tool == BASH,
        Subject::Path(..) | Subject::Host(..) => true,
        Subject::Tool(Name::Exact(name)) => [READ, EDIT, WEB_FETCH].contains(&name.as_str()),
        Subject::Tool(Name::Prefix(_)) => false,
    }
}

fn too_complex(err: globset::Error) -> SyntaxError {
    SyntaxError {
        column: 1,
        problem: format!("the pattern cannot be compiled: {}", err.kind()),
        instead: "write a simpler one, or several rules".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bases() -> Bases {
        Bases { workspace: "/w/app".into(), home: None }
    }

    #[test]
    fn all_errors_are_told_with_their_origin() {
        let file = Origin::File { path: "haft.toml".into(), line: 7 };
        let rules = Rules {
            allow: Written::all(["Read(src", "Read"], Origin::Flag),
            deny: Written::all(["Read(~/.ssh/**)"], file),
            ..Rules::default()
        };
        let errors: Vec<String> =
            Policy::compile(rules, &bases()).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "haft.toml:7: deny rule `Read(~/.ssh/**)`, column 1: `~` stands for a home, and none is known here; \
                 write the path from the root, as in `//home/me/x`",
                "command line: allow rule `Read(src`, column 9: the bracket is not closed; a rule ends with `)`",
            ]
        );
    }

    #[test]
    fn the_version_is_that_of_the_rules() {
        let version = |allow: &[&str]| {
            Policy::compile(Rules::allowing(allow.iter().copied(), Origin::Flag), &bases()).unwrap().version()
        };
        assert_eq!(version(&["Read"]), version(&["Read"]));
        assert_ne!(version(&["Read"]), version(&["Edit"]));
        assert_ne!(version(&[]), version(&["Edit"]));
    }
}
